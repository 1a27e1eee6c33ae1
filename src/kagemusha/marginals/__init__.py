from kagemusha.marginals.marginal import Marginal as Marginal
from kagemusha.marginals.marginal import NoisyMarginal as NoisyMarginal
from kagemusha.marginals.workload import Workload as Workload
