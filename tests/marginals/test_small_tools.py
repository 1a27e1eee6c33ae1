"""Merging noisy answers, information of two columns, tables that stay in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kagemusha.arrays import IntArray
from kagemusha.marginals.information import chance_information, mutual_information
from kagemusha.marginals.tally import KeptTables, merged
from kagemusha.schema.domain import Clique


def test_merging_by_precision_has_the_least_noise() -> None:
    rng = np.random.default_rng(1)
    sigmas = np.array([1.0, 2.0, 5.0])
    answers = 10 + sigmas[:, None] * rng.standard_normal((3, 40_000))
    mean, precision = merged((answer, float(sigma) ** -2) for answer, sigma in zip(answers, sigmas, strict=True))
    assert precision**-0.5 == pytest.approx(float(np.sum(sigmas**-2.0)) ** -0.5)
    assert float(mean.std()) == pytest.approx(precision**-0.5, rel=0.02)
    assert float(mean.mean()) == pytest.approx(10, abs=0.02)
    assert precision**-0.5 < 1.0 < float(answers.mean(axis=0).std())


def test_one_answer_stays_as_it_is() -> None:
    assert merged([(7.0, 0.25)]) == (7.0, 0.25)


def test_information_of_copies_and_of_strangers() -> None:
    assert mutual_information(np.diag([5.0, 5.0])) == pytest.approx(np.log(2))
    assert mutual_information(np.outer([1.0, 2.0], [3.0, 4.0])) == pytest.approx(0, abs=1e-15)
    assert mutual_information(np.zeros((2, 3))) == chance_information(np.zeros((2, 3))) == 0


def test_chance_information_is_what_independent_columns_show() -> None:
    rng = np.random.default_rng(2)
    seen = []
    for _ in range(400):
        joint = np.zeros((4, 3))
        np.add.at(joint, (rng.integers(0, 4, 500), rng.integers(0, 3, 500)), 1)
        seen.append(mutual_information(joint))
    assert np.mean(seen) == pytest.approx(chance_information(np.ones((4, 3)) * 500 / 12), rel=0.1)


def test_tables_stay_while_there_is_room() -> None:
    asked: list[Clique] = []

    def count(cliques: Sequence[Clique]) -> dict[Clique, IntArray]:
        asked.extend(cliques)
        return {clique: np.full(4 ** len(clique), len(asked)) for clique in cliques}

    kept = KeptTables[IntArray](24, widest=2)
    first = kept.of([("a",), ("a", "b"), ("a",), ("a", "b", "c"), ("b", "c")], count)
    assert asked == [("a",), ("a", "b"), ("a", "b", "c"), ("b", "c")]
    assert kept.room == 24 - 4 - 16
    again = kept.of([("b", "c"), ("a", "b"), ("a",)], count)
    assert asked[4:] == [("b", "c")], "only what found no room is counted again"
    assert again[("a", "b")] is first[("a", "b")]
    with pytest.raises(ValueError, match="read-only"):
        first[("a",)][0] = 1


def test_nothing_to_count_asks_nobody() -> None:
    kept = KeptTables[IntArray](0)
    assert kept.of([], lambda cliques: pytest.fail("asked")) == {}
