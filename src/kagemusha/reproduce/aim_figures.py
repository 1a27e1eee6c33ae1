"""The AIM paper's figures, redrawn from our runs (matplotlib; colours that survive colour-blindness and print)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.reproduce.aim_runs import Result
from kagemusha.reproduce.aim_steps import BudgetCurve, ChosenStep

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 110})
    return plt


def _save(figure: Any, path: Path) -> Path:
    # the same runs give the same bytes
    with _pyplot().rc_context({"svg.hashsalt": "kagemusha"}):
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    _pyplot().close(figure)
    return path


def kway_bars(results: Sequence[Result], title: str, path: Path) -> Path:
    """Figures 1 and 2: 1-, 2- and 3-way error of each method, with standard deviations."""
    plt = _pyplot()
    methods = list(dict.fromkeys(r.arm for r in results))
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8))
    for k, axis in enumerate(axes):
        values = [[r.errors[k] for r in results if r.arm == m] for m in methods]
        axis.bar(
            range(len(methods)),
            [np.mean(v) for v in values],
            yerr=[np.std(v, ddof=1) if len(v) > 1 else 0 for v in values],
            color=COLOURS[: len(methods)],
            capsize=3,
        )
        axis.set_xticks(range(len(methods)), methods, rotation=40, ha="right")
        axis.set_title(f"{k + 1}-way error")
    figure.suptitle(title)
    figure.tight_layout()
    return _save(figure, path)


def budget_curves(curves: Mapping[str, BudgetCurve], path: Path) -> Path:
    """Figure 3: ε after each step under zCDP and under numerical composition, with its bounds."""
    plt = _pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(8, 5.2))
    for axis, (title, curve) in zip(axes.flat, curves.items(), strict=False):
        axis.plot(curve.steps, curve.zcdp, color=COLOURS[0], label="zCDP")
        axis.fill_between(
            curve.steps, curve.lower, curve.upper, color=COLOURS[5], alpha=0.5, label="numerical composition"
        )
        axis.set_title(title)
        axis.set_xlabel("step")
        axis.set_ylabel("ε at δ = 10⁻⁵")
    axes.flat[0].legend(frameon=False)
    figure.tight_layout()
    return _save(figure, path)


def error_curves(runs: Sequence[Sequence[tuple[int, float, float, float]]], first: int, path: Path) -> Path:
    """Figure 4: the model's 1-, 2- and 3-way error after each step; the dotted line ends the initialisation."""
    plt = _pyplot()
    figure, axes = plt.subplots(len(runs), 1, figsize=(7, 2.4 * len(runs)), squeeze=False)
    for axis, run in zip(axes.flat, runs, strict=True):
        for k in (1, 2, 3):
            axis.plot([r[0] for r in run], [r[k] for r in run], color=COLOURS[k - 1], marker=".", label=f"{k}-way")
        axis.axvline(first + 0.5, linestyle=":", color="#555555")
        axis.set_xlabel("step")
        axis.set_ylabel("error")
    axes.flat[0].legend(frameon=False, ncols=3)
    figure.tight_layout()
    return _save(figure, path)


def choice_maps(choices: Sequence[ChosenStep], names: Sequence[str], path: Path) -> Path:
    """Figure 5: the pairs each run chose, in the order of choice, and the mean error of chosen and of other pairs."""
    plt = _pyplot()
    figure, axes = plt.subplots(2, len(choices), figsize=(3.1 * len(choices), 5.4), squeeze=False)
    for column, choice in enumerate(choices):
        grid = np.zeros((len(names), len(names)))
        for place, (a, b) in enumerate(choice.pairs):
            i, j = names.index(a), names.index(b)
            # the earlier, the darker
            grid[i, j] = grid[j, i] = 1 - 0.75 * place / max(1, len(choice.pairs))
            for x, y in ((i, j), (j, i)):
                colour = "white" if grid[i, j] > 0.6 else "black"
                axes[0, column].text(x, y, str(place + 1), ha="center", va="center", fontsize=5, color=colour)
        axes[0, column].imshow(grid, cmap="Blues", vmin=0, vmax=1.2)
        axes[0, column].set_xticks(range(len(names)), names, rotation=90, fontsize=6)
        axes[0, column].set_yticks(range(len(names)), names if column == 0 else [], fontsize=6)
        axes[0, column].set_title(f"run {column + 1}: {len(choice.pairs)} pairs")
        axes[1, column].bar(["chosen", "others"], [choice.chosen_error, choice.other_error], color=COLOURS[:2])
        axes[1, column].set_ylabel("mean two-way error" if column == 0 else "")
    figure.tight_layout()
    return _save(figure, path)


def square(pairs: Sequence[float], size: int) -> Any:
    """Numbers of all pairs as a matrix; its diagonal is left out."""
    matrix = np.full((size, size), np.nan)
    matrix[np.triu_indices(size, k=1)] = pairs
    matrix.T[np.triu_indices(size, k=1)] = pairs
    return matrix


def information_maps(maps: Mapping[str, Sequence[float]], names: Sequence[str], path: Path) -> Path:
    """Figures 6 and 7: mutual information of all pairs, real and synthetic, on one scale."""
    plt = _pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    top = max(max(values) for values in maps.values())
    for axis, (title, matrix) in zip(axes.flat, maps.items(), strict=True):
        shown = square(matrix, len(names))
        picture = axis.imshow(shown, cmap="viridis", vmin=0, vmax=top)
        axis.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
        axis.set_yticks(range(len(names)), names, fontsize=6)
        axis.set_title(title)
    figure.colorbar(picture, ax=axes, shrink=0.6, label="mutual information (nats)")
    return _save(figure, path)


def information_bars(results: Mapping[str, Sequence[Result]], path: Path) -> Path:
    """Figure 8: mean absolute difference of mutual information to the real table."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(results), figsize=(4.2 * len(results), 2.8), squeeze=False)
    for axis, (title, runs) in zip(axes.flat, results.items(), strict=True):
        methods = list(dict.fromkeys(r.arm for r in runs))
        values = [[r.information_error for r in runs if r.arm == m] for m in methods]
        axis.bar(
            range(len(methods)),
            [np.mean(v) for v in values],
            yerr=[np.std(v, ddof=1) if len(v) > 1 else 0 for v in values],
            color=COLOURS[: len(methods)],
            capsize=3,
        )
        axis.set_xticks(range(len(methods)), methods, rotation=40, ha="right")
        axis.set_title(title)
        axis.set_ylabel("mean |Δ mutual information|")
    figure.tight_layout()
    return _save(figure, path)
