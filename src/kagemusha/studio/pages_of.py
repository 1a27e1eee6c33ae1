"""The pages: what each of them shows. None of them changes anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from kagemusha.editing.tables import ALONE, parts_of, tables_of
from kagemusha.errors import UsageError
from kagemusha.schema.demands import NOTHING
from kagemusha.studio import ledger_view, plan_view, release_view
from kagemusha.studio.calls import number_or_none
from kagemusha.studio.jobs import Job
from kagemusha.studio.labelling import labelling_of
from kagemusha.studio.place import Table
from kagemusha.studio.schema_view import schema_facts
from kagemusha.studio.site import Site, as_data
from kagemusha.studio.spending import wanted_of
from kagemusha.studio.wanted import Wanted, commands
from kagemusha.web.guard import DOCUMENT
from kagemusha.words.catalogue import Catalogue

ROWS = 10_000
"""What the plan is for until somebody says how many rows the table has."""

MOST_JOBS = 30

Page = Callable[[Request, str], Response]


class Pages:
    """All pages of a studio."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @property
    def routes(self) -> Mapping[str, Page]:
        """Each page by its path."""
        return {
            "/": self.home,
            "/table": self.table,
            "/schema": self.schema,
            "/plan": self.plan,
            "/spend": self.spend,
            "/job/{id}": self.job,
            "/job/{id}/report": self.report,
            "/release": self.release,
            "/release/file": self.file,
            "/release/zip": self.zip,
            "/release/sample": self.sample,
            "/ledger": self.ledger,
            "/label": self.label,
        }

    def _table(self, request: Request) -> Table:
        return self._site.place.table(request.query_params.get("t", ""))

    def home(self, request: Request, session: str) -> Response:
        """What there is below the folder."""
        place = self._site.place
        tables = [(ref, self._site.drafts.exists(place.table(ref))) for ref in place.tables()]
        together = [(ref, self._site.drafts.exists(place.table(ref))) for ref in place.together()]
        jobs = [(job, self.named(job, self._site.language(request))) for job in self._site.jobs.all()[:MOST_JOBS]]
        return self._site.page(
            request,
            "home",
            tables=tables,
            together=together,
            connections=place.shown(),
            releases=place.releases(),
            jobs=jobs,
        )

    def table(self, request: Request, session: str) -> Response:
        """The names of the columns, and the doors to a draft."""
        table = self._table(request)
        exists = self._site.drafts.exists(table)
        return self._site.page(
            request, "table", table=table, step="table", exists=exists,
            names=self._site.drafts.names(table), held=self._site.place.held(table),
            closed=not self._site.may_see(session, table),
        )  # fmt: skip

    def schema(self, request: Request, session: str) -> Response:
        """Each column as a card, rules, whose rows belong together, and the file beside it."""
        table, say = self._table(request), self._site.language(request)
        if not self._site.drafts.exists(table) or not self._site.may_see(session, table):
            return RedirectResponse(f"/table?{request.url.query}", 303)
        return self._site.page(request, "schema", table=table, step="schema", **schema_facts(self._site, table, say))

    def plan(self, request: Request, session: str) -> Response:
        """ε by its consequences."""
        table, say = self._table(request), self._site.language(request)
        if not self._site.may_see(session, table):
            return RedirectResponse(f"/table?{request.url.query}", 303)  # sizes of categories are facts, too
        schema = self._site.drafts.load(table)
        rows = int(_number(request, "rows", 1, 10**9) or ROWS)
        epsilon = _number(request, "epsilon", 1e-3, 1e3) or 1.0
        return self._site.page(
            request, "plan", table=table, step="plan", rows=rows, epsilon=f"{epsilon:g}",
            picture=plan_view.picture(schema, rows, say), as_data=as_data,
            state=self._site.state(table), caps=plan_view.caps_shown(table, schema, say),
            names=[] if tables_of(schema) else [c.name for c in parts_of(schema)[ALONE].modelled],
            several=bool(tables_of(schema)),
        )  # fmt: skip

    def spend(self, request: Request, session: str) -> Response:
        """What will be paid for, word by word; nothing happens by looking at it."""
        table, say = self._table(request), self._site.language(request)
        wanted = wanted_of(self._site, table, dict(request.query_params), say)
        schema = self._site.drafts.load(table)
        about = int(_number(request, "about", 1, 10**9) or ROWS)
        (point,) = plan_view.picture(schema, about, say, [wanted.epsilon])["points"]
        return self._site.page(
            request, "spend", table=table, step="spend", wanted=wanted, point=point, about=about,
            caps=plan_view.caps_shown(table, schema, say), capped=bool(plan_view.caps_of(table, schema)),
            nonce=self._site.access.nonce(session, wanted.digest), typed=f"spend {wanted.epsilon:g}",
            out=Path(wanted.folder).name, unit=schema.unit, tables=[one.name for one in tables_of(schema)],
            columns=sum(len(one.modelled) for one in parts_of(schema).values()),
            demands=NOTHING if tables_of(schema) else parts_of(schema)[ALONE].demands,
        )  # fmt: skip

    def named(self, job: Job, say: Catalogue) -> str:
        """A job in words."""
        what = {
            "release": say("release"), "solve": say("which ε"), "try": say("errors of pairs"),
            "evaluate": say("doubles beside the table (INTERNAL)"),
            "related": say("doubles beside the tables (INTERNAL)"),
            "compare": say("methods compared (INTERNAL)"), "attack": say("attack (INTERNAL)"),
            "families": say("attack (INTERNAL)"),
        }[job.kind]  # fmt: skip
        about = job.fields.get("folder") or job.fields.get("table") or job.fields.get("where") or ""
        return f"{what} {Path(str(about)).name}".strip()

    def job(self, request: Request, session: str) -> Response:
        """How far a job is, and what came of it."""
        job, say = self._site.jobs.get(request.path_params["id"]), self._site.language(request)
        facts: dict[str, Any] = {"job": job, "name": self.named(job, say), "typed": []}
        facts |= job_facts(self._site, job, say)
        return self._site.page(request, "job", step="spend" if job.kind == "release" else "", **facts)

    def report(self, request: Request, session: str) -> Response:
        """The INTERNAL report of a job, in a frame of its own rules."""
        path = self._site.jobs.report(self._site.jobs.get(request.path_params["id"]).id)
        if not path.is_file():
            raise UsageError("there is no such report")
        return HTMLResponse(path.read_bytes(), headers={"Content-Security-Policy": DOCUMENT})

    def release(self, request: Request, session: str) -> Response:
        """A release, and everything that can be done with it."""
        ref = request.query_params.get("r", "")
        place = self._site.place
        previews = release_view.preview(place, ref)
        made = next(
            (job for job in self._site.jobs.all() if job.kind == "release" and job.state == "done"
             and job.fields["folder"] == str(place.release(ref))), None
        )  # fmt: skip
        typed: list[str] = []
        table = None
        if made is not None:
            wanted = Wanted.from_json(made.fields)
            table = place.table(wanted.ref)
            typed = commands(wanted, table, place.folder)
        return self._site.page(
            request, "release", step="release", table=table, release=release_view.shown(place, ref), previews=previews,
            typed=typed, methods=["kage", "aim", "mst"],
        )  # fmt: skip

    def file(self, request: Request, session: str) -> Response:
        """One file of a release: its pages to look at, everything else to keep."""
        name = request.query_params.get("name", "")
        path = release_view.file_of(self._site.place, request.query_params.get("r", ""), name)
        if path.suffix == ".html":
            content = release_view.page_in(path, self._site.language(request).language)
            return HTMLResponse(content, headers={"Content-Security-Policy": DOCUMENT})
        return _kept(path.read_bytes(), name)

    def zip(self, request: Request, session: str) -> Response:
        """All of a release in one file."""
        ref = request.query_params.get("r", "")
        return _kept(release_view.zipped(self._site.place, ref), f"{self._site.place.release(ref).name}.zip")

    def sample(self, request: Request, session: str) -> Response:
        """More doubles as CSV."""
        given = request.query_params
        rows = int(_number(request, "rows", 1, release_view.MOST_DRAWN) or 1000)
        tables, _ = release_view.drawn(self._site.place, given.get("r", ""), rows, given.get("where", "").strip())
        return _kept(*release_view.packed(tables))

    def label(self, request: Request, session: str) -> Response:
        """What people are asked about doubles, and what that will spend."""
        table, say = self._table(request), self._site.language(request)
        schema = self._site.drafts.alone(table)
        if schema.derived_facts():
            raise UsageError(say("the schema still has facts that were read off the data: confirm them first"))
        wanted = labelling_of(table, dict(request.query_params), say.language)
        nonce = "" if wanted is None else self._site.access.nonce(session, wanted.digest)
        return self._site.page(
            request, "label", table=table, wanted=wanted, nonce=nonce, caps=plan_view.caps_shown(table, schema, say),
            typed="" if wanted is None else f"spend {wanted.epsilon:g}",
        )  # fmt: skip

    def ledger(self, request: Request, session: str) -> Response:
        """What was spent, and how much may be."""
        table = self._table(request)
        return self._site.page(request, "ledger", table=table, step="", **ledger_view.facts(table))


def job_facts(site: Site, job: Job, say: Catalogue) -> dict[str, Any]:
    """What the page of a job shows of its state, also when it asks again."""
    left = job.seconds_left
    release = None
    if job.kind == "release" and job.state == "done":
        release = site.place.relative(Path(job.fields["folder"]))
    return {
        "job": job,
        "release": release,
        "percent": round(100 * job.done),
        "left": "" if left is None else plan_view.duration(left, say),
        "report": job.state == "done" and site.jobs.report(job.id).is_file(),
    }


def _number(request: Request, name: str, low: float, high: float) -> float | None:
    given = request.query_params.get(name, "")
    if not given:
        return None
    value = number_or_none(given)
    if value is None or not low <= value <= high:
        raise UsageError(f"{name} must be a number from {low:g} to {high:g}")
    return value


def _kept(content: bytes, name: str) -> Response:
    quoted = "".join(c if (c.isalnum() and c.isascii()) or c in "-_." else "_" for c in name)
    return Response(
        content,
        media_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{quoted}"'},
    )
