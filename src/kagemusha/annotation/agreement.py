"""Several people, one record: what stands in the end, and how far they agree (Cohen's and Fleiss' κ)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from kagemusha.annotation.store import IMPOSSIBLE, UNKNOWN, Said


def by_task(said: Sequence[Said]) -> dict[int, list[Said]]:
    """Labels of each record."""
    found: dict[int, list[Said]] = {}
    for one in said:
        found.setdefault(one.task, []).append(one)
    return found


def standing(said: Sequence[Said]) -> str | None:
    """What counts for a record: what settles it, else what most say; None where as many say one as the other."""
    settled = [one.answer for one in said if one.final]
    if settled:
        return settled[-1]
    votes = Counter(one.answer for one in said).most_common(2)
    if not votes or (len(votes) == 2 and votes[0][1] == votes[1][1]):
        return None
    return votes[0][0]


def conflicts(said: Sequence[Said]) -> list[int]:
    """Records that people disagree about and nobody has settled."""
    return [
        task
        for task, labels in by_task(said).items()
        if len({one.answer for one in labels}) > 1 and not any(one.final for one in labels)
    ]


def cohen(one: Sequence[str], other: Sequence[str]) -> float | None:
    """Cohen's κ of two people over the records that both labelled; None where it says nothing."""
    if not one:
        return None
    agree = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
    first, second = Counter(one), Counter(other)
    chance = sum(first[answer] * second[answer] for answer in first) / len(one) ** 2
    return None if chance >= 1 else (agree - chance) / (1 - chance)


def fleiss(ratings: Sequence[Mapping[str, int]]) -> float | None:
    """Fleiss' κ of records that equally many people labelled; None where it says nothing."""
    if not ratings:
        return None
    answers = sorted({answer for rating in ratings for answer in rating})
    table = np.array([[rating.get(answer, 0) for answer in answers] for rating in ratings], dtype=np.float64)
    people = table[0].sum()
    if people < 2 or (table.sum(axis=1) != people).any():
        return None
    agree = ((table**2).sum(axis=1) - people) / (people * (people - 1))
    shares = table.sum(axis=0) / table.sum()
    chance = float((shares**2).sum())
    return None if chance >= 1 else float((agree.mean() - chance) / (1 - chance))


def agreement(said: Sequence[Said]) -> dict[str, object]:
    """How many records several people labelled, how many of those alike, and κ: of each pair of people, and of all."""
    several = [labels for labels in by_task(said).values() if len([x for x in labels if not x.final]) > 1]
    plain = [[x for x in labels if not x.final] for labels in several]
    pairs = {}
    people = sorted({one.who for labels in plain for one in labels})
    for a, b in combinations(people, 2):
        both = [
            (next(x.answer for x in labels if x.who == a), next(x.answer for x in labels if x.who == b))
            for labels in plain
            if {a, b} <= {x.who for x in labels}
        ]
        kappa = cohen([x for x, _ in both], [y for _, y in both])
        if kappa is not None:
            pairs[f"{a} and {b}"] = kappa
    most = max((len(labels) for labels in plain), default=0)
    ratings = [Counter(one.answer for one in labels) for labels in plain if len(labels) == most]
    alike = sum(len({one.answer for one in labels}) == 1 for labels in plain)
    return {"records": len(plain), "alike": alike, "cohen": pairs, "fleiss": fleiss(ratings), "people": most}


def usable(said: Sequence[Said], *, held: bool) -> list[tuple[list[int], str]]:
    """Records with the class that stands; without those nobody could tell or that cannot exist."""
    found = []
    for labels in by_task(said).values():
        answer = standing(labels)
        if labels[0].held == held and answer is not None and answer not in (UNKNOWN, IMPOSSIBLE):
            found.append((labels[0].codes, answer))
    return found
