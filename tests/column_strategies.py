"""Random declarations of every kind, and raw values made to hurt."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from hypothesis import strategies as st

from kagemusha.columns.label import NOT_A_NUMBER, canonical, text_of
from kagemusha.columns.spelling import DATES, NUMBERS
from kagemusha.schema import Boolean, Category, Date, Datetime, Integer, Modelled, Real

HOSTILE_TEXTS = [
    None, "", " ", "a", "A", " a", "a ", "é", "e\u0301", "'", '"', "\\", "%", "a'b", "other", "null", "NULL", "None",
    "NA", "nan", "NaN", "inf", "-inf", "Infinity", "+inf", "1e400", "-1e400", "1e-400", "0", "-0", "-0.0", "+0", "00",
    "1", "1.0", "1.00", "01", " 1", "1 ", "1_0", "1__0", "1,5", "1.5", "0x1", "１", "1e0", "1e1", "9", "10", "10.5",
    "-1", "99", "100", "9007199254740993", "99999999999999999999999", "true", "TRUE", "True", "tRue", "t", "T", "yes",
    "Y", "no", "f", "false", "2020-01-01", "2020-1-1", "2020-02-30", "0001-01-01", "9999-12-31", "10000-01-01",
    "2020-01-01 ", "2020-01-01T00:00:00", "2020-06-15 12:30:00", "2020-06-15 12:30:59.999999", "2020-06-15T12:30:00Z",
    "2020-06-15 12:30:00+09", "infinity", "epoch", "now", "today", "15/06/2020", "31/12/1969", "06/2020", "2020",
    "1969-12-31", "1969-12-31 23:59:59.5", "Jan 5 2020", "🦊", "\u202e", "x" * 300, "a\x00b", "a\nb", "a,b", ";", "--",
]  # fmt: skip


@st.composite
def columns(draw, name: str = "x") -> Modelled:
    """A declared column of any kind."""
    missing = draw(st.booleans())
    rule = draw(st.sampled_from([None, "clip", *(["missing"] if missing else [])]))
    kind = draw(st.sampled_from(["category", "boolean", "integer", "real", "date", "datetime"]))
    common: dict[str, object] = {"missing": missing, "out_of_domain": rule}
    if kind in ("integer", "real"):
        special = st.one_of(st.sampled_from(["N", "?", "NA", "<5"]), st.sampled_from([-(10**7), 9_999_999, 10_000_000]))
        common["special"] = tuple(draw(st.lists(special, max_size=2, unique=True)))
    bins = draw(st.one_of(st.none(), st.integers(1, 40)))
    if kind in ("integer", "real"):
        common["spelling"] = draw(st.sampled_from([None, None, *NUMBERS]))
    if kind == "category":
        label = st.one_of(st.text(max_size=4), st.integers(-5, 12), st.booleans())
        label = label.filter(lambda value: "\x00" not in str(value) and value not in NOT_A_NUMBER)
        values = draw(st.lists(label, min_size=1, max_size=8, unique_by=lambda value: canonical(text_of(value))))
        return Category(name, categories=tuple(values), **common)
    if kind == "boolean":
        return Boolean(name, **common)
    if kind == "integer":
        if draw(st.booleans()):
            edges = draw(st.lists(st.integers(-100, 100), min_size=2, max_size=9, unique=True))
            return Integer(name, edges=tuple(sorted(edges)), **common)
        lower = draw(st.integers(-200, 200))
        return Integer(name, lower=lower, upper=lower + draw(st.integers(0, 300)), bins=bins, **common)
    if kind == "real":
        decimals = draw(st.one_of(st.none(), st.integers(0, 4)))
        finite = st.floats(-1e6, 1e6, allow_nan=False)
        if draw(st.booleans()):
            edges = sorted(draw(st.lists(finite, min_size=2, max_size=9, unique=True)))
            return Real(name, edges=tuple(edges), decimals=decimals, **common)
        lower = draw(finite)
        upper = lower + draw(st.floats(1e-3, 1e6))
        return Real(name, lower=lower, upper=upper, bins=bins, decimals=decimals, **common)
    if kind == "date":
        lower_day = draw(st.dates(date(1900, 1, 1), date(2050, 1, 1)))
        upper_day = lower_day + timedelta(days=draw(st.integers(0, 3000)))
        form = draw(st.sampled_from([None, "%Y-%m-%d", "%d/%m/%Y", "%Y-%m", "%Y", "%b %d %Y", "%Y%j"]))
        spelling = draw(st.sampled_from([None, *DATES])) if form is None else None
        return Date(name, lower=lower_day, upper=upper_day, bins=bins, format=form, spelling=spelling, **common)
    start = draw(st.datetimes(datetime(1900, 1, 1), datetime(2050, 1, 1)))
    end = start + timedelta(seconds=draw(st.integers(0, 100_000)))
    forms = [None, "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%d/%m/%Y %I%p", "%Y-%m-%d %H:%M:%S.%f"]
    return Datetime(name, lower=start, upper=end, bins=bins or 20, format=draw(st.sampled_from(forms)), **common)
