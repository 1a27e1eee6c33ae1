"""The site: Markdown pages that read the same on GitHub, built offline by `sphinx-build -n -W docs OUT`.

Two things are made here so that no page has to hold what GitHub would show as code: a page that is called `index.md`
has the pages that it links to below it in the navigation, and links that lead out of docs/ lead to the repository.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT / "src"), str(DOCS / "_extensions")]

from generated import PARTS  # noqa: E402

from kagemusha.version import __version__ as release  # noqa: E402

project = "Kagemusha"
author = "The Kagemusha maintainers"
copyright = "The Kagemusha maintainers, Apache-2.0"
language = "en"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "_extensions", "images/*.sh"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "html_image"]
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages; links between pages are not python names
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"Kagemusha {release}"
smartquotes = False  # two dashes stay two dashes
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

REPOSITORY = "https://github.com/kagemusha-project/kagemusha"
LINK = re.compile(r"(?<=\]\()(?P<target>[^)#\s:]+)(?=[)#])")


def outside(page: Path, target: str) -> str:
    """The link's address in the repository if it leads out of docs/, else the link as it is."""
    path = (page.parent / target).resolve()
    if path.is_relative_to(DOCS) and (path.suffix in {".md", ".png", ".svg", ".json"}):
        return target
    kind = "tree" if path.is_dir() else "blob"
    return f"{REPOSITORY}/{kind}/main/{path.relative_to(ROOT)}"


def below(page: Path, text: str) -> str:
    """A hidden table of contents of the pages that an index lists, in the order in which it names them."""
    listed = "\n".join(line for line in text.splitlines() if line.startswith(("- ", "| [")))
    found = [t.removesuffix(".md") for t in LINK.findall(listed) if t.endswith(".md") and not t.startswith("../../")]
    pages = [t for t in dict.fromkeys(found) if (page.parent / f"{t}.md").resolve().is_relative_to(DOCS)]
    return "\n".join(["", "", "```{toctree}", ":hidden:", "", *pages, "```", ""])


def read(app: Any, name: str, source: list[str]) -> None:
    """Between the file and the parser."""
    page = DOCS / f"{name}.md"
    text = source[0]
    contents = below(page, text) if page.name in ("index.md", "README.md") else ""
    for mark, made in PARTS.items():
        text = text.replace(mark, made()) if mark in text else text
    if "/ja/" in name:
        text = re.sub(r"(?<=[。、])\n(?=\S)", "", text)  # a line's end is no blank in Japanese
    source[0] = LINK.sub(lambda found: outside(page, found["target"]), text) + contents


def speak(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Pages in Japanese say so to browsers and screen readers."""
    if "/ja/" in name:
        context["language"] = "ja"


def reach(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Code and tables that are wider than the page can be scrolled with the keyboard."""
    if "body" in context:
        context["body"] = re.sub(r'<pre(?=>)|<div(?= class="table-wrapper)', r'\g<0> tabindex="0"', context["body"])


def setup(app: Any) -> None:
    """What Sphinx calls."""
    app.connect("source-read", read)
    app.connect("html-page-context", speak)
    app.connect("html-page-context", reach, priority=900)  # after the theme has put tables into their boxes
