"""The drawings of `reproduce mia`: Figure 3 and the curve of Table 5."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kagemusha.attacks.pictures import bars, curve_picture
from kagemusha.reproduce import mia_paper as paper
from kagemusha.reproduce.mia_claims import Results
from kagemusha.reproduce.mia_games import CODES, ONEHOT


def draw_figures(results: Results, out: Path) -> None:
    """Figure 3 and the curve of Table 5."""
    drawn = []
    for name, space in (
        ("stat", CODES),
        ("bayes-net", ONEHOT),
        ("dp-bn-data", ONEHOT),
        ("dp-bn", ONEHOT),
        ("ctgan", ONEHOT),
    ):
        if name in results.played:
            groups = [
                (t, [(i, results.cell(name, t, i, space).accuracy) for i in paper.INFERENCES]) for t in paper.TARGETS
            ]
            drawn.append(bars(f"{name} ({space.name})", groups))
    _save(drawn, out / "figure-3.svg")
    lines = [
        (i, [results.cell("together", f"adaptive×{c}", i, ONEHOT).accuracy for c in results.counts])
        for i in ("mvl-orig", "neighbour")
    ]
    _save([curve_picture(results.counts, lines)], out / "table-5.svg")


def _save(pictures: Sequence[str], path: Path) -> None:
    """Drawings below each other as one file that stands alone."""
    height, parts = 0.0, []
    for one in pictures:
        box = one.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
        inner = one.split(">", 1)[1].rsplit("</svg>", 1)[0]
        parts.append(f'<g transform="translate(0 {height:g})">{inner}</g>')
        height += float(box[1]) + 10
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 470 {height:g}" width="470" font-family="sans-serif">'
    path.write_text(f"{head}{''.join(parts)}</svg>\n", encoding="utf-8")
