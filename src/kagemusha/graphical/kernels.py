"""The compiled loops of this room: an interpreter of table programs over a flat buffer, rounding, trades of rows.

A program is an int64 array of instructions, written by `program.py`; so a new junction tree needs new integers,
never a new compilation. Import this module only where a program is run or rows are traded: it pulls in numba.

Instruction layout: ``op, big, small, groups, size_0 … size_{g-1}, stride_0 … stride_{g-1}`` where `big` is a
contiguous table walked in order and `small` a table addressed by strides (0: the axis is absent there; the last
stride is 0 or 1, because both tables list their shared axes in the same order);
``LOG_SUM_EXP`` instead holds ``op, table, message, inverse, rows, columns, separator_last``.
"""

from __future__ import annotations

import math

import numpy as np

from kagemusha.graphical.compiled import compiled
from kagemusha.graphical.program import ADD, CLEAR, LOG_SUM_EXP, MULTIPLY, SET

# Reassociation lets reductions use vector registers; infinities and NaN keep their meaning (structural zeros). What may
# be reordered must exist once: a function called by another is compiled alone and within it, to other digits, and a
# process that compiles runs one copy, a process that loads machine code the other. So all parts of `run` are inlined.
_FAST = {"reassoc", "contract", "nsz", "arcp"}

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93145751953125e-1
_LN2_LOW = 1.42860682030941723212e-6


@compiled(fastmath=_FAST, inline=True)
def _exp(x):  # type: ignore[no-untyped-def]
    # Branch-free, so that the loop around it becomes vector code: libm's exp costs five times as much.
    clipped = min(max(x, -708.0), 709.0)
    k = np.floor(clipped * _LOG2E + 0.5)
    r = (clipped - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    scale = np.int64((np.int64(k) + 1023) << 52).view(np.float64)
    return p * scale if x >= -708.0 else 0.0


@compiled(fastmath=_FAST, inline=True)
def _log_sum_exp(buf, table, message, inverse, rows, columns, separator_last):  # type: ignore[no-untyped-def]
    """Exponentiate log potentials, shifted for each separator state; write the log message and the inverse sums."""
    if not separator_last:
        for s in range(rows):
            row = buf[table + s * columns : table + (s + 1) * columns]
            top = -np.inf
            for j in range(columns):
                top = max(top, row[j])
            if top == -np.inf:
                for j in range(columns):
                    row[j] = 0.0
                buf[message + s] = -np.inf
                buf[inverse + s] = 0.0
                continue
            total = 0.0
            for j in range(columns):
                value = _exp(row[j] - top)
                row[j] = value
                total += value
            buf[message + s] = top + math.log(total)
            buf[inverse + s] = 1.0 / total
        return
    top_of = buf[message : message + columns]
    total_of = buf[inverse : inverse + columns]
    for s in range(columns):
        top_of[s] = -np.inf
    for i in range(rows):
        row = buf[table + i * columns : table + (i + 1) * columns]
        for s in range(columns):
            top_of[s] = max(top_of[s], row[s])
    for s in range(columns):
        total_of[s] = top_of[s] if top_of[s] > -np.inf else 0.0
    for i in range(rows):
        row = buf[table + i * columns : table + (i + 1) * columns]
        for s in range(columns):
            row[s] = _exp(row[s] - total_of[s])
    for s in range(columns):
        total_of[s] = 0.0
    for i in range(rows):
        row = buf[table + i * columns : table + (i + 1) * columns]
        for s in range(columns):
            total_of[s] += row[s]
    for s in range(columns):
        if total_of[s] > 0.0:
            top_of[s] += math.log(total_of[s])
            total_of[s] = 1.0 / total_of[s]


@compiled(fastmath=_FAST, inline=True)
def _walk(op, buf, big, small, n, stride):  # type: ignore[no-untyped-def]
    """One innermost run: `n` cells of the big table against a run of the small one."""
    table = buf[big : big + n]
    if stride == 0:
        value = buf[small]
        if op == SET:
            for j in range(n):
                table[j] = value
        elif op == ADD:
            for j in range(n):
                table[j] += value
        elif op == MULTIPLY:
            for j in range(n):
                table[j] *= value
        else:
            total = 0.0
            for j in range(n):
                total += table[j]
            buf[small] += total
    else:
        other = buf[small : small + n]
        if op == SET:
            for j in range(n):
                table[j] = other[j]
        elif op == ADD:
            for j in range(n):
                table[j] += other[j]
        elif op == MULTIPLY:
            for j in range(n):
                table[j] *= other[j]
        else:
            for j in range(n):
                other[j] += table[j]


@compiled(fastmath=_FAST)
def run(program, buf):  # type: ignore[no-untyped-def]
    """Execute every instruction of `program` on `buf`, in order."""
    counter = np.zeros(64, np.int64)
    at = 0
    while at < program.size:
        op = program[at]
        if op == LOG_SUM_EXP:
            _log_sum_exp(
                buf,
                program[at + 1],
                program[at + 2],
                program[at + 3],
                program[at + 4],
                program[at + 5],
                program[at + 6],
            )
            at += 7
            continue
        if op == CLEAR:
            cleared = buf[program[at + 1] : program[at + 1] + program[at + 2]]
            for j in range(cleared.size):
                cleared[j] = 0.0
            at += 3
            continue
        big = program[at + 1]
        small = program[at + 2]
        groups = program[at + 3]
        sizes = program[at + 4 : at + 4 + groups]
        strides = program[at + 4 + groups : at + 4 + 2 * groups]
        at += 4 + 2 * groups
        inner, inner_stride = sizes[groups - 1], strides[groups - 1]
        middle, middle_stride = sizes[groups - 2], strides[groups - 2]
        outer = 1
        for g in range(groups - 2):
            outer *= sizes[g]
            counter[g] = 0
        for _ in range(outer):
            for m in range(middle):
                _walk(op, buf, big, small + m * middle_stride, inner, inner_stride)
                big += inner
            g = groups - 3
            while g >= 0:
                counter[g] += 1
                small += strides[g]
                if counter[g] < sizes[g]:
                    break
                small -= sizes[g] * strides[g]
                counter[g] = 0
                g -= 1


@compiled()
def round_with_carry(expected, sizes, carry, luck, counts):  # type: ignore[no-untyped-def]
    """Round each row of `expected` up or down to `counts` with sum `sizes`, passing what was lost to the next row.

    In each row the cells owed most are rounded up; a cell without a fraction never is, so zeros stay zero. A cell of a
    small fraction f may claim what other rows owe its column only with chance 10·f (`luck` is uniform in [0, 1)), or
    all debts would be paid where the model hardly puts anyone.
    """
    rows, columns = expected.shape
    score = np.empty(columns)
    for g in range(rows):
        left = sizes[g]
        for j in range(columns):
            down = math.floor(expected[g, j])
            fraction = expected[g, j] - down
            counts[g, j] = int(down)
            left -= int(down)
            carry[j] += fraction
            if fraction <= 0.0:
                score[j] = -np.inf
            elif luck[g, j] < 10.0 * fraction:
                score[j] = carry[j]
            else:
                score[j] = fraction - 1e12  # only if nobody else is left
        for _ in range(left):
            best = 0
            for j in range(1, columns):
                if score[j] > score[best]:
                    best = j
            counts[g, best] += 1
            carry[best] -= 1.0
            score[best] = -np.inf


# Refined sampling. Watched tables lie one after the other in a flat array. A row's cell in table t is
# start[t] + stride[t] * row[left[t]] + row[right[t]]: a pair of columns, or one column twice with stride 0. `excess`
# holds counts minus expected counts and is kept up to date; a trade is made if it lowers Σ weight · excess² by more
# than `gain`.


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
