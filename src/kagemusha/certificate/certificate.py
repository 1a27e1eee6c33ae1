"""The certificate: what was promised, what was read, what it cost, and what the promise rests on.

A certificate is one canonical JSON text. It carries a digest of itself, so a careless edit shows; and everything in it
that can be computed is computed again by `verify`, so an edit with a corrected digest shows if it does not agree with
the rest. It is no signature: a consistent edit does not show.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

from kagemusha.certificate import sentences
from kagemusha.errors import UsageError, VerifyError
from kagemusha.files import parse_json
from kagemusha.pages import card, short
from kagemusha.privacy.accountants import ACCOUNTANTS, PLD, RDP, ZCDP, Accountant, Accounting
from kagemusha.privacy.budget import Adjacency, Budget, is_whole
from kagemusha.privacy.events import Event, event_from_json


@lru_cache(maxsize=16)
def totals(events: tuple[Event, ...], accounting: Accounting, delta: float) -> Mapping[str, float]:
    """Kept, because a certificate is bound, written and shown one after the other, and composition takes a while."""
    accountants: list[Accountant] = [ZCDP(), RDP(), PLD()]
    own = ACCOUNTANTS[accounting]
    if own.name not in {a.name for a in accountants}:
        accountants.insert(0, own)
    found = {}
    for one in accountants:
        with suppress(ModuleNotFoundError):  # in a small install some cannot be recomputed, and `verify` says which
            found[one.name] = one.epsilon(events, delta)
    return MappingProxyType(found)


T = TypeVar("T")
FORMAT = "kagemusha-certificate/3"


def scope(rows: int = 1, column: str | None = None) -> tuple[str, ...]:
    """The sentences about whom and what the promise covers."""
    whom = sentences.PERSON if column is not None else sentences.KNOWN if rows > 1 else sentences.ROW
    stated = (sentence.format(rows=rows, column=column) for sentence in whom)
    return (*stated, *sentences.ALONE, *sentences.KNOWS)


ASSUMPTIONS = (*sentences.DECLARED, *sentences.TRUST, *scope())


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


def _float(value: Any) -> float:
    return math.inf if value == "inf" else float(value)


def _of(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{kind.__name__} expected, got {type(value).__name__}")
    return value


def _texts(value: Any) -> dict[str, str]:
    return {name: _of(str, text) for name, text in _of(dict, value).items()}


@dataclass(frozen=True)
class Certificate:
    """Everything a third party needs to re-check a release without the data."""

    promised: Budget
    accounting: Accounting
    method: str
    parameters: Mapping[str, Any]
    events: Sequence[Event]
    simulated: bool
    adaptive: bool
    schema_digest: str
    dataset: str
    release: str
    version: str
    created: str
    assumptions: Sequence[str] = ASSUMPTIONS
    outputs: Mapping[str, str] | None = None
    """File name → SHA-256 of its bytes, for the files released together with this certificate."""
    policy: str = ""
    """Name of the cap in the ledger that the release drew from."""
    page: Mapping[str, str] | None = None
    """What the page for people is and what made it, see `page.record`."""
    ledger: Mapping[str, Any] | None = None
    """Head of the ledger's chain of changes when the release was closed; None for a ledger in memory."""
    unit_column: str | None = None
    """The column whose values tell persons apart; None where every row stands for one, or a bound is known."""
    package: str | None = None
    """The package, with its version, whose code the method is; None for our own."""

    def __repr__(self) -> str:
        return f"<Certificate of {short(self.dataset)}, {self.created}: {short(self.method)}, {self.promise}>"

    def _repr_html_(self) -> str:
        return card("A certificate", self.facts)

    @property
    def promise(self) -> str:
        """What holds, as a short phrase."""
        return "ε = ∞ (no guarantee)" if self.broken_because else self.promised.in_words()

    @property
    def facts(self) -> dict[str, str]:
        """What a reader asks first."""
        fields = {"guarantee": self.promise, "method": self.method, "data set": self.dataset, "made on": self.created}
        return fields | {f"no guarantee because ({i})": why for i, why in enumerate(self.broken_because, 1)}

    @property
    def required_assumptions(self) -> tuple[str, ...]:
        """The sentences that every certificate of this format and kind carries."""
        declared = sentences.DISCOVERED if "discovered" in self.parameters else sentences.DECLARED
        floating = sentences.FLOATING if self._is_trained else ()
        generated = sentences.GENERATED if any(event.drawn_rows for event in self.events) else ()
        whom = scope(self.promised.rows, self.unit_column) if len(self.tables) < 2 else sentences.related(self.tables)
        foreign = () if self.package is None else (s.format(package=self.package) for s in sentences.FOREIGN)
        return (*declared, *sentences.TRUST, *whom, *floating, *generated, *foreign)

    @property
    def added(self) -> list[str]:
        """The other sentences: of the method, of the schema, or of the publisher's own."""
        return [sentence for sentence in self.assumptions if sentence not in self.required_assumptions]

    @property
    def tables(self) -> Mapping[str, int]:
        """The tables of the release, and as how many rows of each a record counts; a single table has no name."""
        stated = self.parameters.get("tables", {"": 1})
        return stated if isinstance(stated, Mapping) and all(map(is_whole, stated.values())) else {}

    @property
    def _is_trained(self) -> bool:
        return any(event.sampled_steps for event in self.events)

    @property
    def of_whom(self) -> str:
        """Whether the promise is about a person or about a row."""
        return "row" if self.promised.rows == 1 and self.unit_column is None else "person"

    def with_assumptions(self, remarks: Sequence[str] = ()) -> Certificate:
        """The same certificate with the sentences its kind needs, and some of the method's own."""
        return replace(self, assumptions=(*self.required_assumptions, *remarks))

    @property
    def broken_because(self) -> list[str]:
        """Why there is no guarantee; empty when there is one."""
        reasons = [why for event in self.events if (why := event.broken_because)]
        if self.simulated:
            reasons.append("simulation: the noise came from a seed, so anyone who knows the seed can remove it")
        if not self.promised.is_finite:
            reasons.append("no finite ε was asked for")
        return reasons

    @property
    def noise(self) -> str:
        """What kind of noise was drawn."""
        if self.simulated:
            return "simulated"
        if self._is_trained:
            return "exact integers; in training, integers rounded from doubles"
        return "exact integers" if any(event.is_protected for event in self.events) else "none"

    @property
    def epsilon(self) -> float:
        """The guaranteed ε: what was promised, or ∞ when anything non-private happened."""
        return math.inf if self.broken_because else self.promised.epsilon

    @property
    def totals(self) -> Mapping[str, float]:
        """ε of everything charged, at the promised δ, under each accountant side by side."""
        delta = self.promised.delta if self.promised.delta > 0 else 1e-9
        return totals(tuple(self.events), self.accounting, delta)

    def with_outputs(self, outputs: Mapping[str, str]) -> Certificate:
        """The same certificate, bound to released files and to the page that will show it."""
        from kagemusha.certificate.page import record

        bound = replace(self, outputs=dict(sorted(outputs.items())))
        return replace(bound, page=record(bound))

    def to_json(self) -> str:
        """The canonical text; its last field is the SHA-256 of the text without that field."""
        return with_digest(canonical(self.body()))[0]

    def digest(self) -> str:
        """SHA-256 over everything but the digest itself."""
        return with_digest(canonical(self.body()))[1]

    def body(self) -> dict[str, Any]:
        """All fields but the digest, as plain data."""
        promised = self.promised
        return {
            "format": FORMAT,
            "software": {"name": "kagemusha", "version": self.version},
            "created": self.created,
            "data set": self.dataset,
            "release": self.release,
            "policy": self.policy,
            "ledger": self.ledger and dict(self.ledger),
            "promised": {
                "epsilon": _number(promised.epsilon),
                "delta": promised.delta,
                "adjacency": str(promised.adjacency),
                "unit": {"rows": promised.rows, "column": self.unit_column},
            },
            "guarantee": {
                "epsilon": _number(self.epsilon),
                "delta": promised.delta,
                "accounting": str(self.accounting),
                "broken because": self.broken_because,
            },
            "method": {
                "name": self.method,
                "parameters": dict(self.parameters),
                "adaptive": self.adaptive,
                **({} if self.package is None else {"package": self.package}),
            },
            "events": [event.to_json() for event in self.events],
            "totals": {
                "at delta": promised.delta if promised.delta > 0 else 1e-9,
                **{name: _number(value) for name, value in self.totals.items()},
            },
            "noise": self.noise,
            "assumptions": list(self.assumptions),
            "schema digest": self.schema_digest,
            "outputs": dict(self.outputs or {}),
            "page": self.page and dict(self.page),
        }

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate; anything missing or malformed is a VerifyError."""
        try:
            data = parse_json(text)
            if data["format"] != FORMAT:
                raise VerifyError(f"certificate: format {data['format']!r} is not {FORMAT!r}")
            promised = data["promised"]
            unit = promised["unit"]
            return cls(
                promised=Budget(
                    _float(promised["epsilon"]), promised["delta"], Adjacency(promised["adjacency"]), unit["rows"]
                ),
                ledger=None if data["ledger"] is None else _of(dict, data["ledger"]),
                unit_column=None if unit["column"] is None else _of(str, unit["column"]),
                accounting=Accounting(data["guarantee"]["accounting"]),
                method=_of(str, data["method"]["name"]),
                parameters=_of(dict, data["method"]["parameters"]),
                adaptive=_of(bool, data["method"]["adaptive"]),
                package=_of(str, data["method"]["package"]) if "package" in data["method"] else None,
                events=_events_from_json(data["events"]),
                simulated=data["noise"] == "simulated",
                schema_digest=_of(str, data["schema digest"]),
                dataset=_of(str, data["data set"]),
                release=_of(str, data["release"]),
                version=_of(str, data["software"]["version"]),
                created=_of(str, data["created"]),
                assumptions=tuple(_of(str, sentence) for sentence in _of(list, data["assumptions"])),
                outputs=_texts(data["outputs"]),
                policy=_of(str, data["policy"]),
                page=None if data["page"] is None else _texts(data["page"]),
            )
        except VerifyError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, UsageError) as error:
            raise VerifyError(f"certificate: not readable ({type(error).__name__}: {error})") from None


def with_digest(body: str) -> tuple[str, str]:
    """The canonical text of a certificate from that of its body, and the digest that was added as its last field."""
    digest = hashlib.sha256(body.encode()).hexdigest()
    return body.removesuffix("\n}\n") + f',\n "digest": "{digest}"\n}}\n', digest


def _events_from_json(listed: Any) -> tuple[Event, ...]:
    """Events that say the same become one object: a certificate may hold a hundred thousand of them."""
    known: dict[str, Event] = {}
    found = []
    for data in listed:
        text = json.dumps(data)
        if text not in known:
            known[text] = event_from_json(data)
        found.append(known[text])
    return tuple(found)


def canonical(data: Mapping[str, Any]) -> str:
    """The one way this data is written down, so that every byte of a certificate is accounted for."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
