"""A table over a clique, and the two operations that queries are made of: sum out, multiply and sum out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge
from kagemusha.schema.domain import Clique, Domain


@dataclass(frozen=True, eq=False)
class Factor:
    """Non-negative values over a clique, one axis an attribute, in the clique's order."""

    domain: Domain
    clique: Clique
    values: FloatArray

    def project(self, clique: Iterable[str]) -> Factor:
        """Sum over every attribute outside `clique` (which must lie inside this one); axes in domain order."""
        kept = self.domain.canonical(clique)
        if kept == self.clique:
            return self
        axes = tuple(i for i, name in enumerate(self.clique) if name not in kept)
        left = tuple(name for name in self.clique if name in kept)
        return Factor(self.domain, left, self.values.sum(axis=axes)).transpose(kept)

    def transpose(self, clique: Clique) -> Factor:
        """The same table with its axes in the order of `clique`."""
        if clique == self.clique:
            return self
        order = [self.clique.index(name) for name in clique]
        return Factor(self.domain, clique, self.values.transpose(order))

    def given(self, clique: Clique) -> Factor:
        """The conditional of the other attributes given `clique`; zero where `clique` has no mass."""
        inside = self.project(clique)
        shape = [self.domain.size(name) if name in clique else 1 for name in self.clique]
        order = tuple(name for name in self.clique if name in clique)
        mass = inside.transpose(order).values.reshape(shape)
        values = np.divide(self.values, mass, out=np.zeros_like(self.values), where=mass > 0)
        return Factor(self.domain, self.clique, values)

    def contract(self, other: Factor, keep: Iterable[str], *, max_cells: int) -> Factor:
        """Multiply by `other` and sum out every attribute not in `keep`, without forming the product.

        Raises `ModelTooLarge` before allocating a result of more than `max_cells` cells.
        """
        kept = set(keep)
        mine, theirs = set(self.clique), set(other.clique)
        batch = tuple(n for n in self.clique if n in theirs and n in kept)
        summed = tuple(n for n in self.clique if n in theirs and n not in kept)
        left = self.project(n for n in self.clique if n in kept or n in theirs)
        right = other.project(n for n in other.clique if n in kept or n in mine)
        left_free = tuple(n for n in left.clique if n not in theirs)
        right_free = tuple(n for n in right.clique if n not in mine)
        clique = batch + left_free + right_free
        size = self.domain.cells
        if size(clique) > max_cells:
            raise ModelTooLarge(
                f"the marginal needs a table over ({', '.join(self.domain.canonical(clique))}) of {size(clique):,} "
                f"cells and the limit is {max_cells:,}"
            )
        a = left.transpose(batch + left_free + summed).values.reshape(size(batch), size(left_free), size(summed))
        b = right.transpose(batch + summed + right_free).values.reshape(size(batch), size(summed), size(right_free))
        shape = self.domain.shape(clique)
        return Factor(self.domain, clique, (a @ b).reshape(shape) if prod(shape) else np.zeros(shape))
