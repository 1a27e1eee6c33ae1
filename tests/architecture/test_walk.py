"""A release's walk through the house does not grow: how many modules it enters, and how often it changes rooms."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from walk import Walk, release, walked

MODULES = {"kage": 100, "aim": 98}
"""Modules that a `synth` enters. These numbers go down, never up."""

CHANGES = {"kage": 45, "aim": 45}
"""Changes of room; 40 are wanted."""

ROW = {"kage": 24, "aim": 25}
"""Modules on the way of a row's values."""


@pytest.fixture(scope="module", params=sorted(MODULES))
def walk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Walk]:
    method: str = request.param
    return method, release(method, tmp_path_factory.mktemp(method))


def test_a_release_enters_few_modules(walk: tuple[str, Walk]) -> None:
    method, way = walk
    assert len(way.modules) <= MODULES[method], "\n".join(way.modules)


def test_a_release_seldom_changes_rooms(walk: tuple[str, Walk]) -> None:
    method, way = walk
    assert way.rooms <= CHANGES[method], "\n".join(way.modules)


def test_a_row_passes_few_modules(walk: tuple[str, Walk]) -> None:
    method, way = walk
    assert len(way.row) <= ROW[method], "\n".join(way.row)


def test_a_csv_release_enters_nothing_of_other_sources(walk: tuple[str, Walk]) -> None:
    others = {"images", "picture_file", "zipped", "spark", "postgres", "sql", "sqltable", "frame", "open_table"}
    assert not {f"sources/{name}.py" for name in others} & set(walk[1].modules)


def test_a_walk_sees_functions_in_the_order_of_their_first_call() -> None:
    from kagemusha.files import sha256, shown
    from kagemusha.privacy.budget import Adjacency

    def work() -> None:
        shown("a")
        Adjacency.named("add-remove")
        sha256(Path(__file__))

    way = walked(work)
    assert way.modules == ("files.py", "privacy/budget.py")
    assert way.rooms == 1
