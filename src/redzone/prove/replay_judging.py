"""Accesses met in a replay: whether their indices are outside, and whether anybody sees what is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from redzone.access.site import Column, Site
from redzone.prove.masks import Thrown
from redzone.prove.purse import GaveUp, Purse
from redzone.prove.replay_demand import Planning

#: By access, as its equation's identity: the first index tuple outside the array and the path to it.
Found = dict[int, tuple[tuple[int, ...], str]]


class Judging(Planning):
    """Looks at the accesses that a replay comes upon: which of them leave their arrays, and where."""

    def __init__(self, closed: Any, sites: Sequence[Site], purse: Purse, thrown: Thrown | None = None) -> None:
        super().__init__(closed, sites, thrown)
        self.found: Found = {}
        """By identity of the equation: the first index tuple outside the array and the path to it."""
        self.spends(purse)
        self.left = 0
        self.spared = 0
        """What an attempt ended early has left of what it was given."""
        self.judged = self.unjudged = False
        """Whether an index was known where an access was met in the latest attempt; whether one was not."""
        self.unjudged_at: set[int] = set()
        """The accesses whose index was not known where they were met, in any attempt."""
        self.judgements: Counter[int] = Counter()
        """By access: how many index tuples were looked at, in all attempts."""
        self.path: list[str] = []

    def spends(self, purse: Purse) -> None:
        """Pay for what follows out of this purse."""
        self.purse = purse
        self.compiles = purse.compiles

    def judge(self, site: Site, inputs: list[Any]) -> None:
        """Look at every index tuple of this execution of an access."""
        columns = site.columns
        if not columns or id(site.eqn) in self.found:
            return
        seen = self.seen(site, inputs)
        if seen is None:
            self.not_known(site)
            return
        index = _numbers(columns, inputs)
        if index is not None:
            self.judged = True
            self.judgements[id(site.eqn)] += 1
            leaves = any(n < 0 or n > column.limit for n, column in zip(index, columns, strict=True))
            if leaves and np.any(seen):
                self.leave(site, index)
            return
        values = []
        for column in columns:
            array = _whole_numbers(inputs[column.operand])
            more = None if column.also is None else _whole_numbers(inputs[column.also])
            if array is None or (more is None and column.also is not None):
                self.not_known(site)
                return
            if column.column is not None:
                array = array[..., column.column]
            if more is not None:
                array = array + more
            # The groups of each batch add up by themselves.
            values.append(array.sum(-1) if column.repeat != 1 else array)
        self.judged = True
        self.judgements[id(site.eqn)] += max(np.size(array) for array in values)
        if all(np.size(array) == 1 for array in values):
            index = tuple(int(np.asarray(array).flat[0]) for array in values)
            leaves = any(n < 0 or n > column.limit for n, column in zip(index, columns, strict=True))
            leaves = leaves and bool(np.any(seen))
        else:
            values = list(np.broadcast_arrays(*(np.atleast_1d(array).ravel() for array in values)))
            outside = np.zeros(len(values[0]), bool)
            for column, array in zip(columns, values, strict=True):
                outside |= np.array((array < 0) | (array > column.limit), bool)
            if np.size(seen) in (1, len(outside)):
                outside &= seen
            leaves = bool(outside.any())
            index = tuple(int(array[int(np.argmax(outside))]) for array in values) if leaves else ()
        if leaves:
            self.leave(site, index)

    def not_known(self, site: Site) -> None:
        """Note that an access was met whose index, or whether anybody sees it, is not known."""
        self.unjudged = True
        self.unjudged_at.add(id(site.eqn))

    def seen(self, site: Site, inputs: list[Any]) -> Any:
        """Whether anybody sees what an access reads or writes, for each index tuple or all; None where nobody knows."""
        uses = self.thrown.get(id(site.eqn))
        if uses is None:
            return True
        given = iter(inputs[len(site.eqn.invars) :])
        found: Any = False
        for ways in uses:
            picked: Any = True
            for _, (least, most) in ways:
                condition = next(given)
                if condition is None:
                    return None
                condition = np.asarray(condition).ravel()
                picked = picked & (condition >= least) & (condition <= most)
            found = found | picked
        return found

    def leave(self, site: Site, index: tuple[int, ...]) -> None:
        """Note that an access leaves its array here."""
        self.found[id(site.eqn)] = (index, " › ".join(self.path))
        if len(self.found) == len(self.targets) and not self.assumes:
            raise GaveUp
        if self.purse.silence is not None:
            # What is not spent stays in the purse.
            self.spared += max(self.left - self.purse.silence, 0)
            self.left = min(self.left, self.purse.silence)


def _numbers(columns: Sequence[Column], inputs: list[Any]) -> tuple[int, ...] | None:
    """The only index tuple of an access, where all its numbers are just given; None else."""
    found: list[int] = []
    for column in columns:
        value = inputs[column.operand]
        if value is None or column.also is not None or column.repeat != 1:
            return None
        if column.column is not None:
            if dims_of(value) != 1:
                return None
            value = value[column.column]
        elif dims_of(value):
            return None
        found.append(int(value))
    return tuple(found)


def dims_of(value: Any) -> int:
    """How many dimensions a value has: what numpy's function finds in the end, which asks around first."""
    known: int | None = getattr(value, "ndim", None)
    return int(np.ndim(value)) if known is None else known


def _whole_numbers(value: Any) -> Any:
    """Indices as numbers that neither wrap nor round when two are added."""
    if value is None:
        return None
    value = np.asarray(value)
    return value.astype(np.int64 if value.dtype.itemsize <= 4 else object)
