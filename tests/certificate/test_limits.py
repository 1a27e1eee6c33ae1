"""A hostile certificate is answered within seconds and without filling the memory.

Old words and queries are closed lists.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from test_certificate import SCHEMA, bundle, certificate, failed

from kagemusha import queries
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.sensitivities import wrong_sensitivities
from kagemusha.certificate.verify import MOST_DELTA, _limits_check, verify
from kagemusha.errors import VerifyError
from kagemusha.files import StrangeFileError, parse_json
from kagemusha.privacy.budget import Budget, QueryRecord
from kagemusha.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    SampledGaussianEvent,
    UnprotectedEvent,
)
from kagemusha.privacy.query_kinds import KINDS
from kagemusha.queries.query import ReadsMarginals, ReadsRecords

COUNTS = QueryRecord.of("counts", {"columns": ("a",)}, "")
GRADIENTS = QueryRecord.of("gradients", {"lattice": 2**20}, "")


def gaussian(sigma: float) -> Event:
    return GaussianEvent(what="counts of a", sigma=sigma, l2_squared=1, query=COUNTS)


def sampled(**options: float) -> Event:
    return SampledGaussianEvent(what="steps", query=GRADIENTS, **options)  # type: ignore[arg-type]


HOSTILE: dict[str, list[Event]] = {
    "a σ so small that its loss fills the memory": [gaussian(1e-4)],
    "many different σ": [gaussian(1000 + i / 1000) for i in range(6000)],
    "many different choices": [LaplaceEvent(what="counts of a", scale=1e6 + i, l1=1, query=COUNTS) for i in range(600)],
    "samples that lose much": [sampled(steps=100_000, rate=0.5, noise=0.5)],
    "many steps": [sampled(steps=10**9, rate=1e-6, noise=9.0)],
    "many trainings": [sampled(steps=10, rate=0.01 + i / 1000, noise=9.0) for i in range(20)],
    "sampled steps whose distributions are wide": [sampled(steps=990_000, rate=0.01, noise=1.0)],
    "trainings that take a minute together": [sampled(steps=90_000 + i, rate=0.003, noise=1.0) for i in range(10)],
    "choices on the grid of many steps": [
        sampled(steps=900_000, rate=1e-5, noise=5.0),
        *(
            ExponentialEvent(
                what="best",
                epsilon=4 + i / 1000,
                candidates=3,
                query=QueryRecord.of("dependence", {"candidates": 3}, ""),
            )
            for i in range(400)
        ),
    ],
    "an interaction of forty columns": [
        GaussianEvent(
            what="interaction",
            sigma=9e9,
            l2_squared=1,
            query=QueryRecord.of("interaction", {"columns": (), "shape": (2,) * 40}, ""),
        )
    ],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_events_are_refused_at_once(tmp_path: Path, name: str) -> None:
    """Written by hand: making the certificate would take as long as checking it must not."""
    path = bundle(tmp_path)
    data = json.loads(path.read_text(encoding="utf-8"))
    from test_certificate import forge

    data["events"] = [event.to_json() for event in HOSTILE[name]]
    forge(path, events=data["events"])
    begun = time.perf_counter()
    assert failed(path) & {"number of events", "sensitivities"}
    assert time.perf_counter() - begun < 10


def test_a_hundred_thousand_equal_events_take_seconds(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    event = replace(gaussian(1e6), noise="rounded").to_json()
    from test_certificate import forge

    forge(path, events=[event] * 99_000)
    begun = time.process_time()
    checks = {check.what: check for check in verify(path)}
    assert time.process_time() - begun < 20
    assert "number of events" not in checks
    assert checks["events within the promised budget"].passed


def test_what_is_refused_for_its_work_says_so(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    from test_certificate import forge

    forge(path, events=[sampled(steps=990_000, rate=0.01, noise=1.0).to_json()])
    (check,) = [check for check in verify(path) if not check.passed]
    assert (check.what, check.detail) == ("number of events", "too much work to check")


@pytest.mark.parametrize(
    "events",
    [
        [sampled(steps=90_000, rate=0.01, noise=1.0)],
        [sampled(steps=15_000, rate=0.01, noise=1.5), gaussian(30.0), sampled(steps=15_000, rate=0.01, noise=1.2)],
        [LaplaceEvent(what="counts of a", scale=50.0 + i, l1=1, query=COUNTS) for i in range(450)],
    ],
    ids=["a long training", "two trainings", "many scales"],
)
def test_long_releases_can_be_checked(events: list[Event]) -> None:
    assert _limits_check(replace(certificate(), events=tuple(events))).passed


def _kinds(base: type) -> set[str]:
    below = {kind for sub in base.__subclasses__() for kind in _kinds(sub)}
    return below | ({base.kind} if isinstance(base.__dict__.get("kind"), str) else set())


def test_what_reads_records_is_known_by_its_kind() -> None:
    """Certificates of tables in engines say by these kinds what left the engine."""
    for module in pkgutil.iter_modules(queries.__path__):
        importlib.import_module(f"{queries.__name__}.{module.name}")
    reads, counts = _kinds(ReadsRecords), _kinds(ReadsMarginals)
    assert len(reads) >= 5
    assert len(counts) >= 5
    assert reads | counts <= set(KINDS)
    assert not any(KINDS[kind].counted for kind in reads)
    assert all(KINDS[kind].counted for kind in counts)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (None, "names no query"),
        (QueryRecord.of("counts", {"columns": ("a", "a")}, ""), "not distinct"),
        (QueryRecord.of("counts", {"columns": ("z",)}, ""), "not those of the schema"),
        (QueryRecord.of("counts", {"columns": ("a",), "shape": (2,)}, ""), "states columns"),
        (QueryRecord.of("counts", {}, ""), "states columns"),
        (QueryRecord.of("values", {"columns": ("a",)}, ""), "answers no query of kind 'values'"),
        (QueryRecord.of("gradients", {"lattice": 1}, ""), "answers no query of kind 'gradients'"),
        (QueryRecord.of("hunch", {}, ""), "unknown kind"),
        (QueryRecord.of("interaction", {"columns": ("a", "b"), "shape": (2,)}, ""), "for each column"),
        (QueryRecord.of("interaction", {"columns": ("a", "b"), "shape": (9, 9)}, ""), "more groups"),
        (QueryRecord.of("first-moments", {"added": (1,), "exchanged": (1,), "entries": 1}, ""), "not the sums"),
    ],
)
def test_queries_that_cannot_be(query: QueryRecord | None, why: str) -> None:
    event = GaussianEvent(what="something", sigma=9.0, l2_squared=1, query=query)
    (found,) = wrong_sensitivities(replace(certificate(), events=(event,)), SCHEMA)
    assert why in found


@pytest.mark.parametrize("delta", [1e-4, 0.5])
def test_a_promise_that_fails_too_often_is_refused(tmp_path: Path, delta: float) -> None:
    assert failed(bundle(tmp_path, replace(certificate(), promised=Budget(1.0, delta)))) == {"δ"}


def test_what_promises_nothing_may_have_any_delta(tmp_path: Path) -> None:
    bare = certificate(UnprotectedEvent(what="the whole table", reason="a test"))
    assert not failed(bundle(tmp_path, replace(bare, promised=Budget(1.0, 0.5))))
    assert not failed(bundle(tmp_path, replace(certificate(), promised=Budget(1.0, MOST_DELTA))))


def test_small_texts_cannot_ask_for_much_memory() -> None:
    for text in ("[" + "[]," * 200_000 + "[]]", "[" * 100_000, "[NaN]", "[-Infinity]"):
        with pytest.raises(StrangeFileError):
            parse_json(text)
    with pytest.raises(VerifyError, match="too many parts"):
        Certificate.from_json("[" + "{}," * 200_000 + "{}]")


def test_a_certificate_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kagemusha.certificate import inventory

    path = bundle(tmp_path)
    monkeypatch.setattr(inventory, "read_regular", lambda p: _limited(p))
    with pytest.raises(VerifyError, match="larger than"):
        verify(path)


def _limited(path: Path) -> bytes:
    from kagemusha.files import read_regular

    return read_regular(path, most=100)
