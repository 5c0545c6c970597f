"""What replays may cost."""

from __future__ import annotations

from typing import Final

#: What one replay may cost: an equation evaluated here counts 1, one compiled by JAX for the first time 500.
COST: Final = 8_000


class GaveUp(Exception):
    """The replay has cost what it may, or has found all it can."""


class Purse:
    """What all replays of one check may cost together."""

    def __init__(self, cost: int = COST, compiles: bool = True, each: int = COST) -> None:
        self.left = cost
        self.each = each
        """What a single one may cost."""
        self.compiles = compiles
        """Whether what numpy cannot evaluate may be compiled."""
        self.silence: int | None = None
        """How much more a replay that has found something may cost before it finds something else."""
        self.first: tuple[int, ...] = ()
        """The iterations of long loops to look at first."""
        self.sure: Purse | None = None
        """Where given, floats are computed roughly at first, and what is found is shown again out of that purse."""
