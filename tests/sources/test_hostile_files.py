"""Files made to hurt: each is read by the schema's rules, or refused in our words without a value in them."""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable
from datetime import date, time
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kagemusha.errors import DataError, SchemaError
from kagemusha.proposal import propose
from kagemusha.schema import Category, Drop, Integer, Schema
from kagemusha.schema.constraints import read_list
from kagemusha.schema.images import image_schema
from kagemusha.sources import open_source
from kagemusha.sources.header import connect
from kagemusha.sources.images import open_images
from kagemusha.sources.rawfile import DOCUMENTS

CANARY = "Zyxwv-canary-8417"
C = CANARY.encode()
SCHEMA = Schema([Category("name", categories=("a", "b")), Integer("age", lower=0, upper=99, missing=True)])
GOOD = b"name,age\n" + b"%s,12\n" % C * 3

Maker = Callable[[Path], Path]


def raw(content: bytes, name: str = "t.csv") -> Maker:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content)
        return path

    return make


def parquet(columns: dict[str, object], cut: int | None = None) -> Maker:
    def make(folder: Path) -> Path:
        path = folder / "t.parquet"
        pq.write_table(pa.table(columns), path)
        if cut is not None:
            path.write_bytes(path.read_bytes()[:cut])
        return path

    return make


def inside_damaged(folder: Path) -> Path:
    path = parquet({"name": [f"{CANARY}{i}" for i in range(5000)], "age": list(range(5000))})(folder)
    content = bytearray(path.read_bytes())
    content[100:2000] = b"\xff" * 1900
    path.write_bytes(bytes(content))
    return path


PAIR = {"name": [CANARY, "a"], "age": [1, 2]}
REFUSED: dict[str, tuple[Maker, str]] = {
    "absent": (lambda folder: folder / "absent.csv", "no such file"),
    "absent parquet": (lambda folder: folder / "absent.parquet", "no such file"),
    "directory": (lambda folder: folder, "directory"),
    "a NUL in the path": (lambda folder: folder / "a\0b.csv", "no such file"),
    "empty": (raw(b""), "empty"),
    "empty parquet": (raw(b"", "t.parquet"), "empty"),
    "newlines only": (raw(b"\n\n\n"), "header"),
    "BOM only": (raw(b"\xef\xbb\xbf"), "header"),
    "short row": (raw(GOOD + C + b"\n"), "line 5 has 1 fields where the header has 2"),
    "long row": (raw(GOOD + C + b",1,2\n"), "line 5 has 3 fields where the header has 2"),
    "row of spaces": (raw(GOOD + b"   \n"), "fields"),
    "long first row": (raw(b"name,age\n%s,1,%s\n" % (C, C)), "fields"),
    "late short row": (raw(GOOD * 1 + b"a,1\n" * 200_000 + C + b"\n"), "line 200005"),
    "twice the same name": (raw(b"name,age,name\n%s,1,2\n" % C), "'name_2' that the schema does not declare"),
    "UTF-16 cut short": (raw((GOOD * 9).decode().encode("utf-16")[:-1]), "damaged"),
    "UTF-16 without mark": (raw(GOOD.decode().encode("utf-16-le")), "UTF-16"),
    "UTF-32": (raw(GOOD.decode().encode("utf-32")), "UTF-16"),
    "latin-1 in a row": (raw(GOOD + C + b"\xe9,3\n"), "not UTF-8"),
    "latin-1 in the header": (raw(b"n\xe9me,age\n%s,1\n" % C), "not UTF-8"),
    "shift-jis": (raw("name,age\n影武者,1\n".encode("shift-jis") + C + b",1\n"), "not UTF-8"),
    "overlong UTF-8": (raw(GOOD + C + b"\xc0\xaf,3\n"), "not UTF-8"),
    "NUL in a row": (raw(GOOD + b"%s\0,1\n" % C), "NUL"),
    "NUL in the header": (raw(b"na\0me,age\n%s,1\n" % C), "NUL"),
    "unclosed quote": (raw(GOOD + b'"%s,1\n' % C), "quotation mark"),
    "text after a quote": (raw(GOOD + b'"%s"x,1\n' % C), "quotation mark"),
    "unclosed quote in the header": (raw(b'name,"age\n%s,1\n' % C), "t.csv"),
    "a line of 33 MiB": (raw(GOOD + b"x" * (33 << 20) + b",1\n"), "longer"),
    "unclosed quote after quoted line ends": (raw(GOOD + b'"a\n\nb",1\n"%s\n' % C), "quotation mark is not closed"),
    "a line end in a plain field": (raw(GOOD + b"%s\r%s,1\n" % (C, C)), "line 5 has 1 fields"),
    "no header": (raw(b"%s,12\n%s,13\n" % (C, C)), "lacks column 'name'"),
    "lacks a column": (raw(b"name\n%s\n" % C), "lacks column 'age'"),
    "one column too many": (raw(b"name,age,city\na,1,%s\n" % C), "'city' that the schema does not declare"),
    "names in other case": (raw(b"Name,AGE\n%s,1\n" % C), "lacks column 'name' and 1 more"),
    "names with spaces": (raw(b"name, age\n%s,1\n" % C), "lacks column 'age'"),
    "ten thousand undeclared": (
        raw(b"name,age," + b",".join(b"x%d" % i for i in range(10_000)) + b"\n" + C + b",1" * 10_001 + b"\n"),
        "and 9999 more",
    ),
    "gzip in name only": (raw(GOOD, "t.csv.gz"), "damaged"),
    "gzip cut short": (raw(gzip.compress(GOOD * 1000)[:-20], "t.csv.gz"), "damaged"),
    "unknown suffix": (raw(GOOD, "t.docx"), "must end in"),
    **{f"not really {end}": (raw(GOOD + C, f"t{end}"), "damaged") for end in DOCUMENTS},
    "no suffix": (raw(GOOD, "table"), "must end in"),
    "a zip": (raw(b"PK\x03\x04" + b"\0" * 50 + C, "t.csv"), "zip archive"),
    "gzip called .csv": (raw(gzip.compress(GOOD), "t.csv"), "compressed with gzip; name it .csv.gz, or unpack it"),
    "Parquet called .csv": (raw(b"PAR1" + C, "t.csv"), "name it .parquet"),
    "JSON": (raw(json.dumps([{"name": CANARY, "age": 1}]).encode()), "lacks column"),
    "HTML": (raw(b"<html><body>%s</body></html>" % C), "lacks column"),
    "CSV called Parquet": (raw(GOOD, "t.parquet"), "damaged"),
    "Parquet magic only": (raw(b"PAR1" + C + b"PAR1", "t.parquet"), "damaged"),
    "Parquet without its end": (parquet(PAIR, cut=-30), "damaged"),
    "half a Parquet": (parquet(PAIR, cut=200), "damaged"),
    "Parquet damaged inside": (inside_damaged, "damaged"),
    "Parquet lacks a column": (parquet({"name": [CANARY]}), "lacks column 'age'"),
    "Parquet with one too many": (parquet({**PAIR, "x": [1, 2]}), "'x' that the schema"),
    "Parquet with lists": (parquet({**PAIR, "age": [[1], [2]]}), "'age' is declared integer"),
    "Parquet with structs": (parquet({**PAIR, "name": [{"x": CANARY}] * 2}), "'name' is declared category"),
}


def chain(error: BaseException) -> str:
    seen, texts = {id(error)}, [repr(error)]
    todo = [error]
    while todo:
        current = todo.pop()
        for linked in (current.__cause__, current.__context__):
            if linked is not None and id(linked) not in seen:
                seen.add(id(linked))
                texts.append(repr(linked))
                todo.append(linked)
    return "\n".join(texts)


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refused_in_our_words(case, tmp_path):
    make, words = REFUSED[case]
    path = make(tmp_path)
    with pytest.raises((DataError, SchemaError)) as caught:
        open_source(path, SCHEMA).count([("name", "age")])
    message = str(caught.value)
    assert words in message
    assert CANARY not in chain(caught.value)
    assert "duckdb" not in chain(caught.value).lower()
    # The file is named, unless the fault is one column's.
    assert str(path) in message or "column '" in message


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_propose_survives_the_same_files(case, tmp_path):
    path = REFUSED[case][0](tmp_path)
    try:
        propose(path)
    except (DataError, SchemaError) as error:
        assert CANARY not in chain(error)  # noqa: PT017


READ: dict[str, tuple[Maker, int]] = {
    "plain": (raw(GOOD), 3),
    "BOM": (raw(b"\xef\xbb\xbf" + GOOD), 3),
    "CRLF": (raw(GOOD.replace(b"\n", b"\r\n")), 3),
    "CR": (raw(GOOD.replace(b"\n", b"\r")), 3),
    "no last newline": (raw(GOOD[:-1]), 3),
    "blank lines": (raw(GOOD.replace(b"\n", b"\n\n")), 3),
    "one row": (raw(b"name,age\na,1\n"), 1),
    "header only": (raw(b"name,age\n"), 0),
    "header without newline": (raw(b"name,age"), 0),
    "header and blank lines": (raw(b"name,age\n\n\n"), 0),
    "Parquet without rows": (parquet({"name": pa.array([], pa.string()), "age": pa.array([], pa.int64())}), 0),
    "Parquet without rows or types": (parquet({"name": pa.nulls(0), "age": pa.nulls(0)}), 0),
    "mixed line ends": (raw(b"name,age\n%s,1\r\n%s,2\n%s,3\r" % (C, C, C)), 3),
    "header of another line end": (raw(b"name,age\r\n%s,1\n%s,2\n" % (C, C)), 2),
    "mixed line ends, also inside quotes": (raw(b'name,age\r\n"a\r\n\nb",1\n"a\rb",2\r\n"",3'), 3),
    "marks inside plain fields": (raw(b'name,age\n5\'10",1\na"b"",2\n"a\nb",3\n'), 3),
    "spaces around quoted fields": (raw(b'name,age\n "a\nb" ,1\n'), 1),
    "quoted newlines": (raw(b'name,age\n"a\nb",1\n"a,b",2\n"a""b",3\n'), 3),
    "NaN and infinities": (raw(b"name,age\na,nan\na,inf\na,-inf\na,-0\na,1e999\n"), 5),
    "mixed types": (raw(b"name,age\n1,a\ntrue,2020-01-01\n,\n"), 3),
    "out of domain": (raw(b"name,age\nzzz,1000\nqqq,-1000\n"), 2),
    "formulas": (raw(b"name,age\n=1+1,=2\n@x,-3\n"), 2),
    "SQL": (raw(b"name,age\n'; DROP TABLE raw; --,1\n"), 1),
    "semicolons": (raw(GOOD.replace(b",", b";")), 3),
    "bars": (raw(GOOD.replace(b",", b"|")), 3),
    "tabs": (raw(GOOD.replace(b",", b"\t"), "t.tsv"), 3),
    "gzip": (raw(gzip.compress(GOOD), "t.csv.gz"), 3),
    "a cell of 1 MB": (raw(b"name,age\n" + b"x" * 1_000_000 + b",1\n"), 1),
    "a cell of 3 MB": (raw(b"name,age\n" + b"x" * 3_000_000 + b",1\na,2\n"), 2),
    "a cell of 30 MB": (raw(b"name,age\n" + b"x" * 30_000_000 + b",1\na,2\n"), 2),
    "a cell of 30 MB in gzip": (raw(gzip.compress(b"name,age\n" + b"x" * 30_000_000 + b",1\na,2\n"), "t.csv.gz"), 2),
    "a cell of 30 MB in quotation marks": (raw(b'name,age\na,2\n"' + b"x\n" * 15_000_000 + b'",1\n'), 2),
    "columns turned round": (raw(b"age,name\n1,a\n"), 1),
    "quoted header": (raw(b'"name","age"\na,1\n'), 1),
    "digits without end": (raw(b"name,age\na," + b"9" * 5000 + b"\n"), 1),
    "half a pair of surrogates": (raw(b"name,age\n\\ud800,1\n"), 1),
    "Parquet floats": (parquet({"name": ["a"] * 3, "age": [1.0, float("nan"), float("inf")]}), 3),
    "Parquet text numbers": (parquet({"name": [1, 2], "age": ["1", "x"]}), 2),
    "Parquet nulls": (parquet({"name": pa.nulls(3), "age": pa.nulls(3)}), 3),
    "Parquet with bytes": (parquet({**PAIR, "name": [C, C]}), 2),
    "Parquet dates for numbers": (parquet({**PAIR, "age": [date(2020, 1, 1)] * 2}), 2),
    "Parquet times for numbers": (parquet({**PAIR, "age": [time(3, 4)] * 2}), 2),
    "Parquet decimals": (parquet({"name": ["a"], "age": pa.array([5]).cast(pa.decimal128(30, 2))}), 1),
}


@pytest.mark.parametrize("case", READ, ids=str)
def test_read_by_the_rules(case, tmp_path):
    make, rows = READ[case]
    marginal = open_source(make(tmp_path), SCHEMA).count([("name", "age")])[0]
    assert marginal.counts.sum() == rows


def test_names_that_look_like_sql(tmp_path):
    names = ["c0", "c1", "C1", "raw", "select", 'a"b', "a'b", " ", "x;--", "影"]
    path = tmp_path / "t.csv"
    path.write_text(",".join('"' + name.replace('"', '""') + '"' for name in names) + "\n" + ",".join("0123456789"))
    schema = Schema(Integer(name, lower=0, upper=9) for name in names)
    for position, marginal in enumerate(open_source(path, schema).count([(name,) for name in names])):
        assert marginal.counts[position] == 1
    table = tmp_path / "t.parquet"
    pq.write_table(pa.table({name: [i] for i, name in enumerate(names)}), table)
    for position, marginal in enumerate(open_source(table, schema).count([(name,) for name in names])):
        assert marginal.counts[position] == 1


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.toml", "t.npz"])
def test_pipes_and_devices_are_no_files(name: str, tmp_path: Path) -> None:
    """None of them is waited for, or read without end."""
    pipe, device = tmp_path / f"pipe.{name}", tmp_path / f"device.{name}"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path, kind in ((pipe, "pipe"), (device, "device")):
        load = {"t.toml": Schema.load, "t.npz": lambda path: open_images(path, image_schema(2, 2))}
        with pytest.raises((DataError, SchemaError), match=f"is a {kind}"):
            load.get(name, lambda path: open_source(path, SCHEMA))(path)


def test_a_list_of_public_values_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "list.csv")
    with pytest.raises(SchemaError, match="is a pipe"):
        read_list("list.csv", tmp_path, "constraint")


def test_a_file_that_changes_is_noticed(tmp_path):
    path = raw(GOOD)(tmp_path)
    source = open_source(path, SCHEMA)
    path.write_bytes(GOOD + b"a,1\n")
    with pytest.raises(DataError, match="changed"):
        source.rows()


def test_ten_thousand_columns_and_a_million_categories(tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"x{i}" for i in range(10_000)) + "\n" + (",".join("1" * 10_000) + "\n") * 3)
    schema = Schema(Integer(f"x{i}", lower=0, upper=1) if i % 100 == 0 else Drop(f"x{i}") for i in range(10_000))
    assert open_source(wide, schema).count([("x0", "x9900")])[0].counts[1, 1] == 3
    many = tmp_path / "many.csv"
    many.write_text("name,age\n" + "".join(f"v{i},1\n" for i in range(1_000_000)))
    assert open_source(many, SCHEMA).count([("name",)])[0].counts.tolist() == [0, 0, 1_000_000]
    assert propose(many)["name"].kind == "drop"


@pytest.mark.parametrize(("columns", "labels"), [(150, 100), (1, 300_000)])
def test_many_whole_number_categories_are_planned_in_seconds(columns, labels, tmp_path):
    path = tmp_path / "t.csv"
    names = [f"c{i}" for i in range(columns)]
    path.write_text(",".join(names) + "\n" + (",".join(["7"] * columns) + "\n") * 5)
    schema = Schema(Category(name, categories=tuple(range(labels))) for name in names)
    begun = monotonic()
    for marginal in open_source(path, schema).count([(name,) for name in names]):
        assert marginal.counts[7] == 5
    assert monotonic() - begun < 30  # halving in SQL took minutes


def test_what_duckdb_puts_aside_lies_in_a_private_folder_and_goes() -> None:
    with connect() as connection:
        (folder,) = connection.execute("SELECT current_setting('temp_directory')").fetchone()
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (False,)
        connection.execute("SET memory_limit = '60MB'; SET threads = 1")
        (groups,) = connection.execute(
            "SELECT count(*) FROM (SELECT 'person ' || i AS name FROM range(2000000) t(i) GROUP BY 1)"
        ).fetchone()
        assert groups == 2_000_000
    assert not os.path.exists(folder)
