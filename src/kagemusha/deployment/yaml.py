"""Writing YAML that any reader understands: maps, lists, texts and numbers, and nothing else of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LONG = 80
"""Texts from this length on are written as a block, which people can read and edit."""


def dumps(data: Mapping[str, Any]) -> str:
    """The document, with keys in the order of the mapping."""
    return "\n".join(_map(data, "")) + "\n"


def _map(data: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in data.items():
        yield from _entry(f"{indent}{key}:", value, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield head
        yield from _map(value, indent + "  ")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield head
        for item in value:
            yield from _item(item, indent + "  ")
    elif isinstance(value, str) and (len(value) >= LONG or "\n" in value) and _is_plain(value):
        yield f"{head} |-"
        yield from (f"{indent}  {line}" if line else "" for line in value.split("\n"))
    else:
        yield f"{head} {_scalar(value)}"


def _item(item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, Mapping):
        yield f"{indent}-"
        yield from _map(item, indent + "  ")
    else:
        yield f"{indent}- {_scalar(item)}"


def _scalar(value: Any) -> str:
    """Texts in JSON's quotes, which YAML reads as the same text; floats with a point, so that they stay numbers."""
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e") if "e" in text else f"{text}.0"
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else _quoted(value)


def _quoted(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def _is_plain(text: str) -> bool:
    """Whether a block keeps every character: no odd blanks at the ends of lines, nothing that is not printable."""
    lines = text.split("\n")
    return (
        all(line == line.rstrip() and line.isprintable() for line in lines)
        and not text.startswith((" ", "\n"))
        and text[-1:] != "\n"
    )
