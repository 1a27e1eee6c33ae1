"""Certificates and ledgers of earlier versions go on: they are re-checked, and added to, years later."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from kagemusha.certificate.certificate import SECOND_FORMAT
from kagemusha.certificate.verify import all_passed, verify
from kagemusha.errors import CapReached
from kagemusha.ledger import Cap, ReleaseRequest, SQLiteLedger
from kagemusha.models import load_model
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.spend import CapRule

HERE = Path(__file__).parent
LEDGERS = HERE.parent / "ledger" / "first_version"


@pytest.mark.parametrize("folder", sorted((HERE / "second_format").iterdir()), ids=lambda f: f.name)
def test_releases_of_the_second_format_verify_and_load(folder: Path) -> None:
    assert json.loads((folder / "certificate.json").read_text())["format"] == SECOND_FORMAT
    checks = verify(folder / "certificate.json")
    assert all_passed(checks), [c for c in checks if not c.passed]
    assert len(load_model(folder / "model.kage").sample(7)) == 7


def old_ledger(tmp_path: Path, name: str) -> Path:
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as db:
        db.executescript((LEDGERS / f"{name}.sql").read_text())
    db.close()
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(("name", "rule", "held"), [("kage", CapRule.GDP, 0.01655), ("pure", CapRule.PURE, 1.0)])
def test_a_ledger_of_the_first_version_goes_on(tmp_path: Path, name: str, rule: CapRule, held: float) -> None:
    path = old_ledger(tmp_path, name)
    before = shutil.copy(path, tmp_path / "copy.db")
    look = SQLiteLedger(path, read_only=True)
    assert look.used(look.caps()[0]) == pytest.approx(1)
    look.close()
    assert path.read_bytes() == Path(before).read_bytes(), "looking changes nothing"
    ledger = SQLiteLedger(path)
    (cap,) = ledger.caps()
    (record,) = ledger.releases()
    assert cap.rule is rule
    assert record.held / 1e15 == pytest.approx(held, rel=1e-3)
    accounting = Accounting.PURE if rule is CapRule.PURE else Accounting.GDP
    request = ReleaseRequest(cap.dataset, "m", Budget(0.5, cap.budget.delta), accounting, key="new")
    with pytest.raises(CapReached):
        ledger.open_release(request)
    ledger.set_cap(Cap(cap.dataset, cap.policy, Budget(3.0, cap.budget.delta)))
    ledger.open_release(request)
    assert SQLiteLedger(path).used(ledger.caps()[0]) < 1
