"""Doubles of persons with everything below: the models of several tables, drawn one after the other.

Persons come from their own model, and with them how many rows each has in every table below. Those rows are drawn place
by place, each from the model of its table given its parent, its place and the row before it, exactly. Keys are fresh
and fit by construction; an order column is the first value and the gaps after it, so its values rise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.encoding.frames import build_frame
from kagemusha.models.doubles import Doubles
from kagemusha.models.families import Drawn, draw_tables
from kagemusha.models.model import Model, checked_rows
from kagemusha.progress import Progress, silent
from kagemusha.schema.related import Related


@dataclass(frozen=True, eq=False)
class RelatedModel:
    """A model per table, with the schema of all and one certificate. All of it may be published."""

    schema: Related
    models: Mapping[str, Model]
    like: Any = "pandas"

    @property
    def certificate(self) -> Certificate:
        """What was promised for all tables together."""
        return self.models[self.schema.root.name].certificate

    @property
    def rows(self) -> int:
        """About how many persons there were."""
        return self.models[self.schema.root.name].rows

    def sample(
        self,
        persons: int | None = None,
        *,
        seed: int | None = None,
        where: str | None = None,
        like: Any = None,
        progress: Progress = silent,
    ) -> dict[str, Any]:
        """Synthetic tables by name: so many persons, and the rows that belong to them.

        `where` is a condition on the persons' own columns and on how many rows they have, such as "sex = 'F'".
        """
        drawn = self.draw(persons, rng=np.random.default_rng(seed), where=where, progress=progress)
        return self.frames(drawn, self.like if like is None else like)

    def draw(
        self,
        persons: int | None = None,
        *,
        rng: np.random.Generator,
        where: str | None = None,
        progress: Progress = silent,
    ) -> dict[str, Drawn]:
        """Values and codes of all tables, parents first."""
        root = self.models[self.schema.root.name]
        condition = root.condition(where)
        doubles = {name: Doubles(model.schema, model.generator) for name, model in self.models.items()}
        count = checked_rows(root.rows if persons is None else persons)
        return draw_tables(self.schema, doubles, count, rng, groups=condition.groups, progress=progress)

    def frames(self, drawn: Mapping[str, Drawn], like: Any) -> dict[str, Any]:
        """Tables in the library of `like`, with fresh keys."""
        names: dict[str, Any] = {}
        found = {}
        for table in self.schema:
            own = drawn[table.name]
            kept = [column for column in table.schema.table_columns if column.in_doubles]
            arrays = {c.name: c.output(own.cells.get(c.name), 0, own.rows) for c in kept}
            if table.names_rows in arrays:
                names[table.name] = arrays[table.names_rows]
            if table.parent is not None and table.key in arrays:
                if table.parent not in names:
                    del arrays[table.key]
                    kept = [column for column in kept if column.name != table.key]
                else:
                    arrays[table.key] = names[table.parent].take(own.parent)
            found[table.name] = build_frame(arrays, kept, like)
        return found

    def with_certificate(self, certificate: Certificate) -> RelatedModel:
        """The same models under a certificate that says more."""
        bound = {name: replace(model, certificate=certificate) for name, model in self.models.items()}
        return replace(self, models=bound)
