"""The file beside a ledger is written by many processes at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kagemusha.files import write_whole


def test_writers_of_one_file_do_not_take_each_others_part_away(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db.head"
    texts = [str(i).encode() * 50 for i in range(10)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: write_whole(path, texts[i % 10]), range(400)))  # raises if one could not write
    assert path.read_bytes() in texts
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
