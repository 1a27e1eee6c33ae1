"""Older runs made again with today's code, to see whether a few of each kind come out the same to the last digit.

Code changes more often than what it computes. Where it changed, runs of the older code stay on a page as they are, and
the page says how many of them today's code repeated and how many of these came out the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from kagemusha.files import write_whole

REPEATS = "repeats.json"
LEAST = 3
"""Runs that must be repeated, unless there are fewer."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Repeat:
    """What came of repeating runs of one kind."""

    code: str
    """Digest of the code that repeated them."""
    of: Sequence[str]
    """Digests of the code that had made them."""
    runs: int
    same: int

    def holds_for(self, made_by: Iterable[str], now: str | None) -> bool:
        """Whether runs made by such code are what today's code makes, as far as was tried."""
        return self.code == now and set(made_by) <= {*self.of, self.code} and 0 < self.runs == self.same


def read_repeats(folder: Path) -> dict[str, Repeat]:
    """What stands beside a page."""
    path = folder / REPEATS
    if not path.exists():
        return {}
    return {what: Repeat(**fields) for what, fields in json.loads(path.read_text(encoding="utf-8")).items()}


def write_repeats(folder: Path, repeats: Mapping[str, Repeat]) -> None:
    """Write it beside the page."""
    plain = {what: asdict(repeat) for what, repeat in sorted(repeats.items())}
    write_whole(folder / REPEATS, (json.dumps(plain, indent=1) + "\n").encode())


def spread_out(items: Sequence[Item], count: int) -> list[Item]:
    """So many of them, from the first to the last at equal distances: chosen without looking at what they say."""
    if len(items) <= count:
        return list(items)
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)] if count > 1 else [items[0]]
