"""Figures 4 and 5 of the annotation paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kagemusha.extras import need
from kagemusha.reproduce.annotation_claims import Runs
from kagemusha.reproduce.annotation_runs import EPSILONS
from kagemusha.reproduce.claims import standard_error

SHOWN = ("proposed", "post-ann", "random", "kage", "actual")
ENDS = ("ann", "no-ann", "no-ann relabelled", "actual")


def draw(runs: Runs, out: Path) -> None:
    """Both, into a folder."""
    need("matplotlib").use("Agg")
    plt = need("matplotlib.pyplot")
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for i, arm in enumerate(ENDS):
        values = [list(runs.final(arm, epsilon).values()) or [np.nan] for epsilon in EPSILONS]
        at = np.arange(len(EPSILONS)) + 0.2 * (i - 1.5)
        axes.bar(at, [np.mean(v) for v in values], 0.18, yerr=[np.std(v) for v in values], label=arm, capsize=2)
    axes.set_xticks(range(len(EPSILONS)), [f"ε = {e:g}" for e in EPSILONS])
    axes.set(ylabel="accuracy on real rows", ylim=(0.75, 0.88))
    axes.legend(frameon=False, ncols=4, fontsize=8, loc="upper center")
    _save(plt, figure, out / "figure-4.svg")

    figure, panels = plt.subplots(1, len(EPSILONS), figsize=(12, 3.8), sharey=True)
    most = len(runs.of(2, SHOWN[0], EPSILONS[0]))
    for panel, epsilon in zip(panels, EPSILONS, strict=True):
        for arm in SHOWN:
            curves = runs.of(2, arm, epsilon)
            if not curves:
                continue
            marks = curves[0].marks
            seen = np.array([[c.accuracy[c.marks.index(m)] for m in marks] for c in curves])
            mean, error = seen.mean(axis=0), np.array([standard_error(at) for at in seen.T])
            few = len(seen) < most
            label = f"{arm} ({len(seen)} of {most} splits)" if few else arm
            (line,) = panel.plot(marks, mean, linestyle="--" if few else "-", label=label)
            panel.fill_between(marks, mean - error, mean + error, alpha=0.15, color=line.get_color())
        panel.set(title=f"ε = {epsilon:g}", xlabel="labels")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("accuracy on real rows")
    names = panels[0].get_legend_handles_labels()
    figure.legend(*names, frameon=False, ncols=len(SHOWN), loc="lower center")
    _save(plt, figure, out / "figure-5.svg", bottom=0.1)


def _save(plt: object, figure: object, path: Path, *, bottom: float = 0.0) -> None:
    figure.tight_layout(rect=(0, bottom, 1, 1))  # type: ignore[attr-defined]
    figure.savefig(path, metadata={"Date": None})  # type: ignore[attr-defined]
    plt.close(figure)  # type: ignore[attr-defined]
