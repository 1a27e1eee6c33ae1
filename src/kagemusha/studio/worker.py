"""One job in a process of its own: `python -m kagemusha.studio.worker FOLDER`. Ends with whoever started it."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kagemusha.certificate.certificate import Certificate
from kagemusha.errors import KagemushaError, OutputError
from kagemusha.files import alone, write_whole
from kagemusha.progress import Progress
from kagemusha.studio.jobs import ORDER, OUTCOME, PROGRESS, REPORT
from kagemusha.studio.wanted import Wanted

EVERY = 0.25
"""Seconds between two notes of how far it is."""

LOCK, HELD = "lock", "somebody else does this job"

BUG = "this is a mistake of the program ({kind}); the values that it stumbled over are not shown"


def release(fields: Mapping[str, Any], place: Path, progress: Progress) -> dict[str, Any]:
    """Make a release; what was paid for before is not paid again."""
    from kagemusha.making import make_release
    from kagemusha.making.related import make_related_release
    from kagemusha.schema.declared import load_declared
    from kagemusha.schema.related import Related

    wanted, schema = Wanted.from_json(fields), place / "schema.toml"
    write_whole(schema, wanted.schema.encode())
    whole = finished(wanted, (place / ORDER).stat().st_mtime)
    if whole is not None:
        return whole
    declared, order = load_declared(schema), wanted.order(schema)
    if isinstance(declared, Related):
        several = make_related_release(order, declared, progress=progress)
        rows = wanted.rows or several.model.rows
        return _outcome(several.certificate, rows, len(declared.tables), paid_before=several.paid_before)
    made = make_release(order, progress=progress)
    return _outcome(made.certificate, made.rows, 1, paid_before=made.paid_before)


def _outcome(certificate: Certificate, rows: int, tables: int, *, paid_before: bool) -> dict[str, Any]:
    return {
        "rows": rows,
        "tables": tables,
        "release": certificate.release,
        "epsilon": certificate.epsilon,
        "method": certificate.method,
        "paid before": paid_before,
    }


def finished(wanted: Wanted, since: float) -> dict[str, Any] | None:
    """The outcome of a release that an earlier run of this job wrote to the end, and died before it could say so.

    The folder was free when the job began; what lies there whole, is younger, and is known to the ledger, is its own.
    """
    from kagemusha.certificate.inventory import CERTIFICATE, QUALITY, SCHEMA, read_certificate
    from kagemusha.files import declares_several
    from kagemusha.folder.loading import load_release
    from kagemusha.folder.related import load_related
    from kagemusha.ledger import open_ledger

    folder = Path(wanted.folder)
    if not all((folder / name).is_file() for name in (CERTIFICATE, *QUALITY)):
        return None
    if (folder / CERTIFICATE).stat().st_mtime < since:
        return None
    tables = 1
    if declares_several(folder / SCHEMA):
        several = load_related(folder)
        rows, tables = several.rows, len(several.schema.tables)
        certificate = Certificate.from_json(read_certificate(folder / CERTIFICATE))
    else:
        model = load_release(folder)
        rows, certificate = model.rows, model.certificate
    book = open_ledger(wanted.ledger, read_only=True)
    try:
        known = {record.id: record.certificate or "" for record in book.releases()}
    finally:
        book.close()
    if certificate.digest() not in known.get(certificate.release, "").split():
        return None
    return _outcome(certificate, wanted.rows or rows, tables, paid_before=False)


def solve(fields: Mapping[str, Any], place: Path, progress: Progress) -> dict[str, Any]:
    """Which ε brings a wanted error; tried out on tables made up from the schema, no private row is read."""
    from kagemusha.planning.outlook import solved

    schema = place / "schema.toml"
    write_whole(schema, fields["schema"].encode())
    found = solved(schema, fields["wanted"], fields["pairs"], fields["rows"], progress=progress)
    return {"epsilon": found.epsilon, "error": found.error, "reached": found.reached, "tried": list(found.tried)}


def tried(fields: Mapping[str, Any], place: Path, progress: Progress) -> dict[str, Any]:
    """The error of each pair at one ε, on tables made up from the schema."""
    from kagemusha.planning.outlook import tried_pairs
    from kagemusha.schema import Schema

    schema = Schema.loads(fields["schema"])
    return {"pairs": tried_pairs(schema, fields["epsilon"], fields["rows"], fields["pairs"], progress=progress)}


def evaluate(fields: Mapping[str, Any], place: Path, progress: Progress) -> dict[str, Any]:
    """The doubles beside the table. INTERNAL."""
    from kagemusha import questions
    from kagemusha.evaluation.report import write_report
    from kagemusha.evaluation.summary import sentences, verdict

    found = questions.evaluate(
        fields["where"], fields["table"], fields["schema"], ledger=fields["ledger"], progress=progress
    )
    write_report(found, place / REPORT, title=Path(fields["table"]).name)
    return {"verdict": verdict(found), "sentences": list(sentences(found))}


def related(fields: Mapping[str, Any], place: Path, progress: Progress) -> dict[str, Any]:
    """Doubles of tables that belong together beside the real ones. INTERNAL."""
    from kagemusha import questions

    found = questions.evaluate_tables(fields["where"], Path(fields["folder"]), ledger=fields["ledger"])
    return {"measures": found.lines()}


def compare(fields: Mapping[str, Any], place: Path, progress: Progress) -> dict[str, Any]:
    """Methods side by side. INTERNAL."""
    from kagemusha import questions

    found = questions.compare(
        fields["where"], fields["schema"], fields["methods"], fields["epsilons"],
        repeat=2, folder=place / "cells", ledger=fields["ledger"], progress=progress,
    )  # fmt: skip
    lines = [[o.score, o.method, f"{o.epsilon:g}", f"{o.mean:.4f}", f"{o.sd:.4f}"] for o in found.lines]
    return {"lines": lines}


def attack(fields: Mapping[str, Any], place: Path, progress: Progress) -> dict[str, Any]:
    """Whether anybody can say who was in the table. INTERNAL."""
    from kagemusha import questions
    from kagemusha.attacks.report import write_report

    found = questions.attack(
        fields["where"], fields["schema"], fields["method"], fields["epsilon"],
        trainings=fields["trainings"], ledger=fields["ledger"], progress=progress,
    )  # fmt: skip
    write_report([found], place / REPORT, title=Path(fields["where"]).name)
    return {"verdict": found.verdict.words}


def families(fields: Mapping[str, Any], place: Path, progress: Progress) -> dict[str, Any]:
    """Whether anybody can say who was in tables that belong together. INTERNAL."""
    from kagemusha import questions
    from kagemusha.attacks.report import write_report

    found = questions.attack_tables(
        fields["where"], Path(fields["folder"]), trainings=fields["trainings"], ledger=fields["ledger"],
        progress=progress,
    )  # fmt: skip
    write_report([found], place / REPORT, title=Path(fields["where"]).name)
    return {"verdict": found.verdict.words}


WORK: Mapping[str, Callable[[Mapping[str, Any], Path, Progress], dict[str, Any]]] = {
    "release": release,
    "solve": solve,
    "try": tried,
    "evaluate": evaluate,
    "related": related,
    "compare": compare,
    "attack": attack,
    "families": families,
}
"""What a job may be."""


def noting(path: Path) -> Progress:
    """Progress that is kept in a file, now and then."""
    since, last = time.time(), [0.0]

    def listener(what: str, done: float) -> None:
        now = time.monotonic()
        if now - last[0] >= EVERY:
            last[0] = now
            write_whole(path, json.dumps({"what": what, "done": min(1.0, max(0.0, done)), "since": since}).encode())

    listener("starting", 0.0)
    return listener


def work(place: Path) -> dict[str, Any]:
    """Do what the order of a job says; what goes wrong is its outcome, in one line without a value of the table."""
    order = json.loads((place / ORDER).read_text(encoding="utf-8"))
    try:
        return WORK[order["kind"]](order["fields"], place, noting(place / PROGRESS))
    except KagemushaError as error:
        return {"error": str(error)}
    except Exception as error:
        return {"error": BUG.format(kind=type(error).__name__)}


def main() -> None:
    """Work until done, or until our input closes: whoever started us is gone then, however that came."""
    threading.Thread(target=lambda: os.read(0, 1) or os._exit(0), daemon=True).start()
    place = Path(sys.argv[1])
    while True:
        try:
            with alone(place / LOCK, HELD):
                if not (place / OUTCOME).exists():
                    write_whole(place / OUTCOME, json.dumps(work(place), default=str).encode())
                return
        except OutputError as error:
            if str(error) != HELD:
                raise
            time.sleep(EVERY)  # the process of a server that was killed ends in a moment


if __name__ == "__main__":
    main()
