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

WRITTEN = {
    "euc-jp": "年月日男女歳齢性別氏名病院患者診断科入退受療者住所電話区分番号金額合計有無県市町村東京大阪",
    "cp932": "年月日男女歳齢性別氏名病院患者診断科入退受療者住所電話区分番号金額合計有無県市町村東京大阪",
    "gb18030": "年月日男女岁龄性别姓名医院患者诊断科入出院者住址电话区分编号金额合计有无省市县村北京上海收类",
    "big5": "年月日男女歲齡性別姓名醫院患者診斷科入出院者住址電話區分編號金額合計有無縣市鄉村臺北高雄收類",
    "euc-kr": "년월일남녀여자세령나이성별이름환병원진단과입퇴번호주소전화구분금액합계있없시군도서울부산코드",
}
"""Signs that tables in these encodings are full of: read in another one, a text has hardly any of them."""

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
    read = {name: text for name in WRITTEN if (text := _strictly(head, KNOWN[name])) is not None and _is_eastern(text)}
    usual = {name: _share(text, WRITTEN[name]) for name, text in read.items()}
    likely = max(usual, key=lambda name: usual[name], default=None)
    if likely is not None and usual[likely]:
        return likely
    if (text := _strictly(head, "cp1251")) is not None and _is_cyrillic(text):
        return "cp1251"
    if {"euc-jp", "cp932"} & read.keys():
        return likely
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


_BEYOND = re.compile(r"[^\x00-\x7f]+")
_EASTERN = ("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH", "HANGUL", "IDEOGRAPHIC", "FULLWIDTH")


def _share(text: str, usual: str) -> float:
    """How much of what is beyond ASCII is kana or a sign that tables are full of."""
    beyond = "".join(_BEYOND.findall(text))
    known = sum(sign in usual or "\u3040" <= sign <= "\u30ff" for sign in beyond)
    # each half-width kana is one byte, and half of a sign in another encoding
    return (known + sum("\uff66" <= sign <= "\uff9f" for sign in beyond) / 2) / len(beyond)


def _is_eastern(text: str) -> bool:
    # two accented letters of a European word may make one sign, and one a half-width kana, inside a word: Größe, MÜLLER
    if 2 * len(re.findall(r"[A-Za-z][^\x00-\x7f]{1,2}[A-Za-z]", text)) >= len(_BEYOND.findall(text)):
        return False
    beyond = "".join(_BEYOND.findall(text))
    return 0 < 0.9 * len(beyond) <= sum(unicodedata.name(char, "").startswith(_EASTERN) for char in beyond)


def _is_cyrillic(text: str) -> bool:
    """Words of Cyrillic letters alone, small ones after the first."""
    foreign = [word for word in re.findall(r"[^\W\d_]{2,}", text) if not word.isascii()]
    usual = [word for word in foreign if re.fullmatch(r"[\u0400-\u04ff][\u0430-\u045f]+|[\u0410-\u042f]+", word)]
    return 2 * len(usual) > len(foreign)
