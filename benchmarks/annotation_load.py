"""Many people label at once: a real server, real HTTP on this machine, every answer timed.

    python benchmarks/annotation_load.py --people 50 --rate 20 --seconds 300

Every person also looks at the progress every three seconds, as the page does. Prints how many labels were acknowledged,
how many are in the store, how many twice, how long an answer took, and how much the server computed for it: that does
not depend on how busy the machine is, so it can be compared between versions (PYTHONPATH=<another version>/src).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np

from kagemusha.annotation.loop import Annotated
from kagemusha.annotation.project import Project, open_project
from kagemusha.annotation.store import Store

SERVER = """
import sys, socket, uvicorn
from pathlib import Path
from kagemusha.annotation.server import create_app
from kagemusha.annotation.store import Store
listening = socket.socket(); listening.bind(("127.0.0.1", int(sys.argv[2])))
host = f"127.0.0.1:{sys.argv[2]}"
app = create_app(Store(Path(sys.argv[1])), "token", hosts=(host,))
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")).run(sockets=[listening])
"""


LOOK = 3.0
"""Seconds between two looks at the progress."""


def cpu_of(process: int) -> float:
    """Seconds a process has computed so far."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def prepared(folder: Path, records: int) -> Store:
    """A project with a long queue."""
    project = Project("ill", ("no", "yes"), "", 1.0, 1e-6, Annotated(labels=10 * records, judge="forest"), 0.0)
    store = open_project(folder, project)
    shown = [{"column": f"column {i}", "value": str(i), "unusual": i == 3} for i in range(13)]
    store.begin(1, records, [([i], shown, False, 1) for i in range(records)])
    store.ask(1, list(range(records)))
    return store


class Person:
    """One browser: signs in, then labels at its own pace."""

    def __init__(self, name: str, base: str) -> None:
        self.name, self.base = name, base
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        page = opener.open(f"{base}/enter?token=token", timeout=30).read().decode()
        found = re.search(r'name="csrf" content="([^"]+)"', page)
        assert found is not None
        self.opener, self.csrf = opener, found[1]
        self.times: list[float] = []
        self.acknowledged: list[int] = []
        self.looked = time.monotonic()

    def call(self, path: str, body: dict[str, object]) -> dict[str, object]:
        """One request, timed."""
        request = urllib.request.Request(
            f"{self.base}/api/{path}",
            json.dumps({"who": self.name, **body}).encode(),
            {"content-type": "application/json", "x-csrf": self.csrf},
        )
        begin = time.perf_counter()
        answer = self.opener.open(request, timeout=30).read()
        self.times.append(time.perf_counter() - begin)
        return dict(json.loads(answer))

    def work(self, pause: float, until: float, seed: int) -> None:
        """Label until the time is up."""
        rng = np.random.default_rng(seed)
        time.sleep(float(rng.random() * pause))
        task = self.call("next", {})["task"]
        while time.monotonic() < until and task:
            time.sleep(float(rng.exponential(pause)))
            if time.monotonic() - self.looked > LOOK:
                self.looked = time.monotonic()
                self.call("progress", {})
            number = task["id"]  # type: ignore[index]
            task = self.call("label", {"task": number, "answer": 1, "key": f"{self.name}-{number:08d}"})["task"]
            self.acknowledged.append(number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--seconds", type=float, default=300.0)
    choices = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = prepared(Path(folder), int(2 * choices.rate * choices.seconds) + 200)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(store.path), str(port)])
        try:
            time.sleep(5)
            people = [Person(f"person {i}", f"http://127.0.0.1:{port}") for i in range(choices.people)]
            before = cpu_of(server.pid)
            until = time.monotonic() + choices.seconds
            threads = [
                threading.Thread(target=p.work, args=(choices.people / choices.rate, until, i))
                for i, p in enumerate(people)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            cpu = cpu_of(server.pid) - before
        finally:
            server.terminate()
            server.wait()
        kept = [one.task for one in store.said()]
    acknowledged = [task for person in people for task in person.acknowledged]
    times = np.array([t for person in people for t in person.times])
    lines = [
        "# Labelling under load",
        "",
        f"`python benchmarks/annotation_load.py --people {choices.people} --rate {choices.rate:g} --seconds "
        f"{choices.seconds:g}`. One server "
        "process, one SQLite file with a full sync for every label, all on one machine.",
        "",
        "| | |",
        "| --- | --- |",
        f"| labels acknowledged | {len(acknowledged):,} ({len(acknowledged) / choices.seconds:.1f} a second) |",
        f"| of these in the store | {len(set(acknowledged) & set(kept)):,} |",
        f"| records labelled twice | {len(kept) - len(set(kept))} |",
        f"| computed by the server for each label, with looks at the progress | {1000 * cpu / len(acknowledged):.1f} "
        f"ms |",
        f"| load of the machine while it ran | {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores |",
        f"| answer within, median | {1000 * np.quantile(times, 0.5):.0f} ms |",
        f"| answer within, 95 % | {1000 * np.quantile(times, 0.95):.0f} ms |",
        f"| answer within, 99 % | {1000 * np.quantile(times, 0.99):.0f} ms |",
        "",
    ]
    (Path(__file__).parent / "results/annotation_load.md").write_text("\n".join(lines))
    sys.stdout.write("\n".join(lines))


if __name__ == "__main__":
    main()
