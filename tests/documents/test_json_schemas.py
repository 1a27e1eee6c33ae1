"""The published JSON Schemas: real documents fit, and documents that were changed in any place do not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import kagemusha as kg
from command import checked, in_this_process
from kagemusha.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    GenerationEvent,
    LaplaceEvent,
    SampledGaussianEvent,
    ThresholdEvent,
    UnprotectedEvent,
)

SCHEMAS = Path(__file__).parents[2] / "docs" / "reference" / "schemas"
OPEN = ("parameters", "facts", "totals", "outputs", "people with values that are not listed", "population")
"""Parts whose names are not fixed: what stands in them depends on the method or on the table."""
KINDS: list[type[Event]] = [GaussianEvent, LaplaceEvent, ExponentialEvent, ThresholdEvent, SampledGaussianEvent]
KINDS += [GenerationEvent, UnprotectedEvent]


def checker(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a ledger that knows a simulation, too."""
    where = tmp_path_factory.mktemp("release")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": rng.choice(["F", "M"], 400), "age": rng.integers(0, 100, 400), "w": rng.random(400)})
    schema = kg.Schema(
        [
            kg.Category("sex", categories=("F", "M"), confirmed="Ada"),
            kg.Integer("age", lower=0, upper=99, bins=10),
            kg.Real("w", lower=0, upper=1, bins=8),
        ]
    )
    book = where / "ledger.db"
    model = kg.fit("kage", table, 1.0, schema=schema, ledger=book, dataset="people", cap=3)
    kg.publish(model, where / "out", ledger=book)
    for method in ("mst", "privbayes"):
        kg.publish(kg.fit(method, table, 1.0, schema=schema, simulation=1), where / method)
    return where


@pytest.fixture(scope="module")
def export(folder: Path) -> dict[str, Any]:
    path = folder / "export.json"
    if not path.exists():
        checked(in_this_process(["ledger", "export", "--ledger", str(folder / "ledger.db"), "--out", str(path)]), 0)
    return dict(json.loads(path.read_text(encoding="utf-8")))


def changed(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Changes that no reader should accept: a field gone, one too many, a value of another kind."""
    if isinstance(document, dict):
        yield f"{path}: one too many", lambda place: place.update({"one too many": 1})
        for name, value in document.items():
            here = (*path, name)
            yield f"{here}: gone", lambda place, name=name: place.pop(name)
            yield f"{here}: of another kind", lambda place, name=name: place.update({name: [{}]})
            if name not in OPEN:
                yield from ((what, lambda p, c=c, name=name: c(p[name])) for what, c in changed(value, here))
    elif isinstance(document, list) and document:
        yield from ((what, lambda p, c=c: c(p[0])) for what, c in changed(document[0], (*path, 0)))


@pytest.mark.parametrize("name", ["certificate", "quality"])
def test_released_documents_fit(name: str, folder: Path) -> None:
    for out in ("out", "mst", "privbayes"):
        document = json.loads((folder / out / f"{name}.json").read_text(encoding="utf-8"))
        checker(name).validate(document)


def test_the_export_of_a_ledger_fits(export: dict[str, Any]) -> None:
    assert export["releases"][0]["steps"]
    checker("ledger-export").validate(export)


@pytest.mark.parametrize("name", ["certificate", "quality", "ledger-export"])
def test_changed_documents_do_not_fit(name: str, folder: Path, export: dict[str, Any]) -> None:
    real = export if name == "ledger-export" else json.loads((folder / "out" / f"{name}.json").read_text())
    fits, tried = checker(name), []
    for what, change in changed(real):
        tried.append(what)
        mutant = copy.deepcopy(real)
        change(mutant)
        # an event may do without its query
        assert not fits.is_valid(mutant) or what.endswith("'query'): gone"), what
    assert len(tried) > 40


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_event_has_its_fields_in_the_schema(kind: type[Event]) -> None:
    for name in ("certificate", "ledger-export"):
        shapes = checker(name).schema["$defs"]["event"]["anyOf"]
        (shape,) = [one for one in shapes if one["properties"]["kind"]["const"] == kind.kind]
        assert set(shape["properties"]) == {"kind", *(field.name for field in fields(kind))}
        assert set(shape["required"]) == set(shape["properties"]) - set(kind.optional)
