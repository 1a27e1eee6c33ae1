from kagemusha.ledger.cap import Cap as Cap
from kagemusha.ledger.protocol import Ledger as Ledger
from kagemusha.ledger.protocol import ReleaseRequest as ReleaseRequest
from kagemusha.ledger.sqlite import SQLiteLedger as SQLiteLedger
from kagemusha.ledger.sqlite import open_ledger as open_ledger
