"""The numbers a learner draws for itself, such as the noise of a variational code. They protect nobody and need not."""

from __future__ import annotations

import numpy as np


def draws_of(seed: int) -> np.random.Generator:
    """A generator for one step of training. In a release the seed comes from the operating system and is forgotten."""
    return np.random.default_rng(seed)
