"""Mutants of kage: every number of `constants.py` moved, every condition of its modules turned round, one at a time.

    python tests/synthesizers/kage_mutants.py [--lock] [--file choice.py]

A mutant is killed if a fast test of kage fails: the lock on what it asks, or any other. Those that stay alive are
printed. Each runs in a process of its own. About fifteen CPU minutes.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_kage_asked import CASES, STORED, WITHIN, asked

import kagemusha

HERE = Path(__file__).parent
SOURCE = Path(kagemusha.__file__).parent
KAGE = Path("synthesizers") / "kage"
ORDER = ["constants", "grouping", "levels", "interaction_fit", "columns"]
ORDER += ["measurements", "beliefs", "choice", "required", "rounds", "kage"]
"""Its modules, each after those that it imports."""
TESTS = [
    HERE.parent / "architecture" / "test_documents.py",
    *sorted(HERE.glob("test_kage_[!a]*.py")),
    HERE / "test_kage.py",
    HERE / "test_never_too_late.py",
    HERE / "test_required.py",
]
MOVED = 1.3
LIMIT = 30
"""CPU seconds, ten times what the lock takes."""


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


def differs(mutant: Mutant) -> bool:
    """Whether kage asks or makes anything else with the mutant, in a process of its own."""
    child = os.fork()
    if child == 0:
        # a loop without end counts as killed
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(
            resource.RLIMIT_CPU, (LIMIT + int(time.process_time()), LIMIT + 5 + int(time.process_time()))
        )
        try:
            for module in ORDER:
                name = f"kagemusha.synthesizers.kage.{module}"
                path = SOURCE / KAGE / f"{module}.py"
                source = path.read_bytes()
                if mutant.file == path.name:
                    source = source[: mutant.start] + mutant.text.encode() + source[mutant.end :]
                exec(compile(source, str(path), "exec"), vars(sys.modules[name]))
            stored = json.loads(STORED.read_text(encoding="utf-8"))
            same = all(asked(case) == pytest.approx(stored[case], rel=WITHIN) for case in CASES)
        except BaseException:
            same = False
        os._exit(same)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 1


def fails(mutant: Mutant, home: Path) -> bool:
    """Whether some other fast test of kage fails with it."""
    path = home / "kagemusha" / KAGE / mutant.file
    before = path.read_bytes()
    path.write_bytes(before[: mutant.start] + mutant.text.encode() + before[mutant.end :])
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run(
            [*command, *map(str, TESTS)], env=environment, capture_output=True, timeout=900, check=False
        )
        return run.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_bytes(before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lock", action="store_true", help="the lock alone, without the other tests")
    parser.add_argument("--file", help="mutants of one file, such as choice.py")
    args = parser.parse_args()
    files = [SOURCE / KAGE / f"{module}.py" for module in ORDER if args.file in (None, f"{module}.py")]
    every = [m for file in files for m in mutants(file.name, file.read_text(encoding="utf-8"))]
    asked("tree, 1")  # compiled before processes are forked
    alive = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCE, Path(folder) / "kagemusha", ignore=shutil.ignore_patterns("__pycache__"))
        for mutant in every:
            if not differs(mutant) and (args.lock or not fails(mutant, Path(folder))):
                alive += 1
                print(f"alive: {mutant.file}:{mutant.line}: {mutant.text}", flush=True)
    print(f"{len(every) - alive} of {len(every)} killed")


if __name__ == "__main__":
    main()
