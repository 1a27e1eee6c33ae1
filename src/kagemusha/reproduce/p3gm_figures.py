"""The pictures of `reproduce p3gm`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.extras import need
from kagemusha.reproduce.p3gm_runs import Result

Lines = Mapping[str, Sequence[tuple[float, float]]]
Trainings = Mapping[str, Sequence[Sequence[tuple[float, float]]]]


def image_grid(results: Sequence[Result], path: Path, *, across: int = 10) -> None:
    """Figure 1: doubles of every method, a row of pictures each."""
    plt = _plotting()
    shown = [r for r in results if r.pictures]
    if not shown:
        return
    figure, axes = plt.subplots(len(shown), 1, figsize=(6, 0.75 * len(shown)), squeeze=False)
    for axis, result in zip(axes[:, 0], shown, strict=True):
        pictures = np.array(result.pictures[:across]).reshape(-1, 28, 28)
        axis.imshow(np.hstack(list(pictures)), cmap="gray_r", vmin=0, vmax=255)
        axis.set_ylabel(result.method, rotation=0, ha="right", va="center", fontsize=8)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.tight_layout(pad=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def by_epoch(arms: Trainings, path: Path, *, title: str, y: str) -> None:
    """Figures 3 and 4: the mean of each arm's trainings, and between the least and the most."""
    plt = _plotting()
    figure, axis = plt.subplots(figsize=(4.6, 3.4))
    for marker, (name, trainings) in zip("osv^D*", arms.items(), strict=False):
        epochs = [x for x, _ in trainings[0]]
        scores = np.array([[score for _, score in one] for one in trainings])
        axis.plot(epochs, scores.mean(axis=0), marker=marker, label=name)
        axis.fill_between(epochs, scores.min(axis=0), scores.max(axis=0), alpha=0.2)
    axis.set(title=title, xlabel="epochs", ylabel=y)
    axis.legend(fontsize=7)
    axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def lines(panels: Mapping[str, Lines], path: Path, *, x: str, y: str, logarithmic: bool = False) -> None:
    """Figure 5: a panel for each name, a line for each arm."""
    plt = _plotting()
    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 3.4), squeeze=False)
    for axis, (title, arms) in zip(axes[0], panels.items(), strict=True):
        for marker, (name, points) in zip("osv^D*", arms.items(), strict=False):
            axis.plot([p[0] for p in points], [p[1] for p in points], marker=marker, label=name)
        axis.set(title=title, xlabel=x, ylabel=y)
        if logarithmic:
            axis.set_yscale("log")
        axis.legend(fontsize=7)
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _plotting() -> Any:
    need("matplotlib").use("Agg")
    return need("matplotlib.pyplot")
