"""Files of every kind, damaged at random: each loader reads them or refuses them in our words.

    python tests/forensics/fuzz_loaders.py 1000

breaks so many files of each kind and counts what came of it. No other error may leave a loader, no value of a table may
stand in a message, no case may take long, and memory stays bounded.
"""

from __future__ import annotations

import copy
import io
import json
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from forgeries import honest, key, signed

from kagemusha.certificate.inventory import Inventory
from kagemusha.certificate.keys import load_public_key, load_trusted, public_file, save_trusted
from kagemusha.certificate.signature import Standing, Trust, judge
from kagemusha.errors import KagemushaError
from kagemusha.folder.pictures import png
from kagemusha.forensics.verify import verify_release
from kagemusha.models.model import load_model
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.images import image_schema
from kagemusha.sources import open_source
from kagemusha.sources.images import open_images

CANARY = "Zyxwv-canary-8417"
SLOW = 20.0
"""Seconds that no case may take."""
TABLE = Schema([Category("name", categories=("a", "b")), Integer("age", lower=0, upper=99, missing=True)])
PICTURES = image_schema(4, 5, classes=3)
PIECES = [
    b"", b"\0", b"\xff" * 8, b"\n", b"\r", b'"', b",", b"{", b"[", b"[" * 3000, b"{" * 3000, b"9" * 400, b"-1",
    b"1e999",
    b"NaN", b"inf", b"null", b"true", b"\xc2\xb2", b"\xed\xa0\x80", b"99999999999999999999", b"()", b"..",
    b"/dev/zero", b"'''",
    b"(9**9,)", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x00\x00\xc3\x50", b"PK\x03\x04", b"PAR1", b"\x1b[2J",
]  # fmt: skip
"""What is put into files: limits of numbers, nesting, ends of texts, beginnings of other formats."""


def broken(content: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one to four changes."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(data) + 1))
        end = min(len(data), at + int(rng.integers(0, 1 + rng.choice([1, 8, 300]))))
        kind = int(rng.integers(0, 6))
        if kind == 0:
            data[at:end] = rng.bytes(end - at)
        elif kind == 1:
            data[at:end] = PIECES[int(rng.integers(len(PIECES)))]
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:at] = data[at:end] * int(rng.choice([1, 2, 50]))
        elif kind == 4 and at < len(data):
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif rng.random() < 0.2:
            del data[at:]
    return bytes(data)


def broken_json(content: bytes, rng: np.random.Generator) -> bytes:
    """Half of the time the values are changed instead of the bytes, so that what is read gets further."""
    if rng.random() < 0.5:
        return broken(content, rng)
    data = json.loads(content)
    odd = [None, True, -1, 0, 1e308, 10**30, "", "x" * 5000, [], {}, [[]] * 50, "inf", "²", "../x", {"a": {"a": {}}}]
    for _ in range(int(rng.integers(1, 4))):
        place = data
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            at = keys[int(rng.integers(len(keys)))]
            if isinstance(place[at], dict | list) and place[at] and rng.random() < 0.8:
                place = place[at]
                continue
            place[at] = copy.deepcopy(odd[int(rng.integers(len(odd)))])
            break
    return json.dumps(data).encode()


@dataclass(frozen=True)
class Loader:
    """A kind of file: an honest one, and what reads it."""

    name: str
    content: bytes
    load: Callable[[Path], object]
    breaks: Callable[[bytes, np.random.Generator], bytes] = broken
    never_fails: bool = False


def _stored(columns: Mapping[str, object]) -> bytes:
    made = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), made)
    return made.getvalue()


def _pictures(x: np.ndarray, y: np.ndarray) -> bytes:
    made = io.BytesIO()
    np.savez_compressed(made, x=x, y=y)
    return made.getvalue()


def loaders(folder: Path) -> list[Loader]:
    """One of each kind, and an honest release around those that need one."""
    release = honest(folder / "release")
    known = load_public_key(public_file(key(release, "hospital")))
    trusted = folder / "trusted.json"
    save_trusted(trusted, {known.id: known})
    rng = np.random.default_rng(0)
    table = {"name": [CANARY, "a", "b"] * 30, "age": list(range(90))}
    csv = "name,age\n" + "".join(f'"{n}",{a}\n' for n, a in zip(*table.values(), strict=True))
    x, y = rng.integers(0, 255, (9, 4, 5)).astype(np.uint8), rng.integers(0, 3, 9)

    def count(path: Path) -> object:
        return open_source(path, TABLE).count([("name", "age")])

    def certificate(path: Path) -> object:
        shutil.copytree(release, path.parent / "release", dirs_exist_ok=True)
        shutil.copy(path, path.parent / "release" / "certificate.json")
        verdict = verify_release(path.parent / "release")
        assert not verdict.intact or path.read_bytes() == made["certificate.json"]
        return verdict

    def in_folder(path: Path) -> object:
        (path.parent / "1").mkdir(exist_ok=True)
        shutil.copy(path, path.parent / "1" / "p.png")
        return open_images(path.parent, PICTURES)

    def signature(path: Path) -> object:
        shutil.copytree(release, path.parent / "release", dirs_exist_ok=True)
        shutil.copy(path, path.parent / "release" / "signature.json")
        judged = judge(Inventory.of(path.parent / "release"), Trust({known.id: known}))
        assert judged.standing is not Standing.SIGNED or json.loads(path.read_bytes()) == json.loads(vouched)
        return judged

    signed(release)
    vouched = (release / "signature.json").read_bytes()
    (release / "signature.json").unlink()
    made = {name: (release / name).read_bytes() for name in ("certificate.json", "model.kage", "schema.toml")}
    return [
        Loader("t.csv", csv.encode(), count),
        Loader("t.parquet", _stored(table), count),
        Loader("p.npz", _pictures(x, y), lambda path: open_images(path, PICTURES)),
        Loader("p.png", png(x[0][..., None]), in_folder, never_fails=True),
        Loader("schema.toml", made["schema.toml"], Schema.load),
        Loader("model.kage", made["model.kage"], load_model),
        Loader("certificate.json", made["certificate.json"], certificate, broken_json),
        Loader("signature.json", vouched, signature, broken_json),
        Loader("trusted.json", trusted.read_bytes(), load_trusted, broken_json),
        Loader("key.pub", public_file(key(release, "hospital")).read_bytes(), load_public_key, broken_json),
    ]


def tried(loader: Loader, cases: int, folder: Path) -> Counter[str]:
    """How many broken files were read, refused, and what else came of them; of that, the first is printed."""
    rng = np.random.default_rng([cases, *loader.name.encode()])
    found = Counter[str]()
    for number in range(cases):
        place = folder / f"{loader.name}-{number}"
        place.mkdir()
        path = place / loader.name
        path.write_bytes(loader.breaks(loader.content, rng))
        begun = time.perf_counter()
        try:
            loader.load(path)
            outcome = "read"
        except KagemushaError as error:
            quoted = CANARY in "".join(traceback.format_exception(error))
            outcome = "a value in the message" if quoted else "an error" if loader.never_fails else "refused"
        except Exception as error:
            outcome = f"{type(error).__name__}"
            if outcome not in found:
                traceback.print_exc()
        if time.perf_counter() - begun > SLOW:
            outcome = "slow"
        found[outcome] += 1
        shutil.rmtree(place)
    return found


def main(cases: int) -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        for loader in loaders(Path(name)):
            begun = time.perf_counter()
            found = tried(loader, cases, Path(name))
            wrong += sum(times for outcome, times in found.items() if outcome not in ("read", "refused"))
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print(f"{loader.name}: {dict(found)}, {time.perf_counter() - begun:.0f} s, {most} MB at most", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
