from kagemusha.privacy.accountants import Accounting as Accounting
from kagemusha.privacy.budget import Budget as Budget
from kagemusha.privacy.filter import Filter as Filter
from kagemusha.privacy.unit import Adjacency as Adjacency
