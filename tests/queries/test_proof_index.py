"""Every kind of question has its page of proof, and its tests are there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from proof_index import CONTRACT, ELSEWHERE, OWN_TESTS, PAGE, QUERIES, ROOT, least_reached, page

from kagemusha.certificate.page import PROOFS
from kagemusha.privacy import query_kinds
from kagemusha.privacy.budget import Adjacency, RecordSensitivity, Sensitivity
from kagemusha.privacy.query_kinds import KINDS


def test_the_page_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run tests/queries/proof_index.py"
    assert PAGE == ROOT / PROOFS


def test_every_kind_is_proved_or_said_elsewhere_and_its_tests_exist() -> None:
    asked = {query.kind for query in QUERIES}
    assert asked | set(ELSEWHERE) == set(KINDS)
    assert asked.isdisjoint(ELSEWHERE)
    assert set(OWN_TESTS) <= set(KINDS)
    assert all((ROOT / test).is_file() for test in {CONTRACT, *OWN_TESTS.values()})
    assert all(f"## {kind}\n" in PAGE.read_text(encoding="utf-8") for kind in KINDS)


@pytest.mark.parametrize("kind", sorted({query.kind for query in QUERIES}))
def test_a_bound_of_half_the_size_is_caught(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant of every kind: Δ₂ stated at half, so Δ₂² at a quarter."""
    true = KINDS[kind]

    def halved(moves: Sensitivity) -> Sensitivity:
        return Sensitivity(moves.l1 // 2, moves.l2_squared // 4, moves.each // 2)

    def stated(facts: query_kinds.Facts) -> RecordSensitivity:
        moves = true.sensitivity(facts)
        return RecordSensitivity(halved(moves.added), moves.exchanged)

    assert least_reached(kind, Adjacency.ADD_REMOVE) <= 1
    monkeypatch.setattr(query_kinds, "KINDS", {**KINDS, kind: replace(true, sensitivity=stated)})
    assert least_reached(kind, Adjacency.ADD_REMOVE) > 1


def test_tests_named_on_the_page_are_python_files() -> None:
    assert all(Path(test).suffix == ".py" for test in OWN_TESTS.values())
