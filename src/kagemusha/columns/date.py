"""Dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar

from kagemusha.columns.moment import STAMPS, Moment
from kagemusha.words.catalogue import noted


@dataclass(frozen=True)
class Date(Moment):
    """Days (or months or years, if the format shows no more)."""

    kind: ClassVar[str] = "date"
    noun: ClassVar[str] = noted("a date")
    shown_as: ClassVar[str] = "date32"
    default_unit: ClassVar[str] = "D"
    resolutions: ClassVar[tuple[str, ...]] = ("Y", "M", "D")
    types: ClassVar[Mapping[str, tuple[int, int]]] = {"date32": (0, 9999), **STAMPS}

    def _normal(self, moment: datetime) -> date:
        return moment.date()
