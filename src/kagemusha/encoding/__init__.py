from kagemusha.encoding.encoder import Encoder as Encoder
