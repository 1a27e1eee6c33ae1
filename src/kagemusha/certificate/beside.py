"""The files beside a certificate, held to what it says of them."""

from __future__ import annotations

from pathlib import Path

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check
from kagemusha.certificate.inventory import OUTPUTS, PAGE, SCHEMA, Inventory, is_required_table, of_several
from kagemusha.certificate.page import fingerprint, made_here, render
from kagemusha.errors import SchemaError
from kagemusha.files import StrangeFileError
from kagemusha.privacy.accountants import PLD
from kagemusha.schema.declared import Declared, read_declared
from kagemusha.version import __version__


def released_schema(inventory: Inventory, certificate: Certificate) -> Declared | None:
    """The schema beside the certificate, if it is the certified one and leaves nothing open."""
    try:
        schema = _read_schema(inventory)
    except SchemaError:
        return None
    return schema if schema.digest() == certificate.schema_digest and not schema.open_facts() else None


def file_checks(inventory: Inventory, certificate: Certificate, digest: str) -> list[Check]:
    """Every entry of the folder: certified and unchanged, or refused by its name. `digest` is the certificate's own."""
    outputs = certificate.outputs or {}
    checks = [_file_check(inventory, name, expected) for name, expected in outputs.items()]
    checks += [Check(name, False, why) for name, why in inventory.strange.items() if name not in outputs]
    checks += [
        Check(name, False, "the certificate does not name it")
        for name in (*OUTPUTS, *sorted(filter(of_several, inventory.files)))
        if name not in outputs and name in inventory.files
    ]
    if SCHEMA in outputs and SCHEMA in inventory.files:
        checks.append(_schema_check(inventory, certificate))
    if PAGE in inventory.files:
        checks.append(_page_check(inventory, certificate, digest))
    return checks


def _file_check(inventory: Inventory, name: str, expected: str) -> Check:
    if Path(name).name != name and not is_required_table(name):
        return Check(name, False, "a certificate may only name files beside it")
    if name not in OUTPUTS and not of_several(name):
        return Check(name, False, "no certificate names a file like this")
    if name in inventory.strange:
        return Check(name, False, inventory.strange[name])
    if name not in inventory.files:
        return Check(name, False, "the file is missing")
    same = inventory.hashes[name] == expected
    return Check(name, same, "matches its hash" if same else "its bytes differ from what was certified")


def _read_schema(inventory: Inventory) -> Declared:
    try:
        return read_declared(inventory.read(SCHEMA).decode("utf-8-sig"))
    except (StrangeFileError, OSError, ValueError) as error:
        why = str(error) if isinstance(error, StrangeFileError) else "it cannot be read"
        raise SchemaError(f"{SCHEMA}: {why}") from None


def _schema_check(inventory: Inventory, certificate: Certificate) -> Check:
    what = "schema digest"
    try:
        same = _read_schema(inventory).digest() == certificate.schema_digest
    except SchemaError as error:
        return Check(what, False, str(error))
    return Check(what, same, f"is that of {SCHEMA}" if same else f"is not that of {SCHEMA}")


def _page_check(inventory: Inventory, certificate: Certificate, digest: str) -> Check:
    """The page must be the one that was certified; made again it must be the same, if this program made it."""
    try:
        page = inventory.read(PAGE)
    except StrangeFileError as error:
        return Check(PAGE, False, str(error))
    if certificate.page is None:
        if render(certificate, digest=digest).encode() == page:
            return Check(PAGE, True, "says what the certificate says")
        return Check(PAGE, False, "is not the page of this certificate")
    if fingerprint(page, digest) != certificate.page.get("sha256"):
        return Check(PAGE, False, "was changed")
    if not made_here(certificate.page):
        if certificate.version == __version__:
            return Check(PAGE, False, f"version {__version__} makes no such page")
        return Check(
            PAGE,
            True,
            "matches its hash; its text was not made again, because another version made the page: read "
            "certificate.json",
            caution=True,
        )
    if PLD.name not in certificate.totals:  # a small install, which cannot recompute all that the page shows
        words = "matches its hash; its text was not made again, because dp-accounting is not installed here"
        return Check(PAGE, True, words, caution=True)
    same = render(certificate, digest=digest).encode() == page
    return Check(PAGE, same, "says what the certificate says" if same else "was changed")
