"""Text files that are not UTF-8.

Two marks at the beginning of a file say UTF-8 and UTF-16; any other file is in the encoding that the schema declares,
or UTF-8. Nothing is found out by looking at records: a byte of one would change how all others are read. Each line is
decoded by itself.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain

from kagemusha.errors import SchemaError

KNOWN = {
    "cp932": "cp932",
    "shift-jis": "cp932",
    "euc-jp": "euc_jis_2004",
    "cp1252": "cp1252",
    "latin-1": "latin-1",
    "iso-8859-2": "iso8859_2",
    "iso-8859-15": "iso8859_15",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "koi8-r": "koi8_r",
    "mac-roman": "mac_roman",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "euc-kr": "cp949",
}
"""The encodings that a schema may name, and Python's codecs for them: in all of them line ends are single bytes."""

JAPANESE = ("euc-jp", "cp932")
"""What is tried first where a text is not UTF-8: read in a wrong one, a text is hardly ever Japanese."""

_MARKS = re.compile(rb'([\n\r",;\t])')

UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def known_encoding(given: object) -> str | None:
    """The name of a declared encoding; none for UTF-8; a `SchemaError` for an unknown one."""
    name = given.lower().replace("_", "-") if isinstance(given, str) else given
    if name in (None, "utf-8", "utf8", "utf-16"):
        return None
    if not isinstance(name, str) or name not in KNOWN:
        raise SchemaError(f"encoding = {given!r} is not known; it must be utf-8 or one of {', '.join(KNOWN)}")
    return name


def guess_encoding(head: bytes) -> str | None:
    """The encoding that the beginning of a file suggests; none for UTF-8 and UTF-16."""
    if head.startswith(UTF16) or _strictly(head, "utf-8") is not None:
        return None
    for name in JAPANESE:
        text = _strictly(head, KNOWN[name])
        if text is not None and _is_japanese(text):
            return name
    return "cp1252" if _strictly(head, "cp1252") is not None else "latin-1"


def as_utf8(blocks: Iterable[bytes], encoding: str | None) -> Iterator[bytes]:
    """The bytes of a text in UTF-8, without a mark at its beginning; `UnicodeDecodeError` if it is no UTF-16 after all.

    Without a declared encoding bytes that are not UTF-8 stay as they are.
    """
    stream = iter(blocks)
    first = next(stream, b"")
    whole: Iterator[bytes] = chain([first.removeprefix(codecs.BOM_UTF8)], stream)
    if first.startswith(UTF16):
        whole = _decoded(whole)
    elif encoding is not None and not first.startswith(codecs.BOM_UTF8):
        whole = _by_lines(whole, KNOWN[encoding])
    return (block for block in whole if block)


def _decoded(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")()
    yield from (text.encode() for block in blocks if (text := decoder.decode(block)))
    yield decoder.decode(b"", final=True).encode()


def _by_lines(blocks: Iterable[bytes], codec: str) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        lines = (rest + block).splitlines(keepends=True)
        rest = lines.pop() if lines else b""  # it may go on, and a carriage return may be half of a line's end
        yield b"".join([line if line.isascii() else _line(line, codec).encode() for line in lines])
    yield _line(rest, codec).encode()


def _line(line: bytes, codec: str) -> str:
    """A line; a broken character takes no mark along that ends a field or a record: the next one is somebody else's."""
    with suppress(UnicodeDecodeError):
        return line.decode(codec)
    return "".join(part.decode(codec, "replace") for part in _MARKS.split(line))


def _strictly(text: bytes, codec: str) -> str | None:
    """The text, which may end in the middle of a character; None if it is none of this encoding."""
    with suppress(UnicodeDecodeError):
        return codecs.getincrementaldecoder(codec)().decode(text)
    return None


def _is_japanese(text: str) -> bool:
    beyond = [char for char in text if char > "\x7f"]
    fits = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH")
    # two accented letters of a European word may make one kanji, which then stands inside a word: Größe
    if 2 * len(re.findall(r"[a-z][^\x00-\x7f]{1,2}[a-z]", text)) >= len(re.findall(r"[^\x00-\x7f]+", text)):
        return False
    return 0 < 0.9 * len(beyond) <= sum(unicodedata.name(char, "").startswith(fits) for char in beyond)
