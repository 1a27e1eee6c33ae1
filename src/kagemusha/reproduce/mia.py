"""`reproduce mia`: Figure 3 and Tables 3 to 6 of the membership-inference paper on Adult, and their odd results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.features import Space
from kagemusha.attacks.game import Game, Numbers, Rules
from kagemusha.attacks.inference.distance import MeanDistance
from kagemusha.attacks.inference.protocol import INSIDE, WITHOUT
from kagemusha.attacks.targets import Target
from kagemusha.files import write_whole
from kagemusha.progress import Progress, part, silent
from kagemusha.reproduce.mia_cells import Cells, PlayedCell
from kagemusha.reproduce.mia_claims import GRID
from kagemusha.reproduce.mia_figures import draw_figures
from kagemusha.reproduce.mia_games import (
    CLASSIFIERS,
    CODES,
    FULL,
    IN_CODES,
    IN_ONEHOT,
    METHODS,
    MINMAX,
    ONEHOT,
    QUICK,
    SPACES,
    Adult,
    Hall,
    Sizes,
    adult,
    code_behind,
    several,
    targets,
)
from kagemusha.reproduce.mia_quality import quality
from kagemusha.reproduce.mia_report import BEYOND, CELLS, FACTS, PAPERS, Facts, Report

ROOTED = ("×10", "×50", "×100")
"""How many targets at once networks with a drawn root are attacked with."""


def reproduce(
    out: Path,
    *,
    quick: bool = False,
    full: bool = False,
    epochs: int = 0,
    command: str = "",
    trainings: int = 10,
    counts: Sequence[int] = (),
    jobs: int = 1,
    data: Adult | None = None,
    only: Sequence[str] = (),
    only_page: bool = False,
    progress: Progress = silent,
) -> Report:
    """Play everything, write tables and figures into `out`.

    A stopped run goes on where it was (plays are kept in `out`/plays). `only` names games: the others stay as they are
    stored. `only_page` plays nothing. `command` runs DataSynthesizer (`prog {in} {out} {rows} {seed}`) for so many
    `trainings`. `counts` are the numbers of targets at once of Table 5, if not all of the paper's.
    """
    out.mkdir(parents=True, exist_ok=True)
    cells, facts = Cells.read(out / CELLS), Facts.read(out / FACTS)
    if not only_page:
        sizes = replace(QUICK if quick else FULL if full else Sizes(), epochs=epochs, command=command)
        sizes = sizes if quick else replace(sizes, outside=trainings, counts=tuple(counts) or sizes.counts)
        table = data or adult()
        hall = Hall(table, sizes, out / ("plays-quick" if quick else "plays"), jobs)
        for name, share in _games(hall, table, sizes, only, progress):
            game, numbers, found = share()
            facts = facts.merged(_facts(name, game, numbers))
            cells = cells.merged(Cells(found))
            write_whole(out / CELLS, cells.to_csv().encode())
            write_whole(out / FACTS, facts.to_json().encode())
        if not only or "quality" in only:
            learned = quality(table, hall.makers, repeat=sizes.learners, progress=part(progress, 0.9, 1.0))
            facts = facts.merged(Facts(quality=learned))
            write_whole(out / FACTS, facts.to_json().encode())
    report = Report(cells, facts)
    draw_figures(cells, out)
    report.write(out)
    progress("done", 1.0)
    return report


Play = Callable[[], tuple[Game, Mapping[str, Numbers], list[PlayedCell]]]


@dataclass(frozen=True)
class _Plan:
    name: str
    share: float
    maker: str
    who: Sequence[Target]
    how: Sequence[str]
    where: Sequence[Space]
    rules: Rules


def _games(hall: Hall, data: Adult, sizes: Sizes, only: Sequence[str], progress: Progress) -> list[tuple[str, Play]]:
    table = data.table
    three, rows = targets(table), targets(table, rows=sizes.random_rows)
    blind = targets(table, blind=sizes.blind_rows)
    best = (*PAPERS, "mvl-syn-best")
    plans = []
    for maker in ("stat", "bayes-net"):
        # tables of codes drawn by STAT have no one-hot features: there it draws them itself
        wide, far = (f"{maker}-onehot", (MINMAX,)) if maker == "stat" else (maker, (MINMAX, ONEHOT))
        more = (*best, *BEYOND, *CLASSIFIERS) if maker == "bayes-net" else best
        plans += [
            _Plan(maker, 0.15, maker, three, best, IN_CODES, _own(sizes.grid)),
            _Plan(f"{maker}-rows", 0.1, maker, rows, PAPERS, (MINMAX,), _own(sizes.rows)),
            _Plan(f"{maker}-blind", 0.05, maker, [three[2], *blind], PAPERS, far, _own(sizes.blind)),
            _Plan(f"{maker}-onehot", 0.3, wide, three, more, IN_ONEHOT, _own(sizes.onehot)),
        ]
    shadows = Rules(*sizes.grid, strangers=sizes.shadows)
    plans += [_Plan(f"{maker}-shadow", 0.1, maker, three, ("shadow",), (MINMAX,), shadows) for maker in GRID[:2]]
    together = [several(table, count) for count in sizes.counts]
    ours = Rules(trainings=sizes.ours, references=max(3, sizes.ours // 2))
    many = Rules(trainings=sizes.many, references=max(2, sizes.many // 2))
    plans.append(
        _Plan("together", 0.1, "bayes-net", together, (*PAPERS[:2], "neighbour"), (CODES, MINMAX), _own(sizes.together))
    )
    rooted, few = _own(sizes.rooted), [one for one in together if one.name.endswith(ROOTED)]
    if few:
        plans.append(_Plan("together-root", 0.05, "bayes-net-root", few, (PAPERS[0], "neighbour"), (CODES,), rooted))
    for domain in ("dp-bn-data", "dp-bn"):
        plans.append(_Plan(domain, 0.14, domain, three, (*best, "support"), [ONEHOT], _own(sizes.noisy)))
        plans.append(_Plan(f"spaces-{domain}", 0.06, domain, three[1:2], ("neighbour", "support"), SPACES, many))
    plans += [_Plan(name, 0.08, name, three, (*PAPERS, *BEYOND), [ONEHOT], ours) for name in ("privbayes", "kage")]
    if "ctgan" in hall.makers:
        deep = Rules(trainings=sizes.ctgan[0], generations=sizes.ctgan[1], references=max(2, sizes.ctgan[0]))
        plans.append(_Plan("ctgan", 1.0, "ctgan", three, (*best, *BEYOND), SPACES, deep))
    if "datasynthesizer" in hall.makers:
        alone = _own((sizes.outside, 1))
        plans.append(_Plan("datasynthesizer", 0.5, "datasynthesizer", three[1:2], (*best, "support"), SPACES, alone))
    plans = [plan for plan in plans if not only or plan.name in only]
    total, done, found = sum(plan.share for plan in plans), 0.0, []
    for plan in plans:
        stretch = part(progress, 0.9 * done / total, 0.9 * (done + plan.share) / total)
        found.append((plan.name, _play(hall, plan, stretch)))
        done += plan.share
    return found


def _play(hall: Hall, plan: _Plan, progress: Progress) -> Play:
    folder = hall.folder

    def run() -> tuple[Game, Mapping[str, Numbers], list[PlayedCell]]:
        hall.progress = progress
        # plays of other code are never taken over
        hall.folder = folder and folder / code_behind(plan.maker)
        return hall.play(plan.name, plan.maker, plan.who, plan.how, plan.where, plan.rules)

    return run


def _own(size: tuple[int, int]) -> Rules:
    """So many trainings and tables from each; every training has references of its own."""
    return Rules(trainings=size[0], generations=size[1], references=size[0], own=True)


def _facts(name: str, game: Game, numbers: Mapping[str, Numbers]) -> Facts:
    """What a page says beside accuracies: nearness to the outlier, carriers of its own code, how trainings differ."""
    if name == "together-root":
        scores = game.judge(numbers).scores
        return Facts(trainings={f"{c.target} {c.inference}": _by_training(found) for c, found in scores.items()})
    outlier = next((t for t in game.targets if t.name == "selective"), None)
    if outlier is None:
        return Facts()
    nearest = f"selective|{ONEHOT.name}|{MeanDistance().name}"
    carriers = f"selective|{ONEHOT.name}|unknown codes"
    found: dict[str, list[list[float]]] = {}
    for what, key in (("nearest", nearest), ("carriers", carriers)):
        sides = [
            [float(np.mean(v[key])) for unit, v in numbers.items() if unit.startswith(f"play-{side}-") and key in v]
            for side in game.sides(outlier)
        ]
        if all(sides):
            found[what] = sides
    return Facts(sides={name: found} if found else {})


def _by_training(scores: FloatArray) -> list[float]:
    """How often the answer was right, training by training."""
    right = np.stack([scores[:, WITHOUT] <= 0, scores[:, INSIDE] > 0])
    return [float(x) for x in right.mean(axis=(0, 2))]


def codes() -> dict[str, str]:
    """Today's digest of the code behind the games of each synthesizer."""
    return {maker: code_behind(maker) for maker in METHODS}


def again(out: Path, what: str, count: int) -> list[bool]:
    """A cell is hundreds of plays: it is played again whole."""
    return []
