"""What a server, or the driver before it reaches one, says of itself becomes a sentence of ours that quotes nothing."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors
from sqlalchemy.exc import DBAPIError

from kagemusha.files import LOGIN, refused_login
from kagemusha.sources.postgres import _TROUBLE, LOST, PostgresTable

SECRET = "row 17 is Alice"


def table(*, reached: bool) -> PostgresTable:
    """As it stands before its first question, or while it asks."""
    found = object.__new__(PostgresTable)
    found._lost, found._link = False, object() if reached else None
    return found


def wrapped(cause: BaseException, *, gone: bool = False) -> DBAPIError:
    return DBAPIError("SELECT 1", None, cause, connection_invalidated=gone)


@pytest.mark.parametrize("state", sorted(_TROUBLE))
def test_a_state_has_its_own_sentence_with_or_without_the_wrapper(state: str) -> None:
    cause = errors.lookup(state)(SECRET)
    assert table(reached=True)._explain(cause) == table(reached=True)._explain(wrapped(cause)) == _TROUBLE[state]


@pytest.mark.parametrize(
    "error",
    [
        wrapped(psycopg.OperationalError(SECRET)),
        wrapped(psycopg.DataError(SECRET), gone=True),
        errors.lookup("57P01")(SECRET),
        wrapped(errors.lookup("08006")(SECRET)),
    ],
    ids=["no state", "invalidated", "shut down", "broken off"],
)
def test_a_lost_connection_is_lost_for_good(error: Exception) -> None:
    asked = table(reached=True)
    assert asked._explain(error) == LOST
    assert asked._lost


def test_before_the_first_question_nothing_can_be_lost() -> None:
    asked = table(reached=False)
    assert "cannot be reached" in asked._explain(wrapped(psycopg.OperationalError(SECRET)))
    assert asked._explain(wrapped(psycopg.OperationalError("FATAL: password authentication failed"))) == LOGIN
    assert not asked._lost


def test_another_state_is_named_and_nothing_else() -> None:
    said = table(reached=True)._explain(wrapped(errors.lookup("22012")(SECRET)))
    assert "22012" in said
    assert "Alice" not in said
    assert "unknown" in table(reached=True)._explain(RuntimeError(SECRET))


@pytest.mark.parametrize(
    ("state", "message", "refused"),
    [
        ("28P01", "", True),
        ("28000", "", True),
        (None, "fe_sendauth: no password supplied", True),
        (None, "no pg_hba.conf entry for host", True),
        (None, "connection refused", False),
        ("57014", "cancelled", False),
    ],
)
def test_a_refused_login_is_known_by_state_or_words(state: str | None, message: str, refused: bool) -> None:
    assert refused_login(state, message) is refused
