from kagemusha.synthesizers.kage.kage import Kage as Kage
