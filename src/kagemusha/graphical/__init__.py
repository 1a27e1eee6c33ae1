"""Private-PGM: the model that best fits a set of noisy marginals, its answers and its rows."""

from kagemusha.graphical.estimation import Estimate as Estimate
from kagemusha.graphical.estimation import Measurement as Measurement
from kagemusha.graphical.estimation import estimate as estimate
from kagemusha.graphical.estimation import estimate_total as estimate_total
from kagemusha.graphical.junction_tree import GrowingTree as GrowingTree
from kagemusha.graphical.junction_tree import JunctionTree as JunctionTree
from kagemusha.graphical.junction_tree import candidate_cells as candidate_cells
from kagemusha.graphical.junction_tree import candidates_within as candidates_within
from kagemusha.graphical.junction_tree import junction_tree as junction_tree
from kagemusha.graphical.junction_tree import tree_cells as tree_cells
from kagemusha.graphical.markov_field import MarkovField as MarkovField
from kagemusha.graphical.refined_sampling import sample_refined as sample_refined
from kagemusha.graphical.sampling import Tables as Tables
from kagemusha.graphical.sampling import rounded_tables as rounded_tables
from kagemusha.graphical.sampling import sample_iid as sample_iid
from kagemusha.graphical.sampling import sample_rounded as sample_rounded
