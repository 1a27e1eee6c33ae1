"""The page of `reproduce mia`: the paper's numbers beside ours, and where its odd ones come from."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kagemusha.attacks.inference.protocol import INSIDE, WITHOUT
from kagemusha.attacks.intervals import right
from kagemusha.attacks.verdict import Finding
from kagemusha.reproduce import mia_paper as paper
from kagemusha.reproduce.mia_claims import Claim, Results
from kagemusha.reproduce.mia_games import CLASSIFIERS, CODES, ONEHOT, SPACES, Sizes
from kagemusha.reproduce.mia_quality import Quality

REPLAYS = 2000
PAPERS = ("mvl-orig", "mvl-orig-best", "mvl-syn", "neighbour")
BEYOND = ("closest-record", "density-ratio", "likelihood-ratio", "support")


def markdown(results: Results, found: Sequence[Claim], command: str, sizes: Sizes) -> str:
    """The page that goes beside the figures."""
    parts = [
        "# Membership inference: the paper's figure and tables, and ours",
        f"Made by `{command}` on Adult's complete rows, all 15 columns. Intervals are 95 %, over independent trainings "
        "(over tables where a fit draws nothing at random), for the comparison tables that the attacker happened to "
        "make. Distances are taken in `onehot/sd`, those of STAT in `codes/raw` without fnlwgt, unless a table says "
        "otherwise; the claims judge means and covariances in the latter, which fits the paper's footnote. "
        f"{paper.CHOICES}",
        _played(results),
        "## The twelve claims",
        _table(["claim", "found", ""], [[c.text, c.found, c.word] for c in found]),
        "## Figure 3: accuracy of the three inferences",
        "![figure 3](figure-3.svg)",
        _grid(results),
        "## Table 3: a Bayesian network with ε = 1 (pure), and where the 1.0 comes from",
        _table_3(results),
        _why(results),
        _spread(results),
        "### Neighbour on the selective target in every space",
        _spaces(results),
        "## Table 4: accuracy of models trained on synthetic rows of one half, tested on the other half",
        _table_4(results.quality),
        "## Table 5: many targets at once (Bayesian network, adaptive)",
        "![table 5](table-5.svg)",
        _table_5(results),
        "## Table 6: classifiers on the Bayesian network",
        _table_6(results),
        "## Beyond the paper",
        _beyond(results),
    ]
    parts.insert(3, _ctgan(results, sizes))
    return "\n\n".join(parts) + "\n"


def _ctgan(results: Results, sizes: Sizes) -> str:
    if "ctgan" not in results.played:
        return "CTGAN was not played in this run; `--ctgan-epochs N` adds it. Its claims are judged without it."
    return (
        f"CTGAN was trained for {sizes.epochs} epochs each time (the paper does not say how many; 300 are usual) on "
        "all whole numbers. With fixed targets there are four distinct tables. What so few epochs are worth is in "
        "Table 4. It leaks all the same: in training it wishes for rare codes more often than they occur, so a "
        "category that the target alone has is trained on again and again in the world that has it, and never in the "
        "other (claim 6 and the support test below show it)."
    )


def _played(results: Results) -> str:
    rows = []
    for name, played in results.played.items():
        rules = played.game.rules
        references = rules.trainings if rules.own else rules.references
        rows.append(
            [
                name,
                str(rules.trainings),
                str(rules.generations),
                f"{references}{' (own)' if rules.own else ' (pooled)'}",
                str(2 * rules.trainings * rules.generations),
                "every table" if played.game.maker.exact else "every training",
            ]
        )
    return _table(
        ["game", "trainings a world", "tables each", "references per world", "plays per cell", "independent"], rows
    )


def _grid(results: Results) -> str:
    rows = []
    for name, space in (
        ("stat", CODES),
        ("stat-onehot", ONEHOT),
        ("bayes-net", ONEHOT),
        ("bayes-net-codes", CODES),
        ("ctgan", ONEHOT),
        ("ctgan", CODES),
    ):
        if name not in results.played:
            continue
        for inference in PAPERS:
            cells = [str(results.cell(name, target, inference, space).accuracy) for target in paper.TARGETS]
            rows.append([name, space.name, inference, *cells])
    return _table(["synthesizer", "space", "inference", *paper.TARGETS], rows)


def _table_3(results: Results) -> str:
    rows = []
    for inference in paper.INFERENCES:
        for target in paper.TARGETS:
            cells = []
            for name in ("dp-bn-data", "dp-bn", "privbayes", "kage"):
                one = results.cell(name, target, inference, ONEHOT)
                cells.append(str(one.accuracy) + (" (one answer)" if one.constant else ""))
            rows.append([inference, target, f"{paper.TABLE_3[inference, target]:g}", *cells])
    for target in paper.TARGETS:
        cells = [
            str(results.cell(n, target, "support", ONEHOT).accuracy)
            for n in ("dp-bn-data", "dp-bn", "privbayes", "kage")
        ]
        rows.append(["support", target, "–", *cells])
    heads = ["DP-BN, domain from data", "DP-BN, declared", "our privbayes", "kage"]
    return _table(["inference", "target", "paper", *heads], rows)


def _why(results: Results) -> str:
    """How many doubles carry a category that only the target has, by world, with the domain from data and declared."""
    counts = {}
    for name in ("dp-bn-data", "dp-bn"):
        played = results.played[f"spaces-{name}"]
        key = f"selective|{ONEHOT.name}|unknown codes"
        for side, world in zip(("without", "with"), played.game.sides(played.game.targets[0]), strict=True):
            rows = [v[key] for unit, v in played.numbers.items() if unit.startswith(f"play-{world}-")]
            counts[name, side] = float(np.mean(rows))
    one = results.cell("spaces-dp-bn-data", "selective", "neighbour", ONEHOT).accuracy
    two = results.cell("spaces-dp-bn", "selective", "neighbour", ONEHOT).accuracy
    return (
        "**Where the 1.0 comes from.** The selective target is the only row of its category. If the domain is taken "
        "from the data, the table without the target does not know the category, and none of its doubles has it "
        f"({counts['dp-bn-data', 'without']:.1f} on average); with the target, noise writes it into "
        f"{counts['dp-bn-data', 'with']:.0f} of them. With a declared domain both worlds have it "
        f"({counts['dp-bn', 'without']:.0f} and {counts['dp-bn', 'with']:.0f}). Neighbour in one-hot coordinates of "
        f"variance one sees just that: {one} with the domain from data, {two} with it declared. The noise is not at "
        "fault; the promise was broken before the first noise was drawn."
    )


def replays(one: Finding, trainings: int = 5, seed: int = 0) -> np.ndarray:
    """Accuracies that the paper's protocol (so many trainings) could have printed: trainings drawn again and again."""
    clusters = right(one.scores)
    rows = np.random.default_rng(seed).integers(0, len(clusters), (REPLAYS, trainings))
    return np.asarray(clusters[rows].mean(axis=1))


def _spread(results: Results) -> str:
    rows = []
    for name in ("dp-bn-data", "dp-bn"):
        for inference in paper.INFERENCES:
            for target in paper.TARGETS:
                again = replays(results.cell(name, target, inference, ONEHOT))
                low, high = np.quantile(again, [0.005, 0.995])
                printed = paper.TABLE_3[inference, target]
                inside = "yes" if low <= printed <= high else "no"
                rows.append(
                    [
                        name,
                        inference,
                        target,
                        f"{printed:g}",
                        f"{again.mean():.3f}",
                        f"{again.std():.3f}",
                        f"{low:.2f} – {high:.2f}",
                        inside,
                    ]
                )
    note = (
        f"What five trainings could have printed: {REPLAYS:,} times five of our trainings, drawn with replacement. "
        f"Tables from one training are not independent, so five trainings scatter widely."
    )
    head = ["DP-BN", "inference", "target", "paper", "mean", "sd", "99 % of replays", "paper's number within"]
    return note + "\n\n" + _table(head, rows)


def _spaces(results: Results) -> str:
    rows = []
    for space in SPACES:
        cells = [
            str(results.cell(f"spaces-{n}", "selective", "neighbour", space).accuracy) for n in ("dp-bn-data", "dp-bn")
        ]
        rows.append([space.name, *cells])
    support = [
        str(results.cell(f"spaces-{n}", "selective", "support", ONEHOT).accuracy) for n in ("dp-bn-data", "dp-bn")
    ]
    rows.append(["(support test)", *support])
    return _table(["space", "domain from data", "domain declared"], rows)


def _table_4(found: Sequence[Quality]) -> str:
    rows = []
    for one in found:
        cells = []
        for learner in paper.TABLE_4:
            printed = paper.TABLE_4[learner].get(one.name)
            cells += [
                "–" if printed is None else f"{printed:.3f}",
                f"{one.accuracy[learner]:.3f} ± {one.spread[learner]:.3f}",
            ]
        rows.append([one.name, *cells])
    return _table(
        ["trained on", *(f"{learner}, {who}" for learner in paper.TABLE_4 for who in ("paper", "ours"))], rows
    )


def _table_5(results: Results) -> str:
    rows = []
    for count in results.counts:
        printed = paper.TABLE_5.get(count)
        cells = [
            str(results.cell("together", f"adaptive×{count}", i, ONEHOT).accuracy) for i in ("mvl-orig", "neighbour")
        ]
        rows.append([str(count), *(["–", "–"] if printed is None else [f"{v:g}" for v in printed]), *cells])
    return _table(["k", "mvl-orig, paper", "neighbour, paper", "mvl-orig, ours", "neighbour, ours"], rows)


def _table_6(results: Results) -> str:
    rows = []
    for target in paper.TARGETS:
        printed = paper.TABLE_6[target]
        cells = [str(results.cell("bayes-net", target, name, ONEHOT).accuracy) for name in (*CLASSIFIERS, "neighbour")]
        rows.append([target, *(f"{printed[k]:.2f}" for k in ("rf", "lr", "knn")), *cells])
    return _table(["target", "RF, paper", "LR, paper", "k-NN, paper", *CLASSIFIERS, "neighbour"], rows)


def _beyond(results: Results) -> str:
    rows = []
    for name, space in (
        ("stat", CODES),
        ("bayes-net", ONEHOT),
        ("ctgan", ONEHOT),
        ("privbayes", ONEHOT),
        ("kage", ONEHOT),
    ):
        if name not in results.played:
            continue
        for inference in BEYOND:
            cells = []
            for target in (*paper.TARGETS, "blind"):
                one = results.maybe(name, target, inference, space)
                cells.append("–" if one is None else str(one.accuracy))
            rows.append([name, inference, *cells])
    return _table(["synthesizer", "inference", *paper.TARGETS, "blind"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def write_cells(results: Results, path: Path) -> None:
    """Every cell of every game, one line each."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["game", "target", "space", "inference", "accuracy", "low", "high", "area", "p", "epsilon", "mu", "plays"]
        )
        for name, played in results.played.items():
            for f in played.findings:
                a = f.accuracy
                numbers = [a.value, a.low, a.high, f.area, f.p, f.bound.epsilon, f.bound.mu]
                cell = [name, f.cell.target, f.cell.space, f.cell.inference]
                writer.writerow(
                    [*cell, *(f"{n:.6g}" for n in numbers), f.scores[:, WITHOUT].size + f.scores[:, INSIDE].size]
                )
