"""What a test such as `age > 60` or `ward = 'a'` means for the values of a declared column."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.errors import UsageError
from kagemusha.schema.columns import Modelled
from kagemusha.schema.conditions import Compare, Listed
from kagemusha.schema.labels import Labelled
from kagemusha.schema.measured import Measured
from kagemusha.schema.temporal import Moment

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


def special_of(column: Measured, value: Any) -> int | None:
    """Which special value of a measured column is meant, if one is."""
    said = column._says(str(value))
    return column.special_texts.get(str(value)) if said is None else column.special_numbers.get(said)


def place_of(column: Measured, value: Any) -> float:
    """The place on a measured column's axis of a value it is compared with."""
    if isinstance(column, Moment):
        try:
            return column.number(str(value))
        except ValueError:
            raise UsageError(f"where: {column.name} is compared with {value!r}; write a date as '2024-12-31'") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"where: {column.name} is a number but is compared with {value!r}")
    number = float(value)
    if not math.isfinite(number):
        raise UsageError(f"where: {column.name} is compared with {value!r}; numbers must be finite")
    return number


def labels_that_hold(column: Labelled, test: Compare) -> NDArray[np.bool_]:
    """For each label whether the test holds."""
    if test.operator in ("=", "!="):
        same = np.equal(np.arange(len(column.labels)), code_of_label(column, test.value))
        return np.asarray(same if test.operator == "=" else ~same)
    if not isinstance(test.value, int | float) or not all(isinstance(one, int) for one in column.labels):
        raise UsageError(f"where: {column.name} is a category; compare it with = or !=, or use in (…)")
    compare = COMPARE[test.operator]
    return np.array([bool(compare(int(label), test.value)) for label in column.labels])


def code_of_label(column: Labelled, value: Any) -> int:
    """The code of a label that somebody wrote."""
    wanted = column.find(value if isinstance(value, str) else float(value))
    if wanted is None or wanted == column.unseen_code:
        labels = column.labels[: column.unseen_code]
        shown = ", ".join(map(repr, labels[:12])) + (", …" if len(labels) > 12 else "")
        raise UsageError(f"where: {column.name} has no value {value!r}; it has {shown}")
    return wanted


def listed_codes(columns: Sequence[Modelled], condition: Listed) -> list[tuple[int, ...]]:
    """The lines of a list as codes of its columns, which must be columns of labels."""
    for column in columns:
        if not isinstance(column, Labelled):
            raise UsageError(f"where: {column.name} stands in a list, so it must be a category or a boolean")
    labelled = [column for column in columns if isinstance(column, Labelled)]
    return [
        tuple(code_of_label(column, value) for column, value in zip(labelled, line, strict=True))
        for line in sorted(condition.lines, key=repr)
    ]
