"""Adult and Bank as the AIM paper uses them: categorical columns, complete rows, public categories."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kagemusha.errors import DataError
from kagemusha.evaluation.tables import read_table
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Category, Schema

ADULT = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
    "income",
)
BANK = (
    "job",
    "marital",
    "education",
    "default",
    "housing",
    "loan",
    "contact",
    "month",
    "day_of_week",
    "poutcome",
    "y",
)


UNSEEN: dict[str, dict[str, tuple[str, ...]]] = {
    "adult": {"workclass": ("Never-worked",)},
    "bank": {"month": ("feb", "jan")},
}
"""Categories that the paper's Table 1 counts and no row of these tables has."""


@dataclass(frozen=True, eq=False)
class PaperTable:
    """One of the paper's tables with its target."""

    name: str
    table: CodedTable
    schema: Schema
    target: str


def data_folder() -> Path:
    """The folder with the real data sets; DataError tells how to get them."""
    where = os.environ.get("KAGEMUSHA_DATA", "")
    if not where or not Path(where).is_dir():
        raise DataError(
            "set KAGEMUSHA_DATA to the folder with adult.parquet and bank_additional_full.parquet (docs/data.md)"
        )
    return Path(where)


def load(name: str, *, rows: int | None = None, domain: str = "seen") -> PaperTable:
    """`adult` (30,162 rows, 9 columns) or `bank` (30,488 rows, 11 columns); `rows` keeps only the first.

    `domain` is "seen" (the categories that occur) or "table 1" (as many as the paper's Table 1 says).
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    files = {"adult": ("adult.parquet", ADULT, "income"), "bank": ("bank_additional_full.parquet", BANK, "y")}
    file, columns, target = files[name]
    path = data_folder() / file
    if not path.exists():
        raise DataError(f"{path}: no such file (docs/data.md tells how to make it)")
    raw = pq.read_table(path)
    if name == "adult":
        raw = raw.filter(pc.equal(raw["split"].cast("string"), "train")).drop_null().select(columns)
    else:
        raw = raw.select(columns)
        for column in columns:
            raw = raw.filter(pc.not_equal(raw[column].cast("string"), "unknown"))
    raw = raw.select(columns).cast(_texts(columns)).slice(0, rows)
    # the paper takes the categories as public; here they are the ones the file has
    more = UNSEEN[name] if domain == "table 1" else {}
    schema = Schema(
        Category(c, categories=tuple(sorted({*pc.unique(raw[c]).to_pylist(), *more.get(c, ())})), out_of_domain="clip")
        for c in columns
    )
    return PaperTable(name, read_table(raw, schema), schema, target)


def _texts(columns: tuple[str, ...]):  # type: ignore[no-untyped-def]
    import pyarrow as pa

    return pa.schema([(column, pa.string()) for column in columns])
