"""Files as people have them, made by code, and what becomes of each: a draft, its notes, a count of what is coded.

    python benchmarks/ugly_files.py FOLDER     # writes the files there, and docs/ugly_files.md

A test makes both again and compares the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kagemusha.proposal import propose
from kagemusha.proposal.notes import proposal_notes
from kagemusha.sources import open_source

PAGE = Path(__file__).parents[1] / "docs" / "ugly_files.md"
ROWS = 200
Row = tuple[object, ...]


def rows(*make: Callable[[int], object]) -> list[Row]:
    """A row for each number, a cell for each function."""
    return [tuple(one(i) for one in make) for i in range(ROWS)]


def text(head: str, lines: list[Row], mark: str = ",", end: str = "\n", tail: str = "") -> str:
    """A CSV; cells with the mark in them are quoted."""
    shown = (mark.join(f'"{cell}"' if mark in str(cell) else str(cell) for cell in line) for line in lines)
    return end.join([head, *shown, *([tail] if tail else [])]) + end


def age(i: int) -> int:
    return 20 + i * 7 % 60


def sex(i: int) -> str:
    return "FM"[i % 2]


def cost(i: int) -> int:
    return 1_000 + 37 * i


def day_of(i: int) -> str:
    return f"{2019 + i % 6}-{1 + i % 12:02}-{1 + i % 28:02}"


def german(day: str) -> str:
    """31.12.2024."""
    return ".".join(reversed(day.split("-")))


def era(day: str) -> str:
    """令和7年4月1日."""
    year, month, date = map(int, day.split("-"))
    return f"令和{year - 2018}年{month}月{date}日"


def era_with_blanks(day: str) -> str:
    """令和　７年　４月　１日."""
    spaced = era(day).replace("和", "和　").replace("年", "年　").replace("月", "月　")
    return spaced.translate(str.maketrans("0123456789", "０１２３４５６７８９"))


@dataclass(frozen=True)
class Ugly:
    """A file, and what is odd about it."""

    name: str
    odd: str
    make: Callable[[Path], None]


def written(content: str, encoding: str = "utf-8") -> Callable[[Path], None]:
    """A file with this content."""
    return lambda path: path.write_bytes(content.encode(encoding)) and None


def _workbook(path: Path) -> None:
    frame = pd.DataFrame(rows(age, sex, lambda i: pd.Timestamp(day_of(i))), columns=["age", "sex", "seen"])
    with pd.ExcelWriter(path) as book:
        pd.DataFrame().to_excel(book, sheet_name="empty")
        frame.to_excel(book, sheet_name="people", index=False)


def _covered(path: Path) -> None:
    frame = pd.DataFrame(rows(age, sex), columns=["age", "sex"])
    with pd.ExcelWriter(path) as book:
        pd.DataFrame(["Report of the ward", "2024"]).to_excel(book, sheet_name="cover", index=False, header=False)
        frame.to_excel(book, sheet_name="people", index=False)
        frame.to_excel(book, sheet_name="visits", index=False)


def _study(path: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame(rows(age, lambda i: float(i % 2), lambda i: float(-9 if i % 20 == 0 else i % 5)))
    frame.columns = ["age", "sex", "pain"]
    labels = {"sex": {0.0: "female", 1.0: "male"}, "pain": {-9.0: "refused"}}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)


FILES = (
    Ugly("mark.csv", "UTF-8 with a mark", written(text("age,sex", rows(age, sex)), "utf-8-sig")),
    Ugly("utf16.csv", "UTF-16, tabs", written(text("age\tsex", rows(age, sex), "\t"), "utf-16")),
    Ugly("sjis.csv", "Shift-JIS", written(text("年齢,性別", rows(age, lambda i: "女男"[i % 2])), "cp932")),
    Ugly("eucjp.csv", "EUC-JP", written(text("年齢,性別", rows(age, lambda i: "女男"[i % 2])), "euc-jp")),
    Ugly("kana.csv", "half-width kana in Shift-JIS", written(
        text("ﾅﾏｴ,ﾈﾝﾚｲ", rows(lambda i: f"ﾔﾏﾀﾞ {i % 70}", age)), "cp932")),
    Ugly("cyrillic.csv", "Windows-1251, semicolons", written(
        text("Фамилия;возраст;пол", rows(lambda i: f"Иванов{i % 70}", age, lambda i: "мж"[i % 2]), ";"), "cp1251")),
    Ugly("chinese.csv", "GB 18030", written(text("年龄,性别", rows(age, lambda i: "女男"[i % 2])), "gb18030")),
    Ugly("latin1.csv", "Latin-1, semicolons, decimal commas", written(
        text("Größe;Gewicht", rows(lambda i: f"1,{50 + i % 45}", lambda i: f"{50 + i % 60},5"), ";"), "latin-1")),
    Ugly("ends.csv", "lines that end in CRLF and in LF", written(
        "age,sex\n" + "".join(f"{age(i)},{sex(i)}" + ("\r\n" if i % 2 else "\n") for i in range(ROWS)))),
    Ugly("thousands.csv", "thousands, currency, brackets for minus", written(text("cost,gain", rows(
        lambda i: f"¥{cost(i):,}", lambda i: f"({i % 90}.5)" if i % 9 == 0 else f"{i % 90}.5")))),
    Ugly("wide.csv", "full-width digits", written(
        text("age", rows(lambda i: str(age(i)).translate(str.maketrans("0123456789", "０１２３４５６７８９")))))),
    Ugly("eras.csv", "Japanese eras", written(text("受診日", rows(lambda i: era(f"{2020 + i % 5}" + day_of(i)[4:]))))),
    Ugly("wide_eras.csv", "eras in full-width signs with blanks", written(
        text("受診日", rows(lambda i: era_with_blanks(f"{2020 + i % 5}" + day_of(i)[4:]))))),
    Ugly("dates.csv", "dates of two forms", written(
        text("seen", rows(lambda i: german(day_of(i)) if i % 3 else day_of(i))))),
    Ugly("yes.csv", "Yes, no, Y, N and blanks", written(
        text("smokes,age", rows(lambda i: ("Yes", "no", "Y", "N", " ")[i % 5], age)))),
    Ugly("twice.csv", "two columns of one name, one without", written(
        text("age,weight,weight,", rows(age, lambda i: 50 + i % 40, lambda i: 60 + i % 40, lambda i: i % 3)))),
    Ugly("names.csv", "names of persons", written(
        text("氏名,Nachname,age", rows(lambda i: f"山田{i % 64}子", lambda i: f"Meier{i % 70}", age)))),
    Ugly("sentinel.csv", "999 for unknown, N among numbers", written(
        text("score,lab", rows(lambda i: i % 60 if i % 25 else 999, lambda i: f"{i % 40}.5" if i % 9 else "N")))),
    Ugly("totals.csv", "a row of totals at the end", written(
        text("ward,beds", rows(lambda i: "abc"[i % 3], lambda i: i % 30), tail="Total,2900"))),
    Ugly("book.xlsx", "Excel, the first sheet empty", _workbook),
    Ugly("cover.xlsx", "Excel, a cover sheet and a second table", _covered),
    Ugly("study.sav", "SPSS with value labels and a code for refused", _study),
)  # fmt: skip


def became(path: Path) -> str:
    """What a draft makes of a file, and whether it is coded by it."""
    draft = propose(path)
    parts = []
    for column in draft:
        axis = column.axis
        spelt = "" if axis is None or axis.spelling is None else f", written {axis.spelling}"
        special = "" if axis is None or not axis.special else f", {', '.join(map(str, axis.special))} special"
        parts.append(f"`{column.name}`: {column.kind}{spelt}{special}")
    notes = [note.strip().rstrip(".") + "." for note in proposal_notes(draft, path) if not note.endswith(":")]
    coded = open_source(path, draft.confirm()).rows()
    return f"{'; '.join(parts)} | {' '.join(notes)} | {coded}"


def page(folder: Path) -> str:
    """Make the files in a folder, and the table of what becomes of them."""
    lines = [
        "# Ugly files, and what becomes of each",
        "",
        "Made by `python benchmarks/ugly_files.py FOLDER`: each file is written, drafted by "
        "`schema propose` and coded by the draft.",
        "",
        "| file | what is odd | columns of the draft | what `propose` says besides | rows coded |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in FILES:
        one.make(folder / one.name)
        lines.append(f"| {one.name} | {one.odd} | {became(folder / one.name)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(place), encoding="utf-8")
