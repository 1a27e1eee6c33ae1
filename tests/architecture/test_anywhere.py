"""Notebooks without widgets, and systems that lack what only Linux has."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pandas as pd
import pytest

from kagemusha.folder.stream import cores
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources import open_source, rawfile

NOTEBOOK = """
import kagemusha as kg
assert "ipywidgets" not in __import__("sys").modules
schema = kg.propose("people.csv")
schema.save("people.toml")
model = kg.fit("independent", "people.csv", 1.0, schema="people.toml", ledger="l.db", allow_derived=True)
kg.publish(model, "release", ledger="l.db")
print([check for check in kg.verify("release") if not check.passed])
"""
SLOW = """
import time
from kagemusha.progress import watched
with watched(None) as tell:
    tell("too soon", 0.1)
    time.sleep(2.1)
    tell("<drawing>", 0.25)
kg.plan(schema.confirm(), 1)
"""


def test_a_notebook_without_widgets_reads_writes_and_verifies(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [20 + i % 50 for i in range(300)], "sex": ["FM"[i % 2] for i in range(300)]})
    frame.to_csv(tmp_path / "people.csv", index=False)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (NOTEBOOK, SLOW)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    client = nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    told: list[Any] = []
    seen = client.process_message

    def heard(message: Any, *rest: Any) -> Any:
        told.append(message["content"])
        return seen(message, *rest)

    client.process_message = heard  # type: ignore[method-assign]
    done = client.execute()
    first, second = done.cells
    said = "".join(out.get("text", "") for out in first.outputs)
    assert said.strip().endswith("[]"), said
    lines = [content["data"] for content in told if "display_id" in content.get("transient", {})]
    assert [line["text/plain"] for line in lines[-2:]] == ["<drawing>: 25 %, about 6 s left", ""]
    assert "&lt;drawing&gt;" in lines[-2]["text/html"]
    assert "A release as it would be" in second.outputs[-1]["data"]["text/html"]


def test_a_system_that_does_not_tell_its_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cores() == (os.cpu_count() or 1)


LINUX = r"""
import os, select, signal, socket, sys
NAMES = (
    "sched_getaffinity sched_setaffinity sched_getscheduler sched_setscheduler posix_fadvise posix_fallocate "
    "memfd_create eventfd pidfd_open getrandom splice copy_file_range setns unshare getresuid getresgid setresuid "
    "setresgid O_TMPFILE O_PATH O_DIRECT O_NOATIME O_LARGEFILE fdatasync timerfd_create getxattr setxattr listxattr"
)
for name in NAMES.split():
    if hasattr(os, name):
        delattr(os, name)
for module, names in ((select, ["epoll"]), (signal, ["sigwaitinfo", "sigtimedwait", "SIGSTKFLT", "SIGPWR"]),
                      (socket, ["AF_NETLINK", "AF_PACKET", "AF_VSOCK"])):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""
"""Takes away what only Linux has; what remains macOS has, too."""

JOURNEY = (
    LINUX
    + """
from kagemusha.cli import main
for words in (
    ["schema", "propose", "people.csv"],
    ["synth", "people.csv", "--schema", "people.toml", "--allow-derived", "--epsilon", "1", "--out", "release"],
    ["verify", "release"],
    ["sample", "release", "--rows", "5", "--out", "more.csv"],
    ["ledger", "show", "people.csv"],
):
    sys.argv = ["kagemusha", *words]
    try:
        main()
    except SystemExit as left:
        if left.code:
            raise
"""
)


def test_a_release_needs_no_name_that_only_linux_has(tmp_path: Path) -> None:
    ends = ("\n", "\r\n")  # two kinds of line ends: read from a copy
    rows = "".join(f"{20 + i % 50},{'FM'[i % 2]}{ends[i % 2]}" for i in range(400))
    (tmp_path / "people.csv").write_bytes(("age,sex\n" + rows).encode())
    done = subprocess.run(
        [sys.executable, "-c", JOURNEY], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "more.csv").read_text().count("\n") == 6


def test_a_system_without_a_place_for_open_files_reads_from_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = Schema([Integer("age", lower=0, upper=99), Category("sex", categories=["F", "M"])])
    (tmp_path / "p.csv").write_bytes(b"age,sex\n20,F\r\n30,M\n40,F\r\n")
    wanted = open_source(tmp_path / "p.csv", schema).count([("age",), ("sex",)])
    monkeypatch.setattr(rawfile, "NAMELESS", tmp_path / "nowhere")
    found = open_source(tmp_path / "p.csv", schema).count([("age",), ("sex",)])
    assert [m.counts.tolist() for m in found] == [m.counts.tolist() for m in wanted]


POSIX = {"fcntl", "grp", "pwd", "pty", "resource", "syslog", "termios", "tty"}
UNIX = {"getuid", "geteuid", "getgid", "fork", "killpg", "setsid", "mkfifo", "fchmod", "O_DIRECTORY", "O_NOFOLLOW"}
GUARDED = {"files.py": "sys.platform", "sources/spool.py": "os.name", "sources/documents.py": "sys.platform"}
"""Files that ask for the system first, and how; Windows has none of the names above."""


def test_what_windows_lacks_is_asked_for_behind_a_question() -> None:
    root = Path(rawfile.__file__).parents[1]
    found = set()
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
                names += [node.attr] if node.attr in UNIX else []
            if (POSIX | UNIX) & set(names):
                found.add(path.relative_to(root).as_posix())
    assert found == set(GUARDED)
    for name, question in GUARDED.items():
        assert question in (root / name).read_text(encoding="utf-8")


def test_the_tests_are_run_on_three_systems() -> None:
    home = Path(__file__).parents[2]
    flow = (home / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert "system: [ubuntu-latest, macos-latest, windows-latest]" in flow
    named = [word for word in flow.split() if word.startswith("tests/")]
    assert "tests/architecture/test_anywhere.py" in named
    assert [word for word in named if not (home / word).exists()] == []
