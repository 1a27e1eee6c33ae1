from kagemusha.privacy.accountants.gdp import GDP as GDP
from kagemusha.privacy.accountants.gdp import gdp_delta as gdp_delta
from kagemusha.privacy.accountants.gdp import gdp_epsilon as gdp_epsilon
from kagemusha.privacy.accountants.gdp import gdp_mu as gdp_mu
from kagemusha.privacy.accountants.pld import PLD as PLD
from kagemusha.privacy.accountants.protocol import Accountant as Accountant
from kagemusha.privacy.accountants.protocol import Accounting as Accounting
from kagemusha.privacy.accountants.protocol import Composition as Composition
from kagemusha.privacy.accountants.pure import Pure as Pure
from kagemusha.privacy.accountants.rdp import RDP as RDP
from kagemusha.privacy.accountants.zcdp import ZCDP as ZCDP
from kagemusha.privacy.accountants.zcdp import zcdp_delta as zcdp_delta
from kagemusha.privacy.accountants.zcdp import zcdp_epsilon as zcdp_epsilon
from kagemusha.privacy.accountants.zcdp import zcdp_rho as zcdp_rho

ACCOUNTANTS: dict[Accounting, Composition] = {
    Accounting.ZCDP: ZCDP(),
    Accounting.GDP: GDP(),
    Accounting.PURE: Pure(),
    Accounting.SCHEDULE: PLD(),
}
"""The accountant behind each accounting."""
