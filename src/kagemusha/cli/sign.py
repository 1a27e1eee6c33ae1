"""`sign`: vouch for a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.output import plain, say
from kagemusha.errors import UsageError, VerifyError


def sign(
    folder: Annotated[Path, typer.Argument(help="The release folder.", show_default=False)],
    key: Annotated[
        Path, typer.Option("--key", help="Your private key, made by `kagemusha key new`.", show_default=False)
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace a signature that is there.")] = False,
) -> None:
    """Sign all files of a release with your key; the signature is a file beside them.

    The release is verified first: what does not hold is not signed. Needs the cryptography package (pip install
    'kagemusha[sign]').
    """
    from kagemusha.certificate.inventory import SIGNATURE
    from kagemusha.certificate.keys import load_signing_key
    from kagemusha.folder.folder import sign_folder
    from kagemusha.forensics.verify import verify_release

    signer = load_signing_key(key)
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    signature = folder / SIGNATURE
    if (signature.exists() or signature.is_symlink()) and not force:
        raise UsageError(f"{folder} is signed already; add --force to replace the signature")
    # an old signature may be wrong, the rest may not
    wrong = [check.what for check in verify_release(folder).checks if not check.passed and check.what != SIGNATURE]
    if wrong or signature.is_symlink():
        raise VerifyError(f"{folder}: not signed, because it does not hold: {', '.join(wrong or [SIGNATURE])}")
    sign_folder(folder, signer)
    say(f"{plain(signature)}: signed by {plain(signer.public.name)}, key {plain(signer.public.id)}")
