"""Our CTGAN against the `ctgan` package, on Adult, one after the other in the same run.

    python benchmarks/ctgan_vs_rival.py --work DIR --epochs 30 --seeds 2

Told: CPU seconds an epoch and for fitting the column transformers, and the accuracy on Adult's own test rows of a
boosted tree trained on the generated rows. The package runs in an environment of its own below DIR, at its default
settings.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from kagemusha.reproduce.paper_tables import data_folder

HERE = Path(__file__).parent
LABELS = ["workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country"]
SYSTEMS = {"ctgan": HERE / "rivals/run_ctgan.py", "Kagemusha": HERE / "rivals/run_our_ctgan.py"}


def environment(work: Path) -> Path:
    """The package's own Python."""
    folder = work / "venv-ctgan"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        # the build of torch for CPUs first: a plain requirement would bring gigabytes
        for package in ("torch==2.13.0", "ctgan"):
            subprocess.run([folder / "bin/pip", "install", "-q", package], check=True)
        (folder / "ready").touch()
    return folder / "bin/python"


def accuracy(rows: pd.DataFrame, test: pd.DataFrame) -> float:
    """Of a boosted tree trained on `rows`, on real rows nobody trained on."""
    from xgboost import XGBClassifier

    both = pd.concat([rows, test], keys=["rows", "test"])
    features = pd.get_dummies(both.drop(columns="income"), columns=LABELS).astype(np.float32)
    features.columns = [f"f{i}" for i in range(features.shape[1])]
    wanted = (both["income"] == ">50K").astype(int)
    model = XGBClassifier(n_jobs=1, random_state=0).fit(features.loc["rows"], wanted.loc["rows"])
    return float((model.predict(features.loc["test"]) == wanted.loc["test"]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=1)
    choices = parser.parse_args()
    choices.work.mkdir(parents=True, exist_ok=True)
    adult = pd.read_parquet(data_folder() / "adult.parquet").dropna()
    train, test = (adult[adult["split"] == s].drop(columns="split") for s in ("train", "test"))
    train.to_csv(choices.work / "adult.csv", index=False)
    train, test = (part.astype(dict.fromkeys([*LABELS, "income"], str)) for part in (train, test))
    rival = environment(choices.work)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in SYSTEMS}
    for seed in range(choices.seeds):
        for name, script in SYSTEMS.items():
            out, told = choices.work / f"{name}-{seed}.csv", choices.work / f"{name}-{seed}.json"
            job = {"table": str(choices.work / "adult.csv"), "labels": [*LABELS, "income"], "epochs": choices.epochs}
            job |= {"seed": seed, "out": str(out), "told": str(told)}
            python = rival if name == "ctgan" else sys.executable
            subprocess.run([python, script, json.dumps(job)], check=True)
            result = json.loads(told.read_text())
            found[name].append({**result, "accuracy": accuracy(pd.read_csv(out), test)})
    real = accuracy(train, test)
    lines = [
        "# CTGAN against the `ctgan` package",
        "",
        f"`python benchmarks/ctgan_vs_rival.py --epochs {choices.epochs} --seeds {choices.seeds}`. Adult, "
        f"{len(train):,} complete training rows, 15 columns, both at the paper's settings (batch 500, packs of 10, two "
        "layers of 256), one after the other on the same machine. CPU seconds of the whole process; accuracy of a "
        f"boosted tree trained on the rows, on Adult's test rows (trained on people: {real:.4f}).",
        "",
        "| | transformers, CPU s | an epoch, CPU s | whole fit, wall s | accuracy |",
        "| --- | --- | --- | --- | --- |",
    ]
    means = {}
    for name, runs in found.items():
        mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        means[name] = mean
        scores = ", ".join(f"{run['accuracy']:.4f}" for run in runs)
        lines.append(
            f"| {name} | {mean['transform']:.2f} | {mean['epoch']:.2f} | {mean['wall']:.0f} | {mean['accuracy']:.4f} "
            f"({scores}) |"
        )
    ours, theirs = means["Kagemusha"], means["ctgan"]
    lines += [
        f"| ratio | {theirs['transform'] / ours['transform']:.1f} × | {theirs['epoch'] / ours['epoch']:.1f} × | "
        f"{theirs['wall'] / ours['wall']:.1f} × | |",
        "",
    ]
    (HERE / "results/ctgan.md").write_text("\n".join(lines))
    sys.stdout.write("\n".join(lines))


if __name__ == "__main__":
    main()
