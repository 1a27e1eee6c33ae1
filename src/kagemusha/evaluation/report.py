"""The report: one HTML file with everything inside, words first. INTERNAL on every page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.evaluation.evaluate import INTERNAL, Evaluation
from kagemusha.evaluation.learners import in_words
from kagemusha.evaluation.ml_utility import Utility
from kagemusha.evaluation.pictures import side_by_side
from kagemusha.evaluation.plots import (
    MOST_BARS,
    budget_picture,
    column_picture,
    label_picture,
    pair_picture,
    value_picture,
)
from kagemusha.evaluation.raw_columns import number
from kagemusha.evaluation.summary import figures, offered, sentences, verdict
from kagemusha.files import write_whole
from kagemusha.marginals.information import shares
from kagemusha.pages import template
from kagemusha.quality.statement import MOST_DRAWN, VERDICT_COLOURS, VERDICT_MARKS, verdict_picture
from kagemusha.quality.words import in_words as expected_in_words
from kagemusha.schema import Clique, Modelled
from kagemusha.version import __version__

MOST_DIFFERENCES = 8
"""Differences of columns that are listed, the most unlike first."""

SCORES = {"accuracy": "accuracy", "auroc": "AUROC", "auprc": "AUPRC", "r2": "R²", "mae": "mean error", "rmse": "RMSE"}


def write_report(evaluation: Evaluation, path: Path, *, title: str = "", beside_release: bool = False) -> None:
    """Write the page; refuses a folder that holds a release unless asked to."""
    if not beside_release:
        refuse_beside_release(path)
    write_whole(path, render(evaluation, title=title).encode())


def refuse_beside_release(path: Path) -> None:
    """An INTERNAL page in a release folder would be handed out with it one day."""
    if (path.resolve().parent / "certificate.json").exists():
        raise UsageError(
            f"{path}: its folder holds a release, and this report reads real data (INTERNAL). "
            "Choose an --out elsewhere, or add --force if nobody will hand out that folder"
        )


def render(evaluation: Evaluation, *, title: str = "") -> str:
    """The page; the same evaluation always gives the same bytes."""
    page: str = template("evaluation", "report.html").render(
        title=title or "synthetic table",
        internal=INTERNAL,
        version=__version__,
        rows_real=evaluation.real.rows,
        rows_synthetic=evaluation.synthetic.rows,
        verdict=verdict(evaluation),
        figures=figures(evaluation),
        sentences=sentences(evaluation),
        offered=offered(evaluation),
        pictures=side_by_side(evaluation.real, evaluation.synthetic),
        columns=_columns(evaluation),
        pairs=_pairs(evaluation),
        utilities=[_utility(one) for one in evaluation.utilities],
        missingness=evaluation.missingness,
        gaps=sorted(evaluation.missingness.dependence, key=lambda d: -d.error)[:8],
        queries=evaluation.queries,
        asked=evaluation.asked.answers,
        weighted=evaluation.weighted,
        discriminator=evaluation.discriminator,
        seen=_seen(evaluation),
        groups=evaluation.groups,
        rules=evaluation.rules,
        correlations=_correlations(evaluation),
        release=_release(evaluation),
        keys=[(name, VERDICT_COLOURS[name], VERDICT_MARKS[name]) for name in VERDICT_COLOURS],
        kway=evaluation.kway,
    )
    return page


def _columns(evaluation: Evaluation) -> list[dict[str, Any]]:
    found = []
    raw = {} if evaluation.seen is None else {distance.column: distance for distance in evaluation.seen.columns}
    for distance in evaluation.columns:
        column = evaluation.real.modelled[distance.column]
        real, synthetic = (shares(t.project((column.name,))) for t in (evaluation.real, evaluation.synthetic))
        found.append(
            {
                "distance": distance,
                "raw": raw.get(column.name),
                "picture": _picture(evaluation, column) or column_picture(column, real, synthetic),
                "unseen": evaluation.unseen[column.name],
                "gaps": column.missing_code is not None,
            }
        )
    return found


def _picture(evaluation: Evaluation, column: Modelled) -> str:
    """Texts as they are; numbers and dates, too, if there are many of them."""
    if evaluation.seen is None or column.name not in evaluation.seen.real.columns:
        return ""
    sides = [side[column.name] for side in (evaluation.seen.real, evaluation.seen.synthetic)]
    if sides[0].kind == "label":
        return label_picture(*sides)
    many = column.axis is not None and len(np.unique(sides[0].numbers[~np.isnan(sides[0].numbers)])) > MOST_BARS
    return value_picture(*sides) if many else ""


def _seen(evaluation: Evaluation) -> dict[str, Any] | None:
    """What people will see, as the page shows it."""
    seen = evaluation.seen
    if seen is None:
        return None
    changed = [c for c in seen.columns if c.lost or c.invented or c.decimals_real != c.decimals_synthetic]
    return {
        "telling": seen.discriminator.telling if seen.discriminator else (),
        "differences": [
            {"one": d, "real": _ends(d.real), "synthetic": _ends(d.synthetic)}
            for d in sorted(seen.differences, key=lambda d: -d.kolmogorov_smirnov)[:MOST_DIFFERENCES]
        ],
        "changed": sorted(changed, key=lambda c: -max(c.lost_share, c.invented_share)),
        "conditionals": seen.conditionals,
        "sampled": seen.real.rows < seen.real.of or seen.synthetic.rows < seen.synthetic.of,
        "rows": (seen.real.rows, seen.synthetic.rows),
        "shapes": seen.column_shapes,
    }


def _ends(ends: tuple[float, float, float] | None) -> str:
    return "none" if ends is None else f"{number(ends[1])} ({number(ends[0])} to {number(ends[2])})"


def _drawn(evaluation: Evaluation) -> tuple[str, ...]:
    """The columns in the maps: all, or those with the worst pairs."""
    names = evaluation.real.domain.names
    if len(names) <= MOST_DRAWN or 2 not in evaluation.kway:
        return names
    worst: dict[str, float] = dict.fromkeys(names, 0.0)
    for pair, error in zip(evaluation.kway[2].cliques, evaluation.kway[2].errors, strict=True):
        for name in pair:
            worst[name] = max(worst[name], float(error))
    kept = set(sorted(names, key=lambda name: -worst[name])[:MOST_DRAWN])
    return tuple(name for name in names if name in kept)


def _pairs(evaluation: Evaluation) -> dict[str, Any] | None:
    if 2 not in evaluation.kway:
        return None
    names = _drawn(evaluation)
    errors = {pair: float(e) for pair, e in zip(evaluation.kway[2].cliques, evaluation.kway[2].errors, strict=True)}
    sides: list[dict[Clique, float]] = []
    for matrix in (evaluation.information.real, evaluation.information.synthetic):
        place = {name: i for i, name in enumerate(matrix.names)}
        sides.append(
            {(a, b): float(matrix.values[place[a], place[b]]) for i, a in enumerate(names) for b in names[i + 1 :]}
        )
    difference: dict[Clique, float] = {pair: abs(sides[0][pair] - sides[1][pair]) for pair in sides[0]}
    most = max((value for side in sides for value in side.values()), default=0.0)
    return {
        "all": len(names) == len(evaluation.real.domain),
        "errors": pair_picture(names, errors, "two-way error"),
        "worst": evaluation.kway[2].worst(10),
        "real": pair_picture(names, sides[0], "mutual information in the real table, in nats", most=most),
        "synthetic": pair_picture(names, sides[1], "mutual information in the synthetic table, in nats", most=most),
        "difference": pair_picture(names, difference, "absolute difference of mutual information, in nats"),
        "information": evaluation.information,
    }


def _correlations(evaluation: Evaluation) -> dict[str, Any]:
    found = evaluation.correlations
    worst = sorted(found.pearson.items(), key=lambda item: -abs(item[1][0] - item[1][1]))[:6]
    return {
        "pearson": found.difference(found.pearson),
        "association": found.difference(found.association),
        "worst": worst,
    }


def _utility(one: Utility) -> dict[str, Any]:
    scores = [name for name in SCORES if name in one.floor]
    return {
        "target": one.target,
        "labels": one.labels,
        "scores": [SCORES[name] for name in scores],
        "rows": [
            {
                "name": in_words(name, labels=one.labels),
                "cells": [(f"{one.synthetic[name][s]:.3f}", f"{one.real[name][s]:.3f}") for s in scores],
            }
            for name in one.synthetic
        ],
        "floor": [f"{round(one.floor[s], 3) + 0.0:.3f}" for s in scores],
    }


def _release(evaluation: Evaluation) -> dict[str, Any] | None:
    model, expected = evaluation.model, evaluation.expected
    if model is None or expected is None:
        return None
    names = _drawn(evaluation)
    return {
        "certificate": model.certificate,
        "trace": model.trace,
        "budget": budget_picture(model.trace) if len(model.trace) > 1 and model.trace[0].spent < 1 else "",
        "words": expected_in_words(expected),
        "verdicts": verdict_picture(names, expected) if len(names) > 1 else "",
        "expected": expected,
    }
