"""What is counted of each of several tables: its rows, with the columns that they are modelled given.

A row of a table below is a step: the columns of its parent (with the number of its children), those of the person, its
place among its siblings, the sibling before it, the gap to that one, and its own columns. The person's own table has no
such columns; both have the number of rows below, per table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kagemusha.columns import Integer, Modelled
from kagemusha.errors import SchemaError
from kagemusha.schema.related import Related, Table
from kagemusha.schema.schema import Schema
from kagemusha.schema.unit import Weight

PER_OCTAVE = 2
"""Bins of numbers and places between one power of two and the next."""

GAPS_PER_OCTAVE = 4
EXACT_GAPS = 8
"""Gaps up to this many steps of the order have a code each."""


def grid(low: int, most: int, *, exact: int = 4, per_octave: int = PER_OCTAVE) -> tuple[int, ...]:
    """Edges of bins: each whole number by itself at first, then wider and wider ones, up to `most`.

    >>> grid(0, 12)
    (0, 1, 2, 3, 4, 6, 8, 12)
    """
    edges, step = list(range(low, min(exact, most) + 1)), exact
    while edges[-1] < most:
        edges += [e for i in range(1, per_octave + 1) if (e := step + step * i // per_octave) < most and e > edges[-1]]
        step *= 2
        if step >= most:
            edges.append(most)
    return tuple(dict.fromkeys(edges)) if len(edges) > 1 else (low, low + 1)


def number(child: str) -> str:
    """The column of how many rows of a table below a row has."""
    return f"number of {child}"


POSITION = "place among siblings"


NEXT = "-next"
"""Behind a table's name: its rows together with the row before them."""


@dataclass(frozen=True)
class View:
    """The columns that are counted together for one table."""

    context: tuple[tuple[str, str, Modelled], ...]
    """(table, column there, column here): of the parent, and of the person."""
    position: Integer | None
    previous: tuple[tuple[str, Modelled], ...]
    """(own column, column here)."""
    gap: Integer | None
    own: tuple[Modelled, ...]
    numbers: tuple[Integer, ...]
    siblings: Integer
    """How many rows a row's parent has: a column of the context. Of a person, no column of the view."""
    constraints: tuple[object, ...] = ()
    worked: tuple[Modelled, ...] = ()
    """Columns of a person that follow from others by a formula."""
    weight: Weight | None = None
    """Whose rows they are stands for so many people of the population."""

    @cached_property
    def schema(self) -> Schema:
        """Rows by themselves, in the order in which they are drawn."""
        columns: list[Modelled] = [c for _, _, c in self.context]
        columns += [] if self.position is None else [self.position]
        columns += [] if self.gap is None else [self.gap]
        columns += [*self.own, *self.worked, *self.numbers]
        return Schema(columns, constraints=self.constraints, weight=self.weight)  # type: ignore[arg-type]

    @cached_property
    def next_schema(self) -> Schema:
        """The columns of the row before, then those of the rows themselves."""
        return Schema([*(c for _, c in self.previous), *self.schema.modelled])

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the columns that are known before any row is drawn."""
        position = () if self.position is None else (self.position.name,)
        return (*(c.name for _, _, c in self.context), *position)


def lag_clique(view: View, order: str) -> tuple[str, str]:
    """The order column in the row before, and the gap after it: what the order is drawn by."""
    assert view.gap is not None
    return next(column.name for own, column in view.previous if own == order), view.gap.name


def view_of(related: Related, table: Table) -> View:
    """The view of a table; column names that mean two things are a `SchemaError`."""
    numbers = tuple(
        Integer(number(child.name), lower=0, upper=top(child), edges=grid(0, top(child)))
        for child in related.children(table)
    )
    own = tuple(table.modelled)
    if table.parent is None:
        rules = tuple(rule for rule in table.schema.constraints if not rule.guess)
        worked = tuple(c for c in table.schema.coded if c not in own)
        return _checked(table, View((), None, (), None, own, numbers, _alone(table), rules, worked, related.weight))
    parent = related[table.parent]
    above: list[tuple[str, str, Modelled]] = []
    for source in dict.fromkeys((parent.name, related.root.name)):
        seen = view_of(related, related[source])
        columns = (*seen.own, *(seen.numbers if source == parent.name else ()))
        above += [(source, c.name, renamed(c, f"{source}: {c.name}")) for c in columns]
    top_here = top(table)
    position = Integer(POSITION, lower=1, upper=top_here, edges=grid(1, top_here)) if table.order is not None else None
    previous = tuple((c.name, renamed(c, f"previous {c.name}", missing=True)) for c in own)
    here = f"{parent.name}: {number(table.name)}"
    siblings = replace(_alone(table), name=here)
    weight = related.weight and replace(related.weight, column=f"{related.root.name}: {related.weight.column}")
    return _checked(table, View(tuple(above), position, previous, _gap(table), own, numbers, siblings, weight=weight))


def _alone(table: Table) -> Integer:
    return Integer(number(table.name), lower=0, upper=top(table), edges=grid(0, top(table)))


def top(table: Table) -> int:
    """The largest number of rows; bins need two edges."""
    return max(2, table.max_rows)


def _gap(table: Table) -> Integer | None:
    if table.order is None:
        return None
    axis = table.schema.axis(table.order)
    widest = max(2, int(axis.high - axis.low))
    edges = grid(0, widest, exact=EXACT_GAPS, per_octave=GAPS_PER_OCTAVE)
    return Integer(f"gap of {table.order}", lower=0, upper=widest, edges=edges, missing=True)


def renamed(column: Modelled, name: str, *, missing: bool = False) -> Modelled:
    """The same codes under another name; with `missing` one more for a gap, if there is none."""
    return replace(column, name=name, derived=(), confirmed=None, missing=column.missing or missing)


def _checked(table: Table, view: View) -> View:
    names: Sequence[str] = [*view.given, *(c.name for _, c in view.previous)]
    names = [*names, *([] if view.gap is None else [view.gap.name]), *(c.name for c in (*view.own, *view.numbers))]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SchemaError(f"tables.{table.name}: two columns are called {twice[0]!r} there; rename one")
    return view
