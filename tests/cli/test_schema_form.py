"""`schema edit` and `schema check`, as a custodian meets them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from kagemusha.cli.app import app
from kagemusha.editing.offers import offers
from kagemusha.schema import Category, Date, Drop, Integer, Real, Schema
from kagemusha.schema.constraints import Constraint

ROWS = 400


@pytest.fixture
def draft(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    came = rng.integers(18262, 18600, ROWS)
    lines = ["patient_id,name,admission,discharge,sex,lab,score,dose,icd"]
    for i in range(ROWS):
        lab = "N" if i % 9 == 0 else "9999" if i % 31 == 0 else f"{rng.gamma(2, 4):.1f}"
        day, out = (np.datetime64(int(d), "D") for d in (came[i], came[i] + i % 7))
        icd = f"{'ABC'[i % 3]}{i % 25:02d}.{i % 2}"
        lines.append(
            f"P{i % 150},Ada {i % 90},{day},{out},{'FM'[i % 2]},{lab},{i % 60 if i % 40 else 999},{(i % 3) / 2},{icd}"
        )
    (tmp_path / "v.csv").write_text("\n".join(lines) + "\n")
    found = CliRunner().invoke(app, ["schema", "propose", "v.csv"])
    assert found.exit_code == 0, found.output
    return tmp_path / "v.toml"


def test_the_draft_sees_names_sentinels_codes_and_orders(draft):
    schema = Schema.load(draft)
    assert isinstance(schema["name"], Drop)
    assert "Ada" not in draft.read_text()
    assert isinstance(schema["patient_id"], Drop)
    lab, score, dose = schema["lab"], schema["score"], schema["dose"]
    assert isinstance(lab, Real)
    assert lab.special == ("N", 9999)
    assert lab.upper < 200
    assert isinstance(score, Integer)
    assert (score.special, score.upper) == ((999,), 60)
    assert isinstance(dose, Real)
    assert dose.values == (0.0, 0.5, 1.0)
    assert [rule.rule for rule in schema.constraints if rule.guess] == ["admission <= discharge", "icd determines sex"]
    assert isinstance(schema["icd"], Category)


def test_check_says_each_thing_once(draft):
    told = CliRunner().invoke(app, ["schema", "check", str(draft)])
    assert told.exit_code != 0
    plain = re.sub(r"\s+", " ", told.output)
    assert plain.count("not private end to end") == 1
    assert plain.count("confirmed by nobody") == 1
    assert plain.count("admission <= discharge") == 1


def test_a_conversation_confirms_changes_and_remembers_who(draft):
    columns = [c.name for c in Schema.load(draft) if c.derived]
    answers = ["Dr Ito"]
    for name in columns:
        if name == "sex":
            answers += ["c", "F, M, X", "the admission form"]
        elif name == "lab":
            answers += ["c", "-", "0", "500", "", "", "N, 9999", "the laboratory's manual"]
        elif name == "icd":
            answers += ["o"]
        elif name == "dose":
            answers += ["nonsense", "d", "not needed"]
        else:
            answers += ["y", "general knowledge"]
    answers += ["y", "the calendar", "n", "many", "3", "30", "the house rules"]
    told = CliRunner().invoke(app, ["schema", "edit", str(draft)], input="\n".join(answers) + "\n")
    assert told.exit_code == 0, told.output
    schema = Schema.load(draft)
    assert not schema.derived_facts()
    sex, lab = schema["sex"], schema["lab"]
    assert isinstance(sex, Category)
    assert sex.categories == ("F", "M", "X")
    assert isinstance(lab, Real)
    assert (lab.lower, lab.upper, lab.special) == (0, 500, ("N", 9999))
    assert lab.confirmed is not None
    assert lab.confirmed.startswith("Dr Ito, 20")
    assert lab.confirmed.endswith("from the laboratory's manual")
    assert isinstance(schema["dose"], Drop)
    assert [str(fact) for fact in schema.open_facts()] == ["icd.categories"]
    (rule,) = schema.constraints
    assert not rule.guess
    assert rule.confirmed is not None
    assert "the calendar" in rule.confirmed
    assert "unit: max_rows = 'many' is not allowed" in " ".join(told.output.split())
    assert (schema.unit.column, schema.unit.max_rows) == ("patient_id", 3)
    days = schema["admission_to_discharge"]
    assert isinstance(days, Integer)
    assert (days.formula, days.replaces, days.upper) == ("discharge - admission", "discharge", 30)
    assert days.confirmed is not None
    assert days.confirmed.endswith("from the house rules")
    assert schema.replaced == {"admission_to_discharge": "discharge"}
    again = CliRunner().invoke(app, ["schema", "edit", str(draft)])
    assert "nothing is left to confirm" in " ".join(again.output.split())


def test_stopping_keeps_every_answer(draft):
    before = len(Schema.load(draft).derived_facts())
    told = CliRunner().invoke(app, ["schema", "edit", str(draft), "--who", "A"], input="d\nan id\nq\n")
    assert told.exit_code == 0, told.output
    assert len(Schema.load(draft).derived_facts()) == before - 1


def test_contradictions_and_broken_rows_are_told(tmp_path):
    path = tmp_path / "s.toml"
    schema = Schema([Integer("a", lower=0, upper=9), Integer("b", lower=0, upper=9)], constraints=["a < b", "b < a"])
    schema.save(path)
    told = CliRunner().invoke(app, ["schema", "check", str(path)])
    assert told.exit_code != 0
    assert "no row can obey them together" in str(told.exception)
    schema.with_constraints("a < b").save(path)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,1\n4,4\n")
    told = CliRunner().invoke(app, ["schema", "check", str(path), "--data", str(tmp_path / "t.csv")])
    assert told.exit_code == 0, told.output
    assert "INTERNAL" in told.output
    assert "2 of 3 rows break a < b" in told.output


def test_an_age_takes_the_place_of_a_birth_date(tmp_path):
    path = tmp_path / "s.toml"
    bounds = {"lower": "1920-01-01", "upper": "2022-12-31"}
    columns = [Date("birth", **bounds), Date("seen", **bounds), Integer("age", lower=0, upper=110, derived=("upper",))]
    Schema(columns, constraints=[Constraint("birth <= seen", guess=True)]).save(path)
    conversed(path, "y", "1", "y", "1", "n")
    assert "birth" in Schema.load(path).domain
    Schema(columns, constraints=[Constraint("birth <= seen", guess=True)]).save(path)
    told = conversed(path, "y", "1", "y", "1", "y", "4")
    assert "full years from birth to seen" in told
    age = Schema.load(path)["age"]
    assert (age.formula, age.replaces, age.in_table) == ("years(birth, seen)", "birth", True)
    assert "the law" in age.confirmed


def test_an_age_that_takes_the_place_of_a_birth_date_keeps_what_was_declared_of_it() -> None:
    bounds = {"lower": "1920-01-01", "upper": "2022-12-31"}
    age = Integer("age", lower=0, upper=110, dtype="int8", values=(*range(100), 105, 110), out_of_domain="clip")
    schema = Schema([Date("birth", **bounds), Date("seen", **bounds), age], constraints=["birth <= seen"])
    offer = next(one for one in offers(schema) if one.age == "age")
    taken = offer.taken(schema, "the law")["age"]
    assert taken == replace(age, formula="years(birth, seen)", replaces="birth", in_table=True, confirmed="the law")


def test_who_leaves_a_column_open_does_not_vouch_for_its_special_values(tmp_path):
    path = tmp_path / "s.toml"
    Schema([Real("x", lower=0.0, upper=9.0, decimals=1, special=("N",), derived=("lower", "upper", "special"))]).save(
        path
    )
    conversed(path, "o")
    x = Schema.load(path)["x"]
    assert (x.open_fields, x.decimals, x.special, x.derived) == (("lower", "upper"), 1, ("N",), ("special",))
    conversed(path, "y", "1")
    assert Schema.load(path)["x"].derived == ()


def test_columns_in_words():
    redrawn = Category("x", categories=("a", "b"))
    assert redrawn.described() == "It is one of: a, b."
    assert Category("x", categories=("A10", "A11", "B20"), levels=(1, 2)).described() == (
        "It is one of: A10, A11, B20, grouped by their first 1 and 2 characters."
    )
    assert Integer("x", lower=0, upper=9, special=(99,), missing=True).described() == (
        "It is a whole number from 0 to 9, in 10 steps; 99 stand for something else; values may be missing."
    )
    assert Real("x", values=(1.5, 2)).described() == "It is one of the numbers 1.5, 2."


def conversed(path, *answers: str) -> str:
    told = CliRunner().invoke(app, ["schema", "edit", str(path), "--who", "A"], input="\n".join(answers) + "\n")
    assert told.exit_code in (0, 130), told.output
    return " ".join(told.output.split())


NUMBER = Schema([Real("x", lower=0.0, upper=9.0, derived=("lower", "upper"))])


def test_single_values_scales_and_bins_can_be_said(tmp_path):
    path = tmp_path / "s.toml"
    NUMBER.save(path)
    conversed(path, "c", "1.5, 2, 4", "-", "the law")
    assert Schema.load(path)["x"].values == (1.5, 2.0, 4.0)
    NUMBER.save(path)
    # a logarithmic scale needs bounds above 0: that is told, nothing is saved, and the column is asked about again
    told = conversed(path, "c", "-", "0", "900", "12", "log", "-", "c", "-", "0.5", "900", "12", "log", "-", "2")
    assert "Not saved" in told
    x = Schema.load(path)["x"]
    assert (x.lower, x.upper, x.bins, x.scale, x.derived) == (0.5, 900.0, 12, "log", ())
    assert x.confirmed.endswith("from a code list or standard")
    assert x.described() == "It is a number from 0.5 to 900.0, in 12 steps that grow with the numbers."


def test_another_kind_can_be_said(tmp_path):
    path = tmp_path / "s.toml"
    NUMBER.save(path)
    told = conversed(path, "k", "colour", "k", "category", "low, high", "1")
    assert "is no kind of column" in told
    assert Schema.load(path)["x"].categories == ("low", "high")


def test_a_column_that_a_rule_needs_is_not_dropped_and_nothing_is_lost(tmp_path):
    path = tmp_path / "s.toml"
    other = Integer("y", lower=0, upper=9, derived=("upper",))
    Schema([*NUMBER.columns, other], constraints=["x <= y"], weight="x").save(path)
    told = conversed(path, "i", "y", "1")  # then the input ends, as with Ctrl-D
    assert "Not saved" in told
    assert "Stopped" in told
    schema = Schema.load(path)
    assert schema["x"].derived == ()
    assert schema["y"].derived == ("upper",)


OWN = """# our own remark
version = 1

[columns.x]  # the ward's scale
kind = "real"
lower = 0  # by the manual, page 3
upper = 10  # derived from data: replace by public knowledge and remove from `derived`
bins = 10
# asked of Dr Ito twice
derived = ["upper"]

[columns.z]
kind = "integer"
lower = 0
upper = 9  # never more

# about both
[[constraint]]
rule = "x <= z"  # seen on the form
guess = true

[[constraint]]
rule = "z <= x"
guess = true
"""


def test_comments_of_a_persons_own_stay(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(OWN)
    told = conversed(path, "y", "1", "y", "1", "n")
    assert "written anew" not in told
    kept = path.read_text()
    for remark in ("our own remark", "the ward's scale", "by the manual, page 3", "asked of Dr Ito", "never more"):
        assert remark in kept
    assert "# about both" in kept
    assert "# seen on the form" in kept
    assert "derived from data" not in kept
    schema = Schema.load(path)
    assert not schema.derived_facts()
    assert [(rule.rule, rule.guess) for rule in schema.constraints] == [("x <= z", False)]


def test_a_file_that_cannot_be_changed_in_place_is_kept_in_a_copy(tmp_path, monkeypatch):
    monkeypatch.setattr("kagemusha.editing.keeping.merged", lambda text, schema: None)
    path = tmp_path / "s.toml"
    path.write_text("# our own remark\n" + NUMBER.dumps())
    assert "written anew" in conversed(path, "y", "1")
    assert "our own remark" in (tmp_path / "s.toml.before-edit").read_text()
    NUMBER.save(path)
    assert "written anew" not in conversed(path, "y", "1")


def test_the_conversation_is_in_the_readers_language(draft):
    """Asked for, or that of the terminal; answers may be given by key or by word, and names stay as they are."""
    asked = CliRunner().invoke(app, ["--language", "ja", "schema", "edit", str(draft)], input="伊藤\n中断\n")
    assert asked.exit_code == 0, asked.output
    assert "これで正しいですか" in asked.output
    assert "データから読み取ったもの" in asked.output
    # why a column was left out is in the file, in its own words
    spoken = re.sub(r"\[[^\]]*\]|\S*v\.toml|kagemusha schema check|含めません:[^。]*。", " ", asked.output)
    assert not re.search(r"[A-Za-z]{3,} [a-z]{2,} [a-z]{2,}", spoken), "an English sentence was left"
    terminal = CliRunner().invoke(app, ["schema", "edit", str(draft)], input="伊藤\nq\n", env={"LANG": "ja_JP.UTF-8"})
    assert "これで正しいですか" in terminal.output
    english = CliRunner().invoke(app, ["schema", "edit", str(draft)], input="Ito\nq\n", env={"LANG": "de_DE.UTF-8"})
    assert "Is it so" in english.output
    refused = CliRunner().invoke(app, ["--language", "xx", "schema", "check", str(draft)])
    assert "--language must be one of en, ja" in str(refused.exception)
