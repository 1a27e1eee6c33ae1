"""Nothing from a file reaches the screen raw: no cursor moves, no line is forged, no text runs backwards."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from command import Done, Run
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.page import render
from kagemusha.cli.output import fail, json_text, plain, say, say_json, say_table, warn
from kagemusha.files import shown

EVIL = "\x1b[2J\x1b]0;pwned\x07\rok    all is well\n\u202eegassem\u202c\u2066\u200b\x9b31m\x00\u2028\udc80\x08\x7f\t"
CLI = Path(__file__).parents[2] / "src" / "kagemusha" / "cli"


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def check(done: Done) -> Done:
    assert harmless(done.stdout), repr(done.stdout)
    assert harmless(done.stderr), repr(done.stderr)
    return done


def test_every_way_to_speak_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"[bold]{plain(EVIL)}[/]")
    say(f"forgot: {EVIL.replace(chr(10), '')}")
    say_table(EVIL, [EVIL, "b"], [[EVIL, "x"]])
    say_json({EVIL: [EVIL]})
    warn(EVIL)
    with pytest.raises(SystemExit):
        fail(EVIL, 3)
    told = capsys.readouterr()
    assert harmless(told.out)
    assert harmless(told.err)
    assert told.err.count("\n") == 2, "one line each"
    assert "\\x1b[2J" in told.out
    assert "\\u202e" in told.err


def test_json_says_the_same_to_a_machine() -> None:
    assert json.loads(json_text({"a": EVIL, "b": "ε × ∞"})) == {"a": EVIL, "b": "ε × ∞"}
    assert "ε × ∞" in json_text("ε × ∞"), "what can be read stays as it is"


def test_what_people_write_is_shown_as_it_is() -> None:
    for text in ("BMI [kg/m²]", "naïve café", "患者", "a b", "C:\\data", "'quoted'", "ε = 1, δ ≤ 10⁻⁹ …"):
        assert shown(text) == text
    assert shown("\x1b\n\u202e\x9b") == "\\x1b\\n\\u202e\\x9b"


@pytest.fixture
def release(run: Run, patients: Path, tmp_path: Path) -> Path:
    run("synth", patients, "--schema", "patients.toml", "--out", "doubles", "--method", "independent")
    return tmp_path / "doubles"


def test_verify_of_a_hostile_certificate(run: Run, release: Path) -> None:
    told = Certificate.from_json((release / "certificate.json").read_text(encoding="utf-8"))
    evil = EVIL.replace("\udc80", "")
    events = tuple(replace(event, what=evil) for event in told.events)
    told = replace(
        told, dataset=evil, method=evil, policy=evil, release=evil, version=evil, events=events, unit_column=evil
    ).with_assumptions([evil])
    (release / "certificate.json").write_text(told.to_json(), encoding="utf-8")
    (release / "certificate.html").write_text(render(told), encoding="utf-8")
    assert "\\x1b[2J" in check(run("verify", "doubles", code=8)).stdout
    check(run("verify", "doubles", "--json", code=8))
    check(run("verify", "doubles", "--ledger", "kagemusha-ledger.db", code=8))
    forged = json.loads(told.to_json())
    forged["format"] = evil
    (release / "certificate.json").write_text(json.dumps(forged), encoding="utf-8")
    assert "\\x1b[2J" in check(run("verify", "doubles", code=8)).stderr


def test_hostile_names_of_files(run: Run, release: Path) -> None:
    (release / "a\x1b[2J\rok").write_text("x")
    os.symlink("nowhere", release / "b\u202e")
    (release / "c\nok     certificate.json: content matches").mkdir()
    (release / os.fsdecode(b"d\xff")).write_text("x")
    assert "\\x1b[2J" in check(run("verify", "doubles", code=8)).stdout
    evil = Path("evil\x1b[31m\n")
    for command in (("verify", evil), ("sample", evil, "--out", "x.csv"), ("schema", "check", evil), ("plan", evil)):
        assert check(run(*command, code=None)).returncode
    check(run("synth", evil, "--schema", evil, code=None))
    check(run("key", "trust", evil, code=2))
    check(run("sign", evil, "--key", evil, code=2))


def test_hostile_columns(run: Run, tmp_path: Path) -> None:
    name = EVIL.replace("\udc80", "").replace("\x00", "")
    document = (
        f'version = 1\n[columns.{json.dumps(name)}]\nkind = "category"\ncategories = ["a", "b"]\nderived = '
        f'["categories"]\n'
    )
    (tmp_path / "s.toml").write_text(document, encoding="utf-8")
    check(run("schema", "check", "s.toml", code=3))
    check(run("plan", "s.toml"))
    check(run("plan", "s.toml", "--json"))
    (tmp_path / "t.csv").write_text("a\n1\n")
    check(run("synth", "t.csv", "--schema", "s.toml", code=3))


def test_a_failure_of_our_own_shows_nothing_raw(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug may still end in a traceback, for whoever mends it, but not with a stranger's bytes in it."""
    from kagemusha.forensics import verify

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(EVIL)

    monkeypatch.setattr(verify, "verify_release", broken)
    from command import in_this_process

    done = in_this_process(["verify", "x"])
    assert done.returncode == 1
    check(done)
    assert "RuntimeError" in done.stderr


def prints(tree: ast.AST) -> Iterator[str]:
    """Calls that write to a screen by themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "sys.stdout.write", "sys.stderr.write", "typer.echo", "click.echo"):
                yield f"{called}({ast.unparse(node.args[0]) if node.args else ''})"


def test_nobody_else_writes_to_the_screen() -> None:
    allowed = {"cli/output.py", "cli/app.py", "cli/__init__.py"}
    root = CLI.parent
    found = {str(path.relative_to(root)): list(prints(ast.parse(path.read_text()))) for path in root.rglob("*.py")}
    assert {name for name, calls in found.items() if calls} <= allowed
    assert found["cli/app.py"] == ["typer.echo(f'kagemusha {__version__}')"]
