"""`kagemusha attack` as a person would run it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from kagemusha.schema import Category, Drop, Integer, Schema, Unit

SMALL = ("--trainings", 4, "--references", 2, "--jobs", 1)


@pytest.fixture
def private(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{rng.choice(['F', 'M'])},{rng.integers(20, 40)}" for _ in range(80)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,<b>age</b>", *lines, "X,99"]) + "\n")
    schema = Schema(
        [
            Category("sex", categories=("F", "M", "X"), out_of_domain="clip"),
            Integer("<b>age</b>", lower=0, upper=99, bins=10),
        ]
    )
    schema.save(tmp_path / "people.toml")


@pytest.mark.usefixtures("private")
def test_an_attack_ends_in_words_and_a_page(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = run(
        "attack", "people.csv", "-s", "people.toml", "-m", "independent", *SMALL, "--together", 2, "--secret", "sex"
    )
    assert "INTERNAL" in done.stdout
    page = (tmp_path / "people-attack-INTERNAL.html").read_text()
    assert "INTERNAL" in page
    assert "Who is most exposed" in page
    assert "More targets at once" in page
    assert "<b>age</b>" not in page  # names of columns are shown, not obeyed
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")


@pytest.mark.usefixtures("private")
def test_plays_are_kept_and_json_is_json(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    order = ("attack", "people.csv", "-s", "people.toml", "-m", "independent", *SMALL, "--json", "--plays", "kept")
    first = json.loads(run(*order).stdout)
    assert first == json.loads(run(*order).stdout)
    assert list((tmp_path / "kept" / "independent" / "units").glob("*.npz"))
    assert {a["attack"] for a in first["makers"][0]["attacks"]} >= {"neighbour", "mvl-orig", "likelihood-ratio"}


@pytest.mark.usefixtures("private")
def test_a_release_is_attacked_with_its_own_settings(run) -> None:  # type: ignore[no-untyped-def]
    run("synth", "people.csv", "-s", "people.toml", "-m", "independent", "--epsilon", 2, "--out", "doubles")
    found = json.loads(run("attack", "people.csv", "--release", "doubles", *SMALL, "--json").stdout)
    assert found["makers"][0]["method"] == "independent"
    assert "ε = 2" in found["makers"][0]["promise"]
    assert (
        "doubles"
        in run("attack", "people.csv", "--release", "doubles", *SMALL, "--out", "doubles/x.html", code=2).stderr
    )


@pytest.mark.usefixtures("private")
def test_a_program_is_attacked(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "copy.py").write_text("import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])\n")
    line = f"{sys.executable} copy.py {{in}} {{out}}"
    small = ("--targets", "selective", "--attacks", "closest-record", *SMALL)
    found = json.loads(run("attack", "people.csv", "-s", "people.toml", "--command", line, *small, "--json").stdout)
    (attack,) = found["makers"][0]["attacks"]
    assert attack["accuracy"][0] == 1.0
    assert found["makers"][0]["promise"] is None
    # with a promise, what it does is called by its name
    many = (*small, "--trainings", 24, "--epsilon", 0.5)
    done = run("attack", "people.csv", "-s", "people.toml", "--command", line, *many, code=5)
    assert "BROKEN" in done.stdout
    (tmp_path / "odd.py").write_text("import sys; open(sys.argv[2], 'w').write('sex\\nF\\n')\n")
    odd = f"{sys.executable} odd.py {{in}} {{out}}"
    told = run("attack", "people.csv", "-s", "people.toml", "--command", odd, *small, code=4).stderr
    assert "what --command made does not fit the schema" in told
    bad = f"{sys.executable} nothing.py {{in}} {{out}}"
    assert "wrote no table" in run("attack", "people.csv", "-s", "people.toml", "--command", bad, *small, code=4).stderr


@pytest.mark.usefixtures("private")
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (("--targets", "nobody"), "random, selective"),
        (("--attacks", "luck"), "neighbour"),
        (("--space", "codes/log"), "minmax"),
        (("--together", "x"), "--together"),
        (("--trainings", "1"), "trainings"),
        (("--jobs", "0"), "--jobs"),
        (("--out", "x.pdf"), ".html"),
        (("--command", "prog"), "{in}"),
        (("--command", "p {in} {out}", "-m", "kage"), "one of --method"),
        (("--secret", "nose"), "no column named 'nose'"),
    ],
)
def test_wrong_questions_are_named(run, wrong: tuple[str, ...], named: str) -> None:  # type: ignore[no-untyped-def]
    order = (
        "attack",
        "people.csv",
        "-s",
        "people.toml",
        *SMALL,
        *(("-m", "independent") if "--command" not in wrong else ()),
    )
    assert named in run(*order, *wrong, code=2).stderr


COPY = f'{sys.executable} -c "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])" {{in}} {{out}}'


@pytest.fixture
def visits(tmp_path: Path) -> None:
    """Persons of up to three rows."""
    rng = np.random.default_rng(0)
    lines = [f"P{i // 2},{rng.choice(['F', 'M'])},{rng.integers(20, 40)}" for i in range(80)]
    (tmp_path / "visits.csv").write_text("\n".join(["who,sex,age", *lines, *["P99,X,99"] * 5]) + "\n")
    columns = [
        Drop("who"),
        Category("sex", categories=("F", "M", "X"), out_of_domain="clip"),
        Integer("age", lower=0, upper=99, bins=10),
    ]
    Schema(columns).with_unit(Unit("who", 3)).save(tmp_path / "visits.toml")


@pytest.mark.usefixtures("visits")
def test_games_about_persons_move_all_their_rows(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """By --schema, --release and --command alike: the promise that is judged is the one about persons."""
    run("synth", "visits.csv", "-s", "visits.toml", "-m", "independent", "--epsilon", 1, "--out", "doubles")
    ways = {
        "schema": ("-s", "visits.toml", "-m", "independent", "--epsilon", 1),
        "release": ("--release", "doubles"),
        "command": ("-s", "visits.toml", "--command", COPY, "--epsilon", 1),
    }
    for name, way in ways.items():
        code = None if name == "command" else 0
        found = json.loads(run("attack", "visits.csv", *way, *SMALL, "--json", code=code).stdout)["makers"][0]
        assert "persons of up to 3 rows" in found["promise"], name
        assert any("3 equal rows" in note for note in found["notes"]), name
    page = (tmp_path / "visits-attack-INTERNAL.html").read_text()
    assert "3 equal rows" in page
