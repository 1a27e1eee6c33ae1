"""What a schema file declares: one table, or several that belong together."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from kagemusha.errors import SchemaError
from kagemusha.files import StrangeFileError, read_regular
from kagemusha.schema import toml
from kagemusha.schema.related import Related
from kagemusha.schema.schema import Schema

Declared = Schema | Related


def read_declared(text: str, *, folder: Path | None = None) -> Declared:
    """The schema in the text of a file."""
    document = toml.read(text)
    return Related.of(document, folder) if "tables" in document else Schema.loads(text, folder=folder)


def load_declared(path: str | PathLike[str]) -> Declared:
    """The schema in a file; every error names the file."""
    try:
        text = read_regular(Path(path), follow=True).decode("utf-8-sig")
    except (OSError, StrangeFileError, ValueError):
        return Schema.load(path)  # which says what is wrong with it
    try:
        return read_declared(text, folder=Path(path).absolute().parent)
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None
