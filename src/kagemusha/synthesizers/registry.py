"""Every synthesizer by name: our own, and those that other packages offer."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.synthesizers.protocol import Synthesizer

GROUP = "kagemusha.synthesizers"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class MethodOffer:
    """What a package says it has: the name of a method and the place of its class."""

    name: str
    place: str
    package: str
    entry: Any

    def load(self) -> type[Synthesizer]:
        """The class; whatever goes wrong is one line that names the package."""
        try:
            found = self.entry.load()
        except (Exception, SystemExit) as error:  # foreign code: anything may happen on import
            raise self._broken(f"{self.place} cannot be loaded ({type(error).__name__}: {_line(error)})") from None
        if not (isinstance(found, type) and issubclass(found, Synthesizer) and is_dataclass(found)):
            raise self._broken(f"{self.place} is not a dataclass derived from Synthesizer")
        if found.name != self.name:
            # a certificate names its method by the class: it must be the name that was asked for
            raise self._broken(f"{self.place} calls itself {found.name!r}")
        return found

    def _broken(self, why: str) -> UsageError:
        return UsageError(f"method {self.name!r} of package {self.package}: {why}")


def offers(taken: Collection[str]) -> dict[str, list[MethodOffer]]:
    """Every method that packages offer under a name that is well formed and not `taken`, with those who offer it."""
    from importlib.metadata import entry_points

    found: dict[str, dict[tuple[str, str], MethodOffer]] = {}
    for entry in entry_points(group=GROUP):
        if NAME.fullmatch(entry.name) and entry.name not in taken:
            package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown"
            offer = MethodOffer(entry.name, entry.value, package, entry)
            found.setdefault(entry.name, {})[offer.place, offer.package] = offer  # a path listed twice is one package
    return {name: list(found[name].values()) for name in sorted(found)}


def package_of(kind: type[Synthesizer]) -> str | None:
    """The package, with its version, that a class of another package comes from; None for our own."""
    from importlib.metadata import packages_distributions, version

    top = kind.__module__.partition(".")[0]
    if top == __name__.partition(".")[0]:
        return None
    for offer in offers(()).get(kind.name, ()):
        if offer.place.partition(":")[0].partition(".")[0] == top:
            return offer.package
    installed = packages_distributions().get(top)
    return f"{installed[0]} {version(installed[0])}" if installed else f"{top}, which is no installed package"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


_PLACES = {
    "kage": "kagemusha.synthesizers.kage.kage:Kage",
    "aim": "kagemusha.synthesizers.aim:AIM",
    "aim-gdp": "kagemusha.synthesizers.aim_gdp:AIMGDP",
    "mst": "kagemusha.synthesizers.mst:MST",
    "privbayes": "kagemusha.synthesizers.privbayes:PrivBayes",
    "bayes-net": "kagemusha.synthesizers.privbayes:BayesNet",
    "nigao": "kagemusha.synthesizers.nigao.nigao:Nigao",
    "p3gm": "kagemusha.synthesizers.deep.p3gm:P3GM",
    "ae": "kagemusha.synthesizers.deep.p3gm:AE",
    "p3gm-wishart": "kagemusha.synthesizers.deep.p3gm:P3GMWishart",
    "pgm": "kagemusha.synthesizers.deep.p3gm:PGM",
    "dp-vae": "kagemusha.synthesizers.deep.vae:DPVAE",
    "vae": "kagemusha.synthesizers.deep.vae:VAE",
    "dp-gm": "kagemusha.synthesizers.deep.dp_gm:DPGM",
    "gaussian": "kagemusha.synthesizers.gaussian:Gaussian",
    "gaussian-rows": "kagemusha.synthesizers.gaussian_rows:GaussianRows",
    "stat": "kagemusha.synthesizers.gaussian:Stat",
    "ctgan": "kagemusha.synthesizers.ctgan:CTGAN",
    "dp-ctgan": "kagemusha.synthesizers.dp_ctgan:DPCTGAN",
    "independent": "kagemusha.synthesizers.independent:Independent",
}

_PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "aim-k3": ("aim", {"degree": 3}),
    "aim-noinit": ("aim", {"init": False}),
    "aim-lap": ("aim", {"noise": "laplace"}),
}
"""Names for a method with some choices made."""

BUILT_IN = (*_PLACES, *_PRESETS)
"""The methods that come with Kagemusha; no other package can take one of these names."""

DEFAULT = "kage"

_KINDS: dict[Any, tuple[str, tuple[type, ...]]] = {
    int: ("a whole number", (int, np.integer)),
    float: ("a number", (int, float, np.integer, np.floating)),
    str: ("text", (str,)),
    bool: ("True or False", (bool, np.bool_)),
    NoneType: ("None", (NoneType,)),
}


def names() -> tuple[str, ...]:
    """All methods, our own first; listing those of other packages imports nothing of theirs."""
    return (*BUILT_IN, *offers(BUILT_IN))


def synthesizer_class(name: str) -> type[Synthesizer]:
    """The class behind a name; loads only that module."""
    name = _PRESETS[name][0] if name in _PRESETS else name
    if name in _PLACES:
        module, attribute = _PLACES[name].split(":")
        found: type[Synthesizer] = getattr(import_module(module), attribute)
        return found
    offered = offers(BUILT_IN).get(name)
    if offered is None:
        from difflib import get_close_matches

        close = get_close_matches(name, names(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"method {name!r} is not one of {', '.join(names())}{hint}")
    if len(offered) > 1:
        packages = " and ".join(sorted(offer.package for offer in offered))
        raise UsageError(f"method {name!r} is offered by {packages}; uninstall all but one of them")
    return offered[0].load()


def create(name: str, **parameters: Any) -> Synthesizer:
    """A synthesizer with some of its choices set; an unknown choice is a UsageError that lists the known ones."""
    cls = synthesizer_class(name)
    known: dict[str, Field[Any]] = {f.name: f for f in fields(cls) if f.init}  # type: ignore[arg-type]
    unknown = [key for key in parameters if key not in known]
    if unknown:
        choices = ", ".join(known) or "none"
        raise UsageError(f"method {name!r} has no option {unknown[0]!r}; its options are: {choices}")
    preset = _PRESETS[name][1] if name in _PRESETS else {}
    for option, field in known.items():
        if option not in {**preset, **parameters} and field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(f"method {name!r} needs option {option!r}")
    if parameters:
        hints = _hints(name, cls)
        for option, value in parameters.items():
            _check_kind(name, option, hints[option], value)
    try:
        return cls(**{**preset, **parameters})
    except (TypeError, ValueError) as error:  # how classes of other packages may refuse a value
        raise UsageError(f"method {name!r}: {error}") from None


def _hints(method: str, cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls)
    except (NameError, TypeError, SyntaxError) as error:
        raise UsageError(f"method {method!r}: the types of its options cannot be read ({error})") from None


def _check_kind(method: str, option: str, hint: Any, value: Any) -> None:
    """Refuse a value of another kind than the option is declared with; ranges are the method's own to check."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if not all(kind in _KINDS or get_origin(kind) is Literal for kind in kinds):
        return  # a class of its own, which the method reads
    if not any(_fits(kind, value) for kind in kinds):
        wanted = " or ".join(_in_words(kind) for kind in kinds)
        raise UsageError(f"option {option!r} of method {method!r} must be {wanted}, got {value!r}")


def _fits(kind: Any, value: Any) -> bool:
    if get_origin(kind) is Literal:
        return any(type(value) is type(one) and value == one for one in get_args(kind))
    if isinstance(value, bool | np.bool_):  # to Python a number, to a person none
        return kind is bool
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        return False
    return isinstance(value, _KINDS[kind][1])


def _in_words(kind: Any) -> str:
    return " or ".join(map(repr, get_args(kind))) if get_origin(kind) is Literal else _KINDS[kind][0]
