"""Pictures from file to doubles: a schema of the declared shape, a release that verifies, a grid to look at."""

from __future__ import annotations

import base64
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from command import Run
from kagemusha.certificate.verify import all_passed, verify
from kagemusha.door import publish
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.folder.pictures import png
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


def in_folder(folder: Path, x: np.ndarray, y: np.ndarray) -> Path:
    folder.mkdir()
    for i, (picture, label) in enumerate(zip(x, y, strict=True)):
        (folder / str(label)).mkdir(exist_ok=True)
        (folder / str(label) / f"{i:03}.png").write_bytes(png(picture[..., None]))
    return folder


@pytest.mark.parametrize("kind", ["npz", "folder", "npz without a shape"])
def test_no_pictures_are_a_table_like_one_picture(run: Run, tmp_path: Path, kind: str) -> None:
    x, y = pictures(1)
    SCHEMA.save(tmp_path / "s.toml")
    said = []
    for rows in (0, 1):
        table = tmp_path / f"{rows}.npz"
        if kind == "folder":
            table = in_folder(tmp_path / str(rows), x[:rows], y[:rows])
        elif rows == 0 and kind == "npz without a shape":
            np.savez(table, x=np.array([]), y=np.array([]))
        else:
            np.savez(table, x=x[:rows], y=y[:rows])
        assert open_images(table, SCHEMA).rows() == rows
        done = run(
            "synth", table, "--schema", "s.toml", "--out", f"out{rows}", "--ledger", f"{rows}.db", "-m", "independent"
        )
        said.append((done.returncode, sorted(path.name for path in (tmp_path / f"out{rows}").iterdir())))
    assert said[0] == said[1]


BROKEN = {
    "empty": b"",
    "no picture": b"hello",
    "magic only": b"\x89PNG\r\n\x1a\n",
    "cut short": png(np.zeros((4, 5, 1), np.uint8))[:-20],
    "bytes turned over": png(np.zeros((4, 5, 1), np.uint8)).replace(b"IDAT", b"IDAX"),
    "another shape": png(np.full((5, 5, 1), 9, np.uint8)),
    "a header of 50,000 × 50,000": png(np.zeros((4, 5, 1), np.uint8)).replace(
        (5).to_bytes(4, "big") + (4).to_bytes(4, "big"), (50_000).to_bytes(4, "big") * 2
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_picture_that_cannot_be_read_is_a_black_one(tmp_path: Path, how: str) -> None:
    x, y = pictures(5)
    folder = in_folder(tmp_path / "folder", x, y)
    (folder / "2" / "zzz.png").write_bytes(BROKEN[how])
    columns, _ = open_images(folder, SCHEMA).records()
    rows = np.column_stack(columns)
    black = [*[0] * 20, 2]
    assert len(rows) == 6
    assert black in rows.tolist()
    assert sorted(map(tuple, rows.tolist())) == sorted(
        [*((*p.ravel(), q) for p, q in zip(x, y, strict=True)), tuple(black)]
    )


def test_names_of_folders_that_are_no_labels(tmp_path: Path) -> None:
    x, _ = pictures(4)
    folder = tmp_path / "folder"
    for picture, name in zip(x, ("²", "9" * 200, "٣", "-1"), strict=True):
        (folder / name).mkdir(parents=True)
        (folder / name / "p.png").write_bytes(png(picture[..., None]))
    os.mkfifo(folder / "²" / "pipe.png")
    columns, _ = open_images(folder, SCHEMA).records()
    assert columns[-1].tolist() == [0, 0, 0, 0]


def npz(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def npy(x: np.ndarray) -> bytes:
    made = io.BytesIO()
    np.save(made, x, allow_pickle=True)
    return made.getvalue()


HONEST = npy(np.zeros((3, 4, 5), np.uint8))
HOSTILE: dict[str, bytes] = {
    "an array called .npz": HONEST,
    "bad magic": npz({"x.npy": b"\x93NUMPX" + HONEST[6:]}),
    "bad deflate": npz({"x.npy": HONEST}).replace(npz({"x.npy": HONEST})[40:60], b"\xff" * 20),
    "encrypted": npz({"x.npy": HONEST}, zipfile.ZIP_STORED).replace(b"PK\x03\x04\x14\x00\x00",
    b"PK\x03\x04\x14\x00\x01")
    .replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"),
    "sizes without end": npz({"x.npy": HONEST.replace(b"(3, 4, 5)", b"(9**9,)  ")}),
    "announced sizes": npz({"x.npy": HONEST.replace(b"(3, 4, 5), }   ", b"(99999999999, 4, 5), }"[:15])}),
    "negative sizes": npz({"x.npy": HONEST.replace(b"(3, 4, 5)", b"(-3,-4,5)")}),
    "a nested header": npz({"x.npy": HONEST[:10] + b"(" * 110 + HONEST[120:]}),
    "objects": npz({"x.npy": npy(np.array([{}], dtype=object))}),
    "a bomb": npz({"x.npy": b"\0" * (600 << 20)}),
    "cut short": npz({"x.npy": HONEST})[:-30],
    "a pickle": b"\x80\x04c__main__\nx\n.",
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_npz_files_are_refused_in_words(tmp_path: Path, how: str) -> None:
    (tmp_path / "p.npz").write_bytes(HOSTILE[how])
    with pytest.raises(DataError, match=r"not an \.npz file of arrays") as caught:
        open_images(tmp_path / "p.npz", SCHEMA)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


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
