"""Datetimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kagemusha.columns.moment import STAMPS, Moment
from kagemusha.words.catalogue import noted


@dataclass(frozen=True)
class Datetime(Moment):
    """Moments to the second (or what the format shows). Time zones are not kept: UTC counts."""

    kind: ClassVar[str] = "datetime"
    noun: ClassVar[str] = noted("a moment")
    shown_as: ClassVar[str] = "timestamp[us]"
    default_unit: ClassVar[str] = "s"
    resolutions: ClassVar[tuple[str, ...]] = ("D", "h", "m", "s", "us")
    types: ClassVar[Mapping[str, tuple[int, int]]] = STAMPS
