"""How this room compiles its loops. Import this module only from modules of kernels: it pulls in numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(fastmath: set[str] | bool = False, *, inline: bool = False) -> Callable[[Any], Any]:
    """Compile and keep the machine code on disk; where no folder can be written, compile in each process.

    `inline` puts the function's text into those that call it.
    """

    def decorate(function: Any) -> Any:
        options: dict[str, Any] = {"fastmath": fastmath, "error_model": "numpy"}
        options |= {"inline": "always"} if inline else {}
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:
            return njit(**options)(function)

    return decorate
