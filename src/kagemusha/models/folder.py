"""The release folder: everything the custodian hands out, written whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.page import render
from kagemusha.certificate.verify import PAGE_NAME
from kagemusha.errors import OutputError, UsageError
from kagemusha.files import sha256
from kagemusha.models.model import Model
from kagemusha.progress import Progress, part, silent

CERTIFICATE = "certificate.json"
MODEL = "model.kage"
SCHEMA = "schema.toml"
RELEASED = frozenset(
    {CERTIFICATE, PAGE_NAME, MODEL, SCHEMA, "synthetic.csv", "synthetic.parquet", "quality.html", "quality.json"}
)
"""Every name that a release may write."""


def write_table(table: Any, path: Path) -> None:
    """Write an arrow table as CSV or Parquet, by the file's ending; whole or not at all."""
    import duckdb

    form = "FORMAT parquet" if path.suffix.lower() == ".parquet" else "FORMAT csv, HEADER true"
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as connection:
            connection.register("doubles", table)
            # DuckDB quotes only what needs it, as most spreadsheets and the original files do
            connection.execute(f"COPY doubles TO '{str(part).replace(chr(39), chr(39) * 2)}' ({form})")
        part.replace(path)
    except (duckdb.Error, OSError) as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        reason = "no space left or not writable" if isinstance(error, duckdb.Error) else error.strerror
        raise OutputError(f"{path}: could not be written ({reason})") from None
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def write_bundle(
    model: Model,
    folder: Path,
    *,
    rows: int | None = None,
    file_kind: str = "csv",
    replace: bool = False,
    extra: Mapping[str, bytes] | None = None,
    progress: Progress = silent,
) -> Certificate:
    """Write table, schema, model, `extra` files and certificate into `folder`; return the certificate bound to them."""
    require_replaceable(folder, replace=replace)
    with _whole_folder(folder) as fresh:
        name = f"synthetic.{file_kind}"
        table = model.sample(rows, rng=np.random.default_rng(), like="pyarrow", progress=part(progress, 0.0, 0.6))
        progress("writing", 0.6)
        write_table(table, fresh / name)
        model.schema.save(fresh / SCHEMA)
        model.save(fresh / MODEL)
        for other, content in (extra or {}).items():
            (fresh / other).write_bytes(content)
        released = (name, SCHEMA, MODEL, *(extra or {}))
        certificate = model.certificate.with_outputs({n: sha256(fresh / n) for n in released})
        (fresh / CERTIFICATE).write_text(certificate.to_json(), encoding="utf-8")
        (fresh / PAGE_NAME).write_text(render(certificate), encoding="utf-8")
    return certificate


def require_replaceable(folder: Path, *, replace: bool) -> None:
    """A release may take the place of a release, never of anything else: the private table may lie there."""
    if not folder.exists():
        return
    if not replace:
        raise UsageError(f"{folder} already exists; choose another --out or add --force to replace it")
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else {folder.name}
    strangers = sorted(names - RELEASED) or sorted(names if CERTIFICATE not in names else ())
    if strangers:
        raise UsageError(
            f"{folder} holds {strangers[0]!r} and is not a release alone, so --force does not replace it; choose another "
            "--out"
        )


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """A folder beside the wanted one that takes its place only when everything in it was written."""
    folder = folder.resolve()
    part = folder.with_name(f".{folder.name}.part")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        yield part
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise OutputError(f"{folder}: could not be written ({error.strerror}); nothing was left behind") from None
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
