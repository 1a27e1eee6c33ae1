"""Pages for people: one set-up of the template engine for every room."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any


@cache
def template(room: str, name: str) -> Any:
    """The template of that name in a room's folder; everything shown is escaped, nothing may be left out."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = files(f"kagemusha.{room}").joinpath(f"templates/{name}").read_text(encoding="utf-8")
    return environment.from_string(text)
