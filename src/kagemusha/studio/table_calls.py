"""What can be done with a table: connect, draft, answer, plan, set a cap, and agree to pay."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from kagemusha.editing.tables import parts_of
from kagemusha.errors import UsageError
from kagemusha.planning.outlook import related_epsilon
from kagemusha.planning.wanted import pairs_of
from kagemusha.schema.related import Related
from kagemusha.studio import ledger_view, plan_view
from kagemusha.studio.calls import Call
from kagemusha.studio.cards import cards_of
from kagemusha.studio.labelling import labelling_of, require_agreed
from kagemusha.studio.place import Table
from kagemusha.studio.schema_calls import answer
from kagemusha.studio.schema_view import schema_facts
from kagemusha.studio.site import Site
from kagemusha.studio.spending import spend

Answer = dict[str, Any]
MOST_PAIRS = 100


class TableCalls:
    """Calls about one table."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @property
    def calls(self) -> Mapping[str, Callable[[Call], Answer]]:
        """Each call by its name."""
        return {
            "connect": self.connect,
            "draft": self.draft,
            "door": self.door,
            "schema": self.schema,
            "form": self.form,
            "point": self.point,
            "solve": self.solve,
            "cap": self.cap,
            "label": self.label,
            "spend": lambda call: spend(self._site, call),
        }

    def _table(self, call: Call) -> Table:
        return self._site.place.table(call.text("t"))

    def _seen(self, call: Call) -> Table:
        """The table, if this session may see its schema."""
        table = self._table(call)
        if not self._site.may_see(call.session, table):
            raise UsageError(call.say("open the marked door first: this schema holds facts read off the data"))
        return table

    def connect(self, call: Call) -> Answer:
        """Save a connection to a database, without a password."""
        ref = self._site.place.connect(call.text("name"), call.text("address"), call.text("table"))
        return {"go": f"/table?t={ref}"}

    def draft(self, call: Call) -> Answer:
        """A first draft: kinds alone, or behind the marked door bounds and categories, too."""
        table = self._table(call)
        if self._site.drafts.exists(table):
            raise UsageError(call.say("there is a schema already: {name}", name=table.schema.name))
        kinds_only = call.text("what") != "facts"
        if not kinds_only or table.several:
            self._agreed(call)
        self._site.drafts.draft(table, kinds_only=kinds_only, persons="" if kinds_only else call.text("persons"))
        self._site.open_door(call.session, table)
        return {"go": f"/schema?t={_quoted(table.ref)}"}

    def door(self, call: Call) -> Answer:
        """See what was read off the data and nobody confirmed."""
        self._agreed(call)
        table = self._table(call)
        self._site.open_door(call.session, table)
        return {"go": f"/schema?t={_quoted(table.ref)}"}

    def _agreed(self, call: Call) -> None:
        if call.body.get("internal") is not True:
            raise UsageError(call.say("tick the box first: what follows is INTERNAL"))

    def schema(self, call: Call) -> Answer:
        """One answer; what looks otherwise now comes back."""
        table = self._seen(call)
        with self._site.drafts.lock:  # two tabs, or two people: no answer is lost
            touched = answer(call, self._site.drafts, table)
        facts: dict[str, Any] = {"table": table, **schema_facts(self._site, table, call.say)}
        parts = {name: self._site.html(f"part_{name}", call.say, **facts) for name in ("state", "toml")}
        if touched is None:
            more = ("columns", "rules", "demands")
            parts |= {name: self._site.html(f"part_{name}", call.say, **facts) for name in more}
        else:
            for card in cards_of(self._site.drafts.alone(table), call.say, touched):
                parts[f"card-{card.at}"] = self._site.html("part_card", call.say, card=card, **facts)
        return {"replace": parts, "said": call.say("Saved.")}

    def form(self, call: Call) -> Answer:
        """The form that changes a column."""
        table = self._seen(call)
        part, name = call.text("in"), call.text("column")
        schema = parts_of(self._site.drafts.load(table)).get(part)
        if schema is None or name not in schema.names:
            raise UsageError(call.say("there is no column {name}", name=repr(name[:80])))
        (card,) = cards_of(schema, call.say, {name}, part=part)
        facts = schema_facts(self._site, table, call.say)
        html = self._site.html("part_form", call.say, card=card, **facts)
        return {"replace": {f"form-{card.at}": html}, "focus": f"form-{card.at}"}

    def point(self, call: Call) -> Answer:
        """One ε in words, from the schema alone."""
        table = self._seen(call)
        rows, epsilon = call.count("rows", 1, 10**9) or 10_000, call.number("epsilon", 1e-3, 1e3)
        schema = self._site.drafts.load(table)
        (point,) = plan_view.picture(schema, rows, call.say, [epsilon])["points"]
        return {"point": point}

    def solve(self, call: Call) -> Answer:
        """Which ε brings a wanted error, or the errors of pairs at one ε: a job that reads no private row."""
        table = self._seen(call)
        rows = call.count("rows", 1, 10**9) or 10_000
        declared = self._site.drafts.load(table)
        if isinstance(declared, Related):
            found = related_epsilon(declared, rows, call.number("wanted", 0.1, 99) / 50)
            if found is None:
                raise UsageError(call.say("no ε that is offered here brings that"))
            return {"go": f"/plan?t={_quoted(table.ref)}&rows={rows}&epsilon={found:g}"}
        schema = self._site.drafts.alone(table)
        if schema.open_facts():
            raise UsageError(call.say("bounds or values are still open: say them first, then errors can be tried out"))
        pairs = call.body.get("pairs") or []
        if not isinstance(pairs, list) or not all(isinstance(one, str) for one in pairs) or len(pairs) > MOST_PAIRS:
            raise UsageError(call.say("pairs must be a list of pairs of columns"))
        pairs_of(schema.domain, pairs)
        kind = "try" if call.text("what") == "try" else "solve"
        wanted = {"epsilon": call.number("epsilon", 1e-3, 1e3)} if kind == "try" else {
            "wanted": call.number("wanted", 0.1, 99) / 50
        }  # fmt: skip
        fields = {**wanted, "rows": rows, "pairs": pairs, "schema": schema.dumps(), "table": table.ref}
        name = hashlib.sha256(json.dumps([kind, fields], sort_keys=True).encode()).hexdigest()[:24]
        return {"go": f"/job/{self._site.jobs.submit(name, kind, fields).id}"}

    def label(self, call: Call) -> Answer:
        """Open the labelling page of a table; its rounds were agreed to."""
        table = self._seen(call)
        if self._site.drafts.alone(table).derived_facts():
            raise UsageError(call.say("the schema still has facts that were read off the data: confirm them first"))
        wanted = labelling_of(table, call.body, call.say.language)
        if wanted is None:
            raise UsageError(call.say("the question must be one word, such as urgency: it becomes a column"))
        shown = self._site.access.agreed(call.session, wanted.digest, call.text("nonce"))
        require_agreed(call, wanted, agreed=shown)
        return {"go": self._site.labellings.start(wanted, self._site.place.hidden / "labelling.log")}

    def cap(self, call: Call) -> Answer:
        """Set the most that all releases of a table may cost together."""
        table = self._table(call)
        epsilon = call.number("epsilon", 1e-3, 1e3)
        if call.text("typed").lower() != f"cap {epsilon:g}":
            raise UsageError(call.say("type “cap {epsilon}” to agree", epsilon=f"{epsilon:g}"))
        dataset = call.text("dataset") or table.where
        if dataset not in {table.where, *(cap["dataset"] for cap in ledger_view.facts(table)["caps"])}:
            raise UsageError(call.say("the ledger knows no such table"))
        rows = self._site.drafts.load(table).unit.max_rows if self._site.drafts.exists(table) else 1
        ledger_view.set_cap(table, dataset, epsilon, rows)
        return {"go": f"/ledger?t={_quoted(table.ref)}"}


def _quoted(ref: str) -> str:
    from urllib.parse import quote

    return quote(ref, safe="/@")
