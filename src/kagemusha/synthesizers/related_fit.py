"""From several private tables to one certified model of each: one release, one budget, one certificate.

Each table is asked through the Curator with its share of the release: the persons first, then the tables below, parents
before children. What a table does not use is left for those after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.sentences import weighted
from kagemusha.encoding.travels import linked
from kagemusha.errors import UsageError
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.ledger.open import opened as ledger_of
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
from kagemusha.sources.open_below import OpenRelated, stand_ins
from kagemusha.sources.several import open_related, related_tables
from kagemusha.sources.steps import RelatedSource
from kagemusha.synthesizers.below import aimed, methods_of, target_in
from kagemusha.synthesizers.discovering import discovery_of
from kagemusha.synthesizers.discovering_related import close_related, most_in_tables, require_no_rules
from kagemusha.synthesizers.lagged import measure_next
from kagemusha.synthesizers.next_rows import next_rows
from kagemusha.synthesizers.protocol import Fitted, Synthesizer
from kagemusha.version import __version__

LATER = 0.25
"""Of a table's share, what is spent on how its rows follow each other."""

PARENTS = 20_000
"""Persons that are drawn to see whose rows follow each other."""

METHODS = ("kage",)
"""Methods whose fields rows can be drawn from given what is known of each."""


@dataclass(frozen=True, eq=False)
class PlannedRelated:
    """A fit that can be done and may be promised; keys were looked at, nothing was counted, nothing paid."""

    synthesizer: Synthesizer
    opened: RelatedSource | OpenRelated
    budget: Budget
    request: ReleaseRequest
    discovery: Mapping[str, Any]
    most: int
    """How many categories of a column discovery may find."""
    simulation: int | None

    def require_readable(self) -> None:
        """Link all tables: keys that do not fit are noticed before anything is paid."""
        self.opened.require_readable()

    def carry_out(self, book: Ledger, *, hold: bool = False, progress: Progress = silent) -> RelatedModel:
        """Reserve, charge, read, and build a model of each table."""
        synthesizer = self.synthesizer
        request = replace(self.request, identity=self.opened.identity())
        noise: Noise = (
            ExactNoise() if self.simulation is None else SimulatedNoise(np.random.default_rng(self.simulation))
        )
        accounting = Accounting(synthesizer.accounting)
        fitted = {}
        limit = Filter(self.budget, accounting, delta_share=request.delta_share)
        with Release(request, limit, book, noise, hold=hold) as release:
            source = self._closed(release, progress)
            schema = source.schema
            shares, tables = shares_of(schema), methods_of(synthesizer, schema)
            names, whole = list(shares), release.remaining
            for at, name in enumerate(names):
                kept_back = whole * sum(shares[other] for other in names[at + 1 :])
                share = Share(name, schema.rows[name], kept_back)
                curator = Curator(source.source(name), release, share=share)
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
            parameters={**synthesizer.parameters(), "tables": dict(schema.rows), "shares": shares, **self.discovery},
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
        ).with_assumptions([*weighted(schema), *schema.vouchers(), *self._left(source)])
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
                like=source.native,
            )
        return RelatedModel(schema, models, source.native)

    def _closed(self, release: Release, progress: Progress) -> RelatedSource:
        """The tables behind a schema that leaves nothing open."""
        if isinstance(self.opened, RelatedSource):
            return self.opened
        progress("discovering categories and bounds", 0.0)
        found = close_related(self.opened, release, self.discovery["discover"], self.most)
        return self.opened.tables.behind(found)

    def _left(self, source: RelatedSource) -> Sequence[str]:
        """What left an engine, in words."""
        return [linked(discovered=bool(self.discovery))] if source.engine else []


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


def build_next(
    curator: Curator, fitted: Mapping[str, Fitted], schema: Related, name: str, rng: np.random.Generator
) -> Fitted:
    """The lagged tables of a table's rows, and the field that draws a row given the one before."""
    table = schema[name.removesuffix(NEXT)]
    rows, view = fitted[table.name].generator, view_of(schema, table)
    assert isinstance(rows, MarkovGenerator)
    measured = measure_next(curator, rows, view, target_in(schema, table))
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
    discover: float | None = None,
    place: str | None = None,
    timeout: float | None = None,
) -> PlannedRelated:
    """Everything that can be refused before anything is counted."""
    require_models_tables(synthesizer, budget)
    if simulation is not None and simulation < 0:
        raise UsageError(f"simulation (--seed) must be at least 0, got {simulation}")
    related = aimed(synthesizer, related).released
    require_confirmed(related)
    discovery: dict[str, Any] = {}
    most = 0
    if discover is not None or related.open_facts():
        discovery = discovery_of(related, discover, budget, synthesizer.accounting)
        require_no_rules(related)
        most = most_in_tables(related, methods_of(synthesizer, stand_ins(related)), budget)
        opened: RelatedSource | OpenRelated = OpenRelated(related_tables(tables, related, place=place, timeout=timeout))
    else:
        require_possible(synthesizer, related, budget)
        opened = open_related(tables, related, place=place, timeout=timeout)
    budget = replace(budget, rows=1)
    details: dict[str, Any] = {"schema": related.digest(), "parameters": repr(synthesizer.parameters()), **discovery}
    spent = budget
    if simulation is not None:
        spent = replace(budget, epsilon=float("inf"))
        details |= {"simulation": simulation, "epsilon": budget.epsilon}
    accounting = Accounting(synthesizer.accounting)
    aside = float(discovery.get("delta_share", 0.0))
    Filter(budget, accounting, delta_share=aside)
    require_promise(spent)
    name = dataset or opened.name
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
        delta_share=aside,
    )
    return PlannedRelated(synthesizer, opened, budget, request, discovery, most, simulation)


def require_possible(synthesizer: Synthesizer, related: Related, budget: Budget) -> None:
    """Refuse rules that nobody can obey, and what the method cannot carry."""
    for table in related:
        view = related.view(table.name)
        rules = ruled(related, table)
        for obeyed in (view, *([] if rules is None else [rules.schema])):
            if obeyed.constraints:
                require_consistent(obeyed)
        synthesizer.plan(view.domain, budget)


def fit_related(
    synthesizer: Synthesizer,
    tables: Any,
    related: Related,
    budget: Budget,
    *,
    ledger: Ledger | None = None,
    progress: Progress = silent,
    **how: Any,
) -> RelatedModel:
    """Plan and carry out; `how` is as in `plan_related`. Without a ledger it is accounted in memory only."""
    planned = plan_related(synthesizer, tables, related, budget, **how)
    planned.require_readable()
    return planned.carry_out(ledger_of(ledger), progress=progress)
