from kagemusha.making.order import Order as Order
from kagemusha.making.order import Output as Output
from kagemusha.making.release import Made as Made
from kagemusha.making.release import make_release as make_release
