"""Columns in plain words, and lines as wide as the screen is now."""

from __future__ import annotations

import shutil

WIDEST = 100
"""Longer lines are hard to read."""


def tell(text: str = "", *, indent: int = 0) -> None:
    """A paragraph with rich markup, broken between words to fit the screen.

    What comes from outside goes in through `plain`.
    """
    from rich.console import Console
    from rich.padding import Padding

    width = max(20, min(WIDEST, shutil.get_terminal_size().columns))
    console = Console(highlight=False, emoji=False, width=width)
    console.print(Padding(text, (0, 0, 0, indent), expand=False) if indent else text)
