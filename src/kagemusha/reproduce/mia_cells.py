"""What games came to, cell by cell, as a file keeps it: the page of `reproduce mia` is made of these alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kagemusha.attacks.intervals import Estimate

COLUMNS = ("game", "target", "space", "inference", "accuracy", "low", "high", "n", "plays", "constant", "code")


@dataclass(frozen=True)
class PlayedCell:
    """One attack: in which game, on whom, in which space, how; and how often it was right."""

    game: str
    target: str
    space: str
    inference: str
    accuracy: Estimate
    n: int
    """Independent trainings (tables, where neither fit nor references draw anything at random)."""
    plays: int
    constant: bool
    """Whether it gave one answer always."""
    code: str
    """Digest of the code that played it."""


@dataclass(frozen=True)
class Cells:
    """All of them."""

    rows: Sequence[PlayedCell]

    @cached_property
    def _by_name(self) -> dict[tuple[str, str, str, str], PlayedCell]:
        return {(r.game, r.target, r.space, r.inference): r for r in self.rows}

    def get(self, game: str, target: str, space: str, inference: str) -> PlayedCell | None:
        """One cell, or None where it was not played."""
        return self._by_name.get((game, target, space, inference))

    def games(self) -> list[str]:
        """In the order of the rows."""
        return list(dict.fromkeys(r.game for r in self.rows))

    def spaces(self, game: str) -> list[str]:
        """Those a game was played in."""
        return list(dict.fromkeys(r.space for r in self.rows if r.game == game))

    def targets(self, game: str, beginning: str) -> list[str]:
        """Targets of a game whose names begin so."""
        return list(dict.fromkeys(r.target for r in self.rows if r.game == game and r.target.startswith(beginning)))

    def merged(self, newer: Cells) -> Cells:
        """With these games instead of those of the same name."""
        names = set(newer.games())
        return Cells([*newer.rows, *(row for row in self.rows if row.game not in names)])

    def to_csv(self) -> str:
        """One line each."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for r in self.rows:
            numbers = [f"{x:.6g}" for x in (r.accuracy.value, r.accuracy.low, r.accuracy.high)]
            writer.writerow([r.game, r.target, r.space, r.inference, *numbers, r.n, r.plays, int(r.constant), r.code])
        return out.getvalue()

    @classmethod
    def read(cls, path: Path) -> Cells:
        """What `to_csv` wrote; nothing if there is no file."""
        if not path.exists():
            return cls([])
        with path.open(newline="", encoding="utf-8") as file:
            return cls(list(_read(csv.DictReader(file))))


def _read(rows: Iterable[dict[str, str]]) -> Iterable[PlayedCell]:
    for r in rows:
        estimate = Estimate(float(r["accuracy"]), float(r["low"]), float(r["high"]))
        name = (r["game"], r["target"], r["space"], r["inference"])
        yield PlayedCell(*name, estimate, int(r["n"]), int(r["plays"]), r["constant"] == "1", r["code"])
