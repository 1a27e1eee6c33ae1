"""The lines of a CSV, found byte by byte: how many records there are, and which line ends they use.

DuckDB reads a file with several threads, each of which guesses where its first record starts. A line end inside
quotation marks can make it guess wrong, and a mark that is never closed makes it drop records without a word. So one
pass over all bytes comes first. It says how the file must be read, and how many records have to come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

QUOTE, LF, CR = b'"\n\r'
BLOCK = 1 << 22

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Lines:
    """What one pass over a CSV found."""

    records: int
    """Lines that are not empty, those inside quotation marks not counted; the header is one of them."""
    quoted_ends: bool
    """Whether a line end stands inside quotation marks."""
    mixed: bool
    """Whether records end in different ways."""
    loose: bool
    """Whether a quotation mark stands where only a look at its field tells what it means."""
    unclosed: int | None
    """The line of the last quotation mark, if none closes it."""
    nul: bool
    """Whether a NUL byte was met; nothing else is known then."""


def survey(blocks: Iterable[bytes], delimiter: str) -> Lines | None:
    """Count the lines of a CSV, fast; None if its quotation marks need `survey_loose`."""
    return _survey(blocks, _Marks(ord(delimiter)))


def survey_loose(blocks: Iterable[bytes], delimiter: str) -> Lines:
    """Count the lines of any CSV, field by field."""
    found = _survey(blocks, _LooseMarks(ord(delimiter)))
    assert found is not None
    return found


def with_line_feeds(blocks: Iterable[bytes], delimiter: str, *, loose: bool) -> Iterator[bytes]:
    """The same CSV with every record ended by a line feed; what stands inside quotation marks stays as it is."""
    marks: _Marks = (_LooseMarks if loose else _Marks)(ord(delimiter))
    after_cr = False
    for block in blocks:
        data = np.frombuffer(block, dtype=np.uint8).copy()
        ends = marks.ends(block, data)
        assert ends is not None
        returns = ends & (data == CR)
        # A line feed that follows a carriage return is the second half of one line end.
        second = ends & (data == LF) & _shifted(after_cr, returns)
        after_cr = bool(returns[-1])
        data[returns] = LF
        yield data[~second].tobytes()


def _survey(blocks: Iterable[bytes], marks: _Marks) -> Lines | None:
    records, lines, last_mark = 0, 1, 1
    kinds: set[str] = set()
    after_end, after_cr = True, False
    for block in blocks:
        if b"\0" in block:
            return Lines(0, False, False, False, None, nul=True)
        data = np.frombuffer(block, dtype=np.uint8)
        ends = marks.ends(block, data)
        if ends is None:
            return None
        records += int(np.count_nonzero(_shifted(after_end, ends) & ~ends))
        after_end = bool(ends[-1])
        kinds |= _kinds(data, ends, after_cr)
        after_cr = after_end and block[-1] == CR
        if (mark := block.rfind(b'"')) >= 0:
            last_mark = lines + block.count(b"\n", 0, mark)
        lines += block.count(b"\n")
    if after_cr:
        kinds.add("\r")
    unclosed = last_mark if marks.inside else None
    return Lines(records, marks.quoted_ends, len(kinds) > 1, isinstance(marks, _LooseMarks), unclosed, nul=False)


def _kinds(data: NDArray[Any], ends: Mask, after_cr: bool) -> set[str]:
    """Which kinds of line ends a block has; whether a carriage return at its end stands alone shows in the next."""
    returns = ends & (data == CR)
    if not after_cr and not returns.any():
        return {"\n"} if ends.any() else set()
    feeds = ends & (data == LF)
    paired = feeds & _shifted(after_cr, returns)
    alone = (after_cr and not feeds[0]) or bool((returns[:-1] & ~feeds[1:]).any())
    found = {"\r\n": paired.any(), "\n": (feeds & ~paired).any(), "\r": alone}
    return {kind for kind, is_there in found.items() if is_there}


def _shifted(first: bool, mask: Mask) -> Mask:
    """For each byte what holds for the one before it."""
    shifted = np.empty_like(mask)
    shifted[0], shifted[1:] = first, mask[:-1]
    return shifted


class _Marks:
    """Follows quotation marks through the blocks of a file, as long as each opens or closes a whole field."""

    def __init__(self, delimiter: int) -> None:
        self.delimiter = delimiter
        self.inside = False
        self.quoted_ends = False
        self._last = LF

    def ends(self, block: bytes, data: NDArray[Any]) -> Mask | None:
        """Which bytes end a line outside quotation marks; None if these are not as simple as that."""
        ends: Mask = data == LF
        if b"\r" in block:
            ends |= data == CR
        before, self._last = self._last, block[-1]
        if before == QUOTE and not self.inside and not self._bounds(data[:1])[0]:
            return None
        if b'"' not in block:
            if not self.inside:
                return ends
            self.quoted_ends = self.quoted_ends or bool(ends.any())
            return np.zeros_like(ends)
        marks = data == QUOTE
        inside = (np.cumsum(marks, dtype=np.uint8) + np.uint8(self.inside)) & 1 == 1
        around = np.concatenate([np.array([before], dtype=np.uint8), data, np.array([LF], dtype=np.uint8)])
        opened, closed = np.flatnonzero(marks & inside), np.flatnonzero(marks & ~inside)
        if not (self._bounds(around[opened]).all() and self._bounds(around[closed + 2]).all()):
            return None
        self.inside = bool(inside[-1])
        self.quoted_ends = self.quoted_ends or bool((ends & inside).any())
        return np.asarray(ends & ~inside)

    def _bounds(self, neighbours: NDArray[Any]) -> Mask:
        """Whether bytes next to a quotation mark are the end of a field, or another mark."""
        return np.isin(neighbours, (LF, CR, QUOTE, self.delimiter))


class _LooseMarks(_Marks):
    """The same for files in which marks also stand inside plain fields, or spaces around quoted ones.

    As DuckDB reads them: a mark opens a field only where nothing but spaces comes before it.
    """

    def __init__(self, delimiter: int) -> None:
        super().__init__(delimiter)
        self._tokens = re.compile(b'["\r\n' + re.escape(bytes([delimiter])) + b"]")
        self._blank = True
        self._closed = False

    def ends(self, block: bytes, data: NDArray[Any]) -> Mask | None:
        """Which bytes end a line outside quotation marks."""
        ends = np.zeros(len(block), dtype=np.bool_)
        done = 0
        for token in self._tokens.finditer(block):
            at, byte, was_inside = token.start(), block[token.start()], self.inside
            if self._closed and byte == QUOTE and at == done:
                self.inside = True  # two marks stand for one
            elif self.inside:
                self.inside = byte != QUOTE
                self.quoted_ends = self.quoted_ends or byte in (LF, CR)
            elif byte == QUOTE:
                self.inside = self._blank and not block[done:at].strip(b" ")
            else:
                ends[at] = byte != self.delimiter
            self._closed = was_inside and not self.inside
            self._blank = not self.inside and byte != QUOTE
            done = at + 1
        if done < len(block):
            self._closed = False
            self._blank = self._blank and not block[done:].strip(b" ")
        return ends
