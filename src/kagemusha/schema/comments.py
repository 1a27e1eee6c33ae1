"""A schema file changed where the schema changed, so that what a person wrote beside it stays."""

from __future__ import annotations

from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError

from kagemusha.errors import SchemaError
from kagemusha.schema.schema import Schema
from kagemusha.schema.toml import DERIVED


def merged(text: str, schema: Schema) -> str | None:
    """The text of a schema file saying this schema, with its own comments, order and gaps.

    What it left out, since it goes without saying, stays out. None where that cannot be: then the file must be written
    anew.
    """
    try:
        old, new = tomlkit.parse(text), tomlkit.parse(schema.dumps())
        _table(old, new, tomlkit.parse(Schema.loads(text).dumps()).unwrap())
        found = tomlkit.dumps(old)
        return found if Schema.loads(found) == schema else None
    except (TOMLKitError, SchemaError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _table(old: Any, new: Any, said: Any) -> None:
    """Change a table in place until it says what the other one says; `said` is what it says in full."""
    for key in [key for key in old if key not in new]:
        old.remove(key)
    for key in new:
        if key not in old:
            if key not in said or said[key] != new.unwrap()[key]:
                old.append(key, new[key])
        elif isinstance(new[key], dict) and isinstance(old[key], dict):
            _table(old[key], new[key], said[key])
        elif isinstance(new[key], list) and new[key] and isinstance(new[key][0], dict):
            _rules(old[key], new[key])
        else:
            _value(old, new, key)


def _value(old: Any, new: Any, key: str) -> None:
    """Exchange a value; a comment behind it stays if it is a person's."""
    before, after = _item(old, key), _item(new, key)
    own = _note(before)
    if before.unwrap() != after.unwrap() or own == DERIVED != _note(after):
        old[key] = after
        trivia = _item(old, key).trivia
        trivia.comment_ws, trivia.comment = ("  ", f"# {own}") if own and own != DERIVED else ("", "")


def _item(table: Any, key: str) -> Any:
    """A value with what is written around it; by subscript some come out bare."""
    return table.item(key) if isinstance(table, Container) else table.value.item(key)


def _rules(old: Any, new: Any) -> None:
    """The tables of an array are the same where their rules are."""
    there = {rule["rule"]: rule for rule in old}
    wanted = {rule["rule"]: rule for rule in new}
    for at in reversed(range(len(old))):
        if old[at]["rule"] not in wanted:
            del old[at]
    for name, rule in wanted.items():
        if name in there:
            _table(there[name], rule, {})
        else:
            old.append(rule)


def _note(item: Any) -> str:
    """The comment behind a value."""
    return str(item.trivia.comment).lstrip("# ").strip()
