"""How a column lies in the vector that a network reads or writes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """One column in a row's vector: where it begins, whether a place comes first, how many entries follow."""

    start: int
    placed: bool
    hot: int
    wish: int
    """Where its codes begin among the wishes, or −1 for a measured column."""

    @property
    def first(self) -> int:
        """The first of its hot entries."""
        return self.start + self.placed

    @property
    def end(self) -> int:
        """One past its last entry."""
        return self.first + self.hot
