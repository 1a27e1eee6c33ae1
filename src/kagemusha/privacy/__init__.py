from kagemusha.privacy.accountants import Accounting as Accounting
from kagemusha.privacy.budget import Adjacency as Adjacency
from kagemusha.privacy.budget import Budget as Budget
from kagemusha.privacy.filter import Filter as Filter
