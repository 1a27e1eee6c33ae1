"""Looks at a real table whose results stay inside: they are not paid for, but the ledger of the table knows of each."""

from __future__ import annotations

import math
import os
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from kagemusha.files import holds_pictures, scheme_of
from kagemusha.ledger import Identity, ReleaseRequest, default_ledger, ledger_exists, open_ledger, witnesses_near
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import UnprotectedEvent
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import ExactNoise
from kagemusha.release.release import Release
from kagemusha.sources.lake import full_name, identity_of, open_files


def note_look(
    table: str | PathLike[str],
    command: str,
    *,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    encoding: str | None = None,
    known: Identity | None = None,
) -> str:
    """Tell the ledger of a table's files that a command is about to read them as they are.

    Call it before the first read. The ledger is the one named, which is made where there is none, or the one beside the
    table. Where nobody keeps one, the answer is a sentence that says so, and otherwise empty. An owner who forbids
    looks is obeyed by a `CapReached`. `known` is what several tables are known by, where `table` is their folder.
    """
    where = default_ledger(table) if ledger is None else ledger
    if ledger is None and not ledger_exists(where):
        return (
            f"no ledger knows this table ({where} is not there), so nobody will see that it was read as it is; "
            f"--ledger records it"
        )
    book = open_ledger(where, witnesses=witnesses_near([table]))
    unpaid = Budget(math.inf, 0.0)
    request = ReleaseRequest(
        dataset=dataset or full_name(table),
        method=command,
        budget=unpaid,
        accounting=Accounting.GDP,
        key=f"{datetime.now(UTC).isoformat()} {os.getpid()}",  # every look is one of its own
        identity=known or _identity(table, encoding),
        inside=True,
    )
    try:
        with Release(request, Filter(unpaid, Accounting.GDP), book, ExactNoise()) as release:
            release.charge([UnprotectedEvent(what="the whole table", reason=f"{command}: its results are INTERNAL")])
    finally:
        book.close()
    return ""


def _identity(table: str | PathLike[str], encoding: str | None) -> Identity | None:
    no_files = scheme_of(table) is not None or holds_pictures(table)
    return None if no_files else identity_of(open_files(table, encoding))
