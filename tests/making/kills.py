"""Makes releases in processes that kill themselves (SIGKILL) while publishing, then repeats the same order.

Run in a process of its own, `python kills.py FOLDER LEDGER KILLS`: it forks while no library has threads at work.
A step is a call or a return in the rooms that write: folder, ledger, locks, files. Prints what happened as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from kagemusha.errors import KagemushaError
from kagemusha.forensics.verify import verify_release
from kagemusha.ledger import open_ledger
from kagemusha.ledger.audit import tampered_part
from kagemusha.making import Order, Output, make_release, release
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema

ROOMS = ("folder/folder.py", "ledger/", "kagemusha/files.py", "making/release.py")
QUALITY = {"quality.json", "quality.html"}
WRITTEN = release.written


def order(place: Path, ledger: str, number: int) -> Order:
    schema = Schema([Category("sex", categories=("F", "M")), Integer("age", lower=0, upper=99, bins=5)])
    table = place / f"people{number}.csv"  # one table has one budget, whatever it is called: these are other people
    rows = (f"{'FM'[i % 2]},{(i * (number + 1)) % 100}\n" for i in range(100 + number))
    table.write_text("sex,age\n" + "".join(rows))
    return Order(
        table=table,
        schema=schema,
        budget=Budget(1.0),
        method="independent",
        ledger=ledger if "://" in ledger else place / f"{number}.db",
        dataset=f"{place.name} {number}" if "://" in ledger else None,
        output=Output(folder=place / f"out{number}", rows=20),
    )


def apart(work: Any) -> int:
    """The exit code, or minus the signal, of a process that does some work."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def steps(wanted: Order, at: int | None, report: Path) -> None:
    """Make the release; killed at a step of publishing if there are so many."""
    count = 0

    def step(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        if any(room in frame.f_code.co_filename for room in ROOMS):
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

    def counted(*args: Any, **how: Any) -> Any:
        sys.setprofile(step)
        try:
            return WRITTEN(*args, **how)
        finally:
            sys.setprofile(None)

    release.written = counted
    make_release(wanted)
    report.write_text(str(count))


def book_of(wanted: Order) -> Any:
    return open_ledger(wanted.ledger, read_only=True)  # type: ignore[arg-type]


def look(wanted: Order, report: Path) -> None:
    """What lies there now, and what the ledger knows."""
    assert wanted.output is not None
    book = book_of(wanted)
    assert book.broken_at() is None
    assert tampered_part(book) is None
    (record,) = [r for r in book.releases() if wanted.dataset is None or r.dataset == wanted.dataset]
    place = wanted.output.path
    there = place.exists()
    found = {
        "there": there,
        "finished": there and {f.name for f in place.iterdir()} >= QUALITY,
        "intact": there and verify_release(place).accepted,
        "known": there
        and json.loads((place / "certificate.json").read_text())["digest"] in (record.certificate or "").split(),
        "charged": record.charged,
        "steps": len(book.steps(record.id)),
        "closed": record.closed,
    }
    report.write_text(json.dumps(found))


def tried(place: Path, ledger: str, number: int, at: int) -> str:
    """Kill one release at a step and go on with it; returns how far it had come."""
    wanted, report = order(place, ledger, number), place / "report"
    if apart(lambda: steps(wanted, at, report)) != -signal.SIGKILL:
        return "not killed"
    assert apart(lambda: look(wanted, report)) == 0, f"step {at}: the ledger does not hold together"
    before = json.loads(report.read_text())
    if before["there"]:
        assert before["intact"], f"step {at}: {before}"
        assert before["known"], f"step {at}: the folder is there, and the ledger does not know it"
    if not before["finished"]:
        assert apart(lambda: make_release(wanted)) == 0, f"step {at}: the same order did not go on"
    assert apart(lambda: look(wanted, report)) == 0
    after = json.loads(report.read_text())
    assert all(after[name] for name in ("finished", "intact", "known", "closed")), f"step {at}: {after}"
    assert (after["charged"], after["steps"]) == (before["charged"], before["steps"]), f"step {at}: paid again"
    left = [p.name for p in place.iterdir() if p.name.startswith(f".out{number}.") and before["finished"] is False]
    assert not left, f"step {at}: {left} is left"
    return "finished" if before["finished"] else "folder without pages" if before["there"] else "no folder"


def main(place: Path, ledger: str, kills: int) -> None:
    report = place / "report"
    steps(order(place, ledger, 0), None, report)  # here, so that libraries have loaded what they load once
    total = int(report.read_text())
    found = Counter(tried(place, ledger, 1 + i, 1 + i * (total - 1) // max(1, kills - 1)) for i in range(kills))
    print(json.dumps({"steps": total, **found}))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    except (AssertionError, KagemushaError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
