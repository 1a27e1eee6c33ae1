"""The report's drawings: columns side by side, heat maps of pairs, the budget over the rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.evaluation.raw import RawColumn
from kagemusha.evaluation.raw_columns import day, number, shown, value_shares
from kagemusha.generators.generator import Round
from kagemusha.quality.svg import INK, LINE, REAL, SYNTHETIC, Curve, curves, heat_map, picture, rect, shorten, text
from kagemusha.schema import Clique, Modelled

BINS = 30
LONG = 6.0
"""A tail is long if the upper half of the numbers is spread over so many times the room of the lower half."""

WIDE = 20
"""From this range on, numbers under a picture are whole ones."""

MOST_BARS = 14
"""Codes drawn one by one; more labels are summed as the rest, more bins are drawn as a skyline."""


def value_picture(real: RawColumn, synthetic: RawColumn) -> str:
    """Shares of numbers or dates, where most of them lie; with a long tail the axis is stretched at its low end."""
    sides = [side.numbers[~np.isnan(side.numbers)] for side in (real, synthetic)]
    both = np.concatenate(sides)
    edges = value_edges(both)
    shares = [np.histogram(side, edges)[0] / max(1, len(side)) for side in sides]
    names = [_range(real.kind, a, b) for a, b in pairwise(edges)]
    worst = int(np.abs(shares[0] - shares[1]).argmax())
    beyond = [1 - float(share.sum()) for share in shares]
    alt = (
        f"Column {real.name}: shares of values in the real and the synthetic table. Largest difference at "
        f"{names[worst]}: {100 * shares[0][worst]:.1f} % real, {100 * shares[1][worst]:.1f} % synthetic. Outside of "
        f"the picture: {100 * beyond[0]:.1f} % real, {100 * beyond[1]:.1f} % synthetic."
    )
    wide = edges[-1] - edges[0] >= WIDE
    ticks = [day(edge) if real.kind == "moment" else number(round(edge) if wide else edge) for edge in edges]
    return _skyline(names, shares[0], shares[1], alt, ticks)


def label_picture(real: RawColumn, synthetic: RawColumn) -> str:
    """Shares of every text, or of the most frequent ones; gaps are one of them."""
    sides = [{shown(value, real.kind): share for value, share in value_shares(s).items()} for s in (real, synthetic)]
    names = sorted({**sides[0], **sides[1]}, key=lambda name: -(sides[0].get(name, 0.0) + sides[1].get(name, 0.0)))
    shares = [np.array([side.get(name, 0.0) for name in names]) for side in sides]
    worst = int(np.abs(shares[0] - shares[1]).argmax())
    alt = (
        f"Column {real.name}: shares of {len(names)} values in the real and the synthetic table. Largest difference at "
        f"{names[worst]}: {100 * shares[0][worst]:.1f} % real, {100 * shares[1][worst]:.1f} % synthetic."
    )
    if len(names) > MOST_BARS:
        first = MOST_BARS - 1
        shares = [np.append(share[:first], share[first:].sum()) for share in shares]
        names = [*names[:first], f"{len(names) - first:,} more"]
    return _bars(names, shares[0], shares[1], alt)


def value_edges(numbers: FloatArray) -> FloatArray:
    """Bins over the middle 99 % of numbers.

    Even ones, each whole number for itself, or, with a long tail, growing ones.
    """
    low, middle, high = (float(q) for q in np.quantile(numbers, [0.005, 0.5, 0.995]))
    if low == high:
        return np.array([low - 0.5, low + 0.5])
    whole = bool((numbers == np.floor(numbers)).all())
    if whole and high - low <= BINS:
        return np.arange(low, high + 2) - 0.5
    if low >= 0 and high - middle > LONG * (middle - low):
        linear = max(middle, high / 1e4)
        edges = linear * np.expm1(np.linspace(np.log1p(low / linear), np.log1p(high / linear), BINS + 1))
        return np.unique(np.ceil(edges)) if whole else edges
    return np.linspace(low, high, BINS + 1)


def _range(kind: str, start: float, end: float) -> str:
    return f"{day(start)} – {day(end)}" if kind == "moment" else f"{number(start)} – {number(end)}"


def column_picture(column: Modelled, real: FloatArray, synthetic: FloatArray) -> str:
    """Shares of every code, real above synthetic."""
    names = column.code_names
    worst = int(np.abs(real - synthetic).argmax())
    alt = (
        f"Column {column.name}: shares in the real and the synthetic table. Largest difference at {names[worst]}: "
        f"{100 * real[worst]:.1f} % real, {100 * synthetic[worst]:.1f} % synthetic."
    )
    if column.size > MOST_BARS and column.axis is not None:
        return _skyline(names, real, synthetic, alt, names)
    if column.size > MOST_BARS:
        order = np.argsort(-(real + synthetic), kind="stable")
        first, rest = order[: MOST_BARS - 1], order[MOST_BARS - 1 :]
        names = [*(names[i] for i in first), f"{len(rest)} more"]
        real, synthetic = (np.append(t[first], t[rest].sum()) for t in (real, synthetic))
    return _bars(names, real, synthetic, alt)


def _bars(names: Sequence[str], real: FloatArray, synthetic: FloatArray, alt: str) -> str:
    left, width, step = 140.0, 420.0, 30.0
    room = width - left - 52
    most = float(max(real.max(), synthetic.max())) or 1.0
    parts = []
    for i, name in enumerate(names):
        y = 4 + i * step
        parts.append(text(left - 6, y + 16, shorten(name, 18), anchor="end", fill=INK, size=13))
        for share, colour, down in ((real[i], REAL, 0.0), (synthetic[i], SYNTHETIC, 13.0)):
            length = room * float(share) / most
            parts.append(rect(left, y + down, max(length, 0.6), 12, colour, f"{name}: {100 * share:.2f} %"))
            parts.append(text(left + length + 4, y + down + 11, f"{100 * share:.1f} %", size=12))
    return picture(width, 8 + step * len(names), alt, parts)


def _skyline(names: Sequence[str], real: FloatArray, synthetic: FloatArray, alt: str, ticks: Sequence[str]) -> str:
    """Real as a filled shape, synthetic as a line over it.

    `ticks` are the names of the left ends, perhaps of the last end too.
    """
    width, height, left, bottom = 420.0, 200.0, 42.0, 34.0
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
    room = len(ticks) - 1
    for i in sorted({0, room // 3, 2 * room // 3, room} if len(ticks[0]) < 9 else {0, room // 2, room}):
        anchor = "start" if i == 0 else "end" if i == room else "middle"
        parts.append(text(left + i * step, height - 12, shorten(ticks[i], 14), anchor=anchor, size=13))
    parts.append(text(left - 5, 17, f"{100 * most:.0f} %", anchor="end", size=13))
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
    """A heat map of one number per pair; `most` is the end of the scale, where maps share one."""
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
