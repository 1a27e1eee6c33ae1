"""Whatever the options, a run charges at most its budget and reads nothing it did not charge for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from family import Run, Spy, run, table

from kagemusha.graphical import Estimate, MarkovField
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.filter import UNIT
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers import adaptive, mst
from kagemusha.synthesizers.kage import measurements as gathered
from kagemusha.synthesizers.kage import rounds
from kagemusha.synthesizers.protocol import Synthesizer
from kagemusha.synthesizers.registry import create

MEMBERS = ("aim", "aim-k3", "aim-noinit", "aim-lap", "aim-gdp", "mst", "kage", "independent")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spending does not depend on how good a fit is: a random one in place of the solver makes runs fast."""

    def anything(domain, measurements, *, total=None, max_cells, **_):  # type: ignore[no-untyped-def]
        measured = list(measurements)
        rng = np.random.default_rng(len(measured))
        count = total or float(np.exp(rng.normal(5, 3)))
        return Estimate(MarkovField.build(domain, count, {}, max_cells=max_cells), 0.0, (0.0,), 0, True)

    def roughly(*arguments, max_steps: int, **options):  # type: ignore[no-untyped-def]
        return fit_interactions(*arguments, max_steps=3, **options)

    fit_interactions = gathered.fit_interactions
    monkeypatch.setattr(adaptive, "estimate", anything)
    monkeypatch.setattr(mst, "estimate", anything)
    monkeypatch.setattr(gathered, "fit_interactions", roughly)


def configuration(rng: np.random.Generator, members: tuple[str, ...]) -> tuple[Synthesizer, Domain, Budget]:
    columns = int(rng.integers(1, 13))
    domain = Domain(tuple(f"c{i}" for i in range(columns)), tuple(int(n) for n in rng.integers(1, 5, columns)))
    synthesizer = create(str(rng.choice(members)))
    if isinstance(synthesizer, adaptive.Adaptive):
        synthesizer = replace(synthesizer, rounds=int(rng.integers(1, 501)), init=bool(rng.random() < 0.7))
    epsilon = float(10 ** rng.uniform(-2, 2))
    adjacency = Adjacency.REPLACE if rng.random() < 0.5 else Adjacency.ADD_REMOVE
    return synthesizer, domain, Budget(epsilon, float(10 ** rng.uniform(-12, -3)), adjacency)


def check(result: Run) -> None:
    limit = result.budget_filter.limit.units
    charged = sum(Fraction(event.rho or 0) for event in result.spy.charged)
    assert charged * UNIT <= limit, "charged more than the budget"
    assert charged * UNIT >= Fraction(99, 100) * limit, "left budget unused"
    _everything_read_was_charged(result.spy)


def _everything_read_was_charged(spy: Spy) -> None:
    before = 0
    for read in spy.reads:
        fresh = spy.charged[before : read.charged]
        before = read.charged
        if len(fresh) == 1 and "candidates" in fresh[0].what:
            assert f"of {len(read.cliques)} candidates" in fresh[0].what
        else:
            assert len(fresh) == len(read.cliques)
            for event, clique in zip(fresh, read.cliques, strict=True):
                assert " × ".join(clique) in event.what
    assert before == len(spy.charged), "charged for something that was never read"


def _try(count: int, seed: int, members: tuple[str, ...] = MEMBERS) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        synthesizer, domain, budget = configuration(rng, members)
        codes = table(domain, int(rng.integers(1, 200)), int(rng.integers(1 << 30)))
        check(run(synthesizer, domain, codes, budget, seed=int(rng.integers(1 << 30))))


@pytest.mark.usefixtures("quick")
def test_random_configurations_stay_within_their_budget() -> None:
    _try(120, 0)


@pytest.mark.usefixtures("quick")
def test_kage_stays_within_its_budget_if_it_often_looks_at_triples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "TRIPLES", 0.3)
    _try(60, 2, members=("kage",))


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_thousands_of_configurations_stay_within_their_budget(part: int) -> None:
    """250 a part: 2,000 where everything is checked, 10,000 with `pytest --full`."""
    _try(250, 1000 + part)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "part" in metafunc.fixturenames:
        metafunc.parametrize("part", range(40 if metafunc.config.getoption("--full") else 8))


@pytest.mark.parametrize("rounds", [1, 2, 5, 500])
@pytest.mark.parametrize("name", ["aim", "aim-gdp", "aim-lap", "aim-noinit"])
def test_few_rounds_never_overspend(name: str, rounds: int) -> None:
    domain = Domain(tuple("abcdefgh"), (2,) * 8)
    result = run(create(name, rounds=rounds), domain, table(domain, 500, 0), Budget(1.0, 1e-6))
    check(result)
    assert result.fitted.trace, "the columns left nothing for a round"
