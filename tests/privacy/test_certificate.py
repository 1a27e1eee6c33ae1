"""Certificates: they hold, they say ε = ∞ when they must, and every edit shows."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from kagemusha.errors import KagemushaError, VerifyError
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.certificate import Certificate
from kagemusha.privacy.certificate_page import render
from kagemusha.privacy.events import Event, ExponentialEvent, GaussianEvent, UnprotectedEvent
from kagemusha.privacy.verify import PAGE_NAME, all_passed, sha256, verify


def certificate(*extra: Event, simulated: bool = False, epsilon: float = 1.0) -> Certificate:
    events: list[Event] = [GaussianEvent(what="counts of age", sigma=30.0, l2_squared=1)] * 3
    events += [ExponentialEvent(what="best of 3", epsilon=0.05, candidates=3), *extra]
    return Certificate(
        promised=Budget(epsilon, 1e-9),
        accounting=Accounting.ZCDP,
        method="aim",
        parameters={"degree": 2},
        events=events,
        simulated=simulated,
        adaptive=True,
        schema_digest="0" * 64,
        dataset="patients.csv",
        release="abc",
        version="0.1.0",
        created="2026-11-15",
    )


def bundle(folder: Path) -> Path:
    (folder / "synthetic.csv").write_text("a,b\n1,2\n")
    (folder / "schema.toml").write_text("version = 1\n")
    names = ("synthetic.csv", "schema.toml")
    signed = certificate().with_outputs({n: sha256(folder / n) for n in names})
    (folder / "certificate.json").write_text(signed.to_json(), encoding="utf-8")
    (folder / PAGE_NAME).write_text(render(signed), encoding="utf-8")
    return folder / "certificate.json"


def test_a_certificate_survives_the_journey_through_json() -> None:
    text = certificate().to_json()
    assert Certificate.from_json(text).to_json() == text


def test_an_untouched_bundle_passes(tmp_path: Path) -> None:
    assert all_passed(verify(bundle(tmp_path)))


def failed(path: Path) -> set[str]:
    try:
        return {check.what for check in verify(path) if not check.passed}
    except VerifyError as error:
        return {str(error)}


@pytest.mark.parametrize("name", ["synthetic.csv", "schema.toml", PAGE_NAME])
def test_editing_any_byte_of_a_file_is_found_and_named(tmp_path: Path, name: str) -> None:
    path = bundle(tmp_path)
    original = (tmp_path / name).read_bytes()
    for position in range(0, len(original), max(1, len(original) // 8)):
        edited = bytearray(original)
        edited[position] ^= 1
        (tmp_path / name).write_bytes(bytes(edited))
        assert name in failed(path)
    (tmp_path / name).write_bytes(original + b" ")
    assert name in failed(path)
    if name != PAGE_NAME:
        (tmp_path / name).unlink()
        assert name in failed(path)


def test_editing_any_byte_of_the_certificate_is_found(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    original = path.read_bytes()
    for position in range(0, len(original), 7):
        for change in (1, 32):
            edited = bytearray(original)
            edited[position] ^= change
            path.write_bytes(bytes(edited))
            assert failed(path), f"byte {position} changed unnoticed"
    path.write_bytes(original + b"\n")
    assert failed(path)


def forge(path: Path, **changes: object) -> None:
    """Edit a certificate and give it a fresh digest, as a forger would."""
    import hashlib

    from kagemusha.privacy.certificate import canonical

    data = json.loads(path.read_text(encoding="utf-8"))
    for dotted, value in changes.items():
        *parents, last = dotted.split("__")
        place = data
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place[key]
        place[last] = value
    body = {key: value for key, value in data.items() if key != "digest"}
    body["digest"] = hashlib.sha256(canonical(body).encode()).hexdigest()
    path.write_text(canonical(body), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"promised__epsilon": 0.1}, "events within the promised budget"),
        ({"events__0__sigma": 3000.0}, "total under zcdp"),
        ({"totals__rdp": 0.5}, "total under rdp"),
        ({"guarantee__epsilon": 0.01}, "guarantee"),
        ({"noise": "simulated"}, "guarantee"),
    ],
)
def test_a_forger_who_mends_the_digest_is_found_too(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    path = bundle(tmp_path)
    forge(path, **changes)
    assert named in failed(path)


def test_dropping_an_event_shows_in_the_totals(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    data = json.loads(path.read_text(encoding="utf-8"))
    forge(path, events=data["events"][1:])
    assert "total under zcdp" in failed(path)


@pytest.mark.parametrize(
    "broken",
    [
        certificate(UnprotectedEvent(what="the whole table", reason="bounds were read from the data")),
        certificate(simulated=True),
        certificate(epsilon=math.inf),
    ],
    ids=["unprotected", "simulated", "no budget"],
)
def test_anything_non_private_means_infinity(broken: Certificate) -> None:
    assert math.isinf(broken.epsilon)
    assert broken.broken_because
    page = render(broken)
    assert "ε = ∞" in page
    assert "no privacy guarantee" in page
    for promise in ("The guarantee is", "stands behind the guarantee", "What this rests on"):
        assert promise not in page
        assert promise in render(certificate())
    assert json.loads(broken.to_json())["guarantee"]["epsilon"] == "inf"


def test_the_page_says_what_a_board_needs() -> None:
    page = render(certificate())
    for words in ("ε = 1", "add-remove", "recognise at most", "zCDP", "numerical composition", "diagnostic", "trusted"):
        assert words in page
    assert "http" not in page.replace("https://", "http")  # nothing is fetched from a network


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"format": "kagemusha-certificate/9"}', "\x00", '{"format": 1}']
)
def test_rubbish_is_refused_with_a_message(tmp_path: Path, text: str) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(text)
    with pytest.raises(KagemushaError, match="certificate"):
        verify(path)


def test_a_certificate_may_only_name_files_beside_it(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    forge(path, outputs={"../secret": "0" * 64})
    assert "../secret" in failed(path)
