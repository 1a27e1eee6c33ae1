"""Certificates: they hold, they say ε = ∞ when they must, and every edit shows."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from kagemusha.certificate import page as certificate_page
from kagemusha.certificate import sentences
from kagemusha.certificate.certificate import (
    ASSUMPTIONS,
    FORMAT,
    Certificate,
    canonical,
    scope,
)
from kagemusha.certificate.inventory import PAGE as PAGE_NAME
from kagemusha.certificate.page import fingerprint, group_promise, render
from kagemusha.certificate.verify import all_passed, verify
from kagemusha.errors import KagemushaError, VerifyError
from kagemusha.files import sha256
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit, QueryFact, QueryRecord
from kagemusha.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    UnprotectedEvent,
)
from kagemusha.privacy.query_kinds import COUNTS
from kagemusha.queries.moments import FirstMoments
from kagemusha.schema import Category, Schema
from kagemusha.schema.features import features_of
from kagemusha.version import __version__

SCHEMA = Schema([Category("a", categories=("1", "3")), Category("b", categories=("2",))])


def certificate(*extra: Event, simulated: bool = False, epsilon: float = 1.0) -> Certificate:
    counts = QueryRecord.of("counts", {"columns": ("a",)}, "")
    errors = QueryRecord.of("l1-error", {"candidates": 3}, "")
    events: list[Event] = [GaussianEvent(what="counts of a", sigma=30.0, l2_squared=1, query=counts)] * 3
    events += [ExponentialEvent(what="best of 3", epsilon=0.05, candidates=3, query=errors), *extra]
    return Certificate(
        promised=Budget(epsilon, 1e-9),
        accounting=Accounting.ZCDP,
        method="aim",
        parameters={"degree": 2},
        events=events,
        simulated=simulated,
        adaptive=True,
        schema_digest=SCHEMA.digest(),
        dataset="patients.csv",
        release="abc",
        version=__version__,
        created="2026-11-15",
    )


"""As the first two formats have them: what was asked stands in words alone."""


def asked(kind: str, **facts: QueryFact) -> QueryRecord:
    return QueryRecord.of(kind, facts, "")


def bundle(folder: Path, made: Certificate | None = None) -> Path:
    (folder / "synthetic.csv").write_text("a,b\n1,2\n")
    SCHEMA.save(folder / "schema.toml")
    names = ("synthetic.csv", "schema.toml")
    signed = (made or certificate()).with_outputs({n: sha256(folder / n) for n in names})
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
    data = json.loads(path.read_text(encoding="utf-8"))
    for dotted, value in changes.items():
        *parents, last = dotted.split("__")
        place = data
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place[key]
        place[int(last) if isinstance(place, list) else last] = value
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
        ({"noise": "from a newspaper"}, "form"),
        ({"signed": "by nobody"}, "form"),
        ({"totals__at delta": 1e-3}, "δ of the totals"),
        ({"totals__magic": 0.1}, "total under magic"),
        ({"totals": []}, "total under zcdp"),
        ({"promised__adjacency": "replace"}, "sensitivities"),
        ({"method__parameters__delta_share": "abc"}, "events within the promised budget"),
        ({"method__parameters__delta_share": -3e8}, "events within the promised budget"),
        ({"schema digest": "0" * 64}, "schema digest"),
        ({"outputs": {}}, "synthetic.csv"),
        ({"assumptions": []}, "assumptions"),
        ({"assumptions__3": "The promise covers everybody."}, "assumptions"),
        ({"page": None}, PAGE_NAME),
        ({"page__sha256": "0" * 64}, PAGE_NAME),
    ],
)
def test_a_forger_who_mends_the_digest_is_found_too(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    path = bundle(tmp_path)
    forge(path, **changes)
    assert named in failed(path)


MALFORMED: list[dict[str, object]] = [
    {"totals": None},
    {"outputs": ["synthetic.csv"]},
    {"outputs": {"synthetic.csv": 7}},
    {"assumptions": "none"},
    {"assumptions": [[]]},
    {"events": {}},
    {"events": [[]]},
    {"events__0__sigma": 10**400},
    {"events__0__l2_squared": "1"},
    {"events__0__what": None},
    {"events__3__epsilon": 1e308},
    {"method": []},
    {"method__parameters": []},
    {"method__adaptive": "no"},
    {"page": "certificate.html"},
    {"policy": 1},
    {"release": None},
    {"promised__delta": "0"},
    {"promised__epsilon": []},
    {"guarantee": None},
    {"software": None},
    {"schema digest": 0},
]


@pytest.mark.parametrize("changes", MALFORMED, ids=str)
def test_a_malformed_certificate_is_a_failure_and_never_a_crash(tmp_path: Path, changes: dict[str, object]) -> None:
    path = bundle(tmp_path)
    forge(path, **changes)
    assert failed(path)


def test_odd_files_in_the_folder_are_a_failure_and_never_a_crash(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    (tmp_path / PAGE_NAME).write_bytes(b"\xff\xfe")
    assert failed(path) == {PAGE_NAME}
    (tmp_path / PAGE_NAME).unlink()
    (tmp_path / "schema.toml").write_bytes(b"\xff = [")
    assert failed(path) == {"schema.toml", "schema digest"}
    (tmp_path / "synthetic.csv").unlink()
    (tmp_path / "synthetic.csv").mkdir()
    assert failed(path)


def test_the_page_of_another_version_is_held_to_its_hash_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as then:
        then.setattr(certificate_page, "_maker", lambda: "another version")
        then.setitem(certificate_page._WORDS, "rdp", "Rényi differential privacy")
        path = bundle(tmp_path, replace(certificate(), version="9.1.0"))
    checks = {check.what: check for check in verify(path)}
    assert all_passed(list(checks.values()))
    assert checks[PAGE_NAME].caution
    assert "another version" in checks[PAGE_NAME].detail
    page = tmp_path / PAGE_NAME
    page.write_bytes(page.read_bytes().replace("ε = 1".encode(), "ε = 0".encode()))
    assert failed(path) == {PAGE_NAME}


def test_a_forger_who_mends_the_hash_of_the_page_is_found_too(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    page = tmp_path / PAGE_NAME
    digest = json.loads(path.read_text(encoding="utf-8"))["digest"]
    changed = page.read_bytes().replace("ε = 1".encode(), "ε = 0".encode())
    forge(path, page__sha256=fingerprint(changed, digest))
    mended = json.loads(path.read_text(encoding="utf-8"))["digest"]
    page.write_bytes(changed.replace(digest.encode(), mended.encode()))
    assert failed(path) == {PAGE_NAME}


def test_a_format_never_changes_its_sentences() -> None:
    """Released certificates hold these words and are checked for them; new words need a new format."""
    words = hashlib.sha256("\n".join((*ASSUMPTIONS, *sentences.DISCOVERED)).encode()).hexdigest()
    assert (FORMAT, words[:16]) == ("kagemusha-certificate/3", "5608926a3dd105a0")
    persons = "\n".join((*scope(3, "id"), *scope(3)))
    assert hashlib.sha256(persons.encode()).hexdigest()[:16] == "4e2b24ac8e2668e7"


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_both_adjacencies_and_discovery_verify(tmp_path: Path, adjacency: Adjacency) -> None:
    squared = PrivacyUnit(adjacency).sensitivity(COUNTS).l2_squared
    sums = FirstMoments(features_of(SCHEMA))
    moves = PrivacyUnit(adjacency).sensitivity(sums.sensitivity)
    events = [
        ThresholdEvent(
            what="values of a",
            sigma=900.0,
            l2_squared=squared,
            threshold=9000,
            failure=1e-11,
            query=QueryRecord.of("values", {"columns": ("a",)}, ""),
        ),
        GaussianEvent(
            what="fine public grid of b", sigma=90.0, l2_squared=squared, query=asked("counts", columns=("b",))
        ),
        GaussianEvent(what="sums of features", sigma=9e9, l2_squared=moves.l2_squared, query=sums.record),
        LaplaceEvent(
            what="counts of a",
            scale=90.0,
            l1=PrivacyUnit(adjacency).sensitivity(COUNTS).l1,
            query=asked("counts", columns=("a",)),
        ),
    ]
    found = replace(
        certificate(),
        events=events,
        promised=Budget(1.0, 1e-9, adjacency),
        parameters={"delta_share": 0.1, "discovered": ["a.categories"]},
        assumptions=(*sentences.DISCOVERED, *sentences.TRUST, *scope()),
    )
    path = bundle(tmp_path, found)
    assert all_passed(verify(path))
    forge(path, assumptions=list(ASSUMPTIONS))
    assert "assumptions" in failed(path)


@pytest.mark.parametrize(
    ("accounting", "epsilon", "expected"),
    [
        (Accounting.GDP, 1.0, 12.13),
        (Accounting.ZCDP, 1.0, 11.97),
        (Accounting.GDP, 10.0, 209.6),
        (Accounting.PURE, 1.0, 10.0),
    ],
)
def test_ten_rows_of_one_person(accounting: Accounting, epsilon: float, expected: float) -> None:
    delta = 0.0 if accounting is Accounting.PURE else 1e-9
    told = group_promise(Budget(epsilon, delta), accounting, 10)
    assert told.epsilon == pytest.approx(expected, abs=0.05 if expected > 100 else 0.005)
    assert told.delta == delta
    page = render(replace(certificate(), accounting=accounting, promised=Budget(epsilon, delta)))
    assert f">{told.epsilon:.4g}<" in page


def test_several_rows_and_a_schedule() -> None:
    """What is composed numerically is no zCDP: only what follows from (ε, δ) itself may be said of several rows."""
    told = group_promise(Budget(1.0, 1e-9), Accounting.SCHEDULE, 3)
    assert (told.epsilon, told.delta) == (3.0, pytest.approx(1e-9 * (1 + math.e + math.e**2)))


def test_several_rows_and_thresholds() -> None:
    told = group_promise(Budget(1.0, 1e-9), Accounting.ZCDP, 2, aside=1e-10)
    assert (told.epsilon, told.delta) == (2.0, pytest.approx(1e-9 * (1 + math.e)))
    assert math.isinf(group_promise(Budget(10.0, 1e-9), Accounting.ZCDP, 10, aside=1e-10).epsilon)


def test_the_certificate_speaks_of_this_release_alone_and_names_its_policy() -> None:
    named = replace(certificate(), policy="research 2026")
    assert Certificate.from_json(named.to_json()).policy == "research 2026"
    page = render(named)
    assert "this release alone" in page
    assert "research 2026" in page
    assert "policy" not in render(certificate())


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
    for promise in ("The guarantee is", "several rows</h2>", "stands behind the guarantee", "What this rests on"):
        assert promise not in page
        assert promise in render(certificate())
    assert json.loads(broken.to_json())["guarantee"]["epsilon"] == "inf"


def test_the_page_says_what_a_board_needs() -> None:
    page = render(certificate())
    for words in ("ε = 1", "add-remove", "recognise at most", "zCDP", "numerical composition", "diagnostic", "trusted"):
        assert words in page
    assert "http" not in page.replace("http-equiv", "")  # nothing is fetched from a network


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
