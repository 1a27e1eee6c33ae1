"""Every constant of kage, each with its reason in docs/algorithms/kage.md: first what acts on accuracy, then limits."""

COLUMNS = 0.15
"""Share of the budget for the first look at columns."""

SCORES, BALANCE = (0.03, 0.15), 0.55
"""Share of the budget for the distances of all pairs from independence: between these two, see `Kage.shares`."""

TYPICAL = 3
"""Pairs that are measured per column, about."""

TRIPLE_SCORES = 0.02
"""Share of the budget for the distances of triples from the model."""

INSTALMENTS = (0.4, 0.7, 1.0)
"""Parts of what the looks leave that are spent when each instalment ends."""

KEPT, CARRIED = 0.7, 0.8
"""Share of a measurement's noise that estimation leaves, and what more of it other tables feel where it drowns."""

FIRM = 0.5
"""A pair that determines itself feels this share of noise less: most of its cells are empty."""

FELT = 0.3
"""A cell that expects this many deviations of noise feels all of it, one that expects less only a part."""

ALONE, ROW = 2.0, 0.5
"""A code gets a group of its own above this many deviations of a pair's cell; and in a pair, above this share of the
noise in its row."""

ORDERED = 0.25
"""Neighbours of an ordered column make a group at this part of those thresholds."""

MERGED = 0.1
"""Codes without an order that share a group hold at most this share of the records."""

USUAL, WANTED = 0.05, 0.3
"""Prior mean of a pair's distance from independence, a share of records; the second for pairs of a named target."""

SMOOTH = 3.0
"""Prior number of groups that hide half of a weak dependence between ordered columns."""

DOUBT = 0.15
"""A pair is thought to keep at least this share of the distance that the model implies."""

MANY = 2000
"""Pairs: with more, all is spent in one instalment."""

TRUST = 0.5
"""Share of a dependence that a path of measured pairs of the same strength is trusted to explain."""

OUTSIDE = 0.8
"""Share of a pair's error that goes if it is measured though the model has no room for it."""

MARGIN = 0.1
"""What the model has no room for is measured if that takes this share off the predicted error."""

PRECISE = 0.008
"""Triples are looked at if pairs should end with a smaller mean error than this, a share of records."""

PRIOR, LEAST = 0.6, 0.25
"""Prior precision of an interaction's cells, over their relative noise; and the least share of it that is left."""

LIMITS = (60_000, 250_000, 1_000_000, 4_000_000)
"""Cells of the model: four times as many must take WORTH off the predicted error."""

WORTH = 0.02

SKETCH, PASSES, WORK = 60, (80, 800), 2.0e9
"""Passes of a fit that only says what it does not know; fewest and most of the last; cells they may visit."""

UNLIKE = 0.25
"""Share of a column's codes that may be far from what is expected, whatever the others are like."""
