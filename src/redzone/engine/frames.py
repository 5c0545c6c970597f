"""Jaxprs being sliced: what is known of each where it is run, and what all that belong to one check share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, constant, dtype_info, scalar, top
from redzone.engine import windows
from redzone.engine.definitions import Definition
from redzone.engine.inventory import CALLS, SHARD_MAP_P, Inventory
from redzone.engine.program import Passage, Program
from redzone.engine.writes import Write
from redzone.frontend.compat import Literal, open_jaxpr, primitives

_CONVERT_P: Final = primitives()["convert_element_type_p"]
#: Primitives whose result is their operand under another name; a conversion only to the type it has.
RENAMING: Final = frozenset(
    primitives()[n + "_p"]
    for n in ("copy", "stop_gradient", "sharding_constraint", "pvary", "name", "convert_element_type")
    if n + "_p" in primitives()
)

#: An access, by its equation's identity, as some calls around it make it, by theirs.
Called = tuple[int, tuple[int, ...]]
#: By identity of a select (or the call around it): (the access, the condition, how it lets the access through).
Masks = dict[int, list[tuple[Called, Any, Passage]]]


class Slicing:
    """What the programs of one check are built from and with; shared between callers of the same sub-program."""

    def __init__(
        self,
        inventory: Inventory,
        everything: bool = False,
        masks: Masks | None = None,
        only: set[int] | None = None,
    ) -> None:
        self.inventory = inventory
        self.masks = masks or {}
        self.only = only
        """The accesses that are asked about, by identity of their equations; None for all."""
        self.everything = everything
        self.built: dict[Any, list[tuple[dict[int, int], Program]]] = {}
        """By what is asked of a jaxpr: for what it is given that was looked at (`how_given`), its program."""
        self.inlined: dict[int, Any] = {}
        """By identity of a program: what it was made of (`engine/inlined.py`)."""
        self.writes: dict[int, Write | None] = {}
        """By identity of an equation: where it writes, if that is known."""
        self.axes: dict[Any, Any] = {}
        self.unmodelled: Counter[str] = Counter()
        self.done_away: set[int] = set()
        """By identity: jaxprs that are built by themselves, but which the compiler makes part of what runs them."""
        self.given: dict[Any, tuple[Frame | None, Any]] = {}
        """By input of a loop, branch or function: what it is given, where that may be computed anew; without a frame,
        an input that is given the same."""
        self.given_anew: dict[Any, bool] = {}
        """By such an input, once somebody asked: whether it may be another number in each place it is used in."""
        self.carried: set[Any] = set()
        """The inputs of whiles' bodies that are carried from one iteration to the next, and that these change."""
        self.looked_at: set[Any] = set()
        """The inputs of which that was asked, or whether they are carried so."""
        self.alike: set[Any] = set()
        """What is known to be the same wherever it is used, by its name and the calls around it."""
        self.lanes = False
        """Whether what is built runs for lanes of a batched while that are done too."""
        self.batched = False
        """Whether any assumption went through vmap."""
        self.doubted: dict[int, Any] = {}
        """By identity: the equations of assumptions that cannot be used."""
        self.constants: dict[int, tuple[Any, Fact]] = {}
        self.origins: Any = None
        """Where what loops, branches and functions are given comes from (`engine/origins.py`), once somebody asked."""

    def program(
        self,
        jaxpr: Any,
        consts: tuple[Any, ...],
        wanted: tuple[int, ...],
        same: dict[int, int] | None = None,
        fixed: dict[int, int] | None = None,
        told: dict[int, Definition] | None = None,
        looked_at: tuple[int, ...] = (),
    ) -> Program:
        """The program that decides a jaxpr's accesses and the wanted results.

        Inputs that the caller knows to be equal to others, by their positions, are taken for these, and those that it
        knows the numbers of for constants; of some it is told how they were made from others. Some are looked at
        though they are floats that are only compared.
        """
        raise NotImplementedError

    def shards(self, names: Iterable[Any]) -> int | None:
        """How many shards lie along these axes; None where that is not known."""
        count = 1
        for name in names:
            size = self.axes.get(name)
            if size is None:
                return None
            count *= int(size)
        return count

    def is_read_once(self, jaxpr: Any, var: Any) -> bool:
        """Whether a variable is read by one equation, or else is one result of its jaxpr, and nothing more."""
        wiring = self.inventory.wiring
        return len(wiring.readers(jaxpr).get(var, ())) + wiring.results(jaxpr).get(var, 0) == 1

    def constant(self, value: Any) -> Fact:
        known = self.constants.get(id(value))
        if known is None:
            known = self.constants[id(value)] = (value, constant_fact(value))
        return known[1]


def constant_fact(value: Any) -> Fact:
    """What is known of a constant."""
    if type(value) in (int, bool):
        return scalar(int(value))
    if type(value) is float:
        return scalar(value) if value == 0 or 1e-30 < abs(value) < 1e30 else constant(np.float64(value))
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype_info(dtype).kind == "x":
        return top(None)
    return constant(value)


class Frame:
    """One jaxpr being sliced into a program: its variables' slots, and what its inputs are outside."""

    __slots__ = (
        "bindings",
        "call",
        "consts",
        "eqns",
        "floats",
        "inputs",
        "jaxpr",
        "made",
        "parent",
        "pending",
        "rows",
        "slicer",
        "slots",
        "told",
        "wanted",
    )

    def __init__(
        self, slicer: Slicing, jaxpr: Any, parent: Frame | None, bindings: dict[Any, Any], consts: dict[Any, Any]
    ) -> None:
        self.slicer = slicer
        self.jaxpr = jaxpr
        self.parent = parent
        self.bindings = bindings
        self.consts = consts
        self.inputs = bindings if parent is not None else frozenset((*jaxpr.invars, *jaxpr.constvars))
        """What no equation of the jaxpr makes, besides its known constants."""
        self.slots: dict[Any, int] = {}
        self.pending = 0
        """How many variables that were asked for are still to be made by equations before the present one."""
        self.wanted: dict[Any, dict[Any, windows.Want]] = {}
        """By variable: the parts of it that were asked for."""
        self.floats: dict[Any, int] = {}
        """Slots of floats that, so far, are only compared."""
        self.told: dict[Any, Definition] = {}
        """By input: how it was made from others, outside."""
        self.rows: dict[Any, Any] = {}
        """By variable: the constants that it was made with, one after the other."""
        self.call: Any = None
        """The equation of the parent that does nothing but run this."""
        self.eqns: list[Any] = []
        """The equations, from when they are gone through."""
        self.made: dict[Any, tuple[int, Any]] | None = None
        """Which equation makes each variable, once somebody asked."""

    def maker(self, var: Any) -> Any:
        """The equation that makes a variable, None for an input."""
        made = self.made
        if made is None:
            made = self.made = self.slicer.inventory.wiring.made(self.jaxpr)
        found = made.get(var)
        return None if found is None else found[1]

    def outer(self, atom: Any) -> tuple[Frame, Any]:
        """What an atom is where it comes from: of an argument, what the caller calls it, and there."""
        frame = self
        while type(atom) is not Literal and atom in frame.bindings and frame.parent is not None:
            frame, atom = frame.parent, frame.bindings[atom]
        return frame, atom

    def inside(self, jaxpr: Any, bindings: dict[Any, Any], consts: tuple[Any, ...] = ()) -> Frame:
        """A jaxpr run by an equation of this one, and what its inputs are here."""
        known = dict(zip(jaxpr.constvars, consts, strict=True)) if consts else {}
        return Frame(self.slicer, jaxpr, self, bindings, known)

    def called(self, eqn: Any, inner: Any, consts: tuple[Any, ...]) -> Frame:
        """A jaxpr that an equation of this one does nothing but run."""
        within = self.inside(inner, dict(zip(inner.invars, eqn.invars, strict=True)), consts)
        within.call = eqn
        return within

    def merge(self, same: dict[int, int]) -> None:
        """Take inputs for other names of other inputs, given by their positions."""
        inputs = self.jaxpr.invars
        self.parent = self
        self.bindings = {inputs[k]: inputs[first] for k, first in same.items()}


def calls_around(frame: Frame) -> frozenset[int]:
    """The calls, by identity, that lead from the program's own jaxpr to this one."""
    found = set()
    at: Frame | None = frame
    while at is not None and at.call is not None:
        found.add(id(at.call))
        at = at.parent
    return frozenset(found)


def resolve(frame: Frame, atom: Any) -> tuple[Frame, Any]:
    """The atom that an atom is another name of, and where."""
    while type(atom) is not Literal:
        if atom in frame.bindings and frame.parent is not None:
            frame, atom = frame.parent, frame.bindings[atom]
            continue
        eqn = frame.maker(atom)
        if eqn is not None and eqn.primitive in RENAMING and is_renaming(eqn):
            atom = eqn.invars[0]
        elif eqn is not None and eqn.primitive in CALLS and eqn.primitive is not SHARD_MAP_P:
            inner, _ = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
            result = inner.outvars[eqn.outvars.index(atom)] if len(inner.outvars) == len(eqn.outvars) else None
            if result is None or type(result) is Literal or result not in inner.invars:
                break
            atom = eqn.invars[inner.invars.index(result)]
        else:
            break
    return frame, atom


def is_renaming(eqn: Any) -> bool:
    """Whether an equation of a renaming primitive gives its one operand another name and nothing else."""
    if eqn.primitive is not _CONVERT_P:
        return len(eqn.invars) == 1
    return bool(eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype)
