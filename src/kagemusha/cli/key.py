"""`key`: make keys that sign releases, and say whose signatures count."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kagemusha.cli.options import JsonOption
from kagemusha.cli.output import plain, say, say_json, say_table
from kagemusha.errors import UsageError

app = typer.Typer(no_args_is_help=True, help="Keys that sign releases, and whose signatures count.")

TrustedOption = Annotated[
    Path | None,
    typer.Option(
        "--trusted", help="The list of trusted keys; by default trusted-keys.json in your configuration folder."
    ),
]

FEWEST_DIGITS = 8
"""Of a key id given by its beginning."""


def trusted_keys(given: Path | None, *, must_exist: bool = False) -> Path:
    """The list of trusted keys to use: the one named, or the user's own."""
    if given is not None and must_exist and not given.exists():
        raise UsageError(f"--trusted {given}: no such file")
    from kagemusha.certificate.keys import configured_keys

    return given or configured_keys()


@app.command()
def new(
    name: Annotated[
        str, typer.Option("--name", help="Who signs with it, as readers shall see it.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", help="File for the private key; NAME.pub beside it is the public one.")],
    expires: Annotated[
        str | None, typer.Option("--expires", help="The last day it is valid, such as 2030-12-31.", show_default=False)
    ] = None,
) -> None:
    """Make a key: the private file signs and stays with you, the .pub file goes to everybody who checks your releases.

    The private key is readable by you alone and must not lie in a release folder. Hand the public file, or its id, to
    readers by a way they trust: whoever can replace a release on its way could replace a key beside it, too.
    """
    from kagemusha.certificate.keys import new_key, public_file

    key = new_key(out, name, expires)
    say(f"{plain(out)}: the private key. Keep it secret, and keep a copy")
    say(f"{plain(public_file(out))}: the public key, for whoever checks your releases (`kagemusha key trust`)")
    say(f"id {plain(key.id)}, {plain(_until(key))}")


@app.command()
def trust(
    public: Annotated[Path, typer.Argument(help="A public key file (.pub).", show_default=False)],
    trusted: TrustedOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is known of the key.")] = False,
) -> None:
    """Count signatures by this key from now on.

    Make sure that it is theirs: compare its id by telephone, or on their site.
    """
    from kagemusha.certificate.keys import load_public_key, load_trusted, save_trusted

    where = trusted_keys(trusted)
    known, key = load_trusted(where), load_public_key(public)
    old = known.get(key.id)
    if old is not None and old.revoked is not None:
        raise UsageError(f"{public}: this key was revoked on {old.revoked}; ask its owner for a new one")
    if old is not None and old != key and not force:
        raise UsageError(
            f"{public}: this key is trusted already as {old.name!r}, {_until(old)}; add --force to change that"
        )
    save_trusted(where, {**known, key.id: key})
    say(f"{plain(key.name)} is trusted ({plain(_until(key))}); id {plain(key.id)}")
    say(f"List: {plain(where)}")


@app.command()
def revoke(
    key: Annotated[
        str,
        typer.Argument(help="A public key file, or the id of a key in the list, or how it begins.", show_default=False),
    ],
    because: Annotated[str, typer.Option("--because", help="Why, for whoever reads the list.")] = "no reason given",
    trusted: TrustedOption = None,
) -> None:
    """Count signatures by this key no longer, neither old nor new ones. It stays in the list as revoked."""
    from kagemusha.certificate.keys import load_public_key, load_trusted, save_trusted
    from kagemusha.certificate.keys import revoke as revoked

    where = trusted_keys(trusted)
    known = load_trusted(where)
    if Path(key).is_file():
        found = [load_public_key(Path(key))]
    else:
        found = [one for one in known.values() if len(key) >= FEWEST_DIGITS and one.id.startswith(key.lower())]
    if len(found) != 1:
        raise UsageError(
            f"{key!r} is not one key of {where}: give its public file, or at least {FEWEST_DIGITS} digits of its id "
            "(`kagemusha key list`)"
        )
    if not (because.strip() and because.isprintable()):
        raise UsageError("--because must be a text on one line")
    (one,) = found
    if known.get(one.id, one).revoked is None:
        save_trusted(where, {**known, one.id: revoked(known.get(one.id, one), because)})
    say(f"{plain(one.name)} is revoked; id {plain(one.id)}. List: {plain(where)}")


@app.command("list")
def list_(trusted: TrustedOption = None, as_json: JsonOption = False) -> None:
    """Show whose signatures count, until when, and who was revoked.

    The list is yours alone: nobody else writes to it.
    """
    from kagemusha.certificate.keys import load_trusted

    where = trusted_keys(trusted, must_exist=True)
    keys = load_trusted(where)
    if as_json:
        say_json({"list": str(where), "keys": [key.to_json() for key in keys.values()]})
        return
    say(f"List {plain(where)}: {len(keys)} keys")
    say_table("", ["key", "name", "valid"], [[key.id[:16], key.name, _until(key)] for key in keys.values()])


def _until(key: Any) -> str:
    from kagemusha.certificate.keys import today

    if key.revoked is not None:
        return f"revoked on {key.revoked}"
    if key.expires is None:
        return "does not expire"
    return f"expired on {key.expires}" if key.expired(today()) else f"valid until {key.expires}"
