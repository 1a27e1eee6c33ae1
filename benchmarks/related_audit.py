"""How much of the promise about a person with many rows an attacker can prove: two worlds that differ in that person.

    python benchmarks/related_audit.py [--runs 1000] [--epsilons 1 4]

The attacker knows everybody else and the person, and sees every noisy count and interaction of a release of two related
tables. The best weight for each answer is what the person adds to it, divided by the variance of its noise; the sum of
the weighted answers is the score. Lower bounds on μ hold with probability 1 − 10⁻⁴. Writes results/related_audit.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from kagemusha.arrays import IntArray
from kagemusha.ledger.open import opened
from kagemusha.privacy.accountants import gdp_mu
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import GaussianEvent, LaplaceEvent
from kagemusha.queries.query import Query
from kagemusha.release.curator import Curator, Observer
from kagemusha.schema import Category, Schema, Surrogate
from kagemusha.schema.related import Related, Table
from kagemusha.sources.several import open_related
from kagemusha.synthesizers.registry import create
from kagemusha.synthesizers.related_fit import fit_related
from persons import lower_mu

LINEAR = ("counts", "interaction")
"""Kinds of queries whose answer is a sum over records; what a person adds to it is the same beside any others."""


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


class Score(Observer):
    """Weighs what is answered by what the person adds to it."""

    def __init__(self, related: Related) -> None:
        self.alone = open_related(person(), related)
        self.sum = self.square = 0.0

    def answered(
        self, queries: Sequence[Query[Any]], events: Sequence[GaussianEvent | LaplaceEvent], answers: Sequence[IntArray]
    ) -> None:
        for query, event, answer in zip(queries, events, answers, strict=True):
            if query.kind not in LINEAR or event.query is None:
                continue
            added = query.exact(self.alone.source(event.query.table).count(query.cliques()), lambda part: part)  # type: ignore[arg-type,return-value]
            self.sum += float(added @ answer) / event.deviation**2
            self.square += float(added @ added) / event.deviation**2


def run(tables: dict[str, pd.DataFrame], related: Related, budget: Budget, seed: int) -> Score:
    """One release that the attacker sees; what follows from answers alone is left out."""
    score = Score(related)
    plain = Curator.__init__

    def watched(self: Curator, *given: Any, **how: Any) -> None:
        plain(self, *given, **{**how, "observer": score})

    with (
        patch.object(Curator, "__init__", watched),
        patch("kagemusha.synthesizers.next_rows.DRAWN", 20),
        patch("kagemusha.synthesizers.next_rows.ROUNDS", 1),
        patch("kagemusha.synthesizers.related_fit.PARENTS", 20),
    ):
        fit_related(create("kage"), tables, related, budget, ledger=opened(None), named=False, simulation=seed)
    return score


def proved(epsilon: float, delta: float, runs: int, counts_as: int = 2) -> tuple[float, float, float]:
    """μ as promised, as the answers hold it (exact, from their noise), and as scores of that many runs prove it."""
    related, budget = schema(counts_as), Budget(epsilon, delta)
    worlds = [others(), both()]
    scores = np.empty((2, runs))
    held = 0.0
    for world, tables in enumerate(worlds):
        for i in range(runs):
            found = run(tables, related, budget, 2 * i + world)
            scores[world, i] = found.sum / math.sqrt(found.square)
            held = max(held, math.sqrt(found.square))
    return gdp_mu(epsilon, delta), held, lower_mu(scores[0], scores[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="releases in each world")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0])
    asked = parser.parse_args()
    lines = [
        "# A person with 40 rows: how much of the promise can be proved",
        "",
        f"`python benchmarks/related_audit.py --runs {asked.runs}`. Two worlds that differ in one person of 40 rows; "
        "δ = 10⁻⁵; counts_as = 2. *In the answers*: the most that noisy counts and interactions of a run give away, "
        "from their noise alone; *proved*: a lower bound from the runs, right with probability 0.9999.",
        "",
        "| ε | μ promised | in the answers | proved | share |",
        "| --- | --- | --- | --- | --- |",
    ]
    for epsilon in asked.epsilons:
        promised, held, found = proved(epsilon, 1e-5, asked.runs)
        lines.append(f"| {epsilon:g} | {promised:.3f} | {held:.3f} | {found:.3f} | {found / promised:.0%} |")
        print(lines[-1], flush=True)
    Path(__file__).with_name("results").joinpath("related_audit.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
