from kagemusha.privacy.mechanisms.exact import ExactNoise as ExactNoise
from kagemusha.privacy.mechanisms.protocol import Noise as Noise
from kagemusha.privacy.mechanisms.simulated import SimulatedNoise as SimulatedNoise
