"""A process that writes a release folder when it is given the word; forked from one that has loaded everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kagemusha.errors import KagemushaError
from kagemusha.folder.folder import write_bundle
from kagemusha.models.model import load_model


def write(model: Path, place: Path, ready: Any, said: Any) -> None:
    """Load, wait for all others, write; say how it ended."""
    loaded = load_model(model)
    ready.wait(60)
    try:
        write_bundle(loaded, place, rows=20)
        said.put("won")
    except KagemushaError as error:
        said.put(str(error))
