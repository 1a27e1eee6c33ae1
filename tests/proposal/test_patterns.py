"""Rules that rows suggest: what is planted is found, chance is not, and no release holds a guess."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kagemusha as kg
from hospital import PLANTED, hospital
from kagemusha.cli.app import app
from kagemusha.editing.rules import rule_question
from kagemusha.encoding import Encoder
from kagemusha.encoding.rules import holds, violations, with_worked_out
from kagemusha.evaluation.evaluate import evaluate
from kagemusha.evaluation.summary import offered
from kagemusha.proposal import propose
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.constraints import Constraint


def test_planted_rules_are_found() -> None:
    draft = propose(hospital())
    assert all(rule.guess for rule in draft.constraints)
    taken = draft.with_constraints(*(rule.rule for rule in draft.constraints))
    assert max(violations(hospital(seed=1), taken).values()) == 0  # other people who obey
    rng = np.random.default_rng(0)
    careless = hospital(seed=2).apply(rng.permutation)
    planted = violations(careless, draft.with_constraints(*PLANTED))
    assert min(planted.values()) > 0
    # whoever keeps the rules that were found keeps those that were planted
    kept = careless[~broken_rows(careless, taken)]
    assert 0 < len(kept) < len(careless)
    assert max(violations(kept, draft.with_constraints(*PLANTED)).values()) == 0


def broken_rows(frame: pd.DataFrame, schema: Schema) -> np.ndarray:
    """Which rows break any rule."""
    cells = with_worked_out(schema, Encoder(schema).read(frame))
    return ~np.all([holds(schema, rule.law, cells) for rule in schema.constraints], axis=0)


def test_chance_suggests_nothing() -> None:
    rng = np.random.default_rng(0)
    columns = {f"n{i}": rng.integers(0, 50, 3_000) for i in range(8)}
    columns |= {f"c{i}": rng.choice(list("abcd"), 3_000, p=[0.6, 0.3, 0.09, 0.01]) for i in range(8)}
    columns |= {"few": rng.integers(0, 5, 3_000), "many": rng.integers(60, 90, 3_000)}
    draft = propose(pd.DataFrame(columns))
    assert [rule.rule for rule in draft.constraints] == []


def test_an_equal_column_and_a_code_that_determines_another_are_found() -> None:
    rng = np.random.default_rng(0)
    town = rng.integers(0, 40, 4_000)
    frame = pd.DataFrame({"town": [f"T{t:02d}" for t in town], "land": [f"L{t % 7}" for t in town], "n": town % 9})
    frame["again"] = frame["n"]
    rules = {rule.rule for rule in propose(frame).constraints}
    assert "town determines land" in rules
    assert rules & {"n = again", "again = n"}


SCHEMA = Schema([Category("a", categories=["x", "y"]), Integer("n", lower=0, upper=9)])


def test_no_release_holds_a_guess(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", "y"] * 200, "n": list(range(10)) * 40})
    guessed = SCHEMA.with_constraints(Constraint("a = 'x' implies n <= 7", guess=True), "n <= 9")
    model = kg.fit("independent", frame, 1.0, schema=guessed)
    kg.publish(model, tmp_path / "release")
    assert [rule.rule for rule in model.schema.constraints] == ["n <= 9"]
    for file in ("schema.toml", "certificate.json", "certificate.html"):
        assert "n <= 7" not in (tmp_path / "release" / file).read_text()
    assert all(check.passed for check in kg.verify(tmp_path / "release"))


@pytest.mark.parametrize(
    ("rule", "question"),
    [
        ("n <= m", "Is n never more than m?"),
        ("n = m", "Is n always equal to m, in every row?"),
        ("a determines b", "Does each a have one b only?"),
        ("a = 'x' implies n <= 7", "Wherever a = 'x': is it always so that n <= 7?"),
        ("never a = 'x' and b = 'y'", "Can it never be that a = 'x' and b = 'y'?"),
        ("n between 0 and 7", "Is it always so that n between 0 and 7?"),
    ],
)
def test_questions_are_plain(rule: str, question: str) -> None:
    schema = Schema([*SCHEMA.columns, Integer("m", lower=0, upper=9), Category("b", categories=["y", "z"])])
    assert rule_question(rule, schema) == question


def test_from_draft_to_release_by_answering_questions(tmp_path: Path) -> None:
    table, draft, release = tmp_path / "visits.csv", tmp_path / "visits.toml", tmp_path / "release"
    hospital().to_csv(table, index=False)
    runner = CliRunner()
    assert runner.invoke(app, ["schema", "propose", str(table), "--out", str(draft)]).exit_code == 0
    columns = [c for c in Schema.load(draft) if c.derived]
    rules = [rule for rule in Schema.load(draft).constraints if rule.guess]
    answers = ["y\n1\n"] * len(columns) + ["y\n\n"] * len(rules) + ["2\n", "60\n\n", "\n\n\n\n"]
    told = runner.invoke(app, ["schema", "edit", str(draft), "--who", "Dr Ito"], input="".join(answers))
    said = re.sub(r"\s+", " ", told.output)
    assert "Is visit_date never later than discharge_date?" in said
    assert "nothing is left to confirm" in said, said[-2000:]
    words = ["synth", str(table), "--schema", str(draft), "--out", str(release), "--rows", "20000", "--epsilon", "3"]
    done = runner.invoke(app, words)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "Promise kept" in done.output
    broken = violations(pd.read_csv(release / "synthetic.csv"), Schema.load(draft).with_constraints(*PLANTED))
    assert broken == dict.fromkeys(PLANTED, 0)


def test_rules_that_doubles_break_are_offered_ready_to_paste() -> None:
    table = hospital()
    schema = propose(table).with_constraints()
    doubles = kg.synthesize(table, epsilon=3, schema=schema, simulation=1, allow_derived=True)
    found = evaluate(table, doubles, schema, learning=False)
    assert found.offered
    assert all(one.real == 0 < one.synthetic for one in found.offered)
    assert "visit_date <= discharge_date" in {one.rule for one in found.offered}
    pasted = schema.dumps() + "\n" + "\n".join(rule for _, rule in offered(found))
    again = Schema.loads(pasted)
    assert {one.rule for one in found.offered} == {rule.rule for rule in again.constraints}
    assert evaluate(table, doubles, again, learning=False).offered[0].rule not in {r.rule for r in again.constraints}
