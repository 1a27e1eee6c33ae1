"""Every valid CSV is read, and read whole; whatever cannot be read with certainty is refused."""

from __future__ import annotations

import csv
import io
import random
import re

import pytest

from kagemusha.errors import DataError
from kagemusha.schema import Category, Drop, Integer, Schema
from kagemusha.sources import FileSource, open_source, open_table, rawfile
from kagemusha.sources.lines import survey, survey_loose, with_line_feeds

SCHEMA = Schema([Category("n", categories=("a", "b")), Drop("m")])
PIECES = ["a", ",", '"', "\n", "\r", "a,b\n", '"a",b\n', " ", '""', "é"]


def made_csv(rng: random.Random) -> str:
    """Two columns with quoted fields of every sort and line ends of one or more kinds, or bytes without sense."""
    if rng.random() < 0.4:
        return "n,m\n" + "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 14)))
    ends = rng.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\r", "\r\n"]])

    def field() -> str:
        if rng.random() < 0.5:
            return rng.choice(["a", "b", "", "x y", "é", 'a"b', "5'10\"", 'a""b'])
        return (
            '"' + "".join(rng.choice(["a", ",", '""', "\n", "\r\n", "\r", " "]) for _ in range(rng.randint(0, 5))) + '"'
        )

    def end() -> str:
        return rng.choice(ends) * (2 if rng.random() < 0.1 else 1)

    rows = "".join(f"{end()}{field()},{field()}" for _ in range(rng.randint(0, 6)))
    return f"n,m{rows}{end() if rng.random() < 0.8 else ''}"


def records(text: str) -> int | None:
    """How many records Python's strict reader finds; None if it, too, cannot read the text as two columns."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None
    return len(rows) - 1 if all(len(row) == 2 for row in rows) else None


@pytest.mark.parametrize("block", [1, 7, 1 << 22])
def test_made_files_are_counted_as_a_strict_reader_counts_them(block, tmp_path, monkeypatch):
    monkeypatch.setattr(rawfile, "BLOCK", block)
    rng = random.Random(block)
    seen = {True: 0, False: 0}
    for _ in range(120):
        text = made_csv(rng)
        if re.search(r'(^|[,\r\n]) +"|" ', text):
            continue  # readers differ on spaces around quotation marks
        path = tmp_path / "t.csv"
        path.write_bytes(text.encode())
        expected = records(text)
        seen[expected is not None] += 1
        try:
            found = FileSource(path, SCHEMA).rows()
        except DataError:
            found = None
        assert found == expected, repr(text)
    assert min(seen.values()) > 20


def test_both_surveys_agree_and_line_feeds_change_nothing_else():
    rng = random.Random(5)
    for _ in range(300):
        blocks = [text.encode() for text in (made_csv(rng), made_csv(rng))]
        fast, loose = survey(blocks, ","), survey_loose(blocks, ",")
        if fast is not None:
            assert (fast.records, fast.quoted_ends, fast.mixed) == (loose.records, loose.quoted_ends, loose.mixed)
        if loose.unclosed is not None or (fast is None and not loose.loose):
            continue
        text = b"".join(blocks).decode()
        written = b"".join(with_line_feeds(blocks, ",", loose=fast is None)).decode()
        again = survey_loose([written.encode()], ",")
        assert (again.records, again.mixed) == (loose.records, False)
        assert written.count("é") == text.count("é")


def test_a_long_file_with_quoted_line_ends_is_read_whole(tmp_path):
    """Several threads, each of which begins somewhere inside a quoted field that looks like records."""
    rng = random.Random(4)
    pieces = ['\n""', "x" * 50, "\na,5,x\n", "b,7\n"]
    block = "".join(
        f'a,{i % 90},"{"".join(rng.choice(pieces) for _ in range(rng.randrange(10)))}"\n' for i in range(2000)
    )
    copies = (60 << 20) // len(block)
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        file.write("name,age,note\n")
        file.writelines(block for _ in range(copies))
    schema = Schema([Category("name", categories=("a", "b")), Integer("age", lower=0, upper=99), Drop("note")])
    assert open_source(path, schema).count([("name",)])[0].counts.tolist() == [2000 * copies, 0, 0]
    opened = open_table(path, schema.replace("name", categories=None))
    assert opened.count_values("name").counts.tolist() == [2000 * copies]
    with path.open("a", newline="") as file:
        file.write('a,1,"never closed\na,2,x\n')
    with pytest.raises(DataError, match="a quotation mark is not closed"):
        open_source(path, schema)
