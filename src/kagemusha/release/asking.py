"""One question of its own to a private table: charged to the ledger, then read, then answered with noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.sentences import weighted
from kagemusha.errors import UsageError
from kagemusha.identity import Identity
from kagemusha.ledger.open import opened
from kagemusha.ledger.protocol import Ledger, ReleaseRequest, require_named
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget, require_promise
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import ExactNoise, Noise, SimulatedNoise
from kagemusha.queries.query import Choice, Query
from kagemusha.release.curator import Curator, require_confirmed, require_readable
from kagemusha.release.release import Release
from kagemusha.release.share import WHOLE, Share
from kagemusha.schema.declared import Declared
from kagemusha.sources.protocol import Source
from kagemusha.version import __version__

Released = TypeVar("Released")

METHOD = "question"
"""What ledgers and certificates call a release that is one answer."""


@dataclass(frozen=True, eq=False)
class Answered(Generic[Released]):
    """What the world may see: the noisy answer, and what it rests on."""

    answer: Released
    certificate: Certificate


def ask(source: Source, query: Query[Released], budget: Budget, **how: Any) -> Answered[Released]:
    """The noisy answer of one query at the whole of a budget, which the ledger has before anything is counted.

    Exact integer Gaussian noise, or discrete Laplace noise where δ is 0; `how` is as in `settled`.
    """
    pure = budget.delta == 0

    def answer(curator: Curator) -> Released:
        return curator.answer([query], curator.remaining, mechanism="laplace" if pure else "gaussian")[0]

    return settled(source, query.what, answer, budget, **how)


def choose(source: Source, query: Choice[Any], budget: Budget, **how: Any) -> Answered[int]:
    """The position of a candidate with a high score, by the exponential mechanism at the whole of ε; δ is not used."""

    def chosen(curator: Curator) -> int:
        return curator.choose(query, curator.remaining)

    return settled(source, query.what, chosen, replace(budget, delta=0.0), **how)


def settled(
    source: Source,
    question: str,
    read: Callable[[Curator], Released],
    budget: Budget,
    *,
    declared: Declared | None = None,
    share: Share = WHOLE,
    identity: Identity | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    policy: str = "default",
    key: str = "",
    simulation: SimulatedNoise | None = None,
) -> Answered[Released]:
    """A question of its own to the table: paid for, answered by `read`, certified.

    The same question asked again (same data set, schema, budget and `key`) returns the stored answer and costs nothing.
    `declared` is the schema behind a source that shows a part of the table; of one of several tables, `share` names it
    and `identity` is that of all. `simulation` is noise for experiments, and
    protects nobody.
    """
    require_confirmed(source.schema)
    schema = declared or source.schema
    if not budget.is_finite:
        raise UsageError("epsilon must be finite for a question with noise")
    budget = replace(budget, rows=schema.unit.max_rows)
    # Gaussian DP fits under the cap of every other release
    accounting = Accounting.PURE if budget.delta == 0 else Accounting.GDP
    require_readable(source)
    asked = {"schema": schema.digest(), "question": question}
    spent = budget
    if simulation is not None:
        spent = replace(budget, epsilon=math.inf)
        asked |= {"simulation": "yes", "epsilon": repr(budget.epsilon)}
    require_promise(spent)
    name = dataset or source.name
    if ledger is not None:
        require_named(name)
    request = ReleaseRequest(
        dataset=name or "table",
        policy=policy,
        method=METHOD,
        budget=spent,
        accounting=accounting,
        key=key,
        details=asked,
        identity=identity or source.identity(),
    )
    book = opened(ledger)
    noise: Noise = simulation or ExactNoise()
    with Release(request, Filter(budget, accounting), book, noise) as release:
        answer = read(Curator(source, release, share=share))
    certificate = Certificate(
        promised=budget,
        accounting=accounting,
        method=METHOD,
        parameters={"question": question, **({"tables": dict(schema.rows)} if share.table else {})},
        events=release.events,
        simulated=release.simulated,
        adaptive=False,
        schema_digest=schema.digest(),
        dataset=Path(name or "table").name,
        policy=policy,
        release=release.id,
        version=__version__,
        created=datetime.now(UTC).date().isoformat(),
        unit_column=schema.unit.column,
        ledger=None if book.in_memory else book.head.to_json(),
    ).with_assumptions([*weighted(schema), *schema.vouchers()])
    return Answered(answer, certificate)


def look(
    source: Source,
    reason: str,
    *,
    ledger: Ledger | str | Path | None,
    dataset: str | None = None,
    policy: str = "default",
) -> Source:
    """The source itself, after the ledger has recorded a read without protection.

    Under a cap its owner must allow that. No digest is kept: looking again after the table was mended is no other
    release.
    """
    budget = Budget(math.inf, 0.0, rows=source.schema.unit.max_rows)
    request = ReleaseRequest(
        dataset=dataset or source.name or "table",
        policy=policy,
        method=METHOD,
        budget=budget,
        accounting=Accounting.GDP,
        details={"schema": source.schema.digest(), "question": reason},
    )
    with Release(request, Filter(budget, Accounting.GDP), opened(ledger), ExactNoise()) as release:
        return Curator(source, release).unprotected(reason)
