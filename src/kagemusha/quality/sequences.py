"""Drawings of rows that follow each other: how many there are, how a column goes on, and some persons' own."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns import Integer, Modelled
from kagemusha.quality.svg import INK, SERIES, SOFT, picture, rect, shade, shorten, text
from kagemusha.schema import Domain
from kagemusha.schema.views import View

MOST_CODES = 16
"""Codes of a column in a drawing; columns with more are left out of it."""

FOLLOWED = 4
"""Columns whose going on is drawn."""

LINES, ROWS = 24, 40
"""Persons in a drawing of sequences, and rows of each."""


def numbers_picture(column: Integer, counts: IntArray, name: str) -> str:
    """How many rows of a table parents have, as bars."""
    shares = np.asarray(counts, dtype=np.float64) / max(1.0, float(np.sum(counts)))
    names, most = column.code_names, max(1e-9, float(shares.max()))
    wide = max(14.0, min(46.0, 520 / len(shares)))
    parts = []
    for at, share in enumerate(shares):
        x, height = 8 + wide * at, 120 * float(share) / most
        parts.append(rect(x, 136 - height, wide - 3, height, SERIES[0], f"{names[at]}: {100 * share:.1f} %"))
        if 100 * share >= 0.05:
            parts.append(text(x + wide / 2, 131 - height, f"{100 * share:.0f}", anchor="middle", size=10))
        parts.append(text(x + wide / 2, 150, shorten(names[at], 7), anchor="middle", size=10))
    return picture(16 + wide * len(shares), 160, f"Share of parents by their number of {name}, in %", parts)


def follow_picture(view: View, domain: Domain, rows: Sequence[Codes], skipped: Collection[str]) -> str:
    """Of some columns the share of each next value, given the one before: a line of a map for each value before."""
    pairs = [(own, c) for own, c in view.previous if c.size - 1 <= MOST_CODES and c.name not in skipped][:FOLLOWED]
    declared = {c.name: c for c in view.own}
    parts: list[str] = []
    left, bottom = 0.0, 0.0
    for own, before in pairs:
        size, names = declared[own].size, declared[own].code_names
        earlier, later = (rows[domain.axis(name)].astype(np.int64) for name in (before.name, own))
        there = earlier < before.size - 1 if before.size > size else earlier < size
        pair = np.bincount(earlier[there] * size + later[there], minlength=before.size * size)
        table = pair.reshape(-1, size)[:size].astype(np.float64)
        shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
        cell = max(11.0, min(26.0, 210 / size))
        margin = 7.0 * max(len(shorten(n, 10)) for n in names) + 12
        parts.append(text(left + margin, 14, f"{shorten(own, 18)}: before ↓, next →", fill=INK, size=12))
        for i in range(size):
            parts.append(
                text(left + margin - 5, 24 + cell * (i + 0.5) + 3.5, shorten(names[i], 10), anchor="end", size=10)
            )
            for j in range(size):
                title = f"{names[i]} → {names[j]}: {100 * shares[i, j]:.0f} %"
                parts.append(
                    rect(left + margin + cell * j, 24 + cell * i, cell - 1, cell - 1, shade(shares[i, j], 1.0), title)
                )
        left += max(margin + cell * size, margin + 7.0 * len(shorten(own, 18)) + 130) + 26
        bottom = max(bottom, 24 + cell * size + 8)
    return picture(left, bottom, "Share of each next value, given the one before", parts) if parts else ""


def sequences_picture(view: View, domain: Domain, rows: Sequence[Codes]) -> str:
    """The rows of some parents, one after the other, coloured by the first column with few values."""
    column = _coloured(view)
    if column is None or not len(rows[0]):
        return ""
    codes = rows[domain.axis(column.name)].astype(np.int64)
    starts = np.flatnonzero(_first(view, domain, rows))
    lengths = np.diff(np.append(starts, len(codes)))
    longest = np.argsort(-lengths, kind="stable")
    chosen = np.sort(longest[:: max(1, len(longest) // (2 * LINES))][:LINES])
    names, parts = column.code_names, []
    most = int(min(ROWS, lengths[chosen].max()))
    side = 14.0
    for line, at in enumerate(chosen.tolist()):
        for place in range(min(int(lengths[at]), ROWS)):
            code = int(codes[starts[at] + place])
            parts.append(
                rect(8 + side * place, 8 + side * line, side - 2, side - 2, SERIES[code % len(SERIES)], names[code])
            )
    below = 8 + side * len(chosen) + 16
    x = 8.0
    for code in range(column.size):
        parts.append(rect(x, below - 10, 11, 11, SERIES[code % len(SERIES)]))
        parts.append(text(x + 16, below, shorten(names[code], 14), fill=SOFT))
        x += 30 + 7.0 * len(shorten(names[code], 14))
    width = max(8 + side * most, x) + 8
    return picture(width, below + 8, f"Rows of {len(chosen)} doubles in their order, coloured by {column.name}", parts)


def _coloured(view: View) -> Modelled | None:
    return next((c for c in view.own if c.axis is None and c.size <= len(SERIES)), None)


def _first(view: View, domain: Domain, rows: Sequence[Codes]) -> NDArray[np.bool_]:
    """Which rows have none before them."""
    last = [(view.gap.name, view.gap.size - 1)] if view.gap is not None else []
    last = last or [(c.name, c.size - 1) for _, c in view.previous]
    return np.asarray(np.logical_and.reduce([rows[domain.axis(name)] == code for name, code in last]), dtype=np.bool_)
