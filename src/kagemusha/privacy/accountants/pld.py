"""Numerical composition of privacy loss distributions, through dp-accounting.

For a schedule fixed in advance this is often the tightest of the accountants, not always: it rounds losses up to a
grid. When later steps were chosen after seeing earlier answers it describes the schedule that happened, which is a
diagnostic and not a guarantee.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from kagemusha.privacy.accountants.gdp import gdp_mu
from kagemusha.privacy.accountants.protocol import Composition
from kagemusha.privacy.accountants.rdp import RDP
from kagemusha.privacy.distributions import gaussian
from kagemusha.privacy.events import Event

_LARGEST_LOSS = 500


class PLD(Composition):
    """Composes dominating pairs; the answer is a numerical upper bound. An amount is one step of what was declared."""

    name = "pld"
    words = "numerical composition (PLD)"
    declared = True
    refusal = "; of Gaussian noise it holds rounded, not discrete"
    cap_rule = "renyi"

    def __init__(self, interval: float | None = None) -> None:
        self._interval = interval

    def compose(self, events: Sequence[Event]) -> Any:
        """The composed distribution of all events, or None when one of them has no guarantee."""
        from dp_accounting.pld import privacy_loss_distribution as pld

        interval = self._interval or _interval(events)
        # Gaussian mechanisms compose exactly into one, whatever their scales
        together = sum(rho for event in events if (rho := event.gaussian_rho) is not None)
        parts = [gaussian(together, interval)] if together else []
        for event, times in Counter(e.cost_alone for e in events if e.gaussian_rho is None).items():
            one = event.losses(interval)
            if one is None:
                return None
            parts.append(one.self_compose(times) if times > 1 else one)
        whole = parts[0] if parts else pld.identity(value_discretization_interval=interval)
        for part in parts[1:]:
            whole = whole.compose(part)
        return whole

    def amount(self, event: Event) -> Fraction | None:
        """One, of what numerical composition knows.

        The discrete Gaussian's profile passes the Gaussian's between its atoms.
        """
        return Fraction(1) if event.has_known_profile else None

    def limit(self, epsilon: float, delta: float) -> float:
        """A Gaussian mechanism's ρ, for planning; what a release may spend is its schedule."""
        return gdp_mu(epsilon, delta) ** 2 / 2

    def work(self, events: Collection[Event]) -> float:
        """About how many cells of distributions `compose` has to fill; of hostile events it can be any number.

        Each distinct event with a distribution of its own has one as wide as one step of it, and sampled steps together
        have one as wide as all events.
        """
        interval = self._interval or _interval(events)
        alone = {event.cost_alone for event in set(events) if event.gaussian_rho is None}
        single = sum(event.spread for event in alone if (event.pure_epsilon or 0) <= _LARGEST_LOSS)
        return (single + _spread(events) * (1 + sum(e.sampled_steps > 0 for e in alone))) / interval

    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        """ε of all events together at δ (upper bound)."""
        left = delta - float(sum(event.delta for event in events))
        if left <= 0:
            return math.inf if events else 0.0
        # a loss whose exponential overflows has no distribution in doubles; by basic composition its ε adds up
        large = [e for e in events if e.pure_epsilon is not None and e.pure_epsilon > _LARGEST_LOSS]
        rest = tuple(event.cost_alone for event in events if event not in large)
        composed = float(sum(e.pure_epsilon or 0 for e in large)) + _epsilon_of(rest, left, self._interval)
        if any(event.drawn_rows for event in events):
            return min(
                composed, RDP().epsilon(events, delta)
            )  # both hold; draws are worth something to the second alone
        return composed


@lru_cache(maxsize=64)
def _epsilon_of(events: tuple[Event, ...], delta: float, interval: float | None) -> float:
    """Kept: a declared schedule is composed when it is solved, reserved, charged and certified."""
    whole = PLD(interval).compose(events)
    return math.inf if whole is None else max(0.0, float(whole.get_epsilon_for_delta(delta)))


def _spread(events: Collection[Event]) -> float:
    """How wide the loss of all events together is."""
    rho = sum(times * event.about_rho for event, times in Counter(events).items())
    return rho + 20 * math.sqrt(2 * rho)


def _interval(events: Collection[Event]) -> float:
    """A grid fine enough for the smallest event, coarse enough that the composed support stays manageable."""
    spread = _spread(events)
    sampled = sum(e.sampled_steps for e in events if e.gaussian_rho is None)
    if sampled:
        # composing sampled steps takes long, and rounding adds about steps · interval² to ε: 10⁻⁴ of it at most
        return max(1e-6, min(1e-2, spread / 1.2e4, math.sqrt(1e-4 * min(1.0, spread / 5) / sampled)))
    return min(1e-2, max(1e-6, spread / 2e5))
