"""`reproduce aim`: figures 1 to 8 and Tables 2 and 3 of the AIM paper on Adult and Bank, the claims one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kagemusha.files import write_whole
from kagemusha.reproduce import aim_figures as figures
from kagemusha.reproduce import aim_runs, aim_steps
from kagemusha.reproduce.aim_page import FIGURES, RUNS, STEPS, Report, information_of, shown
from kagemusha.reproduce.aim_runs import EPSILONS, LEARNERS, all_runs, jobs
from kagemusha.reproduce.aim_steps import Steps, inside
from kagemusha.reproduce.paper_tables import PaperTable, load
from kagemusha.reproduce.repeats import spread_out

Progress = Callable[[str, float], None]

SEEDS, LARGE_SEEDS = 30, 5
QUICK_EPSILONS = (0.1, 5.0)
"""Without those at which a run takes ten seconds."""


def reproduce(
    out: Path, *, quick: bool = False, only_page: bool = False, progress: Progress = lambda *_: None
) -> Report:
    """Make every run, write them down, then the page and its figures; a stopped run goes on where it was.

    `only_page` makes no run: the page of what is stored.
    """
    out.mkdir(parents=True, exist_ok=True)
    if only_page:
        report = Report.read(out)
        write(report, out)
        return report
    repeat, large = (2, 1) if quick else (SEEDS, LARGE_SEEDS)
    tables = {name: {kind: load(name, domain=kind) for kind in ("seen", "table 1")} for name in ("adult", "bank")}
    results = all_runs(
        tables,
        out / RUNS,
        jobs(repeat, large, QUICK_EPSILONS if quick else EPSILONS),
        learners=LEARNERS,
        progress=lambda what, done: progress(what, 0.8 * done),
    )
    steps = _steps(out / STEPS)
    if steps is None or len(steps.choices) < repeat:
        steps = inside(
            {name: kinds["seen"] for name, kinds in tables.items()},
            runs=repeat,
            curves=2 if quick else 10,
            steps=2 if quick else 10,
            points=6 if quick else 10_000,
            progress=lambda what, done: progress(what, 0.8 + 0.18 * done),
        )
        write_whole(out / STEPS, steps.to_json().encode())
    report = Report(results, steps)
    write(report, out)
    progress("done", 1.0)
    return report


def _steps(path: Path) -> Steps | None:
    """What was found inside runs before, if the same code found it."""
    if not path.exists():
        return None
    found = Steps.from_json(path.read_text(encoding="utf-8"))
    return found if found.code == aim_steps.code() else None


def write(report: Report, out: Path) -> None:
    """The page and its figures, from what the files of a run hold."""
    for i, table in enumerate(report.tables):
        figures.kway_bars(shown(report, table), table.title(), out / FIGURES[i])
        maps = {"real": report.steps.real[i]}
        maps |= {arm: information_of(report, table, arm) for arm in ("aim-k2", "aim-noinit", "bayes")}
        figures.information_maps(maps, report.steps.columns[i], out / FIGURES[5 + i])
    figures.information_bars({t.title(): shown(report, t) for t in report.tables}, out / FIGURES[7])
    figures.budget_curves(report.steps.curves, out / FIGURES[2])
    figures.error_curves(report.steps.errors[:2], report.steps.first, out / FIGURES[3])
    figures.choice_maps(report.steps.choices[:3], report.steps.names, out / FIGURES[4])
    report.write(out)


def codes() -> dict[str, str]:
    """Today's digests of the code behind the runs of each method and behind the look inside runs."""
    return {**aim_runs.code_digests(), "steps": aim_steps.code()}


def again(out: Path, what: str, count: int) -> list[bool]:
    """Whether some runs of a method come out the same with today's code; the look inside runs has none of its own."""
    runs = [r for r in aim_runs.read_runs(out / RUNS) if aim_runs.BY_NAME[r.arm].method == what]
    chosen = spread_out(runs, count)
    wanted = {(r.table, aim_runs.BY_NAME[r.arm].domain) for r in chosen}
    tables: dict[str, dict[str, PaperTable]] = {name: {} for name, _ in wanted}
    for name, domain in wanted:
        tables[name][domain] = load(name, domain=domain)
    return aim_runs.again(chosen, tables)
