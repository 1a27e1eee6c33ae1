"""Who vouches for a release: an Ed25519 signature over the hashes of all its files.

`signature.json` is a DSSE envelope around an in-toto statement (version 1). Its subjects are all files of the folder
but itself, the certificate and its page included, so no file can be added, left out or changed. The envelope carries
the public key it was made with, so that a signature which does not fit is noticed even where nobody trusts its key.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

from kagemusha.certificate.inventory import SIGNATURE, Inventory
from kagemusha.certificate.keys import (
    PublicKey,
    SigningKey,
    configured_keys,
    crypto,
    decoded,
    load_public_key,
    load_trusted,
    today,
)
from kagemusha.errors import UsageError
from kagemusha.files import StrangeFileError, parse_json

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://github.com/kagemusha-project/kagemusha/release/v1"


class Standing(StrEnum):
    """What a release's signature is worth to whoever asks."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    UNCHECKED = "unchecked"
    UNTRUSTED = "untrusted"
    EXPIRED = "expired"
    REVOKED = "revoked"
    BROKEN = "broken"


@dataclass(frozen=True)
class Signed:
    """Who signed, as far as is known."""

    standing: Standing
    words: str
    """The rest of the sentence "this release is intact …"; of a broken signature, what is wrong with it."""
    signer: str | None = None
    key: str | None = None


@dataclass(frozen=True)
class Trust:
    """Whose signatures count: public keys by their ids, those revoked among them."""

    keys: Mapping[str, PublicKey] = field(default_factory=dict)

    @classmethod
    def of(cls, key: Path | None = None, trusted: Path | None = None) -> Trust:
        """From a public key file, a list of trusted keys, or both; the configured list counts for what it revokes.

        A revocation wins wherever it stands: no other list and no key file takes it back.
        """
        known = {} if trusted is None else load_trusted(trusted)
        if key is not None:
            public = load_public_key(key)
            if known.get(public.id, public).revoked is None:
                known[public.id] = public
        mine = load_trusted(configured_keys()).items()
        return cls(known | {key_id: one for key_id, one in mine if one.revoked is not None})


def sign(hashes: Mapping[str, str], key: SigningKey) -> bytes:
    """The content of `signature.json` for files with these hashes."""
    subject = [{"name": n, "digest": {"sha256": h}} for n, h in sorted(hashes.items()) if n != SIGNATURE]
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": subject,
        "predicateType": PREDICATE_TYPE,
        "predicate": {"signed": today().isoformat()},
    }
    payload = json.dumps(statement, ensure_ascii=False, separators=(",", ":")).encode()
    signature = {
        "keyid": key.public.id,
        "public": _text(key.public.public),
        "sig": _text(key.sign(encoded(PAYLOAD_TYPE, payload))),
    }
    envelope = {"payload": _text(payload), "payloadType": PAYLOAD_TYPE, "signatures": [signature]}
    return (json.dumps(envelope, indent=1) + "\n").encode()


def encoded(kind: str, payload: bytes) -> bytes:
    """What is really signed: DSSE's encoding of payload and type, which nothing else can be mistaken for."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def judge(inventory: Inventory, trust: Trust, *, needed: bool = False, on: date | None = None) -> Signed:
    """Whether the folder is signed, by whom, and whether that counts.

    Without the cryptography package a signature stays unchecked, unless it is `needed`; then its lack is a UsageError.
    """
    if SIGNATURE not in inventory.files:
        return Signed(Standing.UNSIGNED, "but signed by nobody: who made it cannot be known")
    try:
        payload, carried, signature = _opened(inventory.read(SIGNATURE))
        missing = _uncovered(payload, {n: h for n, h in inventory.hashes.items() if n != SIGNATURE})
    except (StrangeFileError, UsageError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = str(error) if isinstance(error, StrangeFileError | UsageError) else "is not a signature of a release"
        return Signed(Standing.BROKEN, why)
    if missing:
        return Signed(Standing.BROKEN, missing)
    try:
        ed25519 = crypto()
    except UsageError as error:
        if needed:
            raise
        return Signed(Standing.UNCHECKED, f"and carries a signature that was not checked: {error}", key=carried.id)
    if not _fits(ed25519, carried, encoded(PAYLOAD_TYPE, payload), signature):
        return Signed(Standing.BROKEN, "does not fit the files and the key it carries")
    return _standing(carried.id, trust, on or today())


def _standing(key_id: str, trust: Trust, on: date) -> Signed:
    key = trust.keys.get(key_id)
    if key is None:
        words = f"but signed by a key you do not trust ({key_id})"
        return Signed(Standing.UNTRUSTED, words, key=key_id)
    whose = f"{key.name} (key {key_id[:16]})"
    if key.revoked is not None:
        return Signed(Standing.REVOKED, f"but signed by {whose} with a key revoked on {key.revoked}", key.name, key_id)
    if key.expired(on):
        return Signed(
            Standing.EXPIRED, f"but signed by {whose} with a key that expired on {key.expires}", key.name, key_id
        )
    return Signed(Standing.SIGNED, f"and signed by {whose}", key.name, key_id)


def _opened(text: bytes) -> tuple[bytes, PublicKey, bytes]:
    """Payload, the key it claims and the signature; whatever is not as `sign` writes it raises."""
    envelope: Any = parse_json(text)
    (signature,) = envelope["signatures"]
    if envelope["payloadType"] != PAYLOAD_TYPE or set(envelope) != {"payload", "payloadType", "signatures"}:
        raise StrangeFileError("is not a signature of a release")
    carried = PublicKey("-", decoded(signature["public"]), "")
    if signature["keyid"] != carried.id:
        raise StrangeFileError("names another key than it carries")
    return decoded(envelope["payload"]), carried, decoded(signature["sig"])


def _uncovered(payload: bytes, hashes: Mapping[str, str]) -> str:
    """Why the statement is not about these files; empty if it is."""
    statement: Any = parse_json(payload)
    if statement["_type"] != STATEMENT_TYPE or statement["predicateType"] != PREDICATE_TYPE:
        return "is not about a release"
    subjects = [(str(one["name"]), str(one["digest"]["sha256"])) for one in statement["subject"]]
    signed = dict(subjects)
    if len(signed) != len(subjects):
        return "names a file twice"
    for name in sorted({*signed, *hashes}):
        if name not in hashes:
            return f"covers {name}, which is not here"
        if name not in signed:
            return f"does not cover {name}"
        if signed[name] != hashes[name]:
            return f"is of another {name}"
    return ""


def _fits(ed25519: Any, key: PublicKey, message: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key.public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
