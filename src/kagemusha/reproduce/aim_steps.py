"""What happens inside a run of AIM, step by step: budget, errors, chosen pairs (the paper's figures 3 to 5)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np

from kagemusha.evaluation.kway import kway_errors, l1_errors
from kagemusha.evaluation.mutual_information import information_matrix
from kagemusha.generators.markov import MarkovGenerator, measurements_of
from kagemusha.graphical import estimate
from kagemusha.models.model import Model
from kagemusha.privacy.accountants import PLD, ZCDP
from kagemusha.privacy.events import Event, ExponentialEvent, GaussianEvent
from kagemusha.reproduce.aim_runs import BY_NAME, fitted, paces, source_of
from kagemusha.reproduce.paper_tables import PaperTable
from kagemusha.reproduce.stamps import code_of
from kagemusha.schema.domain import Clique
from kagemusha.version import __version__


@dataclass(frozen=True)
class BudgetCurve:
    """ε after each step under zCDP, and the numerical composition's lower and upper bound (figure 3)."""

    steps: list[int]
    zcdp: list[float]
    lower: list[float]
    upper: list[float]


def budget_curve(model: Model, delta: float, *, points: int = 10_000) -> BudgetCurve:
    """Realised schedule only: with adaptively chosen steps the numerical bounds describe, they do not promise."""
    events = model.certificate.events
    steps = sorted({round(x) for x in np.linspace(1, len(events), min(points, len(events)))})
    return BudgetCurve(
        steps,
        [round(ZCDP().epsilon(events[:s], delta), 6) for s in steps],
        [round(optimistic_epsilon(events[:s], delta), 6) for s in steps],
        [round(PLD().epsilon(events[:s], delta), 6) for s in steps],
    )


def optimistic_epsilon(events: Sequence[Event], delta: float) -> float:
    """A lower bound on ε: numerical composition rounded down, each choice by its tightest two-point mechanism."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    rho = sum(float(e.rho or 0) for e in events)
    interval = max(1e-6, (rho + 12 * math.sqrt(2 * rho)) / 2e4)
    gaussian = sum(float(e.rho) for e in events if isinstance(e, GaussianEvent))
    parts = []
    if gaussian:
        parts.append(
            pld.from_gaussian_mechanism(
                1 / math.sqrt(2 * gaussian),
                pessimistic_estimate=False,
                value_discretization_interval=interval,
                use_connect_dots=False,
            )
        )
    counted: dict[float, int] = {}
    for event in events:
        if isinstance(event, ExponentialEvent):
            counted[event.epsilon] = counted.get(event.epsilon, 0) + 1
    for epsilon, times in counted.items():
        p, q = -math.log1p(math.exp(-epsilon / 2)), -math.log1p(math.exp(epsilon / 2))
        one = pld.from_two_probability_mass_functions(
            {0: q, 1: p}, {0: p, 1: q}, pessimistic_estimate=False, value_discretization_interval=interval
        )
        parts.append(one.self_compose(times) if times > 1 else one)
    if not parts:
        return 0.0
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return max(0.0, float(whole.get_epsilon_for_delta(delta)))


def step_errors(table: PaperTable, model: Model) -> list[tuple[int, float, float, float]]:
    """(step, 1-, 2-, 3-way error) of the model refitted to the first measurements of a run (figure 4).

    Step 0 is the uniform table, with the right number of rows.
    """
    measured = measurements_of(model.measurements)
    result = []
    for count in range(len(measured) + 1):
        total = None if count else float(table.table.rows)
        field = estimate(model.domain, measured[:count], total=total, stop_at_least_risk=False).model
        errors = [round(kway_errors(table.table, MarkovGenerator(field), k).mean, 6) for k in (1, 2, 3)]
        result.append((count, errors[0], errors[1], errors[2]))
    return result


@dataclass(frozen=True)
class ChosenStep:
    """Which pairs one run measured, in the order of their first choice, and how well it did on them (figure 5)."""

    pairs: Sequence[Clique]
    chosen_error: float
    other_error: float


def choice_of(table: PaperTable, model: Model) -> ChosenStep:
    """Mean error of chosen and of unchosen pairs."""
    chosen = list(dict.fromkeys(m.clique for m in model.measurements if len(m.clique) == 2))
    pairs = list(combinations(model.domain.names, 2))
    errors = dict(zip(pairs, l1_errors(table.table, model.generator, pairs), strict=True))
    inside, outside = [errors[p] for p in chosen], [errors[p] for p in pairs if p not in set(chosen)]
    return ChosenStep(chosen, float(np.mean(inside)) if inside else 0.0, float(np.mean(outside)) if outside else 0.0)


@dataclass(frozen=True)
class Steps:
    """Everything the page says of what happens inside runs, all on Adult at δ = 10⁻⁵."""

    names: tuple[str, ...]
    real: tuple[tuple[float, ...], ...]
    """Mutual information of the real tables' pairs: Adult's, then Bank's."""
    columns: tuple[tuple[str, ...], ...]
    """Their columns."""
    curves: Mapping[str, BudgetCurve]
    """By "ε W(k)"."""
    paces: Mapping[str, Sequence[int]]
    """By the same: how often the pace changed before the last round, run by run."""
    errors: Sequence[Sequence[tuple[int, float, float, float]]]
    """(step, 1-, 2-, 3-way error), run by run; step 0 is the uniform table."""
    first: int
    """Steps of the initialisation."""
    choices: Sequence[ChosenStep]
    version: str
    code: str

    def to_json(self) -> str:
        """One JSON text."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Steps:
        """What `to_json` wrote."""
        fields = json.loads(text)
        return cls(
            tuple(fields["names"]),
            tuple(map(tuple, fields["real"])),
            tuple(map(tuple, fields["columns"])),
            {key: BudgetCurve(**curve) for key, curve in fields["curves"].items()},
            fields["paces"],
            [[tuple(step) for step in run] for run in fields["errors"]],
            fields["first"],
            [
                ChosenStep([tuple(p) for p in c["pairs"]], c["chosen_error"], c["other_error"])
                for c in fields["choices"]
            ],
            fields["version"],
            fields["code"],
        )


def code() -> str:
    """Today's digest of the code behind a look inside runs."""
    return code_of(f"{__name__}:inside", "kagemusha.synthesizers.aim")


CASES = ((1.0, 2), (1.0, 3), (5.0, 2), (5.0, 3))


def inside(
    tables: Mapping[str, PaperTable],
    *,
    runs: int,
    curves: int,
    steps: int,
    points: int,
    progress: Callable[[str, float], None],
) -> Steps:
    """Look inside `runs` runs of aim-k2 on Adult: choices of all, errors step by step of `steps`; paces of `curves`."""
    table = tables["adult"]
    source = source_of(table)
    found: dict[str, BudgetCurve] = {}
    changes: dict[str, list[int]] = {}
    for at, (epsilon, degree) in enumerate(CASES):
        key = f"ε = {epsilon:g}, W({degree})"
        progress(f"budget curve, {key}", 0.1 * at)
        models = [fitted(source, BY_NAME[f"aim-k{degree}"], epsilon, seed, delta=1e-5) for seed in range(curves)]
        found[key] = budget_curve(models[0], 1e-5, points=points)
        changes[key] = [paces(model) for model in models]
    models = []
    for seed in range(runs):
        progress(f"choices, run {seed + 1}", 0.4 + 0.3 * seed / runs)
        models.append(fitted(source, BY_NAME["aim-k2"], 1.0, seed, delta=1e-5))
    first = sum(len(m.clique) == 1 for m in models[0].measurements[: len(models[0].domain)])
    errors = []
    for seed in range(steps):
        progress(f"errors after each step, run {seed + 1}", 0.7 + 0.3 * seed / steps)
        errors.append(step_errors(table, models[seed]))
    return Steps(
        table.table.domain.names,
        tuple(tuple(round(float(v), 5) for v in information_matrix(t.table).pairs()) for t in tables.values()),
        tuple(t.table.domain.names for t in tables.values()),
        found,
        changes,
        errors,
        first,
        [choice_of(table, model) for model in models],
        __version__,
        code(),
    )
