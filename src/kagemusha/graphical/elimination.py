"""Greedy elimination of a graph, compiled. Import this module only where a graph is eliminated: it pulls in numba.

A graph is three arrays. `near` holds each vertex's neighbours and itself, one bit each, in words of 64; `cells` the
product of their sizes, taken in the order of the vertices; `missing` how many edges its neighbours lack to be a
clique. The next vertex to go is the one with the fewest `cells`, or the one with the least `(missing, cells)`; ties go
to the first.

Cells are floats, because a product of sizes soon exceeds any integer. They are exact below 2^53, and rounding never
takes a larger product below that. So whenever the vertex that goes has fewer cells, it is the one that exact numbers
choose; two vertices can only be confused if both have more, and then the tree has a clique of more than 2^53 cells
either way. A tree whose cliques are smaller is therefore exactly the one of exact numbers, and no other fits a memory.
"""

from __future__ import annotations

import numpy as np

from kagemusha.graphical.compiled import compiled

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_PAIRS, _FOURS, _EIGHTS = (np.uint64(m) for m in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_BYTES = np.uint64(0x0101010101010101)
_S1, _S2, _S4, _S56 = (np.uint64(s) for s in (1, 2, 4, 56))


@compiled()
def _ones(word):  # type: ignore[no-untyped-def]
    # The compiler knows this pattern and makes one instruction of it.
    word -= (word >> _S1) & _PAIRS
    word = (word & _FOURS) + ((word >> _S2) & _FOURS)
    word = (word + (word >> _S4)) & _EIGHTS
    return np.int64((word * _BYTES) >> _S56)


@compiled()
def _first(word):  # type: ignore[no-untyped-def]
    """Position of the lowest bit."""
    return _ones(~word & (word - _ONE))


@compiled()
def _bit(vertex):  # type: ignore[no-untyped-def]
    return _ONE << np.uint64(vertex & 63)


@compiled()
def members_of(masks, row, members):  # type: ignore[no-untyped-def]
    """Write the vertices of one mask and return how many there are."""
    count = 0
    for w in range(masks.shape[1]):
        word = masks[row, w]
        while word != _ZERO:
            members[count] = 64 * w + _first(word)
            count += 1
            word &= word - _ONE
    return count


@compiled()
def _inside(masks, row, others, count):  # type: ignore[no-untyped-def]
    """Whether the neighbourhood of a vertex lies inside one of the first `count` others."""
    word, own = row >> 6, _bit(row)
    for k in range(count - 1, -1, -1):
        if others[k, word] & own == _ZERO:
            continue
        w = 0
        while w < masks.shape[1] and masks[row, w] & ~others[k, w] == _ZERO:
            w += 1
        if w == masks.shape[1]:
            return True
    return False


@compiled()
def put(masks, row, others, to):  # type: ignore[no-untyped-def]
    """Copy one mask."""
    # Arrays are copied in loops throughout: assigning a slice takes seconds to compile.
    for w in range(masks.shape[1]):
        others[to, w] = masks[row, w]


@compiled()
def _product(near, vertex, sizes):  # type: ignore[no-untyped-def]
    product = 1.0
    for w in range(near.shape[1]):
        word = near[vertex, w]
        while word != _ZERO:
            product *= sizes[64 * w + _first(word)]
            word &= word - _ONE
    return product


@compiled()
def _join(near, missing, a, b):  # type: ignore[no-untyped-def]
    """A new edge: vertices next to both ends lack one edge less, the ends' neighbours get a new one to be joined to."""
    only_a, only_b = -1, -1  # a is its own neighbour and not b's
    for w in range(near.shape[1]):
        both = near[a, w] & near[b, w]
        only_a += _ones(near[a, w] ^ both)
        only_b += _ones(near[b, w] ^ both)
        while both != _ZERO:
            missing[64 * w + _first(both)] -= 1
            both &= both - _ONE
    missing[a] += only_a
    missing[b] += only_b
    near[a, b >> 6] |= _bit(b)
    near[b, a >> 6] |= _bit(a)


@compiled()
def _connect(near, missing, masks, row, members, count):  # type: ignore[no-untyped-def]
    """Make a clique of the vertices of one mask, which are the first `count` of `members`."""
    for k in range(count):
        a = members[k]
        for w in range(a >> 6, near.shape[1]):
            lacking = masks[row, w] & ~near[a, w]
            while lacking != _ZERO:
                b = 64 * w + _first(lacking)
                if b > a:
                    _join(near, missing, a, b)
                lacking &= lacking - _ONE


@compiled()
def add_clique(near, cells, missing, sizes, masks, row):  # type: ignore[no-untyped-def]
    """Make a clique of one row of `masks`, in place."""
    members = np.empty(len(near), np.int64)
    count = members_of(masks, row, members)
    _connect(near, missing, masks, row, members, count)
    for k in range(count):
        cells[members[k]] = _product(near, members[k], sizes)


@compiled()
def add_cliques(near, cells, missing, sizes, masks):  # type: ignore[no-untyped-def]
    """Make a clique of each row of `masks`, in place."""
    for row in range(len(masks)):
        add_clique(near, cells, missing, sizes, masks, row)


@compiled()
def _remove(near, missing, vertex, members, count, fill):  # type: ignore[no-untyped-def]
    """Join the neighbours of a vertex, which are the first `count` of `members`, and take it out of them."""
    words = near.shape[1]
    if fill:
        if missing[vertex] > 0:
            near[vertex, vertex >> 6] &= ~_bit(vertex)
            _connect(near, missing, near, vertex, members, count)
            near[vertex, vertex >> 6] |= _bit(vertex)
        for k in range(count):
            u = members[k]
            for w in range(words):
                missing[u] -= _ones(near[u, w] & ~near[vertex, w])
    else:
        for k in range(count):
            for w in range(words):
                near[members[k], w] |= near[vertex, w]
    for k in range(count):
        near[members[k], vertex >> 6] &= ~_bit(vertex)


@compiled()
def eliminate(near, cells, missing, sizes, fill, most, cliques):  # type: ignore[no-untyped-def]
    """Write the maximal cliques of the triangulation; return their number and cells, or -1 if those exceed `most`.

    With `fill` the vertex with the least `(missing, cells)` goes first, else the one with the fewest `cells`. The
    graph is used up.
    """
    order = np.empty(len(near), np.int64)
    for v in range(len(near)):
        order[v] = v
    found, total, _ = go_on(near, cells, missing, sizes, fill, most, cliques, order, len(near), 0, np.int64(0), 0.0)
    return found, total


@compiled()
def go_on(near, cells, missing, sizes, fill, most, cliques, order, left, until, found, total):  # type: ignore[no-untyped-def]
    """Eliminate until so many vertices are left; also returns how many are, which is none if all lie in one clique."""
    members = np.empty(len(near), np.int64)
    while left > until:
        at = 0
        v = order[0]
        for k in range(1, left):
            u = order[k]
            if fill and missing[u] != missing[v]:
                less = missing[u] < missing[v]
            else:
                less = cells[u] < cells[v]
            if less:
                at, v = k, u
        if not _inside(near, v, cliques, found):
            put(near, v, cliques, found)
            found += 1
            total += cells[v]
            if total > most:
                return np.int64(-1), total, left
        left -= 1
        for k in range(at, left):
            order[k] = order[k + 1]
        order[left] = v
        near[v, v >> 6] &= ~_bit(v)
        count = members_of(near, v, members)
        near[v, v >> 6] |= _bit(v)
        if count == left:
            return found, total, 0
        _remove(near, missing, v, members, count, fill)
        for k in range(count):
            cells[members[k]] = _product(near, members[k], sizes)
    return found, total, left


@compiled()
def copy_graph(near, cells, missing, near_to, cells_to, missing_to):  # type: ignore[no-untyped-def]
    """Copy the three arrays of a graph."""
    for v in range(len(near)):
        put(near, v, near_to, v)
        cells_to[v] = cells[v]
        missing_to[v] = missing[v]


@compiled()
def _fewest(near, cells, missing, sizes, most):  # type: ignore[no-untyped-def]
    """Cells of the smaller of both rules' trees, or infinity if both have more than `most`."""
    left, prices, lacking = np.empty(near.shape, np.uint64), np.empty(len(near)), np.empty(len(near), np.int64)
    cliques = np.empty(near.shape, np.uint64)
    fewest = np.inf
    for rule in range(2):
        copy_graph(near, cells, missing, left, prices, lacking)
        count, total = eliminate(left, prices, lacking, sizes, rule == 1, min(most, fewest), cliques)
        if count >= 0:
            fewest = min(fewest, total)
    return fewest


@compiled()
def candidate_totals(near, cells, missing, sizes, candidates, totals):  # type: ignore[no-untyped-def]
    """Cells of the smallest tree with each candidate (a row) in it."""
    n = len(near)
    graph, prices, lacking = np.empty(near.shape, np.uint64), np.empty(n), np.empty(n, np.int64)
    for row in range(len(candidates)):
        copy_graph(near, cells, missing, graph, prices, lacking)
        add_clique(graph, prices, lacking, sizes, candidates, row)
        totals[row] = _fewest(graph, prices, lacking, sizes, np.inf)


@compiled()
def grow(near, cells, missing, sizes, mask, most):  # type: ignore[no-untyped-def]
    """Put one more clique (a single row) into the graph unless its smallest tree has too many cells then.

    Says which.
    """
    n = len(near)
    graph, prices, lacking = np.empty(near.shape, np.uint64), np.empty(n), np.empty(n, np.int64)
    copy_graph(near, cells, missing, graph, prices, lacking)
    add_cliques(graph, prices, lacking, sizes, mask)
    fits = _fewest(graph, prices, lacking, sizes, most) <= most
    if fits:
        copy_graph(graph, prices, lacking, near, cells, missing)
    return fits
