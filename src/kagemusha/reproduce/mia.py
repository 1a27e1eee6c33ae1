"""`reproduce mia`: Figure 3 and Tables 3 to 6 of the membership-inference paper on Adult, and their odd results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kagemusha.attacks.features import Space
from kagemusha.attacks.game import Rules
from kagemusha.attacks.targets import Target, choose
from kagemusha.progress import Progress, part, silent
from kagemusha.reproduce.mia_claims import Claim, Results, claims
from kagemusha.reproduce.mia_figures import draw_figures
from kagemusha.reproduce.mia_games import (
    CLASSIFIERS,
    CODES,
    FULL,
    ONEHOT,
    QUICK,
    SPACES,
    Adult,
    Hall,
    Played,
    Sizes,
    adult,
    targets,
)
from kagemusha.reproduce.mia_quality import quality
from kagemusha.reproduce.mia_report import BEYOND, PAPERS, markdown, write_cells


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that was found."""

    results: Results
    claims: Sequence[Claim]
    text: str

    @property
    def passed(self) -> bool:
        """Whether every claim of the paper holds; some do not, and the report says why."""
        return all(claim.holds for claim in self.claims)


def reproduce(
    out: Path,
    *,
    quick: bool = False,
    full: bool = False,
    epochs: int = 0,
    jobs: int = 1,
    data: Adult | None = None,
    progress: Progress = silent,
) -> Report:
    """Play everything, write tables and figures into `out`.

    A stopped run goes on where it was (plays are kept in `out`/plays).
    """
    from dataclasses import replace

    sizes = replace(QUICK if quick else FULL if full else Sizes(), epochs=epochs)
    table = data or adult()
    out.mkdir(parents=True, exist_ok=True)
    hall = Hall(table, sizes, out / ("plays-quick" if quick else "plays"), jobs)
    results = _play_all(hall, table, sizes, progress)
    found = claims(results)
    command = "kagemusha reproduce mia" + (" --quick" if quick else " --full" if full else "")
    command += f" --ctgan-epochs {epochs}"
    text = markdown(results, found, command, sizes)
    write_cells(results, out / "cells.csv")
    draw_figures(results, out)
    (out / "report.md").write_text(text, encoding="utf-8")
    progress("done", 1.0)
    return Report(results, found, text)


def _play_all(hall: Hall, data: Adult, sizes: Sizes, progress: Progress) -> Results:
    table = data.table
    steps: list[tuple[str, float, Callable[[], Played]]] = []
    codes, onehot = targets(table, CODES), targets(table, ONEHOT)
    normal = Rules(trainings=5, generations=sizes.stat, own=True, references=5)
    exact = Rules(trainings=5, generations=sizes.exact, own=True, references=5)
    noisy = Rules(trainings=sizes.noisy[0], generations=sizes.noisy[1], own=True)
    ours = Rules(trainings=sizes.ours, references=max(3, sizes.ours // 2))
    one = Rules(trainings=5, generations=sizes.onehot, own=True, references=5)

    def add(
        name: str,
        share: float,
        maker: str,
        who: Sequence[Target],
        how: Sequence[str],
        where: Sequence[Space],
        rules: Rules,
    ) -> None:
        steps.append((name, share, lambda: hall.play(name, maker, who, how, where, rules)))

    add("stat", 0.1, "stat", codes, (*PAPERS, *BEYOND), [CODES], normal)
    add("stat-onehot", 0.06, "stat-onehot", onehot[:3], PAPERS, [ONEHOT], one)
    add("bayes-net", 0.16, "bayes-net", onehot, (*PAPERS, *BEYOND, *CLASSIFIERS), [ONEHOT], exact)
    add("bayes-net-codes", 0.08, "bayes-net", codes[:3], PAPERS, [CODES], exact)
    add("dp-bn-data", 0.14, "dp-bn-data", onehot[:3], (*PAPERS, "support"), [ONEHOT], noisy)
    add("dp-bn", 0.14, "dp-bn", onehot[:3], (*PAPERS, "support"), [ONEHOT], noisy)
    many = Rules(trainings=sizes.many, references=max(2, sizes.many // 2))
    for domain in ("dp-bn-data", "dp-bn"):
        add(f"spaces-{domain}", 0.06, domain, onehot[1:2], ("neighbour", "support"), SPACES, many)
    add("privbayes", 0.05, "privbayes", onehot[:3], (*PAPERS, *BEYOND), [ONEHOT], ours)
    add("kage", 0.08, "kage", onehot[:3], (*PAPERS, *BEYOND), [ONEHOT], ours)
    together = Rules(trainings=sizes.together, references=max(2, sizes.together // 2))
    many_targets = [_several(data, count) for count in sizes.counts]
    add("together", 0.08, "bayes-net", many_targets, ("mvl-orig", "neighbour"), [ONEHOT], together)
    if "ctgan" in hall.makers:
        deep = Rules(trainings=sizes.ctgan[0], generations=sizes.ctgan[1], references=sizes.ctgan[2])
        add("ctgan", 1.0, "ctgan", onehot[:3], (*PAPERS, *BEYOND), [ONEHOT, CODES], deep)
    found: dict[str, Played] = {}
    total, done = sum(share for _, share, _ in steps), 0.0
    for name, share, run in steps:
        hall.progress = part(progress, 0.9 * done / total, 0.9 * (done + share) / total)
        found[name] = run()
        done += share
    qualities = quality(data, hall.makers, repeat=sizes.learners, progress=part(progress, 0.9, 1.0))
    return Results(found, qualities, tuple(sizes.counts))


def _several(data: Adult, count: int) -> Target:
    made = choose("adaptive", data.table, count=count, space=ONEHOT, rng=np.random.default_rng([8, count]))
    return Target(f"adaptive×{count}", made.rows, made.members, made.distance)
