"""Figure 2 of Miura et al. 2022: α–ε curves of Theorems 3.1 and 3.2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kagemusha.privacy.generation.gaussian import GaussianGeneration, Method

SIZES = {10**4: "10⁴", 10**5: "10⁵", 10**6: "10⁶", 10**7: "10⁷"}
# Okabe and Ito's palette, distinguished by all common kinds of colour vision; the orange darkened for its label
COLOURS = ("#D55E00", "#B87F00", "#009E73", "#0072B2")
LARGEST_ORDER = 20.0


def curve(n: int, adjacency: str, method: Method) -> tuple[list[float], list[float]]:
    """Orders from just above 1 to 20 or the theorem's limit, and ε of one record."""
    g = GaussianGeneration(n=n, d=6, sigma=0.01, m=1, adjacency=adjacency, method=method)
    end = min(LARGEST_ORDER, 1 + (g.alpha_max() - 1) * (1 - 1e-4))
    # closer together towards both ends, where the curves bend
    orders = [1 + (end - 1) * (0.002 + 0.998 * _bend(i / 199)) for i in range(200)]
    return orders, [g.rdp(alpha) for alpha in orders]


def _bend(t: float) -> float:
    return t * t * (3 - 2 * t)


def draw(out: Path) -> list[Path]:
    """Write figure-2.png and figure-2.svg into `out`."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings = {"svg.hashsalt": "kagemusha", "font.family": "DejaVu Sans", "font.size": 9}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(9, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, "add-remove", "Add-remove (Theorem 3.1)", ["paper"])
        _panel(right, "replace", "Replace (Theorem 3.2, dashed: both eigenvalues)", ["paper", "two-eigenvalue"])
        left.set_ylabel("ε of one released record")
        figure.suptitle("α–ε curves, d = 6, σ = 0.01", x=0.01, ha="left", fontweight="bold")
        paths = [out / "figure-2.png", out / "figure-2.svg"]
        figure.savefig(paths[0], dpi=160)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def _panel(axes: Any, adjacency: str, title: str, methods: list[Method]) -> None:
    for (n, name), colour in zip(SIZES.items(), COLOURS, strict=True):
        for method in methods:
            dashed = method == "two-eigenvalue"
            orders, values = curve(n, adjacency, method)
            axes.plot(orders, values, color=colour, lw=1.4 if dashed else 1.8, ls="--" if dashed else "-")
            if method == methods[0]:
                _label(axes, orders, values, f"n = {name}", colour)
    axes.set_yscale("log")
    axes.set_xlim(1, 23.5)
    axes.set_ylim(3e-9, 1e2)
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.set_xlabel("order α")
    axes.set_title(title, loc="left", fontsize=9)
    axes.grid(visible=True, which="major", color="#dddddd", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _label(axes: Any, orders: list[float], values: list[float], text: str, colour: str) -> None:
    axes.annotate(text, (orders[-1], values[-1]), xytext=(4, 0), textcoords="offset points", color=colour, va="center")
