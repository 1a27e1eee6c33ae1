"""Nigao (the likeness): class means, the directions in which records differ from them, and how each class fills those.

For images and tables of many numbers, where tables of codes stop. All of it sums over records, all noise Gaussian,
seconds of CPU, no gradients. The algorithm, with a reason for every constant: docs/algorithms/nigao.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.generators.classes import ClassGenerator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.generators.normal import Place
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, part, silent
from kagemusha.queries.cell_lengths import cells_of
from kagemusha.queries.record_vectors import Vectors
from kagemusha.release.curator import Curator
from kagemusha.schema import Schema
from kagemusha.schema.domain import Domain
from kagemusha.schema.features import features_of
from kagemusha.synthesizers.kage.kage import Kage
from kagemusha.synthesizers.nigao.cells import MOST_CLASSES, candidates, choose_cells
from kagemusha.synthesizers.nigao.estimates import MEANS
from kagemusha.synthesizers.nigao.lengths import look_at_lengths
from kagemusha.synthesizers.nigao.phases import (
    CENTRE,
    LENGTHS,
    MEAN_QUANTILE,
    SCATTER,
    Purse,
    likeness,
    mean_record,
)
from kagemusha.synthesizers.nigao.plain import is_small, plain_likeness
from kagemusha.synthesizers.nigao.scales import scaled
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

MOST_FEATURES = 3000

LABELS = (0.15, 0.6)
"""Least and most share of the budget for labelled columns that are no classes."""


@dataclass(frozen=True, kw_only=True)
class Nigao(Synthesizer):
    """Sums of features, by class: means, then leading directions, then covariances in them.

    `target` is a column whose codes are classes; without one, and where labelled columns are left, the columns whose
    cells are classes are chosen privately. `directions` is the number of leading directions, chosen from released
    numbers unless given.
    """

    reads_records: ClassVar[bool] = True
    name: ClassVar[str] = "nigao"
    summary: ClassVar[str] = "our own, for images and many numbers: class means, leading directions, class covariances"
    accounting: ClassVar[Accounting] = Accounting.GDP
    adaptive: ClassVar[bool] = True

    target: str | None = None
    directions: int | None = None

    def __post_init__(self) -> None:
        if self.directions is not None and self.directions < 1:
            raise UsageError(f"directions must be at least 1, got {self.directions}")

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Numbers by phases inside classes.

        Labelled columns beside the classes by kage, with its share of the budget.
        """
        schema, domain = curator.schema, curator.domain
        self._require(domain)
        kinds = {column.name: column.axis is not None for column in schema.modelled}
        labelled = [name for name in domain if not kinds[name] or name == self.target]
        if len(labelled) == len(domain):
            return Kage(target=self.target).build(curator, progress=progress)
        options = candidates(domain, labelled, self.target)
        alone = len(options) == 1 and options[0] == tuple(labelled)
        numbers = (1 if alone else 1 - labels_share(len(labelled), len(domain))) * curator.total
        purse = Purse(numbers)

        features = [f for f in features_of(schema) if f.name not in labelled]
        start = Vectors(features, [domain.axis(f.name) for f in features], radius=np.ones(1))
        progress("the mean record", 0.05)
        mean = mean_record(curator, start, purse)
        scales, mean = scaled(curator, start, mean, purse)
        around = replace(start, features=scales.features, centre=mean.centre)
        lengths = look_at_lengths(curator, around, MEAN_QUANTILE, purse.take(LENGTHS), together=True)
        around = replace(around, radius=lengths.radius)
        cells = choose_cells(curator, around, options, mean.rows, purse, progress)
        around = replace(around, cells=cells_of(domain, cells))
        inside = part(progress, 0.0, 1.0 if alone else 0.6)
        if self.directions is None and is_small(around.raw_width, around.classes, mean.rows, purse.rho):
            found = plain_likeness(curator, around, mean, purse, inside)
        else:
            found = likeness(curator, around, mean, purse, directions=self.directions, progress=inside)
        generator = ClassGenerator(
            domain,
            mean.rows,
            [Place.of(f) for f in scales.features],
            cells,
            found.sizes / found.sizes.sum(),
            found.means,
            found.root,
            found.factors,
            found.spread,
        )
        generator = scales.calibrated(generator)
        if alone:
            progress("done", 1.0)
            return Fitted(generator)
        fitted = Kage(target=self.target).build(curator.part(labelled), progress=part(progress, 0.6, 1.0))
        labels = fitted.generator
        assert isinstance(labels, MarkovGenerator)
        return replace(fitted, generator=replace(generator, total=labels.total, labels=labels))

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Sizes and time from the declared domain alone."""
        width = self._require(domain)
        least = MEANS[0]
        rest = 1 - CENTRE - 3 * LENGTHS - least - SCATTER
        # whether there are labels beside the classes, the domain does not tell
        steps = [
            ("the mean record", CENTRE),
            ("lengths", 3 * LENGTHS),
            ("class means, more where they drown in noise", least),
            ("directions", SCATTER),
            ("classes along them (labels beside the classes: 15 to 60% of all, by kage)", rest),
        ]
        return Plan(steps, width * width, 2.0 + 3e-9 * width**3 + 8e-6 * width * width)

    def aimed(self, schema: Schema) -> Synthesizer:
        """As for other methods, where the schema's target has few enough codes to be classes."""
        target = next((c for c in schema.modelled if c.name == schema.target), None)
        if target is None or target.open_fields or target.size > MOST_CLASSES or len(schema.modelled) < 2:
            return self
        return super().aimed(schema)

    def _require(self, domain: Domain) -> int:
        if self.target is not None and self.target not in domain:
            raise UsageError(f"target: no column named {self.target!r}; columns are {', '.join(domain.names)}")
        if self.target is not None and domain.size(self.target) > MOST_CLASSES:
            raise UsageError(
                f"target {self.target!r} has {domain.size(self.target)} codes; classes are at most {MOST_CLASSES}"
            )
        if len(domain) == (self.target is not None):
            raise UsageError("nigao needs a column beside the target")
        # an upper bound: numbers have one or two features, labels one for each code
        width = sum(
            min(domain.size(name), 4096) if domain.size(name) <= 64 else 2 for name in domain if name != self.target
        )
        if len(domain) > MOST_FEATURES:
            raise ModelTooLarge(f"{len(domain):,} columns are more than the {MOST_FEATURES:,} that nigao takes")
        return min(width, MOST_FEATURES)


def labels_share(labelled: int, columns: int) -> float:
    """The share of the budget for kage on the labelled columns, where it is needed."""
    return float(np.clip(labelled / columns, *LABELS))
