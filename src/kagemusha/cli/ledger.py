"""`ledger`: what was spent, and how much may be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.options import (
    AdjacencyOption,
    Delta,
    Epsilon,
    JsonOption,
    LedgerOption,
    Policy,
    ledger_path,
)
from kagemusha.cli.output import json_text, plain, say, say_json, say_table
from kagemusha.errors import LedgerError
from kagemusha.ledger import Book, ledger_exists, open_ledger, witnesses_near
from kagemusha.ledger.content import content_of, in_epsilon
from kagemusha.privacy.budget import Adjacency

LIMITS = (
    "A ledger knows a table by its name and, for a file, by its rows, in whatever order and form. It cannot know that "
    "the same people stand "
    "in another file where one cell was changed, or in a frame in memory, or that another ledger was used for them."
)
"""What the sums of a ledger rest on."""

app = typer.Typer(no_args_is_help=True, help="The privacy budget of each data set: what was spent and how much may be.")

Beside = Annotated[
    Path | None, typer.Argument(help="A data file whose ledger is meant; by default the one in this folder.")
]


@app.command()
def show(data: Beside = None, ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """List every cap and every release, and what is left."""
    book = _open(ledger_path(ledger, data))
    content = content_of(book)
    if as_json:
        say_json(content)
        return
    say(f"Ledger {plain(book.path)}")
    say_table(
        "Caps",
        ["data set", "policy", "ε", "δ", "adjacency", "added up by", "used"],
        [
            [
                c["dataset"],
                c["policy"],
                f"{c['epsilon']:g}",
                f"{c['delta']:g}",
                c["adjacency"],
                (c["rule"] or "first release")
                + (" (ε = ∞ allowed)" if c["unprotected"] else "")
                + ("" if c["looks"] else " (looks forbidden)"),
                "too much" if c["used"] is None else f"{100 * c['used']:.1f}%",
            ]
            for c in content["caps"]
        ],
    )
    for c in content["caps"]:
        so_far = "∞" if c["epsilon so far"] is None else f"{c['epsilon so far']:.3g}"
        say(plain(f"{Path(c['dataset']).name}: ε = {so_far} so far, of {c['epsilon']:g}"))
    say_table(
        "Releases",
        ["release", "data set", "method", "ε", "δ", "accounting", "state", "opened"],
        [
            [
                r["id"],
                Path(r["dataset"]).name,
                r["method"],
                f"{r['epsilon']:g}",
                f"{r['delta']:g}",
                r["accounting"],
                r["state"],
                r["opened_at"][:10],
            ]
            for r in content["releases"]
        ],
    )
    say(plain(LIMITS))


@app.command()
def cap(
    dataset: Annotated[
        str, typer.Argument(help="The data set: its name in the ledger, or its file.", show_default=False)
    ],
    epsilon: Epsilon,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    policy: Policy = "default",
    max_rows: Annotated[int, typer.Option(help="Rows of one person that the promise covers, as in the schema.")] = 1,
    rule: Annotated[
        str | None,
        typer.Option(
            help="How releases add up: gdp (Gaussian ones, tightest), zcdp, renyi (every kind) or pure (δ = 0). "
            "By default the first release decides. Choose before it is made."
        ),
    ] = None,
    ledger: LedgerOption = None,
) -> None:
    """Set the most that all releases of a data set may cost together.

    For a file it goes into the ledger that `synth` uses for it: the one beside the file, if no --ledger is given.
    """
    from kagemusha.ledger.cap import Cap
    from kagemusha.privacy.budget import Budget
    from kagemusha.privacy.spend import CapRule

    name = str(Path(dataset).resolve()) if Path(dataset).exists() else dataset
    budget = Budget(epsilon, delta, Adjacency.named(adjacency), max_rows)
    adding = None if rule is None else CapRule.named(rule)
    where = ledger_path(ledger, dataset)
    made = "" if ledger_exists(where) else " (new)"
    book = open_ledger(where)
    book.set_cap(Cap(name, policy, budget, adding))
    say(plain(f"{name} (policy {policy}): at most {budget.in_words()} over all releases. Ledger: {book.path}{made}"))


@app.command("allow-unprotected")
def allow_unprotected(
    dataset: Annotated[
        str, typer.Argument(help="The data set: its name in the ledger, or its file.", show_default=False)
    ],
    policy: Policy = "default",
    forbid: Annotated[bool, typer.Option("--forbid", help="Take the word back.")] = False,
    ledger: LedgerOption = None,
) -> None:
    """Allow reads without protection (ε = ∞) of a data set that has a cap: baselines, simulations, unconfirmed schemas.

    They go round the cap, so its owner must say so. Each of them is recorded in the ledger.
    """
    name = str(Path(dataset).resolve()) if Path(dataset).exists() else dataset
    where = ledger_path(ledger, dataset)
    _open(where).close()
    open_ledger(where).allow_unprotected(name, policy, allowed=not forbid)
    outcome = "need the owner's word again" if forbid else "are allowed from now on, and recorded in the ledger"
    say(plain(f"{name} (policy {policy}): reads without protection {outcome}"))


@app.command("allow-looks")
def allow_looks(
    dataset: Annotated[
        str, typer.Argument(help="The data set: its name in the ledger, or its file.", show_default=False)
    ],
    policy: Policy = "default",
    forbid: Annotated[bool, typer.Option("--forbid", help="Forbid them.")] = False,
    ledger: LedgerOption = None,
) -> None:
    """Forbid, or allow again, looks whose results stay inside.

    `evaluate`, `compare` and `attack` read the table as it is. They are allowed unless the owner of a data set that has
    a cap forbids them. Each of them is recorded in the ledger.
    """
    name = str(Path(dataset).resolve()) if Path(dataset).exists() else dataset
    where = ledger_path(ledger, dataset)
    _open(where).close()
    open_ledger(where).allow_looks(name, policy, allowed=not forbid)
    result = "are forbidden from now on" if forbid else "are allowed, and recorded in the ledger"
    say(plain(f"{name} (policy {policy}): looks without protection {result}"))


@app.command()
def check(
    data: Beside = None,
    ledger: LedgerOption = None,
    witness: Annotated[
        list[Path] | None,
        typer.Option(
            help="A copy of the .head file, or a certificate, that may have seen this ledger. May be repeated."
        ),
    ] = None,
    renew_head: Annotated[
        bool,
        typer.Option(
            "--renew-head",
            help="Write the .head file anew, where it was lost and this is the newest ledger there is: certificates "
            "know.",
        ),
    ] = False,
) -> None:
    """Check that the ledger is whole and not older than what anyone has seen of it.

    Every change is an entry of a hash chain. Its head lies in a file beside the ledger and on every certificate. Keep a
    copy of the .head file where nobody can replace both; `--witness` compares with it.
    """
    from kagemusha.ledger.audit import tampered_part
    from kagemusha.ledger.chain import head_file

    where = ledger_path(ledger, data)
    for path in witness or []:
        if not path.is_file():
            raise LedgerError(f"--witness {path}: no such file")
    near = witnesses_near([where if data is None else data])
    _require_there(where)
    book = open_ledger(where, read_only=True, witnesses=[*(witness or []), *near], headless=renew_head)
    damage = book.damage()
    if damage is not None:
        raise LedgerError(
            f"ledger {book.path}: the file is damaged ({damage}); put back its last good copy, with its .head file"
        )
    broken = book.broken_at()
    if broken is not None:
        raise LedgerError(
            f"ledger {book.path}: entry {broken} of its history does not follow from the one before: it was changed"
        )
    odd = tampered_part(book)
    if odd:
        raise LedgerError(f"ledger {book.path}: its history says something else of {odd}: it was changed")
    if renew_head:
        book.renew_head()
        say(plain(f"{head_file(book.path)} was written anew"))
    head = book.head
    say(plain(f"{book.path}: whole, {head.number} entries, head {head.digest[:16] or '(none)'}"))
    say(plain(LIMITS))


@app.command()
def close(
    release: Annotated[str, typer.Argument(help="The release, as `ledger show` names it.", show_default=False)],
    data: Beside = None,
    ledger: LedgerOption = None,
) -> None:
    """Give up a release that was interrupted: what it reserved and never charged goes back to the cap.

    What was charged stays spent. The release cannot be resumed afterwards; another --key makes another one.
    """
    where = ledger_path(ledger, data)
    _open(where).close()
    book = open_ledger(where)
    known = {r.id: r for r in book.releases()}
    if release not in known:
        raise LedgerError(f"ledger {book.path}: no release {release!r}; `kagemusha ledger show` lists them")
    one = known[release]
    if one.closed:
        say(plain(f"{release} is closed already; it took {in_epsilon(one, one.charged)}"))
        return
    book.close_release(release)
    # another process may have charged a last step meanwhile
    charged = next(r.charged for r in book.releases() if r.id == release)
    outcome = (
        f"{in_epsilon(one, charged)} stays spent of the {in_epsilon(one, one.reserved)} that it had reserved; the "
        f"rest went back"
    )
    say(
        plain(
            f"{release} is closed: {outcome if math.isfinite(one.epsilon) else 'with ε = ∞ it held no part of a cap'}"
        )
    )


@app.command()
def export(
    data: Beside = None,
    ledger: LedgerOption = None,
    out: Annotated[Path | None, typer.Option(help="File to write; by default the screen.")] = None,
) -> None:
    """Write caps, releases and every charged step as JSON, for an auditor."""
    from kagemusha.files import write_whole

    book = _open(ledger_path(ledger, data))
    content = content_of(book)
    for release in content["releases"]:
        release["steps"] = [
            {"event": s.event.to_json(), "units": s.units, "answered": s.answered} for s in book.steps(release["id"])
        ]
    if out is None:
        say_json(content)
    else:
        write_whole(out, (json_text(content) + "\n").encode())
        say(plain(f"{out}: {len(content['releases'])} releases of ledger {book.path}"))


def _require_there(ledger: str | Path) -> None:
    if not ledger_exists(ledger):
        raise LedgerError(f"ledger {ledger}: no such file; `kagemusha ledger cap` or a first release makes one")


def _open(ledger: str | Path) -> Book:
    _require_there(ledger)
    return open_ledger(ledger, read_only=True)
