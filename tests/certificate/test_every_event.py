"""The certificate and its page for every kind of event, and what ε means: it only grows worse where it must."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, replace
from html import escape, unescape
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.certificate import sentences
from kagemusha.certificate.certificate import Certificate, canonical, scope, totals, with_digest
from kagemusha.certificate.page import (
    FALSE_POSITIVE_RATES,
    GROUPS,
    best_true_positive_rate,
    consequences,
    fingerprint,
    group_promise,
    in_words,
    made_here,
    record,
    render,
    show,
)
from kagemusha.errors import VerifyError
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import Adjacency, Budget, QueryRecord
from kagemusha.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    GenerationEvent,
    LaplaceEvent,
    SampledGaussianEvent,
    ThresholdEvent,
    UnprotectedEvent,
    event_from_json,
)

COUNTS = QueryRecord.of("counts", {"columns": ("a",)}, "")
EVENTS: dict[str, Event] = {
    "gaussian": GaussianEvent(what="counts of <a> & b", sigma=31.25, l2_squared=1, query=COUNTS),
    "rounded": GaussianEvent(what="counts of a", sigma=31.25, l2_squared=1, noise="rounded", query=COUNTS),
    "laplace": LaplaceEvent(what="sum of a", scale=41.5, l1=1, query=COUNTS),
    "exponential": ExponentialEvent(what="best of 3", epsilon=0.0625, candidates=3),
    "threshold": ThresholdEvent(what="labels of a", sigma=20.0, l2_squared=1, threshold=200, failure=1e-12, rows=2),
    "sampled": SampledGaussianEvent(what="training", steps=120, rate=0.01, noise=2.5),
    "generation": GenerationEvent(
        what="rows", rows=50, at_least=10_000, width=3, apart=6, box=6, boundaries=12, floor=0.5, noise=3.0, share=0.1
    ),
    "unprotected": UnprotectedEvent(what="the whole table", reason="bounds were read from the data"),
}
EVERY = pytest.mark.parametrize("name", EVENTS)


def certificate(*events: Event, **changes: Any) -> Certificate:
    given: dict[str, Any] = {
        "promised": Budget(1.0, 1e-9),
        "accounting": Accounting.ZCDP,
        "method": "aim",
        "parameters": {"degree": 2},
        "simulated": False,
        "adaptive": True,
        "schema_digest": "0" * 64,
        "dataset": "patients.csv",
        "release": "abc",
        "version": "1.2.3",
        "created": "2026-11-15",
    }
    made = Certificate(events=events, **{**given, **changes})
    return made.with_assumptions()


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def leaves(kind: type[Event]) -> set[type[Event]]:
    """The kinds that are not derived from any further."""
    return set().union(*map(leaves, kind.__subclasses__())) or {kind}


def test_every_kind_is_here() -> None:
    assert {event.kind for event in EVENTS.values()} == {c.kind for c in leaves(Event)}


# events


@EVERY
def test_an_event_comes_back_and_every_field_counts(name: str) -> None:
    event = EVENTS[name]
    data = json.loads(json.dumps(event.to_json()))
    assert event_from_json(data) == event
    assert event_from_json(data).to_json() == event.to_json()
    for field in set(data) - {"kind"}:
        less = {key: value for key, value in data.items() if key != field}
        if field in event.optional:
            assert event_from_json(less) != event
            continue
        with pytest.raises(VerifyError, match="wrong fields"):
            event_from_json(less)
    with pytest.raises(VerifyError, match=r"wrong fields: .*more"):
        event_from_json({**data, "more": 1})
    with pytest.raises(VerifyError, match="unknown kind of event 'x'; known: gaussian"):
        event_from_json({**data, "kind": "x"})


@EVERY
def test_a_number_of_an_event_that_cannot_be_is_refused(name: str) -> None:
    event = EVENTS[name]
    numbers = [f.name for f in fields(event) if isinstance(getattr(event, f.name), int | float)]
    assert numbers or name == "unprotected"
    for field in numbers:
        for wrong in (-1, float("nan"), "three", None, [1], -math.inf):
            with pytest.raises(VerifyError, match="malformed"):
                event_from_json({**event.to_json(), field: wrong})


# the page


@EVERY
def test_the_page_says_what_the_certificate_says(name: str) -> None:
    event = EVENTS[name]
    made = certificate(event, event, EVENTS["gaussian"])
    page = render(made)
    said = words(page)
    for event_ in made.events:
        assert f"<td>{escape(event_.what)}</td><td>{escape(event_.noise_in_words)}</td>" in page
    assert "Answers taken from the private table: 3" in said
    kinds = (
        {"gaussian": "3 gaussian"} if event.kind == "gaussian" else {event.kind: f"2 {event.kind}", "": "1 gaussian"}
    )
    assert all(kind in said for kind in kinds.values())
    for accountant, total in made.totals.items():
        assert f">{show(total)}<" in page, accountant
    for sentence in made.assumptions:
        assert sentence in unescape(page)
    for value in ("patients.csv", "1.2.3", "2026-11-15", "aim", made.digest(), made.schema_digest):
        assert value in page
    private = name != "unprotected"
    assert ("no privacy guarantee" in said) != private
    assert ("stands behind the guarantee" in said) == private
    assert f"ε = {show(made.epsilon)}" in said
    aside = float(sum(event_.delta for event_ in made.events))
    assert (in_words(made.promised, aside=aside) in unescape(page)) == private


@EVERY
def test_a_certificate_with_any_event_comes_back(name: str) -> None:
    made = certificate(EVENTS[name]).with_outputs({"synthetic.csv": "1" * 64})
    again = Certificate.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert again.digest() == made.digest()
    assert render(again) == render(made)
    assert again.broken_because == made.broken_because
    assert made.page == record(made)
    assert made.page is not None
    assert made_here(made.page)
    assert fingerprint(render(made).encode(), made.digest()) == made.page["sha256"]
    assert fingerprint(render(made).encode() + b" ", made.digest()) != made.page["sha256"]


def test_sentences_that_the_events_need_are_there_and_no_others() -> None:
    plain = certificate(EVENTS["gaussian"]).assumptions
    assert set(certificate(EVENTS["sampled"]).assumptions) - set(plain) == set(sentences.FLOATING)
    assert set(certificate(EVENTS["generation"]).assumptions) - set(plain) == set(sentences.GENERATED)
    found = certificate(EVENTS["gaussian"], parameters={"discovered": ["a"]}).assumptions
    assert set(found) ^ set(plain) == {*sentences.DISCOVERED, *sentences.DECLARED}
    foreign = certificate(EVENTS["gaussian"], package="other 1.0").assumptions
    assert "package other 1.0" in " ".join(set(foreign) - set(plain))
    person = certificate(promised=Budget(1.0, 1e-9, rows=4), unit_column="who").assumptions
    assert "column 'who'" in " ".join(person)
    assert "At most 4" in " ".join(person)
    assert "known to have at most 4 rows" in " ".join(scope(4))
    own = certificate(EVENTS["gaussian"]).with_assumptions(["a sentence of ours"])
    assert own.added == ["a sentence of ours"]
    assert "Said besides" in render(own)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(("rows", "column"), [(1, None), (3, None), (3, "who"), (1, "who")])
def test_the_page_names_who_is_protected(adjacency: Adjacency, rows: int, column: str | None) -> None:
    made = certificate(EVENTS["gaussian"], promised=Budget(1.0, 1e-9, adjacency, rows), unit_column=column)
    said = words(render(made))
    assert f"{adjacency} adjacency" in said
    person = rows > 1 or column is not None
    assert made.of_whom == ("person" if person else "row")
    assert ("If one person has several rows" in said) != person
    assert ("“who”" in said) == (column is not None)
    assert (f"known to have at most {rows} rows" in said) == (person and column is None)
    if not person:
        for k in GROUPS:
            assert f" {k} {show(group_promise(made.promised, made.accounting, k).epsilon)} " in re.sub(
                r"\s+", " ", said
            )


DEFECTS: list[tuple[str, Any]] = [
    ("format", "kagemusha-certificate/2"),
    ("promised", 3),
    ("promised", {}),
    ("events", 3),
    ("events", [3]),
    ("events", [{}]),
    ("method", {"name": 3, "parameters": {}, "adaptive": True}),
    ("guarantee", {"accounting": "x"}),
    ("outputs", ["a"]),
    ("outputs", {"a": 3}),
    ("policy", None),
    ("ledger", "x"),
    ("page", {"a": 1}),
    ("assumptions", "x"),
    ("assumptions", [1]),
    ("software", None),
    ("created", 3),
    ("schema digest", None),
    ("data set", []),
    ("release", {}),
]


@pytest.mark.parametrize(("field", "value"), DEFECTS, ids=str)
def test_a_field_that_is_odd_or_missing_is_refused_in_words(field: str, value: Any) -> None:
    body = certificate(EVENTS["gaussian"]).body()
    for broken in ({**body, field: value}, {k: v for k, v in body.items() if k != field}):
        with pytest.raises(VerifyError, match=r"certificate: |event"):
            Certificate.from_json(with_digest(canonical(broken))[0])


# what ε means

EPSILONS = st.floats(0.01, 30)
ACCOUNTED = st.sampled_from([Accounting.ZCDP, Accounting.GDP, Accounting.PURE])


def budget(epsilon: float, accounting: Accounting) -> Budget:
    return Budget(epsilon, 0.0 if accounting is Accounting.PURE else 1e-9)


@settings(max_examples=60, deadline=None)
@given(EPSILONS, st.floats(1.01, 3), ACCOUNTED, st.sampled_from(FALSE_POSITIVE_RATES))
def test_a_larger_epsilon_never_protects_better(
    epsilon: float, times: float, accounting: Accounting, fpr: float
) -> None:
    one, more = (best_true_positive_rate(budget(e, accounting), accounting, fpr) for e in (epsilon, epsilon * times))
    assert fpr <= one <= more <= 1
    assert one <= min(1.0, math.exp(epsilon) * fpr + 1e-9) * (1 + 1e-12), "the definition of (ε, δ)"
    assert one <= 1 - math.exp(-epsilon) * (1 - 1e-9 - fpr) + 1e-12, "and the other way round"


@settings(max_examples=60, deadline=None)
@given(EPSILONS, ACCOUNTED)
def test_accusing_more_catches_more(epsilon: float, accounting: Accounting) -> None:
    rates = [c.true_positive_rate for c in consequences(budget(epsilon, accounting), accounting)]
    assert rates == sorted(rates)
    assert [c.false_positive_rate for c in consequences(budget(epsilon, accounting), accounting)] == [
        *FALSE_POSITIVE_RATES
    ]


@settings(max_examples=40, deadline=None)
@given(EPSILONS, st.sampled_from([Accounting.ZCDP, Accounting.GDP]), st.sampled_from(FALSE_POSITIVE_RATES))
def test_what_is_spent_aside_never_protects_better_than_nothing_said(
    epsilon: float, accounting: Accounting, fpr: float
) -> None:
    """Without the curve there is (ε, δ) left, which always holds."""
    promised = Budget(epsilon, 1e-9)
    split = best_true_positive_rate(promised, accounting, fpr, aside=5e-10)
    assert fpr <= split <= min(1.0, math.exp(epsilon) * fpr + 1e-9) * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(EPSILONS, ACCOUNTED, st.integers(2, 12))
def test_more_rows_are_protected_less(epsilon: float, accounting: Accounting, rows: int) -> None:
    promised = budget(epsilon, accounting)
    one, few, more = (group_promise(promised, accounting, k) for k in (1, rows, rows + 1))
    assert one.epsilon == pytest.approx(epsilon, rel=1e-3)
    assert one.epsilon < few.epsilon < more.epsilon
    assert few.rows == rows
    if accounting is Accounting.PURE:
        assert few.epsilon == rows * epsilon
        assert few.delta == 0
    else:
        assert few.delta == promised.delta
        assert few.epsilon > rows * epsilon * 0.999, "never less than in proportion"


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 300), st.integers(1, 12))
def test_a_promise_without_curve_is_that_of_the_definition(epsilon: float, rows: int) -> None:
    told = group_promise(Budget(epsilon, 1e-9), Accounting.SCHEDULE, rows)
    exact = 1e-9 * sum(math.exp(min(600.0, i * epsilon)) for i in range(rows))
    if exact >= 1:
        assert (told.epsilon, told.delta) == (math.inf, 1.0)
    else:
        assert told.delta == pytest.approx(exact)
        assert told.epsilon == pytest.approx(rows * epsilon)


def test_nothing_is_said_where_nothing_is_promised() -> None:
    endless = Budget(math.inf, 1e-9)
    assert group_promise(endless, Accounting.ZCDP, 3).epsilon == math.inf
    assert in_words(endless) == "There is no limit on what an attacker could learn about one person."
    assert show(math.inf) == "∞"


# totals


@EVERY
def test_a_second_read_never_costs_nothing(name: str) -> None:
    event = EVENTS[name]
    for accounting in Accounting:
        once = totals((event,), accounting, 1e-9)
        twice = totals((event, event), accounting, 1e-9)
        for accountant, epsilon in once.items():
            assert 0 < epsilon <= twice[accountant], accountant
            if math.isfinite(epsilon) and epsilon > 1e-6:
                assert twice[accountant] > epsilon, accountant
        assert ACCOUNTANTS[accounting].name in once, "the one behind the guarantee is always shown"
    if name == "unprotected":
        assert set(once.values()) == {math.inf}


def test_one_gaussian_read_by_hand() -> None:
    """zCDP: ε = ρ + 2√(ρ ln 1/δ) from above; every accountant is at most that and more than the exact Gaussian curve
    allows."""
    event = GaussianEvent(what="x", sigma=10.0, l2_squared=1, noise="rounded")
    rho = 1 / 200
    found = totals((event,), Accounting.GDP, 1e-9)
    simple = rho + 2 * math.sqrt(rho * math.log(1e9))
    assert found["zcdp"] <= simple * (1 + 1e-9)
    assert found["zcdp"] > 0.7 * simple
    from scipy.stats import norm

    epsilon, mu = found["gdp"], 0.1
    delta = norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)
    assert delta == pytest.approx(1e-9, rel=1e-3), "the exact curve of a Gaussian mechanism"
    assert found["gdp"] <= found["zcdp"]
    mixed = certificate(event, replace(event, sigma=5.0))
    assert mixed.totals["zcdp"] > found["zcdp"]
    assert mixed.epsilon == 1.0, "the guarantee is the promise, not what was spent"
