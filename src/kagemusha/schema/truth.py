"""Lists of combinations in rules, as codes."""

from __future__ import annotations

from collections.abc import Sequence

from kagemusha.columns import Column
from kagemusha.errors import UsageError
from kagemusha.schema.conditions import Listed


def listed_codes(columns: Sequence[Column], condition: Listed) -> list[tuple[int, ...]]:
    """The lines of a list as codes of its columns, which must be columns of labels."""
    labelled = []
    for column in columns:
        if column.as_labels is None:
            raise UsageError(f"where: {column.name} is compared with a list, so it must be a category or a boolean")
        labelled.append(column.as_labels)
    return [
        tuple(column.written_code(value) for column, value in zip(labelled, line, strict=True))
        for line in sorted(condition.lines, key=repr)
    ]
