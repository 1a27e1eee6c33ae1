"""Models from release folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kagemusha.certificate.inventory import CERTIFICATE, MODEL, Inventory
from kagemusha.certificate.verify import open_certificate
from kagemusha.errors import DataError, VerifyError
from kagemusha.models.model import Model, load_model


def load_release(where: Path) -> Model:
    """A model from its file, or from a release folder, with the certificate that is bound to the released files."""
    if not where.is_dir():
        return load_model(where)
    inventory = Inventory.of(where)
    if not {MODEL, CERTIFICATE} <= inventory.files:
        raise DataError(f"{where}: a release folder holds {MODEL} and {CERTIFICATE}, this one does not")
    certificate = open_certificate(where / CERTIFICATE).certificate
    if (certificate.outputs or {}).get(MODEL) != inventory.hashes[MODEL]:
        raise VerifyError(f"{where}: {MODEL} is not the one the certificate was written for; see `kagemusha verify`")
    return replace(load_model(where / MODEL), certificate=certificate)
