"""The compiled loops of refined sampling. Import this module only where rows are traded: it pulls in numba.

Watched tables lie one after the other in a flat array. A row's cell in table t is
``start[t] + stride[t] * row[left[t]] + row[right[t]]``: a pair of columns, or one column twice with stride 0.
`excess` holds counts minus expected counts and is kept up to date; a trade is made if it lowers Σ weight · excess²
by more than `gain`.
"""

from __future__ import annotations

import numpy as np

from kagemusha.graphical.compiled import compiled


@compiled()
def add_rows(rows, left, right, stride, start, excess):  # type: ignore[no-untyped-def]
    """Count every row in its cell of every table."""
    for i in range(len(rows)):
        row = rows[i]
        for t in range(start.size):
            excess[start[t] + stride[t] * row[left[t]] + row[right[t]]] += 1.0


@compiled()
def exchange(rows, spare, shift, gain, left, right, stride, start, excess, weight):  # type: ignore[no-untyped-def]
    """Offer row i the spare row i + `shift` in its place, for every i; return how many changed places."""
    old = np.empty(start.size, np.int64)
    new = np.empty(start.size, np.int64)
    trades = 0
    for i in range(len(rows)):
        row = rows[i]
        other = spare[(i + shift) % len(spare)]
        rise = 0.0
        for t in range(start.size):
            a = start[t] + stride[t] * row[left[t]] + row[right[t]]
            b = start[t] + stride[t] * other[left[t]] + other[right[t]]
            old[t] = a
            new[t] = b
            if a != b:
                rise += weight[b] * (2.0 * excess[b] + 1.0) - weight[a] * (2.0 * excess[a] - 1.0)
        if rise < -gain:
            trades += 1
            for t in range(start.size):
                excess[old[t]] -= 1.0
                excess[new[t]] += 1.0
            for c in range(row.size):
                row[c], other[c] = other[c], row[c]
    return trades


@compiled()
def cross(rows, first, second, branch, gain, left, right, stride, start, excess, weight):  # type: ignore[no-untyped-def]
    """Let rows first[k] and second[k] trade their `branch` columns, for every k in turn; return how many did.

    Each table must have exactly one of its two columns in the branch.
    """
    trades = 0
    for k in range(len(first)):
        one = rows[first[k]]
        two = rows[second[k]]
        rise = 0.0
        for t in range(start.size):
            a, b, c, d = one[left[t]], one[right[t]], two[left[t]], two[right[t]]
            if a != c and b != d:
                here = start[t] + stride[t] * a
                there = start[t] + stride[t] * c
                rise += weight[here + d] * (2.0 * excess[here + d] + 1.0)
                rise += weight[there + b] * (2.0 * excess[there + b] + 1.0)
                rise -= weight[here + b] * (2.0 * excess[here + b] - 1.0)
                rise -= weight[there + d] * (2.0 * excess[there + d] - 1.0)
        if rise < -gain:
            trades += 1
            for t in range(start.size):
                here = start[t] + stride[t] * one[left[t]]
                there = start[t] + stride[t] * two[left[t]]
                excess[here + one[right[t]]] -= 1.0
                excess[there + two[right[t]]] -= 1.0
                excess[here + two[right[t]]] += 1.0
                excess[there + one[right[t]]] += 1.0
            for c in branch:
                one[c], two[c] = two[c], one[c]
    return trades
