"""Everything that tutorials show is run, and prints what they show."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_code import agrees, run_page, steps

from servers import PASSWORD, USER

DOCS = Path(__file__).parents[2] / "docs"


def test_what_a_page_shows_must_have_been_printed() -> None:
    assert agrees("ε = 1 …\n", "ε = 1, and a\nlong table\n")
    assert agrees("a\n   b\n", "a b")
    assert not agrees("ε = 2 …\n", "ε = 1, and a\nlong table\n")
    assert not agrees("a\n", "a b")


def test_a_page_is_run_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (
        "```toml\n# a.toml\nx = 1\n```\n\n"
        "```python\nfrom pathlib import Path\n\nprint(Path('a.toml').read_text())\n```\n"
        "\n```text\n…x = 1\n```\n"
    )
    page += "\n```sh\ncat a.toml | wc -l   # two lines\nfalse  # exits with 1\n```\n\n```text\n2\n```\n"
    assert len(list(steps(page))) == run_page(page) == 3
    for wrong in (
        page.replace("…x = 1", "…x = 2"),
        page.replace("exits with 1", "fails"),
        page + "```sh\nfalse\n```\n",
    ):
        with pytest.raises(AssertionError):
            run_page(wrong)


TRANSLATED = [p for p in sorted((DOCS / "tutorials" / "ja").glob("*.md")) if p.stem != "index"]


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: page.stem)
def test_a_translated_tutorial_has_the_steps_of_the_other(page: Path) -> None:
    """So it does what it shows, too."""
    english, japanese = (p.read_text(encoding="utf-8") for p in (page.parents[1] / page.name, page))
    assert list(steps(japanese)) == list(steps(english))
    assert japanese.count("\n## ") == english.count("\n## ")
    assert f"](../{page.name})" in japanese


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in sorted((DOCS / "tutorials").glob("*.md")) if p.stem != "index"], ids=lambda page: page.stem
)
def test_a_tutorial_does_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    text = page.read_text(encoding="utf-8")
    if "postgresql:///" in text:  # the server that the reader has
        server = request.getfixturevalue("postgres")
        given = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": USER, "PGPASSWORD": PASSWORD}
        for name, value in given.items():
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KAGEMUSHA_LEDGER", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert run_page(text) > 3
