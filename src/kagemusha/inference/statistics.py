"""Statistics that people ask for, as functions of one table of counts: means, shares, differences and odds ratios.

`mean age by ward` · `mean age where sex = 'F'` · `share of died = 'yes' by sex` · `difference in mean age by sex` ·
`difference in share of died = 'yes' by sex` · `odds ratio of died = 'yes' by sex`
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.columns import Modelled
from kagemusha.errors import UsageError
from kagemusha.rules.conditions import read_where
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique

FORMS = (
    "mean COLUMN [by COLUMN] [where CONDITION]",
    "share of CONDITION [by COLUMN]",
    "difference in mean COLUMN by COLUMN",
    "difference in share of CONDITION by COLUMN",
    "odds ratio of CONDITION by COLUMN",
    "COLUMN ~ COLUMN + COLUMN",
    "CONDITION ~ COLUMN + COLUMN",
)


@dataclass(frozen=True, eq=False)
class Statistic:
    """Some ratios of sums over a table, and what becomes of them."""

    text: str
    columns: Clique
    value: FloatArray
    """What a cell counts with in the numerator, over the table of `columns`."""
    weight: FloatArray
    """What it counts with in the denominator."""
    groups: Sequence[str]
    """Names of the groups, the codes of the first column; one empty name where there are none."""
    averaged: Collection[int] = ()
    """Columns over whose values an average is taken: values that were measured together may stay together."""
    contrast: str = ""
    """What is made of two groups: a difference, an odds ratio, or nothing."""

    @property
    def names(self) -> list[str]:
        """What is estimated, one name for each number."""
        if self.contrast:
            return [f"{self.groups[0]} against {self.groups[1]}"]
        return list(self.groups)

    def ratios(self, above: FloatArray, below: FloatArray) -> FloatArray:
        """The numbers, for many tables; odds ratios as logarithms. Not a number where a group is empty."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = above / np.where(below > 0, below, np.nan)
            if self.contrast == "difference":
                found = found[:, :1] - found[:, 1:]
            elif self.contrast == "odds ratio":
                odds = np.log(found) - np.log1p(-found)
                found = odds[:, :1] - odds[:, 1:]
        return np.asarray(np.where(np.isfinite(found), found, np.nan))

    def shown(self, numbers: FloatArray) -> FloatArray:
        """As people read them."""
        return np.exp(numbers) if self.contrast == "odds ratio" else numbers


def read_statistic(text: str, schema: Schema) -> Statistic:
    """What is asked, in words; a `UsageError` names what cannot be read."""
    found = re.fullmatch(
        r"\s*(?:(?P<contrast>difference in|odds ratio of)\s+)?(?:(?P<what>mean|share of)\s+)?(?P<rest>.+?)"
        r"(?:\s+by\s+(?P<by>[^'\"=<>]+?))?(?:\s+where\s+(?P<where>.+?))?\s*",
        text,
    )
    if found is None:
        raise _unknown(text)
    contrast = {"difference in": "difference", "odds ratio of": "odds ratio", None: ""}[found["contrast"]]
    what = "share of" if contrast == "odds ratio" and found["what"] is None else found["what"]
    if what is None or (contrast and found["by"] is None) or (what == "share of" and found["where"]):
        raise _unknown(text)
    by = None if found["by"] is None else _modelled(found["by"].strip(), schema)
    groups = [""] if by is None else _groups(by)
    if contrast and len(groups) != 2:
        raise UsageError(f"{text!r}: {by.name if by else ''} has {len(groups)} groups; a comparison needs exactly two")
    if what == "mean":
        return _mean(text, found["rest"].strip(), by, groups, found["where"], contrast, schema)
    inside, columns = _condition(found["rest"], by, schema)
    return Statistic(text, columns, inside, np.ones_like(inside), groups, (), contrast)


def _mean(
    text: str, name: str, by: Modelled | None, groups: list[str], where: str | None, contrast: str, schema: Schema
) -> Statistic:
    column = _modelled(name, schema)
    axis = column.axis
    if axis is None:
        raise UsageError(f"{text!r}: {name} is {column.kind}: only numbers, dates and times have a mean")
    marks = np.zeros(column.size - column.n_values)  # special and missing values count for nothing
    centres = np.concatenate([axis.middles, marks])
    known = np.concatenate([np.ones(column.n_values), marks])
    columns: tuple[str, ...] = (name,) if by is None else (by.name, name)
    if len(set(columns)) < len(columns):
        raise UsageError(f"{text!r}: {name} cannot be grouped by itself")
    averaged = (len(columns) - 1,)
    shape = tuple(schema.domain.size(c) for c in columns)
    value, weight = (np.broadcast_to(of, shape).copy() for of in (centres, known))
    if where is not None:
        inside, tied = _condition(where, None, schema)
        if set(tied) & set(columns):
            raise UsageError(f"{text!r}: the condition speaks of a column that the mean speaks of already")
        columns = (*columns, *tied)
        value = np.multiply.outer(value, inside)
        weight = np.multiply.outer(weight, inside)
    return Statistic(text, columns, value, weight, groups, averaged, contrast)


def _condition(text: str, by: Modelled | None, schema: Schema) -> tuple[FloatArray, Clique]:
    """How much of each cell fulfils a condition, with the grouping column as the first axis."""
    inside: FloatArray = np.ones(())
    columns: tuple[str, ...] = ()
    for group in read_where(text, schema):
        inside = np.multiply.outer(inside, group.weights())
        columns = (*columns, *group.clique)
    if by is None:
        return inside, columns
    if by.name in columns:
        raise UsageError(f"the condition {text!r} speaks of {by.name}, which the groups are made by")
    return np.broadcast_to(inside, (by.size, *inside.shape)).copy(), (by.name, *columns)


def _groups(column: Modelled) -> list[str]:
    """The groups of a column: its values in words; what is not listed or missing makes none."""
    return [f"{column.name} = {label}" for label in column.code_names[: column.n_values]]


def _modelled(name: str, schema: Schema) -> Modelled:
    if name not in schema.domain:
        raise UsageError(f"no column named {name!r} is modelled; columns are {', '.join(schema.domain.names)}")
    return schema.modelled_column(name)


def _unknown(text: str) -> UsageError:
    return UsageError(f"{text!r} cannot be read; ask for one of: {'; '.join(FORMS)}")
