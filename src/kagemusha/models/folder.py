"""The release folder: everything the custodian hands out, written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace as changed
from pathlib import Path

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import CERTIFICATE, MODEL, PAGE, RELEASED, SCHEMA, SIGNATURE, Inventory
from kagemusha.certificate.keys import SigningKey
from kagemusha.certificate.page import render
from kagemusha.certificate.signature import sign
from kagemusha.errors import OutputError, UsageError
from kagemusha.files import sha256, write_whole
from kagemusha.models.model import Model
from kagemusha.models.stream import stream
from kagemusha.models.table_file import SAFE, write_tables
from kagemusha.progress import Progress, part, silent

_PROBE = 1 << 16
"""Bytes written to find out whether anything can be."""


def write_bundle(
    model: Model,
    folder: Path,
    *,
    rows: int | None = None,
    file_kind: str = "csv",
    replace: bool = False,
    extra: Mapping[str, bytes] | None = None,
    safe: bool = False,
    signer: SigningKey | None = None,
    progress: Progress = silent,
) -> Certificate:
    """Write table, schema, model, `extra` files and certificate into `folder`; return the certificate bound to them.

    `safe` escapes what a spreadsheet would take for a formula, and has the certificate say so; `signer` signs it all.
    """
    require_replaceable(folder, replace=replace)
    if safe:
        told = changed(model.certificate, assumptions=(*model.certificate.assumptions, SAFE))
        model = changed(model, certificate=told)
    with _whole_folder(folder) as fresh:
        name = f"synthetic.{file_kind}"
        write_tables(stream(model, rows, progress=part(progress, 0.0, 0.9)), fresh / name, safe=safe)
        progress("writing", 0.9)
        model.schema.save(fresh / SCHEMA)
        model.save(fresh / MODEL)
        for other, content in (extra or {}).items():
            (fresh / other).write_bytes(content)
        released = (name, SCHEMA, MODEL, *(extra or {}))
        certificate = model.certificate.with_outputs({n: sha256(fresh / n) for n in released})
        _certify(fresh, certificate, signer)
    return certificate


def add_to_bundle(
    folder: Path,
    certificate: Certificate,
    extra: Mapping[str, bytes],
    *,
    signer: SigningKey | None = None,
    before: Callable[[Certificate], None] = lambda certificate: None,
) -> Certificate:
    """Add files to a release that was written already, and bind them to its certificate; return that.

    Until all of it is done the folder stays the release it was. `before` is told the new certificate before it counts.
    """
    with _whole_folder(folder) as fresh:
        outputs = dict(certificate.outputs or {})
        for name in outputs:
            _same_file(folder / name, fresh / name)
        for name, content in extra.items():
            (fresh / name).write_bytes(content)
            outputs[name] = sha256(fresh / name)
        told = certificate.with_outputs(outputs)
        _certify(fresh, told, signer)
        before(told)
    return told


def _certify(folder: Path, certificate: Certificate, signer: SigningKey | None) -> None:
    (folder / CERTIFICATE).write_text(certificate.to_json(), encoding="utf-8")
    (folder / PAGE).write_text(render(certificate), encoding="utf-8")
    if signer is not None:
        sign_folder(folder, signer)


def _same_file(old: Path, new: Path) -> None:
    """The same bytes at another place, without writing them again where the file system can do that."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)


def sign_folder(folder: Path, signer: SigningKey) -> None:
    """Write the signature of everything in a release folder beside it."""
    write_whole(folder / SIGNATURE, sign(Inventory.of(folder).hashes, signer))


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


def require_writable(folder: Path) -> None:
    """Find out before anything is spent whether the release could be written: by writing something in its place.

    What is made for that is taken away again. An OutputError says what stands in the way.
    """
    target = folder.resolve()
    part = _part(target)
    made: list[Path] = []
    shutil.rmtree(part, ignore_errors=True)  # what a run that was killed has left
    try:
        for place in (*reversed(target.parents), part):
            if not place.is_dir() or place == part:
                place.mkdir()
                made.append(place)
        with (part / "probe").open("xb") as file:
            made.append(part / "probe")
            file.write(bytes(_PROBE))
            file.flush()
            os.fsync(file.fileno())
        if target.exists() and not os.access(target, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise OutputError(f"{folder}: cannot be written ({error.strerror}{where}); nothing was spent") from None
    finally:
        for place in reversed(made):
            with suppress(OSError):
                place.rmdir() if place.is_dir() else place.unlink()


def _part(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.part")


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """A folder beside the wanted one that takes its place only when everything in it was written."""
    folder = folder.resolve()
    part = _part(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        yield part
        _take_place(part, folder)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise OutputError(f"{folder}: could not be written ({error.strerror}); nothing was left behind") from None
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _take_place(part: Path, folder: Path) -> None:
    """Put one folder in the place of another; stopped at any moment, one of the two is there, whole."""
    if not folder.exists():
        part.rename(folder)
        return
    aside = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        folder.rename(aside)
        part.rename(folder)
    finally:
        if not folder.exists():
            aside.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)
