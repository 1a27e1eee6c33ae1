"""What one column seems to be, judged by its values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kagemusha.columns.arrow import plain_values
from kagemusha.columns.bins import EXACT
from kagemusha.columns.boolean import Boolean
from kagemusha.columns.category import Category
from kagemusha.columns.clock import Duration, TimeOfDay
from kagemusha.columns.column import Column
from kagemusha.columns.drop import Drop
from kagemusha.columns.integer import Integer
from kagemusha.columns.label import compatible
from kagemusha.columns.real import Real
from kagemusha.columns.spans import written
from kagemusha.columns.values import Elapsed
from kagemusha.errors import SchemaError
from kagemusha.proposal.moments import BINS, drafted_moments, format_of, native_moments
from kagemusha.proposal.spellings import REAL, is_yes_or_no, seen_spelling
from kagemusha.schema.lint import looks_like_identifier, looks_like_names

FEW_CATEGORIES = 256
FEW_NUMBERS = 64
FEW_CODES, FEWEST_NUMBERS = 5, 20
FEW_VALUES = 12
MANY_CODES = 10_000
LONG_TAIL = 15
"""The largest number is this many times the middle one where bins should grow with the numbers."""

GAPS = frozenset({"", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "?", "-", "."})
# 1.0 is how a whole number is often written in a column with gaps.
WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0)?")

CODE = re.compile(r"[A-Z]{1,3}[0-9]{1,4}[A-Z]?(\.[0-9A-Z]{1,4})?|[0-9]{3,8}")
"""How codes look of which there are many: ICD-10, postcodes, industries."""

PERSONS = "names of persons"
MIXED = "values of mixed or nested types"
NOTHING = "no value seen"
NAMES = "many different texts: an identifier or free text"
NUMBERS = "every number occurs once: an identifier"
REPEATS = "an identifier that occurs in several rows: persons have several"


def draft_column(name: str, values: Any) -> Column:
    """The column an arrow array suggests, every fact marked derived; None stands for an unreadable one."""
    import pyarrow as pa

    if values is None:
        return _drop(name, MIXED)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    present = values.drop_null()
    gaps = len(present) < len(values)
    if not len(present):
        return _drop(name, NOTHING)
    if pa.types.is_boolean(kind):
        return Boolean(name, missing=gaps, derived=("kind", "missing"))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = present.cast(pa.float64(), safe=False).to_pylist()
        exact = kind.scale if pa.types.is_decimal(kind) else None  # the nearest of its numbers, not one beside it
        return _numbers(name, numbers if exact is None else [round(n, exact) for n in numbers], gaps)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return native_moments(name, present, gaps)
    if pa.types.is_time(kind):
        return TimeOfDay(name, missing=gaps, derived=("kind", "missing"))
    if pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return _durations(name, present, gaps)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _texts(name, present.unique().to_pylist(), len(present), gaps)
    return _drop(name, MIXED)


def _durations(name: str, values: Any, gaps: bool) -> Column:
    spans = [one.microseconds / 1e6 for one in plain_values(values) if isinstance(one, Elapsed)]
    if not spans:
        return _drop(name, NOTHING)
    lower, upper = (written(int(end)) for end in _rounded_out(math.floor(min(spans)), math.ceil(max(spans))))
    marks = ("kind", "lower", "upper", "missing")
    return Duration(name, lower=lower, upper=upper, bins=BINS, missing=gaps, derived=marks)


def _drop(name: str, reason: str) -> Drop:
    return Drop(name, reason=reason, derived=("kind",))


def _texts(name: str, distinct: list[str], rows: int, gaps: bool) -> Column:
    words = [text for text in distinct if text.strip() not in GAPS]
    said_gaps = gaps or len(words) < len(distinct)
    if not words:
        return _drop(name, NOTHING)
    if looks_like_names(name):
        return _drop(name, PERSONS)  # names are never listed in a draft
    if set(words) == {"true", "false"} or is_yes_or_no(words):
        return Boolean(name, missing=said_gaps, derived=("kind", "missing"))
    form = format_of(words)
    if form is not None:
        moments = [datetime.strptime(word, form) for word in words]
        return drafted_moments(name, moments, said_gaps, form, timed=":" in form)
    if (times := TimeOfDay.drafted(name, words, said_gaps)) is not None:
        return times
    if looks_like_identifier(name) and FEW_NUMBERS < len(words) < rows:
        return _drop(name, REPEATS)
    if looks_like_codes(name) and FEW_NUMBERS < len(words) <= MANY_CODES and all(map(CODE.fullmatch, words)):
        return _codes(name, words, said_gaps)
    if all(map(WHOLE.fullmatch, words)):
        return _numbers(name, [float(word) for word in words], said_gaps, all_distinct=len(words) == rows)
    if all(map(REAL.fullmatch, words)) and not any(re.match(r"[+-]?0[0-9]", word) for word in words):
        decimals = max(len(word.partition(".")[2]) for word in words)
        return _reals(name, [float(word) for word in words], said_gaps, decimals, rows=rows)
    if (spelt := _spelt(name, words, said_gaps)) is not None:
        return spelt
    mixed = _numbers_and_codes(name, words, said_gaps)
    if mixed is not None:
        return mixed
    values = [text for text in distinct if text]
    if FEW_CATEGORIES < len(values) <= min(MANY_CODES, rows // 4) and all(map(CODE.fullmatch, values)):
        return _codes(name, values, said_gaps)
    if len(values) > min(FEW_CATEGORIES, max(20, rows // 4)):
        return _drop(name, NAMES)
    derived = ("kind", "categories", "missing")
    missing = gaps or len(values) < len(distinct)
    return Category(name, categories=compatible(sorted(values)), missing=missing, derived=derived)


def _spelt(name: str, words: list[str], gaps: bool) -> Column | None:
    """Numbers with separators or currency signs, dates of several forms or of Japanese eras; None if neither."""
    found = seen_spelling(words)
    if found is None or found.plain == words:
        return None
    drafted = _texts(name, list(dict.fromkeys(found.plain)), len(words) + 1, gaps).axis
    if drafted is None or (drafted.sort == "moment") != found.moments:
        return None
    form: dict[str, Any] = {"format": None} if found.moments else {}
    marks = (*(mark for mark in drafted.derived if mark not in form), "spelling")
    return replace(drafted, spelling=found.spelling, derived=marks, **form)


def looks_like_codes(name: str) -> bool:
    """Whether a column's name says that its numbers are codes, not amounts."""
    return re.search(r"(?i)(^|[_\W])(icd\w*|post_?code|zip(_?code)?|plz|naics|sic|nace|isco|code)$", name) is not None


def _codes(name: str, values: Sequence[str], gaps: bool) -> Category:
    """Many codes, grouped by how they begin."""
    levels = (1, 3) if values[0][0].isalpha() else (2,)
    marks = ("kind", "categories", "levels", "missing")
    return Category(name, categories=compatible(sorted(values)), levels=levels, missing=gaps, derived=marks)


def _numbers_and_codes(name: str, words: list[str], gaps: bool) -> Column | None:
    """A column of numbers among which a few other words stand ("N" for not done); None if it is something else."""
    codes = [word for word in words if not REAL.fullmatch(word)]
    numbers = [word for word in words if REAL.fullmatch(word)]
    if not 1 <= len(codes) <= FEW_CODES or len(numbers) < FEWEST_NUMBERS:
        return None
    drafted = _texts(name, numbers, len(numbers) + 1, gaps).axis
    if drafted is None or drafted.sort != "number":
        return None
    try:
        special = (*codes, *drafted.special)
        return replace(drafted, special=special, derived=tuple(dict.fromkeys([*drafted.derived, "special"])))
    except SchemaError:
        return None


def _sentinels(numbers: Sequence[float]) -> list[float]:
    """Numbers that stand for something else: 999 or -1, far from all others."""
    distinct = sorted(set(numbers))
    found = []
    if len(distinct) > FEWEST_NUMBERS // 2:
        top, low = distinct[-1], distinct[0]
        if re.fullmatch(r"9{2,8}", f"{top:g}") and top - distinct[-2] > distinct[-2] - distinct[0]:
            found.append(top)
        if re.fullmatch(r"-1|-9{1,8}", f"{low:g}") and distinct[1] >= 0 and (low < -1 or distinct[1] > 0):
            found.append(low)
    return found


def _numbers(name: str, numbers: list[float], gaps: bool, all_distinct: bool | None = None) -> Column:
    finite = [number for number in numbers if math.isfinite(number)]
    gaps = gaps or any(math.isnan(number) for number in numbers)
    if not finite:
        return _drop(name, NOTHING)
    if not all(number == math.floor(number) for number in finite):
        return _reals(name, finite, gaps, _decimals(finite))
    special = tuple(int(number) for number in _sentinels(finite))
    finite = [number for number in finite if number not in special]
    low, high = min(finite), max(finite)
    if all_distinct is None:
        all_distinct = len(set(finite)) == len(numbers)
    if looks_like_identifier(name) and not all_distinct and len(set(finite)) > FEW_NUMBERS:
        return _drop(name, REPEATS)
    dense = high - low < 2 * len(finite) or name.lower().endswith("id")
    if max(abs(low), abs(high)) > EXACT / 16 or (all_distinct and dense and len(finite) > FEW_NUMBERS):
        return _drop(name, NUMBERS)
    lower, upper = (int(end) for end in _rounded_out(low, high))
    bins = BINS if upper - lower >= FEW_NUMBERS else None
    scale = "log" if bins and lower >= 0 and has_long_tail(finite) else None
    derived = ("kind", "lower", "upper", "missing", *(["special"] if special else []), *(["scale"] if scale else []))
    return Integer(
        name, lower=lower, upper=upper, bins=bins, scale=scale, special=special, missing=gaps, derived=derived
    )


def _reals(name: str, numbers: Sequence[float], gaps: bool, decimals: int, *, rows: int | None = None) -> Column:
    finite = [number for number in numbers if abs(number) < 1e300]
    if not finite:
        return _drop(name, NOTHING)
    special = tuple(int(n) if n == int(n) else n for n in _sentinels(finite))
    finite = [number for number in finite if number not in special]
    shown = decimals if decimals <= 8 else None
    few = sorted(set(finite))
    if 2 <= len(few) <= FEW_VALUES and (rows or len(finite)) >= 20 * len(few):
        marks = ("kind", "values", "missing", "decimals", *(["special"] if special else []))
        return Real(name, values=tuple(few), decimals=shown, special=special, missing=gaps, derived=marks)
    lower, upper = _rounded_out(min(finite), max(finite))
    scale = None
    if min(finite) > 0 and has_long_tail(finite):
        # such bins need a lowest number above 0, and a power of ten tells little of the smallest one
        lower, scale = lower if lower > 0 else 10.0 ** math.floor(math.log10(min(finite))), "log"
    derived = ("kind", "lower", "upper", "missing", *(["decimals"] if shown is not None else []))
    derived = (*derived, *(["special"] if special else []), *(["scale"] if scale else []))
    return Real(
        name,
        lower=lower,
        upper=upper,
        bins=BINS,
        scale=scale,
        decimals=shown,
        special=special,
        missing=gaps,
        derived=tuple(derived),
    )


def has_long_tail(numbers: Sequence[float]) -> bool:
    """Whether most numbers, none below zero, would share the first of all equal bins: money, counts, results."""
    ordered = sorted(numbers)
    return ordered[0] >= 0 and ordered[-1] > LONG_TAIL * max(ordered[len(ordered) // 2], ordered[0]) > 0


def _decimals(numbers: Sequence[float]) -> int:
    """Decimals that write the numbers exactly, 9 standing for more than 8."""
    for decimals in range(9):
        if all(round(number, decimals) == number for number in numbers):
            return decimals
    return 9


def _rounded_out(low: float, high: float) -> tuple[float, float]:
    """Bounds a little wider than the data, at round numbers."""
    span = high - low
    if span <= 20 and low == math.floor(low) and high == math.floor(high):
        return low, high if high > low else low + 1
    step = 10.0 ** math.floor(math.log10(span or abs(high) or 1.0)) / 2
    if step >= 1:
        return math.floor(low / step) * step, math.ceil(high / step) * step
    inverse = round(1 / step)
    lower, upper = math.floor(low * inverse) / inverse, math.ceil(high * inverse) / inverse
    return lower, upper if upper > lower else lower + step
