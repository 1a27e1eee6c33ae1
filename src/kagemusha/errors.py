"""Everything that can go wrong, as one small tree.

KagemushaError                 a message for a person; the CLI prints it without a traceback
├── UsageError       exit 2    an argument outside its allowed range
├── SchemaError      exit 3    the schema file is wrong, incomplete or does not fit the table
├── DataError        exit 4    the table cannot be read
├── PrivacyError     exit 5    the guarantee would not hold
│   ├── BudgetExceeded         a step would pass the budget of this release
│   ├── CapReached             the data set's cap in the ledger leaves no room
│   └── UndeclaredDomain       facts of the schema come from the data and nobody paid for them
├── LedgerError      exit 6    the ledger is locked, missing or damaged
├── ModelTooLarge    exit 7    the model would need more cells than allowed
├── VerifyError      exit 8    a certificate, schema or output does not match
├── OutputError      exit 9    the result could not be written
└── SignatureError   exit 10   intact, but not signed by anybody you trust

No message ever contains a value of the private table: it names file, column and rule.
"""

from __future__ import annotations

import re

_OPTION = re.compile(r" \(--[a-z-]+\)")


class KagemushaError(Exception):
    """A mistake a person can mend; its text says where and how.

    An option in brackets behind a name, delta (--delta), is for those who typed a command: Python shows none.
    """

    exit_code = 1

    def __str__(self) -> str:
        return _OPTION.sub("", self.at_a_prompt)

    @property
    def at_a_prompt(self) -> str:
        """The text for the command line."""
        return super().__str__()


class UsageError(KagemushaError):
    """An argument is outside its allowed range."""

    exit_code = 2


class SchemaError(KagemushaError):
    """The schema is wrong, incomplete, or does not fit the table."""

    exit_code = 3


class DataError(KagemushaError):
    """The private table cannot be read as declared."""

    exit_code = 4


class PrivacyError(KagemushaError):
    """Going on would break the promised guarantee."""

    exit_code = 5


class BudgetExceeded(PrivacyError):
    """A step would pass the budget of this release; nothing was read for it."""


class CapReached(PrivacyError):
    """The data set's cap leaves no room for this release; nothing was spent."""


class UndeclaredDomain(PrivacyError):
    """The schema rests on facts taken from the data that nobody declared or paid for."""


class LedgerError(KagemushaError):
    """The ledger is locked, missing or damaged."""

    exit_code = 6


class ModelTooLarge(KagemushaError):
    """The model would need more cells than the declared limit allows."""

    exit_code = 7


class VerifyError(KagemushaError):
    """A certificate, schema or output is not what was certified."""

    exit_code = 8


class OutputError(KagemushaError):
    """A result could not be written; nothing half-written was left behind."""

    exit_code = 9


class SignatureError(KagemushaError):
    """A release is intact, but it is not signed, or not by a key that is trusted, still valid and not revoked."""

    exit_code = 10
