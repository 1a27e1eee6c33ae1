"""Which method suits a table, from what is declared about it alone.

No read, no charge, the same for every neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass

from kagemusha.schema import Schema
from kagemusha.schema.images import image_shape
from kagemusha.synthesizers.registry import DEFAULT

MANY_NUMBERS = 24
"""From so many numbers on a learner gets more from directions than from tables of pairs; measured on Credit (29) and
ESR (178)."""

FEW_CODES = 8
"""A number of so few codes is a label that has an order."""


@dataclass(frozen=True)
class Suited:
    """A method and the reason for it, in a sentence."""

    method: str
    why: str


def suited(schema: Schema) -> Suited:
    """`nigao` for pictures, and to predict a named target from many numbers; `kage` for all others.

    What people want decides: without a target the tables of the columns count, and there `nigao` is off by twice as
    much. Tables that must be right are kept by `kage` alone.
    """
    if schema.demands.required:
        return Suited(DEFAULT, "the schema requires tables that must be right, and this method keeps them")
    shape = image_shape(schema) if not schema.open_facts() else None
    if shape is not None and len(schema.modelled) >= MANY_NUMBERS:
        return Suited("nigao", f"the columns are the pixels of pictures, {shape[0]} × {shape[1]}")
    columns = schema.modelled
    numbers = sum(c.axis is not None and (bool(c.open_fields) or c.size > FEW_CODES) for c in columns)
    summary = f"{numbers} of {len(columns)} columns are numbers with more than {FEW_CODES} codes"
    if numbers < MANY_NUMBERS or 2 * numbers <= len(columns):
        reason = f"fewer than {MANY_NUMBERS}" if numbers < MANY_NUMBERS else "no more than half"
        return Suited(DEFAULT, f"{summary}, {reason}: tables of counts hold them, and any number of labels")
    if schema.target is None:
        given_up = "--method nigao keeps directions that learners follow, and its tables are off by more"
        return Suited(DEFAULT, f"{summary}, and no column to predict is named: {given_up}")
    given_up = "directions for learners, at the price of exact tables (--method kage is the other way round)"
    return Suited("nigao", f"{summary}, and {schema.target} is to be predicted: {given_up}")
