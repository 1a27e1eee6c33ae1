"""kill -9 at any step of publishing.

No folder that the ledger does not know, the same order goes on, and nothing is paid twice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from servers import Postgres

HERE = Path(__file__).parent


def killed(place: Path, ledger: str, kills: int) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, str(HERE / "kills.py"), str(place), ledger, str(kills)],
        capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    assert found.pop("steps") > 100, "publishing was not watched"
    assert sum(found.values()) == kills
    assert found.get("not killed", 0) <= 1, "the last step may come too late"
    assert {"no folder", "folder without pages"} <= set(found), "some before the folder counts, some after"
    return found


def fresh(postgres: Postgres) -> str:
    """A server without a ledger."""
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute("DROP SCHEMA IF EXISTS kagemusha CASCADE")
    return postgres.url


def test_killed_over_sqlite(tmp_path: Path) -> None:
    killed(tmp_path, "sqlite", 9)


def test_killed_over_postgres(tmp_path: Path, postgres: Postgres) -> None:
    killed(tmp_path, fresh(postgres), 7)


@pytest.mark.slow
def test_killed_often_over_sqlite(tmp_path: Path) -> None:
    print(killed(tmp_path, "sqlite", 150))


@pytest.mark.slow
def test_killed_often_over_postgres(tmp_path: Path, postgres: Postgres) -> None:
    print(killed(tmp_path, fresh(postgres), 120))
