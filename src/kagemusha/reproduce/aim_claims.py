"""The AIM paper's claims, checked one by one against our runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.reproduce.aim_paper import ACCURACY
from kagemusha.reproduce.aim_runs import Result
from kagemusha.reproduce.aim_steps import BudgetCurve, Choice

AIMS = ("aim-k2", "aim-k3", "aim-noinit", "aim-lap")


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, what we found, and whether it holds."""

    text: str
    found: str
    holds: bool


def _errors(results: Sequence[Result], method: str, k: int = 2) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([r.errors[k - 1] for r in results if r.method == method])


def _spread(*groups: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The standard deviation of a difference of two means' single runs."""
    return float(np.sqrt(sum(np.var(g, ddof=1) if len(g) > 1 else 0.0 for g in groups)))


def error_claims(table: str, results: Sequence[Result]) -> list[Claim]:
    """Claims on k-way error (figures 1 and 2)."""
    means = {m: float(_errors(results, m).mean()) for m in (*AIMS, "bayes", "kage")}
    shown = ", ".join(f"{m} {v:.4f}" for m, v in means.items())
    beats = [m for m in AIMS if m != "aim-lap" and means[m] < means["bayes"]]
    others = [m for m in AIMS if m != "aim-k2"]
    k2, noinit = _errors(results, "aim-k2"), _errors(results, "aim-noinit")
    slack = 2 * _spread(k2, noinit)
    best = min(AIMS, key=lambda m: means[m])
    near = means["aim-k2"] <= means[best] + 2 * _spread(k2, _errors(results, best))
    return [
        Claim(f"{table}: every AIM but lap beats PrivBayes", f"two-way error: {shown}", len(beats) == 3),
        Claim(f"{table}: k2 is the best AIM (within two sd)", f"best is {best}", near),
        Claim(
            f"{table}: noinit ≈ k2",
            f"{means['aim-noinit']:.4f} against {means['aim-k2']:.4f}, two sd of the difference {slack:.4f}",
            abs(means["aim-noinit"] - means["aim-k2"]) <= max(slack, 0.1 * means["aim-k2"]),
        ),
        Claim(
            f"{table}: lap is the worst AIM",
            f"worst is {max(AIMS, key=lambda m: means[m])}",
            all(means["aim-lap"] >= means[m] for m in others),
        ),
    ]


def accuracy_claims(table: str, results: Sequence[Result]) -> list[Claim]:
    """aim-k2 within two of our standard deviations of the paper's accuracy, or better (Tables 2 and 3)."""
    claims = []
    for learner, row in ACCURACY[table].items():
        ours = np.array([r.accuracy[learner] for r in results if r.method == "aim-k2" and learner in r.accuracy])
        if not len(ours):
            continue
        paper, paper_sd = row["aim-k2"]
        sd = float(np.std(ours, ddof=1)) if len(ours) > 1 else 0.0
        holds = float(ours.mean()) >= paper - 2 * max(sd, paper_sd)
        claims.append(
            Claim(
                f"{table}: accuracy of aim-k2, {learner}: {paper:.4f} ± {paper_sd:.4f}",
                f"{ours.mean():.4f} ± {sd:.4f}",
                holds,
            )
        )
    return claims


def information_claims(table: str, results: Sequence[Result]) -> list[Claim]:
    """AIM keeps mutual information better than PrivBayes (figures 6 to 8)."""
    means = {
        m: float(np.mean([r.information_error for r in results if r.method == m]))
        for m in ("aim-k2", "aim-noinit", "bayes")
    }
    return [
        Claim(
            f"{table}: AIM keeps mutual information better than PrivBayes",
            ", ".join(f"{m} {v:.4f}" for m, v in means.items()),
            means["aim-k2"] < means["bayes"] and means["aim-noinit"] < means["bayes"],
        )
    ]


def step_claims(curves: Mapping[tuple[float, int], BudgetCurve], choices: Sequence[Choice]) -> list[Claim]:
    """ZCDP nearly coincides with numerical composition (figure 3); chosen pairs end with smaller error (figure 5)."""
    gaps = {key: c.zcdp[-1] / c.lower[-1] - 1 for key, c in curves.items()}
    claims = (
        [
            Claim(
                "zCDP and numerical composition nearly coincide (within 10 %)",
                ", ".join(
                    f"ε = {e:g} W({d}): zCDP {100 * g:.1f} % above the lower bound" for (e, d), g in gaps.items()
                ),
                all(g <= 0.10 for g in gaps.values()),
            )
        ]
        if gaps
        else []
    )
    if choices:
        claims.append(
            Claim(
                "chosen pairs have a smaller error than the others",
                ", ".join(f"{c.chosen_error:.4f} against {c.other_error:.4f}" for c in choices),
                all(c.chosen_error < c.other_error for c in choices),
            )
        )
    return claims
