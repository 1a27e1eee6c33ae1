"""Re-check a whole release: its certificate, the model against it, and who signed. Offline, and without the data.

A forger who mends every hash still has to make the model agree: it holds the certificate once more, and the released
numbers with their noise, each of which must have been paid for by an event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kagemusha.certificate import sentences
from kagemusha.certificate.beside import released_schema
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check, all_passed
from kagemusha.certificate.inventory import CERTIFICATE, MODEL, SCHEMA, SIGNATURE, TABLES, Inventory, is_required_table
from kagemusha.certificate.sensitivities import reads_records
from kagemusha.certificate.signature import Signed, Standing, Trust, judge
from kagemusha.certificate.verify import certificate_checks, open_certificate
from kagemusha.encoding.travels import linked, travels
from kagemusha.errors import DataError, SignatureError, VerifyError
from kagemusha.folder.required_tables import tables_check
from kagemusha.folder.table_file import table_check
from kagemusha.forensics.drawn import drawn_check
from kagemusha.forensics.noise_shows import LEAST_CHANCE, any_shape, chi_squared
from kagemusha.forensics.paid import bell_shaped, paid_check
from kagemusha.forensics.related import related_checks
from kagemusha.models.accepted import acceptance_check
from kagemusha.models.model import Model, load_model
from kagemusha.privacy.events import GenerationEvent
from kagemusha.schema.declared import Declared

NOBODY = Trust()

NOT_LOOKED_INTO = (
    "not looked into, nor the table: {what} is not installed here. That all files are the certified ones, and that "
    "every number of the certificate follows from its events, was checked; a full install holds the model against them"
)
"""What is said in an auditor's small install."""


@dataclass(frozen=True)
class Verdict:
    """What came of it all."""

    path: Path
    certificate: Certificate
    digest: str
    """Of the certificate, as it states it."""
    checks: Sequence[Check]
    signed: Signed
    demanded: bool
    """Whether a signature was asked for."""

    @property
    def intact(self) -> bool:
        """Whether nothing contradicts anything."""
        return all_passed(self.checks)

    @property
    def accepted(self) -> bool:
        """Intact, not signed with a key that is over, and signed by somebody trusted if that was asked for."""
        fine = self.signed.standing is Standing.SIGNED
        over = self.signed.standing in (Standing.EXPIRED, Standing.REVOKED)
        return self.intact and (fine or not (over or self.demanded))

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.intact:
            return f"intact {self.signed.words}"
        return f"does not hold: {', '.join(check.what for check in self.checks if not check.passed)}"

    @property
    def cautions(self) -> list[str]:
        """What passed and still should be known."""
        return [f"{check.what}: {check.detail}" for check in self.checks if check.passed and check.caution]

    def with_check(self, check: Check) -> Verdict:
        """The same with one more thing looked at."""
        return replace(self, checks=[*self.checks, check])

    def require(self) -> None:
        """Raise what the command line ends with unless the release is accepted."""
        if not self.intact:
            raise VerifyError(f"{self.path}: {self.sentence}")
        if not self.accepted:
            raise SignatureError(f"{self.path}: {self.sentence}")


def verify_release(path: Path, trust: Trust = NOBODY, *, demanded: bool = False) -> Verdict:
    """Every check on a release folder, or on a certificate file; what cannot be read at all is a VerifyError.

    `trust` says whose signatures count; with `demanded`, one of them is needed for the release to be accepted.
    """
    opened = open_certificate(path / CERTIFICATE if path.is_dir() else path)
    certificate, inventory = opened.certificate, opened.inventory
    checks = certificate_checks(opened)
    if all_passed(checks):
        checks.append(_words_check(certificate, released_schema(inventory, certificate)))
    several = len(certificate.tables) > 1 and bool(certificate.outputs)  # an answer has no folder
    if all_passed(checks) and certificate.outputs and not several:
        checks.append(_whole_check(certificate))
    if all_passed(checks) and (several or MODEL in inventory.files):
        try:
            checks += (related_checks if several else model_checks)(inventory, certificate)
        except ModuleNotFoundError as lacking:
            checks.append(Check(MODEL, True, NOT_LOOKED_INTO.format(what=lacking.name), caution=True))
    signed = judge(inventory, trust, needed=demanded)
    if signed.standing is Standing.BROKEN:
        checks.append(Check(SIGNATURE, False, signed.words))
    elif signed.standing is not Standing.UNSIGNED:
        checks.append(Check(SIGNATURE, True, "covers exactly these files"))
    return Verdict(opened.path, certificate, opened.digest, checks, signed, demanded)


def _words_check(certificate: Certificate, schema: Declared | None) -> Check:
    """Sentences that this program would not write for such a release are the publisher's own: unverified."""
    ours = {*certificate.required_assumptions, sentences.SAFE}
    drawn = (event for event in certificate.events if isinstance(event, GenerationEvent))
    ours |= {sentences.DRAWN.format(rows=e.rows, floor=e.floor, at_least=e.at_least) for e in drawn}
    if schema is not None:
        records, discovered = reads_records(certificate), "discovered" in certificate.parameters
        ours |= {*sentences.weighted(schema), *schema.vouchers()}
        several = len(schema.rows) > 1
        whole = not several and travels(schema.view(""), records=records, discovered=discovered)
        ours.add(whole or linked(discovered=discovered))
    own = [sentence for sentence in certificate.assumptions if sentence not in ours]
    if not own:
        return Check("words", True, "are those that this program writes for such a release")
    quoted = "; ".join(f"“{sentence[:200]}”" for sentence in own[:3]) + ("; …" if len(own) > 3 else "")
    return Check("words", True, f"the publisher's own, which nothing here vouches for: {quoted}", caution=True)


def _whole_check(certificate: Certificate) -> Check:
    """What is left out cannot be compared."""
    outputs = certificate.outputs or {}
    lacking = [name for name in (SCHEMA, MODEL) if name not in outputs]
    if sum(name in outputs for name in TABLES) != 1:
        lacking.append("one table")
    return Check("release", not lacking, f"lacks {', '.join(lacking)}" if lacking else "has table, schema and model")


def model_checks(inventory: Inventory, certificate: Certificate) -> list[Check]:
    """The model against the certificate, and the table's columns against the model."""
    try:
        model = load_model(inventory.folder / MODEL)
    except DataError as error:
        return [Check(MODEL, False, str(error))]
    checks = [_inner_check(model, certificate), _schema_check(model, certificate), paid_check(model, certificate)]
    checks += [_noise_check(model, certificate), _delta_check(model, certificate)]
    checks += [found] if (found := acceptance_check(model, certificate)) is not None else []
    safe, tables = sentences.SAFE in certificate.assumptions, filter(is_required_table, inventory.files)
    checks += [found] if (found := tables_check(inventory.folder, [*tables], model, safe=safe)) is not None else []
    for name in (name for name in TABLES if name in inventory.files):
        checks.append(table_check(inventory.folder / name, model.schema))
        if checks[-1].passed:
            checks.append(drawn_check(inventory.folder / name, model, safe=safe))
    return checks


def _inner_check(model: Model, certificate: Certificate) -> Check:
    """The certificate was written into the model before files and page were known; all else must be the same."""
    inner, outer = (replace(one, outputs=None, page=None) for one in (model.certificate, certificate))
    same = inner == outer
    return Check("certificate inside the model", same, "says the same" if same else "says something else")


def _schema_check(model: Model, certificate: Certificate) -> Check:
    same = model.schema.digest() == certificate.schema_digest
    return Check("schema inside the model", same, "is the certified one" if same else "is not the certified one")


def _noise_check(model: Model, certificate: Certificate) -> Check:
    what = "noise"
    if certificate.broken_because:
        return Check(what, True, "nothing is promised: not looked for in the model")
    counts, interactions = bell_shaped(model, certificate)
    # two looks, each of which may be a false alarm
    chance = 2 * min(chi_squared(counts, interactions), any_shape(model.measurements, model.interactions))
    if chance < LEAST_CHANCE:
        return Check(what, False, f"the model shows less of it than its events say (chance {chance:.1g})")
    return Check(what, True, "as much as the events say may well be in the model")


def _delta_check(model: Model, certificate: Certificate) -> Check:
    expected = model.rows * certificate.promised.delta
    if certificate.broken_because or expected < 1:
        return Check("δ and number of rows", True, f"δ is below 1 / {model.rows:,}")
    words = f"δ is not below 1 / {model.rows:,}: it would allow a whole record to be revealed"
    return Check("δ and number of rows", True, words, caution=True)
