"""Stamps, the sentence on code, and every committed page: none is older than its code without saying so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kagemusha.reproduce import p3gm, pages, stamps
from kagemusha.reproduce.claims import exact, from_json, untried
from kagemusha.reproduce.p3gm_runs import Result
from kagemusha.reproduce.pages import BEGIN, CLAIMS, END, PAGE, PAPERS, STAMP, code_sentence, refresh, write_page
from kagemusha.reproduce.repeats import REPEATS, Repeat, read_repeats, spread_out

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
FOLDERS = [paper.folder for paper in PAPERS]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_committed_page_is_older_than_its_code_without_saying_so(folder: str) -> None:
    """If this fails: `kagemusha reproduce pages --readme README.md`, and commit what it renews."""
    page = (RESULTS / folder / PAGE).read_text(encoding="utf-8")
    assert page == pages.refreshed(RESULTS / folder)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_committed_page_has_every_picture_and_verdict_it_speaks_of(folder: str) -> None:
    page = (RESULTS / folder / PAGE).read_text(encoding="utf-8")
    links = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)
    assert links
    assert all((RESULTS / folder / name).exists() for name in links)
    claims = from_json((RESULTS / folder / CLAIMS).read_text(encoding="utf-8"))
    rows = re.findall(r"\| \**(holds|does not hold|cannot tell)\** \|\n", page.split("\n## ")[1] + "\n")
    assert len(rows) == sum(not claim.ours for claim in claims)
    assert rows == [claim.verdict for claim in claims if not claim.ours]


def test_the_readme_has_todays_table() -> None:
    """If this fails: `kagemusha reproduce pages --readme README.md`."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == pages.with_papers(readme, RESULTS)


def test_a_page_says_what_is_older() -> None:
    now = {"a": "1", "b": "2"}
    assert "today's code" in code_sentence({"a": ["1"], "b": ["2"]}, now, {})
    assert "Older than its code: b" in code_sentence({"a": ["1"], "b": ["2", "1"]}, now, {})
    assert "everything" in code_sentence({"a": ["0"], "b": [""]}, now, {})
    assert "Older than its code: c" in code_sentence({"a": ["1"], "c": ["9"]}, now, {})


def test_repeated_runs_count_only_if_all_are_the_same_and_for_the_code_that_was_tried() -> None:
    now, stamp = {"a": "1", "b": "2"}, {"a": ["1"], "b": ["0"]}
    assert "Older" not in code_sentence(stamp, now, {"b": Repeat("2", ["0"], 3, 3)})
    assert "b 3" in code_sentence(stamp, now, {"b": Repeat("2", ["0"], 3, 3)})
    for repeat in (
        Repeat("2", ["0"], 3, 2),
        Repeat("3", ["0"], 3, 3),
        Repeat("2", ["7"], 3, 3),
        Repeat("2", ["0"], 0, 0),
    ):
        assert "Older than its code: b" in code_sentence(stamp, now, {"b": repeat}), repeat


def test_older_runs_are_made_again_and_a_changed_figure_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "p3gm"
    out.mkdir()
    runs = [Result("made", "real", 0, seed, {"accuracy": seed / 10}, 0.0, code="old") for seed in range(5)]
    p3gm.write_runs(runs, out)
    (out / STAMP).write_text(json.dumps({"real": ["old"], "figure 5": ["old"]}))
    monkeypatch.setattr(p3gm, "load", lambda *_, **__: None)
    monkeypatch.setattr(p3gm, "run_one", lambda data, method, seed, *_: replace(runs[seed], seconds=9.0))
    assert pages.repeat(out)["real"] == Repeat(p3gm.codes()["real"], ["old"], 3, 3)
    assert "figure 5" not in read_repeats(out)
    (out / REPEATS).unlink()
    monkeypatch.setattr(p3gm, "run_one", lambda data, method, seed, *_: replace(runs[seed], scores={"accuracy": 0.4}))
    assert pages.repeat(out)["real"].same == 1


def test_runs_are_spread_from_the_first_to_the_last() -> None:
    assert spread_out(list(range(10)), 3) == [0, 4, 9]
    assert spread_out([1, 2], 3) == [1, 2]
    assert spread_out([1, 2], 1) == [1]


def test_pages_are_renewed_without_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "codes_of", lambda folder: {"runs": "1"})
    out = tmp_path / "aim"
    out.mkdir()
    claims = [exact("Table 1", "it is so", "yes", True), untried("Table 2", "and so", "not run")]
    write_page(out, "aim", claims, {"runs": ["1", "1"]}, "About.", ["## More"])
    assert "1 holds, 0 does not hold, 1 cannot tell, of 2" in (out / PAGE).read_text()
    assert json.loads((out / STAMP).read_text()) == {"runs": ["1"]}
    readme = tmp_path / "README.md"
    readme.write_text("before <!-- papers --><!-- /papers --> after")
    assert refresh(tmp_path, readme) == [readme]
    assert "| 1 | 0 | 1 | today's |" in readme.read_text()
    assert refresh(tmp_path, readme) == []
    monkeypatch.setattr(pages, "codes_of", lambda folder: {"runs": "2"})
    assert refresh(tmp_path, readme) == [out / PAGE, readme]
    text = (out / PAGE).read_text()
    assert "Older than its code" in text[text.index(BEGIN) : text.index(END)]
    assert "in part older" in readme.read_text()


RUN = """
from kagemusha.synthesizers.other import f as g, Thing

MOST = 3

def run(x: int) -> int:
    progress("running", 0.5)
    if x > MOST:
        raise ValueError(f"x is {x}")
    return g(Thing(x).value()) + len("kept")
"""

OTHER = """
LEAST = 1

def f(x):
    return x + LEAST

class Thing:
    size: int = 4

    def __post_init__(self):
        self.size = 5

    def value(self):
        return self.size

    def shown(self):
        return "shown"

def page():
    return "words"
"""

NOTICED = (
    ("run", "x > MOST", "x >= MOST"),
    ("run", "MOST = 3", "MOST = 4"),
    ("run", '"kept"', '"keeps"'),
    ("run", "0.5)", "g(0.5))"),
    ("other", "x + LEAST", "x - LEAST"),
    ("other", "LEAST = 1", "LEAST = 2"),
    ("other", "size: int = 4", "size: int = 3"),
    ("other", "self.size = 5", "self.size = 6"),
    ("other", "return self.size", "return -self.size"),
    ("other", "LEAST = 1", "LEAST = 1\nfor _ in range(2): LEAST += 1"),
)

NOT_NOTICED = (
    ("run", "def run(x: int) -> int:", "def run(x: float) -> float:\n    'Words.'  # why"),
    ("run", '"running"', 'f"still running"'),
    ("run", 'f"x is {x}"', '"x is too large"'),
    ("other", '"words"', '"other words"'),
    ("other", 'return "shown"', "return self.size"),
    ("other", "def page():", "def more():\n    return 1\n\ndef page():"),
)


@pytest.fixture
def digest_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """The digest of the run above with one thing changed."""
    (tmp_path / "synthesizers").mkdir()
    monkeypatch.setattr(stamps, "_TOP", tmp_path)
    cached = (stamps._digest, stamps._tree, stamps._imports_of, stamps._definitions)

    def digest(where: str = "", before: str = "", after: str = "") -> str:
        for name, text in (("run", RUN), ("other", OTHER)):
            assert name != where or before in text
            changed = text.replace(before, after) if name == where else text
            (tmp_path / "synthesizers" / f"{name}.py").write_text(changed)
        for one in cached:
            one.cache_clear()
        return stamps.code_of("kagemusha.synthesizers.run:run")

    yield digest
    for one in cached:
        one.cache_clear()


@pytest.mark.parametrize("change", NOTICED)
def test_a_digest_is_of_what_a_run_executes(change: tuple[str, str, str], digest_with: Callable[..., str]) -> None:
    assert digest_with(*change) != digest_with()


@pytest.mark.parametrize("change", NOT_NOTICED)
def test_a_digest_is_not_of_words_nor_of_pages(change: tuple[str, str, str], digest_with: Callable[..., str]) -> None:
    assert digest_with(*change) == digest_with()


def test_the_code_of_a_page_is_not_the_code_of_its_runs() -> None:
    """A change of wording on a page makes no run older; a change of what a run computes does."""
    found = {(one.module, one.name) for one in stamps.reached(["kagemusha.reproduce.p3gm_runs:run_one"])}
    assert ("kagemusha.reproduce.p3gm_scores", "table_scores") in found
    assert ("kagemusha.reproduce.p3gm_options", "TAKEN") in found
    assert ("kagemusha.reproduce.p3gm_runs", "BUDGET") in found
    assert not [module for module, _ in found if module.endswith(("_page", "_claims", "_figures", ".pages"))]
    assert not {("kagemusha.reproduce.p3gm_runs", name) for name in ("TUNED", "COMMITTED", "path_of")} & found


def test_what_a_result_depends_on_is_found() -> None:
    found = stamps.behind(["kagemusha.annotation.loop"], without=["kagemusha.synthesizers.kage"])
    assert "kagemusha.graphical.kernels" in found
    assert "kagemusha.annotation.votes" in found
    assert not [name for name in found if name.startswith("kagemusha.synthesizers.kage")]
    assert not [name for name in found if name.startswith(("kagemusha.ledger", "kagemusha.cli"))]
