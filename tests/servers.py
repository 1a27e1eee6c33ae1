"""Real servers for tests: a PostgreSQL of one's own, made and started for the time of the tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

USER, PASSWORD = "keeper", "canary-3e1f-secret"
"""The password is a canary: it must turn up nowhere."""


class Postgres:
    """A PostgreSQL cluster in a folder of its own; as root it runs as the user postgres, for root may not run it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kagemusha-pg-"))
        self.bin = _programs()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (self.folder, secret):
                shutil.chown(path, "postgres")
        self._run("initdb", "-D", self.data, "-U", USER, "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8",
                  "--locale", "C", "--no-sync")  # fmt: skip
        secret.unlink()
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = (
            f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=40 "
            f"-c lock_timeout=60s"
        )
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self.bin / program), *map(str, arguments)]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(
            command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder, timeout=120
        )
        if done.returncode:
            raise RuntimeError(done.stdout.decode(errors="replace"))


def _programs() -> Path:
    """Where initdb is: Debian keeps it off the path."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not places:
        raise RuntimeError("these tests start a PostgreSQL of their own: install it (apt-get install postgresql)")
    return places[-1]
