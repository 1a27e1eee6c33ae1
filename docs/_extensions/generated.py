"""Parts of pages that are made from the code while the site is built, each in the place of a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import kagemusha

METHODS = {"Model": "sample, save", "Schema": "load, save, confirm"}
"""Of these classes readers need some methods; of the others the fields say enough."""


def commands() -> str:
    """Every command with its arguments and options, from the command line itself."""
    import typer
    from typer.cli import get_docs_for_click

    from kagemusha.cli.app import app

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[str]:
        inner = getattr(command, "commands", {})
        context = typer.Context(command, info_name=" ".join(path))
        if len(path) > 1 and not inner:
            text = get_docs_for_click(obj=command, ctx=context, name=" ".join(path), call_prefix="")
            yield re.sub(r"^# ", "## ", text, count=1)
        for name, part in inner.items():
            yield from walk(part, (*path, name))

    found = "\n".join(walk(typer.main.get_command(app), ("kagemusha",)))
    return found.replace("```console", "```text").replace("[OPTIONS]", "[OPTIONS]")


def names() -> str:
    """Every public name, by autodoc."""
    parts = []
    for name in sorted(kagemusha.__all__):
        thing = getattr(kagemusha, name)
        if isinstance(thing, type):
            members = [f"   :members: {METHODS[name]}"] if name in METHODS else []
            kind = "exception" if issubclass(thing, Exception) else "class"
            parts.append("\n".join([f".. auto{kind}:: kagemusha.{name}", *members]))
        elif callable(thing):
            parts.append(f".. autofunction:: kagemusha.{name}")
    return "```{eval-rst}\n.. default-role:: code\n\n" + "\n\n".join(parts) + "\n```\n"


PARTS = {"<!-- commands -->": commands, "<!-- public names -->": names}
"""What stands in a page, and what is put in its place."""
