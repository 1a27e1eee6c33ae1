"""A finished model: doubles of people on demand, with the certificate that goes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.certificate.certificate import Certificate
from kagemusha.encoding import Encoder
from kagemusha.encoding.frames import library_of
from kagemusha.errors import DataError, KagemushaError, UsageError
from kagemusha.generators.generator import MAX_ROWS, Evidence, Generator, PairScores, Round
from kagemusha.generators.registry import MOST_TREE_CELLS, load_generator
from kagemusha.marginals import NoisyMarginal
from kagemusha.models import parts
from kagemusha.models.doubles import Doubles
from kagemusha.models.file import read_model, write_model
from kagemusha.pages import card, short
from kagemusha.progress import Progress, silent
from kagemusha.queries.interactions import NoisyInteraction
from kagemusha.rules.conditions import Group, read_where
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique, Domain


@dataclass(frozen=True, eq=False)
class Requirement:
    """What every row must fulfil: groups of columns with the combinations of codes that are allowed."""

    groups: Sequence[Group] = ()

    @property
    def evidence(self) -> Evidence:
        """The same for a generator."""
        return {group.clique: group.weights() for group in self.groups}


@dataclass(frozen=True, eq=False)
class Model:
    """A generator with its schema and certificate. Nothing in it is private; all of it may be published."""

    generator: Generator
    schema: Schema
    certificate: Certificate
    measurements: Sequence[NoisyMarginal] = ()
    trace: Sequence[Round] = ()
    interactions: Sequence[NoisyInteraction] = ()
    scores: PairScores | None = None
    ceilings: Mapping[Clique, float] = field(default_factory=dict)
    expected: float | None = None
    """The mean L1 error of pairs (share of records, 0 to 2) that the method expected when it chose what to measure;
    None: it has no idea."""
    like: Any = "pandas"
    """What sampled tables look like: the library of the frame that came in."""

    def __repr__(self) -> str:
        about = f"{len(self.domain)} columns, about {self.rows:,} rows"
        return f"<Model {short(self.certificate.method)}: {about}, {self.certificate.promise}>"

    def _repr_html_(self) -> str:
        names = ", ".join(self.domain.names[:12]) + (", …" if len(self.domain) > 12 else "")
        facts = {"columns": f"{len(self.domain)}: {short(names, 400)}", "rows": f"about {self.rows:,}"}
        return card("A model of doubles", facts | self.certificate.facts)

    @property
    def domain(self) -> Domain:
        """The encoded columns."""
        return self.generator.domain

    @property
    def rows(self) -> int:
        """The estimated (under replace adjacency: public) number of records; at least one."""
        return max(1, round(self.generator.total))

    @property
    def most_rows(self) -> int:
        """The most rows that may be asked for: those that were paid for, where only rows were released."""
        return self.generator.most_rows

    def project(self, clique: Clique) -> FloatArray:
        """Expected counts over some columns, for `rows` records."""
        return self.project_many([clique])[0]

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Expected counts over each of many sets of columns."""
        return self._doubles.project_many(cliques)

    @cached_property
    def _doubles(self) -> Doubles:
        return Doubles(self.schema, self.generator)

    def sample_codes(
        self, rows: int | None = None, *, rng: np.random.Generator | None = None, where: Evidence | None = None
    ) -> IntArray:
        """Synthetic rows as codes, which run into no rule of the schema."""
        count = checked_rows(self.rows if rows is None else rows)
        return self._doubles.codes(count, rng=rng or np.random.default_rng(), where=where)

    def condition(self, where: str | None) -> Requirement:
        """What a condition in words asks of rows."""
        if where is not None and not isinstance(where, str):
            raise UsageError(
                f"where must be a condition in words, such as \"age > 60 and sex = 'F'\", got {type(where).__name__}"
            )
        return Requirement(read_where(where, self.schema, self._doubles.shapes) if where else [])

    def decoded(
        self, codes: IntArray, condition: Requirement, *, rng: np.random.Generator, like: Any = None, first: int = 0
    ) -> Any:
        """The table of some codes drawn under a condition; `first` is how many rows of it came before.

        All doubles pass here, and none leaves that breaks a rule of the schema.
        """
        cells = self._doubles.cells(codes, rng=rng, groups=condition.groups)
        return Encoder(self.schema).frame(cells, like=self.like if like is None else like, first=first)

    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        rng: np.random.Generator | None = None,
        where: str | None = None,
        like: Any = None,
        progress: Progress = silent,
    ) -> Any:
        """A synthetic table: the columns, types and missing values of the schema, in the library of the private frame.

        `where` is a condition such as "age > 60 and sex = 'F'": rows then come from the exact conditional
        distribution. Every row obeys the rules of the schema. Sampling is post-processing of what was released, so it
        costs nothing and may be repeated; `seed`, or a generator `rng` of one's own, makes the table reproducible.
        """
        generator = rng or np.random.default_rng(_checked(seed))
        if rng is not None and seed is not None:
            raise UsageError("give seed or rng, not both: either decides what is drawn")
        progress("drawing doubles", 0.0)
        condition = self.condition(where)
        codes = self.sample_codes(rows, rng=generator, where=condition.evidence)
        progress("decoding", 0.75)
        return self.decoded(codes, condition, rng=generator, like=like)

    def save(self, path: str | Path) -> None:
        """Write the model: JSON and arrays, no code."""
        meta, arrays = self.generator.to_arrays()
        measurements, measured = parts.write_measurements(self.measurements)
        interactions, tables = parts.write_interactions(self.interactions)
        scores, score_tables = parts.write_scores(self.scores, self.domain)
        description = {
            "generator": {"kind": self.generator.kind, "meta": meta, "arrays": sorted(arrays)},
            "schema": self.schema.to_json(),
            "certificate": self.certificate.to_json(),
            "measurements": measurements,
            "trace": parts.write_trace(self.trace),
            "interactions": interactions,
            "scores": scores,
            "like": library_of(self.like),
            **({} if self.expected is None else {"expected": self.expected}),
        }
        ceilings = parts.write_ceilings(self.ceilings, self.domain)
        write_model(Path(path), description, {**arrays, **measured, **tables, **score_tables, **ceilings})


_FIELDS = {"format", "arrays", "generator", "schema", "certificate", "measurements", "trace", "interactions", "scores"}
_FIELDS |= {"ceilings", "expected", "like"}
"""All that a model file says; anything else is not ours."""


def load_model(path: str | Path, *, max_cells: int = MOST_TREE_CELLS) -> Model:
    """Read a model file, a stranger's too: executes nothing, and bounds everything before it makes room for it.

    A file that does not fit together, holds what no model holds, or whose junction tree has more than `max_cells` cells
    is a DataError.
    """
    header, arrays = read_model(Path(path))
    try:
        if not set(header) <= _FIELDS:
            raise DataError("it says what no model file says")
        described = header["generator"]
        generator = load_generator(
            described["kind"], described["meta"], {name: arrays[name] for name in described["arrays"]}, max_cells
        )
        schema = Schema.from_json(header["schema"])
        domain = generator.domain
        if domain != schema.domain:
            raise DataError("the generator and the schema speak of different columns")
        return Model(
            generator=generator,
            schema=schema,
            certificate=Certificate.from_json(header["certificate"]),
            measurements=parts.read_measurements(header["measurements"], arrays, domain),
            trace=parts.read_trace(header["trace"], domain),
            interactions=parts.read_interactions(header.get("interactions", []), arrays, domain),
            scores=parts.read_scores(header.get("scores"), arrays, domain),
            ceilings=parts.read_ceilings(header.get("ceilings"), arrays, domain),
            expected=parts.read_expected(header.get("expected")),
            like=library_of(str(header["like"])),
        )
    except KagemushaError as error:
        raise DataError(f"model {path}: {short(str(error), 200)}") from None  # a stranger's names may be long
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise DataError(f"model {path}: its parts do not fit together ({type(error).__name__})") from None


def _checked(seed: int | None) -> int | None:
    if seed is None or (isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0):
        return seed
    raise UsageError(f"seed must be a whole number of at least 0, got {seed}")


def checked_rows(rows: Any) -> int:
    """A number of rows that a table may have; a `UsageError` otherwise."""
    if not (isinstance(rows, int | np.integer) and 1 <= rows <= MAX_ROWS):
        raise UsageError(f"rows must be a whole number of at least 1 and at most {MAX_ROWS:,}, got {rows}")
    return int(rows)
