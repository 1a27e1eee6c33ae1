"""A first draft of several tables that belong together: which columns are keys, whose rows are whose, their order.

Keys come from the catalogue of a database where it has any; else from names and values: a column whose values are each
one row's, found again in another table. All of it is marked until a person confirms it, but what a catalogue says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kagemusha.columns import Surrogate
from kagemusha.columns.values import Plain
from kagemusha.errors import UsageError
from kagemusha.proposal.propose import propose
from kagemusha.proposal.several import Links, tables_in
from kagemusha.schema import Measured, Schema
from kagemusha.schema.declared import PERSONS, ROWS
from kagemusha.schema.lint import looks_like_identifier
from kagemusha.schema.related import Related, Table
from kagemusha.sources.bounding import Persons, person_text
from kagemusha.sources.open import located
from kagemusha.sources.places import Place, place_of

INSIDE = 0.9
"""Share of a child's keys that are found in the parent, at least."""

ORDERS = re.compile(r"(?i)(^|_)(seq|order|nr|no|num|number|wave|year|visit|day|date|time|t)(_|$)")
"""Names of whole numbers that rows come in the order of."""


@dataclass(frozen=True, eq=False)
class Draft:
    """One table: its columns, and the values of those that may be keys."""

    name: str
    schema: Schema
    place: Place

    @cached_property
    def identifiers(self) -> Mapping[str, Sequence[str | None]]:
        """Columns that may be keys."""
        names = [c.name for c in self.schema if not c.in_doubles or looks_like_identifier(c.name)]
        found = self.place.values(names) if names else {}
        return {name: [person_text(v) for v in values] for name, values in found.items()}

    def values(self, name: str) -> set[str]:
        """The different values of a column."""
        return {value for value in self._all(name) if value is not None}

    def _all(self, name: str) -> Sequence[str | None]:
        if name in self.identifiers:
            return self.identifiers[name]
        return [person_text(value) for value in self.place.values([name])[name]]

    def is_own(self, name: str) -> bool:
        """Whether each value is one row's."""
        values = self._all(name)
        return None not in values and len(set(values)) == len(values)

    def most(self, name: str) -> int:
        """How many rows share a value, at most."""
        return max(Counter(v for v in self._all(name) if v is not None).values(), default=1)


@dataclass(frozen=True)
class Link:
    """Rows of a table belong to those of another."""

    child: str
    key: str
    parent: str
    id: str
    stated: bool
    """Whether a catalogue says so."""


def propose_related(where: Any, *, place: str | None = None) -> Related:
    """Draft the schema of tables in a dict of frames, a folder, a DuckDB file or a schema of PostgreSQL."""
    found, links = tables_in(where, place)
    if len(found) < 2:
        raise UsageError("several tables are needed, such as patients.csv and visits.csv in one folder")
    drafts = {name: Draft(name, propose(table), place_of(table, name)) for name, table in found.items()}
    parents = _parents(drafts, links)
    children = Counter(link.parent for link in parents.values())
    roots = [name for name in drafts if name not in parents]
    root = max(roots, key=lambda name: (_below(name, parents), name))
    below = [name for name in drafts if name == root or _root_of(name, parents) == root]
    if len(below) < 2:
        raise UsageError(
            f"no column of {' or '.join(drafts)} is found again in another table: keys that link them are needed"
        )
    tables = []
    for name in below:
        draft, link = drafts[name], parents.get(name)
        own = sorted({other.id for other in parents.values() if other.parent == name and other.child in below})
        if link is None:
            tables.append(Table(name, _with_keys(draft.schema, own), own[0], derived=() if links else ("key",)))
            continue
        tables.append(_child(draft, link, own[:1] if children[name] else []))
    return Related(tables)


def propose_persons(where: Any, key: str, *, table: str | None = None) -> Related:
    """Draft one long table as persons and their rows: columns that are the same in all rows of a person are theirs."""
    found = located(where, table=table)
    schema, place = propose(found), place_of(found, ROWS)
    if key not in schema.names:
        raise UsageError(f"there is no column {key!r}; columns are {', '.join(schema.names)}")
    whose = Persons().number(place.values([key])[key])
    values = place.values([column.name for column in schema.modelled if column.name != key])
    constant = [name for name, column in values.items() if _same(column, whose.tolist())]
    draft = Draft(ROWS, schema, place)
    own = Schema([_named(key), *(column for column in schema if column.name in constant)])
    rows = Schema([column for column in schema if column.name not in constant])
    link = Link(ROWS, key, PERSONS, key, stated=False)
    lower = _child(Draft(ROWS, rows, draft.place), link, [])
    # one row that contradicts another of its person makes a column one of the rows: that is read off the data, too
    return Related([Table(PERSONS, own, key, first_of=ROWS, derived=("key", "first_of")), lower])


def _same(values: Sequence[Plain], whose: Sequence[int]) -> bool:
    """Whether a column is the same in all rows of each person."""
    first: dict[int, Plain] = {}
    return all(person < 0 or first.setdefault(person, v) == v for v, person in zip(values, whose, strict=True))


def _child(draft: Draft, link: Link, own: Sequence[str]) -> Table:
    schema = _with_keys(draft.schema, [link.key, *own])
    order = _order(schema)
    linked = [] if link.stated else ["key", "parent", *(["id"] if own else [])]
    marks = [*linked, *(["order"] if order else []), "max_rows"]
    most = _rounded_up(draft.most(link.key))
    return Table(
        link.child, schema, link.key, link.parent, own[0] if own else None, order, max_rows=most, derived=tuple(marks)
    )


def _with_keys(schema: Schema, keys: Sequence[str]) -> Schema:
    return schema.with_columns(*(_named(key) for key in dict.fromkeys(keys))).with_constraints(
        *(rule for rule in schema.constraints if not rule.columns & set(keys))
    )


def _named(key: str) -> Surrogate:
    return Surrogate(key, prefix=key[:1].upper())


def _order(schema: Schema) -> str | None:
    """The first date that is always there, or else a whole number whose name says that it counts."""
    axes: list[Measured] = [axis for axis in schema.measured.values() if axis.whole and not axis.missing]
    axes = [axis for axis in axes if not axis.special and not axis.open_fields]
    dates = [axis.name for axis in axes if axis.sort == "moment"]
    numbers = [axis.name for axis in axes if axis.sort == "number" and ORDERS.search(axis.name)]
    return next(iter([*dates, *numbers]), None)


def _rounded_up(most: int) -> int:
    """A round number that is not below."""
    steps = (size * ten for ten in (1, 10, 100, 1000, 10_000) for size in (1, 2, 3, 4, 5, 6, 8))
    return next((step for step in steps if step >= most), 100_000)


def _parents(drafts: Mapping[str, Draft], links: Links) -> dict[str, Link]:
    """For each table the one that its rows belong to: the deepest there is."""
    found = [
        Link(*link, stated=True) for link in links if link[0] in drafts and link[2] in drafts and link[0] != link[2]
    ]
    stated = {link.child for link in found}
    for child in drafts.values():
        if child.name not in stated:
            found += [link for parent in drafts.values() if parent is not child for link in _likely(child, parent)]
    edges: dict[str, list[Link]] = {}
    for link in found:
        edges.setdefault(link.child, []).append(link)
    return {
        child: max(own, key=lambda link: (_depth(link.parent, edges, ()), link.parent)) for child, own in edges.items()
    }


def _likely(child: Draft, parent: Draft) -> list[Link]:
    """Links that names and values suggest."""
    links = []
    singular = parent.name.lower().removesuffix("s")
    for name in parent.identifiers:
        wanted = (
            {name.lower()} if name.lower() != "id" else {f"{singular}_id", f"{singular}id", f"{parent.name}_id".lower()}
        )
        for key in child.identifiers:
            if key.lower() not in wanted or not parent.is_own(name):
                continue
            theirs, known = child.values(key), parent.values(name)
            if not theirs or len(theirs & known) < INSIDE * len(theirs):
                continue
            if child.is_own(key) and (len(theirs), child.name) >= (len(known), parent.name):
                continue  # one row each: the larger table is above, or the first by name
            links.append(Link(child.name, key, parent.name, name, stated=False))
    return links


def _depth(name: str, edges: Mapping[str, Sequence[Link]], seen: tuple[str, ...]) -> int:
    if name in seen:
        return -len(edges)
    return max((1 + _depth(link.parent, edges, (*seen, name)) for link in edges.get(name, ())), default=0)


def _below(name: str, parents: Mapping[str, Link]) -> int:
    return sum(_root_of(other, parents) == name for other in parents)


def _root_of(name: str, parents: Mapping[str, Link]) -> str:
    for _ in parents:
        if name not in parents:
            break
        name = parents[name].parent
    return name
