"""Keys, signatures and what `verify` says of them, on the command line."""

from __future__ import annotations

import builtins
import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

import kagemusha as kg
from command import Run

pytest.importorskip("cryptography")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder of one's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "kagemusha" / "trusted-keys.json"


@pytest.fixture
def signed(run: Run, patients: Path, home: Path, tmp_path: Path) -> Path:
    """A signed release, its key beside it."""
    run("key", "new", "--name", "General Hospital", "--out", "hospital.key")
    run("synth", patients, "--schema", "patients.toml", "--out", "doubles", "--method", "independent",
        "--sign", "hospital.key")  # fmt: skip
    return tmp_path / "doubles"


def test_a_key_is_private_and_replaces_nothing(run: Run, tmp_path: Path) -> None:
    shown = run("key", "new", "--name", "Dr. Who", "--out", "keys/mine.key", "--expires", "2999-12-31").stdout
    public = json.loads((tmp_path / "keys" / "mine.key.pub").read_text())
    assert public["id"] in shown.replace("\n", "")
    assert (public["name"], public["expires"]) == ("Dr. Who", "2999-12-31")
    assert stat.S_IMODE((tmp_path / "keys" / "mine.key").stat().st_mode) == 0o600
    assert (tmp_path / "keys" / "mine.key").read_text().startswith("-----BEGIN PRIVATE KEY-----")
    before = (tmp_path / "keys" / "mine.key").read_bytes()
    assert "already exists" in run("key", "new", "--name", "x", "--out", "keys/mine.key", code=2).stderr
    assert (tmp_path / "keys" / "mine.key").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--name", ""), "1 to 200 characters"),
        (("--name", "a\x1b[2J"), "on one line"),
        (("--name", "x", "--expires", "soon"), "2030-12-31"),
        (("--name", "x", "--expires", "2001-01-01"), "in the past"),
    ],
)
def test_mistakes_with_new_keys(run: Run, tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    assert words in run("key", "new", *options, "--out", "k", code=2).stderr
    assert not (tmp_path / "k").exists()


def test_signed_and_verified(run: Run, signed: Path) -> None:
    assert "signed by a key you do not trust" in run("verify", signed).stdout
    shown = run("verify", signed, "--key", "hospital.key.pub").stdout
    assert "intact and signed by General Hospital" in shown
    told = json.loads(run("verify", signed, "--key", "hospital.key.pub", "--json").stdout)
    assert told["passed"] is True
    assert told["signature"]["standing"] == "signed"
    assert told["signature"]["signer"] == "General Hospital"


def test_the_list_of_trusted_keys(run: Run, signed: Path, home: Path) -> None:
    assert "is trusted" in run("key", "trust", "hospital.key.pub").stdout
    assert home.exists()
    assert "General Hospital" in run("key", "list").stdout
    assert "intact and signed by General Hospital" in run("verify", signed).stdout  # the user's own list counts
    key_id = json.loads(run("key", "list", "--json").stdout)["keys"][0]["id"]
    run("key", "revoke", key_id[:12], "--because", "laptop lost")
    assert "laptop lost" in run("key", "list").stdout
    refused = run("verify", signed, code=10)
    assert "revoked on" in refused.stderr
    assert "laptop lost" in refused.stderr
    assert "was revoked" in run("key", "trust", "hospital.key.pub", code=2).stderr
    # a key given by hand is not trusted against one's own revocation
    assert "revoked" in run("verify", signed, "--key", "hospital.key.pub", code=10).stderr


def test_another_list(run: Run, signed: Path, home: Path, tmp_path: Path) -> None:
    run("key", "trust", "hospital.key.pub", "--trusted", "list.json")
    assert not home.exists()
    assert "signed by General Hospital" in run("verify", signed, "--trusted", "list.json").stdout
    assert "no such file" in run("verify", signed, "--trusted", "none.json", code=2).stderr
    assert "no such file" in run("key", "list", "--trusted", "none.json", code=2).stderr
    (tmp_path / "bad.json").write_text('{"format": "kagemusha-trusted-keys/1", "keys": [{"id": "x"}]}')
    assert "a key needs" in run("verify", signed, "--trusted", "bad.json", code=2).stderr


@pytest.mark.parametrize("where", ["one's own list", "the list that is named", "twice in the list that is named"])
def test_a_revocation_in_either_list_wins(run: Run, signed: Path, home: Path, tmp_path: Path, where: str) -> None:
    run("key", "trust", "hospital.key.pub")
    run("key", "trust", "hospital.key.pub", "--trusted", "list.json")
    if where == "one's own list":
        run("key", "revoke", "hospital.key.pub", "--because", "laptop lost")
    else:
        run("key", "revoke", "hospital.key.pub", "--because", "laptop lost", "--trusted", "list.json")
    if where.startswith("twice"):
        listed = json.loads((tmp_path / "list.json").read_text())
        trusted = {name: value for name, value in listed["keys"][0].items() if name != "revoked"}
        (tmp_path / "list.json").write_text(json.dumps({**listed, "keys": [*listed["keys"], trusted]}))
    for options in (("--trusted", "list.json"), ("--trusted", "list.json", "--key", "hospital.key.pub")):
        assert "laptop lost" in run("verify", signed, *options, code=10).stderr
    if where == "one's own list":
        assert "laptop lost" in run("verify", signed, "--key", "hospital.key.pub", code=10).stderr


def test_ones_own_list_trusts_nobody_where_another_is_named(run: Run, signed: Path, home: Path, tmp_path: Path) -> None:
    run("key", "trust", "hospital.key.pub")
    (tmp_path / "list.json").write_text('{"format": "kagemusha-trusted-keys/1", "keys": []}')
    assert "you do not trust" in run("verify", signed, "--trusted", "list.json", code=10).stderr


def test_a_key_that_expired(run: Run, signed: Path, tmp_path: Path) -> None:
    run("key", "trust", "hospital.key.pub", "--trusted", "list.json")
    known = json.loads((tmp_path / "list.json").read_text())
    known["keys"][0]["expires"] = "2020-01-01"
    (tmp_path / "list.json").write_text(json.dumps(known))
    assert "expired on 2020-01-01" in run("verify", signed, "--trusted", "list.json", code=10).stderr
    told = json.loads(run("verify", signed, "--trusted", "list.json", "--json", code=10).stdout)
    assert (told["passed"], told["intact"], told["signature"]["standing"]) == (False, True, "expired")
    public = json.loads((tmp_path / "hospital.key.pub").read_text())
    (tmp_path / "hospital.key.pub").write_text(json.dumps({**public, "expires": "2020-01-01"}))
    assert "expired on 2020-01-01" in run("sign", signed, "--key", "hospital.key", "--force", code=2).stderr


def test_nobody_and_a_stranger(run: Run, signed: Path) -> None:
    run("key", "new", "--name", "Somebody", "--out", "other.key")
    assert "you do not trust" in run("verify", signed, "--key", "other.key.pub", code=10).stderr
    (signed / "signature.json").unlink()
    assert "intact but signed by nobody" in run("verify", signed).stdout
    assert "signed by nobody" in run("verify", signed, "--key", "hospital.key.pub", code=10).stderr


def test_what_was_changed_after_signing_fails_with_and_without_a_key(run: Run, signed: Path) -> None:
    (signed / "certificate.html").unlink()
    for options in ((), ("--key", "hospital.key.pub")):
        assert "signature.json" in run("verify", signed, *options, code=8).stderr


def test_a_release_is_signed_later_and_not_twice(run: Run, signed: Path) -> None:
    assert "signed already" in run("sign", signed, "--key", "hospital.key", code=2).stderr
    run("key", "new", "--name", "Second", "--out", "second.key")
    run("sign", signed, "--key", "second.key", "--force")
    assert "signed by Second" in run("verify", signed, "--key", "second.key.pub").stdout
    (signed / "signature.json").unlink()
    with (signed / "synthetic.csv").open("a") as table:
        table.write("F,1,\n")
    assert "not signed" in run("sign", signed, "--key", "hospital.key", code=8).stderr
    assert not (signed / "signature.json").exists()


def test_keys_that_cannot_sign(run: Run, signed: Path, patients: Path, tmp_path: Path) -> None:
    bad: list[tuple[str, str]] = []
    shutil.copy(tmp_path / "hospital.key", signed / "hospital.key")
    shutil.copy(tmp_path / "hospital.key.pub", signed / "hospital.key.pub")
    bad.append(("doubles/hospital.key", "must not lie in a release folder"))
    for name in ("open.key", "rubbish.key", "lonely.key", "mixed.key"):
        shutil.copy(tmp_path / "hospital.key", tmp_path / name)
        shutil.copy(tmp_path / "hospital.key.pub", tmp_path / f"{name}.pub")
    os.chmod(tmp_path / "open.key", 0o644)
    bad.append(("open.key", "chmod 600"))
    (tmp_path / "rubbish.key").write_text("not a key")
    bad.append(("rubbish.key", "PEM form"))
    (tmp_path / "lonely.key.pub").unlink()
    bad.append(("lonely.key", "No such file"))
    run("key", "new", "--name", "Other", "--out", "other.key")
    shutil.copy(tmp_path / "other.key.pub", tmp_path / "mixed.key.pub")
    bad.append(("mixed.key", "another key"))
    bad.append(("absent.key", "No such file"))
    os.mkfifo(tmp_path / "pipe.key")
    bad.append(("pipe.key", "is a pipe"))
    for key, words in bad:
        refused = run(
            "synth", patients, "--schema", "patients.toml", "--out", "more", "--key", "2", "--sign", key, code=2
        )
        assert words in refused.stderr, key
        assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "more").exists()
    assert run("ledger", "export").stdout.count('"opened_at"') == 1, "nothing was spent on keys that cannot sign"
    assert "must not lie in a release" in run("key", "new", "--name", "x", "--out", "doubles/k", code=2).stderr


def test_without_the_cryptography_package(run: Run, signed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    shown = run("verify", signed).stdout
    assert "intact and carries a signature that was not checked" in shown
    for command in (
        ("verify", signed, "--key", "hospital.key.pub"),
        ("sign", signed, "--key", "hospital.key", "--force"),
        ("key", "new", "--name", "x", "--out", "x.key"),
    ):
        refused = run(*command, code=2)
        assert "pip install 'kagemusha[sign]'" in refused.stderr
        assert refused.stderr.count("\n") == 1
    assert (signed / "signature.json").exists(), "what could not be signed anew keeps its signature"
    (signed / "notes.txt").write_text("x")
    run("verify", signed, code=8)


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", '{"payload": 1}', "\x00", '{"payload": "", "payloadType": "x", "signatures": []}',
        '{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [{}]}',
        '{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [{"keyid": "", "public": '
        '"", "sig": ""}]}',
        '{"payload": "!!", "payloadType": "application/vnd.in-toto+json", "signatures": [{"keyid": "", "public": "", '
        '"sig": ""}]}',
    ],
)  # fmt: skip
def test_a_signature_that_is_none_fails(run: Run, signed: Path, content: str) -> None:
    (signed / "signature.json").write_text(content)
    assert "signature.json" in run("verify", signed, code=8).stderr


def test_a_revocation_counts_in_python_too(run: Run, signed: Path, home: Path) -> None:
    run("key", "trust", "hospital.key.pub")
    assert all(check.passed for check in kg.verify(signed, key="hospital.key.pub"))
    run("key", "revoke", "hospital.key.pub", "--because", "laptop lost")
    assert not kg.verify(signed, key="hospital.key.pub")[-1].passed


def test_revoking_what_is_not_listed(run: Run, signed: Path, home: Path) -> None:
    assert "is not one key" in run("key", "revoke", "12345678", code=2).stderr
    assert "is not one key" in run("key", "revoke", "", code=2).stderr
    run("key", "revoke", "hospital.key.pub", "--because", "never trusted it")
    assert "revoked" in run("verify", signed, code=10).stderr
    assert "on one line" in run("key", "revoke", "hospital.key.pub", "--because", "a\nb", code=2).stderr


def test_a_signed_release_can_be_replaced(run: Run, signed: Path, patients: Path) -> None:
    run("synth", patients, "--schema", "patients.toml", "--out", "doubles", "--method", "independent", "--force")
    assert not (signed / "signature.json").exists()
