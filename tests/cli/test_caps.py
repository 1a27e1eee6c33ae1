"""Caps in ε: a first release tells of the cap it leaves, refusals name the ε that would do, and hints can be pasted."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from kagemusha.ledger.cap import Cap
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import LaplaceEvent
from kagemusha.privacy.spend import CapRule, Spend

SYNTH = ("synth", "patients.csv", "--schema", "patients.toml", "--method", "independent")


def pasted(text: str) -> list[str]:
    """The `kagemusha ledger cap` command that a message holds, as a shell reads it."""
    found = re.search(r"kagemusha (ledger cap [^`\n]+)", text)
    assert found, text
    return shlex.split(found[1])


def test_the_first_release_tells_of_its_cap(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    told = run(*SYNTH, "--out", "one").stdout
    assert "nobody had set one" in told
    assert "nobody had set one" not in run(*SYNTH, "--out", "again").stdout
    run(*pasted(told))
    run(*SYNTH, "--out", "two", "--key", "b", "--epsilon", 0.5)


def test_a_refusal_speaks_of_epsilon_and_its_hint_works(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    run(*SYNTH, "--out", "one")
    refused = run(*SYNTH, "--out", "two", "--key", "b", code=5).stderr
    assert "ρ" not in refused
    assert re.search(r"ε = 1\.\d+ of ε = 1,", refused), refused
    run(*pasted(refused))
    run(*SYNTH, "--out", "two", "--key", "b")
    other = run(*SYNTH, "--out", "three", "--policy", "research", code=5).stderr
    run(*pasted(other))
    run(*SYNTH, "--out", "three", "--policy", "research")


def test_a_cap_can_be_set_with_the_first_release(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    told = run(*SYNTH, "--out", "one", "--cap", 3)
    assert "nobody had set one" not in told.stdout
    assert json.loads(run("ledger", "show", "--json").stdout)["caps"][0]["epsilon"] == 3
    run(*SYNTH, "--out", "two", "--key", "b", "--cap", 3)
    assert "has a cap already" in run(*SYNTH, "--out", "three", "--key", "c", "--cap", 9, code=2).stderr
    assert "policy" in run(*SYNTH, "--out", "three", "--policy", "x", "--cap", 9, code=2).stderr
    assert "--cap" in run(*SYNTH, "--out", "three", "--cap", -1, code=2).stderr


def test_closing_speaks_of_epsilon(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    run(*SYNTH, "--out", "one")
    release = json.loads(run("ledger", "show", "--json").stdout)["releases"][0]["id"]
    told = run("ledger", "close", release).stdout
    assert "it took ε = 1" in told
    assert "ρ" not in told


@pytest.mark.parametrize(
    ("cap", "spend"),
    [
        (Cap("d", "p", Budget(1.0), CapRule.GDP), Spend(gaussian=1)),  # type: ignore[arg-type]
        (Cap("d", "p", Budget(1.0), CapRule.ZCDP), Spend(concentrated=3)),  # type: ignore[arg-type]
        (Cap("d", "p", Budget(1.0, 1e-6), CapRule.GDP), Spend(concentrated=1)),  # type: ignore[arg-type]
        (Cap("d", "p", Budget(1.0, 0.0), CapRule.PURE), Spend(gaussian=1)),  # type: ignore[arg-type]
        (Cap("d", "p", Budget(1.0, 0.0), CapRule.PURE), Spend.of([LaplaceEvent(what="x", scale=1.0, l1=9)])),
        (Cap("d", "p", Budget(1.0), CapRule.GDP), Spend(gaussian=1, aside=3e-9)),  # type: ignore[arg-type]
    ],
)
def test_what_is_suggested_is_enough_and_hardly_more(cap: Cap, spend: Spend) -> None:
    enough = cap.enough_for(spend)
    assert enough.holds(spend)
    less = Cap("d", "p", Budget(enough.budget.epsilon * 0.98, enough.budget.delta), enough.rule)
    assert not less.holds(spend)
