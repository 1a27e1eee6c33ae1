"""The certificate's page in Japanese: complete, with the same numbers, made again by `verify`."""

from __future__ import annotations

import re
import string
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kagemusha as kg
from command import Run
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.page import _NOISE_WORDS, _WORDS, render
from kagemusha.certificate.translated import EVERY_KIND, RATE, UNITS, translated
from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.words.catalogue import LANGUAGES, catalogue

OTHERS = [language for language in LANGUAGES if language != "en"]
SAID = {*EVERY_KIND, *UNITS.values(), RATE, *_NOISE_WORDS.values(), *_WORDS.values()}


def fields(text: str) -> list[tuple[str, str | None, str | None]]:
    return sorted((name, spec, how) for _, name, spec, how in string.Formatter().parse(text) if name is not None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"患者": rng.integers(0, 200, 400), "性別": rng.choice(["女", "男"], 400)})
    schema = kg.Schema([kg.Category("性別", categories=("女", "男")), kg.Surrogate("患者")])
    kg.publish(kg.fit("kage", table, 1.0, schema=schema, ledger=where / "l.db", dataset="患者票"), where / "out")
    return where / "out"


def certificate(folder: Path) -> Certificate:
    return Certificate.from_json((folder / "certificate.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_has_a_translation_with_the_same_placeholders(language: str) -> None:
    found = catalogue(language, "certificate").sentences
    assert set(found) == SAID
    for sentence, other in found.items():
        assert fields(sentence) == fields(other), sentence


@pytest.mark.parametrize("relation", Adjacency)
@pytest.mark.parametrize("rows", [1, 3, 1200])
def test_the_unit_is_said_as_the_program_says_it(relation: Adjacency, rows: int) -> None:
    unit = PrivacyUnit(relation, rows)
    assert UNITS[relation, rows > 1].format(rows=rows) == unit.in_words


def test_every_kind_of_certificate_can_be_said(folder: Path) -> None:
    one = certificate(folder)
    person = replace(one, promised=replace(one.promised, rows=3), unit_column="患者")
    known = replace(person, unit_column=None)
    foreign = replace(one, package="theirs 1.0")
    tables = replace(one, parameters={"tables": {"患者": 1, "受診": 840}})
    for kind in (one, person, known, foreign, tables, replace(one, simulated=True)):
        page = translated(kind.with_assumptions(["a word of the publisher's own"]), "ja")
        assert "a word of the publisher&#39;s own" in page
        rest = page.split("</h2>\n<ul>")[1].split("</ul>")[0]
        assert not re.search(r"[A-Za-z]{3,} [a-z]{2,} [a-z]{2,}", rest), "an English sentence was left"


def test_both_templates_decide_by_the_same_conditions() -> None:
    """What is said of a kind of release on one page is said on the other."""
    folder = files("kagemusha.certificate").joinpath("templates")
    english, japanese = (
        set(re.findall(r"{% (?:if|elif|for) (.*?) %}", folder.joinpath(name).read_text(encoding="utf-8")))
        for name in ("certificate.html", "certificate.ja.html")
    )
    assert english - japanese <= {
        "assumption in certificate.assumptions if assumption in certificate.required_assumptions"
    }
    assert japanese - english <= {"assumption in rests_on"}


def test_both_pages_show_the_same_numbers(folder: Path) -> None:
    one = certificate(folder)
    pages = [
        re.sub(r"<style>.*?</style>|0\.2\.0", "", text, flags=re.S) for text in (render(one), translated(one, "ja"))
    ]
    english, japanese = (set(re.findall(r"<td class=\"number\">(.*?)</td>", page)) for page in pages)
    assert english == japanese
    assert len(english) > 10
    assert translated(one, "en") == render(one)
    assert 'lang="ja"' in pages[1]
    assert "患者票" in pages[1]


def test_verify_makes_the_page_and_knows_it_again(run: Run, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "certificate.ja.html"
    ask = ("verify", folder, "--language", "ja", "--page", page)
    assert "was made from what was verified" in run(*ask).stdout
    assert page.read_text(encoding="utf-8") == translated(certificate(folder), "ja")
    assert "says what the release says" in run(*ask).stdout
    page.write_text(page.read_text(encoding="utf-8").replace("ε = 1", "ε = 0.1"), encoding="utf-8")
    assert "is not the page of this release" in run(*ask, code=8).stdout


def test_the_quality_page_is_made_again_in_each_language(run: Run, folder: Path, tmp_path: Path) -> None:
    """In English it is that of the release, to the byte, so whoever verifies can compare; in Japanese all is said."""
    assert "says what" in run("verify", folder, "--quality-page", folder / "quality.html").stdout
    page = tmp_path / "quality.ja.html"
    ask = ("verify", folder, "--language", "ja", "--quality-page", page)
    assert "was made from what was verified" in run(*ask).stdout
    english, japanese = (path.read_text(encoding="utf-8") for path in (folder / "quality.html", page))
    assert '<html lang="ja">' in japanese
    numbers = [re.findall(r"<td class=\"number\"[^>]*>([\d.]+)</td>", text) for text in (english, japanese)]
    assert numbers[0] == numbers[1]
    assert len(numbers[0]) == 2
    seen = re.sub(r"<style>.*?</style>|<[^>]*>|<code>.*?</code>", " ", japanese.split("<body>")[1], flags=re.S)
    assert not re.search(r"[A-Za-z]{3,} [a-z]{2,} [a-z]{2,}", seen), "an English sentence was left"
    page.write_text(japanese.replace("100", "10"), encoding="utf-8")
    assert "is not the page of this release" in run(*ask, code=8).stdout


def test_no_page_is_made_of_what_does_not_hold(run: Run, folder: Path, tmp_path: Path) -> None:
    edited = (folder / "certificate.json").read_text(encoding="utf-8").replace('"epsilon": 1.0', '"epsilon": 0.5')
    (tmp_path / "mine.json").write_text(edited, encoding="utf-8")
    run("verify", tmp_path / "mine.json", "--language", "ja", "--page", tmp_path / "p.html", code=8)
    assert not (tmp_path / "p.html").exists()
    assert "outside the release folder" in run("verify", folder, "--page", folder / "p.html", code=2).stderr
    assert (
        "--language must be one of en, ja"
        in run("verify", folder, "--language", "xx", "--page", tmp_path / "p.html", code=2).stderr
    )
    with pytest.raises(UsageError, match="one of en, ja"):
        translated(certificate(folder), "xx")
