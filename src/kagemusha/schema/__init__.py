from kagemusha.schema.domain import Clique as Clique
from kagemusha.schema.domain import Domain as Domain
