"""`sign`: vouch for a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.output import plain, say


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
    from kagemusha.certificate.keys import load_signing_key
    from kagemusha.making.signing import sign_release

    signer = load_signing_key(key)
    signature = sign_release(folder, signer, replace=force)
    say(f"{plain(signature)}: signed by {plain(signer.public.name)}, key {plain(signer.public.id)}")
