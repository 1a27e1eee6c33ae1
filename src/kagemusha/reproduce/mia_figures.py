"""The drawings of `reproduce mia`: Figure 3, one inference each, and the curve of Table 5."""

from __future__ import annotations

from pathlib import Path

from kagemusha.extras import need
from kagemusha.reproduce import mia_paper as paper
from kagemusha.reproduce.mia_cells import Cells
from kagemusha.reproduce.mia_claims import GRID, Judged
from kagemusha.reproduce.mia_games import CODES


def draw_figures(cells: Cells, out: Path) -> None:
    """Figure 3a to c in the space of the claims, and the curve of Table 5."""
    judged = Judged(cells)
    space = judged.best_space()
    for letter, inference in zip("abc", paper.INFERENCES, strict=True):
        _figure_3(judged, space, inference, out / f"figure-3{letter}.svg")
    _table_5(cells, out / "table-5.svg")


def _figure_3(judged: Judged, space: str, inference: str, path: Path) -> None:
    need("matplotlib").use("Agg")
    plt = need("matplotlib.pyplot")
    figure, axes = plt.subplots(figsize=(6.4, 3))
    for i, target in enumerate(paper.TARGETS):
        for j, name in enumerate(GRID):
            at = j + 0.25 * (i - 1)
            cell = judged.cell(name, target, space, inference)
            if cell is not None:
                e = cell.accuracy
                label = target if j == 0 else None
                axes.bar(at, e.value, 0.22, color=f"C{i}", label=label)
                axes.errorbar(at, e.value, [[e.value - e.low], [e.high - e.value]], color="black", capsize=2)
            printed = paper.FIGURE_3.get((name, target, inference))
            if printed is not None:
                axes.plot(at, printed, "kD", markersize=5, label="printed")
    axes.axhline(0.5, color="grey", linewidth=1, linestyle="--")
    axes.set_xticks(range(len(GRID)), GRID)
    axes.set_xlim(-0.5, len(GRID) - 0.5)
    axes.set(ylim=(0, 1.05), ylabel="accuracy", title=f"{inference} ({space})")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8, ncols=4, loc="upper left")
    _save(plt, figure, path)


def _table_5(cells: Cells, path: Path) -> None:
    need("matplotlib").use("Agg")
    plt = need("matplotlib.pyplot")
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    for i, inference in enumerate(("mvl-orig", "neighbour")):
        found = [
            (int(name.split("×")[1]), cell.accuracy)
            for name in cells.targets("together", "adaptive")
            if (cell := cells.get("together", name, CODES.name, inference))
        ]
        found.sort(key=lambda pair: pair[0])
        if found:
            counts, values = [k for k, _ in found], [e.value for _, e in found]
            reach = [[e.value - e.low for _, e in found], [e.high - e.value for _, e in found]]
            axes.errorbar(counts, values, reach, marker="o", color=f"C{i}", label=f"{inference}, ours", capsize=2)
        printed = [(k, row[i]) for k, row in paper.TABLE_5.items()]
        axes.plot(*zip(*printed, strict=True), "D--", color=f"C{i}", alpha=0.5, label=f"{inference}, paper")
    axes.set_xscale("log")
    axes.set(xlabel="targets hidden together", ylabel="accuracy", ylim=(0.4, 1.05))
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
    _save(plt, figure, path)


def _save(plt: object, figure: object, path: Path) -> None:
    figure.tight_layout()  # type: ignore[attr-defined]
    figure.savefig(path, metadata={"Date": None})  # type: ignore[attr-defined]
    plt.close(figure)  # type: ignore[attr-defined]
