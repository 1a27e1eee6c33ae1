"""Every number that kage's authors chose, each with its reason in docs/algorithms/kage.md.

First what acts on accuracy, then limits of time and memory, then the resolution of the numerics.
"""

from collections.abc import Sequence

COLUMNS = 0.15
"""Share of the budget for the first look at columns, and the most for that at pairs."""

TYPICAL = 3
"""Pairs that are measured per column, about."""

TRIPLES = 0.01
"""Triples are looked at if pairs should end with a smaller mean error than this, a share of records; it takes the same
share of the budget."""

INSTALMENTS = (0.4, 1.0)
"""Parts of what the looks leave that are spent when each instalment ends."""

USUAL = 0.05
"""Prior mean of a pair's distance from independence, a share of records; that of a pair that counts more is as many
times larger."""

DOUBT = 0.15
"""A pair is thought to keep at least this share of the distance that the model implies."""

LEAST = 0.15
"""Least prior precision of an interaction's cells, over their relative noise, which is the most."""

KEPT = 0.75
"""Share of a measurement's noise that the fit leaves; as much again is felt by other tables where it drowns."""

FIRM = 0.5
"""A pair that determines itself feels this share of noise less: most of its cells are empty."""

SMOOTH = 3.0
"""Groups that hide half of a weak dependence between ordered columns."""

ROW = 0.5
"""A code gets a group of its own in a pair above this share of the noise in its row, and in the model if some pair
could give it one; neighbours of an ordered column make a group at this part of that threshold."""

UNLIKE = 0.25
"""Share of a column's codes that may be far from what is expected, whatever the others are like."""

NEIGHBOURS = 4
"""So many codes of an ordered column next to each other are a family, fewer where there would not be three."""

MARGIN = 0.1
"""What all pairs that are measured though the model has no room for them must take off the predicted error."""

LADDER, WORTH = (1 / 64, 1 / 16, 1 / 4, 1.0), 0.01
"""Parts of the most cells that a model may have: the next one must take this share off the predicted error; and a
model without room for everything grows by these."""

MANY = 1000
"""Pairs, with more of which all is spent in one instalment; triples, of which no more are looked at."""

PASSES = (80, 500, 1 << 24)
"""Most passes of a fit that only says what it does not know, and of the last; which may look at so many cells in any
case."""

ENOUGH = 0.1
"""A fit ends when its last passes gained less than this share of what noise is about to cost, as log-likelihood per
record."""

SHAPES: Sequence[float] = (0.3, 0.6, 1.0, 2.0, 5.0, 12.0, 30.0, 100.0, 1000.0)
"""Of the distribution of a column's counts: from a few codes that hold everything to codes that are all alike."""
