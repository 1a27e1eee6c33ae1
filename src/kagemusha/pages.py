"""Pages for people: one set-up of the template engine for every room."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any


@cache
def template(room: str, name: str) -> Any:
    """The template of that name in a room's folder; everything shown is escaped, nothing may be left out."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = files(f"kagemusha.{room}").joinpath(f"templates/{name}").read_text(encoding="utf-8")
    return environment.from_string(text)


def card(title: str, facts: Mapping[str, str]) -> str:
    """A small table for notebooks; everything shown is escaped."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><caption style='text-align:left'><b>{escape(title)}</b></caption>{rows}</table>"


def short(text: str, most: int = 40) -> str:
    """A text that fits into a line; what is too long is cut off."""
    return text if len(text) <= most else text[: most - 1] + "…"
