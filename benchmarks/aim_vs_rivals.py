"""Our synthesizers against the others': same tables, same (ε, δ), same adjacency, same run.

    python benchmarks/aim_vs_rivals.py --work /tmp/rivals

Each rival gets a virtual environment of its own below --work. Every job is a process of its own; time is its whole CPU
time, imports and compilation included. Finished jobs are kept in --work/results.jsonl, so a stopped run goes on.
Prints a Markdown table of ratios and writes it to benchmarks/results/aim_vs_rivals.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tables import TABLES

HERE = Path(__file__).parent
PACKAGES = {
    "dpmm": ["dpmm"],
    "smartnoise": ["torch==2.13.0", "smartnoise-synth"],
    "datasynthesizer": ["DataSynthesizer"],
    "opendp": ["opendp[polars,mbi]", "pandas"],
    "mbi": ["mbi", "pandas"],
}
DELTA = 1e-9


@dataclass(frozen=True)
class Job:
    """One run of one method on one table."""

    system: str
    method: str
    table: str
    epsilon: float
    seed: int

    @property
    def key(self) -> str:
        """A name that is the same in every run."""
        return f"{self.system}/{self.method}/{self.table}/{self.epsilon:g}/{self.seed}"


def environment(system: str, work: Path) -> Path:
    """The Python that runs a system; a rival's environment is made on first use."""
    if system == "kagemusha":
        return Path(sys.executable)
    folder = work / f"venv-{system}"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        for package in PACKAGES[system]:
            subprocess.run([folder / "bin/pip", "install", "-q", package], check=True)
        (folder / "ready").touch()
    return folder / "bin/python"


def errors(real: np.ndarray, double: np.ndarray, sizes: list[int]) -> list[float]:
    """Mean normalised L1 error of all one-, two- and three-way marginals."""
    result = []
    for k in (1, 2, 3):
        distances = []
        for subset in itertools.combinations(range(len(sizes)), k):
            shape = [sizes[i] for i in subset]
            cells = int(np.prod(shape))
            one, two = (
                np.bincount(np.ravel_multi_index(tuple(t[:, list(subset)].T), shape), minlength=cells) / len(t)
                for t in (real, double)
            )
            distances.append(np.abs(one - two).sum())
        result.append(float(np.mean(distances)))
    return result


def run(job: Job, work: Path, limit: int) -> dict[str, object]:
    """Run a job in a process of its own; CPU seconds, wall seconds, peak megabytes, errors."""
    codes, sizes = TABLES[job.table]()
    source, out = work / f"{job.table}.npy", work / "double.npy"
    np.save(source, codes)
    out.unlink(missing_ok=True)
    config = {
        "method": job.method,
        "epsilon": job.epsilon,
        "delta": DELTA,
        "seed": job.seed,
        "sizes": sizes,
        "codes": str(source),
        "out": str(out),
    }
    python = environment(job.system, work)
    script = HERE / "rivals" / f"run_{job.system}.py"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    started, load = time.time(), os.getloadavg()[0]
    process = subprocess.Popen(
        [python, script, json.dumps(config)],
        env={**os.environ, **threads},
        stdout=subprocess.DEVNULL,
        stderr=(work / "stderr.txt").open("w"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )
    _, status, usage = os.wait4(process.pid, 0)
    result: dict[str, object] = {
        "key": job.key,
        "cpu": usage.ru_utime + usage.ru_stime,
        "wall": time.time() - started,
        "megabytes": usage.ru_maxrss / 1024,
        "load": load,
        "finished": out.exists() and status == 0,
    }
    if result["finished"]:
        result["errors"] = errors(codes, np.load(out), sizes)
    elif os.WIFEXITED(status):
        result["why"] = (work / "stderr.txt").read_text().strip().splitlines()[-1:]
    return result


def jobs(seeds: int, flagship: str) -> list[Job]:
    """What is compared with what: the rivals seed by seed, those that may not end next, ours last."""
    plan: list[Job] = []
    for seed in range(seeds):
        rivals = [(system, table) for table in ("adult", "bank") for system in ("dpmm", "smartnoise", "opendp")]
        plan += [Job(system, "aim", table, 1.0, seed) for system, table in rivals]
        plan += [Job("dpmm", "priv-bayes", "adult", 1.0, seed), Job("datasynthesizer", "privbayes", "adult", 1.0, seed)]
    # at ε = 10 dpmm takes hours: one run for its time, and for its error runs with the same sums regrouped
    plan += [Job("dpmm", "aim", table, 10.0, 0) for table in ("adult", "bank")]
    plan += [Job("dpmm", "aim-regrouped", table, 10.0, seed) for seed in range(seeds) for table in ("adult", "bank")]
    plan.append(Job("dpmm", "aim-regrouped", "adult", 1.0, 0))  # the same error as without regrouping, if all is well
    for seed in range(seeds):
        ours = [(m, t, e) for t in ("adult", "bank") for e in (0.1, 1.0, 10.0) for m in ("aim", flagship)]
        ours += [
            ("aim-k3", "adult", 1.0),
            ("privbayes", "adult", 1.0),
            ("aim", "adult-wide", 1.0),
            (flagship, "adult-wide", 1.0),
        ]
        plan += [Job("kagemusha", method, table, epsilon, seed) for method, table, epsilon in ours]
    return plan


def summary(results: list[dict[str, object]]) -> str:
    """Means over seeds, and each system's ratio to our own method of the same kind on the same table."""
    groups: dict[str, list[dict[str, object]]] = {}
    for result in results:
        groups.setdefault(str(result["key"]).rsplit("/", 1)[0], []).append(result)

    def mean(group: list[dict[str, object]], name: str) -> float:
        return float(np.mean([float(str(r[name])) for r in group]))

    lines = [
        "| system | method | table | ε | runs | CPU s | wall s | peak MB | 1-way | 2-way | 3-way "
        "| ÷ ours: CPU | wall | memory | 1-way | 2-way | 3-way |",
        "|" + " --- |" * 17,
    ]
    for key, group in groups.items():
        system, method, table, epsilon = key.split("/")
        done = [r for r in group if r["finished"]]
        error = np.mean([r["errors"] for r in done], axis=0) if done else np.full(3, np.nan)
        kind = "privbayes" if "bayes" in method else "aim"
        ours = [r for r in groups.get(f"kagemusha/{kind}/{table}/{epsilon}", []) if r["finished"]]
        more = "" if len(done) == len(group) else "> "
        ratios = [f"{more}{mean(group, n) / mean(ours, n):.1f}" if ours else "" for n in ("cpu", "wall", "megabytes")]
        quality = error / np.mean([r["errors"] for r in ours], axis=0) if ours else np.full(3, np.nan)
        cells = [
            system,
            method,
            table,
            epsilon,
            f"{len(done)} of {len(group)}",
            f"{more}{mean(group, 'cpu'):.1f}",
            f"{more}{mean(group, 'wall'):.1f}",
            f"{mean(group, 'megabytes'):.0f}",
            *(f"{e:.4f}" if np.isfinite(e) else "stopped" for e in error),
            *ratios,
            *(f"{q:.2f}" if np.isfinite(q) else "" for q in quality),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


NOTES = """\
- The rivals at ε = 1 ran each alone on one of two cores while the other was busy; opendp had one run then and two
  while tests ran too: quote its CPU, not its wall.
- dpmm's AIM at ε = 10 with its default settings: on Bank it ended (one run, on a core it shared with tests: quote its
  CPU, not its wall). On Adult it was given up after 2,342 CPU s with 27 % of its budget spent; one round of 1.3
  million cells took 1,087 CPU s, and its model grows to 7.5 million. That row holds lower bounds.
- `aim-regrouped` is the same program, settings and iterations with the sums inside its inference regrouped
  (`rivals/dpmm_sums.py`): on the same measurements its marginals agree with the unmodified ones to 10⁻¹⁴ of the
  largest cell, five times sooner on large tables. It is there for the error; its time is not dpmm's own, but a lower
  bound of it.
- dpmm's noise takes no seed: its runs are repetitions. DataSynthesizer takes no δ: its promise is pure ε.
- The AIM rows of smartnoise and opendp are made with their default samplers. With rows drawn independently, single
  runs gave .0436 (smartnoise) and .0567 (opendp) two-way on Adult: about half of their error seems to be the
  sampler's.
"""
"""What a reader of the table must know of the rivals' lines."""


def kept(page: Path, systems: set[str]) -> list[dict[str, object]]:
    """The means on an earlier page of systems that are not run again, one for each of their runs."""
    found: list[dict[str, object]] = []
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 17 or not cells[4][:1].isdigit() or cells[0] in systems:
            continue
        done, runs = map(int, cells[4].split(" of "))
        for run in range(runs):
            result: dict[str, object] = {
                "key": f"{'/'.join(cells[:4])}/{run}",
                **{n: float(cells[i].strip("> ")) for n, i in (("cpu", 5), ("wall", 6), ("megabytes", 7))},
                "load": 0.0,
                "finished": run < done,
                "kept": True,
            }
            if run < done:
                result["errors"] = [float(cell) for cell in cells[8:11]]
            found.append(result)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for environments and finished jobs")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=1800, help="CPU seconds after which a job is stopped")
    parser.add_argument("--only", help="run only jobs whose key contains this text")
    parser.add_argument("--keep", action="store_true", help="keep the page's lines of systems that are not run again")
    options = parser.parse_args()
    from kagemusha.synthesizers.registry import DEFAULT

    options.work.mkdir(parents=True, exist_ok=True)
    store = options.work / "results.jsonl"
    results = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    finished = {r["key"] for r in results}
    for job in jobs(options.seeds, DEFAULT):
        if job.key in finished or (options.only and options.only not in job.key):
            continue
        result = run(job, options.work, options.limit)
        results.append(result)
        with store.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(result, flush=True)
    page = HERE / "results" / "aim_vs_rivals.md"
    loads = [float(str(r["load"])) for r in results]
    before = kept(page, {str(r["key"]).split("/")[0] for r in results}) if options.keep else []
    again = "Lines of the rivals are those of an earlier run of this script; ours were run again. " if before else ""
    text = (
        "# AIM and friends against the rivals\n\n"
        f"Made by `python benchmarks/aim_vs_rivals.py --seeds {options.seeds} --limit {options.limit}` on "
        f"{os.cpu_count()} cores, load {min(loads):.1f} to {max(loads):.1f} when jobs started: the rivals first, ours "
        f"last. {again}δ = {DELTA:g}, add-remove.\n\n"
        "- CPU time is that of the whole process, imports included. Every system has one thread, which costs the "
        "rivals less CPU than their defaults.\n"
        "- Ours are releases: exact integer noise, a ledger in memory. Compiled kernels came from numba's cache; the "
        "first run ever on a machine adds about 7 s to compile them.\n"
        "- Errors are means of normalised L1 over all subsets, of generated rows. The last columns are ratios to our "
        "own AIM or PrivBayes on the same table: above 1 the rival is slower, larger or worse.\n"
        "- `>`: some runs were stopped at the CPU limit.\n\n" + summary([*before, *results]) + f"\n\n{NOTES}"
    )
    (HERE / "results").mkdir(exist_ok=True)
    page.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
