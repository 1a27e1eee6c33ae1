"""The schema file: TOML a person can edit. Reading is the standard library's; writing adds the comments."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kagemusha.columns.column import shown
from kagemusha.columns.registry import did_you_mean
from kagemusha.errors import SchemaError
from kagemusha.files import StrangeFileError, read_regular
from kagemusha.schema.constraints import Constraint, read_list

VERSION = 1
DEMANDS = ("require", "accept")


def constraints_of(tables: Any, folder: Path | None = None) -> list[Constraint]:
    """The rules of a document; a `SchemaError` for what is none."""
    if not isinstance(tables, list):
        raise SchemaError('constraints: a list is needed, such as [[constraint]] with rule = "admission <= discharge"')
    return [Constraint.from_fields(table, folder) for table in tables]


def target_of(document: Mapping[str, Any]) -> str | None:
    """The column to predict, if the document names one."""
    target = document.get("target")
    if target is not None and not isinstance(target, str):
        raise SchemaError(f'target: the name of a column is needed, such as target = "income", got {shown(target)}')
    return target


def with_list(name: str, table: Any, folder: Path | None) -> Any:
    """The fields of a column with `categories_file` read: the first value of each line of a CSV file.

    A `families_file` holds lines of a code and its groups, and leaves open which of them are categories.
    """
    if isinstance(table, Mapping) and "families_file" in table:
        lines = read_list(table["families_file"], folder, f"column {name!r}")
        return {**{k: v for k, v in table.items() if k != "families_file"}, "families": lines}
    if not isinstance(table, Mapping) or "categories_file" not in table:
        return table
    if table.get("kind") != "category" or "categories" in table:
        raise SchemaError(f"column {name!r}: categories_file is for a category that lists no categories itself")
    lines = read_list(table["categories_file"], folder, f"column {name!r}")
    rest = {field: value for field, value in table.items() if field != "categories_file"}
    if rest.pop("hierarchy", None) == "file":  # code, then its groups, fine ones first, as lists of codes are written
        return {**rest, "categories": [line[0] for line in lines], "ancestors": [line[:0:-1] for line in lines]}
    return {**rest, "categories": [line[0] for line in lines]}


def check_version(given: object) -> None:
    """A `SchemaError` for a version that is not known."""
    if given != VERSION:
        raise SchemaError(f"version = {shown(given)} is not known; this program reads version {VERSION}")


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 of what is declared, from its form for JSON."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def check_entries(document: Mapping[str, Any]) -> None:
    """A `SchemaError` for an entry that the schema of one table does not have."""
    known = (
        "version",
        "target",
        "encoding",
        "frame",
        "unit",
        "weight",
        "columns",
        "constraint",
        *DEMANDS,
        "deployment",
    )
    if "tables" in document:
        raise SchemaError(
            "this schema declares several tables: synth, sample and verify take it, and so do kg.fit_related and "
            "kg.load_related; whatever else there is takes one table so far"
        )
    for key in document:
        if key not in known:
            raise SchemaError(f"a schema file has no entry {key!r}{did_you_mean(key, known)}")


DERIVED = "derived from data: replace by public knowledge and remove from `derived`"

HEADER = """\
# What is declared about the table. Names, categories, bounds and bins in this file are treated as PUBLIC:
# write only what you would know without looking at the data.
#
# kind           category | boolean | integer | real | date | datetime | time | duration | drop | surrogate
# missing        true if a value may be missing (adds one code)
# out_of_domain  where values outside the declared domain are counted: "clip", "missing", "other" (a category of that
#                name), or "redraw" (apart; doubles get a listed category in its place)
# dtype          the type of the column in the output, such as "int16" or "timestamp[ms]", if you want one of your own
# derived        the fields of this column that were taken from the data and that nobody has confirmed yet;
#                while any is listed the release is not private end to end
"""


HEADS = {
    "target": "the column that people will predict from the others: its pairs are kept with special care",
    "encoding": "how the lines of the file are written that are not UTF-8",
    "frame": "how pandas holds the columns of doubles: as the table it was drafted from",
}
"""Fields at the head of the file, and what each says."""

FRAMES = ("pyarrow", "nullable")
"""How pandas may hold columns: by arrow's types, or by its own that know gaps. If none is said, by its plain ones."""


def known_frame(frame: object) -> str:
    """How pandas is to hold doubles; a `SchemaError` for an unknown way."""
    if not isinstance(frame, str) or frame not in FRAMES:
        raise SchemaError(f"frame = {shown(frame)} is not known; it must be {' or '.join(map(repr, FRAMES))}")
    return frame


def heads(**said: str | None) -> dict[str, str]:
    """What stands at the head of the file."""
    return {field: value for field, value in said.items() if value is not None}


def head_lines(said: Mapping[str, str]) -> list[str]:
    """The same as lines of the file."""
    return [f"{field} = {_value(value)}  # {HEADS[field]}" for field, value in said.items()]


def weight_lines(weight: Mapping[str, Any]) -> list[str]:
    """The table of survey weights, if there are any."""
    fields = [f"{field} = {_value(value)}" for field, value in weight.items()]
    return ["", WEIGHT_COMMENT, "[weight]", *fields] if weight else []


UNIT_COMMENT = "# the promise is about a person: all rows that share a value of `column`, at most `max_rows` of them"


_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?:^|[{{,\[])[ \t]*+{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{40}}", re.MULTILINE)
"""A key of more than forty parts: the parser takes time with the square of their number."""


def text_of(path: Path) -> str:
    """The text of a schema file; a `SchemaError` says why it cannot be read."""
    try:
        return read_regular(path, follow=True).decode("utf-8-sig")
    except OSError as error:
        why = error.strerror
    except StrangeFileError as error:
        why = f"it {error}"
    except ValueError:
        why = "it is not UTF-8 text"
    raise SchemaError(f"the schema file cannot be read: {why}")


def read(text: str) -> dict[str, Any]:
    """Parse TOML; a syntax error becomes a `SchemaError` with its line."""
    if long := _LONG_KEY.search(text):
        raise SchemaError(f"line {text.count(chr(10), 0, long.end()) + 1}: a key has more than 40 parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        trouble = f"this is not valid TOML: {error}"
    except RecursionError:
        trouble = "lists or tables are nested too deeply; a schema needs no more than three levels"
    except ValueError:
        trouble = f"a whole number has more than {sys.get_int_max_str_digits():,} digits"
    raise SchemaError(trouble)


WEIGHT_COMMENT = (
    "# a survey: how many people of the population a record stands for; `missing`: what one without a weight counts for"
)

DEMANDS_COMMENT = {
    "require": "# tables that must be right: measured directly, published with intervals, kept by the doubles",
    "accept": "# tested on the real table for a share of the budget; the answer stands on the certificate",
}

RULES_COMMENT = "# what holds for every row; doubles always obey. A guess is not in force until the mark is removed"


def write(
    columns: Iterable[tuple[str, Mapping[str, Any]]],
    version: int,
    unit: Mapping[str, Any],
    rules: Sequence[Mapping[str, Any]] = (),
    heads: Mapping[str, str] = MappingProxyType({}),
    weight: Mapping[str, Any] | None = None,
    demands: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> str:
    """The text of a schema file."""
    lines = [HEADER, f"version = {version}"]
    lines += head_lines(heads)
    if unit:
        lines += ["", UNIT_COMMENT, "[unit]", *(f"{field} = {_value(value)}" for field, value in unit.items())]
    lines += weight_lines(weight or {})
    lines += [*_columns(columns, ""), *_entries("constraint", rules, RULES_COMMENT)]
    for name, listed in (demands or {}).items():
        lines += _entries(name, listed, DEMANDS_COMMENT[name])
    return "\n".join(lines) + "\n"


def write_table(
    name: str,
    fields: Mapping[str, Any],
    columns: Iterable[tuple[str, Mapping[str, Any]]],
    rules: Sequence[Mapping[str, Any]],
) -> str:
    """The part of a schema file that declares one of several tables."""
    derived = fields.get("derived", [])
    marks = dict.fromkeys(derived, f"  # {DERIVED}")
    lines = (f"{field} = {_value(value)}{marks.get(field, '')}" for field, value in fields.items())
    head = ["", f"[tables.{_key(name)}]", *lines]
    inside = f"tables.{_key(name)}."
    return "\n".join([*head, *_columns(columns, inside), *_entries(f"{inside}constraint", rules, RULES_COMMENT)]) + "\n"


def _columns(columns: Iterable[tuple[str, Mapping[str, Any]]], inside: str) -> list[str]:
    lines = []
    for name, fields in columns:
        lines += ["", f"[{inside}columns.{_key(name)}]"]
        derived = fields.get("derived", [])
        for field, value in fields.items():
            comment = f"  # {DERIVED}" if field in derived else ""
            lines.append(f"{field} = {_value(value)}{comment}")
    return lines


def _entries(name: str, listed: Sequence[Mapping[str, Any]], comment: str) -> list[str]:
    lines = []
    for at, fields in enumerate(listed):
        lines += ["", *([comment] if at == 0 else []), f"[[{name}]]"]
        lines += [f"{field} = {_value(value)}" for field, value in fields.items()]
    return lines


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    return _list([_value(item) for item in value])


def _list(items: list[str]) -> str:
    whole = "[" + ", ".join(items) + "]"
    if len(whole) <= 100:
        return whole
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) > 100 and line.strip():
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join(["[", *lines, line, "]"])


def _text(text: str) -> str:
    escaped = "".join(_escape(char) for char in text)
    return f'"{escaped}"'


def _escape(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char < " " or char == "\x7f":
        return f"\\u{ord(char):04x}"
    return char
