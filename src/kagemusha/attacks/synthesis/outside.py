"""Synthesizers from outside: any object with fit and sample, and any program that reads a CSV file and writes one.

They see frames of values, not codes, so the table is decoded once and both worlds are cut from the same decoded rows:
only the target differs.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kagemusha.attacks.table import PlayedDoubles, SameTable, World, WorldKey
from kagemusha.encoding import Encoder
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Schema
from kagemusha.sources.spool import private_folder

SECONDS = 3600
"""How long a program may take for one training."""


def frame_of(world: World) -> Any:
    """A world's table as an arrow table of values."""
    return _frame(SameTable(world.table), world.key)


@lru_cache(maxsize=8)
def _frame(same: SameTable, key: WorldKey) -> Any:
    import pyarrow as pa

    world = World(same.table, *key)
    whole = _whole(same)
    kept = whole.take(pa.array(np.delete(np.arange(whole.num_rows), np.array(key[0], dtype=np.int64))))
    if not world.plus:
        return kept
    added = _decode(same.table.schema, np.array(world.plus, dtype=np.int64))
    return pa.concat_tables([kept, added.cast(kept.schema)])


@lru_cache(maxsize=2)
def _whole(same: SameTable) -> Any:
    return _decode(same.table.schema, same.table.codes)


def _decode(schema: Schema, codes: Any) -> Any:
    modelled = Schema(schema.with_codes, constraints=schema.constraints)
    return Encoder(modelled).decode(codes, rng=np.random.default_rng(0), like="pyarrow")


def encode(frame: Any, schema: Schema) -> PlayedDoubles:
    """Doubles of a frame, or a DataError that says which columns do not fit."""
    modelled = Schema(schema.with_codes, constraints=schema.constraints)
    return PlayedDoubles(codes=Encoder(modelled).encode(frame).astype(np.int32))


@dataclass(frozen=True, eq=False)
class _FrameSampler:
    draw: Callable[[int, np.random.Generator], Any]
    schema: Schema
    name: str

    def sample(self, rows: int, *, rng: np.random.Generator) -> PlayedDoubles:
        made = self.draw(rows, rng)
        try:
            return encode(made, self.schema)
        except (DataError, SchemaError, UsageError) as error:
            raise DataError(f"what {self.name} made does not fit the schema: {error}") from None


@dataclass(frozen=True)
class Outside:
    """Any object with `fit(frame)` and `sample(rows)`; `make(seed)` gives a fresh one.

    Its own randomness is seeded through `make`; an object that cannot be seeded makes plays that differ from run to
    run. `library` is the kind of frame it reads: "pandas", "polars" or "pyarrow". `promised` is the promise it makes
    about one person, if any.
    """

    make: Callable[[int], Any]
    name: str = "outside"
    library: str = "pandas"
    exact: bool = False
    promised: Budget | None = None

    def __post_init__(self) -> None:
        if self.library not in ("pandas", "polars", "pyarrow"):
            raise UsageError(f"library must be 'pandas', 'polars' or 'pyarrow', got {self.library!r}")

    def settings(self) -> dict[str, Any]:
        """By name: what is inside is not ours to see."""
        made = self.make
        return {"outside": self.name, "library": self.library, "make": getattr(made, "__qualname__", repr(made))}

    def fit(self, world: World, *, rng: np.random.Generator) -> _FrameSampler:
        """Hand over the frame."""
        frame = frame_of(world)
        if self.library == "pandas":
            frame = frame.to_pandas()
        elif self.library == "polars":
            import polars

            frame = polars.from_arrow(frame)
        made = self.make(int(rng.integers(2**31)))
        fitted = made.fit(frame)
        # some return themselves, some a model, some nothing
        sampler = fitted if hasattr(fitted, "sample") else made
        if not hasattr(sampler, "sample"):
            raise UsageError(f"{self.name!r} has no sample(rows) after fit(frame)")
        return _FrameSampler(lambda rows, _: sampler.sample(rows), world.table.schema, self.name)


@dataclass(frozen=True)
class Command:
    """A program that reads a CSV file and writes one: `prog {in} {out}`, also `{rows}` and `{seed}`.

    One run of the program is one training with one generation: asked for another, it is run again.
    """

    line: str
    name: str = "command"
    exact: bool = False
    promised: Budget | None = None

    def __post_init__(self) -> None:
        if "{in}" not in self.line or "{out}" not in self.line:
            raise UsageError(f"--command must hold {{in}} and {{out}}, got {self.line!r}")

    def settings(self) -> dict[str, Any]:
        """The line."""
        return {"command": self.line}

    def fit(self, world: World, *, rng: np.random.Generator) -> _FrameSampler:
        """Nothing yet: the program trains when rows are asked for."""
        frame = frame_of(world)
        return _FrameSampler(lambda rows, own: self._run(frame, rows, own), world.table.schema, "--command")

    def _run(self, frame: Any, rows: int, rng: np.random.Generator) -> Any:
        from pyarrow import csv

        with private_folder() as folder:
            given, made = folder / "in.csv", folder / "out.csv"
            csv.write_csv(frame, given)
            values = {"in": str(given), "out": str(made), "rows": str(rows), "seed": str(int(rng.integers(2**31)))}
            words = [_filled(word, values) for word in shlex.split(self.line)]
            try:
                done = subprocess.run(words, capture_output=True, timeout=SECONDS, check=False)
            except OSError as error:
                raise UsageError(f"--command: {words[0]} cannot be run ({error.strerror})") from None
            except subprocess.TimeoutExpired:
                raise DataError(f"--command: no table after {SECONDS} seconds") from None
            if done.returncode or not made.exists():
                # what it said is not shown: it may quote rows
                raise DataError(f"--command: it ended with code {done.returncode} and wrote no table; run it by hand")
            try:
                return csv.read_csv(made)
            except (OSError, ValueError):  # the message may quote rows
                raise DataError("--command: what it wrote is not a CSV file with a header") from None


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word
