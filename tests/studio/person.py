"""A studio in a process of its own, and somebody in front of it who clicks and types, each action counted."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


class Studio:
    """`kagemusha studio FOLDER`."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder, self.environment = folder, environment
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """The link."""
        log = self.folder.parent / "studio.log"
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "kagemusha", "studio", str(self.folder)],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "COLUMNS": "300", **self.environment},
            )
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            found = re.search(r"http://127\.0\.0\.1:\d+/enter\?token=\S+", log.read_text())
            if found:
                return found[0]
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.05)
        raise AssertionError(log.read_text())

    def kill(self) -> None:
        """No time to say goodbye."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """Politely, if it is still there."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)


class Person:
    """Somebody with a page open."""

    def __init__(self, page: Any) -> None:
        self.page, self.actions, self.contents = page, 0, list[str]()
        page.set_default_timeout(30_000)

    def press(self, name: str) -> None:
        """Click a button by what it is called."""
        self.actions += 1
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def follow(self, name: str, to: str) -> None:
        """Click a link by what it is called, and wait for where it leads."""
        self.actions += 1
        self.page.get_by_role("link", name=name, exact=True).first.click()
        self.at(to)

    def write(self, label: str, text: str) -> None:
        """Type into a field by its label."""
        self.actions += 2
        self.page.get_by_label(label, exact=len(label) == 1).first.fill(text)

    def holds(self, rule: str) -> None:
        """Say of a guessed rule that it holds."""
        self.actions += 1
        self.page.locator("li", has_text=rule).get_by_role("button", name="It holds", exact=True).first.click()

    def tick(self, label: str) -> None:
        """Tick a box."""
        self.actions += 1
        self.page.get_by_label(label).first.check()

    def sees(self, text: str, seconds: float = 60) -> None:
        """Wait until a text is on the page."""
        self.page.get_by_text(text).first.wait_for(timeout=1000 * seconds)
        self.contents.append(self.page.content())

    def at(self, to: str) -> None:
        """Wait for a page."""
        self.page.wait_for_url(f"**{to}**")
        self.contents.append(self.page.content())
