"""The schema: what the custodian declares about a table, and all the model may know about it for free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from kagemusha.columns import Column, Measured, Modelled
from kagemusha.columns.column import shown
from kagemusha.columns.registry import column_from_fields, column_to_fields, did_you_mean, jsonable
from kagemusha.encodings import known_encoding
from kagemusha.errors import OutputError, SchemaError, UndeclaredDomain
from kagemusha.files import write_whole
from kagemusha.pages import card
from kagemusha.schema import derivations, toml
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.demands import NOTHING, Demands
from kagemusha.schema.domain import Domain
from kagemusha.schema.fact import Fact
from kagemusha.schema.formulas import Formula
from kagemusha.schema.toml import VERSION, check_version, constraints_of, target_of, with_list
from kagemusha.schema.unit import EACH_ROW, Unit, Weight, WeightSteps, weight_steps


@dataclass(frozen=True)
class Schema:
    """Declared columns, in the order of the table; every column of the table is named, at least as drop."""

    columns: tuple[Column, ...]
    unit: Unit
    """Whose rows belong together; by default every row stands for a person."""
    constraints: tuple[Constraint, ...] = ()
    """What holds for every row."""
    target: str | None = None
    """A column that people will want to predict from the others: methods that can take special care of it do."""
    weight: Weight | None = None
    """How many people of a population a record stands for, if it is a survey."""
    encoding: str | None = None
    frame: str | None = None
    demands: Demands = NOTHING
    rows: ClassVar[Mapping[str, int]] = MappingProxyType({"": 1})  # as how many a record counts, by table

    def __init__(
        self,
        columns: Iterable[Column],
        unit: Unit = EACH_ROW,
        constraints: Iterable[Constraint | str] = (),
        target: str | None = None,
        weight: Weight | str | None = None,
        encoding: str | None = None,
        frame: str | None = None,
        demands: Demands = NOTHING,
    ) -> None:
        rules = tuple(Constraint(rule) if isinstance(rule, str) else rule for rule in constraints)
        own = {"columns": tuple(columns), "unit": unit, "target": target, "demands": demands, "constraints": rules}
        own["encoding"] = None if encoding is None else known_encoding(encoding)
        own["frame"] = None if frame is None else toml.known_frame(frame)
        own["weight"] = Weight(weight) if isinstance(weight, str) else weight
        vars(self).update(own)  # frozen for everybody else
        if not self.columns:
            raise SchemaError("the schema names no column; declare at least one")
        if len(self._by_name) != len(self.columns):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise SchemaError(f"column {twice!r} is declared twice")
        if unit.column is not None and unit.column not in self._by_name:
            raise SchemaError(f"unit: the schema has no column {unit.column!r}{did_you_mean(unit.column, self.names)}")
        for rule in self.constraints:
            for name in sorted(rule.columns - set(self._by_name)):
                hint = did_you_mean(name, self.names)
                raise SchemaError(f"constraint {rule.rule!r}: no column {name!r} (texts need '…'){hint}")
        derivations.check(self._by_name, self.formulas, self.replaced)
        derivations.working_order(self.formulas, self.replaced)  # a circle is refused at once
        if target is not None and target not in (modelled := tuple(column.name for column in self.modelled)):
            what = "is not in the model" if target in self._by_name else "is not in the schema"
            raise SchemaError(f"target: column {shown(target)} {what}{did_you_mean(target, modelled)}")
        if self.weight is not None:
            self.weight.check(self._by_name, {column.name for column in self.modelled})
        if demands is not NOTHING:
            demands.check({column.name: column for column in self.modelled})

    def _repr_html_(self) -> str:
        return card(f"{len(self)} columns", {c.name: f"{c.kind}. {c.described()}" for c in self.columns})

    @cached_property
    def formulas(self) -> Mapping[str, Formula]:
        """The columns that are worked out of others, and how: by a formula, or a rule such as total = a + b."""
        return derivations.formulas(self.columns, self.constraints)

    @cached_property
    def working_order(self) -> tuple[tuple[str, str], ...]:
        """What completes doubles, in an order in which it can be worked out: (column, column of its formula)."""
        return derivations.working_order(self.formulas, self.replaced)

    @cached_property
    def replaced(self) -> Mapping[str, str]:
        """For the columns modelled in place of another one: which."""
        return {c.name: a.replaces for c in self.columns if (a := c.axis) is not None and a.replaces is not None}

    @cached_property
    def table_columns(self) -> tuple[Column, ...]:
        """The columns that the private table has: all but those worked out of others for the model alone."""
        return tuple(c for c in self.columns if (a := c.axis) is None or a.replaces is None or a.in_table)

    @cached_property
    def with_codes(self) -> tuple[Modelled, ...]:
        """The columns that have codes: all but those that are dropped or made up."""
        return tuple(c for c in self.columns if isinstance(c, Modelled))

    @cached_property
    def coded(self) -> tuple[Modelled, ...]:
        """Those of them that the private table has."""
        return tuple(c for c in self.table_columns if isinstance(c, Modelled))

    @cached_property
    def measured(self) -> Mapping[str, Measured]:
        """The columns of the model on an axis, by name."""
        return {c.name: axis for c in self.modelled if (axis := c.axis) is not None}

    def modelled_column(self, name: str) -> Modelled:
        """A column that has codes."""
        found = self[name]
        if not isinstance(found, Modelled):
            raise SchemaError(f"column {name!r} is {found.kind}: doubles have no values of it")
        return found

    def axis(self, name: str) -> Measured:
        """A column whose values lie on an axis."""
        found = self[name].axis
        if found is None:
            raise SchemaError(f"column {name!r} must be a number or a date; a category has no order")
        return found

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        try:
            return self._by_name[name]
        except KeyError:
            raise SchemaError(f"the schema has no column {name!r}{did_you_mean(name, self.names)}") from None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def modelled(self) -> tuple[Modelled, ...]:
        """The columns that are in the model, in order."""
        without = {name for name in self.formulas if name not in self.replaced} | set(self.replaced.values())
        return tuple(c for c in self.with_codes if c.name not in without)

    @cached_property
    def domain(self) -> Domain:
        """Names and sizes of the modelled columns; `UndeclaredDomain` if a fact it needs is open."""
        if not self.modelled:
            raise SchemaError("every column is dropped or a surrogate; declare at least one to be modelled")
        for fact in self.open_facts():
            raise UndeclaredDomain(
                f"column {fact.column!r}: {fact.field} is not declared. Either declare it in the schema from public "
                "knowledge, or give private discovery a share of the budget, discover=0.05 (--discover)."
            )
        return Domain(tuple(c.name for c in self.modelled), tuple(c.size for c in self.modelled))

    @cached_property
    def weights(self) -> WeightSteps | None:
        """The weight of each code of the weight's column; None where no weight is declared."""
        return None if self.weight is None else weight_steps(self.axis(self.weight.column), self.weight)

    def derived_facts(self) -> tuple[Fact, ...]:
        """Facts taken from the data that nobody has confirmed; a release resting on them is not private."""
        return tuple(Fact(column.name, field) for column in self.columns for field in column.derived)

    def open_facts(self) -> tuple[Fact, ...]:
        """Facts of the domain that nobody has declared."""
        return tuple(Fact(column.name, field) for column in self.modelled for field in column.open_fields)

    def vouchers(self) -> tuple[str, ...]:
        """Who confirmed what, and from which source, a sentence for each; certificates show them."""
        said: dict[str, list[str]] = {}
        rules = [(rule.confirmed, f"the rule {rule.rule}") for rule in self.constraints if not rule.guess]
        for who, what in [*((column.confirmed, column.name) for column in self.columns), *rules]:
            if who is not None:
                said.setdefault(who, []).append(what)
        return tuple(f"Public facts of {', '.join(named)}: confirmed by {who}." for who, named in said.items())

    def replace(self, name: str, **changes: Any) -> Schema:
        """The same schema with some fields of one column changed."""
        changed = replace(self[name], **changes)
        return replace(self, columns=tuple(changed if c.name == name else c for c in self.columns))

    def with_columns(self, *columns: Column) -> Schema:
        """The same schema with columns of these names exchanged; new names are added at the end."""
        new = {column.name: column for column in columns}
        return replace(self, columns=(*(new.pop(c.name, c) for c in self.columns), *new.values()))

    def view(self, name: str) -> Schema:
        """What is counted of the one table there is; several have a view each (`schema.related`)."""
        return self

    def confirm(self) -> Schema:
        """The same schema with nothing marked derived: a person vouches that every fact is public."""
        return replace(self, columns=tuple(replace(column, derived=()) for column in self.columns))

    def with_unit(self, unit: Unit) -> Schema:
        """The same columns with another unit of privacy."""
        return replace(self, unit=unit)

    def with_constraints(self, *rules: Constraint | str) -> Schema:
        """The same columns with these rules instead of the present ones."""
        return replace(self, constraints=tuple(rules))  # type: ignore[arg-type]

    def with_target(self, target: str | None) -> Schema:
        """The same columns with another column to predict, or none."""
        return replace(self, target=target)

    def with_weight(self, weight: Weight | str | None) -> Schema:
        """The same columns with another weight, or with none."""
        return replace(self, weight=weight)  # type: ignore[arg-type]

    @property
    def _heads(self) -> Mapping[str, str]:
        return toml.heads(target=self.target, encoding=self.encoding, frame=self.frame)

    def to_json(self) -> dict[str, Any]:
        """A form for JSON that `from_json` reads back."""
        fields = ({"name": c.name, **column_to_fields(c)} for c in self.columns)
        unit = {"unit": self.unit.to_fields()} if self.unit else {}
        rules = {"constraints": [rule.to_fields() for rule in self.constraints]} if self.constraints else {}
        weight = {} if self.weight is None else {"weight": self.weight.to_fields()}
        shown_columns = [{k: jsonable(v) for k, v in c.items()} for c in fields]
        heads = {"version": VERSION, **self._heads, **({} if self.demands is NOTHING else self.demands.to_fields())}
        return {**heads, **unit, **weight, **rules, "columns": shown_columns}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Schema:
        """The schema `to_json` wrote."""
        entries = document.get("columns") if isinstance(document, Mapping) else None
        if not isinstance(entries, list) or not all(isinstance(e, Mapping) and "name" in e for e in entries):
            raise SchemaError("schema: a list of columns, each with a name, is needed")
        check_version(document.get("version"))
        columns = (column_from_fields(e["name"], {k: v for k, v in e.items() if k != "name"}) for e in entries)
        return cls._of(document, columns, constraints_of(document.get("constraints", [])))

    @classmethod
    def _of(cls, document: Mapping[str, Any], columns: Iterable[Column], rules: Iterable[Constraint]) -> Schema:
        unit, weight = Unit.from_fields(document.get("unit", {})), Weight.from_fields(document.get("weight"))
        heads = (document.get("encoding"), document.get("frame"))
        demands = Demands.of(document) if {*toml.DEMANDS} & {*document} else NOTHING
        return cls(columns, unit, rules, target_of(document), weight, *heads, demands)

    def digest(self) -> str:
        """SHA-256 of what is declared; comments and layout of the file do not matter."""
        return toml.digest_of(self.to_json())

    @classmethod
    def loads(cls, text: str, *, folder: Path | None = None) -> Schema:
        """Read the text of a schema file; lists that it names are read from `folder`."""
        document = toml.read(text)
        toml.check_entries(document)
        check_version(document.get("version", VERSION))
        tables = document.get("columns")
        if not isinstance(tables, Mapping) or not tables:
            raise SchemaError("the schema names no column; declare at least one, such as [columns.age]")
        columns = (column_from_fields(name, with_list(name, table, folder)) for name, table in tables.items())
        return cls._of(document, columns, constraints_of(document.get("constraint", []), folder))

    def dumps(self) -> str:
        """The text of a schema file, with comments for the person who edits it."""
        columns = [(c.name, column_to_fields(c)) for c in self.columns]
        said = self.to_json()
        demands = {entry: said[entry] for entry in toml.DEMANDS if entry in said}
        parts = (said.get("unit", {}), said.get("constraints", []), self._heads, said.get("weight", {}), demands)
        return toml.write(columns, VERSION, *parts)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schema:
        """Read a schema file; every error names the file."""
        try:
            return cls.loads(toml.text_of(Path(path)), folder=Path(path).absolute().parent)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the schema file, whole or not at all."""
        if not (where := Path(path)).parent.is_dir() or where.is_dir():
            raise OutputError(f"{path}: the schema file cannot be written: there is no such folder")
        write_whole(where, self.dumps().encode("utf-8"))
