"""One training, many canaries: the published bound, and what it proves about leaks that are known."""

from __future__ import annotations

import math

import pytest
from little import Drawn, little

from kagemusha.attacks.attribute import attribute_risk
from kagemusha.attacks.one_run import audit_one_run, epsilon_bound, p_value
from kagemusha.attacks.synthesis.method import Method
from kagemusha.attacks.table import PlayedDoubles, World
from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Budget


def test_golden_bounds() -> None:
    """100 right guesses of 100 prove ε 3.49, 1,000 prove 5.81 (95 %, δ = 0)."""
    assert epsilon_bound(100, 100, 100) == pytest.approx(3.49, abs=0.005)
    assert epsilon_bound(1000, 1000, 1000) == pytest.approx(5.81, abs=0.005)
    assert epsilon_bound(1000, 1000, 500) == 0


def test_the_bound_is_the_binomial_one_where_delta_is_zero() -> None:
    q = 1 / (1 + math.exp(-1.0))
    exact = sum(math.comb(20, k) * q**k * (1 - q) ** (20 - k) for k in range(18, 21))
    assert p_value(50, 20, 18, 1.0) == pytest.approx(exact)
    assert epsilon_bound(50, 20, 20, delta=1e-3) < epsilon_bound(50, 20, 20)
    with pytest.raises(UsageError, match="not possible"):
        p_value(5, 6, 6, 1.0)


class _Memory:
    def __init__(self, world: World) -> None:
        self.world = world

    def sample(self, rows: int, *, rng: object) -> PlayedDoubles:
        return PlayedDoubles(codes=self.world.codes)


class Memory(Drawn):
    """Hands out what it was shown."""

    def fit(self, world: World, *, rng: object) -> _Memory:  # type: ignore[override]
        return _Memory(world)


def wide():  # type: ignore[no-untyped-def]
    import numpy as np

    from kagemusha.attacks.table import GameTable
    from kagemusha.schema import Category, Schema

    names = "abcdef"
    schema = Schema(Category(c, categories=("x", "y", "z"), out_of_domain="clip") for c in names)
    rng = np.random.default_rng(0)
    return GameTable(schema, rng.choice(3, (300, len(names)), p=[0.6, 0.39, 0.01]).astype(np.int32))


def test_memory_is_convicted_and_noise_is_not() -> None:
    table = wide()
    found = audit_one_run(Memory(), table, canaries=80)
    assert found.correct == found.guesses == 40
    assert found.epsilon == pytest.approx(epsilon_bound(80, 40, 40))
    assert "proves" in found.verdict
    private = audit_one_run(Method("independent", Budget(1.0, 1e-6)), table, canaries=80)
    assert private.epsilon <= 1.0
    with pytest.raises(UsageError, match="canaries"):
        audit_one_run(Memory(), table, canaries=2)


def test_a_secret_is_the_tables_fault_only_where_it_was_seen() -> None:
    table = wide()
    remembered = attribute_risk(Memory(), table, "f", trainings=4)
    assert remembered.inside.value >= remembered.without.value
    ignored = attribute_risk(Drawn4(), table, "f", trainings=6)
    assert ignored.difference.low <= 0 <= ignored.difference.high
    assert "no difference" in ignored.words
    with pytest.raises(UsageError, match="no column"):
        attribute_risk(Memory(), table, "zz")


class Drawn4(Drawn):
    """Rows at random in the wide table, whatever was shown."""

    def fit(self, world: World, *, rng: object) -> object:  # type: ignore[override]
        import numpy as np

        class Sampler:
            def sample(self, rows: int, *, rng: np.random.Generator) -> PlayedDoubles:
                return PlayedDoubles(codes=rng.integers(0, 3, (rows, 6)).astype(np.int32))

        return Sampler()


def test_little_tables_are_refused_where_they_are_too_little() -> None:
    with pytest.raises(UsageError, match="targets"):
        attribute_risk(Memory(), little(), "b", trainings=9, targets="selective")
