"""Every synthesizer by name."""

from __future__ import annotations

import math
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.synthesizers.protocol import Synthesizer

_PLACES = {
    "kage": "kagemusha.synthesizers.kage.kage:Kage",
    "aim": "kagemusha.synthesizers.aim:AIM",
    "aim-gdp": "kagemusha.synthesizers.aim_gdp:AIMGDP",
    "mst": "kagemusha.synthesizers.mst:MST",
    "privbayes": "kagemusha.synthesizers.privbayes:PrivBayes",
    "bayes-net": "kagemusha.synthesizers.privbayes:BayesNet",
    "gaussian": "kagemusha.synthesizers.gaussian:Gaussian",
    "stat": "kagemusha.synthesizers.gaussian:Stat",
    "independent": "kagemusha.synthesizers.independent:Independent",
}

_PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "aim-k3": ("aim", {"degree": 3}),
    "aim-noinit": ("aim", {"init": False}),
    "aim-lap": ("aim", {"noise": "laplace"}),
}
"""Names for a method with some choices made."""

DEFAULT = "kage"

_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "int": ("a whole number", (int, np.integer)),
    "float": ("a number", (int, float, np.integer, np.floating)),
    "str": ("text", (str,)),
    "bool": ("True or False", (bool, np.bool_)),
    "None": ("None", (type(None),)),
}


def names() -> tuple[str, ...]:
    """All registered names."""
    return (*_PLACES, *_PRESETS)


def synthesizer_class(name: str) -> type[Synthesizer]:
    """The class behind a name; loads only that module."""
    name = _PRESETS[name][0] if name in _PRESETS else name
    if name not in _PLACES:
        from difflib import get_close_matches

        close = get_close_matches(name, names(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"method {name!r} is not one of {', '.join(names())}{hint}")
    module, attribute = _PLACES[name].split(":")
    found: type[Synthesizer] = getattr(import_module(module), attribute)
    return found


def create(name: str, **parameters: Any) -> Synthesizer:
    """A synthesizer with some of its choices set; an unknown choice is a UsageError that lists the known ones."""
    cls = synthesizer_class(name)
    known = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    unknown = [key for key in parameters if key not in known]
    if unknown:
        choices = ", ".join(known) or "none"
        raise UsageError(f"method {name!r} has no option {unknown[0]!r}; its options are: {choices}")
    for field in fields(cls):  # type: ignore[arg-type]
        if field.name in parameters:
            _check_kind(name, field.name, str(field.type), parameters[field.name])
    preset = _PRESETS[name][1] if name in _PRESETS else {}
    return cls(**{**preset, **parameters})


def _check_kind(method: str, option: str, kind: str, value: Any) -> None:
    """Refuse a value of another kind than the option is declared with; ranges are the method's own to check."""
    kinds = kind.split(" | ")
    if not all(one in _KINDS for one in kinds):
        return  # a class of its own, which the method reads
    if isinstance(value, bool):  # to Python a number, to a person none
        fits = "bool" in kinds
    else:
        fits = any(isinstance(value, _KINDS[one][1]) for one in kinds)
    if not fits or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        wanted = " or ".join(_KINDS[one][0] for one in kinds)
        raise UsageError(f"option {option!r} of method {method!r} must be {wanted}, got {value!r}")
