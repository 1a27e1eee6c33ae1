"""Every method with networks small enough to train in a moment."""

from __future__ import annotations

from kagemusha.synthesizers.protocol import Synthesizer
from kagemusha.synthesizers.registry import create

SMALL = {"hidden": 6, "rate": 0.25, "epochs": 2.0, "latent": 2}
"""Networks that train in a moment."""

TINY = {
    **{name: {**SMALL, "components": 2, "iterations": 2} for name in ("p3gm", "ae", "pgm", "p3gm-wishart")},
    **dict.fromkeys(("dp-vae", "vae"), SMALL),
    "ctgan": {"epochs": 3, "batch": 60, "pack": 2, "hidden": 16, "noise": 8},
    "dp-gm": {**SMALL, "clusters": 2, "iterations": 2},
    "dp-ctgan": {"hidden": 6, "rate": 0.25, "epochs": 2.0, "noise": 3},
}


def small(name: str) -> Synthesizer:
    """The method of that name, quick to fit."""
    return create(name, **TINY.get(name, {}))
