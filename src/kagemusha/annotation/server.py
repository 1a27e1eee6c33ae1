"""The page for those who label: one synthetic record at a time. Listens on loopback; no route leads to a real record.

It knows the store and nothing else: neither the private table nor the ledger can be reached from here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kagemusha.annotation.agreement import agreement, by_task, conflicts
from kagemusha.annotation.exchange import to_csv, to_json, to_label_studio
from kagemusha.annotation.names import checked_name
from kagemusha.annotation.store import IMPOSSIBLE, UNKNOWN, Store, Task
from kagemusha.errors import UsageError
from kagemusha.web.access import Access, cookie_name
from kagemusha.web.calls import Handler, Refused, entered, inside, nothing, session_of
from kagemusha.web.guard import Guard
from kagemusha.web.language import choose_language, language_of
from kagemusha.words.catalogue import LANGUAGES

STATIC = Path(__file__).parent / "static"
TAKEN = "somebody else labels under this name: choose another, or go on in the browser where you began"
FRESH = 1.0
"""Seconds for which everybody sees the same progress."""


def create_app(store: Store, token: str, *, hosts: tuple[str, ...]) -> Starlette:
    """The server of one project.

    `hosts` are the names (with port) it answers to: others are a stranger's page rebound to us.
    """
    access = Access(token, cookie=cookie_name(hosts))
    site = _Site(store, access)

    app = Starlette(
        routes=[
            Route("/enter", site.enter),
            Route("/", site.page),
            Route("/settle", site.settle_page),
            Route("/language/{to}", choose_language),
            Route("/static/{name}", static),
            Route("/api/next", site.inside(site.next), methods=["POST"]),
            Route("/api/label", site.inside(site.label), methods=["POST"]),
            Route("/api/skip", site.inside(site.skip), methods=["POST"]),
            Route("/api/undo", site.inside(site.undo), methods=["POST"]),
            Route("/api/settle", site.inside(site.settle), methods=["POST"]),
            Route("/api/progress", site.inside(site.progress, named=False), methods=["POST"]),
            Route("/api/conflicts", site.inside(site.conflicts, named=False), methods=["POST"]),
            Route("/export/{form}", site.export),
            Route("/favicon.ico", nothing),
        ]
    )
    app.add_middleware(Guard, hosts=hosts)
    return app


async def static(request: Request) -> Response:
    """Script and style, by name; nothing else."""
    scripts = dict.fromkeys(("annotate.js", "record.js", "settle.js"), "text/javascript")
    kinds = {**scripts, "annotate.css": "text/css"}
    name = request.path_params["name"]
    if name not in kinds:
        return PlainTextResponse("not found", 404)
    return Response((STATIC / name).read_bytes(), media_type=kinds[name])


class _Site:
    """The routes."""

    def __init__(self, store: Store, access: Access) -> None:
        self._store, self._access = store, access
        pages = Environment(
            loader=PackageLoader("kagemusha.annotation", "static"), autoescape=True, undefined=StrictUndefined
        )
        self._names: dict[str, str] = {}
        self._lock, self._progress_seen = Lock(), (-FRESH, dict[str, Any]())
        self._pages = {name: pages.get_template(f"{name}.html") for name in ("annotate", "settle")}

    @cached_property
    def _project(self) -> dict[str, Any]:
        """What the owner decided; it never changes."""
        return dict(self._store.fact("project", {}))

    async def enter(self, request: Request) -> Response:
        """The link with the token: a cookie, and on to the page."""
        return await entered(request, self._access, "kagemusha annotate")

    async def page(self, request: Request) -> Response:
        """Where people label."""
        return await self._shown(request, "annotate")

    async def settle_page(self, request: Request) -> Response:
        """Where disagreements are settled."""
        return await self._shown(request, "settle")

    async def _shown(self, request: Request, name: str) -> Response:
        session = session_of(request, self._access)
        if session is None:
            return PlainTextResponse("open the link that `kagemusha annotate` printed", 403)
        facts, say = self._project, language_of(request, "annotate")
        html = self._pages[name].render(
            _=say,
            words=json.dumps(dict(say.sentences), ensure_ascii=False),
            languages=LANGUAGES.items(),
            csrf=self._access.csrf(session),
            question=facts["question"],
            classes=facts["classes"],
            guideline=facts["guideline"],
        )
        return Response(html, media_type="text/html")

    def _owns(self, session: str, who: str) -> bool:
        """Whether this session may speak under a name; what was looked up once stays so."""
        if self._names.get(who) != session:
            if not self._store.owns(session, who):
                return False
            self._names[who] = session
        return True

    def inside(self, handler: Callable[[dict[str, Any]], Any], *, named: bool = True) -> Handler:
        """A route for our own page alone.

        Where it is `named`, the body says who acts, and the name must be one of this session's.
        """

        def handle(session: str, body: dict[str, Any]) -> Any:
            if named:
                body["who"] = checked_name(body.get("who"))
                if not self._owns(session, body["who"]):
                    raise Refused(409, TAKEN)
            return handler(body)

        return inside(self._access, handle)

    def next(self, body: dict[str, Any]) -> dict[str, Any]:
        """The next record."""
        return {"task": _task(self._store.next(body["who"]))}

    def label(self, body: dict[str, Any]) -> dict[str, Any]:
        """Keep a label; the next record comes with the acknowledgement."""
        who = body["who"]
        return {"task": _task(self._store.label_and_next(_number(body, "task"), who, self._answer(body), _key(body)))}

    def skip(self, body: dict[str, Any]) -> dict[str, Any]:
        """Pass."""
        who = body["who"]
        self._store.skip(_number(body, "task"), who)
        return {"task": _task(self._store.next(who))}

    def undo(self, body: dict[str, Any]) -> dict[str, Any]:
        """The last label back."""
        task = self._store.undo(body["who"])
        if task is None:
            raise UsageError("there is nothing to undo")
        return {"task": _task(task)}

    def settle(self, body: dict[str, Any]) -> dict[str, Any]:
        """One answer that stands."""
        self._store.settle(_number(body, "task"), body["who"], self._answer(body), _key(body))
        return {"settled": True}

    def progress(self, _: dict[str, Any]) -> dict[str, Any]:
        """Both budgets, quality so far, agreement: the same for everybody, so it is looked up once a second at most."""
        with self._lock:
            at, progress = self._progress_seen
            if time.monotonic() - at > FRESH:
                progress = self._progress()
                self._progress_seen = time.monotonic(), progress
            return progress

    def _progress(self) -> dict[str, Any]:
        facts = self._project
        return {
            **self._store.progress(),
            "wanted": facts["labels"],
            "epsilon": facts["epsilon"],
            "spent": self._store.fact("spent", 0.0),
            "stage": self._store.fact("stage", {"what": "starting", "spent": 0.0}),
            "quality": self._store.fact("quality"),
            "agreement": agreement(self._store.said(records=False)),
        }

    def conflicts(self, _: dict[str, Any]) -> dict[str, Any]:
        """Records that people disagree about."""
        said = by_task(all_said := self._store.said())
        return {
            "conflicts": [
                {
                    "task": t,
                    "shown": said[t][0].shown,
                    "said": [{"who": one.who, "answer": one.answer} for one in said[t]],
                }
                for t in conflicts(all_said)
            ]
        }

    async def export(self, request: Request) -> Response:
        """All labels: CSV (safe for spreadsheets), JSON, or as Label Studio reads it."""
        if session_of(request, self._access) is None:
            return PlainTextResponse("open the link that `kagemusha annotate` printed", 403)
        forms = {
            "labels.csv": (to_csv, "text/csv"),
            "labels.json": (to_json, "application/json"),
            "label-studio.json": (to_label_studio, "application/json"),
        }
        name = request.path_params["form"]
        if name not in forms:
            return PlainTextResponse("not found", 404)
        write, kind = forms[name]
        text = await run_in_threadpool(write, self._store)
        return Response(text, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})

    def _answer(self, body: dict[str, Any]) -> str:
        answer = body.get("answer")
        count = len(self._project["classes"])
        if answer in (UNKNOWN, IMPOSSIBLE):
            return str(answer)
        if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < count:
            return str(answer)
        raise UsageError(f"answer must be a number from 0 to {count - 1}, {UNKNOWN!r} or {IMPOSSIBLE!r}")


def _task(task: Task | None) -> dict[str, Any] | None:
    return None if task is None else {"id": task.id, "round": task.round, "shown": task.shown}


def _number(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**53:
        raise UsageError(f"{name} must be a positive whole number")
    return value


def _key(body: dict[str, Any]) -> str:
    key = body.get("key")
    if not isinstance(key, str) or not 8 <= len(key) <= 64:
        raise UsageError("key must be a text of 8 to 64 characters")
    return key
