"""The carries of a loop while it is looked at: what they are at first, what is known of them now."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from redzone.domains import DtypeInfo, Fact, dtype_info, join, meet
from redzone.engine.changes import Change, changed_or_set, counted_by
from redzone.engine.program import LoopShape, Program


class _Kinds:
    """What is the same of the carries of a loop whenever it is looked at."""

    def __init__(self, body: Program, shape: LoopShape, avals: list[Any]) -> None:
        self.info = {i: dtype_info(getattr(avals[i], "dtype", None)) for i in shape.carries}
        self.dtype = {i: getattr(avals[i], "dtype", None) for i in shape.carries}
        self.shape = {i: getattr(avals[i], "shape", None) for i in shape.carries}
        slots = {position - shape.consts: slot for position, slot in body.inputs}
        self.slot = {i: slots.get(i, -1) for i in shape.carries}
        self.moving = [i for i in shape.carries if body.outs[i] != self.slot[i]]


class Carries:
    """The carries of one loop that matter: first values, current facts, dtypes, and where the body keeps them."""

    def __init__(self, body: Program, shape: LoopShape, inits: list[Fact], avals: list[Any]) -> None:
        self.body = body
        self.places = shape.carries
        self.first = dict(zip(shape.carries, inits, strict=True))
        self.now = dict(self.first)
        self.starts = dict(zip(shape.carries, shape.inits, strict=True))
        """By carry: the slot of its first value, around the loop."""
        if shape.kinds is None:
            shape.kinds = _Kinds(body, shape, avals)
        kinds = shape.kinds
        self.shape: dict[int, Any] = kinds.shape
        self.info: dict[int, DtypeInfo] = kinds.info
        self.dtype: dict[int, Any] = kinds.dtype
        self.slot: dict[int, int] = kinds.slot
        self.moving: list[int] = kinds.moving
        self.seen_in: list[Any] | None = None
        """The run of the body that was looked at last for what it does to the carries."""
        self.changes: dict[int, Change | None] = {}
        """By carry: what that does, where somebody asked."""

    def out(self, env: list[Any], i: int) -> Fact:
        fact: Fact = env[self.body.outs[i]]
        return fact

    def in_one_of(self, env: list[Any], runs: list[list[Any]]) -> list[Any]:
        """The body's environment where its results are those of one of these runs."""
        if runs:
            env = env.copy()
            for slot in [self.body.outs[i] for i in self.moving]:
                env[slot] = functools.reduce(join, [run[slot] for run in runs])
        return env

    def counter(self, i: int) -> int | None:
        """The constant a carry grows by each time, if that is all that happens to it."""
        return counted_by(self.body, self.slot[i], self.body.outs[i])

    def changed(self, env: list[Any], i: int) -> Change | None:
        """What an iteration adds to a carry or sets it to; how often a loop runs and how far it comes hangs on that."""
        if self.seen_in is not env:
            self.seen_in, self.changes = env, {}
        if i not in self.changes:
            self.changes[i] = changed_or_set(self.body, env, self.slot[i], self.body.outs[i])
        return self.changes[i]


def met(old: Fact, new: Fact) -> Fact:
    """Two facts that both hold, as one."""
    if type(old.lo) is np.ndarray and type(new.lo) is np.ndarray and old.lo.ndim != new.lo.ndim:
        return old
    return meet(old, new) or old
