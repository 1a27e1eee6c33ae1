"""A synthetic record as people read it: column names, values spelled out, which of them are unusual."""

from __future__ import annotations

from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.encoding import Encoder
from kagemusha.schema import Schema

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
