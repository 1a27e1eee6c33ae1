"""The report: one HTML file, words first. INTERNAL: it is made from real rows and says who is easiest to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.attacks.attribute import AttributeRisk
from kagemusha.attacks.game import Game
from kagemusha.attacks.inference.registry import PAPER
from kagemusha.attacks.intervals import RATES, Estimate
from kagemusha.attacks.pictures import bars, curve_picture, roc_picture
from kagemusha.attacks.runner import INTERNAL
from kagemusha.attacks.table import GameTable
from kagemusha.attacks.targets import Mahalanobis
from kagemusha.attacks.verdict import Finding, Verdict, most_accuracy
from kagemusha.files import write_whole
from kagemusha.pages import card, template
from kagemusha.privacy.accountants import gdp_mu
from kagemusha.privacy.budget import Budget
from kagemusha.quality.svg import SERIES
from kagemusha.version import __version__

EXPOSED = 15
"""Rows listed as most exposed."""

CURVES = 3


@dataclass(frozen=True, eq=False)
class Attacked:
    """One synthesizer after its games."""

    game: Game
    findings: Sequence[Finding]
    verdict: Verdict
    budget: Budget | None
    attributes: Sequence[AttributeRisk] = ()
    notes: Sequence[str] = field(default_factory=tuple)

    def _repr_html_(self) -> str:
        best = sorted(self.findings, key=lambda one: one.p)[:6]
        facts = {f"{o.cell.target}, {o.cell.inference}": f"right in {100 * o.accuracy.value:.1f} %" for o in best}
        return card(f"{self.game.maker.name} under attack (INTERNAL)", {"verdict": self.verdict.words} | facts)

    def to_json(self) -> dict[str, Any]:
        """Everything but the scores."""
        return {
            "method": self.game.maker.name,
            "promise": None if self.budget is None else self.budget.in_words(),
            "verdict": self.verdict.kind,
            "words": self.verdict.words,
            "trainings": self.game.rules.trainings,
            "generations": self.game.rules.generations,
            "attacks": [_finding_json(one) for one in self.findings],
            "attributes": [one.words for one in self.attributes],
            "notes": list(self.notes),
        }


def _finding_json(one: Finding) -> dict[str, Any]:
    a = one.accuracy
    return {
        "target": one.cell.target,
        "space": one.cell.space,
        "attack": one.cell.inference,
        "accuracy": [a.value, a.low, a.high],
        "advantage": one.advantage.value,
        "area": one.area,
        "p": one.p,
        "rates": {str(rate): [e.value, e.low, e.high] for rate, e in one.rates.items()},
        "epsilon": one.bound.epsilon,
        "mu": one.bound.mu,
        "constant": one.constant,
    }


def write_report(attacked: Sequence[Attacked], path: Path, *, title: str) -> None:
    """Write the page, whole or not at all."""
    write_whole(path, render(attacked, title=title).encode())


def render(attacked: Sequence[Attacked], *, title: str) -> str:
    """The page; the same plays always give the same bytes."""
    table = attacked[0].game.table
    page: str = template("attacks", "attack.html").render(
        title=title,
        internal=INTERNAL,
        version=__version__,
        rows=table.rows,
        columns=len(table.schema.domain),
        threat=attacked[0].game.threat.in_words(),
        makers=[_maker(one) for one in attacked],
        exposed=_exposed(table),
        colours=SERIES,
        rates=RATES,
    )
    return page


def _maker(one: Attacked) -> dict[str, Any]:
    single = [f for f in one.findings if f.cell.alone]
    spaces = list(dict.fromkeys(f.cell.space for f in single))
    limit = None if one.budget is None else most_accuracy(one.budget)
    strongest = sorted(single, key=lambda f: (-abs(f.area - 0.5), f.p))[:CURVES]
    ranked = sorted(one.findings, key=lambda f: (f.p, -f.accuracy.value))
    return {
        "name": one.game.maker.name,
        "verdict": one.verdict,
        "promise": "no promise (ε = ∞)" if one.budget is None else one.budget.in_words(),
        "mu": None if one.budget is None or not one.budget.delta else gdp_mu(one.budget.epsilon, one.budget.delta),
        "limit": limit,
        "rules": one.game.rules,
        "exact": one.game.maker.exact,
        "grids": [bars(_grid_title(one, space, spaces), _groups(single, space), limit=limit) for space in spaces],
        "roc": roc_picture(strongest, one.budget),
        "curves": [f"{f.cell.inference}, {f.cell.target}" for f in strongest],
        "curve": _curve(one.findings),
        "ranked": ranked,
        "spaces": len(spaces),
        "attributes": one.attributes,
        "notes": one.notes,
    }


def _grid_title(one: Attacked, space: str, spaces: Sequence[str]) -> str:
    return one.game.maker.name if len(spaces) == 1 else f"{one.game.maker.name}, {space}"


def _groups(found: Sequence[Finding], space: str) -> list[tuple[str, list[tuple[str, Estimate]]]]:
    names = dict.fromkeys(f.cell.target for f in found)
    order = {name: i for i, name in enumerate(PAPER)}
    groups = []
    for name in names:
        mine = [f for f in found if f.cell.target == name and f.cell.space == space]
        mine.sort(key=lambda f: order.get(f.cell.inference, len(order)))
        groups.append((name, [(f.cell.inference, f.accuracy) for f in mine]))
    return groups


def _curve(found: Sequence[Finding]) -> dict[str, Any] | None:
    """Accuracy against the number of targets hidden together, where more than one number was played."""
    together = {f.cell.target for f in found if "×" in f.cell.target}
    if not together:
        return None
    kind = sorted(together)[0].partition("×")[0]
    counts = sorted({1, *(int(name.partition("×")[2]) for name in together if name.startswith(kind))})
    space = found[0].cell.space
    by = {(f.cell.target, f.cell.inference): f.accuracy for f in found if f.cell.space == space}
    lines = []
    for name in dict.fromkeys(f.cell.inference for f in found):
        values = [by.get((kind if c == 1 else f"{kind}×{c}", name)) for c in counts]
        if all(v is not None for v in values):
            lines.append((name, [v for v in values if v is not None]))
    if not lines:
        return None
    return {"kind": kind, "picture": curve_picture(counts, lines), "names": [name for name, _ in lines]}


def _exposed(table: GameTable) -> list[dict[str, Any]]:
    """The rows farthest from all others, with the columns that set them apart.

    Row numbers and names only, no values.
    """
    measure = Mahalanobis(table)
    distances = measure.of_rows()
    order = np.argsort(-distances, kind="stable")[:EXPOSED]
    found = []
    for rank, row in enumerate(order.tolist(), 1):
        gap = measure.lens.of_codes(table.codes[row][None, :])[0] - measure.mean
        parts = gap * (measure.inverse @ gap)
        starts = np.cumsum([0, *(t.shape[1] for t in measure.lens.tables)])
        shares = {
            measure.lens.modelled[axis].name: float(parts[starts[i] : starts[i + 1]].sum())
            for i, axis in enumerate(measure.lens.axes)
        }
        leading = sorted(shares, key=lambda name: -shares[name])[:2]
        found.append({"rank": rank, "row": row + 1, "times": distances[row] / np.median(distances), "columns": leading})
    return found
