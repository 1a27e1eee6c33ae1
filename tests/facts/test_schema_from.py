"""Schemas from documents: what each says arrives, what it does not say stays open, and who says so is written down."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kagemusha as kg
from kagemusha.errors import SchemaError
from kagemusha.schema import Category, Schema

REDCAP = [
    {"Variable / Field Name": "record_id", "Field Type": "text"},
    {"Variable / Field Name": "age", "Field Type": "text", "Text Validation Type OR Show Slider Number": "integer",
     "Text Validation Min": "18", "Text Validation Max": "99", "Required Field?": "y"},
    {"Variable / Field Name": "weight", "Field Type": "text",
     "Text Validation Type OR Show Slider Number": "number_1dp", "Text Validation Min": "30"},
    {"Variable / Field Name": "visit", "Field Type": "text", "Text Validation Type OR Show Slider Number": "date_dmy",
     "Text Validation Min": "2020-01-01", "Text Validation Max": "2024-12-31"},
    {"Variable / Field Name": "sex", "Field Type": "radio",
     "Choices, Calculations, OR Slider Labels": "1, Male | 2, Female | 9, Not said"},
    {"Variable / Field Name": "race", "Field Type": "checkbox",
     "Choices, Calculations, OR Slider Labels": "1, White | 2, Black"},
    {"Variable / Field Name": "smokes", "Field Type": "yesno"},
    {"Variable / Field Name": "pain", "Field Type": "slider"},
    {"Variable / Field Name": "notes", "Field Type": "notes"},
    {"Variable / Field Name": "phone", "Field Type": "text", "Identifier?": "y"},
]  # fmt: skip

SDV = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {
        "visits": {
            "primary_key": "id",
            "columns": {
                "id": {"sdtype": "id"},
                "ward": {"sdtype": "categorical"},
                "stay": {"sdtype": "numerical", "computer_representation": "Int64"},
                "cost": {"sdtype": "numerical", "computer_representation": "Float"},
                "day": {"sdtype": "datetime", "datetime_format": "%d/%m/%Y"},
                "email": {"sdtype": "email", "pii": True},
                "died": {"sdtype": "boolean"},
            },
        }
    },
}

FRICTIONLESS = {
    "resources": [
        {
            "name": "people",
            "schema": {
                "primaryKey": "id",
                "fields": [
                    {"name": "id", "type": "integer"},
                    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110, "required": True}},
                    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
                    {"name": "born", "type": "date", "format": "%d.%m.%Y"},
                    {"name": "score", "type": "number", "constraints": {"minimum": 0.5, "maximum": 9}},
                    {"name": "where", "type": "geopoint"},
                ],
            },
        },
        {"name": "other", "schema": {"fields": [{"name": "x", "type": "boolean"}]}},
    ]
}

CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "people.csv",
    "tableSchema": {
        "primaryKey": "id",
        "columns": [
            {"name": "id", "datatype": "string"},
            {"titles": "age", "required": True, "datatype": {"base": "integer", "minimum": "0", "maximum": "120"}},
            {"titles": ["seen", "vu"], "datatype": "date"},
            {"name": "virtual", "virtual": True},
        ],
    },
}

JSON_SCHEMA = {
    "type": "array",
    "items": {
        "required": ["age", "ill"],
        "properties": {
            "age": {"type": "integer", "minimum": 0, "maximum": 120},
            "ill": {"type": ["boolean", "null"]},
            "grade": {"enum": ["a", "b", None]},
            "day": {"type": "string", "format": "date"},
            "last_name": {"type": "string"},
        },
    },
}

PANDERA = {
    "schema_type": "dataframe",
    "columns": {
        "age": {"dtype": "int64", "nullable": False, "checks": {"in_range": {"min_value": 0, "max_value": 110}}},
        "sex": {"dtype": "object", "nullable": True, "checks": {"isin": {"value": ["f", "m"]}}},
        "low": {"dtype": "float64", "checks": {"greater_than_or_equal_to": 1.5}},
        "at": {"dtype": "datetime64[ns]", "nullable": True},
        "key": {"dtype": "int64", "unique": True},
    },
}

DDI = b"""<?xml version="1.0"?><codeBook xmlns="ddi:codebook:2_5"><dataDscr>
<var name="AGE" intrvl="discrete"><valrng><range min="15" max="99"/></valrng><varFormat type="numeric"/></var>
<var name="REGION"><catgry><catValu>1</catValu><labl>North</labl></catgry><catgry><catValu>2</catValu></catgry>
<catgry missing="Y"><catValu>9</catValu></catgry><varFormat type="numeric"/></var>
<var name="INCOME" intrvl="contin"><varFormat type="numeric"/></var>
<var name="REMARK"><varFormat type="character"/></var></dataDscr></codeBook>"""


def dictionary(path: Path) -> Path:
    fields = list(dict.fromkeys(key for line in REDCAP for key in line))
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, [*fields, "Form Name"])
        writer.writeheader()
        writer.writerows(REDCAP)
    return path


def written(document: Any) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        path.write_text(json.dumps(document))
        return path

    return write


def codebook(path: Path) -> Path:
    path.write_bytes(DDI)
    return path


CASES: dict[str, tuple[Callable[[Path], Path], str, str, dict[str, str], set[str]]] = {
    "REDCap": (
        dictionary, "d.csv", "the REDCap data dictionary d.csv",
        {"record_id": "drop", "age": "integer", "weight": "real", "visit": "date", "sex": "category",
         "race___1": "boolean", "race___2": "boolean", "smokes": "boolean", "pain": "integer", "notes": "drop",
         "phone": "drop"},
        {"weight: upper"},
    ),
    "SDV": (
        written(SDV), "d.json", "the SDV metadata d.json",
        {"id": "drop", "ward": "category", "stay": "integer", "cost": "real", "day": "date", "email": "drop",
         "died": "boolean"},
        {"ward: categories", "stay: lower", "stay: upper", "cost: lower", "cost: upper", "day: lower", "day: upper"},
    ),
    "frictionless": (
        written(FRICTIONLESS), "d.json", "the frictionless table schema d.json",
        {"id": "drop", "age": "integer", "sex": "category", "born": "date", "score": "real", "where": "drop"},
        {"born: lower", "born: upper"},
    ),
    "CSVW": (
        written(CSVW), "d.json", "the CSVW metadata d.json",
        {"id": "drop", "age": "integer", "seen": "date"}, {"seen: lower", "seen: upper"},
    ),
    "JSON Schema": (
        written(JSON_SCHEMA), "d.json", "the JSON Schema d.json",
        {"age": "integer", "ill": "boolean", "grade": "category", "day": "date", "last_name": "drop"},
        {"day: lower", "day: upper"},
    ),
    "pandera": (
        written(PANDERA), "d.json", "the pandera schema d.json",
        {"age": "integer", "sex": "category", "low": "real", "at": "datetime", "key": "drop"},
        {"low: upper", "at: lower", "at: upper"},
    ),
    "DDI": (
        codebook, "d.xml", "the DDI codebook d.xml",
        {"AGE": "integer", "REGION": "category", "INCOME": "real", "REMARK": "drop"},
        {"INCOME: lower", "INCOME: upper"},
    ),
}  # fmt: skip


def facts(case: str, folder: Path) -> Schema:
    make, name, *_ = CASES[case]
    return kg.schema_from(make(folder / name), table="people" if case == "frictionless" else None)


@pytest.mark.parametrize("case", CASES)
def test_what_a_document_says_arrives(case: str, tmp_path: Path) -> None:
    *_, said_by, kinds, left = CASES[case]
    found = facts(case, tmp_path)
    assert {column.name: column.kind for column in found} == kinds
    assert {f"{fact.column}: {fact.field}" for fact in found.open_facts()} == left
    assert all(column.confirmed == said_by and not column.derived for column in found)
    assert Schema.loads(found.dumps()) == found


def test_bounds_and_values_are_those_of_the_documents(tmp_path: Path) -> None:
    found = facts("REDCap", tmp_path)
    assert (found.axis("age").lower, found.axis("age").upper, found["age"].may_lack) == (18, 99, False)
    assert isinstance(found["sex"], Category)
    assert found["sex"].categories == ("1", "2", "9")
    assert str(found.axis("visit").upper) == "2024-12-31"
    found = facts("DDI", tmp_path)
    assert isinstance(found["REGION"], Category)
    assert found["REGION"].categories == ("1", "2")
    found = facts("frictionless", tmp_path)
    assert found.axis("born").format == "%d.%m.%Y"  # type: ignore[attr-defined]
    assert (found.axis("score").lower, found.axis("score").upper) == (0.5, 9.0)


def test_certificates_name_the_document(tmp_path: Path) -> None:
    import pandas as pd

    schema = facts("JSON Schema", tmp_path).replace("day", lower="2020-01-01", upper="2021-12-31")
    rows = 60
    table = pd.DataFrame(
        {
            "age": [i % 90 for i in range(rows)],
            "ill": [i % 2 == 0 for i in range(rows)],
            "grade": ["a", "b"] * (rows // 2),
            "day": ["2020-05-01"] * rows,
            "last_name": ["x"] * rows,
        }
    )
    model = kg.fit("independent", table, 1, schema=schema, simulation=1)
    assert any("the JSON Schema d.json" in sentence for sentence in model.certificate.assumptions)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("d.csv", "age,sex\n1,2\n", "no REDCap data dictionary"),
        ("d.json", "{", "damaged, or none of these"),
        ("d.json", '{"a": 1}', "it must be a REDCap data dictionary"),
        ("d.json", '[{"a": 1}]', "it must be a REDCap data dictionary"),
        ("d.json", '{"fields": [{}]}', "damaged, or none of these"),
        ("d.xml", "<a><b>", "not valid XML"),
        ("d.xml", "<a/>", "no variable is described"),
        ("d.xml", '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "a document type of its own"),
    ],
)
def test_other_documents_are_refused_in_words(name: str, content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SchemaError, match=words):
        kg.schema_from(tmp_path / name)


def test_a_missing_file_and_an_unsaid_table_are_named(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"absent\.json: the file cannot be read"):
        kg.schema_from(tmp_path / "absent.json")
    with pytest.raises(SchemaError, match=r"which table is meant.*people, other"):
        kg.schema_from(written(FRICTIONLESS)(tmp_path / "d.json"))
