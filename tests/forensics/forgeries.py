"""Release folders as forgers would make them: careless ones, and careful ones who mend every digest with our own tools.

A forgery changes a copy of an honest folder in place. Who forges carefully calls `reseal`, which writes certificate,
page, hashes and the certificate inside the model anew, so that nothing but the forgery itself is left to be noticed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kagemusha.certificate.certificate import Certificate, canonical
from kagemusha.certificate.inventory import OUTPUTS
from kagemusha.certificate.keys import load_signing_key, new_key
from kagemusha.certificate.page import fingerprint, render
from kagemusha.certificate.sentences import weighted
from kagemusha.files import sha256
from kagemusha.folder.folder import sign_folder, write_bundle
from kagemusha.models.model import Model, load_model
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget, QueryRecord
from kagemusha.privacy.events import GaussianEvent, LaplaceEvent, UnprotectedEvent
from kagemusha.quality.statement import quality_files
from kagemusha.schema import Category, Drop, Integer, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

SCHEMA = Schema(
    [
        Drop("id"),
        Category("sex", categories=("F", "M"), out_of_domain="clip"),
        Integer("age", lower=0, upper=99, bins=5),
        Category("ward", categories=("a", "b", "c", "d"), out_of_domain="clip"),
        Category("smokes", categories=("no", "yes"), out_of_domain="clip"),
        Integer("visits", lower=0, upper=9, bins=5),
        Category("blood", categories=("A", "B", "AB", "O"), out_of_domain="clip"),
        Integer("children", lower=0, upper=5),
        Category("insured", categories=("no", "yes"), out_of_domain="clip"),
    ]
)

ROW = "F,7,a,no,3,A,0,yes\n"

Forge = Callable[[Path], None]
FORGERIES: dict[str, Forge] = {}


def people(rows: int = 1000, seed: int = 0) -> pd.DataFrame:
    """A private table."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(list("abcd"), rows, p=[0.4, 0.3, 0.2, 0.1])
    return pd.DataFrame(
        {
            "id": [f"P{i:04d}" for i in range(rows)],
            "sex": rng.choice(["F", "M"], rows),
            "age": rng.integers(0, 100, rows),
            "ward": ward,
            "smokes": np.where((ward == "a") ^ (rng.random(rows) < 0.2), "yes", "no"),
            "visits": rng.integers(0, 10, rows),
            "blood": rng.choice(["A", "B", "AB", "O"], rows),
            "children": rng.integers(0, 6, rows),
            "insured": rng.choice(["no", "yes"], rows, p=[0.1, 0.9]),
        }
    )


def honest(folder: Path, method: str = "kage", *, seed: int = 3, epsilon: float = 1.0, **options: Any) -> Path:
    """A release folder that looks like a real one; the noise comes from a seed, so that every run forges the same."""
    budget = Budget(epsilon)
    model = fit(create(method, **options), people(), budget, schema=SCHEMA, simulation=seed)
    model = replace(model, certificate=replace(model.certificate, simulated=False, dataset="people.csv"))
    write_bundle(model, folder, extra=quality_files(model))
    return folder


def reseal(
    folder: Path,
    certificate: Callable[[Certificate], Certificate] = lambda c: c,
    model: Callable[[Model], Model] = lambda m: m,
) -> None:
    """Mend everything after a change: the certificate inside the model, hashes, totals, page and digest."""
    told = certificate(read(folder))
    changed = model(load_model(folder / "model.kage"))
    replace(changed, certificate=replace(told, outputs=None, page=None)).save(folder / "model.kage")
    bind(folder, told)


def bind(folder: Path, told: Certificate) -> None:
    """Certificate and page for the files as they are."""
    bound = told.with_outputs({n: sha256(folder / n) for n in OUTPUTS if (folder / n).is_file()})
    (folder / "certificate.json").write_text(bound.to_json(), encoding="utf-8")
    (folder / "certificate.html").write_text(render(bound), encoding="utf-8")


def read(folder: Path) -> Certificate:
    return Certificate.from_json((folder / "certificate.json").read_text(encoding="utf-8"))


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit the JSON itself and give it a fresh digest."""
    path = folder / "certificate.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["digest"]
    change(data)
    data["digest"] = hashlib.sha256(canonical(data).encode()).hexdigest()
    path.write_text(canonical(data), encoding="utf-8")


def forgery(name: str) -> Callable[[Forge], Forge]:
    """Under this name it stands in docs/trust.md."""

    def add(forge: Forge) -> Forge:
        FORGERIES[name] = forge
        return forge

    return add


def events(change: Callable[[GaussianEvent], GaussianEvent], only: str = "") -> Callable[[Certificate], Certificate]:
    """Change every Gaussian event whose words begin so."""

    def changed(told: Certificate) -> Certificate:
        made = [change(e) if isinstance(e, GaussianEvent) and e.what.startswith(only) else e for e in told.events]
        return replace(told, events=tuple(made))

    return changed


def louder(told: Certificate) -> Certificate:
    """Says ten times the noise, and so a hundredth of the cost."""
    quiet = events(lambda e: replace(e, sigma=10 * e.sigma))(told)
    return replace(quiet, promised=replace(told.promised, epsilon=0.1))


def louder_model(model: Model) -> Model:
    return replace(
        model,
        measurements=[replace(m, sigma=10 * m.sigma) for m in model.measurements],
        interactions=[replace(m, sigma=10 * m.sigma) for m in model.interactions],
        scores=None if model.scores is None else replace(model.scores, sigma=10 * model.scores.sigma),
    )


# the numbers


@forgery("more noise on the certificate than was drawn, its digest mended")
def _(folder: Path) -> None:
    bind(folder, louder(read(folder)))


@forgery("the same, and the certificate inside the model, too")
def _(folder: Path) -> None:
    reseal(folder, louder)


@forgery("the same, and every σ inside the model, too")
def _(folder: Path) -> None:
    reseal(folder, louder, louder_model)


@forgery("exact counts inside the model instead of noisy ones, all mended")
def _(folder: Path) -> None:
    table = people()
    exact = {name: np.bincount(codes_of(name, table), minlength=SCHEMA.domain.size(name)) for name in SCHEMA.domain}

    def known(model: Model) -> Model:
        return replace(model, measurements=[replace(m, values=exact[m.clique[0]]) for m in model.measurements])

    reseal(folder, model=known)


def _laplace(told: Certificate, which: Callable[[GaussianEvent], bool]) -> Certificate:
    """These events called Laplace noise of the same deviation, and what that costs promised."""

    def called(event: GaussianEvent) -> Any:
        scale = event.sigma / math.sqrt(2)
        return LaplaceEvent(what=event.what, query=event.query, scale=scale, l1=1) if which(event) else event

    changed = tuple(called(e) if isinstance(e, GaussianEvent) else e for e in told.events)
    # Laplace noise does not fit Gaussian DP, and costs twice as much
    promised = replace(told.promised, epsilon=4 * told.promised.epsilon)
    return replace(told, events=changed, accounting=Accounting.ZCDP, promised=promised)


def _exact(model: Model) -> Model:
    """The exact counts, whatever the model says of their noise."""
    table = people()

    def counts(clique: tuple[str, ...]) -> np.ndarray[Any, Any]:
        found = np.zeros(model.domain.shape(clique), dtype=np.int64)
        np.add.at(found, tuple(codes_of(name, table) for name in clique), 1)
        return found

    return replace(model, measurements=tuple(replace(m, values=counts(m.clique)) for m in model.measurements))


@forgery("the same, with one event called Laplace noise")
def _(folder: Path) -> None:
    told = read(folder)
    one = next(e for e in told.events if isinstance(e, GaussianEvent) and e.query and e.query.kind == "counts")
    reseal(folder, lambda c: _laplace(c, lambda e: e is one or e == one), _exact)


@forgery("the same, with all counts called Laplace noise")
def _(folder: Path) -> None:
    reseal(folder, lambda c: _laplace(c, lambda e: e.query is not None and e.query.kind == "counts"), _exact)


@forgery("wrong σ inside the model")
def _(folder: Path) -> None:
    def wrong(model: Model) -> Model:
        first, *rest = model.measurements
        return replace(model, measurements=[replace(first, sigma=first.sigma * 1.5), *rest])

    reseal(folder, model=wrong)


@forgery("an event left out, totals mended")
def _(folder: Path) -> None:
    reseal(folder, lambda told: replace(told, events=told.events[1:]))


@forgery("all events left out")
def _(folder: Path) -> None:
    reseal(folder, lambda told: replace(told, events=()))


@forgery("an event left out, and its numbers in the model")
def _(folder: Path) -> None:
    reseal(
        folder,
        lambda told: replace(told, events=told.events[1:]),
        lambda model: replace(model, measurements=model.measurements[1:]),
    )


@forgery("smaller ε than the events cost")
def _(folder: Path) -> None:
    reseal(folder, lambda told: replace(told, promised=replace(told.promised, epsilon=0.5)))


@forgery("totals edited")
def _(folder: Path) -> None:
    edit(folder, lambda data: data["totals"].update(gdp=0.1))


@forgery("an event of a kind that does not exist")
def _(folder: Path) -> None:
    edit(folder, lambda data: data["events"][0].update(kind="magic"))


@forgery("an event of a query that does not exist")
def _(folder: Path) -> None:
    asked = QueryRecord.of("hunch", {"columns": ("age",)}, "")
    reseal(folder, events(lambda e: replace(e, query=asked), "counts of age"))


@forgery("an interaction with l2_squared = 1")
def _(folder: Path) -> None:
    reseal(folder, events(lambda e: replace(e, l2_squared=1), "interaction of "))


@forgery("an interaction of fewer groups than were asked")
def _(folder: Path) -> None:
    def fewer(event: GaussianEvent) -> GaussianEvent:
        facts = dict(event.query.facts)  # type: ignore[union-attr]
        asked = replace(event.query, facts=tuple({**facts, "shape": (2, 2)}.items()))  # type: ignore[type-var]
        return replace(event, query=asked, l2_squared=4)

    reseal(folder, events(fewer, "interaction of "))


@forgery("counts answered by a choice")
def _(folder: Path) -> None:
    def choice(told: Certificate) -> Certificate:
        from kagemusha.privacy.events import ExponentialEvent

        first = told.events[0]
        fake = ExponentialEvent(what=first.what, epsilon=0.01, candidates=1, query=first.query)
        return replace(told, events=(fake, *told.events[1:]))

    reseal(folder, choice)


@forgery("δ raised to 0.001, ε lowered as far as that allows")
def _(folder: Path) -> None:
    reseal(folder, lambda told: replace(told, promised=Budget(0.6, 1e-3)))


@forgery("δ raised to 0.000001, ε lowered as far as that allows")
def _(folder: Path) -> None:
    reseal(folder, lambda told: replace(told, promised=Budget(0.82, 1e-6)))


@forgery("another adjacency")
def _(folder: Path) -> None:
    reseal(folder, lambda told: replace(told, promised=replace(told.promised, adjacency=Adjacency.REPLACE)))


@forgery("a promise to persons of three rows instead of one")
def _(folder: Path) -> None:
    def persons(told: Certificate) -> Certificate:
        return replace(told, promised=replace(told.promised, rows=3)).with_assumptions()

    reseal(folder, persons)


@forgery("a promise about persons that the schema does not tell apart")
def _(folder: Path) -> None:
    reseal(folder, lambda told: replace(told, unit_column="id").with_assumptions())


@forgery("an assumption left out")
def _(folder: Path) -> None:
    reseal(folder, lambda told: replace(told, assumptions=told.assumptions[1:]))


# ε = ∞ under another name


@forgery("a sentence of the publisher's own among the assumptions")
def _(folder: Path) -> None:
    reseal(folder, lambda c: replace(c, assumptions=(*c.assumptions, "Approved by the Data Protection Authority.")))


@forgery("a sentence of ours that is not true of this release")
def _(folder: Path) -> None:
    reseal(folder, lambda c: replace(c, assumptions=(*c.assumptions, *weighted(_weighted()))))


@forgery("a simulation called a release, outside the model")
def _(folder: Path) -> None:
    reseal(folder, lambda told: replace(told, simulated=True))
    bind(folder, replace(read(folder), simulated=False))


@forgery("a simulation called a release, everywhere")
def _(folder: Path) -> None:
    """The honest folder of these tests is one itself, see `honest`."""
    reseal(folder)


@forgery("a method without protection called a private one, with events made up")
def _(folder: Path) -> None:
    shutil.rmtree(folder)
    bare = honest(folder, "bayes-net", epsilon=1.0)
    told = [e for e in read(bare).events if isinstance(e, UnprotectedEvent)]
    assert told
    counts = QueryRecord.of("counts", {"columns": ("age",)}, "")
    made_up = (GaussianEvent(what="counts of age", sigma=90.0, l2_squared=1, query=counts),)
    reseal(folder, lambda c: replace(c, method="independent", events=made_up))


# files


@forgery("another table, hash not mended")
def _(folder: Path) -> None:
    (folder / "synthetic.csv").write_bytes((folder / "synthetic.csv").read_bytes() + ROW.encode())


@forgery("the private table instead of the doubles, all mended")
def _(folder: Path) -> None:
    people().to_csv(folder / "synthetic.csv", index=False)
    reseal(folder)


@forgery("the same without its dropped columns, ε = 0.1")
def _(folder: Path) -> None:
    shutil.rmtree(folder)
    honest(folder, epsilon=0.1)
    people().drop(columns="id").to_csv(folder / "synthetic.csv", index=False)
    reseal(folder)


@forgery("the same without its dropped columns, ε = 10")
def _(folder: Path) -> None:
    shutil.rmtree(folder)
    honest(folder, epsilon=10.0)
    people().drop(columns="id").to_csv(folder / "synthetic.csv", index=False)
    reseal(folder)


@forgery("the table of another release, all mended")
def _(folder: Path) -> None:
    table = people(400, seed=9).drop(columns="id").assign(sex="F")
    table.to_csv(folder / "synthetic.csv", index=False)
    reseal(folder)


@forgery("some rows of the private table added, all mended")
def _(folder: Path) -> None:
    rows = people().drop(columns="id").head(3).to_csv(index=False, header=False)
    with (folder / "synthetic.csv").open("a") as file:
        file.write(rows)
    reseal(folder)


@forgery("the model of another release")
def _(folder: Path) -> None:
    other = honest(folder.with_name("other"), seed=4)
    shutil.copy(other / "model.kage", folder / "model.kage")
    bind(folder, read(folder))


@forgery("the model left out, and not named")
def _(folder: Path) -> None:
    (folder / "model.kage").unlink()
    bind(folder, read(folder))


@forgery("the model fitted to the private table, its measurements kept, doubles drawn from it")
def _(folder: Path) -> None:
    exact = fit(create("bayes-net"), people(), Budget(1.0), schema=SCHEMA, simulation=1)
    exact.sample(400, seed=1).to_csv(folder / "synthetic.csv", index=False)
    reseal(folder, model=lambda m: replace(m, generator=exact.generator))


@forgery("a foreign page, its hash mended")
def _(folder: Path) -> None:
    _page(folder, lambda data: None)


@forgery("the same, said to be made by another program")
def _(folder: Path) -> None:
    _page(folder, lambda data: data["page"].update({"made by": "0" * 64}))


@forgery("the same, of a version nobody knows")
def _(folder: Path) -> None:
    def later(told: Certificate) -> Certificate:
        return replace(told, version="9.9.9")

    reseal(folder, later)
    _page(folder, lambda data: data["page"].update({"made by": "0" * 64}))


def _page(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A page that promises more, with everything said about it mended."""
    path = folder / "certificate.html"
    digest = json.loads((folder / "certificate.json").read_text())["digest"]
    foreign = path.read_bytes().replace("ε = 1".encode(), "ε = 0.01".encode())

    def told(data: dict[str, Any]) -> None:
        data["page"]["sha256"] = fingerprint(foreign, digest)
        change(data)

    edit(folder, told)
    mended = json.loads((folder / "certificate.json").read_text())["digest"]
    path.write_bytes(foreign.replace(digest.encode(), mended.encode()))


@forgery("an edited schema")
def _(folder: Path) -> None:
    _schema().save(folder / "schema.toml")


@forgery("an edited schema, its digest mended")
def _(folder: Path) -> None:
    _schema().save(folder / "schema.toml")
    reseal(folder, lambda told: replace(told, schema_digest=_schema().digest()))


def _weighted() -> Schema:
    return Schema([Integer("w", lower=1, upper=9)], weight="w")


def _schema() -> Schema:
    return SCHEMA.replace("ward", categories=("a", "b", "c", "x"))


@forgery("a file renamed, and the certificate with it")
def _(folder: Path) -> None:
    (folder / "synthetic.csv").rename(folder / "people.csv")
    edit(folder, lambda data: data["outputs"].update({"people.csv": data["outputs"].pop("synthetic.csv")}))


@forgery("one more file")
def _(folder: Path) -> None:
    (folder / "notes.txt").write_text("the password is")


@forgery("a file outside the folder, named by the certificate")
def _(folder: Path) -> None:
    edit(folder, lambda data: data["outputs"].update({"../secret": "0" * 64}))


@forgery("a symbolic link in the place of a file")
def _(folder: Path) -> None:
    shutil.move(folder / "synthetic.csv", folder.with_name("elsewhere.csv"))
    (folder / "synthetic.csv").symlink_to(folder.with_name("elsewhere.csv"))


@forgery("a pipe in the place of a file")
def _(folder: Path) -> None:
    (folder / "model.kage").unlink()
    os.mkfifo(folder / "model.kage")


@forgery("a pipe in the place of the certificate")
def _(folder: Path) -> None:
    (folder / "certificate.json").unlink()
    os.mkfifo(folder / "certificate.json")


@forgery("a folder in the place of a file")
def _(folder: Path) -> None:
    (folder / "schema.toml").unlink()
    (folder / "schema.toml").mkdir()


@forgery("another format")
def _(folder: Path) -> None:
    path = folder / "certificate.json"
    path.write_text(path.read_text().replace("kagemusha-certificate/3", "kagemusha-certificate/2"))


# signatures


def key(folder: Path, name: str, *, expires: str | None = None) -> Path:
    """A key beside the folder; made once."""
    path = folder.with_name(f"{name}.key")
    if not path.exists():
        new_key(path, name, expires)
    return path


def signed(folder: Path, name: str = "hospital") -> None:
    sign_folder(folder, load_signing_key(key(folder, name)))


@forgery("a signature of another folder")
def _(folder: Path) -> None:
    other = honest(folder.with_name("other"), seed=4)
    signed(other)
    shutil.copy(other / "signature.json", folder / "signature.json")


@forgery("a table changed after signing, all but the signature mended")
def _(folder: Path) -> None:
    signed(folder)
    with (folder / "synthetic.csv").open("a") as file:
        file.write(ROW)
    reseal(folder)


@forgery("a page left out after signing")
def _(folder: Path) -> None:
    signed(folder)
    (folder / "certificate.html").unlink()


@forgery("a signature with another key's id")
def _(folder: Path) -> None:
    signed(folder, "stranger")
    _signature(folder, lambda one: one.update(keyid=load_signing_key(key(folder, "hospital")).public.id))


@forgery("a signature with another key's id and key")
def _(folder: Path) -> None:
    signed(folder, "stranger")
    mine = folder.with_name("mine.json")
    shutil.move(folder / "signature.json", mine)
    signed(folder)
    theirs = json.loads((folder / "signature.json").read_text())["signatures"][0]
    shutil.move(mine, folder / "signature.json")
    _signature(folder, lambda one: one.update(keyid=theirs["keyid"], public=theirs["public"]))


def _signature(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "signature.json"
    envelope = json.loads(path.read_text())
    change(envelope["signatures"][0])
    path.write_text(json.dumps(envelope))


@forgery("anything that passes above, signed by a stranger")
def _(folder: Path) -> None:
    signed(folder, "stranger")


@forgery("the signature taken away")
def _(folder: Path) -> None:
    signed(folder)
    (folder / "signature.json").unlink()


@forgery("signed with a key that has expired")
def _(folder: Path) -> None:
    signed(folder, "expired")


@forgery("signed with a key that was revoked")
def _(folder: Path) -> None:
    signed(folder, "revoked")


def codes_of(name: str, table: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Codes of a column of `people`."""
    column = SCHEMA[name]
    if isinstance(column, Integer):
        return np.asarray(np.searchsorted(column.starts, table[name], side="right") - 1)
    labels = list(column.labels)  # type: ignore[attr-defined]
    return np.asarray([labels.index(value) for value in table[name]])
