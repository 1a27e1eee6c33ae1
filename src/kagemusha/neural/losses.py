"""What the networks are trained for: how well a row is given back, and how far its code lies from the prior."""

from __future__ import annotations

from typing import Any

from kagemusha.neural.inputs import Inputs
from kagemusha.neural.mixture import Mixture
from kagemusha.neural.networks import need_torch

SQUARED = 0.25
"""Features lie between −1 and 1; a quarter of their squared error is that between 0 and 1: a Gaussian of variance ½."""


def reconstruction(given: Any, x: Any, inputs: Inputs) -> Any:
    """The loss of each row: squared error of measured features, cross-entropy of one-hot blocks."""
    torch = need_torch()
    measured = inputs.measured
    loss = torch.zeros(len(x))
    if len(measured) == inputs.width:
        return SQUARED * ((given - x) ** 2).sum(dim=1)
    if len(measured):
        at = torch.from_numpy(measured)
        loss = SQUARED * ((given[:, at] - x[:, at]) ** 2).sum(dim=1)
    for begin, end in inputs.blocks:
        logs = torch.log_softmax(given[:, begin:end], dim=1)
        loss = loss - (x[:, begin:end] * logs).sum(dim=1)
    return loss


def normal_divergence(mean: Any, log_variance: Any) -> Any:
    """KL of N(mean, variance) from the standard normal, row by row."""
    return 0.5 * (log_variance.exp() + mean**2 - 1 - log_variance).sum(dim=1)


class MixtureDivergence:
    """KL of N(mean, variance) from a mixture, row by row, by Hershey and Olsen's variational approximation.

    For one Gaussian q it is −log Σ_b π_b·exp(−KL(q‖N_b)): an upper bound on the true divergence, so that the evidence
    bound stays one, and exact for one component.
    """

    def __init__(self, mixture: Mixture) -> None:
        torch = need_torch()
        self._torch = torch
        self._log_weights = torch.from_numpy(mixture.weights).clamp_min(1e-12).log().float()
        self._means = torch.from_numpy(mixture.means).float()
        self._precisions = torch.from_numpy(mixture.precisions).float()
        self._log_determinants = torch.from_numpy(mixture.log_determinants).float()

    def parts(self, mean: Any, log_variance: Any) -> Any:
        """KL(q‖N_b) for every row and component."""
        found = []
        for centre, precision, log_determinant in zip(
            self._means, self._precisions, self._log_determinants, strict=True
        ):
            apart = mean - centre
            along = ((apart @ precision) * apart).sum(dim=1)
            trace = log_variance.exp() @ precision.diagonal()
            found.append(0.5 * (trace + along - mean.shape[1] + log_determinant - log_variance.sum(dim=1)))
        return self._torch.stack(found, dim=1)

    def __call__(self, mean: Any, log_variance: Any, component: Any = None) -> Any:
        """The divergence; with `component` known for each row, from that component alone."""
        parts = self.parts(mean, log_variance)
        if component is not None:
            return parts.gather(1, component[:, None])[:, 0] - self._log_weights[component]
        return -self._torch.logsumexp(self._log_weights - parts, dim=1)
