from kagemusha.ledger.book import Book as Book
from kagemusha.ledger.cap import Cap as Cap
from kagemusha.ledger.open import ledger_exists as ledger_exists
from kagemusha.ledger.open import ledger_shown as ledger_shown
from kagemusha.ledger.open import open_ledger as open_ledger
from kagemusha.ledger.protocol import Ledger as Ledger
from kagemusha.ledger.protocol import ReleaseRequest as ReleaseRequest
from kagemusha.ledger.sqlite import SQLiteLedger as SQLiteLedger
