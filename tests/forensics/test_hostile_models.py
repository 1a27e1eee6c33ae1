"""Model files from strangers: refused in one line, in little memory; honest ones load as they were saved."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from forgeries import SCHEMA, people
from hostile import HOSTILE, announce, pack, unpack

from kagemusha.errors import DataError
from kagemusha.models import Model, load_model
from kagemusha.models.file import FREE_BYTES, read_model, write_model
from kagemusha.privacy.budget import Budget
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

MORE_MEGABYTES = 64
"""An attack may take so much more than an honest model does."""

CHILD = """
import sys
from kagemusha.errors import DataError
from kagemusha.models import load_model
try:
    load_model(sys.argv[1])
except DataError as error:
    print(error)
else:
    sys.exit("loaded")
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) >> 10)
"""


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return fit(create("kage"), people(), Budget(3.0), schema=SCHEMA, simulation=1)


@pytest.fixture(scope="session")
def saved(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model.kage"
    model.save(path)
    return path


def made(name: str, saved: Path, tmp_path: Path) -> Path:
    path = tmp_path / "hostile.kage"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        HOSTILE[name](path, *unpack(saved))
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(name: str, saved: Path, tmp_path: Path) -> None:
    path = made(name, saved, tmp_path)
    with pytest.raises(DataError) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 300


LARGE = [
    name
    for name in HOSTILE
    if any(word in name for word in ("bomb", "lists", "members", "huge", "dense", "zeros", "trillion"))
]


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")


def peak(script: str, path: Path) -> int:
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def honest(saved: Path) -> int:
    """What an honest model takes here: the libraries, as far as this machine keeps them in memory, are most of it.

    The first run compiles what sizes a tree, once on a machine.
    """
    script = CHILD.replace('sys.exit("loaded")', "pass").replace(
        "load_model(sys.argv[1])", f"load_model({str(saved)!r})"
    )
    return min(peak(script, saved) for _ in range(2))


@needs_proc
@pytest.mark.parametrize("name", LARGE)
def test_an_attack_takes_little_memory(name: str, saved: Path, tmp_path: Path, honest: int) -> None:
    path = made(name, saved, tmp_path)
    assert peak(CHILD, path) <= honest + MORE_MEGABYTES


@needs_proc
def test_the_measure_of_memory_can_fail(saved: Path, tmp_path: Path, honest: int) -> None:
    """What the loader did before: unpack first, look later."""
    arrays = {"potential.0": np.zeros(40_000_000)}
    pack(tmp_path / "large.kage", announce(unpack(saved)[0], arrays), arrays)
    script = CHILD.replace("load_model(sys.argv[1])", "import numpy, zipfile, io\n    archive = "
        "zipfile.ZipFile(sys.argv[1])\n"
        "    numpy.load(io.BytesIO(archive.read('arrays/potential.0.npy')))\n    raise DataError('late')")  # fmt: skip
    assert peak(script, tmp_path / "large.kage") > honest + MORE_MEGABYTES


def test_an_honest_model_comes_back(model: Model, saved: Path) -> None:
    again = load_model(saved)
    assert again.domain == model.domain
    assert again.schema == model.schema
    assert [m.clique for m in again.measurements] == [m.clique for m in model.measurements]
    assert [m.sigma for m in again.interactions] == [m.sigma for m in model.interactions]
    assert again.scores is not None
    assert model.scores is not None
    assert again.scores.pairs == tuple(model.scores.pairs)
    np.testing.assert_array_equal(again.scores.values, model.scores.values)
    assert all(np.array_equal(again.scores.groups[n], g) for n, g in model.scores.groups.items())
    assert [r.clique for r in again.trace] == [r.clique for r in model.trace]
    assert again.expected == model.expected is not None
    rows = model.sample_codes(50, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(again.sample_codes(50, rng=np.random.default_rng(0)), rows)


@pytest.mark.parametrize("method", ["aim", "mst", "privbayes", "gaussian", "stat", "nigao", "independent"])
def test_every_kind_of_model_comes_back(method: str, tmp_path: Path) -> None:
    fitted = fit(create(method), people(), Budget(2.0), schema=SCHEMA, simulation=1)
    fitted.save(tmp_path / "model.kage")
    again = load_model(tmp_path / "model.kage")
    assert dict(again.ceilings) == pytest.approx(dict(fitted.ceilings))
    np.testing.assert_array_equal(
        again.sample_codes(20, rng=np.random.default_rng(0)), fitted.sample_codes(20, rng=np.random.default_rng(0))
    )


def test_what_packs_well_is_stored_so_that_it_can_be_read_again(tmp_path: Path) -> None:
    """An honest model may hold tables of one value; the reader believes no file that unpacks to so much more."""
    arrays = {f"potential.{i}": np.full(FREE_BYTES // 16, -np.inf) for i in range(6)}
    write_model(tmp_path / "model.kage", {"generator": {}}, arrays)
    _, back = read_model(tmp_path / "model.kage")
    assert all(np.array_equal(back[name], array) for name, array in arrays.items())


def test_a_model_that_rules_out_every_row_says_so(saved: Path, tmp_path: Path) -> None:
    header, arrays = unpack(saved)
    cliques = header["generator"]["meta"]["cliques"]
    at = cliques.index(["sex"])
    arrays[f"potential.{at}"] = np.array([0.0, -np.inf])
    pair = next(i for i, clique in enumerate(cliques) if "sex" in clique and len(clique) == 2)
    axis = cliques[pair].index("sex")
    arrays[f"potential.{pair}"] = np.where(np.arange(2).reshape((-1, 1) if axis == 0 else (1, -1)) == 0, -np.inf,
                                           arrays[f"potential.{pair}"])  # fmt: skip
    pack(tmp_path / "empty.kage", announce(header, arrays), arrays)
    with pytest.raises(DataError, match="rules out every row"):
        load_model(tmp_path / "empty.kage").sample(5)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "model.kage")
    with pytest.raises(DataError, match="is a pipe"):
        load_model(tmp_path / "model.kage")
    with pytest.raises(DataError, match="is a folder"):
        load_model(tmp_path)
