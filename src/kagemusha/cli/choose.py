"""`choose`: which of several releases is nearest to the real table, as one charged question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.asking import WITHIN_95, CapOption, KeyOption, Payment, require_free
from kagemusha.cli.options import (
    AdjacencyOption,
    DatasetOption,
    Delta,
    JsonOption,
    LedgerOption,
    Policy,
    TableOption,
    TimeoutOption,
)
from kagemusha.cli.output import plain, progress_bar, say, say_json
from kagemusha.errors import UsageError


def choose(
    data: Annotated[
        str,
        typer.Argument(help="The private table, as `synth` takes it.", show_default=False),
    ],
    candidates: Annotated[
        list[Path],
        typer.Argument(help="Two or more releases (or model files) of it, each paid for already.", show_default=False),
    ],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="The schema file (TOML).", show_default=False)],
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="What the choice may cost, such as 0.1.", show_default=False)
    ],
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns whose two-way tables matter, such as ward,sex,age; by default all.", show_default=False
        ),
    ] = None,
    table: TableOption = None,
    timeout: TimeoutOption = None,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    policy: Policy = "default",
    cap: CapOption = None,
    key: KeyOption = "",
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="File to write the certificate of the choice to (JSON).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Choose the release whose worst two-way table is nearest to the real one: one charge for all of them.

    Where the cap adds up by Gaussian DP, noisy errors of all releases are shown. Elsewhere the exponential mechanism
    chooses, and how sure it is does not depend on the number of releases but for its logarithm. What the releases
    themselves cost stays paid, published or not. docs/proofs/acceptance.md has the theorem.
    """
    from kagemusha.cli.asking import choose as paid_choice
    from kagemusha.files import sha256
    from kagemusha.folder.loading import load_release
    from kagemusha.queries.acceptance import LargestError, tables_of
    from kagemusha.queries.scores import NoisyVector
    from kagemusha.schema import Schema
    from kagemusha.sources import open_source

    declared = Schema.load(schema)
    require_free(certificate)
    if len(candidates) < 2:
        raise UsageError("name at least two releases to choose among")
    domain = declared.domain
    wanted = list(domain.names) if columns is None else [name.strip() for name in columns.split(",")]
    for name in wanted:
        if name not in domain:
            raise UsageError(
                f"--columns {name!r}: no modelled column of that name; there are {', '.join(domain.names)}"
            )
    if len(set(wanted)) < 2:
        raise UsageError("--columns must name at least two different columns")
    tables = tables_of(domain, wanted)
    shares, names, rows = [], [], 1
    for path in candidates:
        model = load_release(path)
        if model.domain != domain:
            raise UsageError(f"{path}: its columns are not those of {schema}")
        rows = model.rows
        shares.append([one / one.sum() for one in model.project_many(tables)])
        # the name by which the ledger knows the choice: another model of that name is another question
        names.append(f"{path.name} {sha256(path / 'model.kage' if path.is_dir() else path)[:12]}")
    payment = Payment(epsilon, delta, adjacency, ledger, dataset, policy, cap, key)
    source = open_source(data, declared, table=table, timeout=timeout)
    with progress_bar(quiet=as_json) as progress:
        progress("counting", 0.1)
        paid = paid_choice(data, source, LargestError(names, tables, shares), payment)
    paid.save(certificate)
    scored = isinstance(paid.answer, NoisyVector)
    at = int(paid.answer.values.argmax()) if scored else paid.answer
    chosen, found, off = candidates[at], {}, 0.0
    if scored:  # an L1 distance in records, twice the doubles in a wrong cell
        errors = -50 / rows * paid.answer.values
        found, off = (
            dict(zip(map(str, candidates), errors.tolist(), strict=True)),
            50 / rows * WITHIN_95 * paid.answer.sigma,
        )
    if as_json:
        say_json(
            {
                "chosen": str(chosen),
                "among": list(map(str, candidates)),
                "errors": found,
                "noise": off,
                **paid.to_json(),
            }
        )
        return
    counted = "1 two-way table" if len(tables) == 1 else f"{len(tables):,} two-way tables"
    say(f"Chosen: [bold]{plain(str(chosen))}[/], of {len(candidates)} releases by {counted}")
    for what, error in found.items():
        say(plain(f"  {what}: {max(0.0, error):.2g} of 100 doubles in a wrong cell of the worst table"))
    if scored:
        say(f"  The noise in each: at most {off:.2g}, in 95 of 100 cases")
    if not scored:
        say(
            plain(
                "It is probably the nearest, not surely: how near it is, a criterion of acceptance tells ([[accept]])."
            )
        )
    paid.say()
