"""Small drawings as inline SVG: crisp at every size, no network, readable aloud."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from kagemusha.arrays import FloatArray

REAL, SYNTHETIC, INK, SOFT, LINE = "#0072B2", "#E69F00", "#1c2430", "#5b6675", "#d9dee5"
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which people with any common colour blindness can tell apart."""

DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "4 4", "")


def picture(width: float, height: float, alt: str, parts: Sequence[str]) -> str:
    """An SVG element that scales to its place and carries its own description."""
    label = escape(alt, quote=True)
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}" '
        f'style="max-width:{width:g}px"><title>{label}</title>{"".join(parts)}</svg>'
    )


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: float = 11, fill: str = SOFT, turn: float = 0
) -> str:
    """A line of text."""
    turned = f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" fill="{fill}"{turned}>'
        f"{escape(words)}</text>"
    )


def rect(x: float, y: float, width: float, height: float, fill: str, title: str = "") -> str:
    """A box, with words that appear when one points at it."""
    inside = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{max(0.0, height):.1f}" '
        f'fill="{fill}">{inside}</rect>'
    )


def line(points: Sequence[tuple[float, float]], colour: str, *, width: float = 2, dash: str = "") -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def shorten(words: str, most: int) -> str:
    """At most `most` characters."""
    return words if len(words) <= most else words[: most - 1] + "…"


def shade(value: float, most: float) -> str:
    """From white to dark blue; also ordered when printed in grey."""
    share = 0.0 if not most > 0 or math.isnan(value) else min(1.0, max(0.0, value / most))
    stops = ((255, 255, 255), (158, 202, 225), (33, 113, 181), (8, 37, 84))
    place = share * (len(stops) - 1)
    i = min(int(place), len(stops) - 2)
    mixed = (round(a + (place - i) * (b - a)) for a, b in zip(stops[i], stops[i + 1], strict=True))
    return "#" + "".join(f"{c:02x}" for c in mixed)


def heat_map(names: Sequence[str], values: FloatArray, alt: str, *, most: float, shown: str = "{:.2f}") -> str:
    """A square of shades, one cell per pair, with its scale below."""
    count = len(names)
    cell = max(9.0, min(34.0, 430 / max(1, count)))
    side, left, top = cell * count, 134.0, 6.0
    parts = []
    for i in range(count):
        parts.append(
            text(left - 5, top + cell * (i + 0.5) + 3.5, shorten(names[i], 18), anchor="end", size=min(13, cell + 2))
        )
        parts.append(
            text(
                left + cell * (i + 0.5) + 3.5,
                top + side + 7,
                shorten(names[i], 18),
                anchor="end",
                size=min(13, cell + 2),
                turn=-60,
            )
        )
        for j in range(count):
            if i == j:
                parts.append(rect(left + cell * j, top + cell * i, cell - 1, cell - 1, "#eef0f3"))
                continue
            value = float(values[i, j])
            title = f"{names[i]} × {names[j]}: {shown.format(value)}"
            parts.append(rect(left + cell * j, top + cell * i, cell - 1, cell - 1, shade(value, most), title))
    bottom = top + side + 118
    for step in range(40):
        parts.append(rect(left + step * side / 40, bottom, side / 40 + 0.5, 9, shade(step, 39)))
    parts.append(text(left, bottom + 21, shown.format(0.0)))
    parts.append(text(left + side, bottom + 21, shown.format(most), anchor="end"))
    return picture(left + side + 8, bottom + 28, alt, parts)


@dataclass(frozen=True)
class Curve:
    """Points with error bars, by name."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] = ()


def curves(lines: Sequence[Curve], alt: str, *, x_name: str, y_name: str, logarithmic: bool = False) -> str:
    """Lines over a common axis, distinguished by colour and by dashes."""
    width, height, left, right, top, bottom = 560.0, 300.0, 58.0, 12.0, 12.0, 46.0
    xs = [v for one in lines for v in one.x]
    reached = max(
        (v + s for one in lines for v, s in zip(one.y, one.spread or [0.0] * len(one.y), strict=True)), default=1.0
    )
    step = _round_step(reached)
    highest = step * max(1, math.ceil(reached / step - 1e-9))
    place = math.log10 if logarithmic else float
    low, high = (place(min(xs)), place(max(xs))) if xs else (0.0, 1.0)

    def at(x: float, y: float) -> tuple[float, float]:
        share = (place(x) - low) / (high - low) if high > low else 0.5
        return left + share * (width - left - right), top + (1 - y / highest) * (height - top - bottom)

    parts = [line([(left, top), (left, height - bottom), (width - right, height - bottom)], SOFT, width=1)]
    for tick in range(round(highest / step) + 1):
        y = tick * step
        parts.append(line([(left, at(1, y)[1]), (width - right, at(1, y)[1])], LINE, width=0.7))
        parts.append(text(left - 5, at(1, y)[1] + 4, f"{y:.3g}", anchor="end"))
    for x in _ticks(sorted(set(xs))):
        parts.append(text(at(x, 0)[0], height - bottom + 16, f"{x:g}", anchor="middle"))
    for i, one in enumerate(lines):
        colour = SERIES[i % len(SERIES)]
        points = [at(x, y) for x, y in zip(one.x, one.y, strict=True)]
        parts.append(line(points, colour, dash=DASHES[i % len(DASHES)]))
        for (x, y), value, spread in zip(points, one.y, one.spread or [0.0] * len(one.y), strict=True):
            reach = spread / highest * (height - top - bottom)
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"><title>{escape(one.name)}: '
                f"{value:.4g}</title></circle>"
            )
            if spread:
                parts.append(line([(x, y - reach), (x, y + reach)], colour, width=1.2))
    parts.append(text((left + width) / 2, height - 8, x_name, anchor="middle"))
    parts.append(text(13, (height - bottom) / 2, y_name, anchor="middle", turn=-90))
    return picture(width, height, alt, parts) + _legend([one.name for one in lines])


def _ticks(values: Sequence[float], most: int = 8) -> Sequence[float]:
    return values if len(values) <= most else values[:: math.ceil(len(values) / most)]


def _round_step(reached: float) -> float:
    """A step of 1, 2 or 5 times a power of ten that divides an axis into about four."""
    if not reached > 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(reached / 4))
    return next(size * times for times in (1, 2, 5, 10) if size * times >= reached / 5)


def _legend(names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    items = (
        f'<span class="key"><svg viewBox="0 0 26 10" width="26" height="10" aria-hidden="true">'
        f"{line([(1, 5), (25, 5)], SERIES[i % len(SERIES)], width=2.5, dash=DASHES[i % len(DASHES)])}</svg> "
        f"{escape(name)}</span>"
        for i, name in enumerate(names)
    )
    return f'<p class="legend">{"".join(items)}</p>'
