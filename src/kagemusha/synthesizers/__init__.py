from kagemusha.synthesizers.fit import fit as fit
from kagemusha.synthesizers.model import Model as Model
from kagemusha.synthesizers.model import load_model as load_model
from kagemusha.synthesizers.protocol import Synthesizer as Synthesizer
from kagemusha.synthesizers.registry import create as create
from kagemusha.synthesizers.registry import names as names
