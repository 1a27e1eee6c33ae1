"""Every registered synthesizer keeps the public contract."""

from __future__ import annotations

import pytest

from kagemusha.synthesizers.contract import CHECKS
from kagemusha.synthesizers.registry import create, names

SMALL = {"hidden": 6, "rate": 0.25, "epochs": 2.0, "latent": 2}
"""Networks that train in a moment."""

TINY = {
    **{name: {**SMALL, "components": 2, "iterations": 2} for name in ("p3gm", "ae", "pgm", "p3gm-wishart")},
    **dict.fromkeys(("dp-vae", "vae"), SMALL),
    "ctgan": {"epochs": 3, "batch": 60, "pack": 2, "hidden": 16, "noise": 8},
    "dp-gm": {**SMALL, "clusters": 2, "iterations": 2},
    "dp-ctgan": {"hidden": 6, "rate": 0.25, "epochs": 2.0, "noise": 3},
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", names())
def test_contract(name: str, check) -> None:  # type: ignore[no-untyped-def]
    check(create(name, **TINY.get(name, {})))
