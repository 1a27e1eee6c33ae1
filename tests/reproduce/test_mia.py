"""The attack paper's reproduction.

On a small made table it runs whole, goes on where it was, and its claims can fail.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kagemusha.attacks.intervals import Estimate
from kagemusha.attacks.synthesis.method import Method
from kagemusha.attacks.table import GameTable, World
from kagemusha.errors import UsageError
from kagemusha.reproduce import mia, mia_games, mia_quality
from kagemusha.reproduce.mia_cells import Cells, PlayedCell
from kagemusha.reproduce.mia_claims import Judged
from kagemusha.reproduce.mia_paper import INFERENCES, TARGETS
from kagemusha.schema import Category, Integer, Schema


def small() -> mia_games.Adult:
    rng = np.random.default_rng(0)
    labels = {"job": 4, "land": 5, "income": 2}
    schema = Schema(
        [
            Integer("age", lower=17, upper=60),
            Integer("fnlwgt", lower=0, upper=99),
            *(Category(n, categories=tuple(map(str, range(s))), out_of_domain="clip") for n, s in labels.items()),
        ]
    )
    codes = np.column_stack([rng.integers(0, s, 150) for s in (44, 100, 4, 4, 2)])
    codes[3, 3] = 4
    return mia_games.prepared(GameTable(schema, codes.astype(np.int32)))


def sizes() -> mia_games.Sizes:
    return replace(mia_games.QUICK, counts=(1, 4), grid=(2, 2), onehot=(2, 1), many=2, ours=2, noisy=(2, 1))


@pytest.mark.slow
def test_everything_is_written_and_a_second_run_takes_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mia, "QUICK", sizes())
    monkeypatch.setattr(mia_quality, "TABLE_4", {"tree": {}})
    seen: list[float] = []
    pytest.importorskip("torch")
    report = mia.reproduce(tmp_path, quick=True, epochs=1, data=small(), progress=lambda _, done: seen.append(done))
    assert seen == sorted(seen)
    numbers = {int(re.findall(r"\d+", claim.where)[0]) for claim in report.judged.claims()}
    assert numbers == set(range(1, 13))
    for name in ("report.md", "cells.csv", "figure-3a.svg", "figure-3c.svg", "table-5.svg", "claims.json"):
        assert (tmp_path / name).stat().st_size > 300, name
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert all((tmp_path / name).exists() for name in re.findall(r"\]\((\S+\.svg)\)", page))
    first = (tmp_path / "cells.csv").read_bytes()
    kept = {p: p.stat().st_mtime_ns for p in tmp_path.glob("plays-quick/*/*/units/*.npz")}
    mia.reproduce(tmp_path, quick=True, epochs=1, data=small())
    assert (tmp_path / "cells.csv").read_bytes() == first
    assert all(p.stat().st_mtime_ns == at for p, at in kept.items())


def cells(accuracy: float, *, n: int = 100) -> list[PlayedCell]:
    """STAT at chance; networks whose neighbour cells have this accuracy."""
    found = []
    for name in ("stat", "bayes-net"):
        for target in TARGETS:
            for inference in INFERENCES:
                outlier = target != "random" and name == "bayes-net" and inference == "neighbour"
                value = accuracy if outlier else 0.5
                estimate = Estimate(value, value - 0.03, value + 0.03)
                where = (name, target, mia_games.MINMAX.name, inference)
                found.append(PlayedCell(*where, estimate, n, 500, False, ""))
    return found


def test_a_claim_is_judged_in_one_space_and_can_fail() -> None:
    space = mia_games.MINMAX.name

    def verdicts(accuracy: float, **choices: int) -> dict[str, str]:
        found = Judged(Cells(cells(accuracy, **choices))).in_space(space)
        return {claim.text.partition(" (")[0]: claim.verdict for claim in found}

    assert verdicts(0.9)["neighbour is the best inference overall"] == "holds"
    assert verdicts(0.2)["neighbour is the best inference overall"] == "does not hold"
    assert set(verdicts(0.9, n=1).values()) == {"cannot tell"}, "one training tells nothing"
    assert verdicts(0.3)["neighbour is above its mvl on bayes-net, adaptive"] == "does not hold"
    assert verdicts(0.9)["neighbour is above its mvl on bayes-net, selective"] == "holds"
    assert verdicts(0.9)["neighbour ≈ .5 on STAT"] == "holds"
    assert verdicts(0.9)["neighbour is above its mvl on ctgan, adaptive"] == "cannot tell", "not played"
    assert verdicts(0.9)["mvl-orig works on STAT, random < selective < adaptive"] == "cannot tell"


def test_cells_come_back_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(Cells(cells(0.9)).to_csv(), encoding="utf-8")
    assert Cells.read(path).to_csv() == path.read_text(encoding="utf-8")
    newer = Cells([replace(cells(0.7)[0], code="new")])
    assert {row.code for row in Cells.read(path).merged(newer).rows if row.game == "stat"} == {"new"}


def test_networks_with_a_drawn_root_differ_from_training_to_training() -> None:
    """So that some trainings can be right always and others half the time, as in the paper's Table 5."""
    data = small()
    maker = mia_games.makers(data, sizes())["bayes-net-root"]
    assert not maker.exact
    roots = set()
    for seed in range(6):
        model = maker.fit(World(data.table), rng=np.random.default_rng(seed)).generator
        roots.add(json.dumps(sorted(map(list, model.field.potentials))))
    assert len(roots) > 1
    with pytest.raises(UsageError, match="root must be a column"):
        Method("bayes-net", options={"root": "shoe size"}, schema=data.coarse).fit(
            World(data.table), rng=np.random.default_rng(0)
        )


@pytest.mark.slow
def test_a_program_is_played_and_the_shadow_attack_and_drawn_roots_stand_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mia, "QUICK", replace(sizes(), counts=(1, 10)))
    copy = f'{sys.executable} -c "import shutil, sys; shutil.copy(*sys.argv[1:])" {{in}} {{out}}'
    only = ("stat-shadow", "together-root", "datasynthesizer")
    report = mia.reproduce(tmp_path, quick=True, data=small(), only=only, command=copy)
    assert set(report.cells.games()) == set(only)
    found = report.cells.get("datasynthesizer", "selective", mia_games.ONEHOT.name, "support")
    assert found is not None
    assert found.accuracy.value == 1, "a program that copies its rows is told by them"
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "shadow (§5.5)" in page
    assert "always right" in page
