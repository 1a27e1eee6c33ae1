"""A release as its page shows it, and what can be done with it: look, draw, sign, verify, hand out."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import (
    CERTIFICATE,
    MODEL,
    PAGE,
    QUALITY,
    RELEASED,
    SIGNATURE,
    TABLES,
    Inventory,
    read_certificate,
)
from kagemusha.certificate.keys import configured_keys, load_signing_key, new_key
from kagemusha.certificate.page import in_words
from kagemusha.certificate.signature import Trust
from kagemusha.certificate.translated import translated
from kagemusha.errors import UsageError
from kagemusha.folder.stream import stream
from kagemusha.folder.table_file import write_tables
from kagemusha.forensics.verify import Verdict, verify_release
from kagemusha.making.signing import sign_release
from kagemusha.models.model import load_model
from kagemusha.quality.group import drawn_group
from kagemusha.quality.statement import quality_page
from kagemusha.studio.place import Place

PREVIEW = 12
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
    )


def file_of(place: Place, ref: str, name: str) -> Path:
    """A file of a release, by a name that a release may hold."""
    folder = place.release(ref)
    if name not in RELEASED or name not in Inventory.of(folder).files:
        raise UsageError(f"{name!r}: the release has no such file")
    return folder / name


def page_in(path: Path, language: str) -> bytes:
    """A page of a release in a language: the one that everybody gets in English, or the same said in another one."""
    if language == "en":
        return path.read_bytes()
    if path.name == PAGE:
        return translated(Certificate.from_json(read_certificate(path.parent / CERTIFICATE)), language).encode()
    return quality_page(path.parent, language).encode()


def preview(place: Place, ref: str) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Names and first rows of the doubles; they are paid for."""
    folder = place.release(ref)
    name = next((name for name in TABLES if (folder / name).is_file()), None)
    if name is None:
        return (), ()
    if name.endswith(".csv"):
        with (folder / name).open(encoding="utf-8-sig", newline="") as file:
            header, *rows = islice(csv.reader(file), PREVIEW + 1)
        return header, rows
    import pyarrow.parquet as pq

    head = next(pq.ParquetFile(folder / name).iter_batches(PREVIEW))
    rows = [["" if value is None else str(value) for value in row.values()] for row in head.to_pylist()]
    return list(head.schema.names), rows


def drawn(place: Place, ref: str, rows: int, where: str) -> tuple[bytes, str]:
    """More doubles as CSV, perhaps only those for whom a condition holds, and how large that group is in words."""
    if not 1 <= rows <= MOST_DRAWN:
        raise UsageError(f"rows must be from 1 to {MOST_DRAWN:,}; more draws `kagemusha sample`")
    model = load_model(place.release(ref) / MODEL)
    condition = where or None
    with tempfile.TemporaryDirectory(prefix="kagemusha-") as folder:
        path = Path(folder) / "sample.csv"
        write_tables(stream(model, rows, rng=np.random.default_rng(), where=condition), path, safe=True)
        content = path.read_bytes()
    return content, "" if condition is None else drawn_group(model, condition).words


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
