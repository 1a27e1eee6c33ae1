"""Which candidates keep a junction tree small, compiled.

Import this module only where that is asked: it pulls in numba.
"""

from __future__ import annotations

import numpy as np

from kagemusha.graphical.compiled import compiled
from kagemusha.graphical.elimination import add_clique, copy_graph, eliminate, go_on, members_of, put

STOPS = 32
"""Places on the way of an elimination from which others go on."""


@compiled()
def candidates_fit(near, cells, missing, sizes, candidates, most, fits):  # type: ignore[no-untyped-def]
    """Whether the smallest tree with each candidate (a row) in it has at most `most` cells.

    A new clique only adds to the `cells` of its own vertices. So by the rule of fewest cells everything goes as it does
    without the clique until the first of them would go: it is done once for all candidates, and each starts from the
    last stop before that.
    """
    n = len(near)
    stops = min(n, STOPS)
    graphs, prices = np.empty((stops, n, near.shape[1]), np.uint64), np.empty((stops, n))
    orders, place = np.empty((stops, n), np.int64), np.full(n, stops - 1)
    lefts, founds, totals = np.zeros(stops, np.int64), np.zeros(stops, np.int64), np.zeros(stops)
    graph, price, lacking = np.empty(near.shape, np.uint64), np.empty(n), np.empty(n, np.int64)
    common, order = np.empty(near.shape, np.uint64), np.empty(n, np.int64)
    copy_graph(near, cells, missing, graph, price, lacking)
    for v in range(n):
        order[v] = v
    left, found, total, reached = n, np.int64(0), 0.0, 0
    for stop in range(stops):
        if left == 0:
            break
        reached = stop
        copy_graph(graph, price, lacking, graphs[stop], prices[stop], lacking)
        for v in range(n):
            orders[stop, v] = order[v]
        lefts[stop], founds[stop], totals[stop] = left, found, total
        until = n - (stop + 1) * n // stops
        found, total, now = go_on(graph, price, lacking, sizes, False, np.inf, common, order, left, until, found, total)
        for k in range(now, left):
            place[order[k]] = stop
        left = now

    again, cliques = np.empty(near.shape, np.uint64), np.empty(near.shape, np.uint64)
    members = np.empty(n, np.int64)
    for row in range(len(candidates)):
        stop = reached
        for k in range(members_of(candidates, row, members)):
            stop = min(stop, place[members[k]])
        copy_graph(graphs[stop], prices[stop], missing, graph, price, lacking)
        add_clique(graph, price, lacking, sizes, candidates, row)
        for v in range(n):
            order[v] = orders[stop, v]
        for k in range(founds[stop]):
            put(common, k, cliques, k)
        count, _, _ = go_on(
            graph, price, lacking, sizes, False, most, cliques, order, lefts[stop], 0, founds[stop], totals[stop]
        )
        fits[row] = count >= 0
        if not fits[row]:  # the second rule only where the first does not do
            copy_graph(near, cells, missing, again, price, lacking)
            add_clique(again, price, lacking, sizes, candidates, row)
            count, _ = eliminate(again, price, lacking, sizes, True, most, cliques)
            fits[row] = count >= 0
