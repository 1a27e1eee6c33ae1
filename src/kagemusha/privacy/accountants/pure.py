"""Pure differential privacy: epsilons add up and δ = 0."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kagemusha.privacy.events import Event


class Pure:
    """Adds ε over events that are purely private; infinite as soon as one is not."""

    name = "pure"

    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        """ε of all events together."""
        costs = [event.pure_epsilon for event in events]
        return math.inf if None in costs else float(sum(cost for cost in costs if cost is not None))
