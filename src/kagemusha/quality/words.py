"""What a quality page says, in sentences of the reader's language; English sentences are the keys of the others."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kagemusha.certificate.certificate import Certificate
from kagemusha.models.model import Model
from kagemusha.quality.expected_error import CARE, USE, VERDICTS, ErrorInterval, ExpectedError
from kagemusha.quality.population import NotListed
from kagemusha.quality.released import ReleasedNumbers
from kagemusha.words.catalogue import Say, noted

MEASURED = noted(
    "How near the ends can be was set on 14 tables; on 17 others 93.6 % of 13,545 intervals held, 84 % in the table "
    "where fewest did. It is no guarantee elsewhere."
)
"""Where the intervals were checked; benchmarks/results/intervals.md."""

COMPARED = noted(
    "Compared are the columns as the schema codes them: numbers in their bins, values beyond a column's bounds as the "
    "nearest bound, values "
    "that are not listed as a category of their own. What that coding itself leaves out is not counted."
)

POPULATION = noted(
    "Survey weights: sums of the weights of doubles, for as many doubles as there were records. An interval is made to "
    "hold what the real table's weights, taken in the middle of their bins, would give in nine of ten cases. It covers "
    "the noise and the drawing of doubles, not that the survey itself is a sample."
)

KNOWN_FROM = {
    "counts": noted("its counts were measured"),
    "interaction": noted("its interaction was measured"),
    "score": noted("its dependence was measured, its table was not"),
    "selection": noted("it was worth measuring less than what was measured"),
    "columns": noted("only its columns are known"),
}


@dataclass(frozen=True)
class GroupWords:
    """What is said of groups by some columns."""

    few: str
    smallest: str
    without: str
    one_without: str


GROUPS = {
    1: GroupWords(
        noted(
            "Groups by one column: for fewer than half of the columns is there a group known to be right to within "
            "10 %."
        ),
        noted(
            "Groups by one column: the smallest whose count is right to within 10 % has {size:,} rows (the middle one "
            "of {of:,} columns)."
        ),
        noted("{none:,} columns have no such group."),
        noted("One column has no such group."),
    ),
    2: GroupWords(
        noted(
            "Groups by two columns: for fewer than half of the pairs is there a group known to be right to within 10 %."
        ),
        noted(
            "Groups by two columns: the smallest whose count is right to within 10 % has {size:,} rows (the middle one "
            "of {of:,} pairs)."
        ),
        noted("{none:,} pairs have no such group."),
        noted("One pair has no such group."),
    ),
}
"""By the number of columns."""

FEW_CODES = 16
"""Columns with more codes are named where fewer would help."""

WITHIN_95 = 1.96
"""Deviations of Gaussian noise that 95 of 100 answers stay within."""


def of_100(error: float) -> str:
    """An error as doubles in a wrong cell, of 100."""
    wrong = 50 * error
    return f"{wrong:.2f}" if wrong < 1 else f"{wrong:.1f}"


def grades(say: Say = str.format) -> list[str]:
    """The verdicts as the map explains them."""
    return [
        say("at most {n:g} of 100 in a wrong cell", n=50 * USE),
        say("at most {n:g}", n=50 * CARE),
        say("more, or not known"),
    ]


def in_words(expected: ExpectedError, say: Say = str.format) -> str:
    """What the doubles can do, in a sentence or two."""
    worst = max(expected.columns, key=lambda one: one.high)
    least = {"n": of_100(worst.high), "column": worst.clique[0]}
    words = (
        say(
            "Counts over one column can be used: at most {n} of 100 doubles are in a wrong place, even in {column}, "
            "the least certain column.",
            **least,
        )
        if worst.high <= CARE
        else say(
            "Counts over one column: in {column}, the least certain, up to {n} of 100 doubles may be in a wrong place.",
            **least,
        )
    )
    total, there_are = len(expected.pairs), all_pairs(expected)
    if not total:
        return words
    counted = expected.counted()
    good, fair, _ = (counted[verdict] for verdict in VERDICTS)
    best = [" × ".join(one.clique) for one in sorted(expected.pairs, key=lambda one: one.high)[:3]]
    facts: dict[str, object] = {
        "use": 50 * USE,
        "care": 50 * CARE,
        "good": good,
        "fair": fair,
        "total": total,
        "all": there_are,
    }
    facts |= {"best": ", ".join(best)}
    if good and total == there_are:
        pairs = say(
            "Tables of two columns: at most {use:g} of 100 in a wrong cell for {good:,} of {total:,} pairs, at most "
            "{care:g} of 100 for {fair:,} more; best known: {best}.",
            **facts,
        )
    elif good:
        pairs = say(
            "Tables of two columns: at most {use:g} of 100 in a wrong cell for {good:,} of {total:,} pairs looked at, "
            "of {all:,}, at most {care:g} of 100 for {fair:,} more; best known: {best}.",
            **facts,
        )
    elif total == there_are:
        pairs = say(
            "Tables of two columns: at most {care:g} of 100 for {fair:,} of {total:,} pairs; best known: {best}.",
            **facts,
        )
    else:
        pairs = say(
            "Tables of two columns: at most {care:g} of 100 for {fair:,} of {total:,} pairs looked at, of {all:,}; "
            "best known: {best}.",
            **facts,
        )
    return f"{words} {pairs}"


def groups_in_words(expected: ExpectedError, say: Say = str.format) -> list[str]:
    """From which size on groups can be counted, for people."""
    found = []
    for width, members in ((1, expected.columns), (2, expected.pairs)):
        if not members:
            continue
        words, size = GROUPS[width], expected.right_from(width)
        none = sum(one.right_from is None for one in members)
        if size is None:
            found.append(say(words.few))
            continue
        smallest = say(words.smallest, size=math.ceil(size), of=len(members))
        without = say(words.one_without) if none == 1 else say(words.without, none=none)
        found.append(f"{smallest} {without}" if none else smallest)
    return found


def shown_size(one: ErrorInterval, say: Say = str.format) -> str:
    """From which size on groups are right, in a cell of a table."""
    return say("no size") if one.right_from is None else say("{n:,} rows", n=math.ceil(one.right_from))


def all_pairs(expected: ExpectedError) -> int:
    """Pairs of columns there are; in very wide tables more than were looked at."""
    return math.comb(len(expected.columns), 2)


def strays_in_words(certificate: Certificate, rows: int, say: Say = str.format) -> list[str]:
    """Columns with so many cells out of place that the noise does not hide it, and how many, for people."""
    seen, noise = certificate.parameters.get("strays"), certificate.parameters.get("strays_noise")
    if not isinstance(seen, dict) or not isinstance(noise, int | float):
        return []
    return [
        say(
            "{column}: {low:,.0f} to {high:,.0f} of about {rows:,} cells are blank, cannot be read, lie outside the "
            "bounds or are not listed. Doubles show values of the schema instead: look at the schema and the table.",
            column=column,
            low=max(0.0, count - WITHIN_95 * noise),
            high=count + WITHIN_95 * noise,
            rows=rows,
        )
        for column, count in seen.items()
    ]


def not_listed_in_words(one: NotListed, say: Say = str.format) -> str:
    """For people; empty where the noise alone may explain what was counted."""
    if one.low < 1:
        return ""
    return say(
        "{column}: {low:,.0f} to {high:,.0f} people have a value that the schema does not list; their doubles have a "
        "listed one.",
        column=one.column,
        low=one.low,
        high=one.high,
    )


def what_helps(model: Model, expected: ExpectedError, say: Say = str.format) -> list[str]:
    """What would make the errors smaller, from the noise that the release itself states."""
    released, found = ReleasedNumbers(model), []
    noise = sorted(
        (min(1.0, math.sqrt(2 / math.pi) * table.sigma * table.values.size / released.total), one.clique)
        for one in expected.pairs
        for table in released.tables(one.clique)[:1]
    )
    if noise:
        share, clique = noise[len(noise) // 2]
        found.append(
            say(
                "More ε: the noise alone puts up to {n} of 100 doubles in a wrong cell of {pair}, the middle one of "
                "the pairs that were measured. Twice the ε halves that.",
                n=of_100(share),
                pair=" × ".join(clique),
            )
        )
    rows = model.certificate.promised.rows
    if rows > 1:
        found.append(
            say(
                "Fewer rows per person: {rows:,} rows of a person count, so all noise is {rows:,} times that for one "
                "row (max_rows in the schema; rows beyond it are left out).",
                rows=rows,
            )
        )
    wide = sorted(model.schema.modelled, key=lambda column: -column.size)[:3]
    shown = [
        say("{column} ({codes:,} codes)", column=column.name, codes=column.size)
        for column in wide
        if column.size > FEW_CODES
    ]
    if shown:
        found.append(
            say(
                "Fewer bins or categories: {columns}. With half as many a pair has half as many noisy cells.",
                columns=", ".join(shown),
            )
        )
    alone = sum(one.known_from == "columns" for one in expected.pairs)
    if alone:
        found.append(
            say(
                "Fewer columns: {alone:,} of {pairs:,} pairs are known from their columns alone; a budget that is "
                "spread over fewer pairs reaches more of them.",
                alone=alone,
                pairs=len(expected.pairs),
            )
        )
    return found
