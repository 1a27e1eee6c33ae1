"""The page of `reproduce aim`: made from `runs.jsonl` and `steps.json` alone, never by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kagemusha.reproduce import aim_claims as judged
from kagemusha.reproduce.aim_paper import DAYS, HOURS
from kagemusha.reproduce.aim_runs import ARMS, BY_NAME, EPSILONS, LARGE, PAPER, SVM_ROWS, Result, read_runs
from kagemusha.reproduce.aim_steps import Steps
from kagemusha.reproduce.claims import Claim, claim_table, counted, standard_error, unpaired
from kagemusha.reproduce.pages import write_page
from kagemusha.reproduce.tables import markdown_table

RUNS, STEPS = "runs.jsonl", "steps.json"
CAPTIONS = {
    "figure-1.svg": "Figures 1 and 2: 1-, 2- and 3-way error of each method, mean and standard deviation of its runs.",
    "figure-2.svg": "The same for Bank.",
    "figure-3.svg": "Figure 3: ε after each event (a choice or a measurement), by zCDP and between numerical bounds.",
    "figure-4.svg": "Figure 4: error after each measurement (the initialisation's columns first, then one per round).",
    "figure-5.svg": "Figure 5: which pairs three runs chose, and the errors they ended with.",
    "figure-6.svg": "Figures 6 and 7: mutual information of all pairs, real and of the first run of each method.",
    "figure-7.svg": "The same for Bank.",
    "figure-8.svg": "Figure 8: mean absolute difference of mutual information.",
}
FIGURES = tuple(CAPTIONS)


@dataclass(frozen=True)
class Report:
    """Everything that was found."""

    results: Sequence[Result]
    steps: Steps

    @classmethod
    def read(cls, folder: Path) -> Report:
        """From the files of a run."""
        return cls(read_runs(folder / RUNS), Steps.from_json((folder / STEPS).read_text(encoding="utf-8")))

    def of(self, table: str, epsilon: float = 1.0) -> list[Result]:
        """The runs of one table at one ε."""
        return [r for r in self.results if r.table == table and r.epsilon == epsilon]

    @property
    def tables(self) -> list[str]:
        """In the order of the runs."""
        return list(dict.fromkeys(r.table for r in self.results))

    @property
    def claims(self) -> list[Claim]:
        """The paper's claims about our AIM."""
        found = []
        for table in self.tables:
            runs = self.of(table)
            found += judged.error_claims(table, runs) + judged.accuracy_claims(table, runs)
            found += judged.information_claims(table, runs)
        return found + judged.step_claims(self.steps)

    @property
    def stamps(self) -> Mapping[str, Sequence[str]]:
        """Which code made the runs of each method, and the look inside runs."""
        made: dict[str, list[str]] = {"steps": [self.steps.code]}
        for run in self.results:
            made.setdefault(BY_NAME[run.arm].method, []).append(run.code)
        return made

    def write(self, out: Path) -> str:
        """The page."""
        return write_page(out, "aim", self.claims, self.stamps, _about(self, out), _parts(self))


def _parts(report: Report) -> Sequence[str]:
    printed = [c for t in report.tables for c in judged.error_claims(t, report.of(t), form=" printed")]
    cells = [c for t in report.tables for c in judged.cells(t, report.of(t))]
    agree = sum(c.verdict == "agrees" for c in cells)
    return [
        "## What differs from the paper",
        _differences(),
        "## The claims on errors, with the fit as printed (1/σ)",
        f"{counted(printed)}.",
        claim_table(printed),
        "## Accuracy, cell by cell",
        f"{agree} of {len(cells)} cells agree: the difference is at most two standard errors of it (the paper's sd is "
        f"of three runs)."
        if cells
        else "",
        _cells(cells),
        "The paper against itself: " + "; ".join(judged.contradictions()) + ".",
        *(part for table in report.tables for part in _errors(report, table)),
        "## What the paper left open: other ε",
        *_open(report),
        "## Pairs in the order of choice (figure 5)",
        f"{len(report.steps.choices)} runs of aim-k2 on Adult, ε = 1, δ = 10⁻⁵: how many chose a pair, and its mean "
        f"place in the order of choice.",
        markdown_table(
            ["pair", "runs", "mean place"], [[p, str(n), f"{m:.1f}"] for p, n, m in judged.ranks(report.steps)]
        ),
        "## Figures",
        *(part for name, caption in CAPTIONS.items() for part in (f"![{name}]({name})", caption)),
    ]


def _about(report: Report, out: Path) -> str:
    seeds = len({r.seed for r in report.results if r.epsilon == 1})
    cpu = sum(r.seconds for r in report.results) / 60
    return (
        f"Made by `kagemusha reproduce aim` from `{RUNS}` and `{STEPS}`: {len(report.results):,} runs, {cpu:.0f} CPU "
        f"minutes of fitting and sampling. ε = 1 and δ = 10⁻⁹ unless said otherwise, {seeds} runs of each arm with "
        "seeds 0, 1, … (the paper has three), simulated noise; figures 3 to 5 at δ = 10⁻⁵ on Adult. Errors are those "
        "of as many generated rows as the table has. `bayes` is PrivBayes as the paper describes it, `bayes "
        "ours` our own."
    )


def _differences() -> str:
    arms = "\n".join(f"- `{arm.name}`: {arm.about}." for arm in ARMS)
    return (
        f"Every arm that was run:\n\n{arms}\n\n"
        "What is no arm:\n\n"
        "- *The solver.* The authors' library fits by mirror descent with a line search and a fixed number of steps; "
        "ours is accelerated and stops when a longer path no longer helps. Both minimise the same loss; "
        "`benchmarks/results/printed_aim.md` runs both on one table. The library's present version (2.0.0) weighs by "
        "1/σ², as ours does, not by 1/σ as the paper prints.\n"
        "- *noinit's first round.* The paper does not say with which table it compares the data before anything is "
        "measured. Ours is uniform with a total of one record, since the number of rows is private: every candidate is "
        "then wrong by about the whole table, and weights and expected noise decide the first choice.\n"
        "- *Learners.* The paper names no settings and no test rows. Ours are tested on all real rows. Our tree has "
        "leaves of at least 0.16 % of the rows: 1, 20, 50 and 100 rows, cost pruning and depth had been tried on these "
        f"real rows, so tree cells are fitted to the paper, not predicted. Our SVM learns from {SVM_ROWS:,} rows.\n"
        "- *PrivBayes.* The paper's is DataSynthesizer's. `bayes` follows its description with our code: mutual "
        "information, pure ε, half of it for the network (that half is DataSynthesizer's). `bayes ours` is a better "
        "PrivBayes than theirs; the paper's claims are judged against `bayes`.\n"
        "- *Candidates* are limited to models of 80 MB, rising with the budget spent, as AIM's authors do; the paper "
        "leaves it out.\n"
        "- *Figure 4* refits the first measurements of a finished run, step by step; step 0 is the uniform table.\n"
        "- *Numerical composition* is dp-accounting's (privacy loss distributions; upper bound by connecting dots, "
        "lower bound rounded down); "
        "the paper's is prv_accountant. Steps were chosen adaptively, so these curves describe and do not promise."
    )


def _cells(cells: Sequence[judged.ClaimCell]) -> str:
    if not cells:
        return ""
    rows = [
        [
            *(c.table.title(), c.learner, c.method, f"{c.printed[0]:.4f} ± {c.printed[1]:.4f}"),
            *(f"{c.mean:.4f}", f"{c.error:.4f}", str(c.n), f"{c.distance:+.1f}"),
            c.verdict if c.verdict == "agrees" else f"**{c.verdict}**",
        ]
        for c in cells
    ]
    head = [
        "table",
        "learner",
        "method",
        "paper, mean ± sd",
        "ours",
        "standard error",
        "n",
        "standard errors apart",
        "",
    ]
    return markdown_table(head, rows)


def _errors(report: Report, table: str) -> Sequence[str]:
    rows = []
    for arm in ARMS:
        mine = judged.of(report.of(table), arm.name)
        if not mine:
            continue
        columns: Sequence[Callable[[Result], float]] = (
            *((lambda r, k=k: r.errors[k]) for k in range(3)),
            lambda r: r.information_error,
        )
        entries = [_mean_error([column(r) for r in mine]) for column in columns]
        seconds = float(np.mean([r.seconds for r in mine]))
        rows.append([arm.name, str(len(mine)), *entries, f"{np.mean([r.rounds for r in mine]):.1f}", f"{seconds:.2f}"])
    head = ["arm", "n", "1-way", "2-way", "3-way", "mean difference of mutual information", "rounds", "CPU s"]
    return [f"## {table.title()}: errors (mean ± standard error)", markdown_table(head, rows)]


def _mean_error(values: Sequence[float]) -> str:
    error = standard_error(values)
    return f"{np.mean(values):.4f}" + (f" ± {error:.4f}" if math.isfinite(error) else "")


def _open(report: Report) -> Sequence[str]:
    rows = []
    found: dict[tuple[str, float, str], list[Result]] = {}
    epsilons = sorted({1.0, *EPSILONS})
    for table in report.tables:
        for epsilon in epsilons:
            for arm in LARGE:
                mine = judged.of(report.of(table, epsilon), arm)
                if mine:
                    found[table, epsilon, arm] = mine
                    entries = [_mean_error([r.errors[k] for r in mine]) for k in range(3)]
                    seconds = [r.seconds for r in mine]
                    time = f"{np.mean(seconds):.2f} (at most {max(seconds):.2f})"
                    rows.append([table.title(), f"{epsilon:g}", arm, str(len(mine)), *entries, time])
    head = ["table", "ε", "arm", "n", "1-way", "2-way", "3-way", "CPU s, fit and sample"]
    return [
        f"The paper waited about {HOURS} hour at ε = 1 and saw no end after {DAYS} days at larger ε. Here every run "
        f"ended:",
        markdown_table(head, rows),
        _overtaking(report.tables, epsilons, found),
        _weights(report.tables, epsilons, found),
    ]


def _overtaking(
    tables: Sequence[str], epsilons: Sequence[float], found: Mapping[tuple[str, float, str], list[Result]]
) -> str:
    lines = []
    for table in tables:
        for k in (2, 3):
            entries = []
            for epsilon in epsilons:
                one, other = (found.get((table, epsilon, arm)) for arm in ("aim-k2", "aim-k3"))
                if one and other:
                    apart = unpaired([r.errors[k - 1] for r in one], [r.errors[k - 1] for r in other])
                    word = "k3" if apart.low > 0 else "k2" if apart.high < 0 else "neither"
                    entries.append(f"ε = {epsilon:g}: {word} ({apart})")
            lines.append(f"- {table.title()}, {k}-way: " + "; ".join(entries))
    return "Which is better, aim-k2 or aim-k3 (k2's error less k3's):\n\n" + "\n".join(lines)


def _weights(
    tables: Sequence[str], epsilons: Sequence[float], found: Mapping[tuple[str, float, str], list[Result]]
) -> str:
    lines = []
    for table in tables:
        entries = []
        for epsilon in epsilons:
            ours, printed = (found.get((table, epsilon, arm)) for arm in ("aim-k2", "aim-k2 printed"))
            if ours and printed:
                more = unpaired([r.errors[1] for r in printed], [r.errors[1] for r in ours])
                base = float(np.mean([r.errors[1] for r in ours]))
                entries.append(
                    f"ε = {epsilon:g}: {more.mean / base:+.1%} ({more.low / base:+.1%} to {more.high / base:+.1%})"
                )
        lines.append(f"- {table.title()}: " + "; ".join(entries))
    return "How much larger the 2-way error is with 1/σ (printed) than with 1/σ² (ours):\n\n" + "\n".join(lines)


def information_of(report: Report, table: str, arm: str) -> tuple[float, ...]:
    """Mutual information of the first run of an arm."""
    return judged.of(report.of(table), BY_NAME[arm].name)[0].information


def shown(report: Report, table: str) -> list[Result]:
    """The runs that figures 1, 2 and 8 show."""
    return [r for r in report.of(table) if r.arm in PAPER]
