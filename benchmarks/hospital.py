"""A made hospital: visits of patients, with everything that hurts. Not one number in it comes from a person.

    python benchmarks/hospital.py FOLDER        writes visits.csv, visits.toml and the lists that the schema names

Several visits a patient; names and notes; dates that are connected; ICD codes and postcodes with long tails; a
laboratory value that is a number, "N" (not done) or 9999; few distinct numbers, money with a heavy tail, decimals. What
the schema says is what a custodian would know without looking: bounds, lists, and rules of the world.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

WARDS = ("Medicine", "Surgery", "Maternity", "Paediatrics", "Cardiology", "Oncology", "Psychiatry", "Emergency")
SCHOOLING = ("none", "primary", "secondary", "degree")
CITIES = ("Northam", "Eastport", "Southwick", "Westhill", "Midtown", "Lakeside", "Hilltop", "Riverton")
FIRST = (
    "Ada",
    "Ben",
    "Cleo",
    "Dov",
    "Eva",
    "Finn",
    "Gia",
    "Hal",
    "Ida",
    "Jon",
    "Kai",
    "Lea",
    "Mio",
    "Noa",
    "Oli",
    "Pia",
)
LAST = ("Abel", "Bond", "Cole", "Dunn", "East", "Frey", "Gale", "Hart", "Iver", "Judd", "Kerr", "Lund", "Moss", "Nash")
CHAPTERS = {"Medicine": "EJK", "Surgery": "KMS", "Maternity": "O", "Paediatrics": "JPQ", "Cardiology": "I",
            "Oncology": "C", "Psychiatry": "F", "Emergency": "RST"}  # fmt: skip
RULES = (
    "admission <= discharge",
    "birth <= admission",
    "ward = 'Maternity' implies pregnant = 'yes'",
    "pregnant = 'yes' implies sex = 'F' and age between 12 and 55",
    "ward = 'Paediatrics' implies age <= 17",
    "age < 6 implies schooling = 'none'",
    "age < 18 implies schooling != 'degree'",
    "pulse_min <= pulse_max",
)


def icd_codes() -> list[str]:
    """About 800 codes: a letter (chapter), two digits (block) and one more."""
    return [
        f"{letter}{block:02d}.{last}" for letter in "CEFIJKMOPQRST" for block in range(0, 100, 8) for last in range(5)
    ]


def postcodes() -> list[tuple[str, str]]:
    """300 postcodes, each with its city."""
    return [(f"{1 + i // 38}{i % 38:02d}{(7 * i) % 100:02d}", CITIES[i // 38]) for i in range(300)]


def make(patients: int = 20_000, *, seed: int = 0) -> dict[str, Any]:
    """The table, column by column."""
    rng = np.random.default_rng(seed)
    visits = np.minimum(rng.geometric(0.57, patients), 8)
    who = np.repeat(np.arange(patients), visits)
    n = len(who)
    sex = rng.choice(["F", "M"], patients, p=[0.53, 0.47])[who]
    born = (18_262 - rng.choice([9, 35, 62, 78], patients, p=[0.18, 0.32, 0.3, 0.2]) * 365.25
            - rng.normal(0, 3_000, patients)).clip(-18_000, 18_200).astype(np.int64)[who]  # fmt: skip
    admission = rng.integers(18_262, 18_262 + 731, n)
    age = years(born, admission)
    fertile = (sex == "F") & (age >= 16) & (age <= 45)
    pregnant = np.where(fertile & (rng.random(n) < 0.09), "yes", "no")
    adult = rng.choice(["Medicine", "Surgery", "Cardiology", "Oncology", "Psychiatry", "Emergency"], n,
                       p=[0.3, 0.25, 0.15, 0.1, 0.08, 0.12])  # fmt: skip
    ward = np.where(age <= 15, "Paediatrics", adult)
    ward = np.where((pregnant == "yes") & (age >= 16) & (rng.random(n) < 0.7), "Maternity", ward)
    mean = {"Maternity": 3, "Surgery": 6, "Psychiatry": 14, "Emergency": 1, "Oncology": 8}
    stay = rng.gamma(1.3, np.array([mean.get(w, 4) for w in ward]) / 1.3).astype(np.int64).clip(0, 120)
    learned = rng.choice(["primary", "secondary", "degree"], n, p=[0.25, 0.5, 0.25])
    schooling = np.where(age < 6, "none", np.where(age < 14, "primary", np.where(age < 18, "secondary", learned)))
    height = np.where(age < 18, 75 + 5.4 * age, np.where(sex == "F", 165, 178)) + rng.normal(0, 7, n)
    bmi = np.where(age < 18, 16 + 0.3 * age, 22 + 0.08 * np.minimum(age, 60)) + rng.gamma(2, 1.7, n) - 2
    weight = np.round(bmi * (np.round(height) / 100) ** 2, 1)
    pulse = np.round(rng.normal(62, 7, n) + (age < 12) * 20)
    crp = np.round(rng.lognormal(1.6, 1.1, n), 1).clip(0.1, 500)
    result = np.array([f"{value:.1f}" for value in crp], dtype=object)
    unknown = rng.random(n)
    result[unknown < 0.12] = "N"
    result[(unknown >= 0.12) & (unknown < 0.15)] = "9999"
    codes, places = icd_codes(), postcodes()
    icd = np.empty(n, dtype=object)
    for one, letters in CHAPTERS.items():
        own = [code for code in codes if code[0] in letters]
        share = 1 / (3 + np.arange(len(own)))
        mine = np.flatnonzero(ward == one)
        order = np.random.default_rng(len(one)).permutation(len(own))
        icd[mine] = np.array(own, dtype=object)[order][rng.choice(len(own), len(mine), p=share / share.sum())]
    home = rng.choice(len(places), patients, p=_zipf(len(places), rng))[who]
    cost = np.round(180 * (1 + stay) * rng.lognormal(0, 0.6, n), 2)
    iso = [str(day) for day in admission.astype("M8[D]")]
    return {
        "visit_id": [f"V{i:07d}" for i in range(n)],
        "patient_id": [f"P{i:06d}" for i in who],
        "name": [f"{FIRST[i % 16]} {LAST[i // 16 % 14]}" for i in who],
        "birth": [str(day) for day in born.astype("M8[D]")],
        "sex": sex.tolist(),
        "age": age.tolist(),
        "pregnant": pregnant.tolist(),
        "schooling": schooling.tolist(),
        "ward": ward.tolist(),
        "admission": iso,
        "discharge": [str(day) for day in (admission + stay).astype("M8[D]")],
        "icd": icd.tolist(),
        "postcode": [places[i][0] for i in home],
        "city": [places[i][1] for i in home],
        "height": np.round(height).astype(np.int64).tolist(),
        "weight": weight.tolist(),
        "pulse_min": pulse.astype(np.int64).tolist(),
        "pulse_max": (pulse + np.round(rng.gamma(3, 6, n))).astype(np.int64).tolist(),
        "crp": result.tolist(),
        "dose": rng.choice([2.5, 5.0, 7.5, 10.0, 20.0], n, p=[0.1, 0.4, 0.1, 0.3, 0.1]).tolist(),
        "cost": cost.tolist(),
        "note": [f"seen on {day}, to be reviewed in {1 + i % 9} weeks" for i, day in enumerate(iso)],
    }  # fmt: skip


def years(first: Any, last: Any) -> Any:
    """Full calendar years from one day to another."""
    from kagemusha.schema.formulas import evaluate, parse

    found = evaluate(parse("years(a, b)"), {"a": first.astype(np.float64), "b": last.astype(np.float64)})
    return found.astype(np.int64)


def _zipf(size: int, rng: np.random.Generator) -> Any:
    share = 1 / (4 + rng.permutation(size))
    return share / share.sum()


SCHEMA = """\
version = 1

[unit]
column = "patient_id"
max_rows = 3

[columns.visit_id]
kind = "surrogate"
prefix = "V"
digits = 7
[columns.patient_id]
kind = "drop"
reason = "identifier"
[columns.name]
kind = "drop"
reason = "names of persons"
[columns.birth]
kind = "date"
[columns.sex]
kind = "category"
categories = ["F", "M"]
out_of_domain = "clip"
[columns.age]
kind = "integer"
lower = 0
upper = 110
formula = "years(birth, admission)"
replaces = "birth"
in_table = true
[columns.pregnant]
kind = "category"
categories = ["yes", "no"]
out_of_domain = "clip"
[columns.schooling]
kind = "category"
categories = ["none", "primary", "secondary", "degree"]
out_of_domain = "clip"
[columns.ward]
kind = "category"
categories = ["Medicine", "Surgery", "Maternity", "Paediatrics", "Cardiology", "Oncology", "Psychiatry", "Emergency"]
out_of_domain = "clip"
[columns.admission]
kind = "date"
lower = 2020-01-01
upper = 2021-12-31
bins = 24
[columns.discharge]
kind = "date"
[columns.stay]
kind = "integer"
lower = 0
upper = 180
edges = [EDGES]
formula = "discharge - admission"
replaces = "discharge"
[columns.icd]
kind = "category"
categories_file = "icd.csv"
levels = [1, 3]
out_of_domain = "clip"
[columns.postcode]
kind = "category"
categories_file = "postcodes.csv"
levels = [1, 3]
out_of_domain = "clip"
[columns.city]
kind = "category"
categories = ["Northam", "Eastport", "Southwick", "Westhill", "Midtown", "Lakeside", "Hilltop", "Riverton"]
out_of_domain = "clip"
[columns.height]
kind = "integer"
lower = 40
upper = 210
bins = 34
[columns.weight]
kind = "real"
lower = 2
upper = 250
decimals = 1
[columns.bmi]
kind = "real"
lower = 8
upper = 60
bins = 52
formula = "weight / (height / 100) ^ 2"
replaces = "weight"
[columns.pulse_min]
kind = "integer"
lower = 30
upper = 160
bins = 26
[columns.pulse_max]
kind = "integer"
[columns.pulse_range]
kind = "integer"
lower = 0
upper = 120
bins = 30
formula = "pulse_max - pulse_min"
replaces = "pulse_max"
[columns.crp]
kind = "real"
lower = 0.1
upper = 500
bins = 30
scale = "log"
decimals = 1
special = ["N", 9999]
[columns.dose]
kind = "real"
values = [2.5, 5, 7.5, 10, 20]
[columns.cost]
kind = "real"
lower = 10
upper = 100000
bins = 32
scale = "log"
decimals = 2
[columns.note]
kind = "drop"
reason = "free text"
"""


def schema_text() -> str:
    """The schema file."""
    edges = [*range(31), 35, 40, 50, 60, 90, 120, 180]
    rules = "".join(f'\n[[constraint]]\nrule = "{rule}"\n' for rule in RULES)
    partners = '\n[[constraint]]\nrule = "postcode determines city"\nlist = "postcodes.csv"\n'
    return SCHEMA.replace("upper = 180\nedges", "edges").replace("lower = 0\nedges", "edges").replace(
        "EDGES", ", ".join(map(str, edges))) + rules + partners  # fmt: skip


def write(folder: Path, patients: int = 20_000, *, seed: int = 0) -> None:
    """Table, schema and lists."""
    folder.mkdir(parents=True, exist_ok=True)
    table = make(patients, seed=seed)
    with (folder / "visits.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(table)
        out.writerows(zip(*table.values(), strict=True))
    (folder / "visits.toml").write_text(schema_text())
    (folder / "icd.csv").write_text("".join(f"{code}\n" for code in icd_codes()))
    (folder / "postcodes.csv").write_text("".join(f"{code},{city}\n" for code, city in postcodes()))


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20_000)
