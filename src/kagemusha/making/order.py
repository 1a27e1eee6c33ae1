"""What somebody who wants a model or a release says, and everything that can be refused before anything is spent."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagemusha.certificate.keys import SigningKey, load_signing_key
from kagemusha.errors import UsageError
from kagemusha.files import holds_pictures, scheme_of
from kagemusha.generators.generator import MAX_ROWS
from kagemusha.ledger import Cap, Ledger, ledger_exists, open_ledger, witnesses_near
from kagemusha.privacy.budget import Budget, require_promise
from kagemusha.schema import Schema
from kagemusha.sources import OpenTable, Source, open_any, open_source
from kagemusha.synthesizers.fit import Opener, Planned, plan
from kagemusha.synthesizers.protocol import Synthesizer
from kagemusha.synthesizers.registry import DEFAULT, create
from kagemusha.synthesizers.suited import suited

if TYPE_CHECKING:
    from kagemusha.synthesizers.related_fit import PlannedRelated

KINDS = ("csv", "parquet")


@dataclass(frozen=True, kw_only=True)
class Output:
    """A release folder that somebody wants.

    What can be wrong with it is found by `checked`, before anything is paid.
    """

    folder: str | PathLike[str]
    rows: int | None = None
    """Doubles to write; by default about as many as people."""
    file_kind: str = "csv"
    replace: bool = False
    spreadsheet_safe: bool = False
    """Whether texts of a CSV that a spreadsheet would run as formulas get an apostrophe before them."""
    sign: str | PathLike[str] | None = None

    def checked(self, most_rows: int | None = None) -> SigningKey | None:
        """Refuse what cannot be written, and load the key that signs it; `most_rows` is what the method will give."""
        if self.file_kind not in KINDS:
            raise UsageError(f"the file kind (--format) must be 'csv' or 'parquet', got {self.file_kind!r}")
        if self.spreadsheet_safe and self.file_kind != "csv":
            raise UsageError("--spreadsheet-safe (spreadsheet_safe) is for CSV: Parquet says itself what is a text")
        require_rows(self.rows, most_rows)
        return None if self.sign is None else load_signing_key(Path(self.sign))

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)


def require_rows(rows: int | None, most_rows: int | None = None) -> None:
    """Refuse a number of doubles that no table can have, or that the method will not give."""
    if rows is not None and not 1 <= rows <= MAX_ROWS:
        raise UsageError(f"rows (--rows) must be at least 1 and at most {MAX_ROWS:,}, got {rows}")
    if rows is not None and most_rows is not None and rows > most_rows:
        raise UsageError(
            f"rows (--rows) must be at most {most_rows:,}, got {rows:,}: the method releases no more; "
            "pay for more with its option rows=N"
        )


@dataclass(frozen=True, kw_only=True)
class Order:
    """A model to be fitted, and perhaps the folder it is to be published in.

    The command line and Python both fill it in.
    """

    table: Any
    """A path, an address, a frame or a source."""
    budget: Budget
    schema: Schema | str | PathLike[str] | None = None
    place: str | None = None
    """The table of a database."""
    timeout: float | None = None
    """Seconds that one statement of PostgreSQL may take."""
    method: str | Synthesizer | type[Synthesizer] | None = None
    """By default the schema decides, see `suited`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    target: str | None = None
    rows: int | None = None
    """Doubles that will be drawn from the model, where no output says it."""
    ledger: Ledger | str | Path | None = None
    """Without one the release is accounted in memory only."""
    dataset: str | None = None
    policy: str = "default"
    cap: float | None = None
    key: str = ""
    simulation: int | None = None
    allow_derived: bool = False
    discover: float | None = None
    strays: bool = True
    """Whether cells that are blank, unreadable, outside or unlisted are counted, for a hundredth of the budget."""
    witness: Path | None = None
    output: Output | None = None

    def declared(self) -> Schema | None:
        """The schema; a source brings its own along."""
        if isinstance(self.table, Source | OpenTable):
            return self.table.schema
        schema = Schema.load(self.schema) if isinstance(self.schema, str | PathLike) else self.schema
        if schema is not None and not isinstance(schema, Schema):
            kind = type(schema).__name__
            raise UsageError(
                f"schema must be a Schema or the path of a schema file, got {kind}; propose(table) drafts one"
            )
        return schema if schema is None or self.target is None else schema.with_target(self.target)

    def synthesizer(self, declared: Schema | None) -> Synthesizer:
        """The method with its options set."""
        method = self.method
        if method is None:
            method = DEFAULT if declared is None else suited(declared).method
        if isinstance(method, str):
            return create(method, **self.options)
        if isinstance(method, type) and issubclass(method, Synthesizer):
            return method()
        if isinstance(method, Synthesizer):
            return method
        kind = type(method).__name__
        raise UsageError(f"method must be a name such as {DEFAULT!r} or what create('aim', degree=3) makes, got {kind}")

    def planned(self, synthesizer: Synthesizer, declared: Schema | None) -> Planned:
        """The table opened, and the fit found possible."""
        require_cap_fits(self.cap, self.budget.epsilon)
        if self.simulation is None and synthesizer.private and not self.allow_derived:
            require_promise(self.budget)  # without a look at the table; what remains of this question, `plan` asks
        return plan(
            synthesizer,
            open_any(self.table, declared, table=self.place, timeout=self.timeout),
            self.budget,
            named=self.ledger is not None,
            dataset=self.dataset,
            policy=self.policy,
            key=self.key,
            simulation=self.simulation,
            allow_derived=self.allow_derived,
            discover=self.discover,
            strays=self._strays(),
        )

    def _strays(self) -> Opener | None:
        """Opens the table again; what is open already, and pictures, are not looked through for strays."""
        there = isinstance(self.table, Source | OpenTable)
        if not self.strays or there or (isinstance(self.table, str | PathLike) and holds_pictures(self.table)):
            return None
        return lambda schema: open_source(self.table, schema, table=self.place, timeout=self.timeout)

    def opened_ledger(self) -> Ledger:
        """The ledger, made where there is none; one older than what any witness has seen is refused."""
        if self.ledger is None or isinstance(self.ledger, str | Path):
            return open_ledger(self.ledger, witnesses=self.witnesses)
        return self.ledger

    def existing_ledger(self) -> Ledger | None:
        """The ledger, if there is one already."""
        if self.ledger is None or (isinstance(self.ledger, str | Path) and not ledger_exists(self.ledger)):
            return None
        return self.opened_ledger()

    @property
    def witnesses(self) -> Sequence[Path]:
        """The witness that was named, and releases beside the table and beside the folder to be written."""
        places = (self.table, *(() if self.output is None else (self.output.folder,)))
        return witnesses_near(places, self.witness)

    def settled(self, book: Ledger, planned: Planned | PlannedRelated) -> bool:
        """Whether the data set has a cap, after it got the one that was asked for."""
        request = planned.request
        budget = Budget(self.cap or self.budget.epsilon, self.budget.delta, self.budget.adjacency, planned.budget.rows)
        return settle_cap(book, Cap(request.dataset, request.policy, budget), asked=self.cap is not None)


def usual_folder(data: str, place: str | None = None) -> Path:
    """What the folder is called if nobody says: after the file, or the table of a database; never after an address."""
    if scheme_of(data) is not None:
        named = (place or data.rpartition("@")[2].rpartition("#")[2]).rpartition(".")[2]
        stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in named)[:60]
    else:
        stem = Path(data).stem.replace("*", "")
    return Path(f"{stem or 'table'}-doubles")


def usual_kind(data: str) -> str:
    """The kind of file to write if nobody says: the one that came in, and csv for databases."""
    suffix = "" if scheme_of(data) is not None else Path(data).suffix.lower()
    return "parquet" if suffix in (".parquet", ".pq") or holds_pictures(data) else "csv"


def require_cap_fits(cap: float | None, epsilon: float) -> None:
    """Refuse a cap that its own first release would pass."""
    if cap is not None and not (math.isfinite(cap) and epsilon <= cap):
        raise UsageError(
            f"cap (--cap) must be finite and at least epsilon ({epsilon:g}), got {cap:g}: this release would pass it"
        )


def find_cap(book: Ledger, dataset: str, policy: str) -> Cap | None:
    """The cap of a data set in a ledger, if it has one."""
    return next((cap for cap in book.caps() if (cap.dataset, cap.policy) == (dataset, policy)), None)


def settle_cap(book: Ledger, wanted: Cap, *, asked: bool) -> bool:
    """Whether the data set has a cap before the release is made; with `asked` it gets the wanted one if it has none.

    A cap that is there is not changed, and no other policy is made beside it: that is `ledger cap`, on purpose.
    """
    there = find_cap(book, wanted.dataset, wanted.policy)
    if not asked:
        return there is not None
    if there is None:
        others = [cap.policy for cap in book.caps() if cap.dataset == wanted.dataset]
        if others:
            raise UsageError(
                f"cap: the data set has a cap under the policy {others[0]!r}. Another policy beside it is made on "
                f"purpose: `{cap_command(wanted, book)}`"
            )
        book.set_cap(wanted)
    elif there.budget != wanted.budget:
        raise UsageError(
            f"cap {wanted.budget.epsilon:g}: the data set has a cap already, {there.budget.in_words()}. To change it: "
            f"`{cap_command(wanted, book)}`"
        )
    return True


def cap_command(cap: Cap, book: Ledger) -> str:
    """The command that sets a cap in this ledger, ready to be pasted."""
    return f"{cap.command()} --ledger {shlex.quote(book.path)}"
