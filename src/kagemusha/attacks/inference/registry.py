"""Every inference by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kagemusha.attacks.inference.classifier import LEARNERS, SETS, Classifier, Shadow
from kagemusha.attacks.inference.distance import DensityRatio, NearestNeighbour, closest_record
from kagemusha.attacks.inference.moments import MvlOrig, MvlSyn
from kagemusha.attacks.inference.protocol import Inference
from kagemusha.attacks.inference.queries import LikelihoodRatio
from kagemusha.attacks.inference.tells import RowCount, Support
from kagemusha.errors import UsageError

_MADE: dict[str, Callable[[], Inference]] = {
    "mvl-orig": MvlOrig,
    "mvl-orig-best": lambda: MvlOrig(sweep=True),
    "mvl-syn": MvlSyn,
    "mvl-syn-best": lambda: MvlSyn(sweep=True),
    "neighbour": NearestNeighbour,
    "closest-record": closest_record,
    "density-ratio": DensityRatio,
    "support": Support,
    "row-count": RowCount,
    "likelihood-ratio": LikelihoodRatio,
    "shadow": Shadow,
    **{f"{one}-{kind}": (lambda one=one, kind=kind: Classifier(one, kind)) for one in LEARNERS for kind in SETS},  # type: ignore[misc]
}

NAMES = tuple(_MADE)
PAPER = ("mvl-orig", "mvl-syn", "neighbour")
"""The paper's three."""

DEFAULT = (*PAPER, "closest-record", "density-ratio", "support", "likelihood-ratio")
"""What `kagemusha attack` plays unless asked otherwise."""


def inference(name: str) -> Inference:
    """The inference of a name."""
    if name not in _MADE:
        raise UsageError(f"an attack must be one of {', '.join(NAMES)}; got {name!r}")
    return _MADE[name]()


def inferences(names: Sequence[str]) -> tuple[Inference, ...]:
    """The inferences of these names, each once."""
    return tuple(inference(name) for name in dict.fromkeys(names))
