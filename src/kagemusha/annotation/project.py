"""A labelling project on disk: its settings, its store, and the loop that runs beside the page."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.annotation.cards import cards, grouped
from kagemusha.annotation.loop import Annotated
from kagemusha.annotation.store import IMPOSSIBLE, UNKNOWN, Store
from kagemusha.annotation.store_desk import StoreDesk
from kagemusha.arrays import IntArray
from kagemusha.errors import UsageError
from kagemusha.files import scheme_of
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Drop, Schema
from kagemusha.schema.declared import Declared
from kagemusha.schema.related import Related
from kagemusha.sources import Source, open_source
from kagemusha.sources.families import Family, Place
from kagemusha.sources.several import open_related
from kagemusha.synthesizers.fit import fit

STORE = "labels.db"
MOST_CLASSES = 9
"""As many as there are number keys."""


@dataclass(frozen=True)
class Project:
    """What the owner decides before the first read."""

    question: str
    """What is asked of every record: the name of the label."""
    classes: tuple[str, ...]
    guideline: str
    epsilon: float
    delta: float
    settings: Annotated
    shared: float = 0.1
    """Share of records that two people are asked about."""

    def __post_init__(self) -> None:
        if not 2 <= len(self.classes) <= MOST_CLASSES or len(set(self.classes)) < len(self.classes):
            raise UsageError(
                f"classes (--classes) must name 2 to {MOST_CLASSES} different classes, got {len(set(self.classes))}"
            )
        if not all(name.strip() for name in self.classes):
            raise UsageError("classes (--classes): a class has no name")
        if {UNKNOWN, IMPOSSIBLE} & set(self.classes):
            raise UsageError(
                f"classes (--classes): {UNKNOWN} and {IMPOSSIBLE} have buttons of their own, name the class otherwise"
            )
        if not 0 <= self.shared <= 1:
            raise UsageError(f"shared (--shared) must be at least 0 and at most 1, got {self.shared}")

    def facts(self) -> dict[str, Any]:
        """As the store keeps it: the page shows some of it."""
        fields = {k: v for k, v in asdict(self).items() if k != "settings"}
        return {
            **fields,
            "classes": list(self.classes),
            "labels": self.settings.labels,
            "settings": asdict(self.settings),
        }


def require_possible(project: Project, schema: Declared) -> None:
    """Refuse what the rounds would refuse, before a project is begun or anything is read."""
    several = isinstance(schema, Related)
    known = schema if several else explanatory(schema, project.question)
    loose = [str(fact) for fact in (*known.open_facts(), *known.derived_facts())]
    if not several and not explanatory(schema, project.question).modelled:
        raise UsageError("the schema has no column besides the label: there would be nothing to show")
    if loose:
        shown = ", ".join(loose[:5]) + (", …" if len(loose) > 5 else "")
        raise UsageError(f"the schema must be declared and confirmed; still open or taken from the data: {shown}")
    declared = explanatory(schema, project.question)
    budget = Budget(project.epsilon, project.delta, rows=declared.unit.max_rows)
    if not budget.is_finite:
        raise UsageError(f"epsilon (--epsilon) must be finite, got {project.epsilon}")
    project.settings.plan(declared.domain, budget)


def open_project(folder: Path, project: Project) -> Store:
    """The store of a new project, or of one that goes on; other settings than before are refused."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o700)
    path = folder / STORE
    store = Store(path, create=not path.exists())
    before = store.fact("project")
    if before is None:
        store.keep(project=project.facts())
    elif before != project.facts():
        changed = _changed(before, project.facts())
        raise UsageError(
            f"{folder}: this project was begun with another {', '.join(changed)}; give the same as before, or another "
            f"folder"
        )
    return store


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs, settings by their own names."""
    names = [name for name, value in now.items() if before.get(name) != value]
    if "settings" not in names:
        return names
    own = [name for name, value in now["settings"].items() if before.get("settings", {}).get(name) != value]
    return [name for name in names if name != "settings"] + [name for name in own if name not in names]


def explanatory(schema: Declared, label: str) -> Schema:
    """The schema without the label: people give it, the table does not. Of several tables, that of persons' records."""
    if isinstance(schema, Related):
        return Family(schema).without(label).schema
    if label not in schema.names:
        return schema
    kept = [Drop(column.name) if column.name == label else column for column in schema.columns]
    rules = [rule for rule in schema.constraints if label not in rule.columns]
    weight = schema.weight if schema.weight is not None and schema.weight.column != label else None
    return Schema(kept, schema.unit, rules, weight=weight, encoding=schema.encoding)


def run_rounds(
    project: Project,
    store: Store,
    table: str | Path,
    schema: Declared,
    *,
    place: str | None = None,
    ledger: str | Path,
    policy: str = "default",
    key: str = "",
    rested: Callable[[], None] = lambda: None,
) -> Model:
    """The loop, until both budgets are spent.

    Waits for labels in the store; may be killed and started again at any time. `place` is the table of a database.
    """
    declared = explanatory(schema, project.question)
    places: Mapping[str, Place] = {}
    if isinstance(schema, Related):
        family = Family(schema).without(project.question)
        source: Source = family.source(open_related(table, family.related, place=place))
        places, dataset = family.places, source.name
    else:
        source = open_source(table, declared, table=place)
        dataset = None if scheme_of(table) is not None else str(Path(table).resolve())
    desk = StoreDesk(store, len(project.classes), _Shown(declared, places), shared=project.shared, rested=rested)

    def progress(what: str, share: float) -> None:
        store.keep(stage={"what": what, "share": share, "at": time.time()})

    model = fit(
        project.settings.at(desk),
        source,
        Budget(project.epsilon, project.delta),
        ledger=ledger,
        dataset=dataset,
        policy=policy,
        key=key,
        progress=progress,
    )
    store.keep(stage={"what": "finished", "share": 1.0, "at": time.time()})
    return model


class _Shown:
    """Turns pools of doubles into cards; what is usual is read off the pool itself."""

    def __init__(self, schema: Schema, places: Mapping[str, Place]) -> None:
        self._schema, self._places = schema, places

    def __call__(self, codes: IntArray) -> list[list[dict[str, Any]]]:
        usual = {
            column.name: np.bincount(codes[:, i], minlength=column.size) / len(codes)
            for i, column in enumerate(self._schema.modelled)
        }
        found = cards(self._schema, codes, usual, np.random.default_rng(0))
        return [grouped(card, self._places) for card in found] if self._places else found
