"""When rows alone are cheaper: `gaussian-rows` beside `gaussian`, same table, same (ε, δ), same run.

    python benchmarks/gaussian_rows.py

Adult's six numbers, and the same rows forty times over as a table forty times as large (what a larger table of such
people would be). Noise is simulated. Writes benchmarks/results/gaussian_rows.md.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kagemusha.privacy.budget import Budget
from kagemusha.schema import Real, Schema
from kagemusha.sources import FrameSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create
from kagemusha.version import __version__

COLUMNS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
UPPER = (90.0, 1.5e6, 16.0, 1e5, 4400.0, 99.0)
ROWS, SEEDS, DELTA = 1000, 10, 1e-6


def table(times: int) -> tuple[FrameSource, np.ndarray, int]:
    raw = pq.read_table(Path(os.environ["KAGEMUSHA_DATA"]) / "adult.parquet")
    raw = raw.filter(pa.compute.equal(raw["split"].cast("string"), "train")).drop_null().select(COLUMNS)
    schema = Schema(Real(c, lower=0.0, upper=u, bins=40) for c, u in zip(COLUMNS, UPPER, strict=True))
    frame = pa.concat_tables([raw.cast(pa.schema([(c, pa.float64()) for c in COLUMNS]))] * times)
    return FrameSource(frame, schema), np.column_stack([raw[c].to_numpy() for c in COLUMNS]), frame.num_rows


def judged(real: np.ndarray, double: np.ndarray) -> tuple[float, float]:
    """Mean distance of the columns' distribution functions, and mean absolute difference of correlations."""
    distances = []
    for a, b in zip(real.T, double.T, strict=True):
        at = np.quantile(a, np.linspace(0, 1, 101))
        distances.append(
            np.abs(np.searchsorted(np.sort(a), at) / len(a) - np.searchsorted(np.sort(b), at) / len(b)).mean()
        )
    off = np.triu_indices(real.shape[1], k=1)
    return float(np.mean(distances)), float(np.abs(np.corrcoef(real.T)[off] - np.corrcoef(double.T)[off]).mean())


def main() -> None:
    lines = [
        "# `gaussian-rows` beside `gaussian`",
        f"Made by `python benchmarks/gaussian_rows.py`, version {__version__}: Adult's six numbers, δ = {DELTA:g}, "
        f"add-remove, {ROWS:,} rows sampled, {SEEDS} seeds, mean ± standard error. “noise” is the multiplier on mean "
        "and covariance beside the draws.",
        "| records | ε | method | noise | distance of columns | difference of correlations |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for times in (1, 40):
        source, real, records = table(times)
        for epsilon in (0.1, 1.0):
            for name, options in (
                ("gaussian", {}),
                ("gaussian-rows", {"rows": ROWS, "at_least": records * 9 // 10, "floor": 0.05}),
                ("gaussian-rows", {"rows": ROWS, "at_least": records * 9 // 10, "floor": 0.01}),
            ):
                synthesizer = create(name, **options)
                found = []
                for seed in range(SEEDS):
                    model = fit(synthesizer, source, Budget(epsilon, DELTA), simulation=seed)
                    double = model.sample(ROWS, seed=seed, like="pyarrow")
                    found.append(judged(real, np.column_stack([double[c].to_numpy() for c in COLUMNS])))
                noise = (
                    "–"
                    if name == "gaussian"
                    else f"{synthesizer.event(source.schema, Budget(epsilon, DELTA)).noise:.3g}"
                )
                shown = name if name == "gaussian" else f"{name}, floor {options['floor']}"
                told = [f"{np.mean(v):.4f} ± {np.std(v, ddof=1) / SEEDS**0.5:.4f}" for v in zip(*found, strict=True)]
                lines.append(f"| {records:,} | {epsilon:g} | {shown} | {noise} | {told[0]} | {told[1]} |")
                print(lines[-1], flush=True)
    out = Path(__file__).parent / "results" / "gaussian_rows.md"
    out.write_text("\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
