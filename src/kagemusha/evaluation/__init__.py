"""How good the doubles are, measured against the real table: INTERNAL, every page says so."""

from kagemusha.evaluation.kway import KwayErrors as KwayErrors
from kagemusha.evaluation.kway import kway_errors as kway_errors
from kagemusha.evaluation.ml_utility import classify as classify
from kagemusha.evaluation.ml_utility import regress as regress
from kagemusha.evaluation.mutual_information import compare_information as compare_information
from kagemusha.evaluation.mutual_information import information_matrix as information_matrix
from kagemusha.evaluation.tables import read_table as read_table
