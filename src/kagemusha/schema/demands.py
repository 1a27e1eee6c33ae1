"""What a release must keep: tables that are measured directly, and criteria by which it is accepted or not.

Both are declared before anything is read, so neither they nor how many there are can depend on the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kagemusha.columns import Column
from kagemusha.columns.registry import did_you_mean
from kagemusha.errors import SchemaError
from kagemusha.schema.domain import Clique

TENTH = 0.1
"""Share of the budget of a required table of weight 1."""
MOST_REQUIRED = 0.5
"""Required tables together never take more of the budget; those that ask for more are scaled down together."""
MOST_WIDE = 6
"""Columns of a required table."""
SHARE = 0.02
"""Share of the budget of a criterion that says nothing else."""
MOST_TESTED = 0.5
"""Share of the budget for all criteria together."""


def _number(what: str, value: Any, low: float, high: float) -> float:
    """A number above `low` and at most `high`; a `SchemaError` otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low < value <= high:
        raise SchemaError(f"{what} = {value!r} is not allowed; it must be a number above {low:g} and at most {high:g}")
    return float(value)


def _names(what: str, value: Any, fewest: int, most: int) -> Clique:
    listed = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    if not listed or not fewest <= len(value) <= most or len(set(value)) < len(value):
        raise SchemaError(f"{what} must list {fewest} to {most} different columns, got {value!r}")
    return tuple(value)


@dataclass(frozen=True)
class RequiredTable:
    """`[[require]]`: a table of counts that must be right; `weight` tenths of the budget are for it."""

    table: Clique
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", _names("require: table", self.table, 1, MOST_WIDE))
        object.__setattr__(self, "weight", _number("require: weight", self.weight, 0, 100))

    @property
    def columns(self) -> Clique:
        """All columns that it speaks of."""
        return self.table

    def to_fields(self) -> dict[str, Any]:
        """The fields that describe it."""
        return {"table": list(self.table), **({} if self.weight == 1 else {"weight": self.weight})}


@dataclass(frozen=True)
class Criterion:
    """`[[accept]]`: all two-way tables of some columns, or the mean of one, are within a distance of the real ones.

    Tables: the share of doubles in a wrong cell. Mean: in the column's own unit. `share` is that of the budget. With
    `rules`, no double breaks a rule of the schema: that holds by construction, is not tested, and costs nothing.
    """

    within: float = 0.0
    tables: Clique = ()
    mean: str | None = None
    share: float = SHARE
    rules: bool = False

    def __post_init__(self) -> None:
        if bool(self.tables) + (self.mean is not None) + (self.rules is not False) != 1:
            raise SchemaError(
                'accept: say what is demanded, one of tables = ["ward", "sex"], mean = "stay" or rules = true'
            )
        if self.rules is not False:
            if self.rules is not True or self.within != 0 or self.share not in (SHARE, 0):
                raise SchemaError("accept: rules = true stands alone: doubles obey by construction, nothing is tested")
            object.__setattr__(self, "share", 0.0)
            return
        if self.mean is not None and not isinstance(self.mean, str):
            raise SchemaError(f"accept: mean = {self.mean!r} is not allowed; it must be the name of a column")
        if self.tables:
            object.__setattr__(self, "tables", _names("accept: tables", self.tables, 2, 100))
        high = 1.0 if self.tables else 1e12
        object.__setattr__(self, "within", _number("accept: within", self.within, 0, high))
        object.__setattr__(self, "share", _number("accept: share", self.share, 0, MOST_TESTED))

    @property
    def columns(self) -> Clique:
        """All columns that it speaks of."""
        return self.tables if self.mean is None else (self.mean,)

    @property
    def words(self) -> str:
        """What is demanded, for people."""
        if self.rules:
            return "no double breaks a rule of the schema"
        if self.mean is not None:
            return f"the mean of {self.mean} within {self.within:g}"
        return f"all two-way tables of {', '.join(self.tables)} within {100 * self.within:g} %"

    def to_fields(self) -> dict[str, Any]:
        """The fields that describe it."""
        if self.rules:
            return {"rules": True}
        what: dict[str, Any] = {"tables": list(self.tables)} if self.mean is None else {"mean": self.mean}
        return {**what, "within": self.within, **({} if self.share == SHARE else {"share": self.share})}


@dataclass(frozen=True)
class Demands:
    """All of them."""

    required: tuple[RequiredTable, ...] = ()
    accept: tuple[Criterion, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Demands:
        """Those of a schema file."""
        required = (_read(RequiredTable, "require", "table", fields) for fields in _list(document, "require"))
        listed = _list(document, "accept")
        rules = [isinstance(fields, Mapping) and "rules" in fields for fields in listed]
        needed = ["rules" if own else "within" for own in rules]
        accept = (_read(Criterion, "accept", field, one) for field, one in zip(needed, listed, strict=True))
        return cls(tuple(required), tuple(accept))

    def to_fields(self) -> dict[str, Any]:
        """The entries of a schema file; none for none."""
        required, accept = [one.to_fields() for one in self.required], [one.to_fields() for one in self.accept]
        return {**({"require": required} if required else {}), **({"accept": accept} if accept else {})}

    def check(self, modelled: Mapping[str, Column]) -> None:
        """A `SchemaError` for what speaks of columns that are not modelled, for repeats, and for too large shares."""
        spoken_of = [("require", one.columns) for one in self.required]
        spoken_of += [("accept", criterion.columns) for criterion in self.accept]
        for what, names in spoken_of:
            for name in names:
                if name not in modelled:
                    hint = did_you_mean(name, tuple(modelled))
                    raise SchemaError(f"{what}: the model has no column {name!r}{hint}")
        for name in (criterion.mean for criterion in self.accept if criterion.mean is not None):
            axis = modelled[name].axis
            if axis is None or axis.sort != "number":
                raise SchemaError(f"accept: mean = {name!r} is no column of numbers")
        sets = [frozenset(one.table) for one in self.required]
        if twice := [one.table for one, own in zip(self.required, sets, strict=True) if sets.count(own) > 1]:
            raise SchemaError(f"require: the table {' × '.join(twice[0])} is there twice")
        if self.tested > MOST_TESTED:
            raise SchemaError(f"accept: the shares add up to {self.tested:g}; they may take {MOST_TESTED:g} together")

    @property
    def asked(self) -> tuple[Criterion, ...]:
        """The criteria that the real table is asked about; the others hold by construction."""
        return tuple(one for one in self.accept if not one.rules)

    @property
    def tested(self) -> float:
        """Share of the budget for the criteria."""
        return sum(one.share for one in self.accept)

    @property
    def shares(self) -> list[float]:
        """Share of the budget for each required table."""
        wanted = [TENTH * one.weight for one in self.required]
        scale = min(1.0, MOST_REQUIRED / max(sum(wanted), 1e-12))
        return [scale * share for share in wanted]


NOTHING = Demands()


def _list(document: Mapping[str, Any], entry: str) -> list[Any]:
    listed = document.get(entry, [])
    if not isinstance(listed, list):
        raise SchemaError(f"{entry}: a list is needed, such as [[{entry}]]")
    return listed


def _read(kind: Any, entry: str, needed: str, fields: Any) -> Any:
    if not isinstance(fields, Mapping) or needed not in fields:
        raise SchemaError(f"{entry}: {needed} is missing in one of [[{entry}]]")
    known = kind.__dataclass_fields__
    for field in fields:
        if field not in known:
            raise SchemaError(f"{entry}: there is no field {field!r}; it must be one of {', '.join(known)}")
    return kind(**fields)
