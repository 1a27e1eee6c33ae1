"""A group of commands of which one is meant where none is named."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def with_default(command: str) -> type[TyperGroup]:
    """The kind of group that runs `command` where the first word is none of its commands."""

    class WithDefault(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Put the command's name before what follows, unless it is there or help is asked for."""
            named = bool(args) and (args[0] in self.commands or args == ["--help"])
            return super().parse_args(ctx, args if named or not args else [command, *args])

    return WithDefault
