"""Rules inside the model: a fitted Markov field with probability 0 where the rules allow nothing.

The field is fitted again, to its own marginals, around the structural zeros. What noise had put on one moves to where
the marginals want it, so columns keep their counts as far as the rules let them. All of it is post-processing of what
was released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kagemusha.errors import ModelTooLarge
from kagemusha.generators.generator import Generator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import Measurement, estimate, junction_tree
from kagemusha.graphical.estimation import Zeros
from kagemusha.rules.partners import COLUMN
from kagemusha.rules.structural_zeros import StructuralZeros
from kagemusha.rules.zeros_of_rules import zeros_of_rules
from kagemusha.schema import Schema

ZEROED_CELLS = 1 << 22
"""A tree with structural zeros has no more cells than this, or than the field had twice over; what does not fit is kept
when drawing."""

STEPS = 300


def with_zeros(generator: Generator, schema: Schema) -> Generator:
    """The generator with the rules of the schema inside, where it is a Markov field and they fit."""
    if not schema.constraints or not isinstance(generator, MarkovGenerator):
        return generator
    zeros = fitting(generator, zeros_of_rules(schema, generator.project))
    if not zeros:
        return generator
    field = generator.field
    single = dict.fromkeys((name,) for zero in zeros for name in zero.clique)
    cliques = list(dict.fromkeys([*field.potentials, *single]))
    tables = field.project_many(cliques)
    # parts that the field already rules out stay ruled out
    ruled_out: list[Zeros] = [(c, np.isneginf(t)) for c, t in field.potentials.items() if np.isneginf(t).any()]
    ruled_out += [(zero.clique, zero.impossible) for zero in zeros]
    refitted = estimate(
        field.domain,
        [Measurement(c, t, COLUMN if len(c) == 1 else 1.0) for c, t in zip(cliques, tables, strict=True)],
        total=field.total,
        warm_start=field,
        structural_zeros=ruled_out,
        max_cells=_room(generator),
        stop_at_least_risk=False,
        max_steps=STEPS,
    )
    return replace(generator, field=refitted.model)


def fitting(generator: MarkovGenerator, zeros: list[StructuralZeros]) -> list[StructuralZeros]:
    """The structural zeros that the field can hold together, small ones first."""
    cliques: Mapping[tuple[str, ...], object] = dict(generator.field.potentials)
    kept: list[StructuralZeros] = []
    for zero in sorted(zeros, key=lambda zero: zero.impossible.size):
        try:
            junction_tree(
                generator.field.domain, [*cliques, *(w.clique for w in kept), zero.clique], max_cells=_room(generator)
            )
        except ModelTooLarge:
            continue
        kept.append(zero)
    return kept


def _room(generator: MarkovGenerator) -> int:
    return max(ZEROED_CELLS, 2 * generator.field.tree.cells)
