"""`estimate`: what may be concluded about the population from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.options import JsonOption, check_seed
from kagemusha.cli.output import plain, say, say_json, say_table


def estimate(
    release: Annotated[Path, typer.Argument(help="The release folder, or a model file.", show_default=False)],
    asked: Annotated[str, typer.Argument(help='What is asked, in words: "mean age by ward".', show_default=False)],
    level: Annotated[float, typer.Option(help="How often intervals are to hold.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Another seed draws other noise for the intervals.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Estimate means, shares, differences, odds ratios and regressions, with intervals that hold noise and sampling.

    Ask for: mean COLUMN \\[by COLUMN], share of CONDITION \\[by COLUMN], difference in mean COLUMN by COLUMN,
    difference in share of CONDITION by COLUMN, odds ratio of CONDITION by COLUMN, COLUMN ~ COLUMN + COLUMN (least
    squares), or CONDITION ~ COLUMN + COLUMN (logistic; logarithms of odds ratios). A CONDITION is as in `sample
    --where`. Works with released numbers alone and costs no privacy; where they do not tell, it says why.
    """
    from kagemusha.inference.estimate import estimate as estimated

    check_seed(seed)
    found = estimated(release, asked, level=level, seed=seed)
    if as_json:
        say_json({"asked": asked, "level": level, "estimates": [vars(one) for one in found]})
        return
    say(f"[bold]{plain(asked)}[/] ({100 * level:g} % intervals, for the population that the table is a sample of)")
    known = [one for one in found if not one.why]
    if known:
        rows = [[one.what, f"{one.value:.4g}", f"{one.low:.4g}", f"{one.high:.4g}"] for one in known]
        say_table("", ["", "estimate", "from", "to"], rows)
    for one in found:
        if one.why:
            say(f"{plain(one.what)}: cannot be said, because {plain(one.why)}")
