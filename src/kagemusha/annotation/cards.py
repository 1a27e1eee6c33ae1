"""A synthetic record as people read it: column names, values spelled out, which of them are unusual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.encoding import Encoder
from kagemusha.schema import Schema
from kagemusha.sources.families import Place

UNUSUAL = 0.02
"""A value is marked if the doubles have its code in fewer cases than this."""


def cards(
    schema: Schema, codes: IntArray, usual: dict[str, FloatArray], rng: np.random.Generator
) -> list[list[dict[str, Any]]]:
    """What is shown of each record. `usual` is each column's share of every code among doubles: released numbers."""
    if not len(codes):
        return []
    table = Encoder(schema).decode(codes, rng=rng, like="pyarrow")
    modelled = {column.name: at for at, column in enumerate(schema.modelled)}
    # a column modelled in place of another one is not in the table; the other one, worked out of it, is
    shown_by = {**{name: name for name in modelled}, **{other: name for name, other in schema.replaced.items()}}
    names = [name for name in table.column_names if name in shown_by]
    values = {name: table.column(name).to_pylist() for name in names}
    rare = {n: usual[shown_by[n]][codes[:, modelled[shown_by[n]]]] < UNUSUAL for n in names}
    return [
        [{"column": name, "value": _spelled(values[name][row]), "unusual": bool(rare[name][row])} for name in names]
        for row in range(len(codes))
    ]


def _spelled(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)


def grouped(card: Sequence[Mapping[str, Any]], places: Mapping[str, Place]) -> list[dict[str, Any]]:
    """The cells of a card, those of rows with the table, which row it is, and whether there is one."""
    found = []
    absent = {
        (place.table, place.back)
        for place in places.values()
        if all(c["value"] == "not known" for c in card if c["column"] in places and _same(places[c["column"]], place))
    }
    for cell in card:
        place = places.get(cell["column"])
        where = {}
        if place is not None:
            gone = (place.table, place.back) in absent
            where = {"of": place.table, "back": place.back, "name": place.column, "absent": gone}
        found.append({**cell, **where})
    return found


def _same(one: Place, other: Place) -> bool:
    return (one.table, one.back) == (other.table, other.back)
