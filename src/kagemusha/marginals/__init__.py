from kagemusha.marginals.marginal import Marginal as Marginal
from kagemusha.marginals.marginal import NoisyMarginal as NoisyMarginal
from kagemusha.marginals.marginal import nearest_counts as nearest_counts
from kagemusha.marginals.workload import Workload as Workload
