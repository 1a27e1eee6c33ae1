"""How measured columns are declared, and what people, rules, methods and discovery see of them."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns.bins import EXACT, MAX_BINS
from kagemusha.columns.cells import Cells
from kagemusha.columns.column import OutOfDomain
from kagemusha.columns.label import COMPARE, NOT_A_NUMBER, number_of
from kagemusha.columns.pushed import PushedAxis
from kagemusha.columns.words import MAY_LACK, some
from kagemusha.words.catalogue import Say

MOST_SPECIAL = 64
MANY_BINS = 256
_LIKE_A_NUMBER = re.compile(r"\s|[-+.]*[0-9]|[-+]?(inf|nan)|epoch|now|today|\0")
"""How texts begin that some reader of tables may take for a number or a date."""

SHARED = ("special", "formula", "replaces", "in_table", "missing", "out_of_domain")
"""Fields of every measured column."""

SPELT = ("spelling", *SHARED)
"""Those of columns that people write in several ways."""


@dataclass(frozen=True)
class Measured(PushedAxis):
    """A column whose values lie on an axis of numbers."""

    rules: ClassVar[tuple[OutOfDomain, ...]] = ("clip", "missing")
    asked_as: ClassVar[type] = str
    """How a person writes a bound."""
    spellings: ClassVar[tuple[str, ...]] = ()
    """How texts of this kind may be written."""
    noun: ClassVar[str]
    """What a value is, in a sentence."""

    @property
    def axis(self) -> Measured:
        return self

    def _form(self) -> dict[str, Any]:
        return {"special": self.special} if self.special else {}

    def _ordinary_names(self) -> list[str]:
        if self.points is not None:
            return [f"{value:g}" for value in self.points]
        ends = [*(self.starts[1:] - self.whole), self.high]
        return [f"{a:g}" if a == b else f"{a:g} – {b:g}" for a, b in zip(self.starts, ends, strict=True)]

    def _special_names(self) -> list[str]:
        return [str(value) for value in self.special]

    def _validate(self) -> None:
        super()._validate()
        if isinstance(self.special, str | bytes) or not isinstance(self.special, Sequence):
            self.fail("special", self.special, "a list of texts or numbers")
        object.__setattr__(self, "special", tuple(self.special))
        if len(self.special) > MOST_SPECIAL:
            self.fail("special", f"{len(self.special)} values", f"at most {MOST_SPECIAL} values")
        for value in self.special:
            if isinstance(value, bool) or not isinstance(value, str | int | float) or value in ("", *NOT_A_NUMBER):
                self.fail("special", value, "texts or numbers; for gaps there is missing = true")
            if isinstance(value, int | float) and not abs(value) <= EXACT:
                self.fail("special", value, f"a number from {-EXACT} to {EXACT}")
            if isinstance(value, str) and (self._says(value) is None) == bool(_LIKE_A_NUMBER.match(value.casefold())):
                self.fail(
                    "special", value, "a number, a date of the column's format, or a text that no reader takes for one"
                )
        if len(self.special_numbers) + len(self.special_texts) < len(self.special):
            self.fail("special", list(self.special), "a list without repeats")
        for field in ("formula", "replaces"):
            if self.given(field) is not None:
                self._check_text(field)
        if self.spelling is not None and self.spelling not in self.spellings:
            self.fail("spelling", self.spelling, " or ".join(map(repr, self.spellings)) or "left out")
        self._check_flag("in_table")
        if self.formula is None and (self.replaces is not None or self.in_table):
            self.fail(
                "replaces" if self.replaces else "in_table", self.replaces or True, "left out where no formula is"
            )
        if self.formula is not None and self.special:
            self.fail("special", list(self.special), "left out where a formula is")

    def _says(self, text: str) -> float | None:
        """The place on the axis that a text stands for, if it does."""
        return number_of(text)

    @cached_property
    def special_numbers(self) -> dict[float, int]:
        said = ((i, self._says(str(value))) for i, value in enumerate(self.special))
        return {number: i for i, number in said if number is not None}

    @cached_property
    def special_texts(self) -> dict[str, int]:
        return {str(value): i for i, value in enumerate(self.special) if self._says(str(value)) is None}

    @property
    def open_fields(self) -> tuple[str, ...]:
        """The bounds that are neither declared nor derived."""
        if self.edges is not None:
            return ()
        return tuple(field for field in ("lower", "upper") if self.given(field) is None)

    def _check_ends(self) -> None:
        if self.edges is not None:
            if len(self.edges) < 2 or not all(self._before(a, b) for a, b in pairwise(self.edges)):
                self.fail("edges", list(self.edges), "a list of at least two rising values")
            if len(self.edges) > MAX_BINS:
                self.fail("edges", f"{len(self.edges)} values", f"at most {MAX_BINS} values")
            for field, given, end in (("lower", self.lower, self.edges[0]), ("upper", self.upper, self.edges[-1])):
                if given is not None and given != end:
                    self.fail(field, given, f"left out, or equal to the end of edges, {end}")
        if self.bins is not None:
            if self.edges is not None:
                self.fail("bins", self.bins, "left out where edges are given")
            self._check_count("bins", 1, MAX_BINS)

    @property
    def middles(self) -> FloatArray:
        """The value in the middle of each bin; of bins of one value, that."""
        low = self.starts.astype(np.float64)
        last = np.append(low[1:] - self.whole, float(self.high))
        return (low + last) / 2 if self.points is None else np.asarray(self.points, dtype=np.float64)

    # what methods see

    def feature_table(self, steps: int) -> IntArray:
        """The place between the bounds (−1 to 1), and a mark for each special value and for a missing one."""
        ends = np.append(self.starts[1:], self.high).astype(np.float64)
        middle = (self.starts + ends) / 2 if self.high > self.low else self.starts.astype(np.float64)
        width = float(self.high) - float(self.low) or 1.0
        marks = self.size - self.n_values
        table = np.zeros((self.size, 1 + marks), dtype=np.int64)
        table[: self.n_values, 0] = np.rint(steps * np.clip(2 * (middle - float(self.low)) / width - 1, -1, 1))
        table[self.n_values :, 1:] = steps * np.eye(marks, dtype=np.int64)
        return table

    # what rules see

    def special_of(self, value: Any) -> int | None:
        """Which special value is meant, if one is."""
        said = self._says(str(value))
        return self.special_texts.get(str(value)) if said is None else self.special_numbers.get(said)

    @abstractmethod
    def compared(self, value: Any) -> float:
        """The place on the axis of a value that a rule compares with; a `UsageError` if it is none."""

    def rounded(self, numbers: FloatArray) -> FloatArray:
        """Numbers as they are shown, if they lie on the steps of what is shown."""
        return numbers

    def shown_steps(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """How far apart the values are that can be shown; 0 where a span holds none of them.

        Moves the ends onto them.
        """
        return np.ones(len(low))

    def cuts(self, operator: str, value: Any) -> Sequence[float]:
        """Where a comparison splits the axis, just before a number that the column can hold."""
        if operator in ("=", "!=") and self.special_of(value) is not None:
            return []
        before, after = self._around(operator, self.compared(value))
        return {"<": [before], ">=": [before], "<=": [after], ">": [after]}.get(operator, [before, after])

    def _around(self, operator: str, place: float) -> tuple[float, float]:
        return math.ceil(place), math.floor(place) + 1

    def lacking(self, cells: Cells) -> NDArray[np.bool_]:
        return np.asarray(cells.codes == len(self.special))

    def truth(self, cells: Cells, operator: str, value: Any) -> NDArray[np.bool_]:
        special = self.special_of(value) if operator in ("=", "!=") else None
        if special is not None:
            same = cells.codes == special
            return np.asarray(same if operator == "=" else ~same & ~self.lacking(cells))
        return np.asarray(COMPARE[operator](cells.numbers, self.compared(value)) & (cells.codes < 0))

    def check_comparison(self, operator: str, value: Any) -> None:
        if self.special_of(value) is None:
            self.compared(value)

    @property
    def sort(self) -> str:
        return "number"

    # what people see

    @property
    def beginnings(self) -> Sequence[str]:
        """Special values that are texts."""
        return [value for value in self.special if isinstance(value, str)]

    def described(self, say: Say = str.format) -> str:
        values = ", ".join(map(str, self.special))
        special = say("; {values} stand for something else", values=values) if self.special else ""
        also = special + (say(MAY_LACK) if self.missing else "")
        noun = say(self.noun)
        if self.points is not None:
            return say(
                "It is one of the numbers {values}{also}.", values=some([f"{v:g}" for v in self.points], say), also=also
            )
        if self.open_fields:
            return say("It is {noun} whose bounds are not declared{also}.", noun=noun, also=also)
        lower, upper = (end if own is None else own for own, end in ((self.lower, self.low), (self.upper, self.high)))
        steps = say("one step") if self.n_values == 1 else say("{n:,} steps", n=self.n_values)
        growing = say(" that grow with the numbers") if self.grows else ""
        return say(
            "It is {noun} from {lower} to {upper}, in {steps}{growing}{also}.",
            noun=noun,
            lower=lower,
            upper=upper,
            steps=steps,
            growing=growing,
            also=also,
        )

    @property
    def advice(self) -> list[str]:
        if self.n_values > MANY_BINS:
            return [f"{self.n_values:,} bins: noise will hide most of them; {MANY_BINS} or fewer serve better"]
        return super().advice

    @property
    def grows(self) -> bool:
        """Whether bins grow with the numbers."""
        return False

    # private discovery

    @property
    @abstractmethod
    def public_edges(self) -> Sequence[Any]:
        """The public edges that say in which order of magnitude (or year) the values lie."""

    def declared(self, numbers: Sequence[Any]) -> tuple[Any, ...]:
        """Places on the axis as edges are declared."""
        return tuple(round(x) for x in numbers)

    @property
    def few_whole(self) -> bool:
        """Whether few numbers that were found are a code each, between bounds instead of edges."""
        return False

    def first_cut(self) -> Self:
        """The column cut at public edges, between the bounds that are declared."""
        lower, upper = self.lower, self.upper
        inside = [
            edge
            for edge in self.public_edges
            if (lower is None or self._before(lower, edge)) and (upper is None or self._before(edge, upper))
        ]
        ends = ([] if end is None else [end] for end in (lower, upper))
        low, high = ends
        found = (*low, *inside, *high)
        return self.cut(found if len(found) > 1 else (*found, self._after(found[0])))

    def _before(self, one: Any, other: Any) -> bool:
        """Whether one edge, as it is declared, lies before another."""
        return bool(one < other)

    def _after(self, edge: Any) -> Any:
        return edge + 1

    def cut(self, edges: Sequence[Any]) -> Self:
        """The column cut at these edges and nowhere else."""
        return replace(self, bins=None, edges=tuple(edges))

    largest: ClassVar[tuple[Any, Any]]
    """Bounds of a stand-in for a column of unknown bounds."""

    def typical(self, categories: int, bins: int) -> Self:
        """The column with stand-ins for the bounds that are open."""
        given = {
            name: end for name, end in zip(("lower", "upper"), self.largest, strict=True) if name in self.open_fields
        }
        return replace(self, **given, bins=self.bins or bins)
