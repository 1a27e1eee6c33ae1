"""CTGAN (Xu et al. 2019), written from the paper: a network that learns to forge rows. Protects nobody.

Measured columns become a mode and a place in it (`neural.modes`), labelled ones one-hot codes. In training a code of
some labelled column is wished for, rare ones more often than they occur, and the critic sees rows that have it, in
packs of ten. It reads the table without protection, so its certificate says ε = ∞. For attack games and comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.generators.gan import GanGenerator
from kagemusha.neural.networks import need_torch
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.ranges import at_least
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.encoded_rows import EncodedRows, require_labels
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer


@dataclass(frozen=True, kw_only=True)
class CTGAN(Synthesizer):
    """The paper's network and choices.

    `epochs` passes over the table, `batch` rows per step, seen in packs of `pack`.
    """

    name: ClassVar[str] = "ctgan"
    summary: ClassVar[str] = "no protection: a conditional generative network (CTGAN), for comparisons and games"
    accounting: ClassVar[Accounting] = Accounting.ZCDP
    private: ClassVar[bool] = False
    reads_records: ClassVar[bool] = True

    epochs: int = 300
    batch: int = 500
    pack: int = 10
    noise: int = 128
    hidden: int = 256

    def __post_init__(self) -> None:
        at_least(1, epochs=self.epochs, batch=self.batch, pack=self.pack, noise=self.noise, hidden=self.hidden)
        if self.batch % self.pack:
            raise UsageError(f"batch must be a multiple of pack ({self.pack}), got {self.batch}")

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Read everything, find the modes, train."""
        need_torch()
        require_labels(curator.schema)
        from kagemusha.neural.gan import Training, play

        source = curator.unprotected("CTGAN is trained on the records themselves, without noise")
        columns, _ = source.records()
        rng = np.random.default_rng(curator.seed())
        rows = len(columns[0])
        progress("modes", 0.0)
        encoded = EncodedRows.of(curator.schema, columns, rng)
        training = Training(
            epochs=self.epochs,
            steps=max(1, rows // self.batch),
            batch=self.batch,
            noise=self.noise,
            hidden=(self.hidden, self.hidden),
            pack=self.pack,
        )
        weights = play(encoded, encoded.blocks, training, rng, progress)
        return Fitted(
            GanGenerator(curator.domain, max(1.0, float(rows)), encoded.modes, self.noise, encoded.frequencies, weights)
        )

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Nothing is spent, because nothing is protected; the time grows with the rows, which nobody knows yet."""
        need_torch()
        width = sum(min(size, 64) for size in domain.sizes)
        return Plan([], max(1, 4 * self.hidden * (width + self.hidden)), 1.0 + 2.5 * self.epochs)
