"""What a model file holds beside its generator comes back as it was; what a stranger may have written is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import DataError
from kagemusha.generators.generator import PairScores, Round
from kagemusha.marginals import NoisyMarginal
from kagemusha.models import parts
from kagemusha.queries.interactions import Interaction, NoisyInteraction
from kagemusha.schema.domain import Clique, Domain

DOMAIN = Domain(("a", "b", "c"), (2, 3, 4))
CLIQUES = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
SIGMAS = st.floats(0, 1e6, allow_nan=False)


def as_read(described: Any) -> Any:
    """What a reader gets: the description went through JSON."""
    return json.loads(json.dumps(described))


@settings(max_examples=40, deadline=None)
@given(cliques=st.lists(st.sampled_from(CLIQUES), max_size=5), sigma=SIGMAS, seed=st.integers(0, 99))
def test_measurements_come_back(cliques: list[Clique], sigma: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = [NoisyMarginal(c, rng.integers(-9, 99, DOMAIN.shape(c)), sigma) for c in cliques]
    described, arrays = parts.write_measurements(made)
    back = parts.read_measurements(as_read(described), arrays, DOMAIN)
    assert [(m.clique, m.sigma, m.values.tolist()) for m in back] == [
        (m.clique, m.sigma, m.values.tolist()) for m in made
    ]


def test_interactions_come_back() -> None:
    query = Interaction(("a", "c"), (np.array([0, 1]), np.array([0, 0, 1, 1])))
    described, arrays = parts.write_interactions([NoisyInteraction(query, np.array([[0.5, -1.0], [2.0, 0.0]]), 3.0)])
    (back,) = parts.read_interactions(as_read(described), arrays, DOMAIN)
    assert (back.query.clique, back.sigma) == (("a", "c"), 3.0)
    assert [group.tolist() for group in back.query.groups] == [[0, 1], [0, 0, 1, 1]]
    assert back.values.tolist() == [[0.5, -1.0], [2.0, 0.0]]


@settings(max_examples=40, deadline=None)
@given(ceilings=st.dictionaries(st.sampled_from(CLIQUES), SIGMAS))
def test_ceilings_of_sets_of_any_length_come_back(ceilings: Mapping[Clique, float]) -> None:
    assert parts.read_ceilings(None, parts.write_ceilings(ceilings, DOMAIN), DOMAIN) == ceilings


def test_scores_come_back_and_none_are_none() -> None:
    groups = {"a": np.array([0, 1]), "b": np.array([0, 1, 1]), "c": np.array([0, 0, 0, 0])}
    made = PairScores((("a", "b"), ("b", "c")), np.array([1.5, 0.0]), 2.0, groups)
    described, arrays = parts.write_scores(made, DOMAIN)
    back = parts.read_scores(as_read(described), arrays, DOMAIN)
    assert back is not None
    assert (back.pairs, back.values.tolist(), back.sigma) == (made.pairs, [1.5, 0.0], 2.0)
    assert {name: group.tolist() for name, group in back.groups.items()} == {
        name: group.tolist() for name, group in groups.items()
    }
    assert parts.write_scores(None, DOMAIN) == (None, {})
    assert parts.read_scores(None, {}, DOMAIN) is None


def test_a_trace_comes_back_with_what_is_no_number() -> None:
    made = [Round(("a", "b"), 1.0, 0.5), Round(("c",), 2.0, 1.0, change=3.5, cells=12)]
    first, second = parts.read_trace(as_read(parts.write_trace(made)), DOMAIN)
    assert math.isnan(first.change)
    assert (first.clique, first.spent) == (("a", "b"), 0.5)
    assert (second.clique, second.sigma, second.change, second.cells) == (("c",), 2.0, 3.5, 12)
    assert isinstance(second.cells, int)


WRONG: dict[str, Callable[[], object]] = {
    "a column that is not there": lambda: parts.clique_of(DOMAIN, ["z"]),
    "columns in another order": lambda: parts.clique_of(DOMAIN, ["b", "a"]),
    "a column twice": lambda: parts.clique_of(DOMAIN, ["a", "a"]),
    "a name that is none": lambda: parts.clique_of(DOMAIN, [["a"]]),
    "a text for a list": lambda: parts.clique_of(DOMAIN, "ab"),
    "a negative deviation": lambda: parts.read_measurements(
        [{"clique": ["a"], "sigma": -1.0}], {"measurement.0": np.zeros(2, dtype="<i8")}, DOMAIN
    ),
    "true for a number": lambda: parts.number("sigma", True),
    "infinity": lambda: parts.number("sigma", math.inf),
    "counts of another shape": lambda: parts.read_measurements(
        [{"clique": ["a"], "sigma": 1.0}], {"measurement.0": np.zeros(3, dtype="<i8")}, DOMAIN
    ),
    "counts that are no whole numbers": lambda: parts.read_measurements(
        [{"clique": ["a"], "sigma": 1.0}], {"measurement.0": np.zeros(2)}, DOMAIN
    ),
    "an answer that is no number": lambda: parts.whole("scores", np.array([np.nan]), (1,)),
    "groups with a gap": lambda: parts.groups_of("groups", np.array([0, 2]), 2),
    "groups below 0": lambda: parts.groups_of("groups", np.array([-1, 0]), 2),
    "scores of no pair": lambda: parts.read_scores(
        {"columns": [], "sigma": 1.0}, {"scores.pairs": np.zeros((0, 2), dtype="<i8"), "scores": np.zeros(0)}, DOMAIN
    ),
    "a ceiling of columns beyond the last": lambda: parts.read_ceilings(
        None, {"ceilings": np.ones(1), "ceilings.cliques": np.array([[0, 3]])}, DOMAIN
    ),
    "a ceiling below 0": lambda: parts.read_ceilings(
        None, {"ceilings": -np.ones(1), "ceilings.cliques": np.array([[0, 1]])}, DOMAIN
    ),
    "a round with a field of its own": lambda: parts.read_trace(
        [{"clique": ["a"], "sigma": 1.0, "spent": 0.5, "secret": 1}], DOMAIN
    ),
    "an expected error above 2": lambda: parts.read_expected(2.1),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_the_model_is_refused(name: str) -> None:
    with pytest.raises(DataError):
        WRONG[name]()
