"""From a private table to a certified model: the one path every synthesizer takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.sensitivities import reads_records
from kagemusha.certificate.sentences import weighted
from kagemusha.encoding.travels import travels
from kagemusha.errors import UsageError
from kagemusha.ledger.open import opened as ledger_of
from kagemusha.ledger.protocol import Ledger, ReleaseRequest, require_named
from kagemusha.models.model import Model
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import Budget, require_promise
from kagemusha.privacy.events import Event
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import ExactNoise, Noise, SimulatedNoise
from kagemusha.progress import Progress, silent
from kagemusha.queries.query import Strays
from kagemusha.release.curator import Curator, require_confirmed, require_readable
from kagemusha.release.discovery import Finder, close_schema, require_readable_open
from kagemusha.release.release import Release
from kagemusha.release.share import Share
from kagemusha.rules.contradictions import require_consistent
from kagemusha.rules.zeroed import with_zeros
from kagemusha.schema import Fact, Schema, of_strays, stray_columns
from kagemusha.sources import OpenTable, Source, open_any
from kagemusha.synthesizers import acceptance, required
from kagemusha.synthesizers.discovering import discovery_of, most_categories
from kagemusha.synthesizers.protocol import Synthesizer
from kagemusha.synthesizers.registry import package_of
from kagemusha.version import __version__

STRAYS = 0.01
"""Share of the budget for the number of cells that are out of place, by column."""
MOST_STRAYS = 200
"""Columns beyond which that is not asked: the noise grows with their number."""

Opener = Callable[[Schema], Source]
"""Opens the same table with another schema."""


@dataclass(frozen=True, eq=False)
class Planned:
    """A fit that can be done and may be promised. Nothing of the table was counted for it, and nothing paid."""

    synthesizer: Synthesizer
    opened: Source | OpenTable
    budget: Budget
    request: ReleaseRequest
    """Without what the ledger knows the table by, which takes a look at the whole of it; its id needs none."""
    discovery: Mapping[str, Any]
    most: int
    """How many categories of a column discovery may find."""
    derived: Sequence[Fact]
    simulation: int | None
    strays: Opener | None
    """Where cells that are out of place are counted."""

    def require_readable(self) -> None:
        """Read the table through once, so that what cannot be read is noticed before it is paid for."""
        if isinstance(self.opened, OpenTable):
            require_readable_open(self.opened)
        else:
            require_readable(self.opened)

    def carry_out(self, book: Ledger, *, hold: bool = False, progress: Progress = silent) -> Model:
        """Reserve, charge, read, and build the model.

        With `hold` the release stays open until its output is written.
        """
        synthesizer, opened = self.synthesizer, self.opened
        request = replace(self.request, identity=opened.identity())
        noise: Noise = (
            ExactNoise() if self.simulation is None else SimulatedNoise(np.random.default_rng(self.simulation))
        )
        accounting = Accounting(synthesizer.accounting)
        limit = Filter(self.budget, accounting, delta_share=request.delta_share, schedule=request.schedule)
        with Release(request, limit, book, noise, hold=hold) as release:
            if isinstance(opened, OpenTable):
                progress("discovering categories and bounds", 0.0)
                finder = Finder(opened, release)
                closed = close_schema(finder, self.discovery["discover"], self.most)
                strays = self._strays(closed, release)
                _, source = finder.curator(closed)
            else:
                strays = self._strays(opened.schema, release)
                source = opened
            curator = Curator(source, release)
            if self.derived:
                facts = ", ".join(map(str, self.derived))
                curator.unprotected(f"the schema rests on facts taken from the data: {facts}")
            mechanism = "laplace" if ACCOUNTANTS[accounting].pure else "gaussian"
            tables = required.measured(curator, mechanism) if source.schema.demands.required else []
            demands = source.schema.demands
            kept_back = demands.tested * curator.total if demands.accept else 0.0
            given = Curator(source, release, share=Share(kept_back=kept_back, required=tuple(tables)))
            fitted = synthesizer.build(given, progress=progress)
            own = [m for m in fitted.measurements if not any(m is table for table in tables)]
            generator = with_zeros(fitted.generator, source.schema) if source.schema.constraints else fitted.generator
            generator = required.kept(generator, tables, own) if tables else generator
            answers = acceptance.tested(curator, generator, mechanism) if source.schema.demands.accept else {}
        # a guess may rest on rows, and no release may
        released = source.schema.with_constraints(*(rule for rule in source.schema.constraints if not rule.guess))
        certificate = Certificate(
            promised=self.budget,
            accounting=accounting,
            method=synthesizer.name,
            parameters={**synthesizer.parameters(), **self.discovery, **strays, **answers},
            events=release.events,
            simulated=release.simulated,
            adaptive=synthesizer.adaptive,
            schema_digest=released.digest(),
            dataset=Path(request.dataset).name,
            policy=request.policy,
            release=release.id,
            version=__version__,
            created=datetime.now(UTC).date().isoformat(),
            unit_column=opened.schema.unit.column,
            ledger=None if book.in_memory else book.head.to_json(),
            package=package_of(type(synthesizer)),
        ).with_assumptions(
            [*synthesizer.remarks(source.domain, self.budget), *weighted(source.schema), *source.schema.vouchers()]
        )
        if source.stays_put:
            line = travels(source.schema, records=reads_records(certificate), discovered=bool(self.discovery))
            certificate = replace(certificate, assumptions=(*certificate.assumptions, line))
        return Model(
            generator=generator,
            schema=released,
            certificate=certificate,
            measurements=(*tables, *own),
            trace=tuple(fitted.trace),
            interactions=tuple(fitted.interactions),
            scores=fitted.scores,
            ceilings=dict(fitted.ceilings),
            expected=fitted.expected,
            like=source.native_like(),
        )

    def _strays(self, schema: Schema, release: Release) -> dict[str, Any]:
        """Ask how many cells of each column are out of place; what noise would not show stands on the certificate."""
        if self.strays is None or not 0 < len(stray_columns(schema)) <= MOST_STRAYS:
            return {}
        apart = self.strays(of_strays(schema))
        curator = Curator(apart, release)
        pure = ACCOUNTANTS[release.accounting].pure
        (found,) = curator.answer(
            [Strays(apart.domain)], STRAYS * curator.total, mechanism="laplace" if pure else "gaussian"
        )
        return {"strays": found.seen, "strays_noise": round(found.sigma, 1)}


def plan(
    synthesizer: Synthesizer,
    table: Any,
    budget: Budget,
    *,
    schema: Schema | None = None,
    named: bool = True,
    dataset: str | None = None,
    policy: str = "default",
    key: str = "",
    simulation: int | None = None,
    allow_derived: bool = False,
    discover: float | None = None,
    strays: Opener | None = None,
) -> Planned:
    """Everything that `fit` can refuse without a look at the table's rows.

    With `named`, also a table without a name. `strays` opens the table once more, for cells that are out of place; they
    are not counted where a method declares all its steps beforehand, nor where an engine keeps the table.
    """
    opened = open_any(table, schema)
    declared = opened.schema
    synthesizer = synthesizer.aimed(declared)
    budget = replace(budget, rows=declared.unit.max_rows)
    if simulation is not None and simulation < 0:
        raise UsageError(f"simulation (--seed) must be at least 0, got {simulation}")
    if synthesizer.private and not budget.is_finite:
        raise UsageError(f"epsilon must be finite for method {synthesizer.name!r}")
    derived = require_confirmed(declared, allowed=allow_derived or not synthesizer.private)
    discovery: dict[str, Any] = {}
    if discover is not None or declared.open_facts():
        discovery = discovery_of(declared, discover, budget, synthesizer.accounting)
    schedule: Sequence[Event] = ()
    most = 0
    if isinstance(opened, OpenTable):
        most = most_categories(declared, synthesizer, budget)
    else:
        if declared.constraints:
            require_consistent(declared)  # rules that nobody can obey are refused before anything is read
        if declared.demands.required:
            required.require_room(synthesizer, declared, opened.domain)
        synthesizer.plan(opened.domain, budget)  # what the domain cannot carry is refused before anything is reserved
        schedule = synthesizer.schedule_for(declared, budget)
    details = {"schema": declared.digest(), "parameters": repr(synthesizer.parameters()), **discovery}
    stays = not isinstance(opened, OpenTable) and opened.stays_put
    if stays or not synthesizer.private or ACCOUNTANTS[synthesizer.accounting].declared:
        strays = None
    details |= {} if strays is None else {"strays": STRAYS}
    spent = budget
    if simulation is not None or derived or not synthesizer.private:
        # it protects nobody, so no part of a cap could account for it: the ledger lists it as ε = ∞
        spent = replace(budget, epsilon=math.inf)
        details |= {"simulation": simulation, "epsilon": budget.epsilon}
    aside = float(discovery.get("delta_share", 0.0))
    Filter(budget, Accounting(synthesizer.accounting), delta_share=aside, schedule=schedule)  # what cannot be added up
    require_promise(spent)
    name = dataset or opened.name
    if named:
        require_named(name)
    request = ReleaseRequest(
        dataset=name or "table",
        policy=policy,
        method=synthesizer.name,
        budget=spent,
        accounting=Accounting(synthesizer.accounting),
        key=key,
        details=details,
        delta_share=aside,
        schedule=schedule,
    )
    return Planned(synthesizer, opened, budget, request, discovery, most, derived, simulation, strays)


def fit(
    synthesizer: Synthesizer,
    table: Any,
    budget: Budget,
    *,
    ledger: Ledger | str | Path | None = None,
    hold: bool = False,
    progress: Progress = silent,
    **how: Any,
) -> Model:
    """Fit a synthesizer to a table within a budget.

    `table` is a source, a frame or a path (the last two need `schema`). `ledger` is a ledger or the path of one;
    without it the release is accounted in memory only. A file is known to the ledger by its path, a frame by the name
    that `dataset` gives it. The same release asked for again (same data set, method, schema, budget and `key`)
    returns its stored answers and spends nothing; give another `key` for a fresh one, as for a file that has changed.
    `simulation` is a seed for experiments: the noise is then reproducible, protects nobody, and certificate and ledger
    say ε = ∞. `allow_derived` lets a schema with unconfirmed facts through, at the same price. `discover` is the
    share of the budget for finding categories and bounds that the schema leaves open; without it an open schema is
    refused. With `hold` the release stays open in the ledger until its output is written (`publish` closes it). All but
    `ledger`, `hold` and `progress` goes to `plan`.
    """
    planned = plan(synthesizer, table, budget, named=ledger is not None, **how)
    planned.require_readable()
    return planned.carry_out(ledger_of(ledger), hold=hold, progress=progress)
