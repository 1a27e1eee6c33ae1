"""The decoders' generator: the same rows after a reload, and nothing odd from a stranger's file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kagemusha.errors import DataError
from kagemusha.generators.decoders import MOST_LAYERS, Decoder, DecoderGenerator
from kagemusha.generators.normal import Place
from kagemusha.generators.registry import load_generator
from kagemusha.schema import Category, Real, Schema
from kagemusha.schema.features import features_of

SCHEMA = Schema(
    [
        Real("x", lower=0.0, upper=1.0, bins=10, missing=True),
        Category("c", categories=("a", "b", "d"), out_of_domain="clip"),
        Category("kind", categories=("u", "v"), out_of_domain="clip"),
    ]
)


def generator(*, target: str | None = "kind", parts: int = 2) -> DecoderGenerator:
    rng = np.random.default_rng(0)
    places = [Place.of(f) for f in features_of(SCHEMA) if f.name != target]
    width = sum(place.width for place in places)
    made = [
        Decoder(
            np.array([0.3, 0.7]),
            rng.normal(0, 1, (2, 3)),
            np.tile(np.eye(3), (2, 1, 1)),
            [rng.normal(0, 1, (6, 4 + 2 * (target is not None))), rng.normal(0, 1, (width, 7))],
        )
        for _ in range(parts)
    ]
    return DecoderGenerator(SCHEMA.domain, 100.0, places, target, True, np.full(parts, 1 / parts), made)


@pytest.mark.parametrize("target", ["kind", None])
def test_a_reloaded_generator_draws_the_same_rows(target: str | None) -> None:
    first = generator(target=target)
    again = load_generator(first.kind, *first.to_arrays())
    one, two = (g.sample(500, rng=np.random.default_rng(4)) for g in (first, again))
    assert (one == two).all()
    assert (one < np.array(SCHEMA.domain.sizes)).all()
    assert (one >= 0).all()
    shown = again.project(("c", "kind"))
    assert shown.sum() == pytest.approx(100.0)


def test_the_network_is_the_one_in_the_arrays() -> None:
    part = generator().parts[0]
    rng = np.random.default_rng(1)
    features, component = part.draw(50, rng)
    rng = np.random.default_rng(1)
    which = rng.choice(2, 50, p=part.weights)
    z = part.means[which] + rng.standard_normal((50, 3))
    for n in range(50):
        wide = np.concatenate([z[n], np.eye(2)[which[n]], [1.0]])
        hidden = np.maximum(part.matrices[0] @ wide, 0)
        assert np.allclose(features[n], part.matrices[1] @ np.append(hidden, 1.0))
    assert (component == which).all()


def _break(meta: dict[str, Any], arrays: dict[str, Any], how: str) -> None:
    match how:
        case "a weight that is no number":
            arrays["matrix.0.0"] = np.full_like(arrays["matrix.0.0"], np.nan)
        case "a weight beyond all sense":
            arrays["matrix.0.1"] = np.full_like(arrays["matrix.0.1"], 1e300)
        case "layers that do not fit":
            arrays["matrix.1.1"] = arrays["matrix.1.1"][:, :-1]
        case "a last layer of another width":
            arrays["matrix.0.1"] = arrays["matrix.0.1"][:-1]
        case "shares that are none":
            arrays["shares"] = np.array([2.0, -1.0])
        case "weights that are none":
            arrays["weights.0"] = np.array([0.5, 0.6])
        case "no part":
            meta["layers"] = []
        case "more layers than there are":
            meta["layers"] = [10**9, 2]
        case "a missing array":
            del arrays["means.0"]
        case "classes that are not the target's":
            arrays["weights.0"], arrays["means.0"] = np.ones(1), np.zeros((1, 3))
            arrays["factors.0"] = np.eye(3)[None]
        case "factors of another shape":
            arrays["factors.1"] = np.zeros((2, 3, 2))
        case "columns of another domain":
            meta["sizes"] = [n + 1 for n in meta["sizes"]]
        case "more records than there are":
            meta["total"] = 1e300


@pytest.mark.parametrize(
    "how",
    [
        "a weight that is no number",
        "a weight beyond all sense",
        "layers that do not fit",
        "a last layer of another width",
        "shares that are none",
        "weights that are none",
        "no part",
        "more layers than there are",
        "a missing array",
        "classes that are not the target's",
        "factors of another shape",
        "columns of another domain",
        "more records than there are",
    ],
)
def test_a_hostile_file_is_refused(how: str) -> None:
    meta, arrays = generator().to_arrays()
    changed = dict(arrays)
    _break(meta, changed, how)
    # what `load_model` turns into a DataError
    with pytest.raises((ValueError, LookupError, DataError)):
        load_generator(DecoderGenerator.kind, meta, changed)


def test_no_stack_is_deeper_than_any_of_ours() -> None:
    deep = generator().parts[0]
    square = np.zeros((6, 7))
    stack = [deep.matrices[0], *([square] * MOST_LAYERS), deep.matrices[1]]
    assert Decoder(deep.weights, deep.means, deep.factors, stack).problem(deep.matrices[1].shape[0])
