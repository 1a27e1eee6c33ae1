"""Runs the code blocks of a page from top to bottom in the present folder, as a reader would who copies them.

- A block that begins with a comment which is a file's name alone (`# patients.toml`) is saved under that name.
- Of a `sh` block every command is run; one that begins with `kagemusha` in this process. Each must end with exit code
  0, or with the one that a comment in its line states: `# exits with 8`.
  One that ends with `&` runs until the page is through.
- `python` blocks of a page share their names, as the cells of a notebook.
- A `text` block right behind is what was printed. Line breaks and runs of blanks do not count, and `…` stands for
  anything, since noise differs in every release.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from command import Done, in_this_process

BLOCK = re.compile(r"^```(sh|python|toml|text)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"# ([\w.-]+\.(?:py|toml|csv|txt))\n")
EXIT = re.compile(r"# .*exits with (\d+)")
SHELL = re.compile(r"[|<>;&()]+|[^'\"].*[$*].*")
"""Parts of a command, outside quotes, that only a shell can do."""


@dataclass(frozen=True)
class Step:
    """A block of code and what the page says it prints; None if it says nothing."""

    language: str
    code: str
    shown: str | None


def steps(text: str) -> Iterator[Step]:
    """The blocks that a reader runs or saves."""
    found = list(BLOCK.finditer(text))
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block[1] != "text":
            shows = after is not None and after[1] == "text" and not text[block.end() : after.start()].strip()
            yield Step(block[1], block[2], after[2] if after is not None and shows else None)


def agrees(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in shown.split("…")]
    return re.fullmatch(r"[\s\S]*?".join(rf"\s*{part}\s*" for part in parts), printed) is not None


def run_page(text: str, names: dict[str, object] | None = None) -> int:
    """Run everything on the page; how many blocks were run. What differs from the page is an AssertionError."""
    names = {} if names is None else names
    with ExitStack() as behind:
        return _run(text, names, behind)


def _run(text: str, names: dict[str, object], behind: ExitStack) -> int:
    blocks = list(steps(text))
    for step in blocks:
        file = FILE.match(step.code)
        if file is not None and step.language != "sh":
            Path(file[1]).write_text(step.code, encoding="utf-8")
            continue
        printed = _python(step.code, names) if step.language == "python" else _shell(step.code, behind)
        if step.shown is not None:
            assert agrees(step.shown, printed), f"{step.code}\nprints\n{printed}\nand the page shows\n{step.shown}"
    return len(blocks)


def _python(code: str, names: dict[str, object]) -> str:
    with redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "page", "exec"), names)
    return out.getvalue()


def _shell(code: str, behind: ExitStack) -> str:
    printed = ""
    for line in code.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.endswith(" &"):
            behind.callback(_ended, subprocess.Popen(["bash", "-c", f"exec {line[:-2]}"], env=_environment()))
            continue
        expected = EXIT.search(line)
        done = _command(re.sub(r"\s+# .*$", "", line))
        assert done.returncode == (int(expected[1]) if expected else 0), f"{line}\n{done.stdout}\n{done.stderr}"
        printed += done.stdout + done.stderr
    return printed


def _command(line: str) -> Done:
    if line.startswith("kagemusha ") and not any(map(SHELL.fullmatch, shlex.shlex(line, punctuation_chars=True))):
        return in_this_process(shlex.split(line)[1:])
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, timeout=300, env=_environment()
    )
    return Done(done.returncode, done.stdout, done.stderr)


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(30)
