"""`schema check --data`: how many rows break each rule, with noise and paid for, or exactly and INTERNAL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kagemusha.cli.asking import WITHIN_95, Payment, ask
from kagemusha.cli.options import ledger_path
from kagemusha.cli.output import plain, say

if TYPE_CHECKING:
    from kagemusha.schema import Schema

INTERNAL = "the numbers of rows that break each rule are exact and about persons: INTERNAL, do not publish them"
REASON = "`schema check --data` without --epsilon counts the rows that break each rule exactly"


def count_noisily(schema: Schema, data: str, table: str | None, payment: Payment, *, quiet: bool) -> dict[str, Any]:
    """Ask how many rows break each rule, with noise; tells it in words unless `quiet`, and returns it for machines."""
    from kagemusha.queries.broken_rules import BrokenRules
    from kagemusha.release.curator import require_confirmed
    from kagemusha.schema.judging import rules_in_force
    from kagemusha.sources.judged import JudgedSource

    named = {name for rule in rules_in_force(schema) for name in rule.columns}
    require_confirmed(schema, only=named)
    paid = ask(data, JudgedSource(data, schema, table=table), BrokenRules(schema), payment, declared=schema)
    found = paid.answer
    off = WITHIN_95 * found.sigma
    if not quiet:
        say(f"Rows that break each rule, with noise: off by at most about {off:,.0f} in 95 of 100 cases.")
        for rule, count in found.broken.items():
            say(f"  {in_words(count, off, found.rows)}: {plain(rule)}")
        paid.say()
    return {
        "rows": found.rows,
        "broken": dict(found.broken),
        "off by at most, 95 of 100": off,
        **paid.to_json(),
    }


def in_words(count: int, off: float, rows: int) -> str:
    """A noisy number of rows as people read it."""
    most = max(0.0, count + off)
    of_all = max(1.0, rows)
    if count <= off:
        return f"too few to be seen through the noise, at most about {most:,.0f} of {rows:,} rows"
    share = f"{100 * count / of_all:.1f} %"
    return f"about {count:,} ({count - off:,.0f} to {most:,.0f}) of about {rows:,} rows, {share}"


def count_exactly(
    schema: Schema, data: str, table: str | None, ledger: str | None, dataset: str | None, policy: str, *, quiet: bool
) -> dict[str, Any]:
    """Count the rows that break each rule.

    A ledger that is in use first records that the table was read without protection.
    """
    from kagemusha.ledger import ledger_exists
    from kagemusha.queries.broken_rules import BrokenRules
    from kagemusha.release.asking import look
    from kagemusha.schema.unit import EACH_ROW
    from kagemusha.sources.judged import JudgedSource

    everybody = schema.with_unit(EACH_ROW)
    source: Any = JudgedSource(data, everybody, table=table)
    where = ledger_path(ledger, data)
    if ledger is not None or ledger_exists(where):
        source = look(source, REASON, ledger=where, dataset=dataset, policy=policy)
    query = BrokenRules(everybody)
    rows, *counts = map(int, query.values(source.count(query.cliques())))
    broken = dict(zip(query.identity(), counts, strict=True))
    if not quiet:
        say("[red]INTERNAL[/]: the numbers below are exact and about persons. Do not publish them.")
        for rule, count in broken.items():
            say(f"{count:>10,} of {rows:,} rows break {plain(rule)}")
        say("With --epsilon 0.1 they come with noise, are paid for, and may be published.")
    return {"INTERNAL": INTERNAL, "rows": rows, "broken": broken}
