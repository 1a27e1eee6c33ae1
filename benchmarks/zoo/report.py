"""The lines of benchmarks/results/zoo.csv as a page: benchmarks/results/zoo.md.

    python benchmarks/zoo/report.py

A table and ε count where kage and at least one other method have a line. Ratios are kage's mean over the best other
mean.
"""

from __future__ import annotations

import csv
import math
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from calibration import Point, drawing, summary
from run import METHODS, RESULTS, code

from tables import ZOO

Means = dict[tuple[str, str, str], dict[str, float]]
WAYS = ("one", "two", "three")


def means(lines: list[dict[str, str]]) -> Means:
    """Mean of every number over the seeds of a table, ε and method."""
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for line in lines:
        if line["status"] == "ok":
            groups[line["table"], line["epsilon"], line["method"]].append(line)
    numbers = (*WAYS, "auc", "fit_cpu", "sample_cpu", "megabytes", "plan_seconds", "plan_megabytes", "predicted")
    return {
        key: {"runs": len(found)}
        | {n: float(np.mean([float(line[n]) for line in found])) for n in numbers if found[0][n]}
        for key, found in groups.items()
    }


def _cells(found: Means, table: str, epsilon: str) -> list[str]:
    others = [found[table, epsilon, m] for m in METHODS[1:] if (table, epsilon, m) in found]
    kage = found[table, epsilon, "kage"]
    ratios = [f"{kage[way] / min(o[way] for o in others):.2f}" for way in WAYS]
    aim = found.get((table, epsilon, "aim"), {})
    ratios.insert(0, f"{kage['one'] / aim['one']:.2f}" if aim else "–")
    auc = [f"{x['auc']:.3f}" if "auc" in x else "" for x in (kage, aim)]
    cpu = [f"{x['fit_cpu']:.1f}" if x else "–" for x in (kage, aim)]
    return [
        table, epsilon, f"{kage['runs']:.0f}", *(f"{kage[way]:.4f}" for way in WAYS), *ratios, *auc,
        *cpu, f"{kage['sample_cpu']:.1f}", f"{kage['megabytes']:.0f}", f"{kage['plan_seconds']:.0f}",
    ]  # fmt: skip


def _summary(found: Means, keys: list[tuple[str, str]]) -> list[str]:
    lines = ["| tables | ways | (table, ε) | at most 1 × the best other | worst | geometric mean |", "|" + " --- |" * 6]
    halves = {e.name: e.half for e in ZOO}
    for half in ("test", "train"):
        for way in WAYS:
            ratios = []
            for table, epsilon in keys:
                if halves[table] == half:
                    others = [found[table, epsilon, m][way] for m in METHODS[1:] if (table, epsilon, m) in found]
                    ratios.append(found[table, epsilon, "kage"][way] / min(others))
            if ratios:
                share = np.mean(np.array(ratios) <= 1.0)
                mean = math.exp(np.mean(np.log(ratios)))
                lines.append(f"| {half} | {way} | {len(ratios)} | {share:.0%} | {max(ratios):.2f} | {mean:.2f} |")
    return lines


def _without(lines: list[dict[str, str]], keys: list[tuple[str, str]]) -> list[str]:
    """What kage was not run on, and what an older kage was, in two sentences."""
    missing = [f"{e.name}, ε = {eps}" for e in ZOO for eps in ("0.1", "1", "10") if (e.name, eps) not in keys]
    older = {line["table"] for line in lines if line["method"] == "kage" and line["code"] != code()}
    said = [f"Without a line of kage: {'; '.join(missing)}."] if missing else []
    if older:
        named = ", ".join(e.name for e in ZOO if e.name in older)
        said.append(f"Of an older kage than today's are the lines of {named}.")
    return ["\n\n".join(said), ""] if said else []


def _against_aim(found: Means, keys: list[tuple[str, str]]) -> list[str]:
    """One-way error and AUC beside AIM's alone, where AIM has a line."""
    lines = []
    halves = {e.name: e.half for e in ZOO}
    for half in ("test", "train"):
        both = [
            (found[t, e, "kage"], found[t, e, "aim"]) for t, e in keys if halves[t] == half and (t, e, "aim") in found
        ]
        if not both:
            continue
        ratios = np.array([kage["one"] / aim["one"] for kage, aim in both])
        sentence = (
            f"One-way error over AIM's ({half}): at most 1.1 on {np.mean(ratios <= 1.1):.0%} of {len(ratios)}, worst "
            f"{ratios.max():.2f}, geometric mean {math.exp(np.log(ratios).mean()):.2f}."
        )
        aucs = np.array([(kage["auc"], aim["auc"]) for kage, aim in both if "auc" in kage and "auc" in aim])
        if len(aucs):
            sentence += f" AUC: {aucs[:, 0].mean():.3f} against {aucs[:, 1].mean():.3f} ({len(aucs)})."
        lines += [sentence, ""]
    return lines


def _calibration(found: Means, keys: list[tuple[str, str]]) -> list[str]:
    """Predicted against actual two-way error; nothing where no line has a prediction."""
    halves = {e.name: e.half for e in ZOO}
    kages = [(table, epsilon, found[table, epsilon, "kage"]) for table, epsilon in keys]
    points = [Point(t, halves[t], e, k["predicted"], k["two"]) for t, e, k in kages if k.get("predicted", 0) > 0]
    if not points:
        return []
    where = RESULTS.with_name("zoo-predicted.svg")
    where.write_text(drawing(points))
    return [
        "## What kage expects of its pairs",
        "",
        "When it chooses what to measure, kage predicts the mean error of all pairs from released numbers alone "
        "(`Model.expected`).",
        "",
        *summary(points),
        "",
        f"![predicted against actual]({where.name})",
        "",
    ]


def main() -> None:
    with RESULTS.open() as file:
        lines = list(csv.DictReader(file))
    found = means(lines)
    keys = [
        (e.name, epsilon)
        for e in sorted(ZOO, key=lambda e: e.half)
        for epsilon in ("0.1", "1", "10")
        if (e.name, epsilon, "kage") in found and any((e.name, epsilon, m) in found for m in METHODS[1:])
    ]
    page = [
        "# The zoo",
        "",
        "`python benchmarks/zoo/run.py`, then `python benchmarks/zoo/report.py`. δ = 1e-9, add-remove, simulated "
        "noise, mean L1 error of generated rows over all one-, two- and three-way tables (at most 1,000 pairs and 150 "
        "triples, the same for all methods). Ratios: kage over the best of aim, aim-gdp, mst and privbayes, as far as "
        "they were run. Constants were set on the train half, but the test half was looked at between changes "
        "(docs/decisions/020). All lines: [zoo.csv](zoo.csv).",
        "",
        *_without(lines, keys),
        *_summary(found, keys),
        "",
        *_against_aim(found, keys),
        *_calibration(found, keys),
    ]  # fmt: skip
    head = (
        "| table | ε | runs | 1-way | 2-way | 3-way | 1-way ÷ aim's | ÷ 1-way | ÷ 2-way | ÷ 3-way | AUC | aim's | "
        "fit CPU s | aim's | sampling | MB | planned s |"
    )
    for half in ("test", "train"):
        page += [f"## {half}", "", head, "|" + " --- |" * 17]
        page += [
            "| " + " | ".join(_cells(found, *key)) + " |"
            for key in keys
            if key[0] in {e.name for e in ZOO if e.half == half}
        ]
        page.append("")
    failed = [line for line in lines if line["status"] != "ok"]
    if failed:
        page += [
            "Not finished: "
            + "; ".join(f"{x['method']} on {x['table']}, ε = {x['epsilon']} ({x['status']})" for x in failed)
            + "."
        ]
    RESULTS.with_suffix(".md").write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
