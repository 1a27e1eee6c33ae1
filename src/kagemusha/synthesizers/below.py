"""Kage for the rows of a table below: the column to predict is looked after beside the number of siblings."""

from __future__ import annotations

from dataclasses import dataclass, fields

from kagemusha.schema.domain import Clique
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import view_of
from kagemusha.synthesizers.kage import Kage
from kagemusha.synthesizers.protocol import Synthesizer

CELLS = 60_000
"""Cells of the model of a table below: rows are drawn one field per row, so theirs must be small."""


@dataclass(frozen=True, kw_only=True)
class KageBelow(Kage):
    """As kage; pairs with `siblings` count as much as those with the target.

    Rows of parents with many count less: what goes with the number of siblings must be known well, so that drawing puts
    their numbers right.
    """

    siblings: str = ""

    def importance(self, clique: Clique) -> float:
        """How much a pair or triple counts."""
        return self.emphasis if self.siblings in clique else super().importance(clique)


def aimed(synthesizer: Synthesizer, schema: Related) -> Related:
    """The schema with the column to predict that the method was given, if it was given one."""
    assert isinstance(synthesizer, Kage)
    return schema if synthesizer.target is None else schema.with_target(synthesizer.target)


def methods_of(synthesizer: Synthesizer, schema: Related) -> dict[str, Synthesizer]:
    """The method for each table."""
    assert isinstance(synthesizer, Kage)
    own = {field.name: getattr(synthesizer, field.name) for field in fields(synthesizer)}
    found: dict[str, Synthesizer] = {}
    for table in schema:
        aim = target_in(schema, table)
        if table.parent is None:
            found[table.name] = Kage(**{**own, "target": aim})
        else:
            siblings = view_of(schema, table).siblings.name
            found[table.name] = KageBelow(**{**own, "max_cells": CELLS, "target": aim, "siblings": siblings})
    return found


def target_in(schema: Related, table: Table) -> str | None:
    """What the column to predict is called among those that are counted of a table; None: it is not there."""
    if schema.target is None:
        return None
    whose, _, column = schema.target.partition(".")
    if whose == table.name:
        return column
    context = view_of(schema, table).context
    return next((here.name for source, there, here in context if (source, there) == (whose, column)), None)
