"""Shared by all tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command import COMMAND, Done, Run, checked, in_this_process
from servers import Postgres


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run tests that CI runs in a smaller form in their full form")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the real data sets; tests that need it are skipped without it."""
    where = os.environ.get("KAGEMUSHA_DATA")
    if not where or not (Path(where) / "adult.parquet").exists():
        pytest.skip("KAGEMUSHA_DATA does not name a folder with adult.parquet")
    return Path(where)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server of the tests' own."""
    server = Postgres()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session in this process, one for all tests."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("kagemusha")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.driver.memory": "700m",
                "spark.sql.session.timeZone": "Asia/Tokyo", "spark.driver.host": "127.0.0.1",
                # tables of a few rows are not worth compiling for
                "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}  # fmt: skip
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`kagemusha ARGS` in a temporary folder, in this process."""
    monkeypatch.chdir(tmp_path)

    def go(*arguments: object, code: int | None = 0, encoding: str = "utf-8") -> Done:
        return checked(in_this_process([*map(str, arguments)], encoding), code)

    return go


@pytest.fixture
def run_process(tmp_path: Path) -> Run:
    """`kagemusha ARGS` in a temporary folder, in a process of its own: slow, for whole journeys."""

    def go(*arguments: object, code: int | None = 0) -> Done:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=300
        )
        return checked(Done(done.returncode, done.stdout, done.stderr), code)

    return go
