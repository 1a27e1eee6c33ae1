"""The frame of every paper's page, the sentence on the code behind it, and README's table of papers.

A page's folder holds `report.md`, `claims.json` and `stamp.json`: which code made the runs behind it. When that code
changes, `kagemusha reproduce pages` writes into the page that it is older, without running anything; `kagemusha
reproduce repeat` makes a few of the runs again and writes whether they come out the same.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from kagemusha.errors import DataError
from kagemusha.files import write_whole
from kagemusha.progress import Progress, part, silent
from kagemusha.reproduce.claims import VERDICTS, Claim, claim_table, counted, from_json, to_json
from kagemusha.reproduce.repeats import LEAST, Repeat, read_repeats, write_repeats
from kagemusha.reproduce.tables import markdown_table
from kagemusha.version import __version__

PAGE, CLAIMS, STAMP = "report.md", "claims.json", "stamp.json"
BEGIN, END = "<!-- code -->", "<!-- /code -->"
PLACE = "https://github.com/kagemusha-project/kagemusha/blob/main"
PAPERS_BEGIN, PAPERS_END = "<!-- papers -->", "<!-- /papers -->"

Stamps = Mapping[str, Sequence[str]]
"""What was run → the digests of the code that ran it."""


@dataclass(frozen=True)
class Paper:
    """One of the papers."""

    folder: str
    """Under results/, and its command: `kagemusha reproduce FOLDER`."""
    title: str
    about: str
    """In a few words, for README."""
    module: str
    """Where `codes()` gives today's digests of what it runs."""


PAPERS = (
    Paper("aim", "An evaluation of AIM and Private-PGM", "AIM, its variants, PrivBayes", "aim"),
    Paper("mia", "Membership inference against synthetic tables", "the membership game", "mia"),
    Paper("gaussian-rdp", "The Rényi differential privacy of Gaussian generation", "draws as noise", "gaussian_rdp"),
    Paper("annotation", "Labels for private synthetic records, by AIM and BALD", "labels for doubles", "annotation"),
    Paper("p3gm", "P3GM, phased private generative models", "private deep generation", "p3gm"),
)
BY_FOLDER = {paper.folder: paper for paper in PAPERS}


def codes_of(folder: str) -> Mapping[str, str]:
    """Today's digest of the code behind each thing that a paper's page reports."""
    found: Mapping[str, str] = import_module(f"kagemusha.reproduce.{BY_FOLDER[folder].module}").codes()
    return found


def older(stamps: Stamps, now: Mapping[str, str]) -> list[str]:
    """What was not run by today's code."""
    return sorted(what for what, digests in stamps.items() if set(digests) != {now.get(what)})


def code_sentence(stamps: Stamps, now: Mapping[str, str], repeats: Mapping[str, Repeat]) -> str:
    """Whether what was run is today's code, or comes out the same with it."""
    old = older(stamps, now)
    same = [what for what in old if what in repeats and repeats[what].holds_for(stamps[what], now.get(what))]
    left = [what for what in old if what not in same]
    said = [f"Version {__version__}; the code of each run is in `{STAMP}`."]
    if same:
        counts = ", ".join(f"{what} {repeats[what].runs}" for what in same)
        said.append(f"Runs of older code that today's repeated all came out the same to the last digit: {counts}.")
    if left:
        listed = ", ".join(left) if len(left) < len(stamps) else "everything on this page"
        said.append(f"**Older than its code: {listed}.** `kagemusha reproduce` runs it again.")
    else:
        said.append("The rest is today's code." if same else "All of it is today's code.")
    return " ".join(said)


def repeat(
    folder: Path, count: int = LEAST, *, only: Sequence[str] = (), progress: Progress = silent
) -> dict[str, Repeat]:
    """Make some runs of each kind of older code again, and write beside the page how many came out the same.

    `only` names kinds, as the page does.
    """
    module = import_module(f"kagemusha.reproduce.{BY_FOLDER[folder.name].module}")
    stamps = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    now, found = codes_of(folder.name), read_repeats(folder)
    old = [what for what in older(stamps, now) if not only or what in only]
    for at, what in enumerate(old):
        if what in found and found[what].holds_for(stamps[what], now.get(what)):
            continue
        here = part(progress, at / len(old), (at + 1) / len(old))
        here(f"{folder.name}: {what}", 0.0)
        same: Sequence[bool] = module.again(folder, what, count)
        if same:
            found[what] = Repeat(now[what], stamps[what], len(same), sum(same))
            write_repeats(folder, found)
    return {what: found[what] for what in old if what in found}


def write_page(
    out: Path, folder: str, claims: Sequence[Claim], stamps: Stamps, about: str, parts: Iterable[str]
) -> str:
    """The page and its two files; the claims come first."""
    paper = BY_FOLDER[folder]
    mine, ours = [c for c in claims if not c.ours], [c for c in claims if c.ours]
    text = "\n\n".join(
        part
        for part in [
            f"# {paper.title}: the paper's results and ours",
            f"{BEGIN}{code_sentence(stamps, codes_of(folder), read_repeats(out))}{END}",
            about,
            "## What the paper claims",
            "The 95 % interval of the difference beside a claim decides it: “holds” if it lies on the claimed side, "
            "“does not hold” if it lies on the other, “cannot tell” otherwise and whenever there was one training. "
            f"n counts independent trainings. The paper: {counted(mine)}.",
            claim_table(mine),
            *([f"## What we add\n\n{counted(ours)}.", claim_table(ours)] if ours else []),
            *parts,
        ]
        if part
    )
    write_whole(out / PAGE, (text + "\n").encode())
    write_whole(out / CLAIMS, to_json(claims).encode())
    plain = {what: sorted(set(digests)) for what, digests in sorted(stamps.items())}
    write_whole(out / STAMP, (json.dumps(plain, indent=1) + "\n").encode())
    return text + "\n"


def refreshed(folder: Path) -> str:
    """A page with the sentence on its code as it must read today."""
    stamps = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    page = (folder / PAGE).read_text(encoding="utf-8")
    return _between(page, BEGIN, END, code_sentence(stamps, codes_of(folder.name), read_repeats(folder)), folder / PAGE)


def papers_table(results: Path) -> str:
    """README's table: what the claims of each paper came to."""
    rows = []
    for paper in PAPERS:
        path = results / paper.folder / CLAIMS
        if not path.exists():
            continue
        words = Counter(c.verdict for c in from_json(path.read_text(encoding="utf-8")) if not c.ours)
        stamps = json.loads((path.parent / STAMP).read_text(encoding="utf-8"))
        said = code_sentence(stamps, codes_of(paper.folder), read_repeats(path.parent))
        current = "in part older" if "Older than" in said else "repeated" if "repeated" in said else "today's"
        link = f"[{paper.about}]({PLACE}/results/{paper.folder}/{PAGE})"
        rows.append([link, *(str(words[word]) for word in VERDICTS), current])
    return markdown_table(["paper", "claims that hold", "do not", "runs cannot tell", "code"], rows)


def with_papers(readme: str, results: Path) -> str:
    """README with today's table."""
    return _between(readme, PAPERS_BEGIN, PAPERS_END, f"\n{papers_table(results)}\n", Path("README.md"))


def refresh(results: Path, readme: Path | None = None) -> list[Path]:
    """Write every page's sentence and README's table anew, from what is stored; the files that changed."""
    wanted = {results / p.folder / PAGE: refreshed(results / p.folder) for p in PAPERS if _there(results / p.folder)}
    if readme is not None:
        wanted[readme] = with_papers(readme.read_text(encoding="utf-8"), results)
    changed = [path for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:
        write_whole(path, wanted[path].encode())
    return changed


def _there(folder: Path) -> bool:
    return all((folder / name).exists() for name in (PAGE, CLAIMS, STAMP))


def _between(text: str, begin: str, end: str, inside: str, path: Path) -> str:
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise DataError(f"{path}: no {begin} … {end} in it")
    return pattern.sub(lambda _: f"{begin}{inside}{end}", text, count=1)
