"""What dates seem to be, judged by their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from kagemusha.columns.date import Date
from kagemusha.columns.datetime import Datetime
from kagemusha.columns.moment import Moment

BINS = 32

DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y%m%d")
CLOCKS = (" %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p")
FORMATS = (
    *DAYS, *(day + clock for day in DAYS[:-1] for clock in CLOCKS),
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f",
)  # fmt: skip


def format_of(words: Sequence[str]) -> str | None:
    """The format in which all texts are dates, if there is one."""
    return next((form for form in FORMATS if all(map(_reads(form), words))), None)


def _reads(form: str) -> Callable[[str], bool]:
    length = len(datetime(2000, 12, 31, 23, 59, 59).strftime(form))

    def reads(word: str) -> bool:
        if len(word) != length or not word[0].isdigit():
            return False
        try:
            return 1800 <= datetime.strptime(word, form).year <= 2200
        except ValueError:
            return False

    return reads


def native_moments(name: str, values: Any, gaps: bool) -> Moment:
    """The column that native dates suggest."""
    import pyarrow as pa
    import pyarrow.compute as pc

    zoned = pa.types.is_timestamp(values.type) and values.type.tz is not None
    moments = values.cast(pa.timestamp("us"), safe=False)  # with a zone, in UTC: its midnights are no days there
    days = moments.cast(pa.date32(), safe=False).cast(pa.timestamp("us"))
    timed = zoned or not pc.all(pc.equal(moments, days)).as_py()
    stamps = pc.min_max(moments).as_py()
    return drafted_moments(name, [stamps["min"], stamps["max"]], gaps, None, timed=timed)


def drafted_moments(name: str, moments: Sequence[datetime], gaps: bool, form: str | None, *, timed: bool) -> Moment:
    """A column from the first year to the last one."""
    first, last = min(moments).year, max(moments).year
    derived = ("kind", "lower", "upper", "missing", *(["format"] if form else []))
    lower: date = date(first, 1, 1)
    upper: date = datetime(last, 12, 31, 23, 59, 59) if timed else date(last, 12, 31)
    make: type[Moment] = Datetime if timed else Date
    return make(name, lower=lower, upper=upper, bins=BINS, format=form, missing=gaps, derived=tuple(derived))
