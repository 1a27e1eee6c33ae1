"""A whole attack on one synthesizer: targets chosen, games played, findings judged.

What the command line and reports build on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.attacks.attribute import attribute_risk
from kagemusha.attacks.features import Space
from kagemusha.attacks.game import Game, Rules
from kagemusha.attacks.inference.registry import DEFAULT, inferences
from kagemusha.attacks.report import Attacked
from kagemusha.attacks.runner import run
from kagemusha.attacks.synthesis.method import Method
from kagemusha.attacks.synthesis.protocol import Maker
from kagemusha.attacks.table import GameTable
from kagemusha.attacks.targets import Target, choose
from kagemusha.attacks.threat import PAPER, Threat
from kagemusha.attacks.verdict import findings, verdict
from kagemusha.errors import DataError, UsageError
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, part, silent
from kagemusha.synthesizers.registry import create

_NOT_OPTIONS = ("discover", "delta_share", "discovered", "strays", "strays_noise")
"""What a certificate lists beside a method's options."""

PERSONS = (
    "The coin is about a person, not a row: a target is {rows} equal rows, the most that a person may have here; all "
    "of them are in the table or none."
)


@dataclass(frozen=True)
class Campaign:
    """What is tried against every synthesizer."""

    targets: Sequence[str] = ("random", "selective", "adaptive")
    attacks: Sequence[str] = DEFAULT
    together: Sequence[int] = ()
    """Also this many targets of the last kind at once."""
    spaces: Sequence[Space] = (Space(),)
    threat: Threat = PAPER
    rules: Rules = field(default_factory=Rules)
    secrets: Sequence[str] = ()
    seed: int = 0

    def chosen(self, table: GameTable) -> list[Target]:
        """The targets, chosen once for all synthesizers."""
        found = []
        for i, kind in enumerate(self.targets):
            found.append(choose(kind, table, space=self.spaces[0], rng=np.random.default_rng([self.seed, 10, i])))
        for count in self.together:
            if count < 2:
                raise UsageError(f"--together takes numbers of at least 2, got {count}")
            kind = self.targets[-1]
            made = choose(
                kind, table, count=count, space=self.spaces[0], rng=np.random.default_rng([self.seed, 11, count])
            )
            found.append(Target(f"{kind}×{count}", made.rows, made.members, made.distance))
        return [replace(target, copies=table.schema.unit.max_rows) for target in found]

    def against(
        self,
        maker: Maker,
        table: GameTable,
        *,
        folder: Path | None = None,
        jobs: int = 1,
        scheduler: str | None = None,
        notes: Sequence[str] = (),
        progress: Progress = silent,
    ) -> Attacked:
        """Play everything against one synthesizer and judge it."""
        game = Game(
            table,
            self.chosen(table),
            maker,
            inferences(self.attacks),
            space=self.spaces,
            threat=self.threat,
            rules=self.rules,
            seed=self.seed,
        )
        share = 0.8 if self.secrets else 1.0
        outcome = run(game, folder, jobs=jobs, scheduler=scheduler, progress=part(progress, 0.0, share))
        budget = maker.promised
        found = findings(outcome, budget=budget, exact_fit=maker.exact)
        secrets = []
        for i, secret in enumerate(self.secrets):
            step = (1 - share) / len(self.secrets)
            listener = part(progress, share + i * step, share + (i + 1) * step)
            count = min(20, self.rules.trainings)
            secrets.append(
                attribute_risk(
                    maker, table, secret, trainings=count, space=self.spaces[0], seed=self.seed, progress=listener
                )
            )
        most = table.schema.unit.max_rows
        whose = [] if most == 1 else [PERSONS.format(rows=most)]
        return Attacked(game, found, verdict(found, budget), budget, secrets, (*whose, *notes))


def method_of(model: Model) -> tuple[Method, list[str]]:
    """The settings of a release that was made: method, options, promise, schema.

    And what a reader should know about that.
    """
    certificate = model.certificate
    given: dict[str, Any] = {k: v for k, v in certificate.parameters.items() if k not in _NOT_OPTIONS}
    notes = [
        "Played with the settings of the release; its own noise is never seen here, every training draws fresh noise."
    ]
    if "discover" in certificate.parameters:
        notes.append(
            "Categories and bounds are those the release found privately; finding them is not part of these plays."
        )
    try:
        create(certificate.method, **given)
    except UsageError as error:
        raise DataError(f"the release's settings are not known to this version: {error}") from None
    budget: Budget = certificate.promised
    return Method(certificate.method, budget, given), notes
