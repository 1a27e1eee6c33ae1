"""A lock on what kage asks and makes of it, on tables of a second: whoever moves a constant or a branch sees it here.

    python tests/synthesizers/test_kage_asked.py

stores what the present code does in kage_asked.json: do so only where a change is meant, and look at
`test_kage_accuracy.py` for what it is worth.
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from test_kage_accuracy import binary, factors, stamps, tree

from kagemusha.arrays import IntArray
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources.codes import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

STORED = Path(__file__).with_name("kage_asked.json")
WITHIN = 2e-3


def apart() -> IntArray:
    """1,000 rows, twelve columns of which two pairs depend: most scores are noise."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 5, (1_000, 12))
    for a, b in ((0, 1), (2, 3)):
        codes[:, b] = np.where(rng.random(1_000) < 0.8, codes[:, a], codes[:, b])
    return codes


def equal() -> IntArray:
    """8,000 rows, three ordered columns of forty codes: two nearly equal, one smooth beside them; and two labels."""
    rng = np.random.default_rng(6)
    base = rng.normal(20, 7, 8_000)
    columns = [base, base + rng.exponential(0.7, 8_000), 0.5 * base + rng.normal(10, 6, 8_000)]
    labels = [(base > 20) ^ (rng.random(8_000) < 0.2), rng.random(8_000) ** 4 * 60]
    ends = (39, 39, 39, 1, 59)
    return np.column_stack([np.clip(c, 0, end) for c, end in zip([*columns, *labels], ends, strict=True)]).astype(int)


CASES = {
    "tree, 1": (tree, 0, 1.0, {}),
    "tree, 10, little room": (tree, 0, 10.0, {"max_cells": 3_000}),
    "factors, 0.5": (factors, 8, 0.5, {}),
    "factors, 4, little room": (factors, 8, 4.0, {"max_cells": 20_000}),
    "binary, 1": (binary, 0, 1.0, {}),
    "binary, 0.1": (binary, 0, 0.1, {}),
    "stamps, 0.2": (stamps, 4, 0.2, {}),
    "equal, 3": (equal, 3, 3.0, {}),
    "apart, 0.5": (apart, 4, 0.5, {}),
    "apart, 0.5, a target": (apart, 4, 0.5, {"target": "c1"}),
}


def asked(name: str) -> dict[str, float]:
    """Costs, widths and places of all questions, and the model, in a few sums each."""
    made, ordered, epsilon, options = CASES[name]
    codes = made()
    schema = Schema(
        [
            Integer(f"c{i}", lower=0, upper=size - 1)
            if i < ordered
            else Category(f"c{i}", categories=tuple(range(size)), out_of_domain="clip")
            for i, size in enumerate((codes.max(axis=0) + 1).tolist())
        ]
    )
    source = CodesSource(schema, list(codes.T), remember=1 << 22)
    model = fit(create("kage", **options), source, Budget(epsilon, 1e-9), schema=schema, simulation=0)
    generator = model.generator
    assert isinstance(generator, MarkovGenerator)
    places = {column: i for i, column in enumerate(schema.domain.names)}
    found = {f"columns {i}": m.sigma for i, m in enumerate(model.measurements[:: len(places)])}
    found |= {"scores": model.scores.sigma if model.scores is not None else 0.0, "expected": model.expected or 0.0}
    for size in (2, 3):
        of_size = [m for m in model.interactions if len(m.query.clique) == size]
        found[f"questions of {size}"] = len(of_size)
        found[f"places of {size}"] = sum((1 + places[n]) ** 2 for m in of_size for n in m.query.clique)
        found[f"groups of {size}"] = sum(sum(m.query.shape) for m in of_size)
        found[f"noise of {size}"] = sum(m.sigma for m in of_size)
    tables = [generator.project(pair) / generator.total for pair in combinations(schema.domain.names, 2)]
    found["cells"], found["corrected"] = generator.field.tree.cells, len(generator.pairs)
    found["pairs"] = float(np.mean([(table**2).sum() for table in tables]))
    columns = [generator.project((column,)) / generator.total for column in schema.domain.names]
    found["columns"] = float(np.mean([(column**2).sum() for column in columns]))
    return {key: float(f"{value:.6g}") for key, value in found.items()}


@pytest.mark.parametrize("name", CASES)
def test_kage_asks_what_it_asked(name: str) -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))[name]
    assert asked(name) == pytest.approx(stored, rel=WITHIN)


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: asked(name) for name in CASES}, indent=1) + "\n", encoding="utf-8")
