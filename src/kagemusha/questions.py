"""Questions in Python, as the commands answer them: what will it take, how good is it, what can be learned from it.

`plan` reads no table. `evaluate`, `compare` and `attack` read the private one as it is: their answers are INTERNAL, and
the ledger of a file or a server's table, if there is one, records that it was looked at. `audit` reads no table of
yours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from kagemusha.attacks.audit import Audit
from kagemusha.attacks.audit import audit as run_audit
from kagemusha.attacks.campaign import Campaign
from kagemusha.attacks.game import Rules
from kagemusha.attacks.report import Attacked
from kagemusha.attacks.synthesis.families import MEMBERS, WHOSE, opened_release
from kagemusha.attacks.synthesis.method import Method
from kagemusha.attacks.table import read_table
from kagemusha.attacks.targets import names as target_names
from kagemusha.attacks.worst_case import OPTIONS
from kagemusha.errors import SchemaError, UsageError
from kagemusha.evaluation.compare import Comparison, run_comparison
from kagemusha.evaluation.compare_report import Line, summarise
from kagemusha.evaluation.evaluate import INTERNAL, Evaluation
from kagemusha.evaluation.evaluate import evaluate as run_evaluation
from kagemusha.evaluation.learners import USUAL
from kagemusha.evaluation.related import RelatedErrors, evaluate_related
from kagemusha.files import is_postgres
from kagemusha.folder.related import doubles_in, load_related
from kagemusha.models.model import Model
from kagemusha.pages import card
from kagemusha.planning.forecast import Forecast, closed, forecast
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, watched
from kagemusha.proposal.servers import whole_table
from kagemusha.release.looks import note_look
from kagemusha.schema import Schema
from kagemusha.sources.open import located
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource
from kagemusha.synthesizers.registry import create
from kagemusha.synthesizers.suited import suited

SchemaLike = Schema | str | PathLike[str] | None


@dataclass(frozen=True)
class Planned:
    """What a release would take, and which method the schema suggests."""

    method: str
    why: str
    budget: Budget
    forecast: Forecast

    def _repr_html_(self) -> str:
        error, found = self.forecast.error, self.forecast
        facts = {
            "method": self.method,
            "promise": self.budget.in_words(),
            "CPU time": f"about {found.seconds:.1f} s, at most {found.at_most:.1f} s, for {found.rows:,} rows",
            "memory": f"at most about {found.megabytes:,.0f} MB",
            "error of pairs": "not known without a number of rows" if error is None else f"about {error:.3f} of 2",
        }
        return card("A release as it would be", facts)


@dataclass(frozen=True)
class Compared:
    """Methods side by side on a real table; INTERNAL."""

    lines: Sequence[Line]

    def _repr_html_(self) -> str:
        facts = {f"{o.score}, {o.method}, ε = {o.epsilon:g}": f"{o.mean:.4f} ± {o.sd:.4f}" for o in self.lines}
        return card(f"Methods compared. {INTERNAL}", facts)


def plan(
    schema: SchemaLike,
    epsilon: Budget | float = 1.0,
    *,
    method: str | None = None,
    rows: int | None = None,
    discover: float | None = None,
    **options: Any,
) -> Planned:
    """Time, memory and expected error of a release, from the schema alone: `plan("patients.toml", 1, rows=5000)`.

    `discover` is the share of the budget that finds what the schema leaves open.
    """
    declared = _schema(schema)
    complete = closed(declared) if declared.open_facts() else declared
    budget = _budget(epsilon, declared)
    chosen = suited(declared)
    synthesizer = create(method or chosen.method, **options)
    cost = synthesizer.plan(complete.domain, budget)
    expected = forecast(complete, synthesizer, cost, budget, rows=rows, discover=discover)
    why = "" if method else chosen.why
    return Planned(method or chosen.method, why, budget, expected)


def evaluate(
    real: Any,
    synthetic: Any,
    schema: SchemaLike = None,
    *,
    targets: Sequence[str] = (),
    learners: Sequence[str] = (),
    queries: Sequence[str] = (),
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Everything that can be measured about doubles beside the table they stand for; INTERNAL.

    `synthetic` is a table or a model, which brings its schema and is asked for as many doubles as there were people.
    """
    model = synthetic if isinstance(synthetic, Model) else None
    declared = model.schema if model is not None and schema is None else _schema(schema)
    doubles = synthetic if model is None else model.sample(seed=seed)
    real = _looked_at(real, "evaluate", ledger, declared)
    with watched(progress) as tell:
        return run_evaluation(
            real,
            doubles,
            declared,
            model=model,
            targets=targets or ([] if declared.target is None else [declared.target]),
            models=learners or USUAL,
            queries=queries,
            rng=np.random.default_rng(seed),
            progress=tell,
        )


def evaluate_tables(
    real: Any,
    folder: Path,
    *,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    seed: int = 0,
    noted: Callable[[str], None] = lambda _: None,
) -> RelatedErrors:
    """The doubles of a release beside the real tables; the ledger hears of the look first, `noted` what it says."""
    schema = load_related(folder).schema
    source = open_related(real, schema)
    noted(_looked_at_several(real, "evaluate", source, ledger, dataset))
    return evaluate_related(source, doubles_in(folder, schema), schema, rng=np.random.default_rng(seed))


def compare(
    table: Any,
    schema: SchemaLike,
    methods: Sequence[str] = ("kage", "aim", "mst"),
    epsilons: Sequence[float] = (1.0,),
    *,
    repeat: int = 3,
    target: str | None = None,
    folder: str | Path | None = None,
    jobs: int = 1,
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Several methods at several ε on a real table, by simulation; INTERNAL.

    With a `folder` finished fits are kept there, and a comparison that was stopped goes on.
    """
    declared = _schema(schema)
    table = _looked_at(table, "compare", ledger, declared)
    wanted = Comparison(methods=methods, epsilons=epsilons, repeat=repeat, target=target, seed=seed)
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="kagemusha-")) if folder is None else folder)
        tell = stack.enter_context(watched(progress))
        results = run_comparison(wanted, table, declared, place, jobs=jobs, progress=tell)
    return Compared(summarise(results))


def attack(
    table: Any,
    schema: SchemaLike,
    method: str = "kage",
    epsilon: Budget | float = 1.0,
    *,
    targets: Sequence[str] = ("random", "selective", "adaptive"),
    trainings: int = 100,
    secrets: Sequence[str] = (),
    seed: int = 0,
    jobs: int = 1,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Attacked:
    """Play the membership game against a method: can anyone say who was in the table? INTERNAL; `verdict` says it."""
    declared = _schema(schema)
    table = _looked_at(table, "attack", ledger, declared)
    maker = Method(method, _budget(epsilon, declared), options)
    campaign = Campaign(
        targets=target_names(list(targets)), rules=Rules(trainings=trainings), secrets=secrets, seed=seed
    )
    with watched(progress) as tell:
        return campaign.against(maker, read_table(table, declared), jobs=jobs, progress=tell)


def attack_tables(
    real: Any,
    folder: Path,
    *,
    trainings: int = 100,
    seed: int = 0,
    jobs: int = 1,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    noted: Callable[[str], None] = lambda _: None,
    progress: Progress | None = None,
) -> Attacked:
    """The membership game about persons with everything below, with the settings of a release of them. INTERNAL."""
    maker = opened_release(real, folder)
    noted(_looked_at_several(real, "attack", maker.tables, ledger, dataset))
    campaign = Campaign(targets=MEMBERS, rules=Rules(trainings=trainings), seed=seed)
    with watched(progress) as tell:
        tell("reading", 0.0)
        return campaign.against(maker, maker.table, jobs=jobs, notes=[WHOSE], progress=tell)


def audit(
    method: str,
    epsilon: Budget | float = 1.0,
    *,
    runs: int = 1_000,
    max_rows: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Audit:
    """Attack a method where it hurts most: two tiny tables that differ in one person, every released number in sight.

    Reads no table of yours. No audit proves a promise; it bounds how wrong it can be.
    """
    if not 20 <= runs <= 10**7:
        raise UsageError(f"runs must be at least 20 and at most 10,000,000, got {runs}")
    make = partial(create, method, **{**OPTIONS.get(method, {}), **options})
    if not make().private:
        raise UsageError(f"method {method!r} protects nobody; there is no promise to audit")
    budget = epsilon if isinstance(epsilon, Budget) else Budget(float(epsilon), rows=max_rows)
    with watched(progress) as tell:
        return run_audit(make, budget, runs=runs, seed=seed, progress=tell)


def _schema(given: SchemaLike) -> Schema:
    if given is None:
        raise SchemaError('a schema is needed: schema="patients.toml"; `kg.propose(table)` drafts one')
    return given if isinstance(given, Schema) else Schema.load(given)


def _budget(epsilon: Budget | float, schema: Schema) -> Budget:
    """A budget about whom the schema says."""
    return replace(epsilon if isinstance(epsilon, Budget) else Budget(float(epsilon)), rows=schema.unit.max_rows)


def _looked_at(table: Any, command: str, ledger: str | Path | None, schema: Schema) -> Any:
    """The table that is to be read as it is, once its ledger knows; one of a server is read into memory."""
    opened = located(table) if isinstance(table, str) and is_postgres(table) else None
    if opened is not None:
        try:
            used = [at for at, name in enumerate(opened.names) if name in schema.names]
            note_look(table, command, ledger=ledger, dataset=opened.known_as, known=opened.identity(used))
            return whole_table(opened)
        finally:
            opened.close()
    if isinstance(table, str | PathLike):
        note_look(table, command, ledger=ledger, encoding=schema.encoding)
    return table


def _looked_at_several(
    where: Any, command: str, source: RelatedSource, ledger: str | Path | None, dataset: str | None
) -> str:
    """The ledger of several tables hears of a look at them, under the name that it knows them by."""
    return note_look(where, command, ledger=ledger, dataset=dataset or source.name, known=source.identity())
