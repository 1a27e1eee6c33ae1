"""Methods from other packages: entry points of the group `kagemusha.synthesizers`.

A package offers one by an entry point whose name is the method's:

    [project.entry-points."kagemusha.synthesizers"]
    my-method = "my_package:MyMethod"

Listing them imports nothing of theirs. A name of ours is never theirs, and what is broken is named in one line.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, is_dataclass
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.synthesizers.protocol import Synthesizer

GROUP = "kagemusha.synthesizers"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Offer:
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
        if getattr(found, "name", None) != self.name:
            # a certificate names its method by the class: it must be the name that was asked for
            raise self._broken(f"{self.place} calls itself {getattr(found, 'name', None)!r}")
        return found

    def _broken(self, why: str) -> UsageError:
        return UsageError(f"method {self.name!r} of package {self.package}: {why}")


def offers(taken: Collection[str]) -> dict[str, list[Offer]]:
    """Every method that packages offer under a name that is well formed and not `taken`, with those who offer it."""
    from importlib.metadata import entry_points

    found: dict[str, dict[tuple[str, str], Offer]] = {}
    for entry in entry_points(group=GROUP):
        if NAME.fullmatch(entry.name) and entry.name not in taken:
            package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown"
            offer = Offer(entry.name, entry.value, package, entry)
            found.setdefault(entry.name, {})[offer.place, offer.package] = offer  # a path listed twice is one package
    return {name: list(found[name].values()) for name in sorted(found)}


def package_of(kind: type) -> str | None:
    """The package, with its version, that a class of another package comes from; None for our own."""
    from importlib.metadata import packages_distributions, version

    top = kind.__module__.partition(".")[0]
    if top == __name__.partition(".")[0]:
        return None
    for offer in offers(()).get(getattr(kind, "name", ""), ()):
        if offer.place.partition(":")[0].partition(".")[0] == top:
            return offer.package
    installed = packages_distributions().get(top)
    return f"{installed[0]} {version(installed[0])}" if installed else f"{top}, which is no installed package"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
