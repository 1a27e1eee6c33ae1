"""Every check of the contract finds the method that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from kagemusha.generators.markov import MarkovGenerator
from kagemusha.progress import Progress, silent
from kagemusha.release.curator import Curator
from kagemusha.synthesizers import contract
from kagemusha.synthesizers.contract import CHECKS, BrokenPromise, check_synthesizer
from kagemusha.synthesizers.independent import Independent
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer


@dataclass(frozen=True, eq=False)
class OutOfDomain(MarkovGenerator):
    def sample(self, rows: int, **options: Any) -> Any:
        return super().sample(rows, **options) + 1


@dataclass(frozen=True, eq=False)
class Deaf(MarkovGenerator):
    """Does not hear `where`."""

    def sample(self, rows: int, *, where: Any = None, **options: Any) -> Any:
        return super().sample(rows, **options)


@dataclass(frozen=True, eq=False)
class Boastful(MarkovGenerator):
    """Expects another table than it draws."""

    def project_many(self, cliques: Any) -> Any:
        return [np.full_like(t, self.total / t.size) for t in super().project_many(cliques)]


@dataclass(frozen=True, eq=False)
class TwoFaced(MarkovGenerator):
    """Says one thing of a clique alone and another of it among others."""

    def project_many(self, cliques: Any) -> Any:
        found = super().project_many(cliques)
        return found if len(cliques) == 1 else [np.full_like(t, self.total / t.size) for t in found]


@dataclass(frozen=True, eq=False)
class Forgetful(MarkovGenerator):
    """Loses its potentials on the way to the file."""

    def to_arrays(self) -> Any:
        meta, arrays = super().to_arrays()
        return meta, {name: 0 * array for name, array in arrays.items()}


@dataclass(frozen=True, kw_only=True)
class Wrapped(Independent):
    """`independent` with another generator in place of its own."""

    generator: ClassVar[type[MarkovGenerator]]

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        fitted = super().build(curator, progress=progress)
        return replace(fitted, generator=self.generator(fitted.generator.field))  # type: ignore[attr-defined]


def wrapped(kind: type[MarkovGenerator]) -> Synthesizer:
    return type("Wrapped", (Wrapped,), {"generator": kind})()  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class Restless(Independent):
    """Draws from a generator of its own, so that a simulation does not repeat."""

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        fitted = super().build(curator, progress=progress)
        field = fitted.generator.field  # type: ignore[attr-defined]
        shaken = {c: p + np.random.default_rng().normal(size=p.shape) for c, p in field.potentials.items()}
        return replace(fitted, generator=MarkovGenerator(type(field).build(field.domain, field.total, shaken)))


@dataclass(frozen=True, kw_only=True)
class Secretive(Independent):
    """Reads the table without protection and calls itself private."""

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        curator.unprotected("for a look")
        return super().build(curator, progress=progress)


@dataclass(frozen=True, kw_only=True)
class Peeping(Independent):
    """Tells by the kind of its generator whether an odd record is there."""

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        fitted = super().build(curator, progress=progress)
        odd = curator.unprotected("for a look").rows() % 2
        return replace(fitted, generator=Odd(fitted.generator.field) if odd else fitted.generator)  # type: ignore[attr-defined]


@dataclass(frozen=True, kw_only=True)
class Hasty(Independent):
    """Trusts that the first batch is like the others."""

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        fitted = super().build(curator, progress=progress)
        first = next(batch for batch in curator.unprotected("for a look").batches() if len(batch[0]))
        field = fitted.generator.field  # type: ignore[attr-defined]
        moved = {c: p + np.arange(p.size).reshape(p.shape) * first[1][0] for c, p in field.potentials.items()}
        return replace(fitted, generator=MarkovGenerator(type(field).build(field.domain, field.total, moved)))


@dataclass(frozen=True, eq=False)
class Odd(MarkovGenerator):
    kind: ClassVar[str] = "odd"


@dataclass(frozen=True, kw_only=True)
class Vague(Independent):
    def plan(self, *arguments: Any) -> Plan:
        return replace(super().plan(*arguments), steps=[("something", 0.5)])


BREAKERS: list[tuple[Callable[[Synthesizer], None], Synthesizer, str]] = [
    (contract.check_samples_fit_the_schema, wrapped(OutOfDomain), "outside the domain"),
    (contract.check_same_frame_type_out, wrapped(Deaf), "have a bmi"),
    (contract.check_project_agrees_with_samples, wrapped(Boastful), "disagree"),
    (contract.check_project_agrees_with_samples, wrapped(TwoFaced), "`project_many`"),
    (contract.check_saving_keeps_everything, wrapped(Forgetful), "loaded model"),
    (contract.check_seeded_only_as_simulation, Restless(), "did not repeat"),
    (contract.check_seeded_only_as_simulation, Secretive(), "`private` disagree"),
    (contract.check_budget_is_never_passed, Secretive(), "used inf"),
    (contract.check_neither_order_nor_cuts_matter, Hasty(), "the order of rows"),
    (contract.check_neighbours_give_the_same_structure, Peeping(), "one record changed"),
    (contract.check_plan_reads_nothing, Vague(), "sum to 0.5"),
]


@pytest.mark.parametrize(("check", "breaker", "words"), BREAKERS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_check_finds_who_breaks_it(check: Callable[[Synthesizer], None], breaker: Synthesizer, words: str) -> None:
    check(Independent())
    with pytest.raises(BrokenPromise, match=words):
        check(breaker)
    with pytest.raises(BrokenPromise):
        check_synthesizer(breaker)


def test_every_check_has_its_breaker() -> None:
    assert {check for check, _, _ in BREAKERS} == set(CHECKS)
