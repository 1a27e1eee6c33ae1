"""The report's drawings: columns side by side, heat maps of pairs, the budget over the rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.models.generator import Round
from kagemusha.quality.svg import INK, LINE, REAL, SYNTHETIC, Curve, curves, heat_map, picture, rect, shorten, text
from kagemusha.schema import Clique, Measured, Modelled

MOST_BARS = 14
"""Codes drawn one by one; more labels are summed as the rest, more bins are drawn as a skyline."""


def column_picture(column: Modelled, real: FloatArray, synthetic: FloatArray) -> str:
    """Shares of every code, real above synthetic."""
    names = column.code_names
    worst = int(np.abs(real - synthetic).argmax())
    alt = (
        f"Column {column.name}: shares in the real and the synthetic table. Largest difference at {names[worst]}: "
        f"{100 * real[worst]:.1f} % real, {100 * synthetic[worst]:.1f} % synthetic."
    )
    if column.size > MOST_BARS and isinstance(column, Measured):
        return _skyline(names, real, synthetic, alt)
    if column.size > MOST_BARS:
        order = np.argsort(-(real + synthetic), kind="stable")
        first, rest = order[: MOST_BARS - 1], order[MOST_BARS - 1 :]
        names = [*(names[i] for i in first), f"{len(rest)} more"]
        real, synthetic = (np.append(t[first], t[rest].sum()) for t in (real, synthetic))
    return _bars(names, real, synthetic, alt)


def _bars(names: Sequence[str], real: FloatArray, synthetic: FloatArray, alt: str) -> str:
    left, width, step = 132.0, 420.0, 27.0
    room = width - left - 46
    most = float(max(real.max(), synthetic.max())) or 1.0
    parts = []
    for i, name in enumerate(names):
        y = 4 + i * step
        parts.append(text(left - 6, y + 14, shorten(name, 21), anchor="end", fill=INK))
        for share, colour, down in ((real[i], REAL, 0.0), (synthetic[i], SYNTHETIC, 10.5)):
            length = room * float(share) / most
            parts.append(rect(left, y + down, max(length, 0.6), 9.5, colour, f"{name}: {100 * share:.2f} %"))
            parts.append(text(left + length + 4, y + down + 8.5, f"{100 * share:.1f} %", size=9))
    return picture(width, 8 + step * len(names), alt, parts)


def _skyline(names: Sequence[str], real: FloatArray, synthetic: FloatArray, alt: str) -> str:
    width, height, left, bottom = 420.0, 190.0, 34.0, 34.0
    most = float(max(real.max(), synthetic.max())) or 1.0
    step = (width - left - 6) / len(names)
    floor = height - bottom
    parts = [rect(left, floor, width - left - 6, 1, LINE)]
    outline = []
    for i, name in enumerate(names):
        top = floor - (floor - 12) * float(real[i]) / most
        parts.append(rect(left + i * step, top, step + 0.3, floor - top, REAL, f"{name}: {100 * real[i]:.2f} % real"))
        level = floor - (floor - 12) * float(synthetic[i]) / most
        outline += [f"{left + i * step:.1f},{level:.1f}", f"{left + (i + 1) * step:.1f},{level:.1f}"]
    parts.append(f'<polyline points="{" ".join(outline)}" fill="none" stroke="#fff" stroke-width="4"/>')
    parts.append(f'<polyline points="{" ".join(outline)}" fill="none" stroke="#b36b00" stroke-width="2"/>')
    for i in sorted({0, len(names) // 2, len(names) - 1}):
        anchor = "start" if i == 0 else "end" if i == len(names) - 1 else "middle"
        parts.append(text(left + (i + 0.5) * step, height - 16, shorten(names[i], 16), anchor=anchor, size=10))
    parts.append(text(left - 4, 16, f"{100 * most:.0f} %", anchor="end", size=10))
    return picture(width, height, alt, parts)


def pair_matrix(names: Sequence[str], values: Mapping[Clique, float]) -> FloatArray:
    """Values of pairs as a symmetric matrix."""
    place = {name: i for i, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)))
    for pair, value in values.items():
        if all(name in place for name in pair):
            i, j = place[pair[0]], place[pair[1]]
            matrix[i, j] = matrix[j, i] = value
    return matrix


def pair_picture(names: Sequence[str], values: Mapping[Clique, float], what: str, *, most: float = 0.0) -> str:
    """A heat map of one number a pair; `most` is the end of the scale, where maps share one."""
    matrix = pair_matrix(names, values)
    most = max(most, float(matrix.max(initial=0.0))) or 1.0
    worst = max(values, key=lambda pair: values[pair], default=())
    alt = f"Heat map of {what}, {len(values)} pairs. Largest: {' × '.join(worst)}, {values.get(worst, 0.0):.3f}."
    return heat_map(names, matrix, alt, most=most, shown="{:.3f}")


def budget_picture(trace: Sequence[Round]) -> str:
    """Share of the budget spent after each round."""
    spent = [round_.spent for round_ in trace]
    alt = f"Budget spent over {len(trace)} rounds, from {100 * spent[0]:.0f} % to {100 * spent[-1]:.0f} %."
    rounds = [float(i) for i in range(1, len(trace) + 1)]
    return curves([Curve("spent", rounds, [100 * s for s in spent])], alt, x_name="round", y_name="budget spent, %")
