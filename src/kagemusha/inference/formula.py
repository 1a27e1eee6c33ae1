"""What a regression is about: `stay ~ age + sex` or `died = 'yes' ~ age + sex`, as features over codes of columns.

A number is a feature by its values; of a column of labels each group of values is one, against the first that is not
rare. Values that were measured together, or that too few people have for the noise, stay together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns import Modelled
from kagemusha.columns.registry import did_you_mean
from kagemusha.errors import UsageError
from kagemusha.inference.evidence import Unknown
from kagemusha.rules.conditions import read_where
from kagemusha.schema import Schema

MOST_PREDICTORS, MOST_FEATURES = 12, 30
USUAL = 0.1
"""Share of people that have the value that others are compared with: the first such one."""

SIDES = re.compile(r"((?:[^~'\"`]|'[^']*'|\"[^\"]*\"|`[^`]*`)*)~(.*)", re.S)
FORM = "COLUMN ~ COLUMN + COLUMN … (least squares), CONDITION ~ COLUMN + COLUMN … (logistic)"


@dataclass(frozen=True, eq=False)
class Feature:
    """One number per code of a column."""

    column: str
    name: str
    values: FloatArray
    numeric: bool
    """Whether these are the values of a number, over whose groups an average may be taken."""


@dataclass(frozen=True, eq=False)
class Formula:
    """An outcome and what it is explained by."""

    text: str
    outcome: Feature
    logistic: bool
    """Whether the outcome is a condition that holds or does not."""
    predictors: Sequence[Modelled]


def is_formula(text: str) -> bool:
    """Whether a question is about a regression."""
    return SIDES.fullmatch(text) is not None


def read_formula(text: str, schema: Schema) -> Formula:
    """What is asked; a `UsageError` names what cannot be read."""
    found = SIDES.fullmatch(text)
    left, right = ("", "") if found is None else (found[1].strip(), found[2].strip())
    names = [name.strip().strip("`") for name in right.split("+")]
    if not left or not all(names):
        raise UsageError(f"{text!r} cannot be read; ask for {FORM}")
    if len(names) > MOST_PREDICTORS or len(set(names)) < len(names):
        raise UsageError(f"{text!r}: 1 to {MOST_PREDICTORS} different columns may explain the outcome")
    predictors = [_column(name, schema) for name in names]
    plain = left.strip("`")
    outcome = _number(schema.modelled_column(plain)) if plain in schema.domain else _holds(left, schema)
    if outcome.column in names:
        raise UsageError(f"{text!r}: {outcome.column} cannot explain itself")
    return Formula(text, outcome, not outcome.numeric, predictors)


def _column(name: str, schema: Schema) -> Modelled:
    if name not in schema.domain:
        hint = did_you_mean(name, schema.domain.names)
        many = "; interactions and functions of columns cannot be asked" if re.search(r"[*:()^-]", name) else ""
        raise UsageError(f"no column named {name!r} is modelled{hint}{many}; ask for {FORM}")
    return schema.modelled_column(name)


def _number(column: Modelled) -> Feature:
    if column.axis is None:
        raise UsageError(f"{column.name} is {column.kind}: write which value is asked for, as in {column.name} = '…'")
    return values_of(column)


def values_of(column: Modelled) -> Feature:
    """A number by its values; special and missing ones count as none, and have features of their own."""
    assert column.axis is not None
    marks = np.zeros(column.size - column.n_values)
    return Feature(column.name, column.name, np.concatenate([column.axis.middles, marks]), True)


def _holds(text: str, schema: Schema) -> Feature:
    groups = read_where(text, schema)
    if len(groups) != 1 or len(groups[0].clique) != 1:
        raise UsageError(f"{text!r}: the outcome of a regression is one column, or a condition about one column")
    inside = groups[0].weights()
    if not np.isin(inside, (0.0, 1.0)).all():
        raise UsageError(f"{text!r} cuts a step of {groups[0].clique[0]}; say a bound at which a step begins")
    if not 0 < inside.sum() < len(inside):
        raise UsageError(f"{text!r} holds always, or never")
    return Feature(groups[0].clique[0], text, inside, False)


def features_of(column: Modelled, counts: FloatArray, together: IntArray, fewest: float) -> list[Feature]:
    """The features of a column that explains; `together` numbers groups of codes that cannot be distinguished.

    Groups of fewer than `fewest` people are joined, and, if they still are too few, counted with the usual one.
    """
    found: list[Feature] = []
    first = 0
    if column.axis is not None:
        found.append(values_of(column))
        first = column.n_values
        if set(together[:first].tolist()) & set(together[first:].tolist()):
            raise Unknown(f"special or missing values of {column.name} were measured together with others")
    members = [np.flatnonzero(together == group) for group in dict.fromkeys(together[first:].tolist())]
    sizes = [float(counts[codes].sum()) for codes in members]
    common = [at for at, size in enumerate(sizes) if size >= USUAL * sum(sizes)]
    usual = -1 if first or not sizes else next(iter(common), int(np.argmax(sizes)))
    small = [codes for at, codes in enumerate(members) if sizes[at] < fewest and at != usual]
    kept = [codes for at, codes in enumerate(members) if sizes[at] >= fewest and at != usual]
    joined = np.concatenate(small) if small else np.zeros(0, dtype=np.int64)
    if float(counts[joined].sum()) >= fewest:
        kept.append(joined)
    against = "" if first or usual < 0 else f" against {_named(column, members[usual])}"
    for codes in kept:
        held = np.zeros(column.size)
        held[codes] = 1.0
        found.append(Feature(column.name, f"{column.name} = {_named(column, codes)}{against}", held, False))
    return found


def _named(column: Modelled, codes: IntArray) -> str:
    names = [str(column.code_names[code]) for code in codes]
    return " or ".join(names) if len(names) <= 3 else f"{' or '.join(names[:2])} or {len(names) - 2} others"


def joined(size: int, groupings: Sequence[IntArray]) -> IntArray:
    """The finest partition of codes in which whatever any grouping holds together is together."""
    label = np.arange(size)
    for _ in range(size):
        before = label.copy()
        for group in groupings:
            least = np.full(int(group.max()) + 1, size)
            np.minimum.at(least, group, label)
            label = least[group]
        if (label == before).all():
            break
    return np.asarray(label)
