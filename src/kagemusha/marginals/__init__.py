from kagemusha.marginals.tally import Marginal as Marginal
from kagemusha.marginals.tally import NoisyMarginal as NoisyMarginal
from kagemusha.marginals.tally import nearest_counts as nearest_counts
from kagemusha.marginals.workload import Workload as Workload
