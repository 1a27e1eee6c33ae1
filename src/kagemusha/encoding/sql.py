"""The code of a column as a DuckDB expression: the twin of the numpy path, for files too large to load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from kagemusha.encoding.bins import own_codes
from kagemusha.encoding.parse import moment_sql, number_sql, quote
from kagemusha.errors import SchemaError
from kagemusha.schema import Integer, Labelled, Measured, Modelled, Moment

Stored = Literal["text", "integer", "float", "boolean", "date", "timestamp", "zoned", "nested"]
"""How a table stores a column."""

MICROSECONDS = {"D": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "us": 1}


def sql_expression(column: Modelled, stored: Stored = "text", source: str | None = None) -> str:
    """DuckDB expression for the code of a column; it is never NULL.

    `stored` says how the table stores the column, `source` under which SQL identifier (its name, if not said).
    """
    name = identifier(column.name) if source is None else source
    check_stored(column, stored)
    if isinstance(column, Labelled):
        return _labelled(column, as_text(name, stored))
    assert isinstance(column, Measured)
    if isinstance(column, Moment):
        return _binned(column, _lattice(column.unit, _as_moment(column, name, stored)))
    return _binned(column, number_sql(name) if stored == "text" else f"CAST({name} AS DOUBLE)")


def check_stored(column: Modelled, stored: Stored) -> None:
    """A `SchemaError` where a column of this kind cannot be stored so."""
    unfit: tuple[Stored, ...] = ("nested",)
    if isinstance(column, Moment):
        unfit = ("nested", "float", "boolean")
    elif isinstance(column, Measured):
        unfit = ("nested", "date", "timestamp", "zoned")
    if stored in unfit:
        raise SchemaError(
            f"column {column.name!r} is declared {column.kind}, but the table stores it as {stored}; "
            "declare the kind it has, or drop it"
        )


def identifier(name: str) -> str:
    """A column name as SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def as_text(name: str, stored: Stored) -> str:
    """DuckDB expression: the text under which a stored value is looked up among labels, NULL if it is missing."""
    if stored == "text":
        return f"CAST({name} AS VARCHAR)"
    if stored == "boolean":
        return f"CASE WHEN {name} THEN 'true' WHEN NOT {name} THEN 'false' END"
    if stored == "float":
        number = f"CAST({name} AS DOUBLE)"
        whole = f"abs({number}) < {2**53} AND {number} = floor({number})"
        return (
            f"CASE WHEN isnan({number}) THEN NULL WHEN {whole} THEN CAST(CAST({number} AS BIGINT) AS VARCHAR) "
            f"ELSE CAST({number} AS VARCHAR) END"
        )
    return f"CAST({name} AS VARCHAR)"


def _as_moment(column: Moment, name: str, stored: Stored) -> str:
    if stored in ("text", "integer"):
        return moment_sql(as_text(name, stored), column.format)
    # The cast of a zoned timestamp would depend on the zone of this machine.
    zoned = stored == "zoned"
    moment = f"make_timestamp(epoch_us({name}))" if zoned else f"TRY_CAST({name} AS TIMESTAMP)"
    if zoned:
        return f"CASE WHEN isfinite({name}) THEN {moment} END"
    return f"CASE WHEN isfinite({moment}) THEN {moment} END"


def _labelled(column: Labelled, text: str) -> str:
    """Look the text up by hashing: a cast to an enum of the accepted texts, then from position to code."""
    texts = column.texts
    spellings = sorted(texts, key=texts.__getitem__)
    accepted = ", ".join(quote(spelling) for spelling in spellings)
    position = f"CAST(enum_code(TRY_CAST({text} AS ENUM({accepted}))) AS INTEGER)"
    codes = [texts[spelling] for spelling in spellings]
    if codes == list(range(len(codes))):
        code = f"coalesce({position}, {column.stray_code})"
    else:
        found = _tree(position, [codes.index(code) for code in range(codes[-1] + 1)], 0)
        code = f"CASE WHEN {position} IS NULL THEN {column.stray_code} ELSE {found} END"
    if column.empty_code == column.stray_code:
        return code
    empty = f"{text} IS NULL" if "" in texts else f"{text} IS NULL OR {text} = ''"
    return f"CASE WHEN {empty} THEN {column.empty_code} ELSE {code} END"


def _lattice(unit: str, moment: str) -> str:
    """Whole units from 1970 to a timestamp, rounded down."""
    if unit == "Y":
        return f"(year({moment}) - 1970)"
    if unit == "M":
        return f"((year({moment}) - 1970) * 12 + month({moment}) - 1)"
    size, stamp = MICROSECONDS[unit], f"epoch_us({moment})"
    # `//` rounds towards zero, so the remainder is made positive first.
    return stamp if size == 1 else f"(({stamp} - (({stamp} % {size}) + {size}) % {size}) // {size})"


def _binned(column: Measured, number: str) -> str:
    low, high = _number(column.low), _number(column.high)
    empty = f"{number} IS NULL" if isinstance(column, Moment) else f"{number} IS NULL OR isnan({number})"
    cases = f"WHEN {empty} THEN {column.empty_code}"
    if column.out_of_domain == "missing":
        cases += f" WHEN {number} < {low} OR {number} > {high} THEN {column.missing_code}"
    if own_codes(column):
        code = f"CAST(floor(greatest({low}, least({high}, {number}))) - {low} AS INTEGER)"
    elif isinstance(column, Integer) and column.bins and (width := column.high - column.low + 1) < 2**26:
        # The bin i with width * i // bins <= x - low, solved for i: exact in float64 for such widths, and
        # faster than halving.
        clipped = f"floor(greatest({low}.0e0, least({high}.0e0, {number})))"
        code = f"CAST(floor((({clipped} - {column.low - 1}) * {column.bins} - 1) / {width}) AS INTEGER)"
    else:
        code = _tree(number, column.starts.tolist(), 0)
    return f"CASE {cases} ELSE {code} END"


def _tree(number: str, starts: Sequence[Any], first: int) -> str:
    """Position among rising starts, by halving; numbers below the first start count as the first."""
    if len(starts) == 1:
        return str(first)
    half = len(starts) // 2
    left = _tree(number, starts[:half], first)
    right = _tree(number, starts[half:], first + half)
    return f"CASE WHEN {number} < {_number(starts[half])} THEN {left} ELSE {right} END"


def _number(value: Any) -> str:
    # An exponent makes the literal a DOUBLE; without one DuckDB would read a DECIMAL.
    return f"{value!r}e0" if isinstance(value, float) and "e" not in repr(value) else repr(value)
