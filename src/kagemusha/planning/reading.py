"""How often a table will be read, and what comes over from where it lives: derived from the declared domain alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kagemusha.columns.bins import code_type
from kagemusha.columns.dialect import Dialect
from kagemusha.columns.dialects import ENGINES
from kagemusha.encoding.travels import rows_of
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique
from kagemusha.sources.scans import BYTES_PER_CELL, covering, scans_for
from kagemusha.synthesizers.protocol import Synthesizer


@dataclass(frozen=True)
class Reading:
    """Scans and bytes of a release."""

    code_bytes: int
    """Bytes that the codes of a row take."""
    scans: Mapping[str, int]
    """How often each engine reads the table, by its name."""
    counts_bytes: int
    """Bytes of counts that come over from an engine, at most about."""
    records: bool
    """Whether the codes of all rows come over, too."""
    raw: Mapping[str, str]
    """Columns whose values come over as they are, with whole rows, and why."""

    def moved(self, rows: int) -> int:
        """Bytes that come over from an engine."""
        return self.counts_bytes + (self.code_bytes * rows if self.records else 0)


def reading(synthesizer: Synthesizer, schema: Schema) -> Reading:
    """What `build` will read; methods that choose as they go may look once or twice more, at a few sets of columns."""
    domain = schema.domain
    looks = [list(look) for look in synthesizer.counted(domain)]

    def scans(dialect: Dialect) -> int:
        # one for the digest by which a change is noticed, one to see that the table can be read
        return 2 + sum(len(scans_for(domain, _largest(look), dialect)) for look in looks) + synthesizer.reads_records

    return Reading(
        code_bytes=sum(code_type(size).itemsize for size in domain.sizes),
        scans={dialect.name: scans(dialect) for dialect in ENGINES},
        counts_bytes=BYTES_PER_CELL * sum(domain.cells(clique) for look in looks for clique in _largest(look)),
        records=synthesizer.reads_records,
        raw=rows_of(schema),
    )


def _largest(look: list[Clique]) -> list[Clique]:
    return list(dict.fromkeys(covering(look).values()))
