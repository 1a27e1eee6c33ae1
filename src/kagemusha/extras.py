"""Packages that come with an extra, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kagemusha.errors import UsageError


def need(module: str, extra: str = "eval") -> Any:
    """The module, or an error that says what to install."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise UsageError(f"this needs {package}: pip install 'kagemusha[{extra}]'") from None
