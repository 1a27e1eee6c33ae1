"""Discovery with a hierarchy: codes that few people have are rolled up to their block or chapter, at the same δ."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kagemusha.certificate.verify import all_passed, verify
from kagemusha.encoding import Encoder
from kagemusha.errors import SchemaError
from kagemusha.folder.folder import write_bundle
from kagemusha.privacy.budget import Budget
from kagemusha.release.discovery import DELTA_SHARE
from kagemusha.schema import Category, Schema
from kagemusha.sources import open_source
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

OPEN = Schema([Category("icd", levels=(1, 3))])
LINES = (("dog", "mammal", "animal"), ("cat", "mammal", "animal"), ("carp", "fish", "animal"), ("oak", "tree", "plant"))


def codes() -> list[str]:
    """Two codes of many people, a block of ten rare ones, a chapter of sixty rarer ones, and one person alone."""
    many = ["I10.9"] * 900 + ["E11.2"] * 700
    block = [f"K35.{i}" for i in range(10)] * 9
    chapter = [f"S{i:02d}.0" for i in range(60)] * 2
    return [*many, *block, *chapter, "Z99.9"]


def found(cells: list[str], schema: Schema = OPEN, epsilon: float = 2.0, seed: int = 0):
    budget = Budget(epsilon, 1e-6)
    table = pa.table({schema.names[0]: cells})
    return fit(create("independent"), table, budget, schema=schema, discover=0.5, simulation=seed)


def test_rare_codes_come_out_as_their_block_or_chapter() -> None:
    model = found(codes())
    assert model.schema["icd"].categories == ("E11.2", "I10.9", "K35", "S")  # type: ignore[attr-defined]
    doubles = Counter(model.sample(2000, seed=0)["icd"].to_pylist())
    assert set(doubles) <= {"E11.2", "I10.9", "K35", "S"}
    assert 0.02 < doubles["K35"] / 2000 < 0.08  # 90 of 1,811
    assert 0.03 < doubles["S"] / 2000 < 0.11  # 120
    encoded = Encoder(model.schema).encode_column("icd", ["K35.7", "S12.0", "S", "Z99.9", "I10.9", "I10.1"])
    assert encoded.tolist() == [2, 3, 3, 4, 1, 4]


def test_nothing_but_the_codes_is_counted_where_all_are_frequent() -> None:
    model = found(["a1"] * 500 + ["b2"] * 500, Schema([Category("icd", levels=(1,))]), 20.0)
    assert model.schema["icd"].categories == ("a1", "b2")  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(3))
def test_what_one_person_holds_changes_nothing(seed: int) -> None:
    """A code, a block and a chapter of one person alone; whole tables apart, the categories are the same."""
    most = codes()
    for neighbour in (most[:-1], [*most, "Y01.1"], [*most[:-1], "Q"], [*most, "I10.9"]):
        assert found(neighbour, seed=seed).schema == found(most, seed=seed).schema


def test_the_twin_without_noise() -> None:
    """At a huge ε the categories are those that the definition gives by hand."""
    rng = np.random.default_rng(1)
    cells = [f"{'AB'[i % 2]}{i}{j:03d}" for i, j in zip(rng.integers(0, 9, 400), rng.zipf(1.5, 400) % 999, strict=True)]
    cells += ["C1000", "C2000", "C3000", "D1000"]
    model = found(cells, Schema([Category("icd", levels=(1, 2))]), epsilon=5000.0)
    events = [e for e in model.certificate.events if e.kind == "threshold"]
    known: list[str] = []
    for length, event in zip((None, 2, 1), events, strict=True):
        counts = Counter(c[:length] for c in cells if not {c, c[:2], c[:1]} & set(known))
        known += [group for group, count in counts.items() if count >= event.threshold]  # type: ignore[attr-defined]
    assert sorted(known) == list(model.schema["icd"].categories)  # type: ignore[attr-defined]
    assert {len(name) for name in known} == {1, 2, 5}


def test_levels_are_charged_one_by_one_within_the_same_delta(tmp_path: Path) -> None:
    model = fit(create("independent"), pa.table({"icd": codes()}), Budget(2.0, 1e-6), schema=OPEN, discover=0.5,
                ledger=tmp_path / "l.db", dataset="visits")  # fmt: skip
    certificate = write_bundle(model, tmp_path / "out", file_kind="csv")
    assert all_passed(verify(tmp_path / "out" / "certificate.json"))
    thresholds = [e for e in certificate.events if e.kind == "threshold"]
    assert [e.what for e in thresholds] == ["values of icd", "groups of icd, level 1", "groups of icd, level 2"]
    assert sum(e.delta for e in thresholds) <= Fraction(DELTA_SHARE) * Fraction(1e-6)
    spent = [float(e.rho or 0) for e in certificate.events]
    assert sum(spent[:3]) == pytest.approx(0.5 * sum(spent), rel=1e-3)
    assert spent[0] == pytest.approx(3 * spent[1], rel=1e-3)


def test_families_from_a_list(tmp_path: Path) -> None:
    (tmp_path / "kinds.csv").write_text("".join(",".join(line) + "\n" for line in LINES))
    (tmp_path / "s.toml").write_text('version = 1\n[columns.kind]\nkind = "category"\nfamilies_file = "kinds.csv"\n')
    schema = Schema.load(tmp_path / "s.toml")
    assert schema.open_facts()
    model = found(["dog"] * 600 + ["cat"] * 20 + ["carp"] * 22 + ["oak"] * 3, schema)
    column = model.schema["kind"]
    assert column.categories == ("animal", "dog")  # type: ignore[attr-defined]
    cells = ["cat", "carp", "dog", "oak", "mammal", "fish"]
    assert Encoder(model.schema).encode_column("kind", cells).tolist() == [0, 0, 1, 2, 0, 0]
    assert Schema.loads(model.schema.dumps()) == model.schema
    assert column.tree() == [["animal", "animal", "\x000"], ["animal", "animal\0mammal", "\x000"]]  # type: ignore[attr-defined]
    with pytest.raises(SchemaError, match="families"):
        Category("x", families=LINES, levels=(1,))


def test_files_and_frames_roll_up_alike(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    schema = Schema(
        [Category("code", categories=("K35", "K35.1", "S", "4", "41", "7.5"), levels=(1, 2, 3), missing=True)]
    )
    cells = ["K35.1", "K35.10", "K36", "S1", "", None, "412", "43", "9", "7.55", "NaN", "Sx", "other", "k35", "7.50"]
    table = pa.table({"code": cells})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("code\n" + "".join(f'"{c or ""}"\n' for c in cells))
    numbers = pa.table({"code": [412, 43, 9, 4, 41]})
    pq.write_table(numbers, tmp_path / "n.parquet")
    column = schema["code"]
    reference = Encoder(schema).encode(table)[:, 0].tolist()
    names = [column.code_names[code] for code in reference]  # type: ignore[attr-defined]
    assert names[:9] == ["K35.1", "K35", "(not listed)", "S", "(missing)", "(missing)", "41", "4", "(not listed)"]
    for path in (tmp_path / "t.parquet", tmp_path / "t.csv"):
        counts = open_source(path, schema).count([("code",)])[0].counts
        assert counts.tolist() == np.bincount(reference, minlength=len(counts)).tolist()
    whole = Encoder(schema).encode(numbers)[:, 0]
    assert whole.tolist() == [4, 3, 6, 3, 4]
    counts = open_source(tmp_path / "n.parquet", schema).count([("code",)])[0].counts
    assert counts.tolist() == np.bincount(whole, minlength=len(counts)).tolist()
