"""Which array an access touches: followed back to an argument, a constant, or the equation that made it."""

from __future__ import annotations

from typing import Any, Final

from redzone.access.site import Site
from redzone.domains import dtype_info
from redzone.engine.inventory import children
from redzone.frontend import compat
from redzone.frontend.location import NOWHERE, locate
from redzone.frontend.trace import Traced
from redzone.report.marks import mark_of
from redzone.report.model import Buffer

#: Equations whose result is their first operand's memory, changed or seen in another shape.
_SAME_MEMORY: Final = frozenset({"dynamic_update_slice", "copy", "reshape", "optimization_barrier", "stop_gradient"})

_Place = tuple[Any, Any, int]
#: The variable that stands for a buffer, the jaxpr it is in, how far out that is, and which part of it is seen.
Root = tuple[Any, Any, int, str]


class Buffers:
    """The arrays of one program; each is made once, however many accesses touch it."""

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.known: dict[Any, Buffer] = {}
        self.roots: dict[tuple[int, int], Root] = {}
        """By variable and jaxpr, where following it back ends: a long row of updates is walked once."""
        self.defs: dict[int, dict[Any, Any]] = {}
        self.inputs: dict[int, dict[int, int]] = {}

    def of(self, site: Site) -> Buffer | None:
        """The array an access reads or writes; None for one that is not seen."""
        if not site.eqn.invars or not hasattr(site.buffer, "shape"):
            return None
        # An update of part of a buffer is its first operand; foreign calls have no one buffer.
        if site.opaque:
            return None
        try:
            variable, home, depth, part = self.followed(site)
        except (IndexError, KeyError, AttributeError, ValueError):
            return None
        key = (id(variable), part, str(site.buffer.shape))
        if key not in self.known:
            self.known[key] = self.described(site, variable, home, depth, part)
        return self.known[key]

    def followed(self, site: Site) -> Root:
        """The variable that stands for the buffer: what each step before it is the same memory as."""
        here: _Place = (site.eqn.invars[_operand(site)], site.home, 0)
        way: list[tuple[tuple[int, int], str]] = []
        while True:
            variable, home, depth = here
            key = (id(variable), id(home))
            known = self.roots.get(key)
            if known is not None:
                break
            before = self.before(site, variable, home, depth)
            if before is None:
                known = self.roots[key] = (variable, home, depth, "")
                break
            here, part = before
            way.append((key, part))
        variable, home, depth, part = known
        for key, own in reversed(way):
            part = own or part
            self.roots[key] = (variable, home, depth, part)
        return variable, home, depth, part

    def before(self, site: Site, variable: Any, home: Any, depth: int) -> tuple[_Place, str] | None:
        """One step back: outside a sub-program, or before an update; which part of it is seen from here."""
        if isinstance(variable, compat.Literal):
            return None
        place = self.places(home).get(id(variable))
        if place is None:
            eqn = self.made_by(home, variable)
            earlier = None if eqn is None else _before(eqn, variable)
            return None if earlier is None else ((earlier, home, depth), "")
        if depth == len(site.chain):
            return None
        eqn = site.chain[depth]
        operand, part = _operand_of(eqn, home, place)
        return None if operand is None else ((operand, self.holding(eqn, site, depth + 1), depth + 1), part)

    def places(self, home: Any) -> dict[int, int]:
        """By identity, which input of a jaxpr a variable is."""
        if id(home) not in self.inputs:
            self.inputs[id(home)] = {id(v): k for k, v in enumerate(home.invars)}
        return self.inputs[id(home)]

    def holding(self, eqn: Any, site: Site, depth: int) -> Any:
        """The jaxpr an enclosing equation stands in."""
        if depth == len(site.chain):
            return compat.open_jaxpr(self.traced.jaxpr)[0]
        for jaxpr in children(site.chain[depth]):
            if any(e is eqn for e in jaxpr.eqns):
                return jaxpr
        raise KeyError("an enclosing equation that holds no such equation")

    def made_by(self, home: Any, variable: Any) -> Any:
        if id(home) not in self.defs:
            self.defs[id(home)] = {id(v): eqn for eqn in home.eqns for v in eqn.outvars}
        return self.defs[id(home)].get(id(variable))

    def described(self, site: Site, variable: Any, home: Any, depth: int, part: str) -> Buffer:
        shape, dtype = tuple(site.buffer.shape), site.buffer.dtype
        own = next((k for k, v in enumerate(home.invars) if v is variable), None)
        eqn, place = None, NOWHERE
        mark = mark_of(locate((site.eqn, *site.chain)))
        name = mark.array if mark is not None and len(mark.array) <= 40 else ""
        if own is not None and depth == len(site.chain):
            source = self.traced.inputs[own]
            name, origin = source.name, source.origin or "an argument"
        elif isinstance(variable, compat.Literal) or any(v is variable for v in home.constvars):
            origin = "a constant"
        else:
            eqn = self.made_by(home, variable)
            origin = "an operand of a sub-program" if eqn is None else f"made by {eqn.primitive.name}"
            place = locate((eqn, *site.chain[depth:])) if eqn is not None else NOWHERE
        if part:
            name, origin = f"{name}[·]" if own is not None else name, f"{part} of {origin}"
        return Buffer(name or origin, origin, shape, dtype, _bytes(shape, dtype), place)


def _operand(site: Site) -> int:
    """Which operand is the array: the one whose type is the buffer's."""
    for k, v in enumerate(site.eqn.invars):
        if v.aval is site.buffer:
            return k
    return 0


def _operand_of(eqn: Any, home: Any, place: int) -> tuple[Any, str]:
    """The operand of an enclosing equation that an input of its sub-program is, and which part of it."""
    name, params = eqn.primitive.name, eqn.params
    if name == "scan":
        consts, carries = compat.scan_counts(params)
        return eqn.invars[place], "" if place < consts + carries else "one slice"
    if name == "while":
        tests, bodies = params["cond_nconsts"], params["body_nconsts"]
        in_test = compat.open_jaxpr(params["cond_jaxpr"])[0] is home
        own = tests if in_test else bodies
        if place < own:
            return eqn.invars[place if in_test else tests + place], ""
        return eqn.invars[tests + bodies + place - own], ""
    if name == "cond":
        return eqn.invars[place + 1], ""
    if len(eqn.invars) == len(home.invars):
        return eqn.invars[place], "one shard" if name == "shard_map" else ""
    return None, ""


def _before(eqn: Any, variable: Any) -> Any:
    """The variable whose memory the result of an equation is."""
    name = eqn.primitive.name
    place = next((k for k, v in enumerate(eqn.outvars) if v is variable), 0)
    if name.startswith("scatter") or name in _SAME_MEMORY:
        return eqn.invars[place if name == "optimization_barrier" else 0]
    if name == "scan":
        consts, carries = compat.scan_counts(eqn.params)
        return eqn.invars[consts + place] if place < carries else None
    if name == "while":
        return eqn.invars[eqn.params["cond_nconsts"] + eqn.params["body_nconsts"] + place]
    return None


def _bytes(shape: tuple[Any, ...], dtype: Any) -> int | None:
    total = max(1, (dtype_info(dtype).bits + 7) // 8) if dtype_info(dtype).bits else getattr(dtype, "itemsize", 8)
    for n in shape:
        if type(n) is not int:
            return None
        total *= n
    return int(total)
