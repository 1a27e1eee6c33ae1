"""The certificate: what was promised, what was read, what it cost, and what the promise rests on.

A certificate is one canonical JSON text. It carries a digest of itself, so an edit shows; and everything in it that
can be computed is computed again by `verify`, so an edit with a corrected digest shows too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from kagemusha.errors import UsageError, VerifyError
from kagemusha.privacy.accountants import PLD, RDP, ZCDP, Accountant, Accounting, accountant_for
from kagemusha.privacy.adjacency import Adjacency
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event, UnprotectedEvent, event_from_json

FORMAT = "kagemusha-certificate/1"

ASSUMPTIONS = (
    "The schema (columns, categories, bounds, bins) was declared from public knowledge, not read off this table.",
    "The person and the computer that ran this were trusted with the table: the promise covers what was released, "
    "not who could look over their shoulder.",
    "Running time, memory use and log files of the run were not shown to an attacker.",
    "The promise covers one row. Someone with several rows in the table is protected less: with k rows, ε becomes k times as large.",
)

DISCOVERED_ASSUMPTIONS = (
    "Column names, kinds and whether values may be missing were declared from public knowledge, not read off this "
    "table; categories and bounds that were left open were found with a share of the budget, as the events show.",
    *ASSUMPTIONS[1:],
)


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


def _float(value: Any) -> float:
    return math.inf if value == "inf" else float(value)


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

    @property
    def broken_because(self) -> list[str]:
        """Why there is no guarantee; empty when there is one."""
        reasons = [e.reason for e in self.events if isinstance(e, UnprotectedEvent)]
        if self.simulated:
            reasons.append("simulation: the noise came from a seed, so anyone who knows the seed can remove it")
        if not self.promised.is_finite:
            reasons.append("no finite ε was asked for")
        return reasons

    @property
    def epsilon(self) -> float:
        """The guaranteed ε: what was promised, or ∞ when anything non-private happened."""
        return math.inf if self.broken_because else self.promised.epsilon

    @cached_property
    def totals(self) -> Mapping[str, float]:
        """ε of everything charged, at the promised δ, under each accountant side by side."""
        accountants: list[Accountant] = [ZCDP(), RDP(), PLD()]
        if self.accounting.value not in {a.name for a in accountants}:
            accountants.insert(0, accountant_for(self.accounting))
        delta = self.promised.delta if self.promised.delta > 0 else 1e-9
        return {a.name: a.epsilon(self.events, delta) for a in accountants}

    def with_outputs(self, outputs: Mapping[str, str]) -> Certificate:
        """The same certificate, bound to released files."""
        return replace(self, outputs=dict(sorted(outputs.items())))

    def to_json(self) -> str:
        """The canonical text; its last field is the SHA-256 of the text without that field."""
        body = self._body()
        digest = hashlib.sha256(canonical(body).encode()).hexdigest()
        return canonical({**body, "digest": digest})

    def digest(self) -> str:
        """SHA-256 over everything but the digest itself."""
        return str(json.loads(self.to_json())["digest"])

    def _body(self) -> dict[str, Any]:
        promised = self.promised
        return {
            "format": FORMAT,
            "software": {"name": "kagemusha", "version": self.version},
            "created": self.created,
            "data set": self.dataset,
            "release": self.release,
            "promised": {
                "epsilon": _number(promised.epsilon),
                "delta": promised.delta,
                "adjacency": str(promised.adjacency),
            },
            "guarantee": {
                "epsilon": _number(self.epsilon),
                "delta": promised.delta,
                "accounting": str(self.accounting),
                "broken because": self.broken_because,
            },
            "method": {"name": self.method, "parameters": dict(self.parameters), "adaptive": self.adaptive},
            "events": [event.to_json() for event in self.events],
            "totals": {
                "at delta": promised.delta if promised.delta > 0 else 1e-9,
                **{name: _number(value) for name, value in self.totals.items()},
            },
            "noise": "simulated" if self.simulated else "exact integers",
            "assumptions": list(self.assumptions),
            "schema digest": self.schema_digest,
            "outputs": dict(self.outputs or {}),
        }

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate; anything missing or malformed is a VerifyError."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise VerifyError(f"certificate: format {data['format']!r} is not {FORMAT!r}")
            promised = data["promised"]
            return cls(
                promised=Budget(_float(promised["epsilon"]), promised["delta"], Adjacency(promised["adjacency"])),
                accounting=Accounting(data["guarantee"]["accounting"]),
                method=data["method"]["name"],
                parameters=data["method"]["parameters"],
                adaptive=data["method"]["adaptive"],
                events=tuple(event_from_json(event) for event in data["events"]),
                simulated=data["noise"] == "simulated",
                schema_digest=data["schema digest"],
                dataset=data["data set"],
                release=data["release"],
                version=data["software"]["version"],
                created=data["created"],
                assumptions=tuple(data["assumptions"]),
                outputs=data["outputs"],
            )
        except VerifyError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, UsageError) as error:
            raise VerifyError(f"certificate: not readable ({type(error).__name__}: {error})") from None


def canonical(data: Mapping[str, Any]) -> str:
    """The one way this data is written down, so that every byte of a certificate is accounted for."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
