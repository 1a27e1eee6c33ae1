"""The generator behind `gaussian-rows`: the rows that were released, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import UsageError
from kagemusha.generators.generator import Arrays, Evidence, Generator
from kagemusha.schema.domain import Clique, Domain


@dataclass(frozen=True, eq=False)
class RowsGenerator(Generator):
    """Rows that were drawn once, at the release. `sample` deals them out; more than there are cannot be had."""

    kind: ClassVar[str] = "rows"
    domain: Domain
    codes: IntArray

    @property
    def total(self) -> float:
        """The number of released rows. How many records the table has stays unknown."""
        return float(len(self.codes))

    @property
    def most_rows(self) -> int:
        return len(self.codes)

    def project(self, clique: Clique) -> FloatArray:
        """Counts of the released rows."""
        flat = self.domain.flat(clique, self.codes.T)
        counts = np.bincount(flat, minlength=self.domain.cells(clique)).astype(np.float64)
        return counts.reshape(self.domain.shape(clique))

    def sample(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Some of the rows in any order, none twice; with a condition, some of those that fulfil it."""
        if rows > len(self.codes):
            raise UsageError(
                f"rows must be at most {len(self.codes):,}, got {rows:,}: that many were drawn and paid for, and the "
                "distribution they came from was not kept"
            )
        chance = np.ones(len(self.codes))
        for clique, weights in (where or {}).items():
            chance *= weights[tuple(self.codes[:, self.domain.axis(name)] for name in clique)]
        order = rng.permutation(len(self.codes))
        left = order[rng.random(len(order)) < chance[order]] if where else order
        if rows > len(left):
            raise UsageError(
                f"where: only {len(left):,} of the {len(self.codes):,} released rows fulfil this condition, and "
                f"{rows:,} were asked for; ask for fewer or for a wider condition"
            )
        return self.codes[left[:rows]]

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        domain = {"names": list(self.domain.names), "sizes": list(self.domain.sizes)}
        return {"total": self.total, "domain": domain}, {"codes": self.codes}

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays) -> RowsGenerator:
        """The generator `to_arrays` described; raises `ValueError` if the parts do not fit together."""
        domain = Domain(tuple(map(str, meta["domain"]["names"])), tuple(map(int, meta["domain"]["sizes"])))
        codes = arrays["codes"]
        fits = codes.dtype.kind == "i" and codes.ndim == 2 and codes.shape[1] == len(domain) and len(codes) > 0
        if not fits or (codes < 0).any() or (codes >= np.array(domain.sizes)).any() or meta["total"] != len(codes):
            raise ValueError("the rows do not fit the columns")
        return cls(domain, codes)
