"""Mutants of kage: every number of `constants.py` moved, every condition of its modules turned round, one at a time.

    python tests/synthesizers/kage_mutants.py [--part 1/2]

A mutant is killed if a fast test of kage fails, the lock on what it asks first; those that stay alive are printed. Each
run is a process with a copy of the package of its own. About fifteen CPU minutes.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import kagemusha

HERE = Path(__file__).parent
SOURCE = Path(kagemusha.__file__).parent
KAGE = Path("synthesizers") / "kage"
TESTS = [HERE / "test_kage_asked.py", *sorted(HERE.glob("test_kage_[!a]*.py")), HERE / "test_kage.py"]
MOVED = 1.3


@dataclass(frozen=True)
class Mutant:
    """A file in which the text from one place to another is replaced."""

    file: str
    line: int
    start: int
    end: int
    text: str


def mutants(file: str, source: str) -> Iterator[Mutant]:
    """Numbers times `MOVED` in constants.py, conditions with a *not* elsewhere; assertions and types are left alone."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    tree = ast.parse(source)
    if file == "constants.py":
        nodes = [
            n for a in tree.body if isinstance(a, ast.Assign | ast.AnnAssign) for n in ast.walk(a.value or ast.Pass())
        ]
        places = [n for n in nodes if isinstance(n, ast.Constant)]
    else:
        places = [n.test for n in ast.walk(tree) if isinstance(n, ast.If | ast.IfExp | ast.While)]
        places += [test for n in ast.walk(tree) if isinstance(n, ast.comprehension) for test in n.ifs]
    for node in places:
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        old = source.encode()[start:end].decode()
        if isinstance(node, ast.Constant):
            new = repr(
                type(node.value)(round(node.value * MOVED, 12)) + (isinstance(node.value, int) and node.value < 4)
            )
        else:
            new = f"(not ({old}))"
        yield Mutant(file, node.lineno, start, end, new)


def killed(mutant: Mutant, home: Path) -> bool:
    path = home / "kagemusha" / KAGE / mutant.file
    before = path.read_bytes()
    path.write_bytes(before[: mutant.start] + mutant.text.encode() + before[mutant.end :])
    try:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-m",
            "not slow",
            "-p",
            "no:cacheprovider",
            *map(str, TESTS),
        ]
        environment = {**os.environ, "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run(command, env=environment, capture_output=True, timeout=900, check=False)
        return run.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_bytes(before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="1/1", help="which of how many equal parts of the mutants")
    part, parts = map(int, parser.parse_args().part.split("/"))
    files = sorted((SOURCE / KAGE).glob("*.py"))
    every = [m for file in files for m in mutants(file.name, file.read_text(encoding="utf-8"))][part - 1 :: parts]
    alive = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCE, Path(folder) / "kagemusha", ignore=shutil.ignore_patterns("__pycache__"))
        for done, mutant in enumerate(every, 1):
            if not killed(mutant, Path(folder)):
                alive += 1
                print(f"alive: {mutant.file}:{mutant.line}: {mutant.text}", flush=True)
            if done % 10 == 0:
                print(f"{done} of {len(every)}, {alive} alive", flush=True)
    print(f"{len(every) - alive} of {len(every)} killed")


if __name__ == "__main__":
    main()
