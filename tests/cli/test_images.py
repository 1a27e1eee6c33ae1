"""Pictures from file to doubles: a schema of the declared shape, a release that verifies, a grid to look at."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest

from command import Run
from kagemusha.certificate.verify import all_passed, verify
from kagemusha.door import publish
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.models.pictures import png
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Schema
from kagemusha.schema.images import image_schema, image_shape
from kagemusha.sources.images import open_images
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

SCHEMA = image_schema(4, 5, classes=3)


def pictures(rows: int = 80) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, rows)
    return (rng.integers(0, 60, (rows, 4, 5)) + 60 * y[:, None, None]).astype(np.uint8), y


def test_shapes_come_back_from_schemas() -> None:
    assert image_shape(SCHEMA) == (4, 5, 1)
    assert image_shape(Schema.loads(image_schema(2, 3, channels=3).dumps())) == (2, 3, 3)
    assert image_shape(Schema([Category("a", categories=("x",), out_of_domain="clip")])) is None
    with pytest.raises(UsageError, match="channels"):
        image_schema(2, 2, channels=2)


def test_a_release_of_pictures_verifies_and_has_a_grid(tmp_path: Path) -> None:
    x, y = pictures()
    np.savez(tmp_path / "p.npz", x=x, y=y)
    source = open_images(tmp_path / "p.npz", SCHEMA)
    assert source.rows() == 80
    model = fit(create("nigao", target="label"), source, Budget(5.0, 1e-6))
    publish(model, tmp_path / "out", rows=30, file_kind="parquet")
    assert all_passed(verify(tmp_path / "out" / "certificate.json"))
    from matplotlib.image import imread

    drawn = imread(tmp_path / "out" / "pictures.png")
    assert drawn.shape[:2] == (40, 50)


def test_a_folder_of_png_files_is_the_same_table(tmp_path: Path) -> None:
    x, y = pictures(12)
    np.savez(tmp_path / "p.npz", x_train=x, y_train=y)
    for i, (picture, label) in enumerate(zip(x, y, strict=True)):
        where = tmp_path / "folder" / str(label)
        where.mkdir(parents=True, exist_ok=True)
        (where / f"{i:03}.png").write_bytes(png(picture[..., None]))
    one, two = (open_images(tmp_path / name, SCHEMA).records()[0] for name in ("p.npz", "folder"))
    rows = [sorted(map(tuple, np.column_stack(columns).tolist())) for columns in (one, two)]
    assert rows[0] == rows[1]


def test_what_does_not_fit_is_refused_in_words(tmp_path: Path) -> None:
    x, y = pictures(6)
    np.savez(tmp_path / "wide.npz", x=np.zeros((6, 4, 6), np.uint8), y=y)
    np.savez(tmp_path / "bare.npz", x=x)
    np.savez(tmp_path / "other.npz", z=x)
    (tmp_path / "no.npz").write_bytes(b"not a zip")
    for name, words in (("wide", "4 × 5"), ("bare", "labels"), ("other", "named x"), ("no", "not an .npz")):
        with pytest.raises(DataError, match=words):
            open_images(tmp_path / f"{name}.npz", SCHEMA)
    with pytest.raises(SchemaError, match="pictures"):
        open_images(tmp_path / "bare.npz", Schema([Category("a", categories=("x",), out_of_domain="clip")]))


def test_plan_tells_of_a_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from kagemusha.cli.plan import plan

    SCHEMA.save(tmp_path / "images.toml")
    plan(tmp_path / "images.toml", method="p3gm", option=["rate=0.25", "epochs=2"], delta=1e-5)
    told = capsys.readouterr().out
    assert "7 declared steps" in told
    assert "training, 8 steps" in told


def test_an_evaluation_shows_real_pictures_beside_doubles(run: Run, tmp_path: Path) -> None:
    x, y = pictures(60)
    np.savez(tmp_path / "p.npz", x=x, y=y)
    SCHEMA.save(tmp_path / "s.toml")
    shown = tmp_path / "report.html"
    paths = [str(tmp_path / name) for name in ("p.npz", "out", "s.toml")]
    run("synth", paths[0], "--schema", paths[2], "--out", paths[1], "--epsilon", "5")
    run(
        "evaluate",
        paths[0],
        f"{paths[1]}/synthetic.parquet",
        "--schema",
        paths[2],
        "--out",
        str(shown),
        "--no-learning",
        "-k",
        "2",
    )
    page = shown.read_text()
    real, double = (base64.b64decode(part.split('"')[0]) for part in page.split("data:image/png;base64,")[1:3])
    assert "Real (INTERNAL)" in page
    from matplotlib.image import imread

    drawn = imread(io.BytesIO(real))
    assert drawn.shape[:2] == (3 * 4, 8 * 5)
    assert imread(io.BytesIO(double)).shape[:2] == drawn.shape[:2]
    first = x[np.flatnonzero(y == 1)[0]]
    assert (np.rint(255 * drawn[4:8, :5].reshape(4, 5, -1)[..., 0]) == first).all(), "a label a row, people as they are"
