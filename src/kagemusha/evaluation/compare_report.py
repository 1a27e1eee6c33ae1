"""A comparison as tables and curves: error against ε, with error bars. INTERNAL."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kagemusha.evaluation.compare import Result
from kagemusha.evaluation.evaluate import INTERNAL
from kagemusha.files import write_whole
from kagemusha.pages import template
from kagemusha.quality.svg import Curve, curves
from kagemusha.version import __version__

REPORT, TABLE, DATA = "comparison-INTERNAL.html", "comparison.csv", "comparison.json"


@dataclass(frozen=True)
class Line:
    """One method at one ε: mean and spread of one score over the repetitions."""

    score: str
    method: str
    epsilon: float
    mean: float
    sd: float
    """Standard deviation over the repetitions; 0 for a single one."""
    runs: int


def summarise(results: Sequence[Result]) -> list[Line]:
    """Mean and standard deviation of every score, by method and ε."""
    found: dict[tuple[str, str, float], list[float]] = {}
    for result in results:
        for score, value in result.scores.items():
            found.setdefault((score, result.cell.method, result.cell.epsilon), []).append(value)
    lines = [
        Line(*key, float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0, len(values))
        for key, values in found.items()
    ]
    order = {score: i for i, score in enumerate(dict.fromkeys(line.score for line in lines))}
    return sorted(lines, key=lambda line: (order[line.score], line.method, line.epsilon))


def write_comparison(results: Sequence[Result], folder: Path, *, title: str) -> list[Path]:
    """Write the page, a CSV for spreadsheets and a JSON for programs."""
    lines = summarise(results)
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["score", "method", "epsilon", "mean", "sd", "runs"])
    writer.writerows([one.score, one.method, one.epsilon, one.mean, one.sd, one.runs] for one in lines)
    data = {"INTERNAL": INTERNAL, "lines": [vars(one) for one in lines], "failed": _failed(results)}
    files = {REPORT: render(results, title=title), TABLE: table.getvalue(), DATA: json.dumps(data, indent=1) + "\n"}
    for name, content in files.items():
        write_whole(folder / name, content.encode())
    return [folder / name for name in files]


def render(results: Sequence[Result], *, title: str) -> str:
    """The page."""
    lines = summarise(results)
    scores = list(dict.fromkeys(line.score for line in lines))
    page: str = template("evaluation", "compare.html").render(
        title=title,
        internal=INTERNAL,
        version=__version__,
        pictures=[(score, _picture(score, [one for one in lines if one.score == score])) for score in scores],
        tables=[(score, [one for one in lines if one.score == score]) for score in scores],
        best=_best(lines),
        failed=_failed(results),
        runs=len(results),
    )
    return page


def _picture(score: str, lines: Sequence[Line]) -> str:
    drawn = []
    for method in dict.fromkeys(line.method for line in lines):
        own = [line for line in lines if line.method == method]
        drawn.append(Curve(method, [o.epsilon for o in own], [o.mean for o in own], [o.sd for o in own]))
    alt = f"{score} against ε, mean and standard deviation: " + "; ".join(
        f"{one.name} from {one.y[0]:.3g} at ε = {one.x[0]:g} to {one.y[-1]:.3g} at ε = {one.x[-1]:g}" for one in drawn
    )
    return curves(drawn, alt, x_name="ε (logarithmic)", y_name=score, logarithmic=True)


def _best(lines: Sequence[Line]) -> list[str]:
    """For each ε, the method with the least two-way error (or the first score there is)."""
    if not lines:
        return []
    score = "2-way error" if any(line.score == "2-way error" for line in lines) else lines[0].score
    found = []
    for epsilon in sorted({line.epsilon for line in lines}):
        rivals = [line for line in lines if line.score == score and line.epsilon == epsilon]
        best = min(rivals, key=lambda line: line.mean)
        spread = f" ± {best.sd:.2g}" if best.runs > 1 else ""
        found.append(f"At ε = {epsilon:g} the least {score} is that of {best.method}: {best.mean:.4f}{spread}.")
    return found


def _failed(results: Sequence[Result]) -> list[str]:
    return sorted({f"{r.cell.method} at ε = {r.cell.epsilon:g}: {r.error}" for r in results if r.error})
