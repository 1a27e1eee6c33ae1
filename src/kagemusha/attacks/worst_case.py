"""Tiny worst-case tables: two worlds that differ in one person, who moves every answer as much as possible.

What a person does not touch is lost to the attacker: a share of the budget spent on choosing among candidates that all
move alike, a sum clipped at a length the person does not reach. Each table is made for the methods that lose least on
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.schema import Category, Column, Drop, Integer, Schema, Unit

Tables = tuple[object, object]
Row = tuple[Any, ...]


def _three() -> tuple[list[Column], list[Row], Row, Row]:
    """Three columns of labels; the person stands alone in a rare cell. Sums of features are touched in full."""
    columns: list[Column] = [
        *(Category(name, categories=("x", "y"), out_of_domain="clip") for name in ("a", "b")),
        Category("c", categories=("u", "v", "w"), out_of_domain="clip"),
    ]
    return columns, [("x", "x", "uv"[i % 2]) for i in range(40)], ("y", "y", "w"), ("x", "x", "u")


def _pair() -> tuple[list[Column], list[Row], Row, Row]:
    """Two columns that go together: one pair, always worth measuring.

    Columns, dependence and interaction all move in full.
    """
    columns: list[Column] = [Category(name, categories=("x", "y"), out_of_domain="clip") for name in ("a", "b")]
    rows = [("x", "x")] * 190 + [("y", "y")] * 190 + [("x", "y")] * 10 + [("y", "x")] * 10
    return columns, list(rows), ("y", "y"), ("x", "y")


def _lone() -> tuple[list[Column], list[Row], Row, Row]:
    """One column: nothing is spent on choosing."""
    columns: list[Column] = [Category("a", categories=("x", "y", "z"), out_of_domain="clip")]
    return columns, [("x",)] * 30 + [("y",)] * 10, ("z",), ("x",)


def _numbers() -> tuple[list[Column], list[Row], Row, Row]:
    """Three numbers, all people near the middle, the person in a corner.

    Longer than every length anything is clipped at.
    """
    columns: list[Column] = [Integer(name, lower=0, upper=100) for name in ("a", "b", "c")]
    rng = np.random.default_rng(0)
    people = np.clip(np.rint(rng.normal(50, 5, (1500, 3))), 0, 100).astype(int)
    return columns, [tuple(row) for row in people.tolist()], (100, 100, 100), (0, 0, 0)


def _corners() -> tuple[list[Column], list[Row], Row, Row]:
    """Three numbers, nearly everybody in one corner, the person in the opposite one with a few.

    Nobody can move a covariance further.
    """
    columns: list[Column] = [Integer(name, lower=0, upper=100) for name in ("a", "b", "c")]
    return columns, [(0, 0, 0)] * 1492 + [(100, 100, 100)] * 8, (100, 100, 100), (0, 0, 0)


def _mixed() -> tuple[list[Column], list[Row], Row, Row]:
    """Three numbers beside two labels.

    Classes are chosen, and the labels are a part of the table for another method.
    """
    columns, people, _, _ = _numbers()
    labels = [Category(name, categories=("x", "y"), out_of_domain="clip") for name in ("d", "e")]
    rows = [(*row, "xy"[i % 2], "xy"[i % 3 % 2]) for i, row in enumerate(people)]
    return [*columns, *labels], rows, (100, 100, 100, "y", "y"), (0, 0, 0, "x", "x")


TABLES: dict[str, Callable[[], tuple[list[Column], list[Row], Row, Row]]] = {
    "three": _three,
    "pair": _pair,
    "lone": _lone,
    "numbers": _numbers,
    "corners": _corners,
    "mixed": _mixed,
}

STRONGEST = {
    "kage": "pair",
    "aim": "pair",
    "aim-gdp": "pair",
    "mst": "lone",
    "privbayes": "pair",
    "independent": "three",
    "gaussian": "three",
    "nigao": "numbers",
    "gaussian-rows": "corners",
}
"""The table on which each method's promise shows most; `three` for all others."""


OPTIONS: dict[str, dict[str, Any]] = {"gaussian-rows": {"rows": 200, "at_least": 1400}}
"""Options with which a method's promise shows: rows of few records need little noise on the moments, which hides the
person."""


def crowd(table: Any, label: str, people: int) -> Any:
    """The table with so many more people who hold this label of column c, each one person of their own.

    The last row stays last.
    """
    import pyarrow as pa

    first = table.slice(0, 1).to_pylist()[0]
    ids = table["id"].to_pylist()
    rows = [{**first, "c": label, "id": max(ids) + 1 + i} for i in range(people)]
    return pa.concat_tables([table.slice(0, 1), pa.Table.from_pylist(rows, schema=table.schema), table.slice(1)])


def worst_case(method: str, budget: Budget, table: str | None = None) -> tuple[Schema, Tables]:
    """A schema and two tables for a method: without the person, and with them (under replace: with another instead)."""
    name = table or STRONGEST.get(method, "three")
    if name not in TABLES:
        raise UsageError(f"a table to audit on must be one of {', '.join(TABLES)}, got {name!r}")
    columns, rows, person, instead = TABLES[name]()
    unit = Unit("id", budget.rows) if budget.rows > 1 else Unit()
    schema = Schema([Drop("id"), *columns], unit)
    others = [instead] * budget.rows if budget.adjacency is Adjacency.REPLACE else []
    worlds = ([*rows, *others], [*rows, *([person] * budget.rows)])
    made = [_arrow(schema, world, len(rows)) for world in worlds]
    return schema, (made[0], made[1])


def _arrow(schema: Schema, rows: Sequence[Row], people: int) -> object:
    import pyarrow as pa

    ids = [min(i, people) for i in range(len(rows))]  # all rows past the people's are one person's
    columns = zip(*rows, strict=True)
    return pa.table({"id": ids, **dict(zip(schema.names[1:], map(list, columns), strict=True))})
