"""Made tables: codes, numbers of codes, which columns are ordered. The same seed makes the same table."""

from __future__ import annotations

import numpy as np

Made = tuple[np.ndarray, list[int], list[bool]]


def tree(*, rows: int, columns: int, seed: int) -> Made:
    """Labels: every column depends on one before it, with a strength of its own; 2 to 12 codes."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 13, columns)
    codes = np.empty((rows, columns), dtype=np.int32)
    codes[:, 0] = rng.choice(sizes[0], rows, p=rng.dirichlet(np.ones(sizes[0])))
    for i in range(1, columns):
        parent = int(rng.integers(max(0, i - 6), i))
        sharp = rng.choice([0.15, 0.5, 2.0])
        table = rng.dirichlet(np.full(sizes[i], sharp), sizes[parent]).cumsum(axis=1)
        codes[:, i] = (rng.random(rows)[:, None] > table[codes[:, parent], :-1]).sum(axis=1)
    return codes, sizes.tolist(), [False] * columns


def grid(*, rows: int, side: int, codes: int, seed: int, other: int | None = None) -> Made:
    """Neighbours on a grid tend to agree (Potts model, Gibbs sampling): many short loops."""
    rng = np.random.default_rng(seed)
    shape = side, other or side
    cells = rng.integers(0, codes, (*shape, rows))
    right, down = rng.uniform(0.2, 1.2, (2, *shape))
    field = rng.normal(0, 0.3, (*shape, codes, 1))
    for _ in range(30):
        for i in range(shape[0]):
            for j in range(shape[1]):
                energy = np.repeat(field[i, j], rows, axis=1)
                for a, b, strength in ((i, j - 1, right), (i - 1, j, down)):
                    if a >= 0 and b >= 0:
                        energy[cells[a, b], np.arange(rows)] += strength[a, b]
                for a, b, strength in ((i, j + 1, right), (i + 1, j, down)):
                    if a < shape[0] and b < shape[1]:
                        energy[cells[a, b], np.arange(rows)] += strength[i, j]
                cells[i, j] = (energy + rng.gumbel(size=energy.shape)).argmax(axis=0)
    return cells.reshape(-1, rows).T.astype(np.int32), [codes] * (shape[0] * shape[1]), [False] * (shape[0] * shape[1])


def factors(*, rows: int, columns: int, codes: int, hidden: int, seed: int, spikes: int = 0) -> Made:
    """Ordered: a few hidden factors move all columns, so every pair depends.

    With `spikes`, half of some columns is one code.
    """
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=(rows, hidden)).astype(np.float32)
    out = np.empty((rows, columns), dtype=np.int32)
    for i in range(columns):
        loading = rng.normal(size=hidden) * (rng.random(hidden) < 0.7)
        value = cause @ loading.astype(np.float32) + rng.uniform(0.3, 1.0) * rng.normal(size=rows).astype(np.float32)
        if i % 3 == 2 and codes > 2:
            value = np.exp(value)
        low, high = np.quantile(value[:100_000], [0.002, 0.998])
        out[:, i] = np.clip((value - low) / (high - low) * codes, 0, codes - 1)
        if spikes and i % 2:
            out[rng.random(rows) < 0.5, i] = 0
    return out, [codes] * columns, [codes > 2] * columns


def near_functional(*, rows: int, wide: int, narrow: int, seed: int) -> Made:
    """Wide ordered columns (90 to 110 codes) that all but determine each other, as times do, beside narrow ones."""
    rng = np.random.default_rng(seed)
    clock = rng.beta(2, 3, rows)
    columns, sizes, ordered = [], [], []
    for i in range(wide):
        size = int(rng.integers(90, 111))
        base = clock if i % 3 else rng.beta(1.5, 1.5, rows) * 0.3 + 0.7 * clock
        shift = rng.normal(0, rng.choice([0.004, 0.02, 0.06]), rows)
        columns.append(np.clip((base + shift) * size, 0, size - 1).astype(np.int32))
        sizes.append(size)
        ordered.append(True)
    for i in range(narrow):
        size = int(rng.integers(2, 16))
        if i % 3 == 0:
            column = np.clip(clock * size + rng.normal(0, 0.7, rows), 0, size - 1).astype(np.int32)
        elif i % 3 == 1 and i > 1:
            before = columns[wide + i - 2]
            table = rng.dirichlet(np.full(size, 0.4), int(before.max()) + 1).cumsum(axis=1)
            column = (rng.random(rows)[:, None] > table[before, :-1]).sum(axis=1).astype(np.int32)
        else:
            column = rng.choice(size, rows, p=rng.dirichlet(np.ones(size))).astype(np.int32)
        columns.append(column)
        sizes.append(size)
        ordered.append(i % 3 == 0)
    return np.column_stack(columns), sizes, ordered


def heavy_tails(*, rows: int, columns: int, codes: int, seed: int) -> Made:
    """Labels: code k holds about 1/k² of the rows; columns copy each other in part, so that rare codes go together."""
    rng = np.random.default_rng(seed)
    out = np.empty((rows, columns), dtype=np.int32)
    share = 1.0 / np.arange(1, codes + 1) ** 1.8
    for i in range(columns):
        out[:, i] = rng.choice(codes, rows, p=share / share.sum())
        if i:
            same = rng.random(rows) < rng.uniform(0, 0.8)
            out[same, i] = out[same, int(rng.integers(0, i))]
    return out, [codes] * columns, [False] * columns
