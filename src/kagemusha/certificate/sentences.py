"""What a promise rests on, in the words that every certificate carries."""

from __future__ import annotations

from collections.abc import Mapping

from kagemusha.schema.declared import Declared

# `verify` looks for these sentences, so a format never changes its own: new words need a new format
DECLARED = (
    "The schema (columns, categories, bounds, bins) was declared from public knowledge, not read off this table.",
)
DISCOVERED = (
    "Column names, kinds and whether values may be missing were declared from public knowledge, not read off this "
    "table; categories and bounds that were left open were found with a share of the budget, as the events show.",
)
TRUST = (
    "The person and the computer that ran this were trusted with the table: the promise covers what was released, "
    "not who could look over their shoulder.",
    "Running time, memory use and log files of the run were not shown to an attacker.",
)
ROW = (
    "The promise covers one row. Someone with several rows in the table is protected less: with k rows, ε becomes "
    "at least k times as large, and more where δ is not 0.",
)
PERSON = (
    "The promise covers one person: all rows that share a value of the column {column!r}. At most {rows:,} of a "
    "person's "
    "rows were used, chosen by a public rule that looks at no other person; rows without a value there were left out.",
)
KNOWN = (
    "The promise covers one person, who is known to have at most {rows:,} rows in the table. Someone with more is "
    "protected less.",
)
ALONE = (
    "The promise covers this release alone. Whatever else is released from the same table adds up with it; the "
    "custodian's ledger holds the sum and its cap.",
)
KNOWS = (
    "A ledger knows a table by its name and, for a file, by its bytes and its rows in any order. That the same people "
    "stand in other rows, or that another ledger was used for them, it cannot know.",
)

FOREIGN = (
    "Method: it is code of the package {package}, not of Kagemusha. Its answers were charged as the events say; its "
    "reading of the table was not checked, and code of a package can read a table without asking.",
)

GENERATED = (
    "Generation: the rows are draws from a normal distribution that nobody saw, made in whole numbers on a lattice of "
    "2⁻⁵⁶; the chance that rounding changed any of them is part of δ. Eigenvectors were computed in doubles and are "
    "taken to be right to 2⁻⁴⁰.",
)

FLOATING = (
    "Training: noise and gradients have the precision of doubles. The noise is Gaussian to 53 bits and rounded to a "
    "lattice of 2⁻²⁰ clips, and it is assumed that a row's gradient does not depend on who else is in the sample, of "
    "which the last digits of processors leave doubt.",
)

RELATED = (
    "The promise covers one person: the row of the table {persons!r} and all rows that belong to it in {below}, "
    "however many they are. A row below was counted in parts of a row, 840 at most, and in fewer the more siblings it "
    "has, so that all rows of one person together count as at most {parts} parts.",
    "Whose a row is, its place among its siblings and the row before it follow from the rows of its own person alone.",
)
"""Of several tables that belong together (docs/proofs/related.md)."""

WEIGHTED = (
    "Survey weights: the column {column!r} says how many people of the population a record stands for, at most "
    "{upper:g}. It is protected as any other value of a record is, and a weighted count has noise for the largest "
    "weight. The promise is about the people in the table, the sample. It says nothing of people of the population who "
    "were not asked: the table holds no record of theirs, and what holds for a group of them can be learned from "
    "others. Nothing is claimed from the sample having been drawn at random. A weight counts as part of its own record "
    "alone: where weights were adjusted to the sample (raking, post-stratification), one person's answers also moved "
    "the weights of others, and that is not covered.",
)


SAFE = (
    "For spreadsheets, texts and column names of the table that begin like a formula (with = + - @, a tab or a line "
    "break, after any apostrophes) are written with one apostrophe more before them; plain numbers are not."
)
"""Of a table that was written so."""

DRAWN = (
    "Rows: {rows:,} were drawn from N(μ, Σ) and are all that was released, now or ever; mean μ and covariance Σ were "
    "written nowhere. That number, the floor of {floor:g} and the {at_least:,} records to which a smaller table is "
    "filled up with empty ones were declared without looking at the table. Theorem D of "
    "docs/proofs/gaussian-generation-replace.md then holds for every table: no eigenvalue and no number of records is "
    "assumed."
)
"""Of rows that were drawn from a distribution nobody saw."""


def related(tables: Mapping[str, int]) -> tuple[str, ...]:
    """Whom and what the promise covers where several tables belong together."""
    named = names_of(tables)
    return (*(sentence.format(**named) for sentence in RELATED), *ALONE, *KNOWS)


def names_of(tables: Mapping[str, int]) -> dict[str, str]:
    """What the sentences about tables that belong together say of these tables."""
    persons, *others = tables
    below = [name for name in others if name.removesuffix("-next") not in others or not name.endswith("-next")]
    named = ", ".join(map(repr, below))
    parts = ", ".join(f"{tables[name]:,} ({name})" for name in below)
    return {"persons": persons, "below": named, "parts": parts}


def weighted(schema: Declared) -> tuple[str, ...]:
    """What a certificate says of survey weights; nothing where none are declared."""
    if schema.weight is None:
        return ()
    upper = schema.view("").axis(schema.weight.column).high
    return tuple(sentence.format(column=schema.weight.column, upper=upper) for sentence in WEIGHTED)
