"""Options are checked by the types they are declared with, however these are written down."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Optional

import pytest

from kagemusha.errors import UsageError
from kagemusha.synthesizers import registry
from kagemusha.synthesizers.independent import Independent
from kagemusha.synthesizers.registry import BUILT_IN, create, synthesizer_class


# no `from __future__ import annotations` in this file: these hints are types, not strings
@dataclass(frozen=True, kw_only=True)
class Plain(Independent):
    name: ClassVar[str] = "plain"

    degree: int = 2
    share: Optional[float] = None  # noqa: UP045
    noise: Literal["gaussian", "laplace"] = "gaussian"
    quoted: "int | None" = None
    anything: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise ValueError("degree must be at least 1")


@dataclass(frozen=True, kw_only=True)
class Needy(Independent):
    name: ClassVar[str] = "needy"

    target: str


@dataclass(frozen=True, kw_only=True)
class Puzzling(Independent):
    name: ClassVar[str] = "puzzling"

    degree: "NoSuchType" = 2  # type: ignore[name-defined]  # noqa: F821


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    for cls in (Plain, Needy, Puzzling):
        monkeypatch.setitem(registry._PLACES, cls.name, f"{__name__}:{cls.__name__}")


@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        ("degree", "abc", "a whole number"),
        ("degree", 2.5, "a whole number"),
        ("degree", True, "a whole number"),
        ("degree", None, "a whole number"),
        ("share", "much", "a number or None"),
        ("share", float("nan"), "a number or None"),
        ("noise", "uniform", "'gaussian' or 'laplace'"),
        ("quoted", "abc", "a whole number or None"),
    ],
)
def test_a_value_of_another_kind(option: str, value: object, wanted: str) -> None:
    with pytest.raises(UsageError, match=f"option '{option}' of method 'plain' must be {wanted}, got"):
        create("plain", **{option: value})


def test_values_of_the_right_kind() -> None:
    made = create("plain", degree=3, share=1, noise="laplace", quoted=7, anything={"a": 1})
    assert made.parameters() == {"degree": 3, "share": 1, "noise": "laplace", "quoted": 7, "anything": {"a": 1}}
    assert create("plain", share=None) == Plain()


def test_what_the_class_refuses_is_a_line_too() -> None:
    with pytest.raises(UsageError, match="method 'plain': degree must be at least 1"):
        create("plain", degree=0)
    with pytest.raises(UsageError, match="method 'needy' needs option 'target'"):
        create("needy")
    with pytest.raises(UsageError, match="method 'puzzling': the types of its options cannot be read"):
        create("puzzling", degree=3)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_option_of_ours_has_a_type_that_can_be_read(name: str) -> None:
    registry._hints(name, synthesizer_class(name))
