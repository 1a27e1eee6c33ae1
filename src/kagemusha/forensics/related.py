"""Re-check a release of related tables: every model against the events that asked its table, and the tables drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from kagemusha.certificate.beside import released_schema
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check, all_passed
from kagemusha.certificate.inventory import SCHEMA, Inventory, doubles_file, model_file
from kagemusha.certificate.sentences import SAFE
from kagemusha.errors import DataError, KagemushaError
from kagemusha.folder.table_file import escaped, table_check
from kagemusha.forensics.drawn import drawn_check
from kagemusha.forensics.noise_shows import LEAST_CHANCE, any_shape, chi_squared
from kagemusha.forensics.paid import bell_shaped, paid_check
from kagemusha.models.model import Model, load_model
from kagemusha.privacy.events import Event
from kagemusha.schema import Drop, Schema
from kagemusha.schema.related import Related, Table

E = TypeVar("E", bound=Event)

KINDS = ("csv", "parquet")


def related_checks(inventory: Inventory, certificate: Certificate) -> list[Check]:
    """Everything that is checked table by table."""
    schema = released_schema(inventory, certificate)
    if not isinstance(schema, Related):
        return [Check(SCHEMA, False, "is not that of the tables that the certificate speaks of")]
    lacking = [doubles_file(table.name) for table in schema if len(_doubles(inventory, table.name)) != 1]
    lacking += [file for view in schema.rows if (file := model_file(view)) not in inventory.files]
    if lacking:
        return [Check("release", False, f"lacks {', '.join(lacking)}")]
    checks = [Check("release", True, "has doubles and models of every table, and the schema")]
    for view in schema.rows:
        try:
            model = load_model(inventory.folder / model_file(view))
        except DataError as error:
            checks.append(Check(f"{view}: model", False, str(error)))
            continue
        found = _model_checks(model, certificate, schema, view)
        if view == schema.root.name:
            found += [_drawn_check(inventory, certificate, model, schema.root), _delta_check(model, certificate)]
        checks += [replace(check, what=f"{view}: {check.what}") for check in found]
    for table in schema:
        check = table_check(inventory.folder / _doubles(inventory, table.name)[0], table.schema)
        checks.append(replace(check, what=f"{table.name}: {check.what}"))
    return [*checks, _keys_check(inventory, certificate, schema)] if all_passed(checks) else checks


def _doubles(inventory: Inventory, name: str) -> list[str]:
    return [file for kind in KINDS if (file := doubles_file(name, kind)) in inventory.files]


def of_table(certificate: Certificate, name: str) -> Certificate:
    """The certificate with the events that asked one table alone, as if that were all there is."""
    events = [_alone(event, name) for event in certificate.events if event.query and event.query.table == name]
    parameters = {key: value for key, value in certificate.parameters.items() if key != "tables"}
    return replace(certificate, events=tuple(events), parameters=parameters)


def _alone(event: E, name: str) -> E:
    assert event.query is not None
    before, _, after = event.what.partition(f"{name}: ")
    return replace(event, what=before + after, query=replace(event.query, table="", rows=1))


def _model_checks(model: Model, certificate: Certificate, schema: Related, view: str) -> list[Check]:
    inner, outer = (replace(one, outputs=None, page=None) for one in (model.certificate, certificate))
    same, fits = inner == outer, model.schema.digest() == schema.view(view).digest()
    own = of_table(certificate, view)
    checks = [
        Check("certificate inside the model", same, "says the same" if same else "says something else"),
        Check("columns of the model", fits, "follow from the schema" if fits else "do not follow from the schema"),
        paid_check(model, own),
    ]
    if certificate.broken_because:
        return [*checks, Check("noise", True, "nothing is promised: not looked for in the model")]
    chance = 2 * min(chi_squared(*bell_shaped(model, own)), any_shape(model.measurements, model.interactions))
    shows = chance >= LEAST_CHANCE
    words = (
        "as much as the events say may well be in the model" if shows else "the model shows less than its events say"
    )
    return [*checks, Check("noise", shows, words)]


def _drawn_check(inventory: Inventory, certificate: Certificate, model: Model, table: Table) -> Check:
    """Persons may well have been drawn from their model; rows below depend on them, so their counts say less."""
    keys = (column for column in table.schema if column.name in table.keys)
    worked = (Drop(column.name) for column in table.schema.coded if column not in table.modelled)
    own = replace(model, schema=Schema([*keys, *table.modelled, *worked]))
    path = inventory.folder / _doubles(inventory, table.name)[0]
    return drawn_check(path, own, safe=SAFE in certificate.assumptions)


def _delta_check(model: Model, certificate: Certificate) -> Check:
    fine = bool(certificate.broken_because) or model.rows * certificate.promised.delta < 1
    return Check("δ", True, f"δ is {'' if fine else 'not '}below 1 / {model.rows:,} persons", caution=not fine)


def _keys_check(inventory: Inventory, certificate: Certificate, schema: Related) -> Check:
    """Every row below names a row above: keys are made anew and fit, or somebody put other tables there."""
    what = "keys of the tables"
    safe = SAFE in certificate.assumptions
    try:
        lost = sum(_lost(inventory, schema, table, safe) for table in schema if table.parent is not None)
        twice = sum(_twice(inventory, table, safe) for table in schema if table.names_rows is not None)
    except KagemushaError as error:
        return Check(what, False, f"cannot be read ({error})")
    except Exception as error:  # a stranger's table can fail in the reader's own ways
        return Check(what, False, f"cannot be read ({type(error).__name__})")
    if twice:
        return Check(what, False, f"{twice:,} rows have the name of another row")
    return Check(what, not lost, f"{lost:,} rows name no row above" if lost else "fit: every row below names one above")


def _twice(inventory: Inventory, table: Table, safe: bool) -> int:
    if not table.schema[table.names_rows or ""].in_doubles:
        return 0
    names = _column(inventory.folder / _doubles(inventory, table.name)[0], table.names_rows or "", safe)
    return len(names) - len(names.unique())


def _lost(inventory: Inventory, schema: Related, table: Table, safe: bool) -> int:
    import pyarrow.compute as pc

    above = schema[table.parent or ""]
    if not (table.schema[table.key].in_doubles and above.schema[above.names_rows or ""].in_doubles):
        return 0
    keys = _column(inventory.folder / _doubles(inventory, table.name)[0], table.key, safe)
    names = _column(inventory.folder / _doubles(inventory, above.name)[0], above.names_rows or "", safe)
    return int(pc.sum(pc.invert(pc.is_in(keys, names))).as_py() or 0)


def _column(path: Path, name: str, safe: bool) -> Any:
    import pyarrow as pa

    from kagemusha.sources.header import shielded
    from kagemusha.sources.lake import open_files

    (file,) = open_files(path)
    at = file.names.index(escaped(name) if safe else name)
    with file.reading() as (connection, scan):
        found = shielded(path, lambda: connection.sql(f"SELECT {file.source(at)} AS k FROM {scan}").fetchnumpy()["k"])
    return pa.array([str(value) for value in found.tolist()], type=pa.string())
