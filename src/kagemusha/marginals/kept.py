"""Tables of counts that stay in memory, because whoever asked for them will ask again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from kagemusha.schema.domain import Clique

Table = TypeVar("Table", bound=NDArray[Any])


class KeptTables(Generic[Table]):
    """The first tables that come, as long as there is room for their cells; nobody can write into them."""

    def __init__(self, cells: int, *, widest: int | None = None) -> None:
        self.room = cells
        """Cells for which there is still room."""
        self._widest = widest
        self._kept: dict[Clique, Table] = {}

    def of(
        self, cliques: Sequence[Clique], count: Callable[[Sequence[Clique]], Mapping[Clique, Table]]
    ) -> dict[Clique, Table]:
        """The table of each clique; `count` is asked once, for all that are not here.

        Tables of more than `widest` columns do not stay.
        """
        wanted = dict.fromkeys(cliques)
        new = [clique for clique in wanted if clique not in self._kept]
        fresh = count(new) if new else {}
        for clique, table in fresh.items():
            if table.size <= self.room and (self._widest is None or len(clique) <= self._widest):
                table.setflags(write=False)
                self._kept[clique] = table
                self.room -= table.size
        return {clique: fresh[clique] if clique in fresh else self._kept[clique] for clique in wanted}
