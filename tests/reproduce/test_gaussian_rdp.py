"""The reproduction of Miura et al. 2022: every digit, and files a person can read."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from kagemusha.reproduce.gaussian_rdp import Report, reproduce, table_1, table_2
from kagemusha.reproduce.gaussian_rdp_figure import curve


def test_every_printed_digit_of_tables_1_and_2():
    cells = [*table_1(), *table_2()]
    assert len(cells) == 8 + 32
    assert [cell.rounded for cell in cells] == [cell.paper for cell in cells]


def test_a_wrong_last_digit_would_be_seen():
    cell = next(iter(table_1()))
    assert cell.passed
    assert not replace(cell, ours=cell.ours + 0.01).passed
    assert not Report((replace(cell, ours=1.0),), (), ()).passed


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return reproduce(tmp_path_factory.mktemp("gaussian-rdp"), quick=True)


def test_a_quick_run_passes_and_writes_its_files(quick):
    assert quick.passed
    assert [path.name for path in quick.files] == [
        "table-1.csv",
        "table-2.csv",
        "beyond.csv",
        "figure-2.png",
        "figure-2.svg",
        "report.md",
    ]
    assert all(path.stat().st_size > 100 for path in quick.files)


def test_the_page_shows_the_papers_digits_beside_ours(quick):
    page = quick.markdown()
    assert "| replace | n = 1e+07 | 3200.58 | 3200.58 | 3200.57668 | PASS |" in page
    assert "FAIL" not in page


def test_csv_reads_back(quick):
    with quick.files[1].open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 32
    assert {row["result"] for row in rows} == {"PASS"}


def test_the_figure_is_the_same_every_time(quick, tmp_path):
    again = reproduce(tmp_path, quick=True)
    assert again.files[4].read_bytes() == quick.files[4].read_bytes()


def test_theorem_3_2_has_the_falling_part_the_paper_notes():
    orders, values = curve(10**5, "replace", "paper")
    assert values[0] > min(values)
    assert orders[-1] == pytest.approx(20)
    rising = curve(10**5, "replace", "two-eigenvalue")[1]
    assert rising == sorted(rising)
