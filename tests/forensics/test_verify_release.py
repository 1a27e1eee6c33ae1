"""`verify` looks into the model: honest releases of every method pass, and what it measures is what it says."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forgeries import SCHEMA, honest, people, read, reseal

from kagemusha import door
from kagemusha.errors import DataError, SignatureError, UsageError, VerifyError
from kagemusha.folder.folder import write_bundle
from kagemusha.forensics.drawn import upper_tail
from kagemusha.forensics.noise_shows import LEAST_CHANCE, any_shape, chi_squared
from kagemusha.forensics.verify import verify_release
from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.queries.interactions import Interaction, NoisyInteraction
from kagemusha.schema import Category, Integer, Real, Schema, Unit
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create, names
from small import TINY, small


def failed(folder: Path) -> list[str]:
    return [f"{check.what}: {check.detail}" for check in verify_release(folder).checks if not check.passed]


@pytest.mark.parametrize("method", names())
def test_an_honest_release_of_every_method_is_intact(method: str, tmp_path: Path) -> None:
    folder = honest(tmp_path / "release", method, **TINY.get(method, {}))
    assert failed(folder) == []


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("method", ["kage", "privbayes", "aim-lap"])
def test_persons_both_adjacencies_and_parquet(method: str, adjacency: Adjacency, tmp_path: Path) -> None:
    schema = SCHEMA.with_unit(Unit("id", 2))
    made = fit(small(method), people(), Budget(2.0, 1e-9, adjacency), schema=schema)
    write_bundle(made, tmp_path / "release", file_kind="parquet")
    assert failed(tmp_path / "release") == []


def test_what_was_discovered_is_no_part_of_the_model(tmp_path: Path) -> None:
    open_ = Schema([Category("ward"), Integer("age"), Category("sex", categories=("F", "M"), out_of_domain="clip")])
    table = people(3000)[["ward", "age", "sex"]]
    made = fit(create("kage"), table, Budget(5.0), schema=open_, discover=0.2)
    write_bundle(made, tmp_path / "release")
    assert failed(tmp_path / "release") == []
    kept = {name: value for name, value in made.certificate.parameters.items() if name != "discovered"}
    reseal(tmp_path / "release", lambda told: replace(told, parameters=kept).with_assumptions())
    assert any("grid of age, which the model does not hold" in why for why in failed(tmp_path / "release"))


def test_small_and_awkward_tables(tmp_path: Path) -> None:
    """One column, one code, empty texts, gaps, numbers that are rounded: nothing honest is called forged."""
    schema = Schema(
        [
            Category("only", categories=("x",), out_of_domain="clip"),
            Category("text", categories=("", "-1", "=1"), missing=True),
            Category("number", categories=(-1, 0, 7), missing=True),
            Integer("whole", lower=-5, upper=5, missing=True),
            Real("real", lower=0, upper=1, bins=7, decimals=0),
        ]
    )
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "only": "x",
            "text": rng.choice(["", "-1", "=1", "else"], 60),
            "number": rng.choice([-1, 0, 7], 60),
            "whole": rng.integers(-5, 6, 60),
            "real": rng.random(60),
        }
    )
    for i, columns in enumerate((["only"], ["real"], ["text", "number"], list(schema.names))):
        part = Schema([schema[name] for name in columns])
        for kind in ("csv", "parquet"):
            made = fit(create("kage"), table[columns], Budget(1.0), schema=part)
            folder = tmp_path / f"{i}-{kind}"
            write_bundle(made, folder, file_kind=kind, safe=kind == "csv")
            assert failed(folder) == []


def test_honest_noise_is_believed_and_less_is_not() -> None:
    """Over many seeds the chance is nearly uniform; with a third of the noise it is next to nothing."""

    def release(noise: float, seed: int) -> tuple[list[NoisyMarginal], list[NoisyInteraction]]:
        rng = np.random.default_rng(seed)

        def drawn(size: int) -> np.ndarray:  # type: ignore[type-arg]
            return np.rint(rng.normal(0, noise * 20, size)).astype(np.int64)

        counts = [NoisyMarginal((f"c{i}",), np.full(5, 80) + drawn(5), 20.0) for i in range(12)]
        queries = [Interaction(("a", "b"), (np.arange(4), np.arange(3))) for _ in range(6)]
        made = [NoisyInteraction(q, drawn(12).reshape(4, 3) / q.scale, 20.0 / q.scale) for q in queries]
        return counts, made

    honest_chances = np.array([chi_squared(*release(1.0, seed)) for seed in range(400)])
    assert honest_chances.min() > 1e-5
    assert 0.2 < np.mean(honest_chances < 0.5) < 0.7
    for noise in (0.0, 0.1, 0.3):
        assert all(chi_squared(*release(noise, seed)) < LEAST_CHANCE for seed in range(20))
    counts, _ = release(0.0, 1)
    _, others = release(1.0, 1)
    assert chi_squared(counts, others) < LEAST_CHANCE, "noise in one family does not hide its lack in the other"
    assert chi_squared(counts[:1], []) == 1.0


def test_noise_of_another_shape_is_believed_and_none_is_not() -> None:
    """What is called a chance is a bound on it, for Laplace noise and for Gaussian noise."""

    def release(noise: float, seed: int, laplace: bool) -> tuple[list[NoisyMarginal], list[NoisyInteraction]]:
        rng = np.random.default_rng(seed)

        def drawn(size: int) -> np.ndarray:  # type: ignore[type-arg]
            unit = rng.laplace(0, 0.5**0.5, size) if laplace else rng.normal(0, 1, size)
            return np.rint(20 * noise * unit).astype(np.int64)

        counts = [NoisyMarginal((f"c{i}",), np.full(3, 80) + drawn(3), 20.0) for i in range(3)]
        queries = [Interaction(("a", "b"), (np.arange(2), np.arange(2)))]
        return counts, [NoisyInteraction(q, drawn(4).reshape(2, 2) / q.scale, 20.0 / q.scale) for q in queries]

    for laplace in (True, False):
        chances = np.array([any_shape(*release(1.0, seed, laplace)) for seed in range(2000)])
        assert all(np.mean(chances <= p) <= p + 3 * (p / 2000) ** 0.5 for p in (0.01, 0.03, 0.1, 0.3))
    many = [NoisyMarginal((f"c{i}",), np.full(3, 80), 20.0) for i in range(12)]
    assert any_shape(many, []) < LEAST_CHANCE
    assert any_shape(many[:1], []) == 1.0


def test_rows_of_the_model_are_believed_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.15, 0.049, 0.001])
    chances = [upper_tail(rng.multinomial(700, shares), 1e6 * shares) for _ in range(500)]
    assert min(chances) > 1e-6
    assert upper_tail(np.array([200, 200, 200, 50, 50]), shares) < 1e-12
    assert upper_tail(np.array([0, 0, 0, 0, 700]), shares) < 1e-12


def test_a_delta_that_is_too_large_for_the_table_is_a_caution(tmp_path: Path) -> None:
    big = pd.concat([people(2000)] * 60, ignore_index=True)
    made = fit(create("independent"), big, Budget(1.0, 1e-5), schema=SCHEMA)
    write_bundle(made, tmp_path / "release")
    verdict = verify_release(tmp_path / "release")
    assert verdict.accepted
    assert any("δ is not below 1 / " in caution for caution in verdict.cautions)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return honest(tmp_path / "release")


def test_the_door_verifies_the_model_too(release: Path) -> None:
    assert {"numbers inside the model", "noise", "rows of the table"} <= {c.what for c in door.verify(release)}
    assert all(c.passed for c in door.verify(release / "certificate.json"))
    with pytest.raises(UsageError, match="not a public key"):
        door.verify(release, key=release / "certificate.json")


def test_the_door_says_who_signed(release: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from forgeries import key, signed

    public = key(release, "hospital").with_name("hospital.key.pub")
    assert next(c for c in door.verify(release, key=public) if c.what == "signer").passed is False
    signed(release)
    assert next(c for c in door.verify(release, key=public) if c.what == "signer").passed is True
    stranger = key(release, "stranger").with_name("stranger.key.pub")
    assert next(c for c in door.verify(release, key=stranger) if c.what == "signer").passed is False
    made = door.load(release)
    certificate = door.publish(made, tmp_path / "again", sign=key(release, "hospital"))
    assert read(tmp_path / "again").release == certificate.release
    assert all(c.passed for c in door.verify(tmp_path / "again", key=public))


def test_the_door_loads_no_links_and_waits_for_no_pipe(release: Path, tmp_path: Path) -> None:
    import os

    (release / "model.kage").rename(tmp_path / "model.kage")
    (release / "model.kage").symlink_to(tmp_path / "model.kage")
    with pytest.raises(DataError, match="this one does not"):
        door.load(release)
    (release / "model.kage").unlink()
    os.mkfifo(release / "model.kage")
    with pytest.raises(DataError, match="this one does not"):
        door.load(release)


def test_a_verdict_raises_what_it_must(release: Path) -> None:
    verify_release(release).require()
    with pytest.raises(SignatureError, match="signed by nobody"):
        verify_release(release, demanded=True).require()
    (release / "notes.txt").write_text("x")
    with pytest.raises(VerifyError, match=r"does not hold: notes\.txt"):
        verify_release(release).require()


def test_a_certificate_by_itself_is_checked_by_itself(release: Path, tmp_path: Path) -> None:
    alone = replace(read(release), outputs=None, page=None)
    (tmp_path / "mine.json").write_text(alone.to_json(), encoding="utf-8")
    (tmp_path / "unrelated.txt").write_text("x")
    assert verify_release(tmp_path / "mine.json").accepted
    shutil.copy(tmp_path / "mine.json", release / "certificate.json")
    assert "synthetic.csv: the certificate does not name it" in failed(release)


def test_the_statement_is_what_in_toto_says(release: Path) -> None:
    """Envelope and statement, read with nothing of ours."""
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    import base64
    import hashlib

    from forgeries import signed

    signed(release)
    envelope = json.loads((release / "signature.json").read_text())
    payload = base64.b64decode(envelope["payload"])
    (one,) = envelope["signatures"]
    kind = envelope["payloadType"]
    message = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    ed25519.Ed25519PublicKey.from_public_bytes(base64.b64decode(one["public"])).verify(
        base64.b64decode(one["sig"]), message
    )
    statement = json.loads(payload)
    assert (kind, statement["_type"]) == ("application/vnd.in-toto+json", "https://in-toto.io/Statement/v1")
    files = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in release.iterdir()}
    del files["signature.json"]
    assert {s["name"]: s["digest"]["sha256"] for s in statement["subject"]} == files
    assert {"certificate.json", "certificate.html"} <= set(files)
