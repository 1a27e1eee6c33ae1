"""Our export in a real Label Studio, and back.

Tasks go in, a second person labels there, and what it exports comes back as labels. python -m venv /tmp/label-studio &&
/tmp/label-studio/bin/pip install label-studio      # a place of its own: it pins much python benchmarks/label_studio.py
/tmp/label-studio/bin/label-studio

Starts a server on this machine with a database in a temporary folder, talks to its HTTP interface, prints and writes
what happened.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from kagemusha.annotation.exchange import label_studio_config, to_label_studio
from kagemusha.annotation.incoming import take_labels
from kagemusha.annotation.loop import Annotated
from kagemusha.annotation.project import Project, open_project
from kagemusha.annotation.store import Store

CLASSES = ("<=50K", ">50K & more")
RECORDS = 12


def prepared(folder: Path) -> Store:
    """A project with twelve questions; Ada has answered three of them, one with "this cannot exist"."""
    settings = Annotated(labels=100, judge="forest")
    store = open_project(folder, Project("income", CLASSES, "", 1.0, 1e-6, settings, 0.0))
    shown = [
        [
            {"column": "age", "value": str(20 + i), "unusual": False},
            {"column": "job", "value": '<b>clerk</b> & "co"', "unusual": True},
        ]
        for i in range(RECORDS)
    ]
    store.begin(1, RECORDS, [([i], cells, False, 2) for i, cells in enumerate(shown)])
    store.ask(1, list(range(RECORDS)))
    for task, answer in ((1, "0"), (2, "1"), (3, "impossible")):
        store.label(task, "Ada", answer, f"key-{task:06d}")
    return store


class LabelStudio:
    """A server of its own."""

    def __init__(self, program: Path, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base, self.token = f"http://127.0.0.1:{port}", secrets.token_hex(20)
        command = [str(program), "start", "--no-browser", "--port", str(port), "--data-dir", str(folder)]
        command += [
            "--username",
            "owner@example.com",
            "--password",
            secrets.token_urlsafe(12),
            "--user-token",
            self.token,
        ]
        quiet = {"LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true", "COLLECT_ANALYTICS": "false", "SENTRY_DSN": ""}
        self.log = (folder / "log.txt").open("wb")
        self.process = subprocess.Popen(
            [*command, "--enable-legacy-api-token"],
            env={**os.environ, **quiet, "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def wait(self, seconds: float) -> str:
        """Until it answers; its version."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SystemExit(f"Label Studio ended with {self.process.returncode}, see {self.log.name}")
            try:
                return str(self.call("GET", "/api/version")["release"])
            except (OSError, urllib.error.URLError):
                time.sleep(1)
        raise SystemExit("Label Studio does not answer")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One request."""
        request = urllib.request.Request(
            self.base + path,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Token {self.token}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())


def label_all(studio: LabelStudio, project: int) -> int:
    """Somebody works through every task that has no annotation yet."""
    count = 0
    for task in studio.call("GET", f"/api/tasks?project={project}&page_size=100&fields=all")["tasks"]:
        if not task.get("total_annotations"):
            word = CLASSES[count % 2]
            result = [{"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [word]}}]
            studio.call("POST", f"/api/tasks/{task['id']}/annotations/", {"result": result})
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="label-studio in its own environment")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long it may take to start")
    choices = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "studio").mkdir()
        store = prepared(folder / "ours")
        studio = LabelStudio(choices.program, folder / "studio")
        try:
            version = studio.wait(choices.seconds)
            config = label_studio_config(list(CLASSES))
            project = studio.call("POST", "/api/projects/", {"title": "doubles", "label_config": config})["id"]
            tasks = json.loads(to_label_studio(store))
            imported = studio.call("POST", f"/api/projects/{project}/import", tasks)
            labelled = label_all(studio, project)
            exported = studio.call("GET", f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
        finally:
            studio.process.terminate()
            studio.process.wait(60)
            studio.log.close()
        fresh = prepared(folder / "fresh")
        with fresh._transaction() as database:  # as if nobody had labelled anything here
            database.execute("DELETE FROM labels")
        everything = take_labels(fresh, json.dumps(exported))
        new, again = take_labels(store, json.dumps(exported)), take_labels(store, json.dumps(exported))
        said = {(one.task, one.who, one.answer) for one in fresh.said()}
        kept = {(1, "Ada", "0"), (2, "Ada", "1"), (3, "Ada", "impossible")} <= said
        there = {one.who for one in fresh.said()} - {"Ada"}
        ok = (new, again, labelled, everything, kept) == (RECORDS - 3, 0, RECORDS - 3, RECORDS, True)
    lines = [
        "# Label Studio, there and back",
        "",
        f"`python benchmarks/label_studio.py …/label-studio`, Label Studio {version} from PyPI, its HTTP interface, "
        f"its own SQLite database.",
        "",
        "| | |",
        "| --- | --- |",
        f"| tasks we exported | {len(tasks)}, 3 of them with Ada's annotation |",
        f"| tasks it imported | {imported['task_count']}, with {imported['annotation_count']} annotations |",
        f"| labelled there, by {', '.join(sorted(there))} | {labelled} |",
        f"| new labels in the project after importing its export | {new} |",
        f"| new labels after importing it once more | {again} |",
        f"| labels in an empty project after importing it | {everything}, Ada's three under her name: "
        f"{'yes' if kept else 'no'} |",
        f"| verdict | {'everything came back' if ok else 'SOMETHING WAS LOST'} |",
        "",
    ]
    (Path(__file__).parent / "results/label_studio.md").write_text("\n".join(lines))
    print("\n".join(lines))
    raise SystemExit(0 if ok else 1)


if __name__ == "__main__":
    main()
