"""Categories: one of a declared list of values, with what is not listed and with groups of codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Self

from kagemusha.columns.column import INTEGER_TYPES, MAX_CODES, OutOfDomain
from kagemusha.columns.label import (
    NOT_A_NUMBER,
    Label,
    canonical,
    compatible,
    number_of,
    number_text,
    text_of,
    unlike,
)
from kagemusha.columns.labelled import HELD, Labelled
from kagemusha.words.catalogue import Say

_TOO_LONG = 10**300
MANY_VALUES = 10_000
_COMMA = re.compile(r"[-+]?\d+,\d+")

OTHER = "other"
"""What stands for values that are not listed, where no other word is declared."""

NOT_LISTED = "(not listed)"
"""How reports call a bucket that doubles never show."""


@dataclass(frozen=True)
class Category(Labelled):
    """One of a declared list of values (texts, whole numbers or booleans).

    What is not listed is counted in a bucket of its own. If a label `other` is declared for it, doubles show that label
    (``out_of_domain = "other"``); if not, they get a listed category in its place (``"redraw"``), drawn as the model
    has them among rows that are alike. If that label is itself listed, it is that category and no code is added. Where
    the list is left to discovery, and nothing says which values belong together, the label is *other* unless said.
    `dtype` is the type of whole numbers in the output (int64 if not said), or says how frames hold the labels: as
    "string", as "category", or as "ordered" categories.

    Codes that belong together (ICD, postcodes, industries) may say so: `levels` are lengths of beginnings, coarse ones
    first (`[1, 3]`: chapter, block), or `ancestors` gives for each category the names of its groups, coarse ones first.
    What noise drowns is then modelled as part of the smallest group that it does not, instead of all rare codes as one.
    A value that is no category belongs to the smallest of its groups that is one: by its beginning, or by a line of
    `families` (code, block, chapter). So discovery keeps the codes that many people have and rolls up the others.

    >>> Category("blood", categories=("A", "B", "AB", "O")).code_names
    ['A', 'B', 'AB', 'O', '(not listed)']
    >>> Category("blood", categories=("A", "B", "AB", "O"), other="rare").labels
    ('A', 'B', 'AB', 'O', 'rare')
    """

    _: KW_ONLY
    categories: tuple[Label, ...] | None = None
    other: Label | None = None
    levels: tuple[int, ...] = ()
    ancestors: tuple[tuple[str, ...], ...] = ()
    families: tuple[tuple[str, ...], ...] = ()

    kind: ClassVar[str] = "category"
    has_domain: ClassVar[bool] = True
    in_engines: ClassVar[frozenset[str]] = frozenset({"categories", "other", "missing", "out_of_domain"})
    fields: ClassVar[tuple[str, ...]] = (
        "categories",
        "levels",
        "ancestors",
        "families",
        "missing",
        "out_of_domain",
        "other",
        "dtype",
    )
    beside_codes: ClassVar[frozenset[str]] = Labelled.beside_codes | {"ancestors"}
    rules: ClassVar[tuple[OutOfDomain, ...]] = ("redraw", "other", "missing", "clip")

    def _default_rule(self) -> OutOfDomain:
        # a list that discovery makes is never complete: whoever is not on it is a group of its own, and often a large
        # one
        found = self.categories is None and not self.has_groups
        return "other" if found or self.other is not None else "redraw"

    def _validate(self) -> None:
        super()._validate()
        if self.other is not None:
            self._check_label("other", self.other)
        levels = self.levels
        if isinstance(levels, str) or not isinstance(levels, Sequence) or any(
            isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in levels
        ) or any(a >= b for a, b in pairwise(levels)):  # fmt: skip
            self.fail("levels", levels, "a list of rising lengths, such as [1, 3]")
        object.__setattr__(self, "levels", tuple(levels))
        self._check_lines("ancestors", "families")
        if self.families and (self.levels or self.ancestors or any(len(line) < 2 for line in self.families)):
            self.fail("families", f"{len(self.families)} lines", "a code and its groups, without levels or ancestors")
        if self.ancestors and (self.levels or len(self.ancestors) != len(self.categories or ())):
            self.fail("ancestors", f"{len(self.ancestors)} lines", "a line for each category, without levels beside")
        if len({len(line) for line in self.ancestors}) > 1:
            self.fail("ancestors", "lines of different lengths", "lines of one length")
        if self.categories is None:
            if self.dtype is not None and self.dtype not in HELD:
                self.fail("dtype", self.dtype, "left out while categories are open: what is found are texts")
            return
        if isinstance(self.categories, str | bytes | Mapping | set | frozenset) or not isinstance(
            self.categories, Iterable
        ):
            self.fail("categories", self.categories, "a list of at least one value")
        object.__setattr__(self, "categories", tuple(self.categories))
        if not self.categories:
            self.fail("categories", [], "a list of at least one value")
        if len(self.categories) > MAX_CODES - 2:
            self.fail("categories", f"{len(self.categories)} values", f"at most {MAX_CODES - 2} values")
        seen: dict[str, Label] = {}
        for value in self.categories:
            self._check_label("categories", value)
            text = canonical(text_of(value))
            if text in seen:
                self.fail("categories", value, unlike(value, seen[text]))
            seen[text] = value
        if self.dtype is not None and self.dtype not in HELD:
            if not all(_is_whole(label) for label in self.labels):
                held = f"one of {', '.join(HELD)}, unless categories (and other, if declared) are all whole numbers"
                self.fail("dtype", self.dtype, f"left out or {held}")
            self._check_dtype(INTEGER_TYPES, [int(label) for label in self.labels])

    def _check_label(self, field: str, value: object) -> None:
        if not isinstance(value, str | int):
            self.fail(field, value, "texts, whole numbers or booleans")
        if isinstance(value, int) and abs(value) >= _TOO_LONG:
            self.fail(field, "a number of more than 300 digits", "texts, whole numbers of fewer digits or booleans")
        if isinstance(value, str) and ("\0" in value or value.encode("utf-8", "ignore").decode() != value):
            self.fail(field, value, "texts without NUL and without half characters")
        if value in NOT_A_NUMBER:
            self.fail(field, value, "another text: tables write missing numbers so; missing = true gives them a place")

    @property
    def open_fields(self) -> tuple[str, ...]:
        return () if self.categories is not None else ("categories",)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {canonical(text_of(value)): code for code, value in enumerate(self.categories or ())}

    @property
    def n_values(self) -> int:
        return len(self.categories or ())

    @property
    def other_code(self) -> int | None:
        added = (
            self.out_of_domain in ("other", "redraw") and canonical(text_of(self.other_label)) not in self._positions
        )
        return self.n_values if added else None

    @property
    def outside_code(self) -> int:
        if self.out_of_domain == "missing":
            return self.size - 1
        if self.out_of_domain == "clip":
            return self.n_values - 1
        return self._positions.get(canonical(text_of(self.other_label)), self.n_values)

    @cached_property
    def other_label(self) -> Label:
        """What stands for values that are not listed; where doubles never show it, of the type of those that are."""
        if self.other is not None:
            return self.other
        whole = {int(value) for value in self.categories or () if _is_whole(value)}
        if self.out_of_domain != "redraw" or OTHER in self._positions or not whole or len(whole) < self.n_values:
            return OTHER
        low, high = INTEGER_TYPES.get(self.dtype or "int64", (0, 0))
        free = (number for number in (max(whole) + 1, min(whole) - 1, *range(low, low + len(whole) + 1)))
        return next((number for number in free if low <= number <= high and number not in whole), OTHER)

    def _ordinary_names(self) -> list[str]:
        names = super()._ordinary_names()
        return names if self.unseen_code is None else [*names[:-1], NOT_LISTED]

    @property
    def has_groups(self) -> bool:
        return bool(self.levels or self.families)

    @cached_property
    def _parents(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for line in self.families:
            for i, name in enumerate(line[:-1]):
                found.setdefault(canonical(name), line[i + 1 :])
        return found

    def groups_of(self, text: str) -> tuple[str, ...]:
        beginnings = (text[:length] for length in reversed(self.levels) if length < len(text))
        return (*self._parents.get(text, ()), *beginnings)

    @property
    def depth(self) -> int:
        """How many kinds of groups there are, one above the other."""
        return len(self.levels) or max((len(line) - 1 for line in self.families), default=0)

    def tree(self) -> list[list[str]]:
        """For each level, coarse ones first, the group of every code; other and missing stand alone."""
        texts = [text_of(value) for value in self.categories or ()]
        alone = [f"\0{i}" for i in range(self.size - len(texts))]
        found = [[text[:length] for text in texts] for length in self.levels]
        for level in range(len(self.ancestors[0]) if self.ancestors else 0):
            found.append(["\0".join(line[: level + 1]) for line in self.ancestors])
        for level in range(self.depth if self.families else 0):
            lines = [(text, *self._parents.get(canonical(text), ()))[::-1] for text in texts]
            found.append(["\0".join(line[: level + 1]) for line in lines])
        return [[*level, *alone] for level in found]

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        own = self.categories or ()
        return own if self.other_code is None else (*own, self.other_label)

    @cached_property
    def texts(self) -> Mapping[str, int]:
        """Code of the text of every label, in the order of the codes."""
        return {text_of(value): code for code, value in enumerate(self.labels)}

    @cached_property
    def numbers(self) -> Mapping[float, int]:
        """Code of every number that a label says; of labels that say the same, the one written as tables write it."""
        plain: dict[float, int] = {}
        odd: dict[float, int] = {}
        for text, code in self.texts.items():
            number = number_of(text)
            if number is not None:
                (plain if canonical(text) == number_text(number) else odd).setdefault(number, code)
        return odd | plain

    def _groups_described(self, say: Say) -> str:
        levels = say(" and ").join(map(str, self.levels))
        return say(", grouped by their first {levels} characters", levels=levels) if self.levels else ""

    @property
    def advice(self) -> list[str]:
        found = super().advice
        if self.n_values > MANY_VALUES:
            found = [f"{self.n_values:,} categories: noise will hide nearly all of them; group them, or drop it"]
        own = self.categories or ()
        if sum(_COMMA.fullmatch(str(label)) is not None for label in own) >= max(2, len(own) // 2):
            found.append(
                "its categories look like numbers with a decimal comma; declare them as numbers with "
                "spelling = '1.234,56' to have them read as such"
            )
        said: dict[float, str] = {}
        for text in self.texts:
            number = number_of(text)
            if number is not None and said.setdefault(number, text) != text:
                found.append(
                    f"{said[number]!r} and {text!r} are one number: they are distinguished in text only, so hand over "
                    f"the "
                    "file itself, or a frame that holds the column as text"
                )
                break
        return found

    def first_cut(self) -> Self:
        """All values in the bucket for what is not listed."""
        return self.listing(())

    def listing(self, labels: Iterable[Label]) -> Self:
        """The column with these categories.

        One in which nothing stands out says nothing: all of it is the other bucket.
        """
        return replace(self, categories=compatible(labels) or (self.other_label,))

    def typical(self, categories: int, bins: int) -> Self:
        """So many categories."""
        return replace(self, categories=tuple(f"category {i}" for i in range(categories)))

    def as_written(self, written: Callable[[str], str]) -> Self:
        if not self.beginnings:
            return self
        texts = tuple(written(text_of(label)) for label in self.categories or ())
        other = None if self.unseen_code is not None else written(text_of(self.other_label))
        return replace(self, categories=texts, other=other)


def _is_whole(label: Label) -> bool:
    return isinstance(label, int) and not isinstance(label, bool)
