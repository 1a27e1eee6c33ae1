"""`reproduce p3gm`: Tables 2 to 4 and Figures 1, 3, 4 and 5 of the P3GM paper, the printed numbers beside ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.files import write_whole
from kagemusha.progress import Progress, part, silent
from kagemusha.reproduce import p3gm_figures as figures
from kagemusha.reproduce.p3gm_accounting import figure_5
from kagemusha.reproduce.p3gm_convergence import curves
from kagemusha.reproduce.p3gm_data import load
from kagemusha.reproduce.p3gm_page import Report
from kagemusha.reproduce.p3gm_runs import (
    COMMITTED,
    FULL,
    METHODS,
    PLACES,
    QUICK,
    Result,
    Settings,
    all_runs,
    code_behind,
    run_one,
)
from kagemusha.reproduce.p3gm_search import search
from kagemusha.reproduce.repeats import spread_out
from kagemusha.reproduce.stamps import code_of

SETTINGS = {"quick": QUICK, "committed": COMMITTED, "full": FULL}
RUNS, FIGURES = "runs.jsonl", "figures.json"


def reproduce(
    out: Path,
    *,
    size: str = "committed",
    credit: Path | None = None,
    only: Sequence[str] = (),
    methods: Sequence[str] = (),
    folds: int = 10,
    by_epoch: bool = True,
    only_page: bool = False,
    only_search: bool = False,
    progress: Progress = silent,
) -> Report:
    """Run everything, write tables and figures into `out`; a stopped run goes on where it was.

    `only` names data sets and `methods` methods; what is stored of the others stays. `folds` limits folds of tables and
    runs of pictures. `only_page` writes the page of what is stored, `only_search` makes the trials behind the settings
    first.
    """
    from kagemusha.neural.networks import need_torch

    settings = SETTINGS[size].limited(only, folds)
    unknown = sorted(set(methods) - set(METHODS))
    if unknown:
        raise UsageError(f"a method must be one of {', '.join(METHODS)}; got {unknown[0]!r}")
    settings = replace(settings, methods=tuple(m for m in settings.methods if not methods or m in methods))
    out.mkdir(parents=True, exist_ok=True)
    if only_search:
        need_torch().set_num_threads(1)
        search(out, progress)
    elif not only_page:
        need_torch().set_num_threads(1)
        results = all_runs(settings, out / f"runs-{size}", credit=credit, progress=part(progress, 0.0, 0.85))
        _draw(results, settings, out, credit, by_epoch, part(progress, 0.86, 1.0))
        kept = [r for r in stored_runs(out) if (r.data, r.method) not in {(n.data, n.method) for n in results}]
        write_runs([*results, *(kept if size != "quick" else [])], out)
    report = read(out, settings)
    report.write(out, codes())
    progress("done", 1.0)
    return report


def read(out: Path, settings: Settings) -> Report:
    """The report of what is stored, whatever code made it."""
    drawn = json.loads((out / FIGURES).read_text(encoding="utf-8")) if (out / FIGURES).exists() else {}
    return Report(stored_runs(out), drawn, settings)


def stored_runs(out: Path) -> list[Result]:
    """The runs of a file, if there is one."""
    if not (out / RUNS).exists():
        return []
    return [Result(**json.loads(line)) for line in (out / RUNS).read_text(encoding="utf-8").splitlines()]


def write_runs(results: Iterable[Result], out: Path) -> None:
    """One line per run, without its pictures."""
    lines = [json.dumps(asdict(replace(r, pictures=())), ensure_ascii=False) for r in results]
    write_whole(out / RUNS, ("\n".join(lines) + "\n").encode())


def codes() -> dict[str, str]:
    """Today's digests of the code behind the runs of each method and behind the curves."""
    found = {method: code_behind(method) for method in METHODS}
    places = (f"kagemusha.reproduce.{name}" for name in ("p3gm_convergence:curves", "p3gm_accounting:figure_5"))
    every = code_of(
        "kagemusha.reproduce.p3gm_runs:run_one", *(f"kagemusha.synthesizers.{place}" for place in PLACES.values())
    )
    return {**found, "figure 1": every, "figures 3 and 4": code_of(next(places)), "figure 5": code_of(next(places))}


def again(out: Path, what: str, count: int) -> list[bool]:
    """Whether some runs of a method come out the same with today's code; figures have none of their own."""
    same = []
    for one in spread_out([r for r in stored_runs(out) if r.method == what and r.scores], count):
        found = run_one(load(one.data, fold=one.fold), what, one.seed, COMMITTED, one.fold)
        same.append(found.scores == one.scores)
    return same


def _draw(
    results: Sequence[Result], settings: Settings, out: Path, credit: Path | None, by_epoch: bool, progress: Progress
) -> None:
    now = codes()
    for name in settings.pictures:
        figures.image_grid([r for r in results if r.data == name], out / f"figure-1-{name}.png")
    path = out / FIGURES
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"code": {}}
    found["code"]["figure 5"] = now["figure 5"]
    if settings.pictures:
        found["code"]["figure 1"] = now["figure 1"]
    panels: Mapping[str, figures.Lines] = {f"ε_p = {pca:g}": arms for pca, arms in figure_5().items()}
    figures.lines(panels, out / "figure-5.svg", x="noise of training", y="ε", logarithmic=True)
    found["figure-5"] = panels
    for number, name, y in (("3", "mnist", "accuracy (MLP)"), ("4", "credit", "AUROC")):
        if by_epoch and name in settings.data:
            drawn = curves(load(name, credit=credit), settings, progress)
            figures.by_epoch(drawn, out / f"figure-{number}.svg", title=name, y=y)
            found[f"figure-{number}"] = drawn
            found["code"]["figures 3 and 4"] = now["figures 3 and 4"]
    write_whole(path, json.dumps(found, indent=1, ensure_ascii=False).encode())
