"""The carries of a loop while it is looked at: what they are at first, what is known of them now."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from redzone.domains import Fact, dtype_info, join, meet
from redzone.engine.changes import Ends, change_of, counted_by
from redzone.engine.program import LoopShape, Program


class Carries:
    """The carries of one loop that matter: first values, current facts, dtypes, and where the body keeps them."""

    def __init__(self, body: Program, shape: LoopShape, inits: list[Fact], avals: list[Any]) -> None:
        self.body = body
        self.places = shape.carries
        self.first = dict(zip(shape.carries, inits, strict=True))
        self.now = dict(self.first)
        self.info = {i: dtype_info(getattr(avals[i], "dtype", None)) for i in shape.carries}
        self.dtype = {i: getattr(avals[i], "dtype", None) for i in shape.carries}
        slots = {position - shape.consts: slot for position, slot in body.inputs}
        self.slot = {i: slots.get(i, -1) for i in shape.carries}
        self.moving = [i for i in shape.carries if body.outs[i] != self.slot[i]]

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

    def step_range(self, env: list[Any], i: int) -> Ends | None:
        """Bounds on how much a carry changes in one iteration."""
        return change_of(self.body, env, self.slot[i], self.body.outs[i])


def met(old: Fact, new: Fact) -> Fact:
    """Two facts that both hold, as one."""
    if type(old.lo) is np.ndarray and type(new.lo) is np.ndarray and old.lo.ndim != new.lo.ndim:
        return old
    return meet(old, new) or old
