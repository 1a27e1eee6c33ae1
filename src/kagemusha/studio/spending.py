"""From what a page says to a release that is wanted: the same fields when it is shown and when it is agreed to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.making.order import usual_kind
from kagemusha.schema.related import Related
from kagemusha.studio.calls import Call
from kagemusha.studio.place import Table
from kagemusha.studio.site import Site
from kagemusha.studio.wanted import DISCOVER, Wanted, free_folder
from kagemusha.web.calls import Refused
from kagemusha.words.catalogue import Catalogue

NAME = re.compile(r"[^\W_][\w. -]{0,59}")
"""A name of a folder or of a release."""


def wanted_of(site: Site, table: Table, given: Mapping[str, Any], say: Catalogue) -> Wanted:
    """The release that these fields describe; a schema that still rests on the data describes none."""
    call = Call("", {**given, "lang": say.language})
    schema = site.drafts.load(table)
    if schema.derived_facts():
        raise UsageError(say("the schema still has facts that were read off the data: confirm them first"))
    if isinstance(schema, Related) and schema.open_facts():
        raise UsageError(
            say(
                "bounds or values are still open: say them first; in several tables `kagemusha synth --discover` finds "
                "them, the studio does not"
            )
        )
    folder, key = call.text("folder", most=60), call.text("key", most=60)
    for name in filter(None, (folder, key)):
        if not NAME.fullmatch(name):
            raise UsageError(say("a name must be 1 to 60 letters, digits, dots, - or _"))
    cap = None if not given.get("cap") else call.number("cap", 1e-3, 1e3)
    path = table.home / folder if folder else free_folder(table)
    return Wanted(
        ref=table.ref,
        where=table.where,
        place=table.place,
        ledger=str(table.ledger),
        folder=str(path if site.place.below(site.place.relative(path)) else ""),
        epsilon=float(f"{call.number('epsilon', 1e-3, 1e3):.6g}"),
        schema=schema.dumps(),
        cap=cap,
        key=key,
        rows=call.count("rows", 1, 10**8),
        discover=DISCOVER if schema.open_facts() else None,
        file_kind=usual_kind(table.where) if table.is_file else "csv",
    )


def spend(site: Site, call: Call) -> dict[str, Any]:
    """Agree to pay: for exactly what was shown, in one's own hand, and once, however often it is sent."""
    table = site.place.table(call.text("t"))
    wanted = wanted_of(site, table, call.body, call.say)
    if not site.access.agreed(call.session, wanted.digest, call.text("nonce")):
        raise Refused(409, call.say("this is not what the page showed: look at it again, nothing was spent"))
    if " ".join(call.text("typed").lower().split()) != f"spend {wanted.epsilon:g}":
        raise UsageError(call.say("type “spend {epsilon}” to agree; nothing was spent", epsilon=f"{wanted.epsilon:g}"))
    job = site.jobs.submit(wanted.digest, "release", vars(wanted))
    if job.state == "failed":
        site.jobs.again(job.id)
    return {"go": f"/job/{job.id}"}
