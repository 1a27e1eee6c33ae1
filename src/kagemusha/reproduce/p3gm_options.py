"""Settings of the methods of `reproduce p3gm`: one declared list of trials for each, and the trial that was taken.

Every method has as many trials as every other. They are made once, on data that no page scores (`p3gm_search`); what
was taken stands below, and a test holds it to the stored trials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TABLE, PICTURES = "tables", "pictures"

SHORT = {TABLE: {"rate": 0.05, "epochs": 4.0}, PICTURES: {"rate": 0.02, "epochs": 2.0}}
LONG = {TABLE: {"rate": 0.05, "epochs": 30.0}, PICTURES: {"rate": 0.02, "epochs": 12.0}}
BINS = (4, 8, 16)
"""Numbers of methods on tables of counts are cut into so many."""

NETWORKS = ("p3gm-joint", "p3gm", "ae", "pgm", "vae", "dp-vae", "dp-gm")
COARSE = ("kage", "privbayes")

TAKEN: Mapping[str, Mapping[str, int]] = {
    TABLE: {
        "p3gm-joint": 0,
        "p3gm": 0,
        "ae": 1,
        "pgm": 2,
        "vae": 2,
        "dp-vae": 2,
        "dp-gm": 1,
        "kage": 2,
        "privbayes": 1,
    },
    PICTURES: {"p3gm-joint": 2, "p3gm": 0, "ae": 0, "pgm": 2, "vae": 2, "dp-vae": 2, "dp-gm": 1},
}
"""Which trial of each method scored best; the first where none was made, and of nigao, whatever scored best."""


def trials(method: str, kind: str) -> Sequence[Mapping[str, Any]]:
    """What is tried, in order: few steps, few larger ones, many larger ones; or bins; or numbers of directions."""
    if method in NETWORKS:
        short, long = ({"hidden": 200, **way[kind]} for way in (SHORT, LONG))
        return ({**short, "step": 1e-3}, {**short, "step": 3e-3}, {**long, "step": 3e-3})
    if method in COARSE:
        return tuple({"bins": bins} for bins in BINS)
    if method == "nigao":
        return ({}, {"directions": 10}, {"directions": 40})
    return ({},)


def taken(method: str, kind: str) -> dict[str, Any]:
    """The settings that all runs have. The Wishart twin has those of the model it is a twin of."""
    twin = "p3gm-joint" if method == "p3gm-wishart" else method
    return dict(trials(twin, kind)[TAKEN[kind].get(twin, 0)])


def whole(method: str, target: str, latent: int, kind: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """These settings with what the data decide."""
    if method in ("p3gm", "ae", "pgm"):
        return {**chosen, "latent": latent, "target": target}
    if method in ("p3gm-joint", "p3gm-wishart"):
        return {**chosen, "latent": latent, "drawn": False}
    if method in ("vae", "dp-vae"):
        return {**chosen, "latent": latent}
    if method == "dp-gm":
        return {**chosen, "latent": 10, "clusters": 10 if kind == PICTURES else 5}
    return {**chosen, "target": target} if method == "nigao" else dict(chosen)
