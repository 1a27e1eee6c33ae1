"""Numerical composition of privacy loss distributions, through dp-accounting.

For a schedule fixed in advance this is often the tightest of the accountants, not always: it rounds losses up to a grid.
When later steps were chosen after seeing earlier answers it describes the schedule that happened, which is a
diagnostic and not a guarantee.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from kagemusha.privacy.accountants.rdp import RDP
from kagemusha.privacy.events import (
    Event,
    ExponentialEvent,
    GenerationEvent,
    LaplaceEvent,
    SampledGaussianEvent,
)

_LARGEST_LOSS = 500


def _exponential_pld(epsilon: float, interval: float) -> Any:
    """The dominating pair of all ε-bounded-range mechanisms.

    Its profile is the supremum over t of the two-point pairs with losses t and t − ε, attained at t = (ε + x)/2:
    δ(x) = (1 − e^{(x−ε)/2})² / (1 − e^{−ε}) on [−ε, ε] (Dong, Durfee and Rogers 2020).
    """
    import numpy as np
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    steps = math.ceil(epsilon / interval)
    grid = np.arange(-steps, steps + 1)
    x = np.clip(grid * interval, -epsilon, epsilon)
    deltas = np.expm1((x - epsilon) / 2) ** 2 / -math.expm1(-epsilon)
    deltas[0] = -math.expm1(-steps * interval)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(interval, grid, np.minimum.accumulate(deltas))
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


class PLD:
    """Composes dominating pairs; the answer is a numerical upper bound."""

    name = "pld"

    def __init__(self, interval: float | None = None) -> None:
        self._interval = interval

    def compose(self, events: Sequence[Event]) -> Any:
        """The composed distribution of all events, or None when one of them has no guarantee."""
        from dp_accounting.pld import privacy_loss_distribution as pld

        if not all(event.is_protected for event in events):
            return None
        if any(isinstance(event, GenerationEvent) and event.rho is None for event in events):
            return None  # draws alone have a Rényi curve, and no dominating pair that composes here
        interval = self._interval or _interval(events)
        # Gaussian mechanisms compose exactly into one, whatever their scales
        gaussian = sum(float(e.rho or 0) for e in events if not isinstance(e, LaplaceEvent | ExponentialEvent))
        parts: list[Any] = []
        if gaussian:
            parts.append(
                pld.from_gaussian_mechanism(
                    1 / math.sqrt(2 * gaussian), value_discretization_interval=interval, use_connect_dots=True
                )
            )
        counted: dict[tuple[str, float], int] = {}
        for event in events:
            if isinstance(event, LaplaceEvent | ExponentialEvent):
                key = (event.kind, float(event.pure_epsilon))
                counted[key] = counted.get(key, 0) + 1
        for (kind, epsilon), times in counted.items():
            one = (
                _exponential_pld(epsilon, interval)
                if kind == ExponentialEvent.kind
                else pld.from_privacy_parameters(_pure(epsilon), value_discretization_interval=interval)
            )
            parts.append(one.self_compose(times) if times > 1 else one)
        for event in events:
            if isinstance(event, SampledGaussianEvent) and event.rho is None:
                one = pld.from_gaussian_mechanism(
                    event.noise, value_discretization_interval=interval, sampling_prob=event.rate, use_connect_dots=True
                )
                parts.append(one.self_compose(event.steps))
        whole = parts[0] if parts else pld.identity(value_discretization_interval=interval)
        for part in parts[1:]:
            whole = whole.compose(part)
        return whole

    def work(self, events: Collection[Event]) -> float:
        """About how many cells of distributions `compose` has to fill; of hostile events it can be any number.

        Each distinct pure event has a distribution as wide as its ε on both sides, each distinct sampled one that of a single
        step, and its steps together have one as wide as all events.
        """
        interval = self._interval or _interval(events)
        alone = {event.cost_alone for event in set(events) if event.is_protected}
        pure = [float(e.pure_epsilon or 0) for e in alone if isinstance(e, LaplaceEvent | ExponentialEvent)]
        sampled = [e.noise for e in alone if isinstance(e, SampledGaussianEvent) and e.rho is None]
        single = 2 * sum(min(one, _LARGEST_LOSS) for one in pure) + sum(1 / noise**2 + 25 / noise for noise in sampled)
        return (single + _spread(events) * (1 + len(sampled))) / interval

    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        """ε of all events together at δ (upper bound)."""
        left = delta - float(sum(event.delta for event in events))
        if left <= 0:
            return math.inf if events else 0.0
        # a loss whose exponential overflows has no distribution in doubles; by basic composition its ε adds up
        large = [e for e in events if e.pure_epsilon is not None and e.pure_epsilon > _LARGEST_LOSS]
        rest = tuple(event.cost_alone for event in events if event not in large)
        composed = float(sum(e.pure_epsilon or 0 for e in large)) + _epsilon_of(rest, left, self._interval)
        if any(isinstance(event, GenerationEvent) for event in events):
            return min(
                composed, RDP().epsilon(events, delta)
            )  # both hold; draws are worth something to the second alone
        return composed


@lru_cache(maxsize=64)
def _epsilon_of(events: tuple[Event, ...], delta: float, interval: float | None) -> float:
    """Kept: a declared schedule is composed when it is solved, reserved, charged and certified."""
    whole = PLD(interval).compose(events)
    return math.inf if whole is None else max(0.0, float(whole.get_epsilon_for_delta(delta)))


def _pure(epsilon: float) -> Any:
    from dp_accounting.pld import common

    return common.DifferentialPrivacyParameters(epsilon, 0)


def _spread(events: Collection[Event]) -> float:
    """How wide the loss of all events together is."""
    rho = sum(times * _about_rho(event) for event, times in Counter(events).items())
    return rho + 20 * math.sqrt(2 * rho)


def _interval(events: Collection[Event]) -> float:
    """A grid fine enough for the smallest event, coarse enough that the composed support stays manageable."""
    spread = _spread(events)
    sampled = sum(e.steps for e in events if isinstance(e, SampledGaussianEvent) and e.rho is None)
    if sampled:
        # composing sampled steps takes long, and rounding adds about steps · interval² to ε: 10⁻⁴ of it at most
        return max(1e-6, min(1e-2, spread / 1.2e4, math.sqrt(1e-4 * min(1.0, spread / 5) / sampled)))
    return min(1e-2, max(1e-6, spread / 2e5))


def _about_rho(event: Event) -> float:
    if isinstance(event, SampledGaussianEvent) and event.rho is None:
        return event.steps * event.rate**2 * math.expm1(min(50.0, event.noise**-2)) / 2
    return float(event.rho or 0)
