"""The front door: what people try first in Python, in the forms they try it in.

A method may be its name, a budget a number, a schema the path of its file. Everything becomes an `Order` (see
`making`), as on the command line, and is held to the same checks before anything is spent.
"""

from __future__ import annotations

from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check, Checks
from kagemusha.certificate.signature import Trust
from kagemusha.errors import UsageError
from kagemusha.folder.loading import load_release
from kagemusha.forensics.verify import verify_release
from kagemusha.ledger import Ledger, open_ledger
from kagemusha.making.order import Order, Output
from kagemusha.making.related import make_related_model, make_related_release
from kagemusha.making.release import make_model, publish_to
from kagemusha.models.model import Model
from kagemusha.models.related import RelatedModel
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, part, watched
from kagemusha.schema import Schema
from kagemusha.schema.declared import load_declared
from kagemusha.schema.related import Related
from kagemusha.synthesizers.protocol import Synthesizer


def fit(
    method: str | Synthesizer | None,
    table: Any,
    budget: Budget | float,
    *,
    schema: Schema | str | PathLike[str] | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    policy: str = "default",
    cap: float | None = None,
    key: str = "",
    simulation: int | None = None,
    allow_derived: bool = False,
    discover: float | None = None,
    progress: Progress | None = None,
    seed: None = None,
) -> Model:
    """Fit a method to a private table within a budget: `fit("kage", table, 1.0, schema="patients.toml")`.

    `method` is a name (see `names()`) or what `create(name, option=…)` makes. `budget` is an ε, with δ = 1e-9 under
    add-remove adjacency, or a `Budget` that says all three. `table` is a frame, a path or a source; `schema` a schema
    or the path of its file. The rest is as in `synthesizers.fit`: with a `ledger` the release is paid for durably,
    `cap` is the most ε that all releases of the data set may cost together if nobody set that before, `simulation` is a
    seed for experiments, and a `seed` for a release is refused. Without a `method` (None) the schema decides.
    """
    _refuse_seed(seed)
    order = Order(
        table=table,
        budget=_budget(budget),
        schema=schema,
        method=method,
        ledger=ledger,
        dataset=dataset,
        policy=policy,
        cap=cap,
        key=key,
        simulation=simulation,
        allow_derived=allow_derived,
        discover=discover,
    )
    with watched(progress) as tell:
        return make_model(order, progress=tell)


def synthesize(
    table: Any,
    epsilon: Budget | float = 1.0,
    *,
    schema: Schema | str | PathLike[str] | None = None,
    method: str | Synthesizer | None = None,
    rows: int | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    policy: str = "default",
    cap: float | None = None,
    key: str = "",
    simulation: int | None = None,
    allow_derived: bool = False,
    discover: float | None = None,
    progress: Progress | None = None,
    seed: None = None,
) -> Any:
    """A table of doubles, in the library the private table came in.

    `synthesize(table, epsilon=1, schema="people.toml")`. Where the certificate is wanted too, `fit` gives the model
    that carries it, and `publish` writes everything that may be handed out. The arguments are those of `fit`; `rows` is
    the number of doubles (by default about as many as people). Without a `method` the schema decides, as `suited`
    tells: nigao for pictures and tables of many numbers, else kage.
    """
    _refuse_seed(seed)
    order = Order(
        table=table,
        budget=_budget(epsilon),
        schema=schema,
        method=method,
        rows=rows,
        ledger=ledger,
        dataset=dataset,
        policy=policy,
        cap=cap,
        key=key,
        simulation=simulation,
        allow_derived=allow_derived,
        discover=discover,
    )
    with watched(progress) as tell:
        model = make_model(order, progress=part(tell, 0.0, 0.8))
        return model.sample(rows, seed=simulation, progress=part(tell, 0.8, 1.0))


def publish(
    model: Model,
    folder: str | PathLike[str],
    *,
    rows: int | None = None,
    file_kind: str = "csv",
    replace: bool = False,
    spreadsheet_safe: bool = False,
    sign: str | PathLike[str] | None = None,
    ledger: Ledger | str | Path | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Write the release folder: doubles (csv or parquet), certificate, quality statement, schema and model.

    The release is whole, and its certificate in the `ledger`, before the quality statement is worked out; then that is
    added to it. Whatever stops the second half leaves a valid release without those pages.

    Returns the certificate bound to these files. The `ledger` of the fit then remembers which certificate went out, so
    that `verify --ledger` can tell it from another. `replace` lets it take the place of an earlier release. `sign` is a
    private key (see `kagemusha key new`) that signs all files. With `spreadsheet_safe`, texts of a CSV that a
    spreadsheet would run as formulas get an apostrophe before them.
    """
    output = Output(
        folder=folder, rows=rows, file_kind=file_kind, replace=replace, spreadsheet_safe=spreadsheet_safe, sign=sign
    )
    book = open_ledger(ledger) if isinstance(ledger, str | Path) else ledger
    with watched(progress) as tell:
        return publish_to(model, output, book, progress=tell)


def load(path: str | PathLike[str]) -> Model:
    """A model from its file, or from a release folder: there its certificate is the one bound to the released files.

    Executes nothing. A file that is no model is a DataError; a folder whose model is not the certified one a
    VerifyError.
    """
    return load_release(Path(path))


def verify(
    path: str | PathLike[str],
    *,
    key: str | PathLike[str] | None = None,
    trusted: str | PathLike[str] | None = None,
) -> Checks:
    """Every check on a certificate file, or on the release folder that holds it; without the data.

    With `key` (a public key file) or `trusted` (a list of trusted keys) it must be signed by one of them: the check
    "signer" says so. A key that the list in the configuration folder revokes vouches for nothing, here as on the
    command line.
    """
    demanded = key is not None or trusted is not None
    trust = Trust.of(None if key is None else Path(key), None if trusted is None else Path(trusted))
    verdict = verify_release(Path(path), trust, demanded=demanded)
    signer = Check("signer", verdict.accepted, verdict.signed.words)
    return Checks([*verdict.checks, signer] if demanded and verdict.intact else verdict.checks)


def fit_related(
    tables: Any,
    budget: Budget | float = 1.0,
    *,
    schema: Related | str | PathLike[str],
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    policy: str = "default",
    cap: float | None = None,
    key: str = "",
    simulation: int | None = None,
    discover: float | None = None,
    progress: Progress | None = None,
) -> RelatedModel:
    """Fit several tables that belong together: persons with everything below, protected as one.

    `tables` is a dict of frames or files by name, a folder with a file per table, or `duckdb:///file.db`; `schema`
    declares them (`[tables.…]`) or is the path of its file. `model.sample(500)` gives a dict of tables with fresh keys.
    """
    order = Order(
        table=tables,
        budget=_budget(budget),
        ledger=ledger,
        dataset=dataset,
        policy=policy,
        cap=cap,
        key=key,
        simulation=simulation,
        discover=discover,
    )
    with watched(progress) as tell:
        return make_related_model(order, _related(schema), progress=tell)


def release_related(
    tables: Any,
    folder: str | PathLike[str],
    budget: Budget | float = 1.0,
    *,
    schema: Related | str | PathLike[str],
    persons: int | None = None,
    file_kind: str = "csv",
    replace: bool = False,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    policy: str = "default",
    cap: float | None = None,
    key: str = "",
    simulation: int | None = None,
    discover: float | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """The same, written as a release folder that `verify` checks: doubles and models of all tables, one certificate."""
    order = Order(
        table=tables,
        budget=_budget(budget),
        ledger=ledger,
        dataset=dataset,
        policy=policy,
        cap=cap,
        key=key,
        simulation=simulation,
        discover=discover,
        output=Output(folder=folder, rows=persons, file_kind=file_kind, replace=replace),
    )
    with watched(progress) as tell:
        return make_related_release(order, _related(schema), progress=tell).certificate


def load_related(folder: str | PathLike[str]) -> RelatedModel:
    """The models of a release folder of related tables; more doubles cost nothing."""
    from kagemusha.folder.related import load_related as loaded

    return loaded(Path(folder))


def _related(schema: Related | str | PathLike[str]) -> Related:
    found = schema if isinstance(schema, Related) else load_declared(schema)
    if not isinstance(found, Related):
        raise UsageError("this schema declares one table; kg.fit and kg.synthesize are for it")
    return found


def _budget(budget: Budget | float) -> Budget:
    if isinstance(budget, Budget):
        return budget
    if isinstance(budget, bool) or not isinstance(budget, Real):
        raise UsageError(f"the budget must be a number (ε) or Budget(epsilon=…, delta=…), got {_kind(budget)}")
    return Budget(float(budget))


def _refuse_seed(seed: Any) -> None:
    if seed is not None:
        raise UsageError(
            "a release takes no seed, since whoever knows the seed can remove the noise. For an experiment pass "
            "simulation=… instead (its certificate says ε = ∞); sampling from a finished model takes a seed: "
            "model.sample(100, seed=3)"
        )


def _kind(thing: Any) -> str:
    return type(thing).__name__
