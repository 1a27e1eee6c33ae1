"""Keys that sign releases (Ed25519).

The private one in a file of its own, the public one beside it, and whom one trusts. A key is known by its id, the
SHA-256 of the public key as certificates of the web hold it (SubjectPublicKeyInfo). Its name and the last day it is
valid stand in the public file; what counts is what the reader's own list of trusted keys says.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagemusha.certificate.inventory import CERTIFICATE
from kagemusha.errors import OutputError, UsageError
from kagemusha.files import StrangeFileError, open_regular, os_flags, parse_json, write_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_FORMAT = "kagemusha-key/1"
LIST_FORMAT = "kagemusha-trusted-keys/1"
_SPKI = bytes.fromhex("302a300506032b6570032100")
"""How the DER form of every Ed25519 public key begins."""

_MOST_BYTES = 4 << 20
_MOST_NAME = 200


def crypto() -> Any:
    """The Ed25519 module of the cryptography package, or an error that says what to install."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise UsageError("signatures need the cryptography package: pip install 'kagemusha[sign]'") from None
    return ed25519


def today() -> date:
    """The day it is, the same everywhere."""
    return datetime.now(UTC).date()


@dataclass(frozen=True)
class PublicKey:
    """A public key and what its owner, or whoever trusts it, says of it."""

    name: str
    public: bytes
    created: str
    expires: str | None = None
    """The last day on which it is valid; None if it always is."""
    revoked: str | None = None
    """Since when and why it is no longer trusted."""

    def __post_init__(self) -> None:
        if len(self.public) != 32:
            raise UsageError(f"an Ed25519 public key has 32 bytes, got {len(self.public)}")
        if not (0 < len(self.name.strip()) <= _MOST_NAME and self.name.isprintable()):
            raise UsageError(f"the name of a key must be a text of 1 to {_MOST_NAME} characters on one line")
        if self.expires is not None:
            _day(self.expires)

    @property
    def id(self) -> str:
        """SHA-256 of the public key, in hexadecimal digits."""
        return hashlib.sha256(_SPKI + self.public).hexdigest()

    def expired(self, on: date) -> bool:
        """Whether its last day is over."""
        return self.expires is not None and on > _day(self.expires)

    def to_json(self) -> dict[str, Any]:
        """What is written down of it."""
        public = base64.b64encode(self.public).decode()
        fields = {"id": self.id, "name": self.name, "created": self.created, "expires": self.expires, "public": public}
        return fields if self.revoked is None else {**fields, "revoked": self.revoked}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PublicKey:
        """The key `to_json` wrote; a UsageError if anything does not fit."""
        texts = [data.get(field) for field in ("id", "name", "created", "public")]
        rest = [data.get(field) for field in ("expires", "revoked")]
        if not all(isinstance(t, str) for t in texts) or not all(t is None or isinstance(t, str) for t in rest):
            raise UsageError("a key needs id, name, created and public, all texts")
        key = cls(data["name"], decoded(data["public"]), data["created"], *rest)
        if key.id != data["id"]:
            raise UsageError("the id is not that of the public key")
        return key


def decoded(text: str) -> bytes:
    """The bytes behind base64; a UsageError if it is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError("not base64") from None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"expires must be a day such as 2030-12-31, got {text!r}") from None


@dataclass(frozen=True)
class SigningKey:
    """A private key, and the public one that goes with it."""

    public: PublicKey
    private: Ed25519PrivateKey

    def sign(self, message: bytes) -> bytes:
        """The signature of a message."""
        return self.private.sign(message)


def public_file(key: Path) -> Path:
    """Where the public key of a private one lies."""
    return key.with_name(key.name + ".pub")


def new_key(path: Path, name: str, expires: str | None = None) -> PublicKey:
    """Make a key: the private one at `path`, readable by its owner alone, the public one beside it.

    Replaces nothing.
    """
    ed25519 = crypto()
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    _refuse_in_release(path)
    for taken in (path, public_file(path)):
        if taken.exists() or taken.is_symlink():
            raise UsageError(f"{taken} already exists; a key replaces nothing, choose another --out")
    private = ed25519.Ed25519PrivateKey.generate()
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    key = PublicKey(name, raw, today().isoformat(), expires)
    if key.expired(today()):
        raise UsageError(f"--expires {expires} lies in the past")
    _write_private(path, private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    write_whole(public_file(path), _text({"format": KEY_FORMAT, **key.to_json()}))
    return key


def _write_private(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os_flags("O_NOFOLLOW"), 0o600)
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(f"{path}: could not be written ({error.strerror})") from None


def load_signing_key(path: Path) -> SigningKey:
    """The private key at `path` with the public file beside it: refused if others may read it, or if it has expired."""
    ed25519 = crypto()
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    _refuse_in_release(path)
    try:
        with open_regular(path, follow=True) as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(1 << 16)
    except (OSError, StrangeFileError) as error:
        raise UsageError(f"key {path}: {_why(error)}") from None
    if os.name == "posix" and mode & 0o077:
        raise UsageError(f"key {path}: others may read or change it (mode {mode:o}); make it private with chmod 600")
    try:
        private = load_pem_private_key(data, password=None)
    except Exception:  # the library has many ways to say so
        raise UsageError(f"key {path}: not a private key in PEM form without a password") from None
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise UsageError(f"key {path}: not an Ed25519 key")
    public = load_public_key(public_file(path))
    if private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) != public.public:
        raise UsageError(f"key {path}: {public_file(path).name} is the public file of another key")
    if public.expired(today()):
        raise UsageError(f"key {path}: expired on {public.expires}; make a new one")
    return SigningKey(public, private)


def load_public_key(path: Path) -> PublicKey:
    """A public key file; anything else is a UsageError."""
    try:
        data = _read(path)
        if not isinstance(data, dict) or data.get("format") != KEY_FORMAT:
            raise UsageError(f"not a public key of the format {KEY_FORMAT}")
        return PublicKey.from_json(data)
    except UsageError as error:
        raise UsageError(f"key {path}: {error}") from None


def _refuse_in_release(path: Path) -> None:
    """What lies in a release is handed out."""
    for folder in path.absolute().resolve().parents:
        if (folder / CERTIFICATE).exists():
            raise UsageError(f"key {path}: a private key must not lie in a release folder, {folder} is one")


def load_trusted(path: Path) -> dict[str, PublicKey]:
    """Trusted and revoked keys by their ids; an absent file lists none."""
    if not path.exists():
        return {}
    try:
        data = _read(path)
        if not isinstance(data, dict) or data.get("format") != LIST_FORMAT or not isinstance(data.get("keys"), list):
            raise UsageError(f"not a list of trusted keys of the format {LIST_FORMAT}")
        keys = [PublicKey.from_json(entry if isinstance(entry, dict) else {}) for entry in data["keys"]]
    except UsageError as error:
        raise UsageError(f"trusted keys {path}: {error}") from None
    keys.sort(key=lambda key: key.revoked is not None)  # of a key that is listed twice, the revoked line counts
    return {key.id: key for key in keys}


def configured_keys() -> Path:
    """The reader's own list of trusted keys, in the configuration folder; it need not exist."""
    from typer import get_app_dir

    return Path(get_app_dir("kagemusha")) / "trusted-keys.json"


def save_trusted(path: Path, keys: Mapping[str, PublicKey]) -> None:
    """Write the list, whole or not at all."""
    write_whole(path, _text({"format": LIST_FORMAT, "keys": [key.to_json() for key in keys.values()]}))


def revoke(key: PublicKey, because: str) -> PublicKey:
    """The same key, no longer trusted from today on."""
    return replace(key, revoked=f"{today().isoformat()}: {because}")


def _read(path: Path) -> Any:
    try:
        with open_regular(path, follow=True) as file:
            return parse_json(file.read(_MOST_BYTES))
    except (OSError, ValueError) as error:
        raise UsageError(_why(error)) from None


def _why(error: Exception) -> str:
    if isinstance(error, StrangeFileError):
        return str(error)
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "is not JSON"


def _text(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()
