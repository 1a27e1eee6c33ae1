"""The report: self-contained, INTERNAL, readable aloud, never beside the release by default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kagemusha.errors import UsageError
from kagemusha.evaluation.evaluate import Evaluation, evaluate
from kagemusha.evaluation.report import render, write_report
from kagemusha.privacy.budget import Budget
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Schema
from kagemusha.synthesizers import create, fit

from .tables import make_table


@pytest.fixture(scope="module")
def evaluation(real: CodedTable, schema: Schema) -> Evaluation:
    model = fit(create("aim", rounds=8), make_table(1500, 1), Budget(3.0, 1e-9), schema=schema, simulation=1)
    doubles = model.sample(1000)
    return evaluate(
        make_table(1500, 1), doubles, schema, model=model, targets=["ward"], models=["tree"], queries=["age > 60"]
    )


@pytest.fixture(scope="module")
def page(evaluation: Evaluation) -> str:
    return render(evaluation, title="doubles.csv")


def test_everything_is_inside(page: str) -> None:
    assert not re.search(r"<(script|link|iframe|img)\b", page)
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert "url(" not in page
    assert "@import" not in page


def test_it_says_internal_on_screen_and_on_paper(page: str) -> None:
    assert "<title>INTERNAL" in page
    assert 'class="internal"' in page
    assert "position: sticky" in page
    assert "table-header-group" in page
    rules = re.findall(r"\.internal\b[^{}]*\{([^}]*)\}", page)
    assert rules
    assert not re.search(r"none|hidden|opacity|transparent", " ".join(rules)), "nobody may overlook it"


def test_every_drawing_has_words(page: str) -> None:
    drawings = re.findall(r"<svg[^>]*>", page)
    assert len(drawings) >= 9
    for drawing in drawings:
        label = re.search(r'aria-label="([^"]+)"', drawing)
        assert "aria-hidden" in drawing or (label and len(label[1]) > 30), drawing


def test_every_part_is_there(page: str) -> None:
    for part in ("In words", "Columns", "Pairs of columns", "Learning ward", "Gaps", "Queries", "Correlation"):
        assert part in page
    for part in (
        "Mutual information, real",
        "Budget over the rounds",
        "What was chosen",
        "Discriminator",
        "age &gt; 60",
    ):
        assert part in page
    for anchor in re.findall(r'href="#(\w+)"', page):
        assert page.count(f'id="{anchor}"') == 1
    assert page.index("In words") < page.index('id="columns"')
    assert not re.search(r"\bnan\b", re.sub(r"<style>.*?</style>", "", page, flags=re.S), re.I)


def test_the_same_evaluation_gives_the_same_page(evaluation: Evaluation, page: str) -> None:
    assert render(evaluation, title="doubles.csv") == page


def test_names_cannot_become_markup(schema: Schema) -> None:
    from kagemusha.schema import Category

    odd = Schema([Category("<b>x</b>", categories=("<script>alert(1)</script>", '"&')), *schema.columns[:1]])
    frame = make_table(50, 1)[["sex"]].assign(**{"<b>x</b>": ["<script>alert(1)</script>", '"&'] * 25})
    found = render(evaluate(frame, frame, odd, learning=False), title="<i>")
    assert "<script" not in found
    assert "<b>x" not in found
    assert "<i>" not in found


def test_it_is_not_written_beside_a_release(evaluation: Evaluation, tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text("{}")
    with pytest.raises(UsageError, match="holds a release"):
        write_report(evaluation, tmp_path / "report.html")
    write_report(evaluation, tmp_path / "report.html", beside_release=True)
    assert (tmp_path / "report.html").stat().st_size < 400_000
