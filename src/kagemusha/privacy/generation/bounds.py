"""Rényi divergence bounds for neighbouring fitted Gaussians, free of cancellation.

Every bound is written through one function, the cost of one relative eigenvalue. With E the relative change of
covariance, I + E = Σ₁^(−1/2) Σ₂ Σ₁^(−1/2), and e₁ … e_d its eigenvalues,

    D_α(N(μ₁, Σ₁) ‖ N(μ₂, Σ₂)) = (α/2) Δᵀ Σ_α⁻¹ Δ + Σᵢ h(eᵢ),
    h(e) = (α log(1 + e) − log(1 + αe)) / (2(α − 1)) ≥ 0,

so the paper's formulas become sums of non-negative terms. What is rational is computed exactly as a fraction.
Proofs: docs/proofs/gaussian-generation-replace.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

# below this |αe| the logarithms cancel, and the integral form is smooth enough for the quadrature
_SMALL = 0.5
_NODES = 20


@cache
def _quadrature() -> tuple[tuple[float, float], ...]:
    """Gauss-Legendre nodes and weights on [0, 1]; the error for |αe| ≤ 1/2 is below 5.8^(−40)."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return tuple((0.5 + 0.5 * float(t), 0.5 * float(w)) for t, w in zip(nodes, weights, strict=True))


def eigenvalue_cost(alpha: float, shift: float, slack: float | None = None) -> float:
    """h(e) for e = `shift` > −1/α; `slack` is 1 + αe where the caller knows it more exactly.

    For small |αe| it integrates h'(e) = (α/2) e / ((1 + e)(1 + αe)), which has one sign.
    """
    scaled = alpha * shift
    if abs(scaled) <= _SMALL:
        total = sum(w * t / ((1 + shift * t) * (1 + scaled * t)) for t, w in _quadrature())
        return alpha * shift * shift / 2 * total
    if slack is None:
        slack = 1 + scaled
    excess = alpha - 1
    change = excess * shift / (1 + shift)
    second = math.log1p(change) if change > -0.5 else math.log(slack / (1 + shift))
    return (math.log1p(shift) - second / excess) / 2


def _exact_cost(alpha: Fraction, shift: Fraction) -> float:
    return eigenvalue_cost(float(alpha), float(shift), float(1 + alpha * shift))


def add_remove_limit(n: int, tau: Fraction) -> Fraction:
    """Theorem 3.1 holds for 1 < α below this; n/(n+1) < τ must hold."""
    return min(Fraction(n + 1), Fraction(n * n) / (tau * (n + 1) - n))


def add_remove(n: int, d: int, tau: Fraction, alpha: Fraction) -> float:
    """Theorem 3.1 for one released record: max(ε₁, ε₂) for data sets of n and n + 1 records.

    The paper's `min{1, ·}` is the choice between the differing direction's eigenvalue at r = 0 and at r = τ.
    """
    joins = _one_side(
        d,
        alpha,
        mean=alpha * tau / (2 * (n + 1) * (n + 1 - alpha)),
        rest=Fraction(-1, n + 1),
        extreme=Fraction(-1, n + 1) + n * tau / (n + 1) ** 2,
    )
    leaves = _one_side(
        d,
        alpha,
        mean=alpha * tau / (2 * (n * (n + alpha) - alpha * (n + 1) * tau)),
        rest=Fraction(1, n),
        extreme=Fraction(1, n) - (n + 1) * tau / n**2,
    )
    return max(joins, leaves)


def _one_side(d: int, alpha: Fraction, *, mean: Fraction, rest: Fraction, extreme: Fraction) -> float:
    at_rest = _exact_cost(alpha, rest)
    return float(mean) + (d - 1) * at_rest + max(at_rest, _exact_cost(alpha, extreme))


def replace_limit(n: int, tau: Fraction) -> Fraction:
    """Theorem 3.2 and the two-eigenvalue bound hold for 1 < α below this: |Σ₁ + αX| stays positive."""
    return Fraction(n * n) / (tau * (n - 1))


def replace(n: int, tau: Fraction, alpha: Fraction) -> float:
    """Theorem 3.2 for one released record."""
    radius = (n - 1) * tau / n**2
    mean = alpha * tau / (2 * (n**2 - alpha * (n - 1) * tau))
    a, r = float(alpha), float(radius)
    slack = math.log1p(-a * r) if a * r < 0.5 else math.log(float(1 - alpha * radius))
    return float(mean) + (a * math.log1p(r) - slack) / (2 * (a - 1))


def moved(alpha: Fraction, *, mean: Fraction, radius: Fraction) -> float:
    """The largest D_α between Gaussians with Σ₁, Σ₂ ⪰ σI, ‖μ₂−μ₁‖² ≤ mean·σ and ‖Σ₂−Σ₁‖_F ≤ radius·σ.

    Needs α·radius < 1. All of the covariance's movement in one shrinking eigenvalue is the worst case
    (proof note, Lemma 2), and there the mean term is largest too.
    """
    return float(alpha * mean / (2 * (1 - alpha * radius))) + _exact_cost(alpha, -radius)


def moved_float(alpha: float, mean: float, radius: float) -> float:
    """`moved` in floating point, infinite where α·radius ≥ 1."""
    slack = 1 - alpha * radius
    if slack <= 0:
        return math.inf
    return alpha * mean / (2 * slack) + eigenvalue_cost(alpha, -radius, slack)


def replace_step(n: int, tau: Fraction) -> tuple[Fraction, Fraction]:
    """(mean, radius) of `moved` for one exchanged record among n (proof note, Lemma 1)."""
    return tau / n**2, (n - 1) * tau / n**2


def add_remove_step(n: int, tau: Fraction) -> tuple[Fraction, Fraction]:
    """(mean, radius) of `moved` for one record joining n others (proof note, Lemma 1)."""
    return tau / (n + 1) ** 2, tau / (n + 1)
