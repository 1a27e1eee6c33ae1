"""What kage expected of its pairs when it chose, against what came out: a drawing and a few numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.quality.svg import INK, LINE, SERIES, line, picture, text

SIDE, LEFT, TOP = 420.0, 60.0, 20.0


@dataclass(frozen=True)
class Point:
    """One table and ε: mean L1 error of pairs, a share of records."""

    table: str
    half: str
    epsilon: str
    predicted: float
    actual: float


def summary(points: Sequence[Point]) -> list[str]:
    """Lines of a table: how far off the prediction is, for each half and ε."""
    lines = [
        "| tables | ε | n | predicted ÷ actual, geometric mean | within a factor 1.5 | within 2 |",
        "|" + " --- |" * 6,
    ]
    for half in ("test", "train"):
        for epsilon in ("0.1", "1", "10"):
            logs = np.array(
                [math.log(p.predicted / p.actual) for p in points if (p.half, p.epsilon) == (half, epsilon)]
            )
            if len(logs):
                near, far = (np.mean(np.abs(logs) <= math.log(factor)) for factor in (1.5, 2))
                lines.append(
                    f"| {half} | {epsilon} | {len(logs)} | {math.exp(logs.mean()):.2f} | {near:.0%} | {far:.0%} |"
                )
    return lines


def drawing(points: Sequence[Point]) -> str:
    """Predicted error upwards, actual error to the right, both on a log scale; on the line they agree."""
    values = [v for p in points for v in (p.predicted, p.actual)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def place(value: float) -> float:
        return SIDE * (math.log10(value) - low) / (high - low)

    def at(actual: float, predicted: float) -> tuple[float, float]:
        return LEFT + place(actual), TOP + SIDE - place(predicted)

    parts = [line([at(10**low, 10**low), at(10**high, 10**high)], INK, width=1)]
    for factor in (0.5, 2.0):
        ends = [(x, x * factor) for x in (10**low * max(1, 1 / factor), 10**high * min(1, 1 / factor))]
        parts.append(line([at(*end) for end in ends], LINE, width=1, dash="4 3"))
    for power in range(low, high + 1):
        x, y = at(10.0**power, 10.0**power)
        parts.append(text(x, TOP + SIDE + 16, f"{10.0**power:g}", anchor="middle"))
        parts.append(text(LEFT - 6, y + 4, f"{10.0**power:g}", anchor="end"))
    colours = dict(zip((("train", e) for e in ("0.1", "1", "10")), SERIES, strict=False))
    for p in points:
        x, y = at(p.actual, p.predicted)
        colour = colours["train", p.epsilon]
        filled = colour if p.half == "test" else "none"
        words = f"{p.table}, ε = {p.epsilon}: predicted {p.predicted:.4f}, actual {p.actual:.4f}"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{filled}" stroke="{colour}" '
            f'stroke-width="1.5"><title>{words}</title></circle>'
        )
    for i, epsilon in enumerate(("0.1", "1", "10")):
        parts.append(text(LEFT + 12, TOP + 18 + 15 * i, f"● ε = {epsilon}", fill=colours["train", epsilon]))
    parts.append(text(LEFT + 12, TOP + 63, "filled: test, rings: train"))
    parts.append(text(LEFT + SIDE / 2, TOP + SIDE + 34, "mean two-way error of the rows", anchor="middle", fill=INK))
    parts.append(text(14, TOP + SIDE / 2, "what kage expected", anchor="middle", fill=INK, turn=-90))
    drawn = picture(LEFT + SIDE + 20, TOP + SIDE + 44, "Predicted against actual two-way error on the zoo", parts)
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', 1) + "\n"
