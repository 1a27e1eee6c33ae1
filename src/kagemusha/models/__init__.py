from kagemusha.models.model import Model as Model
from kagemusha.models.model import load_model as load_model
