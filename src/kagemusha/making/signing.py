"""Somebody vouches for a release: verified first, then signed."""

from __future__ import annotations

from pathlib import Path

from kagemusha.certificate.inventory import SIGNATURE
from kagemusha.certificate.keys import SigningKey
from kagemusha.errors import UsageError, VerifyError
from kagemusha.folder.folder import sign_folder
from kagemusha.forensics.verify import verify_release


def sign_release(folder: Path, signer: SigningKey, *, replace: bool = False) -> Path:
    """Sign all files of a release; what does not hold is not signed. Returns the file of the signature."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    signature = folder / SIGNATURE
    if (signature.exists() or signature.is_symlink()) and not replace:
        raise UsageError(f"{folder} is signed already; replace the signature with replace=True (--force)")
    # an old signature may be wrong, the rest may not
    wrong = [check.what for check in verify_release(folder).checks if not check.passed and check.what != SIGNATURE]
    if wrong or signature.is_symlink():
        raise VerifyError(f"{folder}: not signed, because it does not hold: {', '.join(wrong or [SIGNATURE])}")
    sign_folder(folder, signer)
    return signature
