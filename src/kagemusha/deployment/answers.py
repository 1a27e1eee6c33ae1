"""What only a person can say of a release: who publishes it, for what, and why it was made so.

The answers stand in the custodian's schema file under `[deployment]`. They are no facts of the table, so the schema's
digest and the certificate do not depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from kagemusha.errors import SchemaError
from kagemusha.files import StrangeFileError, read_regular, write_whole

SECTION = "deployment"

CURATORS = ("Government", "Industry", "Nonprofit")
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
"""The words that the registry of deployments has for curators and sectors."""


@dataclass(frozen=True)
class Question:
    """One fact that is asked of a person."""

    field: str
    asked: str
    example: str
    allowed: tuple[str, ...] = ()
    """The words that may answer it; empty if any text may."""
    optional: bool = False

    def fault(self, answer: object) -> str:
        """Why this is no answer; empty if it is one."""
        if not isinstance(answer, str) or not answer.strip():
            return f"[{SECTION}] {self.field}: a text is needed, such as {self.example!r}"
        if self.allowed and answer not in self.allowed:
            return f"[{SECTION}] {self.field}: must be one of {', '.join(self.allowed)}, got {answer!r}"
        return ""


QUESTIONS = (
    Question("curator", "Who publishes the doubles?", "General Hospital"),
    Question("curator_type", "What kind of organisation is that?", "Nonprofit", CURATORS),
    Question("description", "What do the doubles describe, in a sentence or two?", "Visits to the wards in 2025."),
    Question("intended_use", "What are they meant to be used for?", "Teaching, and testing software before access."),
    Question("region", "Which region do they describe, or whose law applies?", "Japan"),
    Question("justification", "How were ε, δ and the unit chosen, and by whom?", "The board chose ε = 1 in May."),
    Question("authors", "Who wrote this record? Names, with commas between.", "A. Sato, B. Meyer"),
    Question("sector", "Which field is it from?", "Healthcare", SECTORS, optional=True),
    Question("collection", "How was the table collected, and with whose consent?", "At admission.", optional=True),
    Question(
        "access", "Who may read the table itself, and how is that kept?", "Two people, on one computer.", optional=True
    ),
    Question("address", "Where are the doubles published?", "https://example.org/doubles", optional=True),
)
"""In the order in which they are asked; the dossier alone needs `collection` and `access`."""


def read_answers(path: Path) -> dict[str, str]:
    """The answers that a schema file holds; one that is none is a `SchemaError`."""
    section = _document(path).get(SECTION, {})
    return checked(section, str(path))


def checked(section: object, where: str) -> dict[str, str]:
    """The same answers, or a `SchemaError` that names the first which is none."""
    known = {question.field: question for question in QUESTIONS}
    if not isinstance(section, Mapping):
        raise SchemaError(f"{where}: [{SECTION}] must be a section, with {', '.join(known)}")
    for field, answer in section.items():
        if field not in known:
            raise SchemaError(f"{where}: [{SECTION}] has no entry {field!r}; it must be one of {', '.join(known)}")
        if fault := known[field].fault(answer):
            raise SchemaError(f"{where}: {fault}")
    return {field: str(answer).strip() for field, answer in section.items()}


def keep_answers(path: Path, answers: Mapping[str, str]) -> None:
    """Write answers into the schema file; everything else in it, comments too, stays as it is."""
    document = _document(path)
    section = document.setdefault(SECTION, tomlkit.table())
    for field, answer in answers.items():
        section[field] = answer
    write_whole(path, tomlkit.dumps(document).encode())


def missing(answers: Mapping[str, str]) -> list[Question]:
    """What a record still needs."""
    return [question for question in QUESTIONS if not question.optional and question.field not in answers]


def snippet(questions: Sequence[Question]) -> str:
    """The lines of a schema file that would answer these."""
    return "\n".join([f"[{SECTION}]", *(f'{q.field} = "{q.example}"  # {q.asked}' for q in questions)])


def _document(path: Path) -> Any:
    try:
        return tomlkit.parse(read_regular(path, follow=True).decode("utf-8-sig"))
    except (OSError, StrangeFileError) as error:
        why = error.strerror if isinstance(error, OSError) else f"it {error}"
        raise SchemaError(f"{path}: the schema file cannot be read: {why}") from None
    except (TOMLKitError, ValueError) as error:
        raise SchemaError(f"{path}: this is not valid TOML: {error}") from None
