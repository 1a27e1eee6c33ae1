"""Parts of the release folder: sizes of chunks, tasks side by side, tables and pictures as files."""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import OutputError
from kagemusha.folder.pictures import grid, png
from kagemusha.folder.stream import _side_by_side, _split
from kagemusha.folder.table_file import escaped, find_formulas, spreadsheet_safe, table_check, write_tables
from kagemusha.schema import Boolean, Category, Drop, Integer, Schema, Surrogate


@given(st.integers(1, 10**9), st.integers(1, 10**7))
def test_chunks_are_of_nearly_one_size_and_none_is_too_large(count: int, step: int) -> None:
    if count / step > 10_000:
        step = count // 100 + 1
    sizes = _split(count, step)
    assert sum(sizes) == count
    assert max(sizes) <= step
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == -(-count // step), "as few as may be"


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_results_come_in_order_and_few_wait(jobs: int) -> None:
    """Later tasks that are done sooner wait for earlier ones, and no more are begun than are asked for."""
    begun: list[int] = []
    gate = threading.Event()

    def task(i: int) -> Callable[[], int]:
        def run() -> int:
            if i == 0 and jobs > 1:
                gate.wait(5)
            if i == 1:
                gate.set()
            return i

        return run

    def tasks() -> Iterator[Callable[[], int]]:
        for i in range(20):
            begun.append(i)
            yield task(i)

    found = []
    for result in _side_by_side(tasks(), jobs):
        found.append(result)
        assert len(begun) <= len(found) + jobs + 1
    assert found == list(range(20))


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_error_comes_where_its_result_would(jobs: int) -> None:
    def fails() -> int:
        raise ValueError("the third")

    results = _side_by_side(iter([lambda: 0, lambda: 1, fails, lambda: 3]), jobs)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="the third"):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


CELL = st.one_of(st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(-9, 9), CELL), max_size=5), min_size=1, max_size=4))
def test_chunks_in_a_file_are_the_table(tmp_path_factory: pytest.TempPathFactory, chunks: list[Any]) -> None:
    schema = pa.schema([("n", pa.int64()), ("t", pa.string())])
    tables = [pa.table([[r[0] for r in rows], [r[1] for r in rows]], schema=schema) for rows in chunks]
    folder = tmp_path_factory.mktemp("t")
    whole = pa.concat_tables(tables)
    for name in ("t.parquet", "t.csv"):
        assert write_tables(iter(tables), folder / name) == whole.num_rows
        assert [p.name for p in folder.iterdir() if p.suffix == ".part"] == []
    assert pq.read_table(folder / "t.parquet").to_pylist() == whole.to_pylist()
    options = pc.ConvertOptions(
        column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]
    )
    parse = pc.ParseOptions(newlines_in_values=True)
    assert pc.read_csv(folder / "t.csv", convert_options=options, parse_options=parse).to_pylist() == whole.to_pylist()


def test_what_breaks_while_drawing_is_what_is_told_and_no_part_stays(tmp_path: Path) -> None:
    def tables() -> Iterator[pa.Table]:
        yield pa.table({"n": [1]})
        raise OutputError("drawing broke")

    (tmp_path / "t.csv").write_text("what was there")
    with pytest.raises(OutputError, match="drawing broke"):
        write_tables(tables(), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "what was there"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


SCHEMA = Schema(
    [
        Drop("id"),
        Surrogate("=nr", prefix="-x"),
        Category("c", categories=("+a", "b")),
        Integer("n", lower=0, upper=9),
        Boolean("@b"),
    ]
)


def test_where_formulas_may_be_and_what_is_said() -> None:
    found = find_formulas(SCHEMA)
    assert (found.columns, found.names) == (["=nr", "c"], ["=nr", "@b"])
    assert found.in_words().startswith("columns '=nr', 'c', '@b': ")
    assert find_formulas(Schema([Integer("n", lower=-9, upper=9)])).in_words() == ""


@given(st.text(alphabet="=+-@'\t\r\n1.a ", max_size=6))
def test_an_apostrophe_more_is_taken_away_again(text: str) -> None:
    safe = escaped(text)
    assert safe in (text, f"'{text}")
    table = spreadsheet_safe(pa.table({"t": [text]}))
    assert table["t"].to_pylist() == [safe], "columns and names by one rule"
    unquoted = safe.lstrip("'")
    number = unquoted.replace(".", "", 1).lstrip("+-").isdigit()
    assert safe[:1] not in set("=+-@\t\r\n") or number


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_has_the_columns_of_its_schema_in_order(suffix: str, tmp_path: Path) -> None:
    names = ["=nr", "c", "n", "@b"]
    path = tmp_path / f"t{suffix}"
    for columns, fine in (
        (names, True),
        ([escaped(n) for n in names], True),
        (names[::-1], False),
        (names[:3], False),
        (["id", *names], False),
    ):
        write_tables(iter([pa.table({n: ["x"] for n in columns})]), path)
        assert table_check(path, SCHEMA).passed is fine, columns
    path.write_bytes(b"")
    assert not table_check(path, SCHEMA).passed
    assert not table_check(tmp_path / f"none{suffix}", SCHEMA).passed


def unpacked(image: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The pixels of a PNG file, by its standard: chunks with checksums, lines without filter."""
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, header = 8, b"", b""
    kinds = []
    while at < len(image):
        (length,) = struct.unpack(">I", image[at : at + 4])
        kind, body = image[at + 4 : at + 8], image[at + 8 : at + 8 + length]
        assert struct.unpack(">I", image[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        kinds.append(kind)
        header, data = (body, data) if kind == b"IHDR" else (header, data + body)
        at += 12 + length
    assert kinds[0] == b"IHDR"
    assert kinds[-1] == b"IEND"
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    assert depth == 8
    channels = {0: 1, 2: 3}[colour]
    lines = np.frombuffer(zlib.decompress(data), dtype=np.uint8).reshape(height, 1 + width * channels)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_side_by_side_come_back_from_their_file(channels: int) -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (6, 4, 5, channels), dtype=np.uint8)
    whole = grid(pictures, 3)
    assert whole.shape == (8, 15, channels)
    for i in range(6):
        row, column = divmod(i, 3)
        assert np.array_equal(whole[4 * row : 4 * row + 4, 5 * column : 5 * column + 5], pictures[i])
    assert np.array_equal(unpacked(png(whole)), whole)
