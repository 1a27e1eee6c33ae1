"""A simulation with a seed is the same to the last bit from the first process after an installation on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SIMULATED = """
import hashlib
import numpy as np
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Schema
from kagemusha.sources import CodesSource
from kagemusha.synthesizers import create, fit

rng = np.random.default_rng(0)
first = rng.integers(0, 7, 3000)
others = [np.where(rng.random(3000) < 0.6, first % size, rng.integers(0, size, 3000)) for size in (5, 6, 9, 12)]
codes = np.stack([first, *others])
schema = Schema([Category(f"c{i}", categories=[str(k) for k in range(row.max() + 1)]) for i, row in enumerate(codes)])
found = hashlib.sha256()
for method in ("aim", "kage"):
    model = fit(create(method), CodesSource(schema, codes), Budget(1.0, 1e-6), simulation=3)
    for pair in model.generator.domain.names[1:]:
        found.update(np.ascontiguousarray(model.generator.project(("c0", pair))).tobytes())
    found.update(np.ascontiguousarray(model.sample_codes(500, rng=np.random.default_rng(1))).tobytes())
print(found.hexdigest())
"""


@pytest.mark.slow
def test_the_first_process_after_an_installation_gives_the_digits_of_all_later_ones(tmp_path: Path) -> None:
    """An empty cache compiles, the next process loads what it compiled, an empty one compiles again."""
    answers = []
    for folder, seed in (("first", "1"), ("first", "2"), ("second", "3")):
        machine_code = tmp_path / folder
        fresh = not machine_code.exists()
        machine_code.mkdir(exist_ok=True)
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(machine_code), "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", SIMULATED], env=environment, capture_output=True, text=True, check=True
        )
        assert list(machine_code.rglob("*.nbi")), "machine code is kept here"
        assert fresh or len(answers) == 1
        answers.append(done.stdout.strip())
    assert len(answers[0]) == 64
    assert answers == answers[:1] * 3
