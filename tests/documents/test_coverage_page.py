"""What the page of estimates says of coverage is what the benchmark has of the tables that were looked at once."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
MEASURED = (ROOT / "benchmarks" / "results" / "inference.md").read_text(encoding="utf-8")
SAID = (ROOT / "docs" / "estimates.md").read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def measured() -> dict[tuple[str, str], list[str]]:
    """Of each kind and ε: intervals, inside, by table, tables, error, width, unknown."""
    once = MEASURED.partition("## Tables looked at once")[2]
    rows = (cells(line) for line in once.splitlines() if line.startswith("| ") and "---" not in line)
    return {(kind, epsilon): rest for kind, epsilon, *rest in rows if kind != "what"}


def test_the_page_of_estimates_says_what_was_measured() -> None:
    found = measured()
    block = SAID.partition("<!-- coverage -->")[2].partition("<!-- /coverage -->")[0]
    head, _, *rows = (cells(line) for line in block.strip().splitlines())
    names = MEASURED.partition("## Tables looked at once: ")[2].partition("\n")[0].split(", ")
    assert head[0] == f"{len(names)} tables"
    assert len(names) >= 10
    assert {row[0] for row in rows} == {kind for kind, _ in found}
    for kind, count, _, one, ten in rows:
        assert (found[kind, "1"][1], found[kind, "10"][1]) == (one, ten)
        assert int(count.replace(",", "")) == sum(int(found[kind, epsilon][0]) for epsilon in ("1", "10"))


def test_intervals_hold_and_are_as_wide_as_errors_are_large() -> None:
    found = measured()
    inside = [float(row[1].removesuffix(" %")) for row in found.values()]
    assert 93 <= min(inside) <= max(inside) <= 97.2
    errors = [float(row[4]) for row in found.values()]
    assert f"between {min(errors):.2f} and {max(errors):.2f}".replace("0.", ".") in SAID
    slope, mean = (found[kind, "1"][5] for kind in ("least squares, 1 column", "mean"))
    assert f"{float(mean):.1f} (means) to {float(slope):.1f} times (one slope)" in SAID
