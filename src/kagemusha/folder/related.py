"""The release folder of related tables: a table of doubles and a model for each, one schema, one certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import SCHEMA, doubles_file, model_file
from kagemusha.certificate.keys import SigningKey
from kagemusha.errors import DataError, SchemaError
from kagemusha.files import read_regular
from kagemusha.folder.folder import Place
from kagemusha.folder.table_file import SAFE, write_tables
from kagemusha.models.model import load_model
from kagemusha.models.related import RelatedModel
from kagemusha.progress import Progress, part, silent
from kagemusha.schema.declared import read_declared
from kagemusha.schema.related import Related
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource


def write_related(
    place: Place,
    model: RelatedModel,
    *,
    persons: int | None = None,
    file_kind: str = "csv",
    safe: bool = False,
    signer: SigningKey | None = None,
    before: Callable[[Certificate], None],
    progress: Progress = silent,
) -> Certificate:
    """Draw all tables, write them with their models, and certify the whole; as `Place.write` does for one table."""
    if safe:
        stated = model.certificate
        model = model.with_certificate(replace(stated, assumptions=(*stated.assumptions, SAFE)))

    def files(fresh: Path) -> list[str]:
        (fresh / SCHEMA).write_text(model.schema.dumps(), encoding="utf-8")
        drawn = model.draw(persons, rng=np.random.default_rng(), progress=part(progress, 0.0, 0.7))
        names = [SCHEMA]
        for name, table in model.frames(drawn, "pyarrow").items():
            progress(f"writing {name}", 0.8)
            names.append(doubles_file(name, file_kind))
            marked = model.schema[name].schema.encoding is not None
            write_tables(iter([table]), fresh / names[-1], safe=safe, marked=marked)
        for view, own in model.models.items():
            names.append(model_file(view))
            own.save(fresh / names[-1])
        return names

    return place.put(model.certificate, files, signer=signer, before=before)


def load_related(folder: Path) -> RelatedModel:
    """The models of a release folder of related tables."""
    try:
        schema = read_declared(read_regular(folder / SCHEMA).decode("utf-8-sig"))
    except (OSError, ValueError, SchemaError) as error:
        raise DataError(f"{folder}: {SCHEMA} cannot be read ({error})") from None
    if not isinstance(schema, Related):
        raise DataError(f"{folder}: holds a release of one table")
    models = {}
    for view in schema.rows:
        path = folder / model_file(view)
        models[view] = load_model(path)
        if models[view].schema.digest() != schema.view(view).digest():
            raise DataError(f"{path}: is not the model of {view!r} in {SCHEMA}")
    return RelatedModel(schema, models, models[schema.root.name].like)


def doubles_in(folder: Path, schema: Related) -> dict[str, Path]:
    """The file of each table's doubles in a release folder; a table that another one holds is left out."""
    found = {}
    for table in schema:
        there = [path for kind in ("csv", "parquet") if (path := folder / doubles_file(table.name, kind)).is_file()]
        if not there:
            raise DataError(f"{folder}: there are no doubles of {table.name!r}")
        found[table.name] = there[0]
    return found


def linkable(schema: Related) -> bool:
    """Whether doubles show the identifiers that say which rows belong together."""
    return all(table.schema[key].in_doubles for table in schema for key in table.keys)


def counted_doubles(model: RelatedModel, persons: int) -> RelatedSource:
    """Doubles drawn to be judged, linked and counted as real tables are."""
    return open_related(model.sample(persons, seed=0, like="pyarrow"), model.schema.apart)
