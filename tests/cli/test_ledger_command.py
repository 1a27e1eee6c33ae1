"""The ledger on the command line: a cap goes where the release looks, and looking changes nothing."""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path

import pytest

from kagemusha.errors import LedgerError
from kagemusha.ledger import open_ledger
from kagemusha.ledger.protocol import ReleaseRequest
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import LaplaceEvent
from kagemusha.privacy.filter import cost_of

SYNTH = ("--method", "independent", "--out", "doubles")


@pytest.fixture
def elsewhere(patients: Path, tmp_path: Path) -> Path:
    """The table in a folder of its own."""
    (tmp_path / "data").mkdir()
    return patients.rename(tmp_path / "data" / "p.csv")


def test_a_cap_and_a_release_of_a_file_use_one_ledger(run, elsewhere: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    ledger = tmp_path / "data" / "kagemusha-ledger.db"
    told = run("ledger", "cap", "data/p.csv", "--epsilon", 0.5).stdout
    assert str(ledger) in told
    assert "new" in told
    refused = run("synth", "data/p.csv", "--schema", "patients.toml", "--epsilon", 10, *SYNTH, code=5)
    assert str(ledger) in refused.stderr
    assert not (tmp_path / "doubles").exists()
    assert not (tmp_path / "kagemusha-ledger.db").exists()
    assert str(ledger) in run("ledger", "show", "data/p.csv").stdout
    assert json.loads(run("ledger", "show", "data/p.csv", "--json").stdout)["caps"][0]["epsilon"] == 0.5
    assert json.loads(run("ledger", "export", "data/p.csv").stdout)["releases"] == []


def test_a_named_ledger_and_a_named_data_set_stay_where_they_are_told(run, elsewhere: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("ledger", "cap", "data/p.csv", "--epsilon", 0.5, "--ledger", "mine.db")
    assert (tmp_path / "mine.db").exists()
    run("ledger", "cap", "people", "--epsilon", 0.5)
    assert json.loads(run("ledger", "show", "--json").stdout)["caps"][0]["dataset"] == "people"


def test_pure_caps_tell_what_is_used(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    run("ledger", "cap", "patients.csv", "--epsilon", 2, "--delta", 0)
    pure = ("--method", "privbayes", "--option", "accounting=pure", "--delta", 0, "--epsilon", 0.5)
    run("synth", "patients.csv", "--schema", "patients.toml", *pure, "--out", "doubles")
    assert json.loads(run("ledger", "show", "--json").stdout)["caps"][0]["used"] == pytest.approx(0.25)
    assert "25.0%" in run("ledger", "show").stdout


def test_a_cap_without_delta_over_gaussian_releases_is_refused_and_an_old_one_shown(  # type: ignore[no-untyped-def]
    run, patients: Path, tmp_path: Path
) -> None:
    run("synth", "patients.csv", "--schema", "patients.toml", *SYNTH)
    assert "pure" in run("ledger", "cap", "patients.csv", "--epsilon", 5, "--delta", 0, code=2).stderr
    with sqlite3.connect(tmp_path / "kagemusha-ledger.db") as db:  # earlier versions let it through
        db.execute("UPDATE caps SET epsilon = '5.0', delta = '0.0', rule = 'pure'")
    assert "too much" in " ".join(run("ledger", "show").stdout.split())
    assert json.loads(run("ledger", "show", "--json").stdout)["caps"][0]["used"] is None


def test_looking_into_a_file_that_is_no_ledger_changes_nothing(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("synth", "patients.csv", "--schema", "patients.toml", *SYNTH)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    before = foreign.read_bytes()
    for command in (("ledger", "show"), ("ledger", "export"), ("verify", "doubles")):
        assert "not a ledger" in run(*command, "--ledger", "foreign.db", code=6).stderr
        assert {f: f.read_bytes() for f in tmp_path.glob("foreign*")} == {foreign: before}


@pytest.mark.parametrize("extra", [(), ("--method", "privbayes", "--option", "accounting=pure", "--delta", 0)])
def test_an_epsilon_no_ledger_can_count_is_refused_up_front(  # type: ignore[no-untyped-def]
    run, patients: Path, tmp_path: Path, extra: tuple[object, ...]
) -> None:
    for command in (("plan", "patients.toml"), ("synth", "patients.csv", "--schema", "patients.toml", *SYNTH)):
        assert "epsilon must be" in run(*command, "--epsilon", 1e4, *extra, code=2).stderr
    assert not (tmp_path / "kagemusha-ledger.db").exists()


@pytest.mark.parametrize("accounting", [Accounting.ZCDP, Accounting.PURE])
def test_a_release_given_up_gives_back_what_it_never_charged(run, tmp_path: Path, accounting: Accounting) -> None:  # type: ignore[no-untyped-def]
    """Interrupted for good: one release read nothing, another one a little."""
    delta = 0.0 if accounting is Accounting.PURE else 1e-9
    run("ledger", "cap", "people", "--epsilon", 2, "--delta", delta)
    book = open_ledger(tmp_path / "kagemusha-ledger.db")
    nothing, little = (
        book.open_release(ReleaseRequest("people", "aim", Budget(0.5, delta), accounting, key=key)).id for key in "ab"
    )
    event = LaplaceEvent(what="counts", scale=1000.0, l1=1)
    step = ("first", event, cost_of(event, accounting))
    book.charge(little, [step])

    def used() -> float:
        return float(json.loads(run("ledger", "show", "--json").stdout)["caps"][0]["used"])

    whole = used()
    assert "ε = 0 stays spent" in run("ledger", "close", nothing).stdout
    half = used()
    assert half == pytest.approx(whole / 2)
    assert "stays spent" in run("ledger", "close", little).stdout
    assert 0 < used() <= half
    assert "closed already" in run("ledger", "close", little).stdout
    with pytest.raises(LedgerError, match="needs a new key"):
        book.charge(little, [("second", *step[1:])])
    run("ledger", "allow-unprotected", "people")
    bare = book.open_release(ReleaseRequest("people", "stat", Budget(math.inf, delta), accounting, key="c")).id
    assert "held no part of a cap" in run("ledger", "close", bare).stdout
    assert "no release 'zz'" in run("ledger", "close", "zz", code=6).stderr


def test_show_tells_the_epsilon_so_far(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    """Two releases of ε = 1 are less than ε = 2 together, and a share of the cap tells nobody how much."""
    for key in "ab":
        order = ("synth", patients, "--schema", patients.with_suffix(".toml"), "--epsilon", 1, "--cap", 2, "--key", key)
        run(*order, "--method", "independent", "--out", key)
    (cap,) = json.loads(run("ledger", "show", patients, "--json").stdout)["caps"]
    assert 1.3 < cap["epsilon so far"] < 1.6
    assert f"{cap['epsilon so far']:.3g}" in run("ledger", "show", patients).stdout
