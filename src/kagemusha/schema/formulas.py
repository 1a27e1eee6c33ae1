"""Arithmetic over the columns of one row.

`discharge - admission`, `years(birth, visit)`, `weight / (height / 100) ^ 2`. Dates and datetimes are days since 1970
here, so that their differences are days whatever unit the columns have. A formula in which a column stands once can be
turned round: from the result and the other columns follows that column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray

FUNCTIONS = {"years": 2, "hours": 1}
"""years(from, to): full calendar years between two dates; hours(days): a difference of moments in hours."""


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class Name:
    """The value of a column."""

    column: str


@dataclass(frozen=True)
class Call:
    """An operation (+ - * / ^) or one of `FUNCTIONS` with its arguments."""

    function: str
    arguments: tuple[Formula, ...]


Formula = Number | Name | Call


def columns_of(formula: Formula) -> list[str]:
    """Every column, as often as it stands there."""
    if isinstance(formula, Name):
        return [formula.column]
    return [n for a in formula.arguments for n in columns_of(a)] if isinstance(formula, Call) else []


def evaluate(formula: Formula, columns: Mapping[str, FloatArray]) -> FloatArray:
    """The formula's value for every row; NaN where a column is NaN or there is none (a division by 0)."""
    if isinstance(formula, Number):
        return np.asarray(formula.value)
    if isinstance(formula, Name):
        return columns[formula.column]
    values = [evaluate(argument, columns) for argument in formula.arguments]
    with np.errstate(all="ignore"):
        if formula.function == "years":
            return _years(*np.broadcast_arrays(*values))
        if formula.function == "hours":
            return values[0] * 24.0
        left, right = values
        found = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power}[formula.function](
            left, right
        )
    return np.where(np.isfinite(found), found, np.nan)


def solve(
    formula: Formula, name: str, result: FloatArray, columns: Mapping[str, FloatArray], rng: np.random.Generator
) -> FloatArray:
    """The values of column `name` for which the formula gives `result`; where there are many, one at random.

    The column stands once in the formula, see `invertible`.
    """
    if isinstance(formula, Name):
        return result
    assert isinstance(formula, Call)
    at = next(i for i, argument in enumerate(formula.arguments) if name in columns_of(argument))
    inner = formula.arguments[at]
    if formula.function == "hours":
        return solve(inner, name, result / 24.0, columns, rng)
    other = evaluate(formula.arguments[1 - at], columns)
    with np.errstate(all="ignore"):
        if formula.function == "years":
            wanted = _date_years_from(other, result, later=at == 1, rng=rng)
        elif formula.function == "^":
            wanted = np.power(result, 1.0 / other)
        elif formula.function in "+*":
            wanted = result - other if formula.function == "+" else result / other
        elif formula.function == "-":
            wanted = result + other if at == 0 else other - result
        else:
            # 0 / x says nothing of x
            wanted = result * other if at == 0 else np.where(other == 0, np.nan, other / result)
    return solve(inner, name, np.where(np.isfinite(wanted), wanted, np.nan), columns, rng)


def invertible(formula: Formula, name: str) -> bool:
    """Whether `solve` can find the column: it stands once, and not in an exponent."""
    if columns_of(formula).count(name) != 1:
        return False
    while isinstance(formula, Call):
        at = next(i for i, argument in enumerate(formula.arguments) if name in columns_of(argument))
        if formula.function == "^" and at == 1:
            return False
        formula = formula.arguments[at]
    return True


def linear(formula: Formula) -> tuple[dict[str, float], float] | None:
    """Factors of the columns and a constant, if the formula is such a sum."""
    if isinstance(formula, Number):
        return {}, formula.value
    if isinstance(formula, Name):
        return {formula.column: 1.0}, 0.0
    if formula.function == "years":
        return None
    parts = [linear(argument) for argument in formula.arguments]
    if any(part is None for part in parts):
        return None
    (left, constant), *rest = (part for part in parts if part is not None)
    if formula.function == "hours":
        return {n: 24 * f for n, f in left.items()}, 24 * constant
    right, other = rest[0]
    if formula.function in "+-":
        sign = 1.0 if formula.function == "+" else -1.0
        names = dict.fromkeys([*left, *right])
        factors = {n: left.get(n, 0.0) + sign * right.get(n, 0.0) for n in names}
        return {n: f for n, f in factors.items() if f}, constant + sign * other
    if formula.function == "*" and not (left and right):
        times = other if left else constant
        return {n: p for n, f in (left or right).items() if (p := f * times)}, constant * other
    if formula.function == "/" and not right and other:
        return {n: f / other for n, f in left.items()}, constant / other
    if formula.function == "^" and not left and not right:
        return {}, float(constant**other)
    return None


def _years(first: FloatArray, last: FloatArray) -> FloatArray:
    there = np.isfinite(first) & np.isfinite(last)
    (y0, d0), (y1, d1) = (_calendar(np.where(there, days, 0.0)) for days in (first, last))
    return np.where(there, y1 - y0 - (d1 < d0), np.nan)


def _calendar(days: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Year, and place of the day in it as month·32 + day."""
    day = np.floor(days).astype(np.int64).astype("M8[D]")
    year, month = day.astype("M8[Y]"), day.astype("M8[M]")
    place = (month - year.astype("M8[M]")).astype(np.int64) * 32 + (day - month.astype("M8[D]")).astype(np.int64)
    return year.astype(np.int64).astype(np.float64), place.astype(np.float64)


def _shifted(days: FloatArray, years: FloatArray) -> FloatArray:
    """The same day some years later; the 29th of February becomes the 28th where there is none."""
    there = np.isfinite(days) & np.isfinite(years)
    day = np.floor(np.where(there, days, 0.0)).astype(np.int64).astype("M8[D]")
    month = day.astype("M8[M]")
    inside = day - month.astype("M8[D]")
    moved = month + (12 * np.where(there, years, 0.0)).astype(np.int64)
    last = (moved + 1).astype("M8[D]") - np.timedelta64(1, "D")
    found = np.minimum(moved.astype("M8[D]") + inside, last).astype(np.int64).astype(np.float64)
    return np.where(there, found, np.nan)


def _date_years_from(days: FloatArray, years: FloatArray, *, later: bool, rng: np.random.Generator) -> FloatArray:
    """A day, at random, so many full calendar years after (`later`) or before some days."""
    whole = np.floor(years)
    if later:  # from the birthday on, up to the day before the next one
        first, last = _shifted(days, whole), _shifted(days, whole + 1) - 1
        first = np.where(_years(days, first) < whole, first + 1, first)
        last = np.where(_years(days, last + 1) == whole, last + 1, last)
    else:
        first, last = _shifted(days, -whole - 1) + 1, _shifted(days, -whole)
    return first + np.floor(rng.random(np.shape(first)) * (last - first + 1))
