"""The publishable quality statement of related tables: what released numbers say of doubles that belong together.

Doubles are counted as the tables were: persons one by one, rows below in parts. Each such table is held against the
released counts and their noise, as pairs of one table are; nothing else is looked at. How rows follow each other is
judged by each column beside itself in the row before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from kagemusha.arrays import Codes, FloatArray
from kagemusha.marginals import Marginal
from kagemusha.models.model import Model
from kagemusha.models.related import RelatedModel
from kagemusha.pages import template
from kagemusha.progress import Progress, silent
from kagemusha.quality.expected_error import (
    CARE,
    LARGEST,
    LEVEL,
    USE,
    ErrorInterval,
    expected_error,
    intervals,
    measured_interval,
    tightest,
)
from kagemusha.quality.population import PopulationTotal, population_totals
from kagemusha.quality.released import ReleasedNumbers
from kagemusha.quality.sequences import follow_picture, numbers_picture, sequences_picture
from kagemusha.quality.statement import NAME, PAGE
from kagemusha.quality.words import KNOWN_FROM, POPULATION, of_100
from kagemusha.schema import Clique
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import NEXT, View, lag_clique, number, view_of

FORMAT = "kagemusha-quality-related/1"

DRAWS = 60
"""Draws from the posterior of a table."""

MOST_PAIRS = 600
"""Pairs of a kind that are looked at in a table."""

COUNTED = (
    "Rows below a person are counted as the release counted them: those of a parent with more rows than `counts_as` "
    "share what that many count. Ends of intervals are those that the noise of the released counts allows; they were "
    "not compared with other tables, as those of one table were."
)


class Counted(Protocol):
    """Exact counts of a table of doubles."""

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Counts over each clique."""
        ...


class CountedDoubles(Protocol):
    """Tables of doubles, linked and counted as real ones are."""

    def source(self, name: str) -> Counted:
        """What is counted of a table: see `Related.view`."""
        ...

    def records(self, name: str) -> Sequence[Codes]:
        """Codes of every row, below as in `Related.view(name-next)`."""
        ...


@dataclass(frozen=True)
class Part:
    """One kind of sets of columns of a table, and how near doubles come to each."""

    what: str
    table: str
    judged: Sequence[ErrorInterval]

    @property
    def middle(self) -> tuple[float, float]:
        """The ends of the middle one."""
        return (float(np.median([i.low for i in self.judged])), float(np.median([i.high for i in self.judged])))


def related_quality_files(
    model: RelatedModel, doubles: CountedDoubles, *, progress: Progress = silent
) -> dict[str, bytes]:
    """File name → content of the statement."""
    parts, totals = judged_parts(model, doubles, progress=progress), totals_of(model)
    return {NAME: to_json(model, parts, totals).encode(), PAGE: page(model, doubles, parts, totals).encode()}


def totals_of(model: RelatedModel) -> Sequence[PopulationTotal]:
    """What persons stand for in the population, where they have survey weights."""
    persons = model.models[model.schema.root.name]
    return population_totals(persons, expected_error(persons)) if model.schema.weight is not None else []


def judged_parts(model: RelatedModel, doubles: CountedDoubles, *, progress: Progress = silent) -> list[Part]:
    """Everything that is judged, table by table."""
    found: list[Part] = []
    for at, table in enumerate(model.schema):
        progress(f"judging {table.name}", at / len(model.schema.tables))
        found += _persons(model, doubles, table) if table.parent is None else _below(model, doubles, table)
    return [part for part in found if part.judged]


def _persons(model: RelatedModel, doubles: CountedDoubles, table: Table) -> list[Part]:
    view = view_of(model.schema, table)
    own, numbers = [c.name for c in view.own], [c.name for c in view.numbers]
    pairs = [*combinations(own, 2), *((name, other) for name in own for other in numbers)]
    alone = [(name,) for name in (*own, *numbers)]
    columns, judged = _judged(model.models[table.name], doubles.source(table.name), alone, pairs)
    return [
        Part("columns", table.name, columns[: len(own)]),
        Part("numbers of rows", table.name, columns[len(own) :]),
        Part("pairs", table.name, judged),
    ]


def _below(model: RelatedModel, doubles: CountedDoubles, table: Table) -> list[Part]:
    schema, view = model.schema, view_of(model.schema, table)
    own, numbers = [c.name for c in view.own], [c.name for c in view.numbers]
    above = [c.name for _, c in ((source, c) for source, _, c in view.context)]
    inside = list(combinations(own, 2))
    across = [(other, name) for other in above for name in own]
    alone = [(name,) for name in (*above, *own, *numbers)]
    columns, judged = _judged(model.models[table.name], doubles.source(table.name), alone, [*inside, *across])
    kept = {one.clique for one in judged}
    within = [one for one in judged if set(one.clique) <= set(own)]
    beside = [one for one in judged if one.clique in kept and not set(one.clique) <= set(own)]
    return [
        Part("columns", table.name, columns[len(above) : len(above) + len(own)]),
        Part("numbers of rows", table.name, columns[len(above) + len(own) :]),
        Part("pairs inside a row", table.name, within),
        Part("a column beside one of parent or person", table.name, beside),
        Part("a column beside itself in the next row", table.name, _lagged(model, doubles, schema, table, view)),
    ]


def _judged(
    model: Model, doubles: Counted, alone: Sequence[Clique], pairs: Sequence[Clique]
) -> tuple[list[ErrorInterval], list[ErrorInterval]]:
    evidence, rng = ReleasedNumbers(model), np.random.default_rng(0)
    domain = model.domain
    pairs = [domain.canonical(pair) for pair in pairs if domain.cells(pair) <= LARGEST][:MOST_PAIRS]
    tables = _scaled(doubles, [*alone, *pairs], evidence.total)
    found: dict[Clique, ErrorInterval] = {}
    for clique, table in tables.items():
        options = intervals(evidence, clique, table, found, rng, DRAWS)
        if clique in model.ceilings:  # how far the model was from the table when that was not worth measuring
            apart = float(np.abs(model.project_many([clique])[0] - table).sum())
            options.append(ErrorInterval(clique, 0.0, (model.ceilings[clique] + apart) / evidence.total, "selection"))
        found[clique] = tightest(options, 0.0)
    return [found[tuple(clique)] for clique in alone], [found[tuple(clique)] for clique in pairs]


def _lagged(
    model: RelatedModel, doubles: CountedDoubles, schema: Related, table: Table, view: View
) -> list[ErrorInterval]:
    """Columns beside themselves one row earlier; of the order column, what follows it."""
    rows, following = model.models[table.name], model.models[f"{table.name}{NEXT}"]
    both = replace(following, measurements=(*following.measurements, *rows.measurements))
    evidence, rng = ReleasedNumbers(both), np.random.default_rng(0)
    asked = [interaction.query.clique for interaction in following.interactions]
    tables = _scaled(doubles.source(f"{table.name}{NEXT}"), asked, evidence.total)
    return [
        tightest(
            [measured_interval(clique, found, noisy, evidence.total, rng=rng, draws=DRAWS) for noisy in known], 0.0
        )
        for clique, found in tables.items()
        if (known := evidence.tables(clique))
    ]


def _scaled(doubles: Counted, cliques: Sequence[Clique], total: float) -> dict[Clique, FloatArray]:
    """Counts of doubles as if there were as many of them as there were rows."""
    found = doubles.count(list(cliques))
    return {m.clique: np.asarray(m.counts * (total / max(1, int(m.counts.sum()))), np.float64) for m in found}


def to_json(model: RelatedModel, parts: Sequence[Part], totals: Sequence[PopulationTotal] = ()) -> str:
    """The statement for machines."""
    document = {
        "format": FORMAT,
        "what": "L1 distance between the real and the synthetic shares, 0 to 2; computed from released numbers only",
        "counted": COUNTED,
        "holds": LEVEL,
        "verdicts": {
            "use": f"upper end at most {USE}",
            "use with care": f"upper end at most {CARE}",
            "do not use": "upper end above",
        },
        "tables": {
            table.name: {
                part.what: [
                    {
                        "columns": list(one.clique),
                        "low": float(f"{one.low:.4g}"),
                        "high": float(f"{one.high:.4g}"),
                        "verdict": one.verdict,
                        "known from": one.known_from,
                    }
                    for one in part.judged
                ]
                for part in parts
                if part.table == table.name
            }
            for table in model.schema
        },
        **({"population": [total.to_json() for total in totals]} if totals else {}),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def page(
    model: RelatedModel, doubles: CountedDoubles, parts: Sequence[Part], totals: Sequence[PopulationTotal] = ()
) -> str:
    """The statement for people: one page without scripts or links."""
    rendered: str = template("quality", "related.html").render(
        dataset=model.certificate.dataset,
        persons=model.rows,
        root=model.schema.root.name,
        words=in_words(parts),
        tables=[(table, _pictures(model.schema, table, doubles)) for table in model.schema],
        parts=parts,
        totals=totals,
        population=POPULATION,
        counted=COUNTED,
        of_100=of_100,
        known=KNOWN_FROM,
        level=round(100 * LEVEL),
    )
    return rendered


def in_words(parts: Sequence[Part]) -> list[str]:
    """What the doubles can do, a sentence for each kind of tables."""
    found = []
    for part in parts:
        low, high = part.middle
        found.append(
            f"{part.table}, {part.what}: {of_100(low)} to {of_100(high)} of 100 in a wrong cell"
            + (f" (the middle one of {len(part.judged):,})." if len(part.judged) > 1 else ".")
        )
    return found


def _pictures(schema: Related, table: Table, doubles: CountedDoubles) -> Mapping[str, Any]:
    """Of a table below: how many rows parents have, how columns go on, and some persons' rows one after the other."""
    if table.parent is None:
        return {"numbers": "", "follow": "", "sequences": ""}
    view = view_of(schema, table)
    parent = view_of(schema, schema[table.parent])
    column = next(c for c in parent.numbers if c.name == number(table.name))
    (counts,) = doubles.source(table.parent).count([(column.name,)])
    domain, rows = schema.view(f"{table.name}{NEXT}").domain, doubles.records(table.name)
    skipped = set() if view.gap is None or table.order is None else {lag_clique(view, table.order)[0]}
    return {
        "numbers": numbers_picture(column, counts.counts, table.name),
        "follow": follow_picture(view, domain, rows, skipped),
        "sequences": sequences_picture(view, domain, rows),
    }
