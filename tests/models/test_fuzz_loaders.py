"""A few dozen broken files of each kind; `fuzz_loaders.py 1000` tries many."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from fuzz_loaders import Loader, loaders, tried

CASES = 36
KINDS = [
    *("t.csv", "t.parquet", "p.npz", "p.png", "schema.toml", "model.kage", "certificate.json"),
    *("signature.json", "trusted.json", "key.pub"),
]

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Loader]:
    return {loader.name: loader for loader in loaders(tmp_path_factory.mktemp("fuzz"))}


def test_all_kinds_are_tried(made: dict[str, Loader]) -> None:
    assert list(made) == KINDS


@pytest.mark.parametrize("name", KINDS)
def test_broken_files_are_read_or_refused_in_our_words(made: dict[str, Loader], name: str, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = tried(made[name], CASES, tmp_path)
    assert found.keys() <= {"read", "refused"}, found
    assert found["refused"] or made[name].never_fails or name in ("certificate.json", "signature.json", "t.csv")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20, "a gigabyte for a small file"
