"""Error against CPU time of ways to fit a graphical model to noisy marginals.

    KAGEMUSHA_DATA=<folder with adult.parquet> python benchmarks/solvers.py > benchmarks/results/solvers.md

One-way marginals and pairs of Adult (categorical) are measured once with Gaussian noise, as a one-shot synthesizer
would, and every solver starts from the uniform model on the same problem. Only the first, `accelerated`, is what
`kagemusha.graphical` ships; the others are written here from the literature for comparison.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.optimize import brentq, minimize_scalar
from scipy.special import wrightomega

from kagemusha.arrays import FloatArray
from kagemusha.graphical import MarkovField, Measurement, candidate_cells, estimate, junction_tree
from kagemusha.graphical.belief_propagation import BeliefPropagation
from kagemusha.graphical.estimation import estimate_total, merge
from kagemusha.reproduce.paper_tables import ADULT
from kagemusha.schema.domain import Domain

BUDGETS = (0.02, 0.05, 0.1, 0.3, 1.0)
SEEDS = (0, 1)


def adult() -> tuple[Domain, FloatArray]:
    frame = pd.read_parquet(os.path.join(os.environ["KAGEMUSHA_DATA"], "adult.parquet"))
    frame = frame[frame["split"] == "train"].dropna()
    codes = np.stack([pd.factorize(frame[c].astype(str), sort=True)[0] for c in ADULT], axis=1)
    return Domain(ADULT, tuple(int(n) for n in codes.max(axis=0) + 1)), codes


def counts(domain: Domain, codes: FloatArray, clique: tuple[str, ...]) -> FloatArray:
    shape = domain.shape(clique)
    flat = np.ravel_multi_index([codes[:, domain.axis(n)] for n in clique], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def zcdp_rho(epsilon: float, delta: float = 1e-9) -> float:
    def log_delta(rho: float) -> float:
        def bound(t: float) -> float:
            a = 1 + np.exp(t)
            return (a - 1) * (a * rho - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)

        return minimize_scalar(bound, bounds=(-12, 15), method="bounded").fun

    return brentq(lambda rho: log_delta(rho) - np.log(delta), 1e-9, epsilon)


def measure_once(domain: Domain, codes: FloatArray, rho: float, cells: float, seed: int) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    one = {a: counts(domain, codes, (a,)) for a in domain.names}
    sigma = np.sqrt(len(domain) / (2 * 0.1 * rho))
    found = [Measurement((a,), t + rng.normal(0, sigma, t.shape), sigma) for a, t in one.items()]
    pairs = list(combinations(domain.names, 2))
    error = {}
    for a, b in pairs:
        apart = np.abs(counts(domain, codes, (a, b)) - np.outer(one[a], one[b]) / len(codes)).sum()
        error[a, b] = apart + rng.normal(0, np.sqrt(len(pairs) / (2 * 0.06 * rho)))
    chosen: list[tuple[str, ...]] = []
    for pair in sorted(pairs, key=lambda p: -error[p] / domain.cells(p) ** (2 / 3)):
        if candidate_cells(domain, chosen, [pair])[0] <= cells:
            chosen.append(pair)
    share = np.array([domain.cells(p) ** (2 / 3) for p in chosen])
    for pair, part in zip(chosen, 0.84 * rho * share / share.sum(), strict=True):
        sigma = float(np.sqrt(1 / (2 * part)))
        table = counts(domain, codes, pair)
        found.append(Measurement(pair, table + rng.normal(0, sigma, table.shape), sigma))
    return found


class Problem:
    """Weights, targets and the oracle of one set of measurements, in probabilities."""

    def __init__(self, domain: Domain, measurements: list[Measurement]) -> None:
        merged = merge(domain, measurements)
        self.domain, self.cliques = domain, tuple(merged)
        self.total = estimate_total(merged.values())
        self.tree = junction_tree(domain, self.cliques)
        self.oracle = BeliefPropagation(self.tree, self.cliques)
        self.y = self.oracle.pack({c: m.values / self.total for c, m in merged.items()})
        self.w = self.oracle.spread([(self.total / m.sigma) ** 2 for m in merged.values()])

    def model(self, theta: FloatArray) -> MarkovField:
        """The model with these potentials."""
        return MarkovField(
            self.domain, self.total, self.tree, dict(zip(self.cliques, self.oracle.unpack(theta), strict=True))
        )


def mirror_descent(p: Problem) -> Iterator[FloatArray]:
    theta = np.zeros_like(p.y)
    _, mu = p.oracle(theta)
    rate = 1 / p.w.max()
    while True:
        g = p.w * (mu - p.y)
        trial = theta - rate * g
        _, new = p.oracle(trial)
        if ((mu - p.y) ** 2 - (new - p.y) ** 2) @ p.w >= 0.5 * (g @ (mu - new)):
            theta, mu, rate = trial, new, 1.5 * rate
            yield theta
        else:
            rate *= 0.5


def nesterov_line_search(p: Problem) -> Iterator[FloatArray]:
    theta = before = point = np.zeros_like(p.y)
    _, mu = p.oracle(theta)
    loss = point_loss = (mu - p.y) ** 2 @ p.w
    rate, age = 1 / p.w.max(), 0
    while True:
        g = p.w * (mu - p.y)
        trial = point - rate * g
        _, new = p.oracle(trial)
        new_loss = (new - p.y) ** 2 @ p.w
        if point_loss - new_loss < 0.5 * (g @ (mu - new)):
            rate *= 0.5
            continue
        if new_loss > loss:
            age, point = 0, theta
        else:
            before, theta, loss, age, rate = theta, trial, new_loss, age + 1, 1.1 * rate
            point = theta + age / (age + 3) * (theta - before)
            yield theta
        _, mu = p.oracle(point)
        point_loss = (mu - p.y) ** 2 @ p.w


def accelerated(p: Problem) -> Iterator[FloatArray]:
    point = plain = np.zeros_like(p.y)
    _, mu = p.oracle(point)
    rate, age = 1 / p.w.max(), 0
    while True:
        g = p.w * (mu - p.y)
        step = point - rate * g
        trial = step + age / (age + 3) * (step - plain)
        _, new = p.oracle(trial)
        moved = new - mu
        limit = 0.7 * ((trial - point) @ moved) / ((p.w * moved) @ moved)
        if age and g @ moved > 0:
            age, plain, rate = 0, point, min(rate, limit)
            continue
        point, plain, mu, rate, age = trial, step, new, min(1.1 * rate, limit), age + 1
        yield point


def lbfgs_dual(p: Problem, strength: float = 0.003, memory: int = 20) -> Iterator[FloatArray]:
    """Minimise log Z(θ) − ⟨θ, y⟩ + (τ/2) Σ θ²/w, diagonally preconditioned; τ = strength × total."""
    ridge = strength * p.total / p.w
    theta = np.zeros_like(p.y)
    z, mu = p.oracle(theta)
    value, g = z, mu - p.y
    pairs: list[tuple[FloatArray, FloatArray]] = []
    while True:
        diagonal = 1 / (mu * (1 - mu) + ridge)
        q, kept = g.copy(), []
        for s, d in reversed(pairs):
            kept.append((s @ q) / (s @ d))
            q -= kept[-1] * d
        q *= diagonal
        for (s, d), a in zip(pairs, reversed(kept), strict=True):
            q += (a - (d @ q) / (s @ d)) * s
        slope, length = -(g @ q), 1.0
        while True:
            trial = theta - length * q
            z, new = p.oracle(trial)
            new_value = z - trial @ p.y + 0.5 * (trial @ (ridge * trial))
            if new_value <= value + 1e-4 * length * slope or length < 1e-10:
                break
            length *= 0.5
        new_g = new - p.y + ridge * trial
        if (trial - theta) @ (new_g - g) > 0:
            pairs = [*pairs, (trial - theta, new_g - g)][-memory:]
        theta, mu, value, g = trial, new, new_value, new_g
        yield theta


def block_ascent(p: Problem, strength: float = 0.01) -> Iterator[FloatArray]:
    """One clique at a time, exactly, on the same dual (Wright omega)."""
    theta = np.zeros_like(p.y)
    ends = [*p.oracle.starts[1:], p.oracle.size]
    while True:
        for start, end in zip(p.oracle.starts, ends, strict=True):
            part = slice(start, end)
            _, mu = p.oracle(theta)
            lam = strength * p.total / p.w[start]
            b = (p.y[part] - lam * theta[part]) / lam
            base = np.log(np.maximum(mu[part], 1e-300) / lam) + b
            c = float(base.max() - 1 / lam)
            for _ in range(50):
                omega = wrightomega(base - c).real
                gap = lam * omega.sum() - 1
                c += gap / (lam * (omega / (1 + omega)).sum())
                if abs(gap) < 1e-10:
                    break
            theta[part] += b - wrightomega(base - c).real
            yield theta


SOLVERS: dict[str, Callable[[Problem], Iterator[FloatArray]]] = {
    "accelerated": accelerated,
    "Nesterov, line search": nesterov_line_search,
    "mirror descent, line search": mirror_descent,
    "L-BFGS on the dual, τ = .003 N": lbfgs_dual,
    "block ascent on the dual, τ = .01 N": block_ascent,
}


def main() -> None:
    domain, codes = adult()
    pairs = list(combinations(domain.names, 2))
    real = [counts(domain, codes, c) / len(codes) for c in pairs]

    def error(model: MarkovField) -> float:
        got = model.project_many(pairs)
        return float(np.mean([np.abs(g / model.total - r).sum() for g, r in zip(got, real, strict=True)]))

    print("# Solvers: two-way error against CPU seconds\n")
    print(f"Adult categorical, one-shot, trees of at most 5·10⁴ cells, δ = 1e-9, mean of {len(SEEDS)} seeds.")
    print("Mean L1 error of all pairs of the model; `estimate` stops by itself (seconds in brackets).\n")
    print("| ε | solver |", " | ".join(f"{b} s" for b in BUDGETS), "|")
    print("| --- " * (2 + len(BUDGETS)) + "|")
    for epsilon in (0.1, 1, 10, 100):
        sets = [measure_once(domain, codes, zcdp_rho(epsilon), 5e4, seed) for seed in SEEDS]
        estimate(domain, sets[0], max_steps=3)  # compile
        for label, by_risk in (("`estimate`, least risk", True), ("`estimate`, least loss", False)):
            spent, errors = 0.0, []
            for measurements in sets:
                begin = time.process_time()
                model = estimate(domain, measurements, stop_at_least_risk=by_risk).model
                spent += time.process_time() - begin
                errors.append(error(model))
            ended = f"**{np.mean(errors):.4f}** ({spent / len(sets):.2f} s)"
            print(f"| {epsilon} | {label} |", " | ".join([ended, *[""] * (len(BUDGETS) - 1)]), "|")
        for name, solver in SOLVERS.items():
            table = np.array([trace(Problem(domain, m), solver, error) for m in sets]).mean(axis=0)
            print(f"| {epsilon} | {name} |", " | ".join(f"{e:.4f}" for e in table), "|", flush=True)


def trace(
    problem: Problem, solver: Callable[[Problem], Iterator[FloatArray]], error: Callable[[MarkovField], float]
) -> list[float]:
    errors: list[float] = []
    spent, begin = 0.0, time.process_time()
    for theta in solver(problem):
        now = spent + time.process_time() - begin
        if now >= BUDGETS[len(errors)]:
            errors.append(error(problem.model(theta)))
            spent, begin = now, time.process_time()
            if len(errors) == len(BUDGETS):
                break
    return errors


if __name__ == "__main__":
    main()
