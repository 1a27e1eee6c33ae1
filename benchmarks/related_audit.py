"""How much of the promise about a person with many rows an attacker can prove: two worlds that differ in that person.

    python benchmarks/related_audit.py [--runs 2500 800] [--epsilons 1 4]

The attacker knows everybody else and the person, and sees every noisy answer of a whole release of two related
tables, up to the last one. Both worlds' exact values are known for each question that is asked, whichever these are,
so the score of a run is its privacy loss, the best there is; above 0 it says "with". Lower bounds hold with
probability 1 − 10⁻⁴ (`attacks.risk`). Writes results/related_audit.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from kagemusha.arrays import IntArray
from kagemusha.attacks.risk import Proved, proved
from kagemusha.attacks.shoulder import Shoulder, Spent
from kagemusha.ledger.open import opened
from kagemusha.privacy.accountants import gdp_mu
from kagemusha.privacy.budget import Budget, QueryRecord
from kagemusha.privacy.events import GaussianEvent, LaplaceEvent
from kagemusha.queries.query import Query
from kagemusha.release.curator import Curator, summed
from kagemusha.schema import Category, Schema, Surrogate
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import NEXT
from kagemusha.sources.protocol import Source
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource
from kagemusha.synthesizers.registry import create
from kagemusha.synthesizers.related_fit import fit_related

DELTA = 1e-2
"""As in `kagemusha audit`: the same μ of a smaller δ would need more runs."""

KNOWN: dict[QueryRecord, tuple[IntArray, ...]] = {}
"""What questions have as their exact answers in both worlds, once worked out."""

LINEAR = ("counts", "interaction")
"""Kinds of questions that are wholly told by their record; others depend on what was released before."""


def schema(counts_as: int) -> Related:
    """Persons with a letter, rows with two."""
    persons = Schema([Surrogate("id"), Category("sex", categories=("F", "M"), out_of_domain="clip")])
    rows = Schema([Surrogate("id"), *(Category(c, categories=("u", "v"), out_of_domain="clip") for c in "ab")])
    return Related(
        [Table("persons", persons, "id"), Table("rows", rows, "id", "persons", max_rows=8, counts_as=counts_as)]
    )


def person() -> dict[str, pd.DataFrame]:
    """Somebody with 40 rows, all alike."""
    return {
        "persons": pd.DataFrame({"id": [-1], "sex": ["M"]}),
        "rows": pd.DataFrame({"id": [-1] * 40, "a": ["v"] * 40, "b": ["v"] * 40}),
    }


def others() -> dict[str, pd.DataFrame]:
    """200 persons of up to 3 rows."""
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(200), rng.integers(0, 4, 200))
    rows = pd.DataFrame({"id": who, "a": rng.choice(["u", "v"], len(who)), "b": rng.choice(["u", "v"], len(who))})
    return {"persons": pd.DataFrame({"id": range(200), "sex": rng.choice(["F", "M"], 200)}), "rows": rows}


def both() -> dict[str, pd.DataFrame]:
    """The world with the person."""
    return {name: pd.concat([table, person()[name]]) for name, table in others().items()}


class FamilyShoulder(Shoulder):
    """Adds up the privacy loss of every answer, of whichever table it is: both worlds' exact values are known."""

    def __init__(self, worlds: tuple[RelatedSource, RelatedSource]) -> None:
        self.families, self.over = worlds, False
        self.loss = self.measured = self.chosen = 0.0

    def answered(
        self, queries: Sequence[Query[Any]], events: Sequence[GaussianEvent | LaplaceEvent], answers: Sequence[IntArray]
    ) -> None:
        for query, event, values in zip(queries, events, answers, strict=True):
            assert event.query is not None
            sources = (world.source(event.query.table) for world in self.families)
            known = KNOWN.get(event.query) or tuple(exact(query, source) for source in sources)
            if query.kind in LINEAR:
                KNOWN[event.query] = known
            self._one(event, *(values - answer for answer in known))
            if event.query.table.endswith(NEXT) and query.kind == "interaction":
                self.over = True
        if self.over:
            raise Spent  # the last of all: what is made of answers tells nothing more


def exact(query: Query[Any], source: Source) -> IntArray:
    """The answer without noise."""
    counted = {m.clique: m for m in source.count(query.cliques())}
    return query.exact([counted[clique] for clique in query.cliques()], lambda part: summed(source, part))


def run(worlds: tuple[RelatedSource, RelatedSource], side: int, budget: Budget, seed: int) -> FamilyShoulder:
    """One release that the attacker sees, up to the last answer."""
    shoulder = FamilyShoulder(worlds)
    plain = Curator.__init__

    def watched(self: Curator, *given: Any, **how: Any) -> None:
        plain(self, *given, **{**how, "observer": shoulder})

    with (
        patch.object(Curator, "__init__", watched),
        patch("kagemusha.synthesizers.related_fit.PARENTS", 1),
        suppress(Spent),
    ):
        related = worlds[0].schema
        fit_related(create("kage"), worlds[side], related, budget, ledger=opened(None), named=False, simulation=seed)
    return shoulder


def audited(epsilon: float, delta: float, runs: int, counts_as: int = 2) -> tuple[float, float, Proved]:
    """μ as promised; as endless runs could prove it; and what so many runs in each world do."""
    related, budget = schema(counts_as), Budget(epsilon, delta)
    worlds = open_related(others(), related), open_related(both(), related)
    losses = np.empty((2, runs))
    reach = 0.0
    for i in range(runs):
        for side in range(2):
            found = run(worlds, side, budget, 2 * i + side)
            losses[side, i] = found.loss
            reach += found.measured / (2 * runs)
    return gdp_mu(epsilon, delta), math.sqrt(reach), proved(losses[0], losses[1], delta=delta, threshold=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=[2_500, 800], help="releases in each world, for each ε")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0])
    asked = parser.parse_args()
    lines = [
        "# A person with 40 rows: how much of the promise can be proved",
        "",
        f"`python benchmarks/related_audit.py --runs {' '.join(map(str, asked.runs))}`. Whole releases of kage in two "
        f"worlds that differ in one person of 40 rows; δ = {DELTA:g}; counts_as = 2. *Reach*: what endless runs could "
        "prove, from what the person moves in each answer; *proved*: lower bounds on μ and ε from the runs, right with "
        "probability 0.9999.",
        "",
        "| ε | runs in each world | μ promised | reach | μ proved | share | ε proved |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for epsilon, runs in zip(asked.epsilons, asked.runs, strict=True):
        promised, held, found = audited(epsilon, DELTA, runs)
        share = f"{found.mu / promised:.0%}"
        lines.append(
            f"| {epsilon:g} | {runs:,} | {promised:.3f} | {held:.3f} | {found.mu:.3f} | {share} | {found.epsilon:.2f} |"
        )
        print(lines[-1], flush=True)
    Path(__file__).with_name("results").joinpath("related_audit.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
