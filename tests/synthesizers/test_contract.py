"""Every registered synthesizer keeps the public contract."""

from __future__ import annotations

import pytest

from kagemusha.synthesizers.contract import CHECKS
from kagemusha.synthesizers.registry import names
from small import small


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", names())
def test_contract(name: str, check) -> None:  # type: ignore[no-untyped-def]
    check(small(name))
