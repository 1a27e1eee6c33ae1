"""From several private tables to one certified model of each: one release, one budget, one certificate.

Each table is asked through the Curator with its share of the release: the persons first, then the tables below, parents
before children. What a table does not use is left for those after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.encoding.travels import LINKED
from kagemusha.errors import UsageError
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.ledger.protocol import Ledger, ReleaseRequest, require_named
from kagemusha.models.doubles import Doubles
from kagemusha.models.families import draw_tables, parents
from kagemusha.models.model import Model
from kagemusha.models.related import RelatedModel
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget, require_promise
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import ExactNoise, Noise, SimulatedNoise
from kagemusha.progress import Progress, part, silent
from kagemusha.release.curator import Curator, require_confirmed
from kagemusha.release.release import Release
from kagemusha.release.share import Share
from kagemusha.rules.contradictions import require_consistent
from kagemusha.rules.zeroed import with_zeros
from kagemusha.schema.across import ruled
from kagemusha.schema.related import Related
from kagemusha.schema.views import NEXT, view_of
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource
from kagemusha.synthesizers.lagged import measure_next
from kagemusha.synthesizers.next_rows import next_rows
from kagemusha.synthesizers.protocol import Fitted, Synthesizer
from kagemusha.version import __version__

LATER = 0.25
"""Of a table's share, what is spent on how its rows follow each other."""

CELLS = 60_000
"""Cells of the model of a table below."""

PARENTS = 20_000
"""Persons that are drawn to see whose rows follow each other."""

METHODS = ("kage",)
"""Methods whose fields rows can be drawn from given what is known of each."""


@dataclass(frozen=True, eq=False)
class PlannedRelated:
    """A fit that can be done and may be promised; keys were looked at, nothing was counted, nothing paid."""

    synthesizer: Synthesizer
    source: RelatedSource
    budget: Budget
    request: ReleaseRequest
    simulation: int | None

    def require_readable(self) -> None:
        """Link all tables: keys that do not fit are noticed before anything is paid."""
        for table in self.source.schema:
            self.source.source(table.name)

    def carry_out(self, book: Ledger, *, hold: bool = False, progress: Progress = silent) -> RelatedModel:
        """Reserve, charge, read, and build a model of each table."""
        schema, synthesizer = self.source.schema, self.synthesizer
        request = replace(self.request, identity=self.source.identity())
        noise: Noise = (
            ExactNoise() if self.simulation is None else SimulatedNoise(np.random.default_rng(self.simulation))
        )
        accounting = Accounting(synthesizer.accounting)
        shares = shares_of(schema)
        names = list(shares)
        tables = methods_of(synthesizer, schema)
        fitted = {}
        with Release(request, Filter(self.budget, accounting), book, noise, hold=hold) as release:
            whole = release.filter.total
            for at, name in enumerate(names):
                kept_back = whole * sum(shares[other] for other in names[at + 1 :])
                share = Share(name, schema.rows[name], kept_back)
                curator = Curator(self.source.source(name), release, share=share)
                heard = part(progress, at / len(names), (at + 1) / len(names))
                if name in tables:
                    fitted[name] = tables[name].build(curator, progress=heard)
                else:
                    heard("looking at what follows what", 0.0)
                    rng = np.random.default_rng(release.noise.seed())
                    fitted[name] = build_next(curator, fitted, schema, name, rng)
        certificate = Certificate(
            promised=self.budget,
            accounting=accounting,
            method=synthesizer.name,
            parameters={**synthesizer.parameters(), "tables": dict(schema.rows), "shares": shares},
            events=release.events,
            simulated=release.simulated,
            adaptive=synthesizer.adaptive,
            schema_digest=schema.digest(),
            dataset=Path(request.dataset).name,
            policy=request.policy,
            release=release.id,
            version=__version__,
            created=datetime.now(UTC).date().isoformat(),
            unit_column=schema.unit.column,
            ledger=None if book.in_memory else book.head.to_json(),
        ).with_assumptions([*schema.vouchers(), *([LINKED] if self.source.engine else [])])
        models = {}
        for name, one in fitted.items():
            view = schema.view(name)
            models[name] = Model(
                generator=with_zeros(one.generator, view) if view.constraints else one.generator,
                schema=view,
                certificate=certificate,
                measurements=tuple(one.measurements),
                trace=tuple(one.trace),
                interactions=tuple(one.interactions),
                scores=one.scores,
                ceilings=dict(one.ceilings),
                expected=one.expected,
                like=self.source.native,
            )
        return RelatedModel(schema, models, self.source.native)


def shares_of(schema: Related) -> dict[str, float]:
    """Of the budget, for each table by how many columns it has; of that a part for how its rows follow each other."""
    sizes = {}
    for table in schema:
        own = 1.0 + len(table.modelled) + len(schema.children(table))
        if table.parent is None:
            sizes[table.name] = own / 2  # a person counts once there, so noise is small
        else:
            sizes |= {table.name: (1 - LATER) * own, f"{table.name}{NEXT}": LATER * own}
    return {name: size / sum(sizes.values()) for name, size in sizes.items()}


def methods_of(synthesizer: Synthesizer, schema: Related) -> dict[str, Synthesizer]:
    """The method for each table.

    Rows below are drawn one field per row, so theirs must be small. And rows of parents with many count less: what goes
    with the number of siblings must be known well, so that drawing puts their numbers right.
    """
    found = {schema.root.name: synthesizer}
    for table in schema.tables[1:]:
        siblings = view_of(schema, table).siblings.name
        found[table.name] = replace(synthesizer, max_cells=CELLS, target=siblings)  # type: ignore[type-var]
    return found


def build_next(
    curator: Curator, fitted: Mapping[str, Fitted], schema: Related, name: str, rng: np.random.Generator
) -> Fitted:
    """The lagged tables of a table's rows, and the field that draws a row given the one before."""
    table = schema[name.removesuffix(NEXT)]
    rows, view = fitted[table.name].generator, view_of(schema, table)
    assert isinstance(rows, MarkovGenerator)
    measured = measure_next(curator, rows, view)
    doubles = {seen: Doubles(schema.view(seen), one.generator) for seen, one in fitted.items()}
    drawn = draw_tables(schema, doubles, PARENTS, rng)
    axis = None if table.order is None else table.schema.axis(table.order)
    field = next_rows(rows, view, measured, axis, *parents(schema, table, view, drawn), table.counts_as, rng)
    generator = MarkovGenerator(field, rows.hidden)
    return Fitted(generator, list(measured.columns.values()), interactions=measured.interactions)


def require_models_tables(synthesizer: Synthesizer, budget: Budget) -> None:
    """Refuse methods whose models are no fields, and no budget at all."""
    if synthesizer.name not in METHODS:
        raise UsageError(f"method {synthesizer.name!r} does not model related tables; {', '.join(METHODS)} does")
    if not budget.is_finite:
        raise UsageError(f"epsilon must be finite for method {synthesizer.name!r}")


def plan_related(
    synthesizer: Synthesizer,
    tables: Any,
    related: Related,
    budget: Budget,
    *,
    named: bool = True,
    dataset: str | None = None,
    policy: str = "default",
    key: str = "",
    simulation: int | None = None,
    place: str | None = None,
    timeout: float | None = None,
) -> PlannedRelated:
    """Everything that can be refused before anything is counted."""
    require_models_tables(synthesizer, budget)
    if simulation is not None and simulation < 0:
        raise UsageError(f"simulation (--seed) must be at least 0, got {simulation}")
    related = related.released
    require_confirmed(related)
    for table in related:
        view = related.view(table.name)
        rules = ruled(related, table)
        for obeyed in (view, *([] if rules is None else [rules.schema])):
            if obeyed.constraints:
                require_consistent(obeyed)
        synthesizer.plan(view.domain, budget)
    source = open_related(tables, related, place=place, timeout=timeout)
    budget = replace(budget, rows=1)
    details: dict[str, Any] = {"schema": related.digest(), "parameters": repr(synthesizer.parameters())}
    spent = budget
    if simulation is not None:
        spent = replace(budget, epsilon=float("inf"))
        details |= {"simulation": simulation, "epsilon": budget.epsilon}
    accounting = Accounting(synthesizer.accounting)
    Filter(budget, accounting)
    require_promise(spent)
    name = dataset or source.name
    if named:
        require_named(name)
    request = ReleaseRequest(
        dataset=name or "tables",
        policy=policy,
        method=synthesizer.name,
        budget=spent,
        accounting=accounting,
        key=key,
        details=details,
    )
    return PlannedRelated(synthesizer, source, budget, request, simulation)


def fit_related(
    synthesizer: Synthesizer,
    tables: Any,
    related: Related,
    budget: Budget,
    *,
    ledger: Ledger,
    progress: Progress = silent,
    **how: Any,
) -> RelatedModel:
    """Plan and carry out; `how` is as in `plan_related`."""
    planned = plan_related(synthesizer, tables, related, budget, **how)
    planned.require_readable()
    return planned.carry_out(ledger, progress=progress)
