"""A release as its page shows it, and what can be done with it: look, draw, sign, verify, hand out."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.certificate.acceptance import answers
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import (
    CERTIFICATE,
    MODEL,
    PAGE,
    QUALITY,
    RELEASED,
    SCHEMA,
    SIGNATURE,
    TABLES,
    Inventory,
    doubles_file,
    is_required_table,
    of_several,
    read_certificate,
)
from kagemusha.certificate.keys import configured_keys, load_signing_key, new_key
from kagemusha.certificate.page import in_words
from kagemusha.certificate.signature import Trust
from kagemusha.certificate.translated import translated
from kagemusha.editing.tables import tables_of
from kagemusha.errors import UsageError
from kagemusha.files import declares_several
from kagemusha.folder.related import load_related
from kagemusha.folder.stream import stream
from kagemusha.folder.table_file import write_tables
from kagemusha.forensics.verify import Verdict, verify_release
from kagemusha.making.order import KINDS
from kagemusha.making.signing import sign_release
from kagemusha.models.model import load_model
from kagemusha.quality.group import drawn_group
from kagemusha.quality.statement import quality_page
from kagemusha.schema.declared import load_declared
from kagemusha.studio.place import Place

PREVIEW = 12
PERSONS, FAR, MOST_LINES = 4, 2000, 20
"""Of tables that belong together: persons that are shown, rows that are looked through for theirs, rows of a table."""

MOST_DRAWN = 100_000
"""Doubles that the page draws at once; for more there is `kagemusha sample`."""

KEY = "signing.key"
"""The key that the studio makes, in its own hidden folder."""


@dataclass(frozen=True)
class Shown:
    """A release for its page."""

    ref: str
    certificate: Certificate
    words: str
    private: bool
    files: Sequence[tuple[str, int]]
    has_page: bool
    has_quality: bool
    signed: bool
    tables: Sequence[str]
    """Those that belong together; empty for one table."""
    kept: Sequence[str]
    """Files of tables that must be right."""
    answers: Sequence[Mapping[str, Any]]
    """What came of the criteria of acceptance."""


def shown(place: Place, ref: str) -> Shown:
    """A release, as its certificate and its folder say."""
    folder = place.release(ref)
    certificate = Certificate.from_json(read_certificate(folder / CERTIFICATE))
    files = sorted(Inventory.of(folder).files)
    private = not certificate.broken_because
    return Shown(
        ref=ref,
        certificate=certificate,
        words=in_words(certificate.promised, certificate.accounting) if private else "",
        private=private,
        files=[(name, (folder / name).stat().st_size) for name in files],
        has_page=PAGE in files,
        has_quality=QUALITY[1] in files,
        signed=SIGNATURE in files,
        tables=tables_in(folder),
        kept=[name for name in files if is_required_table(name)],
        answers=answers(certificate),
    )


def tables_in(folder: Path) -> Sequence[str]:
    """The tables that belong together in a release; none in one of one table."""
    if not declares_several(folder / SCHEMA):
        return ()
    return [table.name for table in tables_of(load_declared(folder / SCHEMA))]


def file_of(place: Place, ref: str, name: str) -> Path:
    """A file of a release, by a name that a release may hold."""
    folder = place.release(ref)
    if not (name in RELEASED or of_several(name)) or name not in Inventory.of(folder).files:
        raise UsageError(f"{name!r}: the release has no such file")
    return folder / name


def page_in(path: Path, language: str) -> bytes:
    """A page of a release in a language: the one that everybody gets in English, or the same said in another one."""
    if language == "en":
        return path.read_bytes()
    if path.name == PAGE:
        return translated(Certificate.from_json(read_certificate(path.parent / CERTIFICATE)), language).encode()
    return quality_page(path.parent, language).encode()


Rows = tuple[Sequence[str], Sequence[Sequence[str]]]


def preview(place: Place, ref: str) -> Mapping[str, Rows]:
    """Names and first rows of each table of doubles; they are paid for.

    Of tables that belong together, the rows of the first persons.
    """
    folder = place.release(ref)
    if declares_several(folder / SCHEMA):
        return _families(folder)
    name = next((name for name in TABLES if (folder / name).is_file()), None)
    return {} if name is None else {"": head_of(folder / name, PREVIEW)}


def _families(folder: Path) -> Mapping[str, Rows]:
    """The first persons with everything below them, as far as it stands near the beginning of each file."""
    schema = load_declared(folder / SCHEMA)
    found: dict[str, Rows] = {}
    names: dict[str, set[str]] = {}
    for table in tables_of(schema):
        kinds = (folder / doubles_file(table.name, kind) for kind in KINDS)
        path = next((path for path in kinds if path.is_file()), None)
        if path is None:
            continue
        header, rows = head_of(path, PERSONS if table.parent is None else FAR)
        if table.parent in names and table.key in header:
            at = header.index(table.key)
            rows = [row for row in rows if row[at] in names[table.parent]][:MOST_LINES]
        if table.names_rows in header:
            at = header.index(table.names_rows)
            names[table.name] = {row[at] for row in rows}
        found[table.name] = header, rows[:MOST_LINES]
    return found


def head_of(path: Path, count: int) -> Rows:
    """The header and the first rows of a file of doubles."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *rows = islice(csv.reader(file), count + 1)
        return header, rows
    import pyarrow.parquet as pq

    head = next(pq.ParquetFile(path).iter_batches(count))
    rows = [["" if value is None else str(value) for value in row.values()] for row in head.to_pylist()]
    return list(head.schema.names), rows


def drawn(place: Place, ref: str, rows: int, where: str) -> tuple[Mapping[str, bytes], str]:
    """More doubles as CSV by table, perhaps only those for whom a condition holds; how large that group is in words."""
    if not 1 <= rows <= MOST_DRAWN:
        raise UsageError(f"rows must be from 1 to {MOST_DRAWN:,}; more draws `kagemusha sample`")
    release, condition = place.release(ref), where or None
    if declares_several(release / SCHEMA):
        return _drawn_families(release, rows, condition), ""
    model = load_model(release / MODEL)
    with tempfile.TemporaryDirectory(prefix="kagemusha-") as folder:
        path = Path(folder) / "sample.csv"
        write_tables(stream(model, rows, rng=np.random.default_rng(), where=condition), path, safe=True)
        content = path.read_bytes()
    return {"": content}, "" if condition is None else drawn_group(model, condition).words


def _drawn_families(release: Path, persons: int, where: str | None) -> Mapping[str, bytes]:
    model, found = load_related(release), {}
    with tempfile.TemporaryDirectory(prefix="kagemusha-") as folder:
        for name, table in model.sample(persons, where=where, like="pyarrow").items():
            path = Path(folder) / f"{name}.csv"
            write_tables(iter([table]), path, safe=True)
            found[name] = path.read_bytes()
    return found


def packed(tables: Mapping[str, bytes]) -> tuple[bytes, str]:
    """One table as a CSV, several as one zip; and what to call the file."""
    if "" in tables:
        return tables[""], "sample.csv"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as together:
        for name, one in tables.items():
            together.writestr(f"sample/{name}.csv", one)
    return content.getvalue(), "sample.zip"


def verified(place: Place, ref: str) -> Verdict:
    """Every check, offline."""
    return verify_release(place.release(ref), Trust.of(None, configured_keys()))


def signed(place: Place, ref: str, name: str) -> str:
    """Sign with the studio's own key, which is made where there is none; returns its id."""
    path = place.hidden / KEY
    if not path.exists():
        if not (0 < len(name) <= 100 and name.isprintable()):
            raise UsageError("say who signs: a short text in one line")
        new_key(path, name)
    key = load_signing_key(path)
    sign_release(place.release(ref), key, replace=True)
    return key.public.id


def zipped(place: Place, ref: str) -> bytes:
    """All files of a release and nothing else, in one file."""
    folder, content = place.release(ref), io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(Inventory.of(folder).files):
            packed.write(folder / name, f"{folder.name}/{name}")
    return content.getvalue()


def quality_of(place: Place, ref: str) -> dict[str, Any]:
    """What the quality statement says; empty without one."""
    path = place.release(ref) / QUALITY[0]
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
