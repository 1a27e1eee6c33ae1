"""Re-check a certificate offline: recompute every number and hash, and name whatever does not match."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kagemusha.certificate.certificate import FIRST_FORMAT, SECOND_FORMAT, Certificate, canonical
from kagemusha.certificate.page import fingerprint, made_here, render
from kagemusha.errors import PrivacyError, SchemaError, VerifyError
from kagemusha.files import sha256
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.asked import Fact
from kagemusha.privacy.events import Event, ExponentialEvent, LaplaceEvent, SampledGaussianEvent, ThresholdEvent
from kagemusha.privacy.filter import Cost, cost_of, limit_of
from kagemusha.privacy.reach import reach_of
from kagemusha.privacy.unit import Adjacency
from kagemusha.schema import Schema
from kagemusha.schema.features import cross_moment_facts, features_of, first_moment_facts

PAGE_NAME = "certificate.html"
SCHEMA_NAME = "schema.toml"
RELEASED = ("synthetic.csv", "synthetic.parquet", SCHEMA_NAME, "model.kage", "quality.json", "quality.html")
"""What a release folder holds beside the certificate and its page."""

OLD_COUNTS = ("counts of ", "coarse public grid of ", "fine public grid of ")
"""How the events of plain counts began before events named their query."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: str
    passed: bool
    detail: str


def verify(certificate_path: Path) -> list[Check]:
    """Every check on a certificate and on the files released beside it; what cannot be read is a VerifyError."""
    try:
        text = certificate_path.read_bytes().decode("utf-8")
        certificate = Certificate.from_json(text)
        given = json.loads(text)
        edited = _digest_check(certificate_path, text, given)
        if not edited.passed:
            return [edited]  # nothing an edited certificate says is worth checking further
        return [
            edited,
            *_content_checks(certificate, given, _released_schema(certificate_path.parent, certificate)),
            *_folder_checks(certificate_path.parent, certificate, given),
        ]
    except VerifyError as error:
        raise VerifyError(f"{certificate_path}: {error}") from None
    except Exception as error:  # whoever wrote the file, and whatever is in it, the answer is that it does not hold
        raise VerifyError(f"{certificate_path}: cannot be read as a certificate ({type(error).__name__})") from None


def _released_schema(folder: Path, certificate: Certificate) -> Schema | None:
    """The schema beside the certificate, if it is the certified one."""
    path = folder / SCHEMA_NAME
    if not path.is_file():
        return None
    try:
        schema = Schema.load(path)
    except SchemaError:
        return None
    return schema if schema.digest() == certificate.schema_digest and not schema.open_facts() else None


def _content_checks(certificate: Certificate, given: dict[str, Any], schema: Schema | None) -> list[Check]:
    computed = json.loads(certificate.to_json())
    return [
        _form_check(given, computed),
        *_totals_checks(given, computed),
        _guarantee_check(given, computed),
        _filter_check(certificate),
        _sensitivity_check(certificate, schema),
        _assumptions_check(certificate),
    ]


def _folder_checks(folder: Path, certificate: Certificate, given: dict[str, Any]) -> list[Check]:
    outputs = certificate.outputs or {}
    checks = [_file_check(folder, name, digest) for name, digest in outputs.items()]
    checks += [
        Check(name, False, "the certificate does not name it")
        for name in RELEASED
        if name not in outputs and (folder / name).exists()
    ]
    if SCHEMA_NAME in outputs and (folder / SCHEMA_NAME).exists():
        checks.append(_schema_check(folder / SCHEMA_NAME, certificate))
    if (folder / PAGE_NAME).exists():
        checks.append(_page_check((folder / PAGE_NAME).read_bytes(), certificate, given["digest"]))
    return checks


def all_passed(checks: Sequence[Check]) -> bool:
    """Whether nothing is wrong."""
    return all(check.passed for check in checks)


def _digest_check(path: Path, text: str, given: dict[str, Any]) -> Check:
    body = {key: value for key, value in given.items() if key != "digest"}
    if given.get("digest") != hashlib.sha256(canonical(body).encode()).hexdigest():
        return Check(path.name, False, "its content does not match its digest: it was edited")
    if canonical(given) != text:
        return Check(path.name, False, "it is not in the canonical form: it was edited")
    return Check(path.name, True, "content matches its digest")


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
    if certificate.accounting is Accounting.SCHEDULE:
        total = ACCOUNTANTS[certificate.accounting].epsilon(certificate.events, promised.delta)
        fits = total <= promised.epsilon * (1 + 1e-6) or not all(e.is_protected for e in certificate.events)
        return Check(what, fits, f"the schedule costs ε = {total:.6g} of {promised.epsilon:g}")
    try:
        spent = sum((cost_of(event, certificate.accounting) for event in certificate.events), Cost(0))
    except PrivacyError as error:
        return Check(what, False, str(error))
    share = certificate.parameters.get("delta_share", 0.0)
    if not (isinstance(share, int | float) and 0 <= share < 1):
        return Check(what, False, f"delta_share must be at least 0 and less than 1, got {share!r}")
    limit = limit_of(promised, certificate.accounting, delta_share=share)
    fits = spent.units <= limit.units and spent.delta_units <= limit.delta_units
    return Check(what, fits, f"{spent.units / 1e15:.6g} of {limit.units / 1e15:.6g} ({certificate.accounting})")


def _sensitivity_check(certificate: Certificate, schema: Schema | None) -> Check:
    """Every event must move by what its query's kind, recomputed, says for the promised unit."""
    old = certificate.format in (FIRST_FORMAT, SECOND_FORMAT)
    judge = _old_sensitivity if old else _wrong_sensitivity
    wrong = [f"{event.what}: {why}" for event in certificate.events if (why := judge(event, certificate, schema))]
    unit = certificate.promised.unit
    detail = f"not those of {unit} adjacency: {'; '.join(wrong[:3])}"
    return Check("sensitivities", not wrong, detail if wrong else f"follow from the queries and {unit} adjacency")


def _old_sensitivity(event: Event, certificate: Certificate, _: Schema | None) -> str:
    """In the first two formats plain counts alone can be recomputed; of other queries the event alone knows."""
    if event.kind != "threshold" and not event.what.startswith(OLD_COUNTS):
        return ""
    expected = certificate.promised.unit.sensitivity(reach_of("counts", {}))
    same = getattr(event, "l2_squared", expected.l2_squared) == expected.l2_squared
    return "" if same and getattr(event, "l1", expected.l1) == expected.l1 else "not that of counts"


def _wrong_sensitivity(event: Event, certificate: Certificate, schema: Schema | None) -> str:
    """Why an event's sensitivity is not what its query makes it; empty if it is."""
    if not event.is_protected:
        return "" if event.query is None else "a read without protection answers no query"
    if event.query is None:
        return "it names no query"
    if isinstance(event, SampledGaussianEvent):
        alike = event.query.kind == "gradients" and certificate.promised.adjacency is Adjacency.ADD_REMOVE
        return "" if alike else "sampled steps release gradients, under add-remove adjacency"
    facts = dict(event.query.facts)
    impossible = _impossible_facts(event.query.kind, facts, schema)
    if impossible:
        return impossible
    unit = certificate.promised.unit
    moves = unit.sensitivity(reach_of(event.query.kind, facts))
    if isinstance(event, ExponentialEvent):
        return "" if facts.get("candidates") == event.candidates else "not as many candidates as its query has"
    if isinstance(event, LaplaceEvent):
        return "" if event.l1 == max(1, moves.l1) else f"l1 = {event.l1}, recomputed {moves.l1}"
    if isinstance(event, ThresholdEvent) and (event.rows != unit.rows or event.query.kind != "values"):
        return f"a threshold for {event.rows} rows of {event.query.kind}"
    squared = getattr(event, "l2_squared", None)
    return "" if squared == max(1, moves.l2_squared) else f"l2² = {squared}, recomputed {moves.l2_squared}"


def _impossible_facts(kind: str, facts: Mapping[str, Fact], schema: Schema | None) -> str:
    """Why a query's facts cannot be those of a table with this schema; empty if they can, or if there is no schema."""
    if schema is None:
        return ""
    names = facts.get("columns", ())
    if not isinstance(names, tuple) or not all(isinstance(n, str) and n in schema.names for n in names):
        return "its columns are not those of the schema"
    if kind == "interaction":
        shape = facts.get("shape")
        sizes = [schema.domain.size(str(name)) for name in names]
        if not isinstance(shape, tuple) or not sizes or len(shape) != len(sizes):
            return "not one number of groups for each column"
        inside = all(isinstance(n, int) and 1 <= n <= size for n, size in zip(shape, sizes, strict=True))
        return "" if inside else "more groups than the schema has codes"
    if kind == "first-moments" and facts != first_moment_facts(features_of(schema)):
        return "not the sums of this schema's features"
    if kind == "cross-moments" and facts != cross_moment_facts(features_of(schema)):
        return "not the products of this schema's features"
    return ""


def _assumptions_check(certificate: Certificate) -> Check:
    missing = len(set(certificate.required_assumptions) - set(certificate.assumptions))
    return Check("assumptions", not missing, f"{missing} are left out or changed" if missing else "are all stated")


def _schema_check(path: Path, certificate: Certificate) -> Check:
    what = "schema digest"
    try:
        same = Schema.load(path).digest() == certificate.schema_digest
    except SchemaError as error:
        return Check(what, False, str(error))
    return Check(what, same, f"is that of {path.name}" if same else f"is not that of {path.name}")


def _page_check(page: bytes, certificate: Certificate, digest: str) -> Check:
    """The page must be the one that was certified; made again it must be the same, if this program made it."""
    elsewhere = "its text was not made again, because another version made the page"
    if certificate.page is None:
        if render(certificate, digest=digest).encode() == page:
            return Check(PAGE_NAME, True, "says what the certificate says")
        # the first format did not bind its page: made by another version, it cannot be told from a forged one
        old = certificate.format == FIRST_FORMAT
        return Check(
            PAGE_NAME,
            False,
            "cannot be checked; read certificate.json" if old else "is not the page of this certificate",
        )
    if fingerprint(page, digest) != certificate.page.get("sha256"):
        return Check(PAGE_NAME, False, "was changed")
    if not made_here(certificate.page):
        return Check(PAGE_NAME, True, f"matches its hash; {elsewhere}")
    same = render(certificate, digest=digest).encode() == page
    return Check(PAGE_NAME, same, "says what the certificate says" if same else "was changed")


def _file_check(folder: Path, name: str, digest: str) -> Check:
    path = folder / name
    if Path(name).name != name:
        return Check(name, False, "a certificate may only name files beside it")
    if not path.exists():
        return Check(name, False, "the file is missing")
    same = sha256(path) == digest
    return Check(name, same, "matches its hash" if same else "its bytes differ from what was certified")
