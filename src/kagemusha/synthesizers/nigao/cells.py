"""Which columns' cells are the classes: the target, or a small marginal that is chosen privately."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from kagemusha.progress import Progress
from kagemusha.queries.cell_lengths import CellLengths
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.nigao.estimates import MEANS
from kagemusha.synthesizers.nigao.phases import Purse

MOST_CLASSES = 100
MOST_CANDIDATES = 40
CHOICE = 0.03
"""Share of the budget for choosing classes, where there is a choice. Gaussian, as all else: scores of all candidates
at once."""

CLEAR = 2.0
"""Another candidate than the smallest must be better by so many deviations of the noise."""


def candidates(domain: Domain, labelled: Sequence[str], target: str | None) -> list[Clique]:
    """Sets of columns whose cells may be classes.

    The target, or none, one or two of the labelled columns, small ones first.
    """
    if target is not None:
        return [(target,)]
    if len(labelled) == 1 and domain.size(labelled[0]) <= MOST_CLASSES:
        return [(labelled[0],)]  # numbers inside its codes keep what they have to do with it
    others = [name for name in labelled if domain.size(name) > 1]
    found: list[Clique] = [*((name,) for name in others), *combinations(others, 2)]
    found = sorted((c for c in found if domain.cells(c) <= MOST_CLASSES), key=domain.cells)
    return [(), *found[: MOST_CANDIDATES - 1]]


def choose_cells(
    curator: Curator, around: Vectors, options: Sequence[Clique], rows: float, purse: Purse, progress: Progress
) -> Clique:
    """The candidate whose cells lie farthest apart, less what chance and noise would make of as many cells."""
    if len(options) == 1:
        return options[0]
    progress("choosing classes", 0.12)
    cells = np.array([curator.domain.cells(clique) for clique in options], dtype=np.float64)
    noise = math.sqrt(around.raw_width / (2 * MEANS[0] * purse.rho))
    penalties = LATTICE * (np.sqrt(cells * rows) + cells * noise)
    query = CellLengths(around, curator.domain, options, penalties - penalties.min())
    answer = curator.answer([query], purse.take(CHOICE))[0]
    best = int(answer.values.argmax())
    return options[best if answer.values[best] - answer.values[0] > CLEAR * answer.sigma else 0]
