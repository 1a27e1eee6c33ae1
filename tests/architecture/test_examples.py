"""Every example in a docstring says what really happens."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import kagemusha

ROOT = Path(kagemusha.__file__).parent
WITH_EXAMPLES = [path for path in sorted(ROOT.rglob("*.py")) if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_hold(path: Path) -> None:
    module = importlib.import_module(".".join(["kagemusha", *path.relative_to(ROOT).with_suffix("").parts]))
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed
