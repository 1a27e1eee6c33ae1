"""Tables of the pages, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """One row per line; a cell's text cannot break the table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def number(value: float | None, digits: int = 4) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None or value != value else f"{value:.{digits}f}"


def spread(values: Sequence[float], digits: int = 4) -> str:
    """Mean ± standard deviation; the mean alone of a single value."""
    if not len(values):
        return "–"
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.{digits}f}"
    deviation = (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"
