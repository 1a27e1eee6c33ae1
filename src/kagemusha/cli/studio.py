"""`studio`: the way to a release in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.output import plain, say
from kagemusha.errors import UsageError


def studio(
    folder: Annotated[
        Path, typer.Argument(help="The folder of the tables; nothing outside it is touched.", show_default=False)
    ],
    port: Annotated[int, typer.Option(help="Port on this computer; 0 takes that of last time, or a free one.")] = 0,
    host: Annotated[str, typer.Option(help="An address of this computer alone; every other one is refused.")] = (
        "127.0.0.1"
    ),
    idle: Annotated[float, typer.Option(help="Minutes without a visitor and without work after which it stops.")] = 60,
) -> None:
    """Go from a table to a signed, verified release in a browser, by clicking and typing.

    Opens a page on this computer and prints its link, which works once. Every answer is on disk at once: stop with
    Ctrl-C or close the browser at any time. What was begun is taken up when the studio is started again, and nothing is
    paid twice.
    """
    try:
        from kagemusha.studio.start import run
    except ImportError:
        raise UsageError("this needs the extra 'studio': pip install 'kagemusha[studio]'") from None

    def opened(link: str) -> None:
        say(f"Open  [bold]{plain(link)}[/]")
        say(f"The link works once. Folder: {plain(folder)}. Ctrl-C stops; the same command goes on.")

    run(folder, host=host, port=port, idle=idle, opened=opened)
