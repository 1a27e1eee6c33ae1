"""The walk of a release through the house: which modules a `synth` enters, in which order.

`python tests/architecture/walk.py`. A module counts once one of its functions is called, not when it is imported; a
change of room is the first entry of a module in another room than the module entered before. The row's own way is the
part that a row's values take: from the file to its codes, into counts or parts of sums.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

ROW_ROOMS = ("columns", "encoding", "marginals", "sources")
"""Rooms whose modules may hold values or codes of private rows."""


@dataclass(frozen=True)
class Walk:
    """Modules in the order of their first entry."""

    modules: tuple[str, ...]

    @property
    def rooms(self) -> int:
        """Changes of room."""
        rooms = [module.partition("/")[0] for module in self.modules]
        return sum(one != other for one, other in pairwise(rooms))

    @property
    def row(self) -> tuple[str, ...]:
        """The row's own way."""
        return tuple(module for module in self.modules if module.partition("/")[0] in ROW_ROOMS)


def walked(work: Callable[[], Any]) -> Walk:
    """The walk of a piece of work."""
    import kagemusha

    home = str(Path(kagemusha.__file__).parent) + "/"
    seen: dict[str, None] = {}

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(home):
            name = frame.f_code.co_name
            if name != "<module>" and frame.f_code.co_flags & 0x02:  # functions; bodies of classes run at import
                seen.setdefault(frame.f_code.co_filename[len(home) :])

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Walk(tuple(seen))


def release(method: str, folder: Path) -> Walk:
    """One small `synth`, after a first one that has imported everything."""
    from kagemusha.cli.app import app

    rows = [f"{'FM'[i % 2]},{'abc'[i % 3]},{20 + i % 50},{i % 7}" for i in range(400)]
    (folder / "t.csv").write_text("sex,ward,age,stay\n" + "\n".join(rows) + "\n")
    (folder / "t.toml").write_text(
        'version = 1\n[columns.sex]\nkind = "category"\ncategories = ["F", "M"]\nout_of_domain = "clip"\n'
        '[columns.ward]\nkind = "category"\ncategories = ["a", "b", "c"]\nout_of_domain = "clip"\n'
        '[columns.age]\nkind = "integer"\nlower = 0\nupper = 99\nbins = 10\n[columns.stay]\nkind = "integer"\nlower = '
        "0\nupper = 9\n"
    )

    def synth(out: str) -> None:
        # the same noise each time: what is entered depends on a few answers
        words = ["synth", str(folder / "t.csv"), "--schema", str(folder / "t.toml"), "--method", method, "--json"]
        words += ["--seed", "1", "--simulation"]
        app([*words, "--out", str(folder / out), "--ledger", str(folder / f"{out}.db")], standalone_mode=False)

    synth("first")
    return walked(lambda: synth("second"))


if __name__ == "__main__":
    for method in ("kage", "aim"):
        with tempfile.TemporaryDirectory() as folder:
            walk = release(method, Path(folder))
        sys.stdout.write(
            f"{method}: {len(walk.modules)} modules, {walk.rooms} changes of room, {len(walk.row)} on the row's way\n"
        )
        if "-v" in sys.argv:
            sys.stdout.write("\n".join(walk.modules) + "\n")
