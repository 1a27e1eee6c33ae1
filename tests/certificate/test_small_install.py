"""An auditor's install: `verify` without the packages that make releases. What it cannot check it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_ndtr

import kagemusha as kg
from kagemusha.privacy.accountants.gdp import _log_ndtr

HEAVY = (
    "scipy dp_accounting absl numba llvmlite duckdb pyarrow opendp narwhals pandas polars tomlkit sklearn torch mpmath"
)

SMALL = f"""
import sys
LACKING = set({HEAVY.split()!r})
class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in LACKING:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Lacking())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.split(".")[0] in LACKING else find(name, package)
from kagemusha.cli import main
sys.argv = ["kagemusha", *sys.argv[1:]]
main()
"""


def small(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SMALL, *words], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module", params=["kage", "aim"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / request.param
    schema = kg.Schema([kg.Integer("age", lower=0, upper=99, bins=10), kg.Category("sex", categories=["F", "M"])])
    frame = pd.DataFrame({"age": np.arange(600) % 90, "sex": ["F", "M"] * 300})
    kg.publish(kg.fit(request.param, frame, 1.0, schema=schema), folder)
    return folder


def test_a_release_is_verified_and_what_was_not_is_said(release: Path) -> None:
    done = small("verify", str(release))
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "not recomputed: dp-accounting is not installed here" in said
    assert "not looked into" in said
    assert "a full install holds the model against them" in said
    checks = json.loads(small("verify", str(release), "--json").stdout)["checks"]
    assert sum(check["caution"] for check in checks) >= 2
    full = kg.verify(release)
    assert {check.what for check in full} > {check["what"] for check in checks if not check["caution"]}


@pytest.mark.parametrize("file", ["certificate.json", "synthetic.csv", "model.kage"])
def test_what_was_changed_is_found(release: Path, file: str, tmp_path: Path) -> None:
    copy = tmp_path / "release"
    copy.mkdir()
    for one in release.iterdir():
        (copy / one.name).write_bytes(one.read_bytes())
    content = (copy / file).read_bytes()
    (copy / file).write_bytes(content.replace(b"1", b"2", 3))
    assert small("verify", str(copy)).returncode == 8


def test_an_edited_guarantee_is_found_even_with_a_fresh_digest(release: Path, tmp_path: Path) -> None:
    from kagemusha.certificate.certificate import canonical, with_digest

    given = json.loads((release / "certificate.json").read_text())
    given.pop("digest")
    given["promised"]["epsilon"] = given["guarantee"]["epsilon"] = 0.1
    (tmp_path / "mine.json").write_text(with_digest(canonical(given))[0])
    done = small("verify", str(tmp_path / "mine.json"))
    assert done.returncode == 8
    assert "FAILED" in done.stdout


def test_the_tail_of_the_normal_distribution_without_scipy() -> None:
    for x in (*np.linspace(-60, -29, 200), *np.linspace(-31, 12, 800)):
        assert _log_ndtr(float(x)) == pytest.approx(float(log_ndtr(x)), rel=1e-9)
