"""All commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from kagemusha.cli import (
    account,
    annotate,
    attack,
    audit,
    choose,
    compare,
    demo,
    deployment,
    estimate,
    evaluate,
    generation,
    key,
    ledger,
    plan,
    reproduce,
    sample,
    schema,
    sign,
    studio,
    synth,
    totals,
    verify,
)
from kagemusha.cli.options import LanguageOption
from kagemusha.cli.output import ask_for
from kagemusha.version import __version__

app = typer.Typer(
    name="kagemusha",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="""Turn a table of people into a table of doubles: differentially private synthetic data with a certificate.

    A first release of patients.csv:

    1. [bold]schema propose[/]  draft what is public about the table\n
    2. [bold]schema check[/]    what a person must still confirm\n
    3. [bold]plan[/]            what it will cost; nothing is spent\n
    4. [bold]synth[/]           the synthetic table and its certificate\n
    5. [bold]verify[/]          anyone can check it, without the data

    Or see it work first: [bold]kagemusha demo[/]. Every command explains itself with --help.""",
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"kagemusha {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
    language: LanguageOption = None,
) -> None:
    ask_for(language)


app.add_typer(schema.app, name="schema")
app.command("plan")(plan.plan)
app.command("synth")(synth.synth)
app.command("sample")(sample.sample)
app.command("verify")(verify.verify)
app.command("sign")(sign.sign)
app.add_typer(key.app, name="key")
app.command("register")(deployment.register)
app.command("dossier")(deployment.dossier)
app.command("estimate")(estimate.estimate)
app.command("totals")(totals.totals)
app.command("choose")(choose.choose)
app.command("evaluate")(evaluate.evaluate)
app.command("compare")(compare.compare)
app.add_typer(annotate.app, name="annotate")
app.command("studio")(studio.studio)
app.command("attack")(attack.attack)
app.command("audit")(audit.audit)
app.add_typer(ledger.app, name="ledger")
app.add_typer(account.app, name="account")
account.app.command("gaussian-generation")(generation.gaussian_generation)
app.add_typer(reproduce.app, name="reproduce")
app.command("demo")(demo.demo)
