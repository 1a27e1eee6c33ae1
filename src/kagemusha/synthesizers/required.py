"""Tables that must be right: measured before anything else, handed to the method, and kept by its doubles.

A share of the budget, declared in the schema, buys the counts of each such table directly. The method gets them as
what is known already (`Curator.required`). Whatever it makes of them beside its other answers, at the end its model is
moved, by proportional fitting, until its own tables are the possible ones next to those that were measured: of all
models with these tables the one nearest to the method's (in Kullback-Leibler divergence). All of that is
post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.generators.generator import Generator
from kagemusha.generators.markov import MarkovGenerator, measurements_of
from kagemusha.graphical import MarkovField, estimate, tree_cells
from kagemusha.marginals import NoisyMarginal
from kagemusha.release.curator import Curator
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.protocol import Synthesizer

WORD = "required counts"
"""What certificates call these measurements."""

METHODS = ("kage", "aim", "aim-gdp", "mst", "independent")
"""Those of ours that keep required tables."""

LEAST = 1e-15
"""Share of a cell that is wanted empty."""
ROUNDS = 100
CLOSE = 0.02
"""Tables are the wanted ones when no cell is farther off than this, in records; or after so many rounds."""


def cliques_of(schema: Schema, domain: Domain) -> list[Clique]:
    """The required tables, names in the order of the domain."""
    return [domain.canonical(one.table) for one in schema.demands.required]


def require_room(synthesizer: Synthesizer, schema: Schema, domain: Domain) -> None:
    """Refuse a method that cannot keep the required tables, before anything is spent."""
    if not schema.demands.required:
        return
    most = synthesizer.field_cells(domain)
    if not most:
        raise UsageError(
            f"method {synthesizer.name!r} keeps no tables that must be right ([[require]] in the schema); these do: "
            f"{', '.join(METHODS)}"
        )
    cells = tree_cells(domain, [*((name,) for name in domain), *cliques_of(schema, domain)])
    if cells > most:
        raise ModelTooLarge(
            f"the tables that must be right need a model of {cells:,} cells together and the limit of method "
            f"{synthesizer.name!r} is {most:,}: name smaller tables or fewer, or use coarser bins"
        )


def measured(curator: Curator, mechanism: str) -> list[NoisyMarginal]:
    """The required tables with noise, each at its share of the budget."""
    schema = curator.schema
    costs = [share * curator.total for share in schema.demands.shares]
    return curator.measure(cliques_of(schema, curator.domain), costs, mechanism=mechanism, word=WORD)


def kept(generator: Generator, required: Sequence[NoisyMarginal], others: Sequence[NoisyMarginal]) -> Generator:
    """The generator with the required tables in it; `others` is what the method measured beside them."""
    if not required or not isinstance(generator, MarkovGenerator):
        return generator
    within = [m for m in others if any(set(m.clique) <= set(one.clique) for one in required)]
    wanted = possible(generator, required, within)
    field = fitted_to(generator.field, wanted)
    inside = [set(one.clique) for one in required]
    pairs = {pair: table for pair, table in generator.pairs.items() if not any(set(pair) <= own for own in inside)}
    return replace(generator, field=field, pairs=pairs)


def possible(
    generator: MarkovGenerator, required: Sequence[NoisyMarginal], others: Sequence[NoisyMarginal]
) -> Mapping[Clique, FloatArray]:
    """Tables of shares that one population can have, next to the noisy ones: none negative, equal where they overlap.

    Least squares, weighed by the noise; `others` are noisy counts of some of their columns.
    """
    cliques = list(dict.fromkeys(one.clique for one in required))
    names = generator.domain.canonical(dict.fromkeys(name for clique in cliques for name in clique))
    tables = generator.project_many(cliques)
    together = estimate(
        generator.domain.project(names),
        measurements_of([*required, *others]),
        total=generator.total,
        # what the rules rule out stays so
        structural_zeros=[(c, t <= 0) for c, t in zip(cliques, tables, strict=True) if (t <= 0).any()],
        max_cells=max(generator.field.tree.cells, sum(map(generator.domain.cells, cliques)) * 64),
        stop_at_least_risk=False,
        tolerance=1e-4,
    )
    shares = (table / together.model.total for table in together.model.project_many(cliques))
    return dict(zip(cliques, shares, strict=True))


def fitted_to(field: MarkovField, wanted: Mapping[Clique, FloatArray]) -> MarkovField:
    """The field nearest to this one whose tables are the wanted shares (iterative proportional fitting)."""
    potentials = dict(field.potentials)
    for clique in wanted:
        potentials.setdefault(clique, np.zeros(field.domain.shape(clique)))
    now = MarkovField.build(field.domain, field.total, potentials)
    for _ in range(ROUNDS):
        farthest = 0.0
        for clique, table in wanted.items():
            share = now.project(clique) / now.total
            farthest = max(farthest, float(np.abs(share - table).max()) * now.total)
            there = share > 0  # what is ruled out stays so
            ratio = np.divide(np.maximum(table, LEAST), share, out=np.ones_like(table), where=there)
            potentials[clique] = potentials[clique] + np.log(ratio)
            now = replace(now, potentials=dict(potentials), calibration=None, twin=None)
        if farthest <= CLOSE:
            break
    return now
