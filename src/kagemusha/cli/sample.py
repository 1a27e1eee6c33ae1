"""`sample`: more doubles after the release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.options import JsonOption, SpreadsheetSafe, check_rows, check_seed, require_csv
from kagemusha.cli.output import plain, progress_bar, say, say_json, warn
from kagemusha.errors import UsageError


def sample(
    model: Annotated[
        Path, typer.Argument(help="A model file (model.kage), or the folder of a release.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="File to write: .csv or .parquet; of related tables a folder.", show_default=False),
    ],
    rows: Annotated[
        int | None, typer.Option(help="How many doubles; by default as many as the table had people.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(help="Only doubles for whom this holds, drawn exactly: \"age > 60 and sex = 'F'\"."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For a reproducible table; sampling reads no private data.")] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Draw more doubles from a released model. Costs no privacy and may be repeated."""
    import numpy as np

    from kagemusha.files import declares_several
    from kagemusha.folder.stream import stream
    from kagemusha.folder.table_file import find_formulas, write_tables
    from kagemusha.models.model import load_model
    from kagemusha.quality.group import drawn_group

    if model.is_dir() and declares_several(model / "schema.toml"):
        from kagemusha.cli.related import sample_related

        check_rows(rows)
        check_seed(seed)
        several = sample_related(model, out, rows, where, seed, safe=spreadsheet_safe, force=force)
        for name, count in several.items():
            say(f"{plain(out / name)}.csv: {count:,} doubles")
        return
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"--out must end in .csv or .parquet, got {out.name!r}")
    if out.exists() and not force:
        raise UsageError(f"{out} already exists; choose another --out or add --force to replace it")
    check_rows(rows)
    check_seed(seed)
    if where is not None and not where.strip():
        raise UsageError("--where is empty; leave it out to draw from everybody")
    kind = out.suffix.lower().removeprefix(".")
    require_csv(kind, spreadsheet_safe)
    loaded = load_model(model / "model.kage" if model.is_dir() else model)
    with progress_bar(quiet=as_json) as progress:
        drawn = stream(loaded, rows, rng=np.random.default_rng(seed), where=where, progress=progress)
        written = write_tables(drawn, out, safe=spreadsheet_safe, marked=loaded.schema.encoding is not None)
    if not spreadsheet_safe and kind == "csv":
        warn(find_formulas(loaded.schema).in_words())
    group = None if where is None else drawn_group(loaded, where)
    if as_json:
        summary = None if group is None else {"people": group.size, "off by at most": group.error}
        if summary is not None and group is not None and group.population is not None:
            summary["people of the population"] = group.population
        say_json({"file": str(out), "group": summary, "rows": written})
    else:
        say(f"{plain(out)}: {written:,} doubles")
        if group is not None:
            say(f"The group: {plain(group.words)}.")
