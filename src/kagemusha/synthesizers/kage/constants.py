"""Every number that kage's authors chose, each with its reason in docs/algorithms/kage.md.

First what acts on accuracy, then limits of time and memory, then the resolution of the numerics.
"""

from collections.abc import Sequence

COLUMNS = 0.15
"""Share of the budget for the first look at columns."""

SCORES, BALANCE = (0.03, 0.15), 0.55
"""Share of the budget for the distances of all pairs from independence: between these two, see `Kage.shares`."""

TYPICAL = 3
"""Pairs that are measured per column, about."""

TRIPLE_SCORES = 0.02
"""Share of the budget for the distances of triples from the model."""

INSTALMENTS = (0.4, 1.0)
"""Parts of what the looks leave that are spent when each instalment ends."""

USUAL, WANTED = 0.05, 0.3
"""Prior mean of a pair's distance from independence, a share of records; the second for pairs of a named target."""

DOUBT = 0.15
"""A pair is thought to keep at least this share of the distance that the model implies."""

TRUST = 0.5
"""Share of a dependence that a path of measured pairs of the same strength is trusted to explain."""

PRIOR, LEAST = 0.6, 0.25
"""Most prior precision of an interaction's cells, over their relative noise; and the least share of it."""

KEPT, CARRIED = 0.7, 0.8
"""Share of a measurement's noise that the fit leaves, and what more of it other tables feel where it drowns."""

FIRM = 0.5
"""A pair that determines itself feels this share of noise less: most of its cells are empty."""

FELT = 0.3
"""A cell that expects this many deviations of noise feels all of it, one that expects less only a part."""

SMOOTH = 3.0
"""Groups that hide half of a weak dependence between ordered columns."""

ALONE, ROW = 2.0, 0.5
"""A code gets a group of its own above this many deviations of a pair's cell; and in a pair, above this share of the
noise in its row."""

ORDERED = 0.25
"""Neighbours of an ordered column make a group at this part of those thresholds."""

UNLIKE = 0.25
"""Share of a column's codes that may be far from what is expected, whatever the others are like."""

NEIGHBOURS = 4
"""So many codes of an ordered column next to each other are a family, fewer where there would not be three."""

OUTSIDE, MARGIN = 0.8, 0.1
"""Share of a pair's error that goes if it is measured though the model has no room for it; and what all such pairs
together must take off the predicted error."""

PRECISE = 0.008
"""Triples are looked at if pairs should end with a smaller mean error than this, a share of records."""

LIMITS, WORTH = (60_000, 250_000, 1_000_000, 4_000_000), 0.01
"""Cells of the model; four times as many must take this share off the predicted error."""

MANY, PATIENCE, MOST_TRIPLES = 2000, 40, 500
"""Pairs, with more of which all is spent in one instalment; candidates in a row without room, after which the search
ends; triples that are looked at."""

SKETCH, PASSES, WORK = 60, (80, 800), 2.0e9
"""Passes of a fit that only says what it does not know; fewest and most of the last; cells they may visit."""

ENOUGH, POLISHED = 0.1, 0.01
"""The fit ends when its last passes gained less than this share of what noise is about to cost, as log-likelihood per
record; then columns alone are fitted, until passes gain less than the second share of what their noise costs."""

GROWTH = 8
"""Doublings in which a model grows that has no room for everything."""

SHAPES: Sequence[float] = (0.3, 0.6, 1.0, 2.0, 5.0, 12.0, 30.0, 100.0, 1000.0)
"""Of the distribution of a column's counts: from a few codes that hold everything to codes that are all alike."""

SHARES: Sequence[float] = (0.0, 0.05, 0.1, 0.15, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8)
"""Of what is left, tried for columns."""
