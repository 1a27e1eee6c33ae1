"""A schema saved where a person may have written beside it: their comments stay where that can be."""

from __future__ import annotations

from pathlib import Path

from kagemusha.files import write_whole
from kagemusha.schema import Schema
from kagemusha.schema.comments import merged
from kagemusha.schema.declared import Declared


def kept(path: Path, before: Declared, schema: Declared) -> Path | None:
    """Save a changed schema with what a person had written beside it; `before` is what the file says now.

    Where that cannot be, the file is written anew, and the copy of what stood there is returned if it had comments.
    """
    text = path.read_text(encoding="utf-8-sig")
    written = before.dumps()
    changed = merged(text, schema) if text != written and isinstance(schema, Schema) else None
    if changed is not None:
        write_whole(path, changed.encode())
        return None
    copy = None
    if _own_comments(text, written):
        copy = path.with_name(f"{path.name}.before-edit")
        write_whole(copy, path.read_bytes())
    write_whole(path, schema.dumps().encode())
    return copy


def _own_comments(text: str, written: str) -> bool:
    """Whether a file has lines of comment that we did not write."""
    ours = {line.strip() for line in written.splitlines()}
    return any(line.strip().startswith("#") and line.strip() not in ours for line in text.splitlines())
