"""The ε of a wanted error: what its many fits of the same tables may cost."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.marginals.tally import Tally
from kagemusha.planning.wanted import solve_epsilon
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Schema
from kagemusha.synthesizers import create


def test_a_stand_in_is_counted_once_however_many_fits_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema([Category(name, categories=tuple("abcd")) for name in "xyz"])
    rng = np.random.default_rng(0)
    tables = [rng.integers(0, 4, (2_000, 3)) for _ in range(2)]
    fits, counted = [0.0], dict.fromkeys(range(len(tables)), 0)
    add = Tally.add

    def counting(self: Tally, columns: list[np.ndarray]) -> None:
        for i, table in enumerate(tables):
            if np.array_equal(np.column_stack(columns), table):
                counted[i] += len([clique for clique in self.cliques if len(clique) == 1])
        add(self, columns)

    monkeypatch.setattr(Tally, "add", counting)
    solve_epsilon(
        create("independent"),
        schema,
        tables,
        Budget(1.0, 1e-9),
        0.05,
        [("x", "y"), ("x", "z"), ("y", "z")],
        progress=lambda what, done: fits.append(done),
    )
    assert len(fits) > 2 * len(tables), "each was tried more than once"
    assert all(0 < n <= len(schema.domain) for n in counted.values()), counted
