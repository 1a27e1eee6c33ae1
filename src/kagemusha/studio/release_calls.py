"""What can be done with a release and with jobs: draw, sign, verify, look beside the table, try again."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from kagemusha.certificate.inventory import SCHEMA, TABLES
from kagemusha.errors import UsageError
from kagemusha.files import declares_several
from kagemusha.studio import release_view
from kagemusha.studio.calls import Call
from kagemusha.studio.pages_of import job_facts
from kagemusha.studio.site import Site
from kagemusha.studio.wanted import Wanted

Answer = dict[str, Any]
TRAININGS = 30
"""How often an attack trains the method unless somebody wants more."""


class ReleaseCalls:
    """Calls about releases and jobs."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @property
    def calls(self) -> Mapping[str, Callable[[Call], Answer]]:
        """Each call by its name."""
        return {
            "job": self.job,
            "again": self.again,
            "sample": self.sample,
            "sign": self.sign,
            "verify": self.verify,
            "look": self.look,
        }

    def job(self, call: Call) -> Answer:
        """How far a job is now."""
        job = self._site.jobs.get(call.text("id"))
        facts = job_facts(self._site, job, call.say)
        return {"replace": {"progress": self._site.html("part_job", call.say, **facts)}, "state": job.state}

    def again(self, call: Call) -> Answer:
        """Try once more; what was paid is not paid again."""
        return {"go": f"/job/{self._site.jobs.again(call.text('id')).id}"}

    def sample(self, call: Call) -> Answer:
        """A few doubles for whom a condition holds, and how large that group is."""
        ref, where = call.text("r"), call.text("where")
        rows = call.count("rows", 1, release_view.MOST_DRAWN) or 1000
        tables, words = release_view.drawn(self._site.place, ref, min(rows, release_view.PREVIEW), where)
        lines = [line for name, content in tables.items() for line in _shown(name, content)]
        html = self._site.html("part_sample", call.say, lines=lines, words=words, ref=ref, rows=rows, where=where)
        return {"replace": {"sample": html}}

    def sign(self, call: Call) -> Answer:
        """Vouch for a release with the studio's own key."""
        id = release_view.signed(self._site.place, call.text("r"), call.text("who"))
        return {"said": call.say("Signed with the key {id}.", id=id[:16]), "reload": True}

    def verify(self, call: Call) -> Answer:
        """Every check, offline, without the data."""
        verdict = release_view.verified(self._site.place, call.text("r"))
        return {"replace": {"verdict": self._site.html("part_verdict", call.say, verdict=verdict)}}

    def look(self, call: Call) -> Answer:
        """A job that reads the table as it is: its results are INTERNAL, and the ledger knows of it."""
        if call.body.get("internal") is not True:
            raise UsageError(call.say("tick the box first: what follows is INTERNAL"))
        kind, folder = call.text("kind"), self._site.place.release(call.text("r"))
        made = next(
            (job for job in self._site.jobs.all() if job.kind == "release" and job.fields["folder"] == str(folder)),
            None,
        )
        if made is None:
            raise UsageError(call.say("the studio did not make this release, so it does not know its table"))
        wanted = Wanted.from_json(made.fields)
        where = wanted.where if wanted.place is None else f"{wanted.where}#{wanted.place}"
        if declares_several(folder / SCHEMA):
            about: dict[str, Any] = {"where": where, "ledger": wanted.ledger, "folder": str(folder)}
            several = {"evaluate": ("related", about), "attack": ("families", {**about, "trainings": TRAININGS})}
            if kind not in several:
                raise UsageError(call.say("this is for one table; tables that belong together do not have it so far"))
            return {"go": f"/job/{self._site.jobs.submit(secrets.token_hex(12), *several[kind]).id}"}
        doubles = next(folder / name for name in TABLES if (folder / name).is_file())
        common = {"where": where, "ledger": wanted.ledger, "schema": str(folder / SCHEMA)}
        fields: dict[str, dict[str, Any]] = {
            "evaluate": {**common, "table": str(doubles)},
            "compare": {**common, "methods": ["kage", "aim", "mst"], "epsilons": [wanted.epsilon]},
            "attack": {**common, "method": "kage", "epsilon": wanted.epsilon, "trainings": TRAININGS},
        }
        if kind not in fields:
            raise UsageError(call.say("{what} is no answer", what=repr(kind[:40])))
        return {"go": f"/job/{self._site.jobs.submit(secrets.token_hex(12), kind, fields[kind]).id}"}


def _shown(name: str, content: bytes) -> list[str]:
    """The lines of a table, under its name where there are several."""
    lines = content.decode("utf-8-sig").splitlines()
    return [f"# {name}", *lines[: release_view.MOST_LINES], ""] if name else lines
