"""Every page we write forbids scripts and whatever comes from elsewhere."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

PAGES = sorted(Path(str(files("kagemusha"))).glob("*/templates/*.html"))
POLICY = re.compile(r'<head>\s*<meta charset="utf-8">\s*<meta http-equiv="Content-Security-Policy" content="([^"]+)">')


def test_there_are_pages() -> None:
    assert {"certificate.html", "quality.html", "report.html", "attack.html", "compare.html"} <= {p.name for p in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_forbids_scripts_and_strangers(page: Path) -> None:
    """The policy comes first, so that nothing before it escapes it; pages are one file, styles are inside."""
    text = page.read_text(encoding="utf-8")
    found = POLICY.search(text)
    assert found is not None
    rules = dict(rule.strip().split(" ", 1) for rule in found[1].split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules.keys() == {"default-src", "style-src", "img-src", "base-uri", "form-action"}
    assert rules["img-src"] == "data:"
    assert "<script" not in text
    assert not re.search(r"\son[a-z]+=", text)
