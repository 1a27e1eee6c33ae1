"""Scores in whole numbers: right, and the same whatever company a record is in."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.annotation.acquisition import ACQUISITIONS, by_batch_bald
from kagemusha.annotation.votes import ONE, UNIT, bald, entropy, most_bald, votes_of, whole_votes


def shares(seed: int, versions: int = 5, records: int = 7, classes: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(classes, 0.4), (versions, records))


def plain_entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_bald_and_entropy_are_what_they_are_called(seed: int, classes: int) -> None:
    p = shares(seed, classes=classes)
    votes = whole_votes(p)
    assert (votes.sum(axis=-1) == ONE).all()
    q = votes / ONE
    together = plain_entropy(q.mean(axis=0))
    assert entropy(votes) / UNIT == pytest.approx(together, abs=1e-4)
    assert bald(votes) / UNIT == pytest.approx(together - plain_entropy(q).mean(axis=0), abs=1e-4)
    assert bald(votes).max() <= most_bald(classes)


def test_votes_are_a_softmax() -> None:
    logits = np.random.default_rng(0).integers(-2000, 2000, (4, 50, 3))
    wanted = np.exp(logits / 256 - (logits / 256).max(axis=-1, keepdims=True))
    wanted /= wanted.sum(axis=-1, keepdims=True)
    assert votes_of(logits) / ONE == pytest.approx(wanted, abs=2e-3)
    assert (votes_of(logits).sum(axis=-1) == ONE).all()


def test_agreeing_versions_tell_nothing_and_contradicting_ones_a_whole_label() -> None:
    sure = np.zeros((4, 2, 2), dtype=np.int64)
    sure[:, 0, 0] = ONE
    sure[:2, 1, 0], sure[2:, 1, 1] = ONE, ONE
    assert bald(sure).tolist() == pytest.approx([0, math.log(2) * UNIT], abs=2)


def brute_force_batch(p: np.ndarray, chosen: list[int]) -> float:
    """Mutual information between the labels of a batch and the version, by listing all combinations of labels."""
    classes = p.shape[2]
    joint = 0.0
    for labels in np.ndindex(*[classes] * len(chosen)):
        each = np.prod([p[:, r, c] for r, c in zip(chosen, labels, strict=True)], axis=0)
        mean = each.mean()
        joint -= mean * math.log(mean) if mean > 0 else 0.0
    return joint - sum(float(plain_entropy(p[:, r]).mean()) for r in chosen)


@pytest.mark.parametrize("seed", range(6))
def test_batches_are_chosen_as_by_brute_force(seed: int) -> None:
    p = whole_votes(shares(seed, records=6)) / ONE
    found = by_batch_bald(np.rint(p * ONE).astype(np.int64), 3, np.random.default_rng(0)).tolist()
    greedy: list[int] = []
    for _ in range(3):
        left = [r for r in range(6) if r not in greedy]
        greedy.append(max(left, key=lambda r: brute_force_batch(p, [*greedy, r])))
    assert brute_force_batch(p, found) == pytest.approx(brute_force_batch(p, greedy), abs=1e-9)


def test_a_batch_does_not_ask_twice_for_the_same() -> None:
    """Two copies of the most telling record: BALD takes both, BatchBALD takes another after the first."""
    p = shares(3, versions=8, records=5, classes=2)
    best = int(np.argmax(bald(whole_votes(p))))
    twin = np.concatenate([p, p[:, best : best + 1]], axis=1)
    votes = whole_votes(twin)
    rng = np.random.default_rng(0)
    assert set(ACQUISITIONS["bald"](votes, 2, rng).tolist()) == {best, 5}
    assert set(by_batch_bald(votes, 2, rng).tolist()) != {best, 5}


def test_large_batches_are_estimated_and_complete() -> None:
    votes = whole_votes(shares(1, versions=6, records=40, classes=3))
    for name, ask in ACQUISITIONS.items():
        chosen = ask(votes, 15, np.random.default_rng(0))
        assert len(set(chosen.tolist())) == 15, name
