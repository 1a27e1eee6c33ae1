"""docs/trust.md says what `verify` does with forged releases; here it does it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from forgeries import FORGERIES, honest, key, signed

from kagemusha.certificate.keys import load_public_key, load_trusted, public_file, revoke, save_trusted
from kagemusha.certificate.signature import Standing, Trust
from kagemusha.errors import VerifyError
from kagemusha.models.verify import verify_release

pytest.importorskip("cryptography")

PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
HONEST = "nothing, and signed by the publisher"


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An honest folder, and beside it the keys of its publisher."""
    folder = honest(tmp_path_factory.mktemp("honest") / "release")
    for name in ("hospital", "stranger", "expired", "revoked"):
        key(folder, name)
    return folder


def trust_list(release: Path) -> Path:
    """The publisher's key is trusted; two more once were."""
    known = {name: load_public_key(public_file(key(release, name))) for name in ("hospital", "expired", "revoked")}
    known["expired"] = replace(known["expired"], expires="2020-12-31")
    known["revoked"] = revoke(known["revoked"], "lost")
    path = release.with_name("trusted.json")
    save_trusted(path, {one.id: one for one in known.values()})
    return path


def table() -> dict[str, tuple[str, str]]:
    """What the page says of each forgery: without a key, and with the publisher's."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and line.count("|") == 4]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: (alone, trusted) for name, alone, trusted in rows if name not in ("forged", ":--")}


def outcome(folder: Path, trust: Trust, *, demanded: bool) -> str:
    try:
        verdict = verify_release(folder, trust, demanded=demanded)
    except VerifyError:
        return "refused: certificate.json"
    if not verdict.intact:
        return "refused: " + next(check.what for check in verdict.checks if not check.passed)
    if verdict.signed.standing is Standing.SIGNED:
        return "accepted"
    words = {
        Standing.UNSIGNED: "signed by nobody",
        Standing.UNTRUSTED: "signed by a stranger",
        Standing.EXPIRED: "key expired",
        Standing.REVOKED: "key revoked",
    }[verdict.signed.standing]
    if not verdict.accepted:
        return f"refused: {words}"
    cautions = [check.what for check in verdict.checks if check.caution]
    return f"intact, {words}" + (f"; caution: {', '.join(cautions)}" if cautions else "")


def test_there_are_enough_and_the_page_knows_them_all() -> None:
    assert len(FORGERIES) >= 25
    told = table()
    assert list(told) == [HONEST, *FORGERIES]
    alone, trusted = (sum(told[name][i].startswith("refused") for name in FORGERIES) for i in (0, 1))
    assert f"Of {len(FORGERIES)} forgeries {alone} are refused without any key and {trusted} with" in PAGE.read_text()


@pytest.mark.parametrize("name", [HONEST, *FORGERIES])
def test_the_page_tells_what_happens(release: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "release"
    shutil.copytree(release, folder)
    for file in release.parent.glob("*.key*"):
        shutil.copy(file, tmp_path / file.name)
    if name == HONEST:
        signed(folder)
    else:
        FORGERIES[name](folder)
    trust = Trust(load_trusted(trust_list(release)))
    assert (outcome(folder, Trust(), demanded=False), outcome(folder, trust, demanded=True)) == table()[name]
