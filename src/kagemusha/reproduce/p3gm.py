"""`reproduce p3gm`: Tables 2 to 4 and Figures 1, 3, 4 and 5 of the P3GM paper, the printed numbers beside ours."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kagemusha.files import write_whole
from kagemusha.progress import Progress, part, silent
from kagemusha.reproduce import p3gm_figures as figures
from kagemusha.reproduce.p3gm_accounting import figure_5
from kagemusha.reproduce.p3gm_convergence import curves
from kagemusha.reproduce.p3gm_data import IMAGES, load
from kagemusha.reproduce.p3gm_paper import TABLE_2, TABLE_3, TABLE_4
from kagemusha.reproduce.p3gm_runs import COMMITTED, FULL, QUICK, TUNED, Result, Settings, all_runs
from kagemusha.reproduce.p3gm_scores import CLASSIFIERS
from kagemusha.version import __version__

SETTINGS = {"quick": QUICK, "committed": COMMITTED, "full": FULL}


@dataclass(frozen=True)
class Report:
    """Everything that was found, ready to be written."""

    results: Sequence[Result]
    settings: Settings
    credit: str

    def mean(self, data: str, method: str, score: str) -> float | None:
        """Of all folds and runs; None where there is none."""
        found = [r.scores[score] for r in self.results if (r.data, r.method) == (data, method) and score in r.scores]
        return float(np.mean(found)) if found else None

    @property
    def methods(self) -> list[str]:
        """In the order of the rows."""
        return list(dict.fromkeys(r.method for r in self.results))

    def markdown(self) -> str:
        """The page that goes beside the figures."""
        settings = self.settings
        command = "kagemusha reproduce p3gm" + ("" if settings.name == "committed" else f" --{settings.name}")
        parts = [
            "# P3GM: the paper's tables and figures, and ours",
            f"Made by `{command}`, version {__version__}. (ε, δ) = (1, 10⁻⁵), add-remove adjacency (the paper: "
            f"replace), simulated noise. Folds: {len(settings.folds)} of 10; runs: {settings.runs}, of nigao "
            f"{max(settings.runs, settings.own_runs)}; doubles a classifier learns from: at most {settings.rows:,}; "
            f"passes of the networks that judge pictures: {settings.epochs}, the last one counts. "
            + (
                "One fold, and one run of most: differences of a point or two mean nothing. "
                if settings.name != "full"
                else ""
            )
            + f"Credit: {self.credit or 'not run'}. Numbers are judged as the schema codes them, those of real rows "
            f"too.",
            "`p3gm`, `ae` and `pgm` take the target as the components of their mixture; `p3gm-joint` trains it along, "
            "as the paper does. `real` is no method but the people themselves. `vae`, `pgm` and `real` are not "
            "private. kage and privbayes see numbers in 8 bins. CPU seconds are those of the fit.",
            f"**How the settings were chosen.** {TUNED}",
        ]
        tables = [d for d in settings.data if d not in IMAGES]
        pictures = [d for d in settings.data if d in IMAGES]
        if tables:
            parts += ["## Table 3: AUROC / AUPRC, mean of LR, AdaBoost, GBM and XGBoost", self._table_3(tables)]
        if "credit" in tables:
            parts += ["## Table 2: Credit, each classifier", self._table_2()]
        if pictures:
            parts += ["## Table 4: accuracy on pictures", self._table_4(pictures)]
        parts += ["## CPU seconds of a fit", self._seconds(), "## Claims", self._claims()]
        drawn = ["figure-1-mnist.png", "figure-1-fashion.png", "figure-3.svg", "figure-4.svg", "figure-5.svg"]
        return "\n\n".join([*parts, "## Figures", *(f"![{name}]({name})" for name in drawn)]) + "\n"

    def _table_3(self, tables: Sequence[str]) -> str:
        head = ["method", *(f"{d}, {who}" for d in tables for who in ("paper", "ours"))]
        rows = []
        for method in self.methods:
            cells = []
            for data in tables:
                paper = TABLE_3[data].get(method)
                mine = [self.mean(data, method, score) for score in ("AUROC", "AUPRC")]
                cells.append(f"{paper[0]:.4f} / {paper[1]:.4f}" if paper else "–")
                cells.append(f"{mine[0]:.4f} / {mine[1]:.4f}" if mine[0] is not None and mine[1] is not None else "–")
            rows.append([method, *cells])
        return table(head, rows)

    def _table_2(self) -> str:
        methods = ("vae", "pgm", "p3gm")
        head = ["classifier", *(f"{m}, {who}" for m in methods for who in ("paper", "ours"))]
        rows = []
        for name in CLASSIFIERS:
            cells = []
            for method in methods:
                paper = TABLE_2[name][method]
                mine = [self.mean("credit", method, f"{name} {score}") for score in ("AUROC", "AUPRC")]
                cells.append(f"{paper[0]:.4f} / {paper[1]:.4f}")
                cells.append(f"{mine[0]:.4f} / {mine[1]:.4f}" if mine[0] is not None and mine[1] is not None else "–")
            rows.append([name, *cells])
        return table(head, rows)

    def _table_4(self, pictures: Sequence[str]) -> str:
        head = ["method", *(f"{d}, {who}" for d in pictures for who in ("paper", "ours: MLP", "ours: CNN"))]
        rows = []
        for method in self.methods:
            cells = []
            for data in pictures:
                cells.append(_number(TABLE_4[data].get(method)))
                cells += [_number(self.mean(data, method, kind)) for kind in ("MLP", "CNN")]
            rows.append([method, *cells])
        return table(head, rows)

    def _seconds(self) -> str:
        rows = []
        for method in self.methods:
            mine = {
                d: [r.seconds for r in self.results if (r.data, r.method) == (d, method)] for d in self.settings.data
            }
            rows.append([method, *(f"{np.mean(s):.1f}" if s and max(s) > 0 else "–" for s in mine.values())])
        return table(["method", *self.settings.data], rows)

    def _claims(self) -> str:
        rows = []
        for data in self.settings.data:
            score = "CNN" if data in IMAGES else "AUROC"
            ours = {m: self.mean(data, m, score) for m in ("p3gm", "dp-vae", "dp-gm", "nigao", "p3gm-joint")}
            if ours["p3gm"] is None:
                continue
            for other in ("dp-vae", "dp-gm"):
                if ours[other] is not None:
                    rows.append(_claim(f"{data}: P3GM above {other} ({score})", ours["p3gm"], ours[other]))
            if ours["nigao"] is not None:
                rows.append(_claim(f"{data}: nigao above P3GM ({score})", ours["nigao"], ours["p3gm"]))
        return table(["claim", "found", ""], rows) if rows else "None of the runs that claims need were made."


def _claim(text: str, larger: float, smaller: float | None) -> list[str]:
    assert smaller is not None
    return [text, f"{larger:.4f} against {smaller:.4f}", "holds" if larger > smaller else "**does not hold**"]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def reproduce(out: Path, *, size: str = "committed", credit: Path | None = None, progress: Progress = silent) -> Report:
    """Run everything, write tables (CSV, Markdown) and figures into `out`; a stopped run goes on where it was."""
    from kagemusha.neural.networks import need_torch

    need_torch().set_num_threads(1)
    settings = SETTINGS[size]
    out.mkdir(parents=True, exist_ok=True)
    results = all_runs(settings, out / f"runs-{size}", credit=credit, progress=part(progress, 0.0, 0.85))
    note = load("credit", credit=credit).note if "credit" in settings.data else ""
    report = Report(results, settings, note)
    write_csv(results, out / "runs.csv")
    write_whole(out / "report.md", report.markdown().encode())
    for name in IMAGES:
        figures.image_grid([r for r in results if r.data == name], out / f"figure-1-{name}.png")
    progress("accounting", 0.86)
    panels: Mapping[str, figures.Lines] = {f"ε_p = {pca:g}": arms for pca, arms in figure_5().items()}
    figures.lines(panels, out / "figure-5.svg", x="noise of training", y="ε", logarithmic=True)
    found: dict[str, object] = {"figure-5": panels}
    for number, name, y in (("3", "mnist", "accuracy (MLP)"), ("4", "credit", "AUROC")):
        if name in settings.data:
            drawn = curves(load(name, credit=credit), settings, part(progress, 0.9, 1.0))
            figures.lines({name: drawn}, out / f"figure-{number}.svg", x="epochs", y=y)
            found[f"figure-{number}"] = drawn
    write_whole(out / "figures.json", json.dumps(found, indent=1, ensure_ascii=False).encode())
    progress("done", 1.0)
    return report


def write_csv(results: Sequence[Result], path: Path) -> None:
    """Every run, a line each."""
    names = sorted({name for r in results for name in r.scores})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["data", "method", "fold", "seed", "cpu_seconds", "note", *names])
        for r in results:
            scores = [r.scores.get(name, "") for name in names]
            writer.writerow([r.data, r.method, r.fold, r.seed, round(r.seconds, 2), r.note, *scores])
