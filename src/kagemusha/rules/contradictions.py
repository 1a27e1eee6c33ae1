"""Rules that cannot all hold: found before anything is read, and shown as the smallest set that clashes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from kagemusha.errors import SchemaError
from kagemusha.rules.structural_zeros import StructuralZeros
from kagemusha.rules.witness import reached, witness
from kagemusha.rules.zeros_of_rules import bounds, zeros_of_rules
from kagemusha.schema import Schema
from kagemusha.schema.constraints import Constraint, Equation, Inequality
from kagemusha.schema.laws import in_force, substituted

MOST_SETS = 500
"""Sets of rules of one size that are tried in search of the smallest contradiction."""

STEP = 1e-5
"""How much less than a strict bound a real number must be to count as less: more than the solver's own tolerance."""


def require_consistent(schema: Schema) -> None:
    """A `SchemaError` that names the smallest contradiction, if the rules in force have one."""
    clash = contradiction(schema)
    if clash:
        rules = " and ".join(f"{rule.rule!r}" for rule in clash)
        alone = len(clash) == 1
        raise SchemaError(f"constraint {rules}: no row can obey {'it' if alone else 'them together'}")


def contradiction(schema: Schema) -> tuple[Constraint, ...]:
    """The fewest rules that no row can obey together; empty if there is no contradiction.

    Where there are too many sets of rules to try, none of those named can be left out, but fewer others may clash as
    well.

    Where the search would take too long, the rules count as consistent: drawing then says what it cannot find.
    """
    rules = in_force(schema)
    if not rules or _satisfiable(schema, rules):
        return ()
    kept = list(rules)
    for rule in rules:
        fewer = [other for other in kept if other is not rule]
        if not _satisfiable(schema, fewer):
            kept = fewer
    for size in range(1, len(kept)):
        if math.comb(len(rules), size) > MOST_SETS:
            break
        for few in combinations(rules, size):
            if not _satisfiable(schema, few):
                return few
    return tuple(kept)


def dead_codes(schema: Schema, most: int = 64) -> dict[str, list[str]]:
    """Values that the rules leave to no row at all: of each column of few labels, their names."""
    rules = in_force(schema)
    zeros = zeros_of_rules(schema.with_constraints(*rules))
    found: dict[str, list[str]] = {}
    for column in schema.modelled:
        touching = reached({column.name}, zeros)
        if not touching or column.size > most or column.axis is not None:
            continue
        names = sorted({name for zero in touching for name in zero.clique})
        for code in range(column.size):
            if code == column.unseen_code:
                continue  # nobody has it by design
            pin = np.arange(column.size) != code
            if _witness(schema, names, [*touching, StructuralZeros("", (column.name,), pin)], ()) is False:
                found.setdefault(column.name, []).append(column.code_names[code])
    return found


def _satisfiable(schema: Schema, rules: Sequence[Constraint]) -> bool:
    zeros = zeros_of_rules(schema.with_constraints(*rules, *_equations(schema, rules)))
    found = (substituted(schema, r.law) for r in rules if isinstance(r.law, Inequality))
    orders = [law for law in found if law is not None and law.factors]
    names = sorted({n for zero in zeros for n in zero.clique} | {n for law in orders for n in law.factors})
    if not names:
        return True
    return _witness(schema, names, zeros, orders) is not False


def _equations(schema: Schema, rules: Sequence[Constraint]) -> list[Constraint]:
    """Equations decide which columns are modelled, so they stay; they cannot be broken."""
    return [rule for rule in in_force(schema) if isinstance(rule.law, Equation) and rule not in rules]


def _witness(
    schema: Schema, names: Sequence[str], zeros: Sequence[StructuralZeros], orders: Sequence[Inequality]
) -> bool | None:
    """Whether some row obeys; None if that is unknown."""
    if orders and not _feasible(schema, orders, {}):
        return False

    def fits(codes: Mapping[str, int]) -> bool:
        return _feasible(schema, orders, codes)

    rng = np.random.default_rng(0)
    try:
        found = witness(schema.domain, names, zeros, {}, rng, fits=fits if orders else None)
    except TimeoutError:
        return None
    return found is not None


def _feasible(schema: Schema, orders: Sequence[Inequality], codes: Mapping[str, int]) -> bool:
    """Whether numbers inside the bins of some codes (of columns without a code: anywhere) fulfil all orders."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    speaking = [law for law in orders if all(_number(schema, n, codes) for n in law.factors)]
    if not speaking:
        return True
    names = sorted({n for law in speaking for n in law.factors})
    lows, highs, whole = [], [], []
    for name in names:
        column = schema.axis(name)
        low, high = bounds(column)
        at = codes.get(name)
        lows.append(float(low[0] if at is None else low[at]))
        highs.append(float(high[-1] if at is None else high[at]))
        whole.append(int(column.whole and column.steps == 1))
    matrix = np.array([[law.factors.get(name, 0.0) for name in names] for law in speaking])
    numbers = dict(zip(names, whole, strict=True))
    limits = np.array([_limit(law, all(numbers[name] for name in law.factors)) for law in speaking])
    found = milp(
        np.zeros(len(names)),
        constraints=LinearConstraint(matrix, ub=limits),
        bounds=Bounds(np.array(lows), np.array(highs)),
        integrality=np.array(whole),
        options={"time_limit": 1.0},
    )
    return bool(found.status != 2)


def _limit(law: Inequality, whole: bool) -> float:
    """The most that a sum may be; less than a bound is one less where all of it is whole."""
    if not law.strict:
        return law.bound
    if whole and all(float(factor).is_integer() for factor in law.factors.values()):
        return math.ceil(law.bound) - 1.0
    return law.bound - STEP


def _number(schema: Schema, name: str, codes: Mapping[str, int]) -> bool:
    """Whether a column surely has a number: without a code, where it cannot have anything else."""
    column = schema.axis(name)
    return codes[name] < column.n_values if name in codes else column.size == column.n_values
