"""The one test every method needs."""

from kagemusha.synthesizers.contract import check_synthesizer


def test_contract() -> None:
    check_synthesizer("chain")
