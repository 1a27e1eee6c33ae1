"""Tables as people have them: what becomes of each. Every file says the same of the same people."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest

from kagemusha.columns.spelling import spelt_date, spelt_number
from kagemusha.encodings import KNOWN, as_utf8, guess_encoding
from kagemusha.errors import DataError, SchemaError
from kagemusha.proposal import propose
from kagemusha.proposal.notes import proposal_notes
from kagemusha.schema import Category, Schema
from kagemusha.sources import open_source
from kagemusha.sources.header import distinct

PEOPLE = [
    (20 + i * 7 % 60, "男" if i % 3 else "女", 1_000 + 37 * (i // 2), f"{2019 + i % 6}-{1 + i % 12:02}-{1 + i % 28:02}")
    for i in range(240)
]
NAMES = ("age", "sex", "cost", "seen")
DECLARED = """version = 1
[columns.age]
kind = "integer"
lower = 0
upper = 99
[columns.sex]
kind = "category"
categories = ["女", "男"]
[columns.cost]
kind = "integer"
lower = 0
upper = 12000
bins = 24
{cost}
[columns.seen]
kind = "date"
lower = 2019-01-01
upper = 2024-12-31
bins = 24
{seen}
"""


WIDE = str.maketrans("0123456789", "０１２３４５６７８９")


def declared(cost: str = "", seen: str = "", encoding: str = "") -> Schema:
    head = f'encoding = "{encoding}"\n' if encoding else ""
    fields = {"cost": f'spelling = "{cost}"' if cost else "", "seen": f'spelling = "{seen}"' if seen else ""}
    return Schema.loads(head + DECLARED.format(**fields))


def text(cost: Callable[[int], str] = str, seen: Callable[[str], str] = str, mark: str = ",") -> str:
    rows = ([str(age), sex, cost(spent), seen(day)] for age, sex, spent, day in PEOPLE)
    quoted = (mark.join(f'"{cell}"' if mark in cell else cell for cell in row) for row in rows)
    return "\n".join([mark.join(NAMES), *quoted]) + "\n"


def wareki(day: str) -> str:
    year, month, date = map(int, day.split("-"))
    old = (year, month) < (2019, 5)
    return f"{'平成' if old else '令和'}{year - (1988 if old else 2018)}年{month}月{date}日".replace(
        "令和1年", "令和元年"
    )


def frame() -> pd.DataFrame:
    return pd.DataFrame(PEOPLE, columns=[*NAMES])


def workbook(folder: Path) -> Path:
    book = openpyxl.Workbook()
    book.create_sheet("people").append(list(NAMES))
    for age, sex, cost, day in PEOPLE:
        book["people"].append([age, sex, cost, pd.Timestamp(day)])
    book.save(folder / "people.xlsx")
    return folder / "people.xlsx"


def study(suffix: str, write: Callable[..., None]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        coded = frame().assign(sex=lambda f: (f.sex == "男").astype(float), seen=lambda f: pd.to_datetime(f.seen))
        write(coded, str(folder / f"people{suffix}"), variable_value_labels={"sex": {0.0: "女", 1.0: "男"}})
        return folder / f"people{suffix}"

    return make


def written(content: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "people.csv").write_bytes(content)
        return folder / "people.csv"

    return make


def slashes(day: str) -> str:
    year, month, date = day.split("-")
    return f"{int(date)}/{int(month)}/{year}" if int(date) % 2 else day


UGLY: dict[str, tuple[Callable[[Path], Path], Schema]] = {
    "UTF-8 with a mark": (written(text().encode("utf-8-sig")), declared()),
    "UTF-16": (written(text().encode("utf-16")), declared()),
    "UTF-16 big end": (written(b"\xfe\xff" + text().encode("utf-16-be")), declared()),
    "Shift-JIS": (written(text().encode("cp932")), declared(encoding="cp932")),
    "Shift-JIS with CRLF": (written(text().replace("\n", "\r\n").encode("cp932")), declared(encoding="shift-jis")),
    "Shift-JIS with CR": (written(text().replace("\n", "\r").encode("cp932")), declared(encoding="cp932")),
    "EUC-JP": (written(text().encode("euc-jp")), declared(encoding="euc-jp")),
    "GB 18030": (written(text().encode("gb18030")), declared(encoding="gb18030")),
    "UTF-8 with a mark, though another is declared": (written(text().encode("utf-8-sig")), declared(encoding="cp932")),
    "thousands": (written(text(cost=lambda n: f"{n:,}").encode()), declared(cost="1,234.56")),
    "yen": (written(text(cost=lambda n: f"¥{n:,}").encode()), declared(cost="1,234.56")),
    "full width": (written(text(cost=lambda n: str(n).translate(WIDE)).encode()), declared(cost="1,234.56")),
    "decimal commas": (
        written(text(cost=lambda n: f"{n:,},50".replace(",", ".", 1), mark=";").encode()),
        declared(cost="1.234,56"),
    ),
    "eras": (written(text(seen=wareki).encode("cp932")), declared(seen="japanese", encoding="cp932")),
    "dates of two forms": (written(text(seen=slashes).encode()), declared(seen="day-first")),
    "Excel": (workbook, declared()),
    "Stata": (study(".dta", pyreadstat.write_dta), declared()),
    "SPSS": (study(".sav", pyreadstat.write_sav), declared()),
}  # fmt: skip


@pytest.mark.parametrize("case", UGLY)
def test_an_ugly_file_says_the_same_as_a_plain_one(case: str, tmp_path: Path) -> None:
    make, schema = UGLY[case]
    plain = open_source(frame(), declared()).records()[0]
    found = open_source(make(tmp_path), schema).records()[0]
    for name, one, other in zip(NAMES, plain, found, strict=True):
        assert np.array_equal(one, other), name


@pytest.mark.parametrize("case", UGLY)
def test_a_draft_reads_it_the_same_way(case: str, tmp_path: Path) -> None:
    make, schema = UGLY[case]
    path = make(tmp_path)
    draft = propose(path)
    assert [column.kind for column in draft] in (["integer", "category", kind, "date"] for kind in ("integer", "real"))
    assert [draft.axis(name).spelling for name in ("cost", "seen")] == [
        schema.axis(name).spelling for name in ("cost", "seen")
    ]
    if not case.startswith("UTF-8 with a mark"):
        assert draft.encoding == {"shift-jis": "cp932"}.get(schema.encoding or "", schema.encoding)
    codes = open_source(path, draft.confirm()).records()[0]
    assert len(np.unique(codes[3])) > 12


def test_no_line_changes_how_another_is_read() -> None:
    lines = [line.encode("cp932") for line in ("a,1", "男,2", "ﾃｩ,3", "表示,5")]
    alone = [b"".join(as_utf8([line + b"\n"], "cp932")) for line in lines]
    for cut in range(1, 12):
        whole = b"\n".join(lines) + b"\n"
        blocks = [whole[i : i + cut] for i in range(0, len(whole), cut)]
        assert b"".join(as_utf8(blocks, "cp932")) == b"".join(alone)
    odd = b"\xff\x81\x00\xfe"  # nothing in any of them, and never an error
    for name in KNOWN:
        assert b"".join(as_utf8([b"x\n" + odd + b"\ny\n"], name)).splitlines()[0] == b"x"


def test_a_broken_character_takes_no_mark_along() -> None:
    """In euc_jis_2004 and gb18030 it took the line feed: the next person's row was part of this one's."""
    odd = [bytes(one) for size in (1, 2) for one in product(range(0x80, 0x100), *[range(0x30, 0x100)] * (size - 1))]
    for name, mark in product(KNOWN, (b"\n", b"\r\n", b",", b";", b"\t", b'"')):
        text = b"".join(as_utf8([b"".join(b"x" + one + mark + b"y" for one in odd)], name))
        assert text.count(mark + b"y") == len(odd), (name, mark)


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("患者,診断\n山田,肺炎\n", "cp932"),
        ("患者,診断\nヤマダ,肺炎のため\n", "euc-jp"),
        ("Größe;café\n", "cp1252"),
        ("Größe;Gewicht\n1,5;60\n", "cp1252"),
        ("Straße,Maß\nGroßstraße 5,Größe\n", "cp1252"),
        ("plain\n", None),
        ("ﾌﾘｶﾞﾅ,ﾈﾝﾚｲ\nﾔﾏﾀﾞ ﾊﾅｺ,3\n", "cp932"),
        ("NAME;GRÖSSE\nMÜLLER;1,5\nÄRZTE;3\n", "cp1252"),
        ("São Paulo,ação,órgão\n", "cp1252"),
        ("年齢,性別\n1,男\n2,女\n", "euc-jp"),
        ("姓名,年龄,性别\n王,3,男\n", "gb18030"),
        ("姓名,年齡,性別\n王,3,男\n", "big5"),
        ("이름,나이,성별\n김,3,남\n", "euc-kr"),
        ("возраст,пол\n3,м\n4,ж\n", "cp1251"),
        ("Фамилия,ДИАГНОЗ\nИванов,грипп\n", "cp1251"),
    ],
)
def test_what_seems_to_be_used(words: str, encoding: str | None) -> None:
    assert guess_encoding(words.encode(KNOWN.get(encoding or "", "utf-8"))) == encoding


def test_names_of_columns_are_made_distinct_by_the_header_alone() -> None:
    assert distinct(["a", "", "a", "a_2", "a", ""]) == ("a", "column_2", "a_3", "a_2", "a_4", "column_6")


def test_a_draft_says_what_it_left_out_and_changed(tmp_path: Path) -> None:
    rows = [f'{i % 50},太郎{i},"{1000 + i:,}",{["Yes", "no", "Y", "N", " "][i % 5]},{i % 9}' for i in range(300)]
    (tmp_path / "t.csv").write_bytes(("age,氏名,cost,smokes,age\n" + "\n".join(rows) + "\n").encode("cp932"))
    draft = propose(tmp_path / "t.csv")
    assert [c.kind for c in draft] == ["integer", "drop", "integer", "boolean", "integer"]
    assert draft["smokes"].may_lack
    notes = "\n".join(proposal_notes(draft, tmp_path / "t.csv"))
    for words in ("read as cp932", "age_2", "1,234.56: cost", "1 column is not in the doubles", "氏名"):
        assert words in notes
    assert "太郎" not in draft.dumps()


@pytest.mark.parametrize(
    "name", ["氏名", "患者名", "Nachname", "prénom", "apellidos", "cognome", "фамилия", "フリガナ", "efternavn"]
)
def test_names_of_persons_are_never_categories(name: str) -> None:
    assert propose(pd.DataFrame({name: [f"p{i % 30}" for i in range(300)], "x": range(300)}))[name].kind == "drop"


def test_labels_of_a_study_are_drafted_in_their_order(tmp_path: Path) -> None:
    income = [-9.0 if i % 4 == 0 else 100.0 + 7 * i for i in range(200)]
    coded = pd.DataFrame({"answer": [1.0, 2.0, 2.0, np.nan] * 50, "income": income})
    labels = {"answer": {1: "never", 2: "often", 3: "always"}, "income": {-9: "refused"}}
    ranges = {"income": [-9]}
    pyreadstat.write_sav(coded, str(tmp_path / "s.sav"), variable_value_labels=labels, missing_ranges=ranges)
    draft = propose(tmp_path / "s.sav")
    answer = draft["answer"]
    assert isinstance(answer, Category)
    assert answer.categories == ("never", "often", "always")  # nobody answered "always"
    assert "categories" in answer.derived
    assert draft.axis("income").special == ("refused",)


def test_labels_that_pandas_made_of_the_values_are_confirmed_by_nobody(tmp_path: Path) -> None:
    """One person's answer was a public category, without a word."""
    answers = pd.Categorical(["flu", "cold"] * 300 + ["CANARY"])
    pd.DataFrame({"answer": answers, "sex": ["F", "M", "F"] * 200 + ["F"]}).to_stata(tmp_path / "s.dta")
    draft = propose(tmp_path / "s.dta")
    assert ("answer", "categories") in [(fact.column, fact.field) for fact in draft.derived_facts()]
    assert draft["answer"].confirmed is None


def test_doubles_are_written_as_they_are_read() -> None:
    schema = Schema.loads(
        '[columns.x]\nkind = "real"\nlower = 0\nupper = 9999\nbins = 9\ndecimals = 3\nspelling = "1.234,56"\n'
    )
    column = schema.axis("x")
    cells = column.draw(np.arange(9), rng=np.random.default_rng(1))
    shown = column.arrow_of(cells).to_pylist()
    assert all("," in word and "." not in word for word in shown)
    assert [float(spelt_number(word, "1.234,56")) for word in shown] == cells.numbers.tolist()


@pytest.mark.parametrize(
    ("field", "wrong"), [("cost", "1 234"), ("cost", "japanese"), ("seen", "1,234.56"), ("seen", "era")]
)
def test_an_unknown_spelling_is_named(field: str, wrong: str) -> None:
    with pytest.raises(SchemaError, match=f"'{field}': spelling = '{wrong}' is not allowed; it must be"):
        declared(**{field: wrong})
    with pytest.raises(SchemaError, match="encoding = 'klingon' is not known"):
        declared(encoding="klingon")


@pytest.mark.parametrize(
    ("text", "spelling", "said"),
    [
        ("1.234,56", "1.234,56", "1234.56"), ("1.5", "1.234,56", "1.5"), ("-0,5", "1.234,56", "-0.5"),
        ("12 €", "1.234,56", "12"), ("\\22,379", "1,234.56", "22379"), ("▲300", "1,234.56", "-300"),
        ("(1,234.50)", "1,234.56", "-1234.50"), ("1,23", "1,234.56", "1,23"), ("1 234 567", "1,234.56", "1234567"),
        ("n/a", "1,234.56", "n/a"), ("", "1,234.56", ""),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(text: str, spelling: str, said: str) -> None:
    assert spelt_number(text, spelling) == said


@pytest.mark.parametrize(
    ("text", "spelling", "said"),
    [
        ("令和7年4月1日", "japanese", "2025-04-01"), ("R7.4.1", "japanese", "2025-04-01"),
        ("昭和元年１２月２５日 10時30分", "japanese", "1926-12-25 10:30:00"),
        ("令和　７ 年 ４ 月 １ 日", "japanese", "2025-04-01"), ("2024 年 4 月 1 日", "japanese", "2024-04-01"),
        ("2024年4月1日", "japanese", "2024-04-01"), ("soon", "day-first", "soon"),
        ("31.12.2024", "day-first", "2024-12-31"), ("1/2/2024 9:05", "day-first", "2024-02-01 09:05:00"),
        ("1/2/2024", "month-first", "2024-01-02"), ("2024-12-31", "month-first", "2024-12-31"),
    ],
)  # fmt: skip
def test_dates_as_people_write_them(text: str, spelling: str, said: str) -> None:
    assert spelt_date(text, spelling) == said


def test_a_workbook_that_is_no_workbook_is_refused_in_our_words(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("CANARY.xml", "CANARY")
    with pytest.raises(DataError, match="damaged or is not of the format") as caught:
        open_source(tmp_path / "t.xlsx", declared())
    assert "CANARY" not in str(caught.value)


def test_a_cell_under_no_name_changes_nothing(tmp_path: Path) -> None:
    """It made a column that the schema did not declare: one person's row ended the run."""
    path = workbook(tmp_path)
    plain = open_source(path, declared()).records()[0]
    book = openpyxl.load_workbook(path)
    book["people"].cell(row=3, column=9, value="a note")
    book["people"].cell(row=len(PEOPLE) + 7, column=9, value="another")
    book.save(path)
    assert all((a == b).all() for a, b in zip(plain, open_source(path, declared()).records()[0], strict=True))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are bounded on Linux alone")
def test_a_cell_in_the_far_corner_of_a_sheet_is_an_error_in_our_words(tmp_path: Path) -> None:
    """The library asks for half a terabyte and ends its process without an exception."""
    path = workbook(tmp_path)
    book = openpyxl.load_workbook(path)
    book["people"].cell(row=1_048_576, column=16_384, value="CANARY")
    book.save(path)
    with pytest.raises(DataError, match="unpacks to more than 4 GB") as caught:
        open_source(path, declared())
    assert "CANARY" not in str(caught.value)


def test_the_page_of_ugly_files_is_what_becomes_of_them(tmp_path: Path) -> None:
    """docs/ugly_files.md, made again: `python benchmarks/ugly_files.py FOLDER`."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        import ugly_files
    finally:
        sys.path.pop(0)
    assert ugly_files.PAGE.read_text(encoding="utf-8") == ugly_files.page(tmp_path)


@pytest.mark.parametrize("line", ["Total,2900", "合計,2900", '"Summe",2900', "Grand total,9"])
def test_a_row_of_totals_is_named(line: str, tmp_path: Path) -> None:
    plain = "ward,beds\n" + "".join(f"{'abc'[i % 3]},{i % 30}\n" for i in range(120))
    (tmp_path / "t.csv").write_text(plain, encoding="utf-8")
    draft = propose(tmp_path / "t.csv")
    assert proposal_notes(draft, tmp_path / "t.csv") == []
    (tmp_path / "t.csv").write_text(f"{plain}{line}\n\n", encoding="utf-8")
    assert any("row of totals" in note for note in proposal_notes(draft, tmp_path / "t.csv"))


def test_a_cover_sheet_is_not_the_table_and_other_sheets_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame(["Report of the ward", None, "2024"]).to_excel(book, sheet_name="cover", index=False, header=False)
        frame().to_excel(book, sheet_name="people", index=False)
        frame().to_excel(book, sheet_name="visits", index=False)
    draft = propose(path)
    assert draft.names == NAMES
    assert any("'people' is the table; for cover, visits" in note for note in proposal_notes(draft, path))
    with pd.ExcelWriter(path) as book:  # whatever the records are, the header alone decides
        pd.DataFrame({"note": ["x"] * 500}).to_excel(book, sheet_name="cover", index=False)
        frame().head(1).to_excel(book, sheet_name="people", index=False)
    assert propose(path).names == NAMES


def test_what_is_no_header_is_named(tmp_path: Path) -> None:
    (tmp_path / "title.csv").write_text("Export of the ward\n\nage,sex\n3,F\n", encoding="utf-8")
    with pytest.raises(DataError, match="is it a title"):
        propose(tmp_path / "title.csv")
    (tmp_path / "seven.csv").write_bytes("年齢,性別\n3,男\n".encode("iso2022_jp"))
    with pytest.raises(DataError, match="ISO-2022-JP"):
        propose(tmp_path / "seven.csv")
    (tmp_path / "blanks.txt").write_text("age sex\n" + "3 F\n" * 30, encoding="utf-8")
    draft = propose(tmp_path / "blanks.txt")
    assert any("one column only" in note for note in proposal_notes(draft, tmp_path / "blanks.txt"))
