"""ε by its consequences: one picture from the schema alone, each point of it in words, and what is left of the cap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kagemusha.ledger import Book, ledger_exists, open_ledger
from kagemusha.ledger.cap import Cap
from kagemusha.ledger.content import left_of
from kagemusha.planning.demanded import in_words
from kagemusha.planning.outlook import EPSILONS, Point, outlook, related_outlook
from kagemusha.planning.related import plan_tables
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Schema
from kagemusha.schema.declared import Declared
from kagemusha.schema.demands import NOTHING
from kagemusha.schema.related import Related
from kagemusha.studio.ledger_view import has_cap
from kagemusha.studio.place import Table
from kagemusha.studio.wanted import DISCOVER
from kagemusha.synthesizers.registry import DEFAULT, create
from kagemusha.synthesizers.suited import suited
from kagemusha.words.catalogue import Catalogue, noted

WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT = 640, 260, 54, 54, 16, 40
"""The picture and its margins, in pixels of its own."""

TICKS = (0.1, 0.3, 1, 3, 10)
GUESSED = 5
"""People of 100 whom guessing alone finds."""


def shown_point(point: Point, say: Catalogue) -> dict[str, Any]:
    """A point in words and as numbers for the picture."""
    wrong, found = wrong_of_100(point.error), 100 * point.recognised
    x = LEFT + (WIDTH - LEFT - RIGHT) * _along(point.epsilon)
    error = "" if wrong is None else say(
        "About {n} of 100 doubles fall into a wrong cell of a table of two columns, as in tables of this shape; "
        "more or fewer as columns depend on each other.", n=f"{wrong:.1f}"
    )  # fmt: skip
    return {
        "epsilon": f"{point.epsilon:g}",
        "error": error,
        "attack": say(
            "The best attacker there can be, who knows everybody else’s record and accepts being wrong about 5 of 100 "
            "strangers, recognises at most {n} of 100 people in the table. Guessing finds 5.",
            n=f"{found:.1f}",
        ),
        "judged": say(_judged(found)),
        "more": "",
        "time": say("How long it takes and how much memory is not forecast for several tables.")
        if point.seconds is None or point.at_most is None or point.megabytes is None else say(
            "It takes about {time} of computing, at most {most}, and at most about {memory} MB.",
            time=duration(point.seconds, say), most=duration(point.at_most, say), memory=f"{point.megabytes:,.0f}",
        ),
        "x": round(x, 1),
        "wrong": None if wrong is None else round(_high(wrong / 100), 1),
        "found": round(_high(found / 100), 1),
    }  # fmt: skip


def _shown_points(schema: Declared, rows: int, say: Catalogue, epsilons: Sequence[float]) -> list[dict[str, Any]]:
    """Each point with what it means for tables by themselves, or for what is demanded of one."""
    if isinstance(schema, Related):
        return [
            {**shown_point(point, say), "more": _tables_in_words(schema, rows, point.epsilon, say)}
            for point in related_outlook(schema, rows, epsilons=epsilons)
        ]
    points = outlook(schema, rows, epsilons=epsilons, discover=DISCOVER)
    return [
        {**shown_point(point, say), "more": _demands_in_words(schema, rows, point.epsilon, say)} for point in points
    ]


def _tables_in_words(schema: Related, persons: int, epsilon: float, say: Catalogue) -> str:
    found = []
    for one in plan_tables(schema, create(DEFAULT), Budget(epsilon), persons):
        if one.errors is None:
            continue
        least, most = (f"{50 * error:.1f}" for error in sorted(one.errors))
        near = least if least == most else f"{least}–{most}"
        found.append(say("{table}: {n} of 100 in a wrong cell, {share} % of the budget",
                         table=one.table, n=near, share=f"{100 * one.share:.0f}"))  # fmt: skip
    return "; ".join(found)


def _demands_in_words(schema: Schema, rows: int, epsilon: float, say: Catalogue) -> str:
    if schema.demands == NOTHING or schema.open_facts():
        return ""
    budget = Budget(epsilon, rows=schema.unit.max_rows)
    return "; ".join(say.heard(one) for one in in_words(schema, create(suited(schema).method), budget, rows))


def _judged(found: float) -> str:
    """A word for how strong a promise is, by what it leaves to the best attacker."""
    if found < 2 * GUESSED:
        return noted("Very strong: hardly better than guessing.")
    if found < 4 * GUESSED:
        return noted("Strong: few people could ever be recognised.")
    if found < 10 * GUESSED:
        return noted("Moderate: a perfectly informed attacker recognises some.")
    return noted("Weak: a perfectly informed attacker recognises most.")


def duration(seconds: float, say: Catalogue) -> str:
    """A time as people say it."""
    if seconds < 90:
        return say("{n} s", n=f"{max(1.0, seconds):.0f}")
    return say("{n} min", n=f"{seconds / 60:.0f}")


def wrong_of_100(error: float | None) -> float | None:
    """Doubles of 100 in a wrong cell: half the L1 error."""
    return None if error is None else 50 * error


def picture(schema: Declared, rows: int, say: Catalogue, epsilons: Sequence[float] = EPSILONS) -> dict[str, Any]:
    """Both curves, their points in words, and the pairs that will be worst."""
    shown = _shown_points(schema, rows, say, epsilons)
    return {
        "points": shown,
        "wrong": _line((one["x"], one["wrong"]) for one in shown if one["wrong"] is not None),
        "found": _line((one["x"], one["found"]) for one in shown),
        "ticks": [(f"{tick:g}", round(LEFT + (WIDTH - LEFT - RIGHT) * _along(tick), 1)) for tick in TICKS],
        "levels": [(f"{100 * level:.0f}", round(_high(level), 1)) for level in (0, 0.25, 0.5, 0.75, 1)],
        "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "top": TOP, "foot": HEIGHT - FOOT,
    }  # fmt: skip


def _along(epsilon: float) -> float:
    first, last = math.log(EPSILONS[0]), math.log(EPSILONS[-1])
    return min(1.0, max(0.0, (math.log(epsilon) - first) / (last - first)))


def _high(share: float) -> float:
    return TOP + (HEIGHT - FOOT - TOP) * (1 - min(1.0, max(0.0, share)))


def _line(points: Any) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def caps_of(table: Table, schema: Declared) -> list[tuple[Cap, float, float]]:
    """The caps that hold for a table: each with the share of it that is taken, and the ε of one more release."""
    if not ledger_exists(table.ledger):
        return []
    book: Book = open_ledger(table.ledger, read_only=True)
    try:
        mine = [cap for cap in book.caps() if has_cap(table, cap.dataset)]
        accounting = create(DEFAULT if isinstance(schema, Related) else suited(schema).method).accounting
        return [(cap, book.used(cap), left_of(book, cap, accounting)) for cap in mine]
    finally:
        book.close()


def caps_shown(table: Table, schema: Declared, say: Catalogue) -> list[str]:
    """What is left of the cap, in sentences, for the method that suits the schema."""
    lines = [
        say(
            "The cap of this table is ε = {epsilon}; {used} % of it is used. One more release may have at most about "
            "ε = {left}.",
            epsilon=f"{cap.budget.epsilon:g}", used=f"{100 * used:.1f}", left=f"{left:.3g}",
        )
        for cap, used, left in caps_of(table, schema)
    ]  # fmt: skip
    return lines or [say("No cap is set yet: nothing was ever paid for this table here.")]
