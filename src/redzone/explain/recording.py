"""A recorder of one check: every moment of it belongs to one piece, so what it tells adds up to the whole."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from typing import Any

from redzone.engine.program import SCAN, SIMPLE, WHILE, Program, Step

#: Which stage a recorded function belongs to, where that is not the stage around it.
_STAGE = {"masks": "conditions", "propose": "conditions", "sweep": "conditions", "validate": "conditions"}
#: Equations that took at least this long get an event of their own in a trace; so do loops, branches and calls.
_LONG = 50e-6
#: How many events a trace holds at most.
EVENTS = 100_000


@dataclasses.dataclass(slots=True)
class Piece:
    """Time spent in one way: in a stage, by a function, for an equation or for some accesses."""

    stage: str
    what: str
    """The recorded function, the stage itself, or `step`."""
    eqn: Any
    accesses: tuple[int, ...]
    """Identities of the equations of the accesses it was for; none where it was for all."""
    seconds: float = 0.0
    count: int = 0


@dataclasses.dataclass(slots=True)
class Event:
    """One stretch of time, for a trace; times as the clock gave them."""

    name: str
    eqn: Any
    accesses: tuple[int, ...]
    start: float
    end: float


@dataclasses.dataclass(slots=True)
class Loop:
    """How a loop was brought to rest."""

    eqn: Any
    visits: int = 0
    """How often it was reached with facts not seen before or for a record."""
    rounds: int = 0
    """How often its body was run."""


@dataclasses.dataclass(slots=True)
class Question:
    """One call of isl, z3, or a replay."""

    what: str
    seconds: float
    accesses: tuple[int, ...]
    result: Any
    subject: Any


class _Frame:
    __slots__ = ("accesses", "args", "eqn", "inner", "key", "name", "stage", "start")

    def __init__(self, name: str, stage: str, accesses: tuple[int, ...], args: tuple[Any, ...], eqn: Any) -> None:
        self.name, self.stage, self.accesses, self.args, self.eqn = name, stage, accesses, args, eqn
        self.key = (stage, name, id(eqn) if eqn is not None else 0, accesses)
        self.inner = self.start = 0.0


class Recording:
    """What happened in one check, as pieces, events, loops and questions."""

    def __init__(self) -> None:
        self.pieces: dict[Any, Piece] = {}
        self.events: list[Event] = []
        self.left_out = 0
        """Events beyond the most a trace holds."""
        self.loops: dict[int, Loop] = {}
        self.questions: list[Question] = []
        self.deciding: Any = None
        """The stage that decided, with the analysis it decided from."""
        self.began = 0.0
        self.ended = 0.0
        self._stack: list[_Frame] = []
        self._looping: list[Step] = []

    @property
    def seconds(self) -> float:
        """The whole check, without what the recording took."""
        return sum(piece.seconds for piece in self.pieces.values())

    def begin(self, name: str, stage: bool, args: tuple[Any, ...]) -> None:
        came = time.perf_counter()
        stack = self._stack
        outer = stack[-1] if stack else None
        if name == "decide":
            self.deciding = args[0]
        inside = name if stage and outer is not None else _STAGE.get(name) or (outer.stage if outer else "other")
        accesses = accesses_of(name, args) or (outer.accesses if outer else ())
        self._open(_Frame(name, inside, accesses, args, None), came)

    def end(self, result: Any) -> None:
        now = time.perf_counter()
        frame = self._stack.pop()
        spent = self._close(frame, now)
        self._event(frame.name, None, frame.accesses, frame.start, now)
        if frame.name in ("isl", "z3", "replay", "validate"):
            self.questions.append(Question(frame.name, spent, frame.accesses, result, frame.args))
        if self._stack:
            self._stack[-1].inner += time.perf_counter() - now
        else:
            self.ended = now

    def _open(self, frame: _Frame, came: float) -> None:
        """Begin a frame: what was done since `came` is the recording's own, nobody's time."""
        stack = self._stack
        if stack:
            stack.append(frame)
            frame.start = time.perf_counter()
            stack[-2].inner += frame.start - came
        else:
            stack.append(frame)
            self.began = frame.start = time.perf_counter()

    def _close(self, frame: _Frame, now: float) -> float:
        spent = now - frame.start
        piece = self.pieces.get(frame.key)
        if piece is None:
            piece = self.pieces[frame.key] = Piece(frame.stage, frame.name, frame.eqn, frame.accesses)
        piece.seconds += spent - frame.inner
        piece.count += 1
        if self._stack:
            self._stack[-1].inner += spent
        return spent

    def _event(self, name: str, eqn: Any, accesses: tuple[int, ...], start: float, end: float) -> None:
        if len(self.events) < EVENTS:
            self.events.append(Event(name, eqn, accesses, start, end))
        else:
            self.left_out += 1

    def step(self, step: Step) -> None:
        """An equation begins."""
        came = time.perf_counter()
        outer = self._stack[-1]
        if step.kind in (SCAN, WHILE):
            loop = self.loops.setdefault(id(step.eqn), Loop(step.eqn))
            loop.visits += 1
            self._looping.append(step)
        self._open(_Frame("step", outer.stage, outer.accesses, (), step.eqn), came)

    def stepped(self, step: Step) -> None:
        """It ends."""
        now = time.perf_counter()
        frame = self._stack.pop()
        self._close(frame, now)
        if step.kind != SIMPLE or now - frame.start >= _LONG:
            self._event("step", step.eqn, frame.accesses, frame.start, now)
        if self._looping and self._looping[-1] is step:
            self._looping.pop()
        self._stack[-1].inner += time.perf_counter() - now

    def calmed(self, others: Iterable[Recording]) -> None:
        """Give each piece the least time it took in several recordings of one check.

        What else the machine does falls on one piece here and on another there, and is in none of the least times.
        """
        for other in others:
            for key, piece in self.pieces.items():
                again = other.pieces.get(key)
                if again is not None and again.count == piece.count:
                    piece.seconds = min(piece.seconds, again.seconds)

    def loop_seconds(self) -> dict[int, float]:
        """By identity of a loop's equation: the time of everything inside it, without what the recording took."""
        found: dict[int, float] = {}
        own = self.seconds / (self.ended - self.began) if self.ended > self.began else 1.0
        for event in self.events:
            if event.eqn is not None and id(event.eqn) in self.loops:
                found[id(event.eqn)] = found.get(id(event.eqn), 0.0) + own * (event.end - event.start)
        return found

    def body(self, program: Program) -> None:
        """A program is run: a round of a loop, if it is the body of one."""
        if self._looping and program is self._looping[-1].bodies[0]:
            self.loops[id(self._looping[-1].eqn)].rounds += 1


def accesses_of(name: str, args: tuple[Any, ...]) -> tuple[int, ...]:
    """The accesses a recorded call is for, by identity of their equations."""
    match name:
        case "exactly":
            return (id(args[1].eqn),)
        case "propose":
            return tuple(dict.fromkeys(id(one.step.eqn) for one in args[0]))
        case "validate":
            return tuple(args[2])
        case "sweep":
            return tuple(dict.fromkeys(id(one.step.eqn) for one in args[1] if not one.inside))
        case "settle":
            return (id(args[2].eqn),)
        case "corners":
            return tuple(id(site.eqn) for site in args[1])
        case "replay":
            return tuple(args[0].targets)
    return ()
