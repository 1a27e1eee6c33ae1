"""`demo`: the whole journey on a real table of people, which is in the public domain and in the package."""

from __future__ import annotations

import gzip
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.options import Epsilon
from kagemusha.cli.output import plain, say
from kagemusha.synthesizers.registry import DEFAULT

MADE = {
    "randhie.csv",
    "randhie.toml",
    "doubles",
    *(f"kagemusha-ledger.db{end}" for end in ("", "-wal", "-shm", ".head")),
}
"""What a demo leaves in its folder."""


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder to work in.")] = Path("kagemusha-demo"),
    epsilon: Epsilon = 1.0,
    method: Annotated[str, typer.Option("--method", "-m", help="The synthesizer to show.")] = DEFAULT,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder.")] = False,
) -> None:
    """See it work on the RAND Health Insurance Experiment: synthesised, certified, verified.

    20,190 rows, each a person in one of up to five years; the promise covers all rows of a person.
    """
    import shutil

    from kagemusha.cli.synth import synth
    from kagemusha.cli.verify import verify
    from kagemusha.errors import UsageError

    if out.exists():
        if not force:
            raise UsageError(f"{out} already exists; choose another --out or add --force to replace it")
        strangers = sorted({entry.name for entry in out.iterdir()} - MADE) if out.is_dir() else [out.name]
        if strangers:
            raise UsageError(f"{out} holds {strangers[0]!r}, which no demo made; choose another --out")
        shutil.rmtree(out)
    out.mkdir(parents=True)
    data, schema = out / "randhie.csv", out / "randhie.toml"
    data.write_bytes(gzip.decompress(files("kagemusha.cli").joinpath("data/randhie.csv.gz").read_bytes()))
    schema.write_bytes(files("kagemusha.cli").joinpath("data/randhie.toml").read_bytes())
    say(f"[bold]1.[/] {plain(data)}: the private table; {plain(schema)}: what is public about it")
    say(
        f"[bold]2.[/] kagemusha synth {plain(data)} --schema {plain(schema)} --epsilon {epsilon:g} --out "
        f"{plain(out)}/doubles"
    )
    synth(data=str(data), schema=schema, out=out / "doubles", epsilon=epsilon, method=method)
    say(f"[bold]3.[/] kagemusha verify {plain(out)}/doubles")
    verify(out / "doubles")
    say(f"[bold]4.[/] Open {plain(out)}/doubles/certificate.html in a browser.")
