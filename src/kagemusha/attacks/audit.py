"""An audit of two worlds: the strongest statement about our own methods, from thousands of tiny runs.

The worst case: a tiny table that hurts, and an attacker at the shoulder of every run. Both worlds come shuffled and cut
anew at every pass, as a view or a cluster may give them, so that whatever trusts an order or a cut shows. An audit
never proves a promise; it bounds how wrong it can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.risk import Proved, proved
from kagemusha.attacks.scratch import scratch_release
from kagemusha.attacks.shoulder import DiscoveryShoulder, Shoulder, Spent
from kagemusha.attacks.worst_case import crowd, worst_case
from kagemusha.errors import UsageError
from kagemusha.pages import card
from kagemusha.privacy.accountants import Accounting, gdp_mu, zcdp_rho
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import ThresholdEvent
from kagemusha.progress import Progress, silent
from kagemusha.release.curator import Curator
from kagemusha.release.discovery import Finder, close_schema, delta_share
from kagemusha.schema import Schema
from kagemusha.sources.open_table import OpenFrame
from kagemusha.sources.shuffled import Shuffled, ShuffledOpen
from kagemusha.synthesizers.protocol import Synthesizer


@dataclass(frozen=True)
class Audit:
    """What came out, beside what was promised."""

    found: Proved
    budget: Budget
    method: str
    accounting: Accounting
    mean_loss: tuple[float, float]
    """Mean privacy loss without and with the person: −μ²/2 and μ²/2 for a Gaussian mechanism."""
    reach: tuple[float, float]
    """What endless runs could prove, as μ²: by noisy answers, and by choices."""
    discovered: bool = False

    @property
    def reachable_mu(self) -> float:
        """The μ that endless runs could prove on this table."""
        return math.sqrt(sum(self.reach))

    @property
    def promised_mu(self) -> float:
        """The μ of the Gaussian mechanism that (ε, δ) allows."""
        return gdp_mu(self.budget.epsilon, self.budget.delta)

    @property
    def contradicted(self) -> bool:
        """Whether these runs contradict what was promised: ε at δ always.

        Μ where costs add up as μ, ρ where they add up as ρ. A method whose events are discrete Gaussian may well pass
        the μ that its (ε, δ) would allow a continuous one: it promised none.
        """
        if self.found.epsilon > self.budget.epsilon:
            return True
        if self.discovered:
            return False  # thresholds spend a part of δ, beside μ and ρ
        if self.accounting is Accounting.GDP:
            return self.found.mu > self.promised_mu * 1.0000001
        if self.accounting is Accounting.ZCDP:
            return self.found.rho > zcdp_rho(self.budget.epsilon, self.budget.delta) * 1.0000001
        return False

    @property
    def share(self) -> float:
        """The proved part of what was promised, as μ; for other accountings a measure of the audit's strength."""
        return self.found.mu / self.promised_mu

    def _repr_html_(self) -> str:
        facts = {
            "promised": f"{self.budget.in_words()} (μ = {self.promised_mu:.3g})",
            "proved": f"ε ≥ {self.found.epsilon:.3g}, μ ≥ {self.found.mu:.3g}",
            "verdict": self.verdict,
        }
        return card(f"Audit of {self.method}", facts)

    @property
    def verdict(self) -> str:
        """In words."""
        if self.contradicted:
            return "BROKEN: these runs contradict the promise"
        share = f"{100 * self.share:.0f} % of what was promised"
        if self.share < 0.3:
            return f"not contradicted, but this audit was too weak to tell: it proves {share}"
        return f"not contradicted: what is proved is {share}"


def audit(
    make: Callable[[], Synthesizer],
    budget: Budget,
    *,
    runs: int = 2000,
    seed: int = 0,
    risk: float = 1e-4,
    discover: float | None = None,
    table: str | None = None,
    progress: Progress = silent,
) -> Audit:
    """Run a method `runs` times in each of two worlds and bound its privacy loss from below.

    With `discover`, the categories of one column are left open and found with that share of the budget; the person's
    label is held by so many others that it stands at the threshold, where one more shows most. `table` names one of the
    tables of `worst_case`; by default the one on which the method's promise shows most.
    """
    if runs < 1:
        raise UsageError(f"runs must be at least 1, got {runs}")
    one = make()
    play = _closed(one, budget, table) if discover is None else _open(make, budget, discover)
    losses = np.empty((2, runs))
    reach = np.zeros(2)
    for run in range(runs):
        for side in range(2):
            seen = play(make(), side, [seed, run, side])
            losses[side, run] = seen.loss
            reach += (seen.measured, seen.chosen)
        if run % 20 == 0:
            progress(f"{2 * run:,} runs", run / runs)
    # a privacy loss above 0 says "with": the best answer there is, known beforehand
    found = proved(losses[0], losses[1], delta=budget.delta, risk=risk, threshold=0.0)
    means: FloatArray = losses.mean(axis=1)
    each = reach / (2 * runs)
    return Audit(
        found,
        budget,
        one.name,
        Accounting(one.accounting),
        (float(means[0]), float(means[1])),
        (float(each[0]), float(each[1])),
        discovered=discover is not None,
    )


Play = Callable[[Synthesizer, int, list[int]], Shoulder]
"""One run: a method, in which world, with which seed."""


def _closed(one: Synthesizer, budget: Budget, table: str | None) -> Play:
    from kagemusha.sources import open_source

    schema, tables = worst_case(one.name, budget, table)
    worlds = open_source(tables[0], schema), open_source(tables[1], schema)

    def play(synthesizer: Synthesizer, side: int, seed: list[int]) -> Shoulder:
        shuffled = Shuffled(worlds[0], [*seed, 0]), Shuffled(worlds[1], [*seed, 1])
        with scratch_release(synthesizer, schema, budget, np.random.default_rng(seed)) as release:
            shoulder = Shoulder(release, shuffled)
            with suppress(Spent):
                synthesizer.build(Curator(shuffled[side], release, observer=shoulder))
        return shoulder

    return play


def _open(make: Callable[[], Synthesizer], budget: Budget, share: float) -> Play:
    schema, tables = worst_case(make().name, budget, "three")
    left_open = schema.replace("c", categories=None)
    threshold = _threshold(make(), budget, left_open, tables[0], share)
    crowds = [crowd(table, "w", threshold - 1) for table in tables]

    def play(synthesizer: Synthesizer, side: int, seed: list[int]) -> Shoulder:
        rng = np.random.default_rng(seed)
        worlds = tuple(ShuffledOpen(table, left_open, [*seed, at]) for at, table in enumerate(crowds))
        with scratch_release(synthesizer, left_open, budget, rng, delta_share=delta_share(left_open)) as release:
            shoulder = DiscoveryShoulder(release, (worlds[0], worlds[1]))
            finder = Finder(worlds[side], release, observer=shoulder)
            with suppress(Spent):
                closed = close_schema(finder, share)
                shoulder.close(closed)
                synthesizer.build(finder.curator(closed)[0])
        return shoulder

    return play


def _threshold(one: Synthesizer, budget: Budget, left_open: Schema, table: object, share: float) -> int:
    """The threshold of the labels that are found; it depends on the budget alone."""
    with scratch_release(
        one, left_open, budget, np.random.default_rng(0), delta_share=delta_share(left_open)
    ) as release:
        close_schema(Finder(OpenFrame(table, left_open), release), share)
        return next(event.threshold for event in release.events if isinstance(event, ThresholdEvent))
