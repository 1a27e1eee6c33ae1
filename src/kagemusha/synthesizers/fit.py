"""From a private table to a certified model: the one path every synthesizer takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.sensitivities import reads_records
from kagemusha.certificate.sentences import weighted
from kagemusha.encoding.travels import travels
from kagemusha.errors import ModelTooLarge, SchemaError, UndeclaredDomain, UsageError
from kagemusha.ledger import open_ledger
from kagemusha.ledger.protocol import Ledger, ReleaseRequest
from kagemusha.models.contradictions import require_consistent
from kagemusha.models.model import Model
from kagemusha.models.walled import walled
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import ExactNoise, Noise, SimulatedNoise
from kagemusha.progress import Progress, silent
from kagemusha.release.asking import require_confirmed
from kagemusha.release.curator import Curator, require_readable
from kagemusha.release.discovery import (
    MOST_CATEGORIES,
    Finder,
    close_schema,
    delta_share,
    largest_domain,
    require_discoverable,
    require_readable_open,
)
from kagemusha.release.release import Release
from kagemusha.schema import Schema
from kagemusha.sources import OpenTable, Source, open_source, open_table
from kagemusha.synthesizers.protocol import Synthesizer
from kagemusha.version import __version__

FEWEST_CATEGORIES = 8


def fit(
    synthesizer: Synthesizer,
    table: Any,
    budget: Budget,
    *,
    schema: Schema | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    policy: str = "default",
    key: str = "",
    simulation: int | None = None,
    allow_derived: bool = False,
    discover: float | None = None,
    hold: bool = False,
    progress: Progress = silent,
) -> Model:
    """Fit a synthesizer to a table within a budget.

    `table` is a source, a frame or a path (the last two need `schema`). `ledger` is a ledger or the path of one;
    without it the release is accounted in memory only. A file is known to the ledger by its path, a frame by the name
    that `dataset` gives it. The same release asked for again (same data set, method, schema, budget and `key`)
    returns its stored answers and spends nothing; give another `key` for a fresh one, as for a file that has changed.
    `simulation` is a seed for experiments: the noise is then reproducible, protects nobody, and certificate and ledger
    say ε = ∞. `allow_derived` lets a schema with unconfirmed facts through, at the same price. `discover` is the
    share of the budget for finding categories and bounds that the schema leaves open; without it an open schema is
    refused. With `hold` the release stays open in the ledger until its output is written (`publish` closes it).
    """
    opened = _opened(table, schema)
    declared = opened.schema
    synthesizer = synthesizer.aimed(declared)
    budget = replace(budget, rows=declared.unit.max_rows)
    if synthesizer.private and not budget.is_finite:
        raise UsageError(f"epsilon must be finite for method {synthesizer.name!r}")
    derived = require_confirmed(declared, allowed=allow_derived or not synthesizer.private)
    discovery: dict[str, Any] = {}
    if declared.constraints and not declared.open_facts():
        require_consistent(declared)  # rules that nobody can obey are refused before anything is read
    schedule: Sequence[Event] = ()
    if isinstance(opened, OpenTable):
        discovery = _discovery(declared, discover, budget, synthesizer.accounting)
        most = _most_categories(declared, synthesizer, budget)
        require_readable_open(opened)
    else:
        synthesizer.plan(opened.domain, budget)  # what the domain cannot carry is refused before anything is reserved
        schedule = synthesizer.schedule_for(opened.schema, budget)
        require_readable(opened)
    aside = float(discovery.get("delta_share", 0.0))
    budget_filter = Filter(budget, synthesizer.accounting, delta_share=aside, schedule=schedule)
    name = dataset or _name_of(table, opened, needed=ledger is not None)
    details = {"schema": declared.digest(), "parameters": repr(synthesizer.parameters()), **discovery}
    spent = budget
    if simulation is not None or derived or not synthesizer.private:
        # it protects nobody, so no part of a cap could account for it: the ledger lists it as ε = ∞
        spent = replace(budget, epsilon=math.inf)
        details |= {"simulation": simulation, "epsilon": budget.epsilon}
    request = ReleaseRequest(
        dataset=name,
        policy=policy,
        method=synthesizer.name,
        budget=spent,
        accounting=Accounting(synthesizer.accounting),
        key=key,
        details=details,
        delta_share=aside,
        schedule=schedule,
        fingerprint=opened.fingerprint(),
    )
    book = ledger if ledger is not None and not isinstance(ledger, str | PathLike) else open_ledger(ledger)
    noise: Noise = ExactNoise() if simulation is None else SimulatedNoise(np.random.default_rng(simulation))
    with Release(request, budget_filter, book, noise, hold=hold) as release:
        if isinstance(opened, OpenTable):
            progress("discovering categories and bounds", 0.0)
            finder = Finder(opened, release)
            curator, source = finder.curator(close_schema(finder, discovery["discover"], most))
        else:
            curator, source = Curator(opened, release), opened
        if derived:
            curator.unprotected("the schema rests on facts taken from the data: " + ", ".join(map(str, derived)))
        fitted = synthesizer.build(curator, progress=progress)
    certificate = Certificate(
        promised=budget,
        accounting=Accounting(synthesizer.accounting),
        method=synthesizer.name,
        parameters={**synthesizer.parameters(), **discovery},
        events=release.events,
        simulated=release.simulated,
        adaptive=synthesizer.adaptive,
        schema_digest=source.schema.digest(),
        dataset=Path(name).name,
        policy=policy,
        release=release.id,
        version=__version__,
        created=datetime.now(UTC).date().isoformat(),
        unit_column=declared.unit.column,
        ledger=None if getattr(book, "in_memory", False) else book.head.to_json(),
    ).with_assumptions(
        [*synthesizer.remarks(source.domain, budget), *weighted(source.schema), *source.schema.vouchers()]
    )
    if source.stays_put:
        told = travels(source.schema, records=reads_records(certificate), discovered=bool(discovery))
        certificate = replace(certificate, assumptions=(*certificate.assumptions, told))
    return Model(
        generator=walled(fitted.generator, source.schema),
        schema=source.schema,
        certificate=certificate,
        measurements=tuple(fitted.measurements),
        trace=tuple(fitted.trace),
        interactions=tuple(fitted.interactions),
        scores=fitted.scores,
        ceilings=dict(fitted.ceilings),
        expected=fitted.expected,
        like=source.native_like(),
    )


def _opened(table: Any, schema: Schema | None) -> Source | OpenTable:
    if isinstance(table, Source | OpenTable):
        return table
    if schema is None:
        raise SchemaError("a frame or a file needs a schema: pass schema=Schema.load('….toml')")
    return open_table(table, schema) if schema.open_facts() else open_source(table, schema)


def _discovery(schema: Schema, share: float | None, budget: Budget, accounting: Accounting) -> dict[str, Any]:
    """What discovery will do, for the certificate; refuses what was not asked for or cannot be done."""
    facts = [str(fact) for fact in schema.open_facts()]
    if share is None:
        shown = ", ".join(facts[:5]) + (", …" if len(facts) > 5 else "")
        raise UndeclaredDomain(
            f"{len(facts)} facts of the schema are open ({shown}). Either declare them from public knowledge, or give "
            "private discovery a share of the budget to find them: discover=0.05 (--discover 0.05)"
        )
    require_discoverable(schema, share, accounting, finite=budget.is_finite)
    return {"discover": share, "delta_share": delta_share(schema), "discovered": facts}


def _most_categories(schema: Schema, synthesizer: Synthesizer, budget: Budget) -> int:
    """How many categories of a column discovery may find: so few that the method can carry whatever comes of it.

    What it cannot carry even then is refused here, before anything is reserved.
    """
    most = MOST_CATEGORIES
    while True:
        try:
            synthesizer.plan(largest_domain(schema, most), budget)
            return most
        except ModelTooLarge:
            if most <= FEWEST_CATEGORIES:
                raise
            most //= 2


def _name_of(table: Any, opened: Source | OpenTable, *, needed: bool) -> str:
    """Files are known to the ledger by their place; two frames of one name would share a cap, and their answers."""
    name = opened.name
    if name is None and needed:
        raise UsageError("a table in memory needs a name under which the ledger knows it: pass dataset='…'")
    return name or "table"
