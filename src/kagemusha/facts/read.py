"""A schema from documents and catalogues that say what is public about a table; no row is read.

Every column names who says so, and certificates show it. What a document does not say stays open: for a person to fill
in, or for private discovery.
"""

from __future__ import annotations

import csv
import io
import json
from os import PathLike
from pathlib import Path
from typing import Any

from kagemusha.errors import SchemaError
from kagemusha.facts.ddi import ddi
from kagemusha.facts.json_documents import reader_of
from kagemusha.facts.redcap import is_redcap, redcap
from kagemusha.facts.statement import Statement, named_once
from kagemusha.files import StrangeFileError, is_postgres, read_regular
from kagemusha.schema.schema import Schema

FORMATS = (
    "a REDCap data dictionary (.csv), SDV metadata, frictionless, CSVW, pandera or JSON Schema (.json), a DDI codebook "
    "(.xml), or the address of a PostgreSQL database"
)


def schema_from(source: str | PathLike[str], *, table: str | None = None) -> Schema:
    """The schema that a data dictionary, a metadata file or a database's catalogue describes."""
    if is_postgres(source):
        from kagemusha.facts.catalogue import catalogue

        found, said_by = catalogue(str(source), table)
    else:
        found, said_by = _of_file(Path(source), table)
    statements = named_once(found)
    if not statements:
        raise SchemaError(f"{source}: no column is described")
    return Schema(one.column(said_by) for one in statements)


def _of_file(path: Path, table: str | None) -> tuple[list[Statement], str]:
    try:
        content = read_regular(path, follow=True)
    except (OSError, StrangeFileError) as error:
        why = error.strerror if isinstance(error, OSError) else f"it {error}"
        raise SchemaError(f"{path}: the file cannot be read: {why}") from None
    try:
        return _read(content, path, table)
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    raise SchemaError(f"{path}: it is damaged, or none of these: {FORMATS}")


def _read(content: bytes, path: Path, table: str | None) -> tuple[list[Statement], str]:
    if path.suffix.lower() == ".xml":
        return list(ddi(content)), f"the DDI codebook {path.name}"
    text = content.decode("utf-8-sig")
    if path.suffix.lower() == ".csv":
        lines = csv.DictReader(io.StringIO(text, newline=""))
        if not is_redcap(lines.fieldnames or ()):
            raise SchemaError("this CSV is no REDCap data dictionary: it has no columns of variable names and types")
        return list(redcap(list(lines))), f"the REDCap data dictionary {path.name}"
    document: Any = json.loads(text)
    reader = reader_of(document)
    if reader is None:
        raise SchemaError(f"it must be {FORMATS}")
    read, called = reader
    return list(read(document, table)), f"{called} {path.name}"
