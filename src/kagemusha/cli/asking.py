"""Questions that are paid for: what `totals` and `schema check --epsilon` have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import typer

from kagemusha.cli.options import ledger_path
from kagemusha.cli.output import cap_summary, plain, say
from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Adjacency

if TYPE_CHECKING:
    from kagemusha.certificate.certificate import Certificate
    from kagemusha.ledger import Cap
    from kagemusha.queries.query import Choice, Query
    from kagemusha.release.asking import Answered
    from kagemusha.sources import Source

Released = TypeVar("Released")

CapOption = Annotated[
    float | None,
    typer.Option(help="The most ε that all releases of this data set may cost together; set before the first one."),
]
KeyOption = Annotated[
    str, typer.Option(help="Name of this question; another key asks (and pays) again, with fresh noise.")
]

NO_CAP = (
    "the ledger holds no cap for this table, and a question would leave its own ε as the cap of all that follows: say "
    "with --cap, such as --cap 3, what all releases of it may cost together"
)

WITHIN_95 = 1.959963984540054
"""Deviations of noise that 95 of 100 answers stay within."""


@dataclass(frozen=True)
class Payment:
    """What a question may cost, and out of which cap of which ledger."""

    epsilon: float
    delta: float
    adjacency: str
    ledger: str | None
    dataset: str | None
    policy: str
    cap: float | None
    key: str


@dataclass(frozen=True, eq=False)
class PaidAnswer(Generic[Released]):
    """An answer, and where it was paid for."""

    answer: Released
    certificate: Certificate
    ledger: str | Path
    cap: Cap | None

    def to_json(self) -> dict[str, Any]:
        """What was paid, for machines."""
        from kagemusha.ledger import ledger_shown

        promised = self.certificate.promised
        return {
            "epsilon": self.certificate.epsilon,
            "delta": promised.delta,
            "adjacency": str(promised.adjacency),
            "release": self.certificate.release,
            "ledger": ledger_shown(self.ledger),
            "cap": cap_summary(self.cap),
        }

    def say(self) -> None:
        """What was paid, for people."""
        from kagemusha.ledger import ledger_shown

        whom = self.certificate.of_whom
        say(
            f"Paid: {self.certificate.promised.in_words()}. It is about one {whom}. Ledger: "
            f"{plain(ledger_shown(self.ledger))}"
        )
        say("The same command again costs nothing and gives the same numbers. They may be published.")

    def save(self, path: Path | None) -> None:
        """Write the certificate, if it is wanted."""
        if path is not None:
            from kagemusha.files import write_whole

            write_whole(path, self.certificate.to_json().encode())


def ask(data: str, source: Source, query: Query[Released], payment: Payment, **given: Any) -> PaidAnswer[Released]:
    """The answer of a question, paid for in the ledger first; what is `given` beside it goes to `settled`."""
    from kagemusha.release.asking import ask as answered

    return _paid(data, source, payment, lambda budget, cap, **how: answered(source, query, budget, **given, **how))


def choose(data: str, source: Source, query: Choice[Any], payment: Payment) -> PaidAnswer[Any]:
    """The position of a candidate with a high score, paid for in the ledger first; or noisy scores of all of them.

    By the exponential mechanism, whose price knows no number of candidates, where the rule of the cap can hold that; a
    cap that adds up by Gaussian DP holds Gaussian scores.
    """
    from kagemusha.privacy.spend import CapRule
    from kagemusha.release.asking import ask as answered
    from kagemusha.release.asking import choose as chosen

    def asked(budget: Any, cap: Cap | None, **how: Any) -> Answered[Any]:
        gaussian = cap is None or cap.rule in (None, CapRule.GDP)
        return (answered if gaussian else chosen)(source, query, budget, **how)

    return _paid(data, source, payment, asked)


def _paid(
    data: str, source: Source, payment: Payment, asked: Callable[..., Answered[Released]]
) -> PaidAnswer[Released]:
    from kagemusha.ledger import Cap, ledger_exists, open_ledger, witnesses_near
    from kagemusha.ledger.protocol import require_named
    from kagemusha.making.order import find_cap, require_cap_fits, settle_cap
    from kagemusha.privacy.budget import Budget, require_promise
    from kagemusha.release.curator import require_confirmed

    budget = Budget(payment.epsilon, payment.delta, Adjacency.named(payment.adjacency))
    require_promise(budget)
    require_cap_fits(payment.cap, payment.epsilon)
    require_confirmed(source.schema)
    where = ledger_path(payment.ledger, data)
    name = require_named(payment.dataset or source.name)
    capped = replace(budget, epsilon=payment.cap or budget.epsilon, rows=source.schema.unit.max_rows)
    if payment.cap is None and not ledger_exists(where):
        raise UsageError(NO_CAP)
    book = open_ledger(where, witnesses=witnesses_near([data]))
    if not settle_cap(book, Cap(name, payment.policy, capped), asked=payment.cap is not None):
        raise UsageError(NO_CAP)
    cap = find_cap(book, name, payment.policy)
    found = asked(budget, cap, ledger=book, dataset=name, policy=payment.policy, key=payment.key)
    return PaidAnswer(found.answer, found.certificate, where, find_cap(book, name, payment.policy))


def require_free(path: Path | None) -> None:
    """Refuse a file that is there, before anything is paid."""
    if path is not None and path.exists():
        raise UsageError(f"--certificate {path} already exists; choose another name")
