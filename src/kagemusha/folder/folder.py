"""The release folder: everything the custodian hands out, written whole or not at all, by one run at a time."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import CERTIFICATE, MODEL, PAGE, SCHEMA, SIGNATURE, Inventory
from kagemusha.certificate.keys import SigningKey
from kagemusha.certificate.page import render
from kagemusha.certificate.signature import sign
from kagemusha.errors import OutputError, UsageError
from kagemusha.files import alone, sha256, write_whole
from kagemusha.folder.required_tables import table_files
from kagemusha.folder.stream import stream
from kagemusha.folder.table_file import SAFE, write_tables
from kagemusha.models.model import Model
from kagemusha.progress import Progress, part, silent

_PROBE = 1 << 16
"""Bytes written to find out whether anything can be."""

Remember = Callable[[Certificate], None]


def _nobody(certificate: Certificate) -> None:
    """Nobody needs to know."""


@dataclass(frozen=True)
class Place:
    """Where a release is to lie, held by this run alone: see `claimed`."""

    folder: Path

    def write(
        self,
        model: Model,
        *,
        rows: int | None = None,
        file_kind: str = "csv",
        extra: Mapping[str, bytes] | None = None,
        safe: bool = False,
        signer: SigningKey | None = None,
        before: Remember = _nobody,
        progress: Progress = silent,
    ) -> Certificate:
        """Write table, schema, model, `extra` files and certificate; return the certificate bound to them.

        `safe` escapes what a spreadsheet would take for a formula, and has the certificate say so; `signer` signs it
        all. `before` gets the certificate when everything is written and nothing counts yet: a ledger that is lost at
        that moment leaves no folder it does not know, and the same command goes on.
        """
        if safe:
            certificate = changed(model.certificate, assumptions=(*model.certificate.assumptions, SAFE))
            model = changed(model, certificate=certificate)

        def files(fresh: Path) -> tuple[str, ...]:
            name = f"synthetic.{file_kind}"
            model.schema.save(fresh / SCHEMA)
            model.save(fresh / MODEL)
            drawn = stream(model, rows, progress=part(progress, 0.0, 0.9))
            write_tables(drawn, fresh / name, safe=safe, marked=model.schema.encoding is not None)
            progress("writing", 0.9)
            tables = table_files(model, safe=safe) if model.schema.demands.required else {}
            others = {**tables, **(extra or {})}
            for other, content in others.items():
                (fresh / other).parent.mkdir(exist_ok=True)
                (fresh / other).write_bytes(content)
            return (name, SCHEMA, MODEL, *others)

        return self.put(model.certificate, files, signer=signer, before=before)

    def put(
        self,
        certificate: Certificate,
        files: Callable[[Path], Sequence[str]],
        *,
        signer: SigningKey | None = None,
        before: Remember = _nobody,
    ) -> Certificate:
        """A release of whatever `files` writes into the folder it is given: it says which; see `write`."""
        with self._fresh() as fresh:
            bound = certificate.with_outputs({name: sha256(fresh / name) for name in files(fresh)})
            _certify(fresh, bound, signer)
            before(bound)
        return bound

    def add(
        self,
        certificate: Certificate,
        extra: Mapping[str, bytes],
        *,
        signer: SigningKey | None = None,
        before: Remember = _nobody,
    ) -> Certificate:
        """Add files to the release that was written here, and bind them to its certificate; return that.

        Until all of it is done the folder stays the release it was. `before` is as in `write`.
        """
        with self._fresh() as fresh:
            outputs = dict(certificate.outputs or {})
            for name in outputs:
                (fresh / name).parent.mkdir(exist_ok=True)
                _same_file(self.folder / name, fresh / name)
            for name, content in extra.items():
                (fresh / name).write_bytes(content)
                outputs[name] = hashlib.sha256(content).hexdigest()
            bound = certificate.with_outputs(outputs)
            _certify(fresh, bound, signer)
            before(bound)
        return bound

    @contextmanager
    def _fresh(self) -> Iterator[Path]:
        """A folder of this run beside the wanted one, which takes its place once everything in it was written."""
        fresh = _beside(self.folder, "part")
        try:
            fresh.mkdir()
            yield fresh
            _take_place(fresh, self.folder)
        except OSError as error:
            raise OutputError(
                f"{self.folder}: could not be written ({error.strerror}); nothing was left behind"
            ) from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def claimed(folder: Path) -> Iterator[Place]:
    """Hold the place of a release against every other run, and find out whether it can be written there.

    Meant to be asked for before anything is spent: whoever comes second gets an `OutputError` that says so. What runs
    that were killed have left is swept; a release that one of them was about to replace comes back. Whatever was made
    and not used goes.
    """
    target = folder.resolve()
    made: list[Path] = []
    try:
        with _explained(folder):
            for place in reversed(target.parents):
                if not place.is_dir():
                    with suppress(FileExistsError):  # another run was quicker
                        place.mkdir()
                        made.append(place)
        with ExitStack() as held:
            with _explained(folder):
                lock = target.with_name(f".{target.name}.lock")
                held.enter_context(alone(lock, f"{folder}: another release is being written there; nothing was spent"))
                _sweep(target)
                _probe(target)
            yield Place(target)
    finally:
        for place in reversed(made):
            with suppress(OSError):  # it is not empty if all went well
                place.rmdir()


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise OutputError(f"{folder}: cannot be written ({error.strerror}{where}); nothing was spent") from None


def _sweep(target: Path) -> None:
    """Take away what killed runs have left beside a folder.

    Called by whoever holds its lock, so that no run of it lives.
    """
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9]+-[0-9a-f]{{8}}\.(part|old)")
    left = [entry for entry in target.parent.iterdir() if name.fullmatch(entry.name)]
    replaced = sorted((entry for entry in left if entry.suffix == ".old"), key=lambda entry: entry.stat().st_mtime_ns)
    if replaced and not target.exists():
        replaced[-1].rename(target)
    for entry in left:
        shutil.rmtree(entry, ignore_errors=True)


def _probe(target: Path) -> None:
    """Write something beside a folder, and take it away again; an `OSError` says what stands in the way."""
    probe = _beside(target, "part")
    try:
        probe.mkdir()
        with (probe / "probe").open("xb") as file:
            file.write(bytes(_PROBE))
            file.flush()
            os.fsync(file.fileno())
        if target.exists() and not os.access(target, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    finally:
        shutil.rmtree(probe, ignore_errors=True)


def _beside(target: Path, kind: str) -> Path:
    """A name that no other run takes: of a part of this folder, or of what it replaces."""
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.{kind}")


def write_bundle(model: Model, folder: Path, *, replace: bool = False, **how: Any) -> Certificate:
    """Write a release without its quality pages; `how` is as in `Place.write`."""
    with claimed(folder) as place:
        require_replaceable(folder, replace=replace)
        return place.write(model, **how)


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
        raise UsageError(f"{folder} already exists; choose another folder, or replace it with replace=True (--force)")
    held = Inventory.of(folder) if folder.is_dir() else Inventory(folder, frozenset(), {folder.name: ""})
    strangers = sorted(held.strange) or sorted(held.files if CERTIFICATE not in held.files else ())
    if strangers:
        raise UsageError(
            f"{folder} holds {strangers[0]!r} and is not a release alone, so it is not replaced; choose another folder"
        )


def _take_place(part: Path, folder: Path) -> None:
    """Put one folder in the place of another; stopped at any moment, one of the two is there, whole."""
    if not folder.exists():
        part.rename(folder)
        return
    aside = _beside(folder, "old")
    try:
        folder.rename(aside)
        part.rename(folder)
    finally:
        if not folder.exists():
            aside.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)
