"""The report's drawings: bars with intervals, the ROC over what the promise allows, accuracy by number of targets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.intervals import Estimate, roc
from kagemusha.attacks.verdict import Finding
from kagemusha.privacy.accountants import gdp_mu
from kagemusha.privacy.budget import Budget
from kagemusha.quality.svg import INK, LINE, SERIES, SOFT, line, picture, rect, shorten, text

CHANCE = "#8a94a3"


def bars(
    title: str, groups: Sequence[tuple[str, Sequence[tuple[str, Estimate]]]], *, limit: float | None = None
) -> str:
    """Accuracy of attacks, target by target: a bar from chance to the estimate, a whisker for the interval.

    `limit` is the most that the promise allows anyone.
    """
    left, width, step, head = 132.0, 420.0, 17.0, 22.0
    room = width - left - 44
    count = sum(len(rows) for _, rows in groups)
    height = 30 + head * len(groups) + step * count + 24

    def at(value: float) -> float:
        return left + room * min(1.0, max(0.0, value))

    worst = max((e.value for _, rows in groups for _, e in rows), default=0.5)
    alt = f"{title}: accuracy of {count} attacks with 95 % intervals; the best is right in {100 * worst:.0f} %."
    parts = [text(left, 14, shorten(title, 44), size=12.5, fill=INK)]
    y = 26.0
    top = y
    for name, rows in groups:
        parts.append(text(4, y + 13, name, fill=INK, size=11))
        y += head
        for i, (label, estimate) in enumerate(rows):
            colour = SERIES[i % len(SERIES)]
            begin, end = sorted((at(0.5), at(estimate.value)))
            words = f"{label}: {estimate}"
            parts.append(text(left - 6, y + 9, shorten(label, 20), anchor="end", size=10))
            parts.append(rect(begin, y + 1.5, max(1.5, end - begin), 9, colour, words))
            parts.append(line([(at(estimate.low), y + 6), (at(estimate.high), y + 6)], INK, width=1.2))
            for edge in (estimate.low, estimate.high):
                parts.append(line([(at(edge), y + 3), (at(edge), y + 9)], INK, width=1.2))
            parts.append(text(width - 40, y + 9.5, f"{estimate.value:.2f}", size=10))
            y += step
    parts.insert(1, line([(at(0.5), top), (at(0.5), y + 4)], CHANCE, width=1, dash="3 3"))
    if limit is not None and limit < 1:
        parts.insert(1, line([(at(limit), top), (at(limit), y + 4)], "#b00020", width=1, dash="5 3"))
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(line([(at(tick), y + 4), (at(tick), y + 8)], SOFT, width=1))
        parts.append(text(at(tick), y + 19, f"{100 * tick:.0f} %", anchor="middle", size=9.5))
    return picture(width, height, alt, parts)


def allowed(budget: Budget, false: FloatArray) -> FloatArray:
    """The highest true positive rate that (ε, δ) allows at each false positive rate."""
    odds = math.exp(min(budget.epsilon, 700.0))
    return np.clip(np.minimum(odds * false + budget.delta, 1 - (1 - budget.delta - false) / odds), 0, 1)


def gaussian_curve(mu: float, false: FloatArray) -> FloatArray:
    """The true positive rate of the best attack on a μ-Gaussian mechanism."""
    from scipy.special import ndtr, ndtri

    return np.asarray(ndtr(ndtri(np.clip(false, 1e-12, 1 - 1e-12)) + mu))


def roc_picture(found: Sequence[Finding], budget: Budget | None) -> str:
    """ROC curves over what the promise allows."""
    side, left, top = 320.0, 50.0, 10.0

    def at(false: float, true: float) -> tuple[float, float]:
        return left + side * false, top + side * (1 - true)

    grid = np.linspace(0, 1, 101)
    parts = []
    if budget is not None:
        edge = allowed(budget, grid)
        area = [at(0, 0), *(at(float(x), float(y)) for x, y in zip(grid, edge, strict=True)), at(1, 0)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in area)
        parts.append(f'<polygon points="{points}" fill="#e8f1f8"/>')
        if budget.delta > 0:
            curve = gaussian_curve(gdp_mu(budget.epsilon, budget.delta), grid)
            parts.append(
                line([at(float(x), float(y)) for x, y in zip(grid, curve, strict=True)], SOFT, dash="5 3", width=1.3)
            )
    parts.append(line([at(0, 0), at(1, 1)], CHANCE, width=1, dash="3 3"))
    parts.append(line([at(0, 1), at(0, 0), at(1, 0)], SOFT, width=1))
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(text(left - 5, at(0, tick)[1] + 4, f"{100 * tick:.0f} %", anchor="end", size=10))
        parts.append(text(at(tick, 0)[0], top + side + 15, f"{100 * tick:.0f} %", anchor="middle", size=10))
        parts.append(line([at(0, tick), at(1, tick)], LINE, width=0.5))
    for i, one in enumerate(found):
        false, true = roc(one.scores)
        steps = [at(0.0, 0.0)]
        for x, y in zip(false, true, strict=True):
            steps += [at(float(x), (top + side - steps[-1][1]) / side), at(float(x), float(y))]
        parts.append(line(steps, SERIES[i % len(SERIES)], width=1.8))
    parts.append(
        text(left + side / 2, top + side + 33, "false alarms: says “was there” and was not", anchor="middle", size=10.5)
    )
    parts.append(text(12, top + side / 2, "found: says “was there” and was", anchor="middle", size=10.5, turn=-90))
    best = found[0] if found else None
    alt = "ROC of the strongest attacks" + (f"; area of the first {best.area:.2f}." if best else ".")
    return picture(left + side + 14, top + side + 42, alt, parts)


def curve_picture(counts: Sequence[int], lines: Sequence[tuple[str, Sequence[Estimate]]]) -> str:
    """Accuracy against the number of targets hidden together, with intervals."""
    width, height, left, bottom, top = 460.0, 250.0, 50.0, 42.0, 12.0
    low, high = math.log10(min(counts)), math.log10(max(counts))

    def at(count: int, value: float) -> tuple[float, float]:
        share = (math.log10(count) - low) / (high - low) if high > low else 0.5
        return left + share * (width - left - 20), top + (1 - value) * (height - top - bottom)

    parts = [line([at(min(counts), 0.5), at(max(counts), 0.5)], CHANCE, width=1, dash="3 3")]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(text(left - 6, at(min(counts), tick)[1] + 4, f"{100 * tick:.0f} %", anchor="end", size=10))
        parts.append(line([at(min(counts), tick), at(max(counts), tick)], LINE, width=0.5))
    for count in counts:
        parts.append(text(at(count, 0)[0], height - bottom + 16, f"{count:,}", anchor="middle", size=10))
    for i, (_, values) in enumerate(lines):
        colour = SERIES[i % len(SERIES)]
        parts.append(line([at(c, v.value) for c, v in zip(counts, values, strict=True)], colour))
        for count, v in zip(counts, values, strict=True):
            parts.append(line([at(count, v.low), at(count, v.high)], colour, width=1.2))
    parts.append(text((left + width) / 2, height - 8, "targets hidden together", anchor="middle", size=10.5))
    return picture(width, height, "Accuracy against the number of targets hidden together.", parts)
