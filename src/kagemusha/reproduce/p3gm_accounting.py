"""Figure 5: the same three phases accounted in several ways, the paper's among them.

The paper adds Rényi divergences of PCA (2αε_p², for ε_p-DP), of EM (2K + 1 Gaussian releases an iteration) and of
training, and compares with zCDP for PCA and EM beside a moments bound for training. Ours is PLD over one declared
schedule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kagemusha.privacy.accountants import PLD, zcdp_epsilon
from kagemusha.privacy.accountants.rdp import rdp_epsilon
from kagemusha.privacy.events import Event, GaussianEvent, SampledGaussianEvent
from kagemusha.privacy.renyi import sampled_gaussian_renyi

ORDERS = tuple(range(2, 257))


@dataclass(frozen=True)
class PhasedSpending:
    """P3GM's parameters: ε_p of PCA, iterations, components and noise of EM, and training."""

    pca: float
    iterations: int = 20
    components: int = 1
    em_noise: float = 120.0
    rate: float = 240 / 63_000
    steps: int = 2_625
    delta: float = 1e-5

    def rdp(self, noise: float, *, tight: bool) -> float:
        """ε by Rényi DP: the paper's terms, or (`tight`) ε-DP's own curve and three releases an iteration."""
        values = []
        for alpha in ORDERS:
            pca = min(self.pca, alpha * self.pca**2 / 2) if tight else 2 * alpha * self.pca**2
            releases = 3 if tight else 2 * self.components + 1
            em = self.iterations * releases * alpha / (2 * self.em_noise**2)
            values.append(pca + em + self.steps * sampled_gaussian_renyi(float(alpha), self.rate, noise))
        return rdp_epsilon([float(a) for a in ORDERS], values, self.delta)

    def apart(self, noise: float) -> float:
        """ε by zCDP for PCA and EM, by Rényi DP for training, added up: δ is halved between them."""
        rho = self.pca**2 / 2 + self.iterations * (2 * self.components + 1) / (2 * self.em_noise**2)
        values = [self.steps * sampled_gaussian_renyi(float(a), self.rate, noise) for a in ORDERS]
        half = self.delta / 2
        return zcdp_epsilon(rho, half) + rdp_epsilon([float(a) for a in ORDERS], values, half)

    def pld(self, noise: float) -> float:
        """ε by PLD, with a Gaussian PCA of the same ρ as ε_p-DP allows: ε_p²/2."""
        releases = 3 * self.iterations
        rho = self.pca**2 / 2 + releases / (2 * self.em_noise**2)
        events: list[Event] = [
            GaussianEvent(what="", sigma=math.sqrt(1 / (2 * rho)), l2_squared=1, noise="rounded"),
            SampledGaussianEvent(what="", steps=self.steps, rate=self.rate, noise=noise),
        ]
        return PLD().epsilon(events, self.delta)


def figure_5(
    noises: tuple[float, ...] = (1.2, 1.5, 2.0, 3.0, 4.0),
) -> dict[float, dict[str, list[tuple[float, float]]]]:
    """For ε_p = .01 and .1 and every noise of training, ε in each accounting."""
    found: dict[float, dict[str, list[tuple[float, float]]]] = {}
    for pca in (0.01, 0.1):
        phased = PhasedSpending(pca)
        found[pca] = {
            "Rényi, the paper's terms": [(n, phased.rdp(n, tight=False)) for n in noises],
            "zCDP + Rényi apart": [(n, phased.apart(n)) for n in noises],
            "Rényi, tighter terms": [(n, phased.rdp(n, tight=True)) for n in noises],
            "PLD of one schedule": [(n, phased.pld(n)) for n in noises],
        }
    return found
