from kagemusha.synthesizers.fit import fit as fit
from kagemusha.synthesizers.protocol import Synthesizer as Synthesizer
from kagemusha.synthesizers.registry import create as create
from kagemusha.synthesizers.registry import names as names
