"""The page of proofs, one section per kind of question: `PYTHONPATH=tests python tests/queries/proof_index.py`.

Statements and proofs are those of the code; what neighbours reach of a bound is measured here, with a fixed seed.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from test_query_contract import QUERIES, people, schema_of

from exact import answer_over
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.privacy.query_kinds import KINDS, record_sensitivity
from kagemusha.queries.query import Query
from kagemusha.sources import CodesSource

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "proofs" / "queries.md"

TRIES = 150
"""Neighbours per query and relation."""

CONTRACT = "tests/queries/test_query_contract.py"

OWN_TESTS = {
    "counts": "tests/privacy/test_unit.py",
    "tables-within": "tests/queries/test_acceptance.py",
    "mean-within": "tests/queries/test_acceptance.py",
    "largest-error": "tests/queries/test_acceptance.py",
    "first-moments": "tests/queries/test_moments.py",
    "cross-moments": "tests/queries/test_moments.py",
    "dependence": "tests/queries/test_network_scores.py",
    "mutual-information": "tests/queries/test_network_scores.py",
    "determined-child": "tests/queries/test_network_scores.py",
    "l1-error": "tests/release/test_curator.py",
    "norm-counts": "tests/queries/test_record_sums.py",
    "class-sums": "tests/queries/test_record_sums.py",
    "scatter": "tests/queries/test_record_sums.py",
    "cell-lengths": "tests/queries/test_record_sums.py",
    "mixture-sizes": "tests/queries/test_mixture_sums.py",
    "mixture-means": "tests/queries/test_mixture_sums.py",
    "mixture-scatter": "tests/queries/test_mixture_sums.py",
    "values": "tests/release/test_discovery.py",
    "gradients": "tests/release/test_training.py",
    "generated-rows": "tests/privacy/test_generated_rows.py",
}
"""Tests of a kind beside the contract that all share."""

OF_FAMILIES = {
    "counts": "tests/sources/test_steps.py",
    "values": "tests/release/test_related_discovery.py",
    "weighted-counts": "tests/release/test_related_weights.py",
}
"""Tests with all neighbours of small families: persons with rows below, which count in parts (related.md)."""

ELSEWHERE = {
    "values": (
        "How many records hold each value of a column that was left open. A record holds one value, so it moves one "
        "number by one (add-remove), or two by one each (replace). Only values whose noisy count passes a public "
        "threshold are released; a value that one person alone holds passes with probability at most the event's δ, "
        "which is charged in full (docs/decisions/032-discovery.md)."
    ),
    "gradients": (
        "Sums of gradients over a Poisson sample, clipped per person to one norm, with Gaussian noise, in a schedule "
        "that was declared before the first step. The event states rate, noise and steps; numerical composition of "
        "the sampled Gaussian mechanism gives the price (docs/algorithms/deep.md)."
    ),
    "generated-rows": (
        "Rows of a normal distribution whose mean and covariance were written nowhere: theorem and proof in "
        "[gaussian-generation-replace.md](gaussian-generation-replace.md)."
    ),
}
"""Kinds whose answers are no fixed vector, in words."""


def reached(query: Query[Any], relation: Adjacency) -> float:
    """The largest share of the stated Δ² that random neighbours of small tables move the answer by."""
    schema, rng = schema_of(query), np.random.default_rng(5)
    bound = PrivacyUnit(relation).sensitivity(record_sensitivity(query.kind, query.facts)).l2_squared
    top = 0
    for _ in range(TRIES):
        rows = int(rng.integers(0, 30))
        rest, mine, other = (people(schema, rng, n) for n in (rows, 1, 1))
        if rng.random() < 0.5:
            rest = [np.repeat(column[:1], rows) for column in rest]
        before = (
            rest if relation is Adjacency.ADD_REMOVE else [np.append(c, o) for c, o in zip(rest, other, strict=True)]
        )
        after = [np.append(c, o) for c, o in zip(rest, mine, strict=True)]
        step = answer_over(query, CodesSource(schema, after)) - answer_over(query, CodesSource(schema, before))
        top = max(top, int((step.astype(object) ** 2).sum()))
    if not bound:
        return math.inf if top else 1.0
    return top / bound


def least_reached(kind: str, relation: Adjacency) -> float:
    """Of all examples of a kind, the best."""
    return max(reached(query, relation) for query in QUERIES if query.kind == kind)


def section(kind: str) -> str:
    """What stands about one kind."""
    known = KINDS[kind]
    lines = [
        f"## {kind}",
        "",
        f"*States* {', '.join(known.facts)}. *Answered by* {', '.join(sorted(known.answered_by))}.",
    ]
    asked = [query for query in QUERIES if query.kind == kind]
    tests = [CONTRACT] if asked else []
    if kind in OWN_TESTS:
        tests.append(OWN_TESTS[kind])
    if kind in OF_FAMILIES:
        tests.append(OF_FAMILIES[kind])
    shown = ", ".join(f"[{Path(test).name}](../../{test})" for test in tests)
    if asked:
        lines += ["", asked[0].proof]
        shares = ", ".join(f"{least_reached(kind, r):.3g} of Δ² under {r}" for r in Adjacency)
        lines += ["", f"*Tests* {shown}. Random neighbours of small tables reach {shares}, and never more than 1."]
    else:
        lines += ["", ELSEWHERE[kind], "", f"*Tests* {shown}."]
    return "\n".join(lines)


HEAD = """# What one record can move, kind by kind

Made by `tests/queries/proof_index.py` from the code; a test fails when they differ. Each kind of question has a
statement, a proof and tests. The contract of queries tries neighbours of random tables at every place and through every
cut: no answer may move further than its kind says. Each section says how much of the bound such neighbours reach; the
mutant that states half of it is caught for every kind. A unit of several rows multiplies by their number
(`PrivacyUnit.sensitivity`, tests/privacy/test_unit.py).

Proofs of whole methods: [kage](kage.md), [annotation](annotation-kage.md), [rows only](gaussian-generation-replace.md),
[acceptance](acceptance.md). Nobody outside the project has reviewed these proofs.
"""


def page() -> str:
    """The whole page."""
    return HEAD + "\n" + "\n\n".join(section(kind) for kind in KINDS) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
