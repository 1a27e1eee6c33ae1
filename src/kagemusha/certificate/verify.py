"""Re-check a certificate offline: recompute every number and hash, and name whatever does not match."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kagemusha.certificate import sentences
from kagemusha.certificate.beside import file_checks, released_schema
from kagemusha.certificate.certificate import Certificate, canonical, with_digest
from kagemusha.certificate.check import Check as Check
from kagemusha.certificate.check import all_passed as all_passed
from kagemusha.certificate.inventory import CERTIFICATE, Inventory, read_certificate
from kagemusha.certificate.sensitivities import wrong_sensitivities
from kagemusha.errors import PrivacyError, VerifyError
from kagemusha.files import StrangeFileError, parse_json
from kagemusha.privacy.accountants import ACCOUNTANTS, PLD
from kagemusha.privacy.budget import MOST_DELTA
from kagemusha.privacy.filter import UNIT, Cost, cost_of, limit_of
from kagemusha.schema.declared import Declared

MOST_EVENTS, MOST_COSTS, MOST_PURE, MOST_SAMPLED = 100_000, 5_000, 500, 10
"""Events, events of different costs, those of choices and Laplace answers among them, and sampled steps: composing more
takes minutes, and no method of ours comes near."""

MOST_RHO, MOST_STEPS, MOST_WORK = 5_000.0, 1_000_000, 1e7
"""The largest ρ, the most sampled steps and the most cells of distributions (`PLD.work`) that are composed: beyond any
release of ours, and with more of them verification would take minutes and gigabytes."""

LACKING = "not recomputed: {what} is not installed here; a full install does it"
"""What is said in an auditor's small install."""


@dataclass(frozen=True)
class Opened:
    """A certificate as it was read, and the files around it."""

    path: Path
    text: str
    certificate: Certificate
    inventory: Inventory

    @property
    def digest(self) -> str:
        """The digest that the certificate states, by which a ledger knows it."""
        return str(parse_json(self.text).get("digest"))


def verify(certificate_path: Path) -> list[Check]:
    """Every check on a certificate and on the files released beside it; what cannot be read is a VerifyError.

    The model among them is only held to its hash here; `models.verify` looks into it, and asks who signed.
    """
    return certificate_checks(open_certificate(certificate_path))


def open_certificate(path: Path) -> Opened:
    """Read a certificate and look at the files around it.

    None if it lies by itself, under another name and naming none.
    """
    with _refusing(path):
        text = read_certificate(path)
        certificate = Certificate.from_json(text)
        alone = path.name != CERTIFICATE and not certificate.outputs
        inventory = Inventory(path.parent, frozenset(), {}) if alone else Inventory.of(path.parent)
        return Opened(path, text, certificate, inventory)


def certificate_checks(opened: Opened) -> list[Check]:
    """All that can be checked without looking into the model."""
    with _refusing(opened.path):
        certificate, given = opened.certificate, parse_json(opened.text)
        edited = _digest_check(opened.path, opened.text, given)
        if not edited.passed:
            return [edited]  # nothing an edited certificate says is worth checking further
        limits = _limits_check(certificate)
        if not limits.passed:
            return [edited, limits]  # what follows would take for ever
        schema = released_schema(opened.inventory, certificate)
        return [
            edited,
            *_content_checks(certificate, given, schema),
            *file_checks(opened.inventory, certificate, given["digest"]),
        ]


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Whoever wrote the file, and whatever is in it, the answer is that it does not hold."""
    try:
        yield
    except (VerifyError, StrangeFileError) as error:
        raise VerifyError(f"{path}: {error}") from None
    except Exception as error:
        raise VerifyError(f"{path}: cannot be read as a certificate ({type(error).__name__})") from None


def _content_checks(certificate: Certificate, given: dict[str, Any], schema: Declared | None) -> list[Check]:
    computed = json.loads(json.dumps(certificate.body()))
    return [
        _form_check(given, computed),
        *_totals_checks(given, computed),
        _guarantee_check(given, computed),
        _delta_check(certificate),
        _filter_check(certificate),
        _sensitivity_check(certificate, schema),
        _assumptions_check(certificate),
        *([] if certificate.package is None else [_package_check(certificate.package)]),
        *([] if schema is None else [_unit_check(certificate, schema)]),
        *([] if schema is None or schema.weight is None else [_weight_check(certificate, schema)]),
    ]


def _limits_check(certificate: Certificate) -> Check:
    """Composition of hostile events could go on for ever, or fill the memory."""
    counted = Counter(certificate.events)
    costs = {event.cost_alone for event in counted if event.is_protected}
    sampled = [event.sampled_steps for event in counted.elements() if event.sampled_steps]
    pure = sum(cost.pure_epsilon is not None for cost in costs)
    small = (
        len(certificate.events) <= MOST_EVENTS
        and len(costs) <= MOST_COSTS
        and pure <= MOST_PURE
        and len(sampled) <= MOST_SAMPLED
        and sum(sampled) <= MOST_STEPS
        and sum(times * e.about_rho for e, times in counted.items() if e.pure_epsilon is None) <= MOST_RHO
        and PLD().work(certificate.events) <= MOST_WORK
    )
    return Check("number of events", small, "can be composed" if small else "too much work to check")


def _digest_check(path: Path, text: str, given: dict[str, Any]) -> Check:
    body = {key: value for key, value in given.items() if key != "digest"}
    written, digest = with_digest(canonical(body))
    if given.get("digest") != digest:
        return Check(path.name, False, "its content does not match its digest: it was edited")
    if written != text:
        return Check(path.name, False, "it is not in the canonical form: it was edited")
    return Check(path.name, True, "content matches its digest")


def _delta_check(certificate: Certificate) -> Check:
    """A promise that fails too often is none."""
    delta = certificate.promised.delta
    sensible = delta <= MOST_DELTA or bool(certificate.broken_because)
    return Check("δ", sensible, f"{delta:g} is {'at most' if sensible else 'more than'} {MOST_DELTA:g}")


def _form_check(given: dict[str, Any], computed: dict[str, Any]) -> Check:
    """Reading a certificate and writing it again must give it back; totals and the guarantee have their own checks."""
    own = {"totals", "guarantee", "digest"}
    odd = [key for key in {**given, **computed} if key not in own and given.get(key, ...) != computed.get(key, ...)]
    return Check(
        "form", not odd, f"not as its format has it: {', '.join(odd)}" if odd else "has all its fields, no more"
    )


def _totals_checks(given: dict[str, Any], computed: dict[str, Any]) -> list[Check]:
    stated_totals = given["totals"] if isinstance(given["totals"], dict) else {}
    checks = []
    for name, value in {**dict.fromkeys(stated_totals), **computed["totals"]}.items():
        stated = stated_totals.get(name)
        # another version of a numerical library may move the last digits, nothing more
        same = stated == value or (
            isinstance(stated, float | int) and isinstance(value, float) and math.isclose(stated, value, rel_tol=1e-6)
        )
        if value is None and name == PLD.name and find_spec("dp_accounting") is None:
            checks.append(Check(f"total under {name}", True, LACKING.format(what="dp-accounting"), caution=True))
            continue
        what = "δ of the totals" if name == "at delta" else f"total under {name}"
        checks.append(Check(what, same, f"stated {_short(stated)}, recomputed {_short(value)}"))
    return checks


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _guarantee_check(given: dict[str, Any], computed: dict[str, Any]) -> Check:
    same = given.get("guarantee") == computed["guarantee"]
    return Check("guarantee", same, "follows from the events" if same else "does not follow from the events")


def _filter_check(certificate: Certificate) -> Check:
    """The events, priced again, must stay within the promise."""
    what = "events within the promised budget"
    promised = certificate.promised
    if not promised.is_finite:
        return Check(what, True, "no finite budget was promised")
    if ACCOUNTANTS[certificate.accounting].declared:
        total = ACCOUNTANTS[certificate.accounting].epsilon(certificate.events, promised.delta)
        fits = total <= promised.epsilon * (1 + 1e-6) or not all(e.is_protected for e in certificate.events)
        return Check(what, fits, f"the schedule costs ε = {total:.6g} of {promised.epsilon:g}")
    try:
        spent = Cost(0)
        for event, times in Counter(certificate.events).items():
            one = cost_of(event, certificate.accounting)
            spent += Cost(times * one.units, times * one.delta_units)
    except PrivacyError as error:
        return Check(what, False, str(error))
    share = certificate.parameters.get("delta_share", 0.0)
    if not (isinstance(share, int | float) and 0 <= share < 1):
        return Check(what, False, f"delta_share must be at least 0 and less than 1, got {share!r}")
    limit = limit_of(promised, certificate.accounting, delta_share=share)
    fits = spent.units <= limit.units and spent.delta_units <= limit.delta_units
    return Check(what, fits, f"{spent.units / UNIT:.6g} of {limit.units / UNIT:.6g} ({certificate.accounting})")


def _sensitivity_check(certificate: Certificate, schema: Declared | None) -> Check:
    """Every event must move by what its query's kind, recomputed, says for the promised unit."""
    wrong = wrong_sensitivities(certificate, schema)
    unit = certificate.promised.unit
    detail = f"not those of {unit} adjacency: {'; '.join(wrong[:3])}"
    return Check("sensitivities", not wrong, detail if wrong else f"follow from the queries and {unit} adjacency")


def _assumptions_check(certificate: Certificate) -> Check:
    missing = len(set(certificate.required_assumptions) - set(certificate.assumptions))
    return Check("assumptions", not missing, f"{missing} are left out or changed" if missing else "are all stated")


def _package_check(package: str) -> Check:
    """Code that is not ours may read what nobody charged."""
    return Check(
        "method",
        True,
        f"is code of another package ({package}); its reading of the table was not checked",
        caution=True,
    )


def _unit_check(certificate: Certificate, schema: Declared) -> Check:
    """Whom the promise is about stands in the schema, too."""
    stated = (certificate.promised.rows, certificate.unit_column)
    same = stated == (schema.unit.max_rows, schema.unit.column) and certificate.tables == schema.rows
    return Check("unit", same, "is that of the schema" if same else "is not that of the schema")


def _weight_check(certificate: Certificate, schema: Declared) -> Check:
    """Where the schema declares survey weights, the certificate says what is protected."""
    listed = set(sentences.weighted(schema)) <= set(certificate.assumptions)
    return Check("survey weights", listed, "what is protected is said" if listed else "what is protected is not said")
