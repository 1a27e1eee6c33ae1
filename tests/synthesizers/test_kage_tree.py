"""Codes that belong together: what the noise drowns joins its family, not all rare codes of the table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kagemusha.errors import SchemaError
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.kage.columns import NoisyCounts, likely_counts
from kagemusha.synthesizers.kage.grouping import merge, merge_by_tree, trees_of
from kagemusha.synthesizers.registry import create

CODES = tuple(f"{letter}{block}{last}" for letter in "AB" for block in range(3) for last in range(5))
TREE = trees_of(Schema([Category("icd", categories=CODES, levels=(1, 2), out_of_domain="clip")]))["icd"]


def test_a_code_joins_the_smallest_group_that_stands_out():
    counts = np.full(30, 2.0)
    counts[0] = 50.0  # A00 stands out alone, its block does with 8 others, all other blocks with 10
    group = merge_by_tree(counts, 8.0, TREE)
    assert len(set(group[1:5])) == 1
    assert group[0] not in group[1:]
    assert len(set(group[5:10])) == 1
    assert group[5] != group[1]
    coarse = merge_by_tree(counts, 15.0, TREE)  # blocks drown, chapters do not
    assert len(set(coarse[1:15])) == 1
    assert len(set(coarse[15:])) == 1
    assert coarse[1] != coarse[15]
    assert int(merge(counts, 1.0, 0, tree=TREE, most=4).max()) < 4


def test_siblings_lend_each_other_what_noise_hides():
    rng = np.random.default_rng(0)
    true = np.repeat(rng.gamma(2, 10, 200), 5)
    noisy = true + rng.normal(0, 30, 1000)
    siblings = {"siblings": np.repeat(np.arange(200), 5)}
    strangers = {"siblings": rng.permutation(siblings["siblings"])}
    errors = []
    for families in (siblings, strangers):
        found = likely_counts({"x": NoisyCounts(noisy, 30.0, families)}, true.sum())["x"]
        errors.append(np.square(found - true).mean())
    assert errors[0] < 0.85 * errors[1] < 0.5 * np.square(noisy - true).mean()


def test_rare_codes_stay_with_their_chapter():
    rng = np.random.default_rng(0)
    ward = rng.choice(["heart", "bone"], 6000)
    own = {"heart": CODES[:15], "bone": CODES[15:]}
    icd = [own[w][i] for w, i in zip(ward, rng.integers(0, 15, 6000), strict=True)]
    table = pa.table({"ward": ward, "icd": icd})
    wards = Category("ward", categories=("heart", "bone"), out_of_domain="clip")
    schema = Schema([wards, Category("icd", categories=CODES, levels=(1, 2), out_of_domain="clip")])
    doubles = fit(create("kage"), table, Budget(0.5, 1e-6), schema=schema, simulation=0).sample(4000, seed=0)
    wrong = np.mean(
        [
            (w == "heart") != (c[0] == "A")
            for w, c in zip(*(doubles[n].to_pylist() for n in ("ward", "icd")), strict=True)
        ]
    )
    assert wrong < 0.1
    assert set(doubles["icd"].to_pylist()) <= set(CODES)


def test_hierarchies_from_a_list(tmp_path):
    (tmp_path / "icd.csv").write_text("A1,block a,chapter\nA2,block a,chapter\nB1,block b,chapter\n")
    text = '[columns.icd]\nkind = "category"\ncategories_file = "icd.csv"\nhierarchy = "file"\n'
    (tmp_path / "s.toml").write_text(text)
    schema = Schema.load(tmp_path / "s.toml")
    column = schema["icd"]
    assert isinstance(column, Category)
    assert column.ancestors == (("chapter", "block a"), ("chapter", "block a"), ("chapter", "block b"))
    assert Schema.loads(schema.dumps()) == schema
    assert Schema.from_json(schema.to_json()) == schema
    with pytest.raises(SchemaError, match="rising lengths"):
        Category("x", categories=("a",), levels=(3, 1))
