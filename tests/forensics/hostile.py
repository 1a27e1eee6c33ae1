"""Model files as attackers would write them."""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

Header = dict[str, Any]
Arrays = dict[str, np.ndarray[Any, Any]]
HOSTILE: dict[str, Callable[[Path, Header, Arrays], None]] = {}


def unpack(path: Path) -> tuple[Header, Arrays]:
    """Header and arrays of an honest model."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("model.json"))
        arrays = {n: np.load(io.BytesIO(archive.read(f"arrays/{n}.npy"))) for n in header["arrays"]}
    return header, arrays


def npy(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def announce(header: Header, arrays: Arrays) -> Header:
    """The header with the arrays as they are now."""
    specs = {name: {"dtype": a.dtype.str, "shape": list(a.shape)} for name, a in arrays.items()}
    own = [n for n in arrays if n.split(".")[0] in ("potential", "mean", "factor", "places")]
    generator = header["generator"]
    return {**header, "arrays": specs, "generator": {**generator, "arrays": own} if generator else generator}


def pack(path: Path, header: Any, arrays: Arrays, *, packing: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("model.json", json.dumps(header))
        for name, array in arrays.items():
            archive.writestr(f"arrays/{name}.npy", npy(array))


def hostile(name: str) -> Callable[[Callable[[Path, Header, Arrays], None]], None]:
    """Under this name the tests show it."""

    def add(make: Callable[[Path, Header, Arrays], None]) -> None:
        HOSTILE[name] = make

    return add


def edited(change: Callable[[Header, Arrays], None]) -> Callable[[Path, Header, Arrays], None]:
    """An otherwise honest file with some parts changed, all sizes announced truly."""

    def make(path: Path, header: Header, arrays: Arrays) -> None:
        change(header, arrays)
        pack(path, announce(header, arrays), arrays)

    return make


# size


@hostile("a bomb of zeros, announced")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    """A gigabyte in a megabyte; written block by block, without ever holding it."""
    blocks, size = 60, 1 << 24
    shape = (blocks * size // 8,)
    header["arrays"]["potential.0"] = {"dtype": "<f8", "shape": list(shape)}
    front = io.BytesIO()
    np.lib.format.write_array_header_1_0(front, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("model.json", json.dumps(header))
        with archive.open("arrays/potential.0.npy", "w", force_zip64=False) as member:
            member.write(front.getvalue())
            for _ in range(blocks):
                member.write(bytes(size))


@hostile("a bomb that says it is small")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    arrays["potential.0"] = np.zeros(20_000_000)
    pack(path, header, arrays)  # the header still announces the honest shape
    _lie(path, "arrays/potential.0.npy", 152)


@hostile("a bomb in the description")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", "[" + "[]," * 30_000_000 + "[]]")


@hostile("five million empty lists")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", "[" + "[]," * 5_000_000 + "[]]")


@hostile("a bomb packed by other means")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    arrays["potential.0"] = np.zeros(20_000_000)
    pack(path, announce(header, arrays), arrays, packing=zipfile.ZIP_BZIP2)


@hostile("a hundred thousand empty members")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(100_000):
            archive.writestr(f"{i}", b"")


@hostile("a directory that says it is huge")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    pack(path, header, arrays)
    data = bytearray(path.read_bytes())
    data[-10:-6] = struct.pack("<L", 0xFFFFFF00)
    path.write_bytes(bytes(data))


@hostile("a comment after the end")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    pack(path, header, arrays)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"x" * 60_000


@hostile("a dense clique made of pairs")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    names = [f"c{i}" for i in range(30)]
    pairs = list(combinations(names, 2))
    meta = {"names": names, "sizes": [2] * 30, "total": 100.0, "cliques": [list(p) for p in pairs], "hidden": []}
    arrays = {f"potential.{i}": np.zeros((2, 2)) for i in range(len(pairs))}
    header["generator"] = {"kind": "markov-field", "meta": meta}
    pack(path, announce(header, arrays), arrays)


@hostile("as many zeros as may be, in a dense clique of huge tables")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    names = [f"c{i}" for i in range(8)]
    pairs = list(combinations(names, 2))
    meta = {"names": names, "sizes": [260] * 8, "total": 100.0, "cliques": [list(p) for p in pairs], "hidden": []}
    arrays = {f"potential.{i}": np.zeros((260, 260)) for i in range(len(pairs))}
    header["generator"] = {"kind": "markov-field", "meta": meta}
    pack(path, announce(header, arrays), arrays)


@hostile("one column of a trillion codes that no array holds")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    meta = {"names": ["a"], "sizes": [10**12], "total": 1.0, "cliques": [], "hidden": []}
    header["generator"] = {"kind": "markov-field", "meta": meta}
    pack(path, announce(header, {}), {})


@hostile("a member twice")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    import warnings

    pack(path, header, arrays)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("model.json", json.dumps({**header, "like": "polars"}))


@hostile("an array that nobody announced")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    pack(path, header, {**arrays, "more": np.zeros(3)})


@hostile("an array that is not there")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    header["arrays"]["more"] = {"dtype": "<f8", "shape": [3]}
    pack(path, header, arrays)


@hostile("an array shorter than it says")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(header))
        for name, array in arrays.items():
            archive.writestr(f"arrays/{name}.npy", npy(array)[:-4])


@hostile("arrays of objects")
def _(path: Path, header: Header, arrays: Arrays) -> None:
    arrays["potential.0"] = np.array([print, 2, 3], dtype=object)
    pack(path, announce(header, arrays), arrays)


def _lie(path: Path, name: str, size: int) -> None:
    """Another size in the directory and before the member itself."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(name)
        begin = archive.start_dir
    data = bytearray(path.read_bytes())
    data[info.header_offset + 22 : info.header_offset + 26] = struct.pack("<L", size)
    at = data.index(name.encode(), begin) - 46
    data[at + 24 : at + 28] = struct.pack("<L", size)
    path.write_bytes(bytes(data))


# numbers


def first(value: float) -> Callable[[Header, Arrays], None]:
    def change(header: Header, arrays: Arrays) -> None:
        arrays["potential.0"] = arrays["potential.0"].copy()
        arrays["potential.0"].flat[0] = value

    return change


def total(value: Any) -> Callable[[Header, Arrays], None]:
    return lambda header, arrays: header["generator"]["meta"].update(total=value)


def meta(**values: Any) -> Callable[[Header, Arrays], None]:
    return lambda header, arrays: header["generator"]["meta"].update(values)


def replaced(
    name: str, make: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
) -> Callable[[Header, Arrays], None]:
    return lambda header, arrays: arrays.update({name: make(arrays[name])})


for words, value in {"not a number": math.nan, "infinite": math.inf, "far too large": 1e300}.items():
    hostile(f"a potential that is {words}")(edited(first(value)))
for value in (math.nan, math.inf, -5, 0, 1e300, "5", None, [], 10**400):
    hostile(f"a total of {str(value)[:8]!r}")(edited(total(value)))

hostile("potentials that rule out everything")(edited(replaced("potential.0", lambda a: np.full_like(a, -np.inf))))
hostile("potentials of another shape")(edited(replaced("potential.0", lambda a: a[:-1])))
hostile("a size that is no whole number")(edited(meta(sizes=[2.5] * 8)))
hostile("a size that is negative")(edited(meta(sizes=[-2] * 8)))
hostile("names that are no texts")(edited(meta(names=list(range(8)))))
hostile("cliques of columns that are not there")(edited(meta(cliques=[["nobody"]])))
hostile("a clique twice")(edited(lambda h, a: h["generator"]["meta"]["cliques"].append(["sex"])))
hostile("hidden columns that are not the last")(edited(meta(hidden=["sex"])))
hostile("no description of the generator")(edited(lambda h, a: h.update(generator=[])))
hostile("an unknown generator")(edited(lambda h, a: h["generator"].update(kind="oracle")))
hostile("a field that no model has")(edited(lambda h, a: h.update(run="rm -rf")))
hostile("another library than we know")(edited(lambda h, a: h.update(like="os")))
hostile("a schema of other columns")(edited(lambda h, a: h["schema"]["columns"].pop()))
hostile("a certificate that is none")(edited(lambda h, a: h.update(certificate="{}")))

hostile("a measurement of floats")(edited(replaced("measurement.0", lambda a: a.astype(float))))
hostile("a measurement of another shape")(edited(replaced("measurement.0", lambda a: a[:-1])))
hostile("a measurement whose σ is not a number")(edited(lambda h, a: h["measurements"][0].update(sigma=math.nan)))
hostile("a measurement whose σ is negative")(edited(lambda h, a: h["measurements"][0].update(sigma=-1.0)))
hostile("a measurement of no column")(edited(lambda h, a: h["measurements"][0].update(clique=["nobody"])))
hostile("a measurement of one column twice")(edited(lambda h, a: h["measurements"][0].update(clique=["sex", "sex"])))
hostile("groups beyond the codes")(edited(replaced("scores.group.0", lambda a: a + 10**6)))
hostile("groups below zero")(edited(replaced("scores.group.0", lambda a: a - 1)))
hostile("groups with gaps")(edited(replaced("scores.group.2", lambda a: np.where(a == 1, 0, a))))
hostile("groups of too few codes")(edited(replaced("scores.group.0", lambda a: a[:-1])))
hostile("a score that is not a number")(edited(replaced("scores", lambda a: a * math.nan)))
hostile("scores of pairs that are not there")(edited(replaced("scores.pairs", lambda a: a + 100)))
hostile("scores of no pairs")(
    edited(lambda h, a: a.update({"scores": np.zeros(0), "scores.pairs": np.zeros((0, 2), int)}))
)
hostile("an infinite interaction")(edited(replaced("interaction.0", lambda a: a / 0.0)))
hostile("an interaction whose groups are beyond its codes")(edited(replaced("interaction.0.group.0", lambda a: a + 9)))
hostile("an interaction of another shape")(edited(replaced("interaction.0", lambda a: a[:-1])))
hostile("a round that says more than rounds do")(edited(lambda h, a: h["trace"][0].update(run="x")))
hostile("a round of text")(edited(lambda h, a: h["trace"][0].update(sigma="x")))
