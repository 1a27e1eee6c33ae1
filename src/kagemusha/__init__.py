"""Kagemusha: differentially private synthetic data with a certificate.

    import kagemusha as kg
    doubles = kg.synthesize(table, epsilon=1, schema="patients.toml")

Names load what they need when they are first used: `import kagemusha` alone loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kagemusha.version import __version__ as __version__

if TYPE_CHECKING:
    from kagemusha.annotation.classifier import load_classifier as load_classifier
    from kagemusha.certificate.certificate import Certificate as Certificate
    from kagemusha.door import fit as fit
    from kagemusha.door import fit_related as fit_related
    from kagemusha.door import load as load
    from kagemusha.door import load_related as load_related
    from kagemusha.door import publish as publish
    from kagemusha.door import release_related as release_related
    from kagemusha.door import synthesize as synthesize
    from kagemusha.door import verify as verify
    from kagemusha.errors import KagemushaError as KagemushaError
    from kagemusha.facts import schema_from as schema_from
    from kagemusha.inference.estimate import estimate as estimate
    from kagemusha.ledger import open_ledger as open_ledger
    from kagemusha.models import Model as Model
    from kagemusha.privacy import Budget as Budget
    from kagemusha.proposal import propose as propose
    from kagemusha.quality.expected_error import expected_error as expected_error
    from kagemusha.questions import attack as attack
    from kagemusha.questions import audit as audit
    from kagemusha.questions import compare as compare
    from kagemusha.questions import evaluate as evaluate
    from kagemusha.questions import plan as plan
    from kagemusha.schema import Boolean as Boolean
    from kagemusha.schema import Category as Category
    from kagemusha.schema import Date as Date
    from kagemusha.schema import Datetime as Datetime
    from kagemusha.schema import Drop as Drop
    from kagemusha.schema import Integer as Integer
    from kagemusha.schema import Real as Real
    from kagemusha.schema import Schema as Schema
    from kagemusha.schema import Surrogate as Surrogate
    from kagemusha.sources import open_source as open_source
    from kagemusha.synthesizers import Synthesizer as Synthesizer
    from kagemusha.synthesizers import create as create
    from kagemusha.synthesizers import names as names

_HOMES = {
    "kagemusha.annotation.classifier": ["load_classifier"],
    "kagemusha.certificate.certificate": ["Certificate"],
    "kagemusha.door": [
        *("fit", "fit_related", "load", "load_related", "publish", "release_related", "synthesize", "verify"),
    ],
    "kagemusha.errors": ["KagemushaError"],
    "kagemusha.facts": ["schema_from"],
    "kagemusha.inference.estimate": ["estimate"],
    "kagemusha.ledger": ["open_ledger"],
    "kagemusha.models": ["Model"],
    "kagemusha.privacy": ["Budget"],
    "kagemusha.proposal": ["propose"],
    "kagemusha.quality.expected_error": ["expected_error"],
    "kagemusha.questions": ["attack", "audit", "compare", "evaluate", "plan"],
    "kagemusha.schema": [
        *("Boolean", "Category", "Date", "Datetime", "Drop", "Integer", "Real", "Schema", "Surrogate"),
    ],
    "kagemusha.sources": ["open_source"],
    "kagemusha.synthesizers": ["Synthesizer", "create", "names"],
}
"""Where each public name lives; a test holds it to the list above, which is for type checkers and editors."""

_PLACES = {name: home for home, names_ in _HOMES.items() for name in names_}

__all__ = sorted([*_PLACES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'kagemusha' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return [*__all__]
