"""A studio that is killed at any moment: what was agreed to is made, and paid for once."""

from __future__ import annotations

import re
import time
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest

from kagemusha.door import verify
from kagemusha.ledger import open_ledger

from .families import write_families
from .hospital import write_hospital
from .person import Studio

TOGETHER = "./"
FOLDERS, KILLS, LONGEST = 5, 4, 5.0
"""Twenty moments, within this many seconds after a start: reading, paying, writing and judging take about as long."""


def enter(link: str, cookies: Any = None) -> httpx2.Client:
    """A browser's tab: signed in by the link, or still so by its cookie."""
    base = link.partition("/enter")[0]
    client = httpx2.Client(
        base_url=base, cookies=cookies, follow_redirects=True, timeout=60, headers={"connection": "close"}
    )
    page = client.get(link if cookies is None else "/")
    assert page.status_code == 200, page.text
    client.headers["x-csrf"] = page.text.split('name="csrf" content="')[1].split('"')[0]
    return client


def agreed(client: httpx2.Client, table: str) -> str:
    """Everything up to the moment in which somebody has agreed to pay; the job."""

    def call(name: str, /, **body: Any) -> dict[str, Any]:
        answer = client.post(f"/api/{name}", json={"t": table, **body})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    call("draft", what="facts", internal=True)
    call("schema", answer="confirm_all", who="Dr Ito", source="the law")
    page = client.get("/spend", params={"t": table, "epsilon": "1"}).text
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.partition('data-call="spend"')[2]))
    return str(call("spend", **fields, typed="spend 1")["go"])


def killed_and_made(folder: Path, rng: Random, kills: int, table: str = "stays.csv") -> None:
    folder.mkdir()
    if table == TOGETHER:
        write_families(folder, 400)
    else:
        write_hospital(folder / table, 400)
    studio = Studio(folder)
    try:
        client = enter(studio.start())
        job = agreed(client, table)
        for _ in range(kills):
            time.sleep(rng.uniform(0, LONGEST))
            studio.kill()
            client.close()
            client = enter(studio.start(), client.cookies)  # the tab that was open goes on, without a new link
        deadline = time.monotonic() + 120
        state = ""
        while state not in ("done", "failed") and time.monotonic() < deadline:
            answer = client.post("/api/job", json={"id": job.rpartition("/")[2]}).json()
            state = answer["state"]
            time.sleep(0.2)
        assert state == "done", answer
        client.close()
    finally:
        studio.end()
    release = folder / (f"{folder.name}-tables-doubles" if table == TOGETHER else "stays-doubles")
    assert all(check.passed for check in verify(release))
    book = open_ledger(folder / "kagemusha-ledger.db", read_only=True)
    (record,) = book.releases()
    (cap,) = book.caps()
    assert record.closed
    assert record.charged <= record.reserved
    assert book.used(cap) <= 1
    assert len(list((folder / ".studio" / "jobs").iterdir())) == 1
    assert not list(folder.glob("*.part*"))


@pytest.mark.slow
@pytest.mark.parametrize("at", range(FOLDERS))
def test_killed_at_random_moments(tmp_path: Path, at: int) -> None:
    killed_and_made(tmp_path / "a", Random(at), KILLS)


@pytest.mark.slow
def test_tables_that_belong_together_killed_at_random_moments(tmp_path: Path) -> None:
    killed_and_made(tmp_path / "a", Random(9), KILLS, TOGETHER)
