"""All products of floats in a program, each by the inputs that go into it.

A compiler takes two products of the same numbers for one, however differently they are written. It need not be known
how: numbers that are always the same come from the same inputs, so products that have no input in common are different
ones; and so are those with different constants.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from redzone.domains import dtype_info
from redzone.engine.frames import Frame, calls_around
from redzone.engine.inventory import CALLS, COND_P, PLAIN, SCAN_P, WHILE_P
from redzone.engine.moved import LIMITS, MOVES, NAMES, constant_of, named
from redzone.frontend.compat import Literal, inner_jaxprs, open_jaxpr, primitives, scan_counts

_P: Final = primitives()
_MUL: Final = _P["mul_p"]
_DIV: Final = _P["div_p"]
#: What rounds a number, or makes another of it.
ROUNDED = LIMITS | named("add", "sub", "floor", "ceil", "round", "sign", "rem", "sqrt", "rsqrt", "argmax", "argmin")
ROUNDED |= named("exp", "exp2", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh")
#: What is no product, and is made of none that a program does not write.
_PLAIN = (
    ROUNDED | MOVES | NAMES | named("convert_element_type", "bitcast_convert_type", "select_n", "abs", "iota", "pad")
)
_PLAIN |= named(
    "gather", "dynamic_slice", "dynamic_update_slice", "scatter", "concatenate", "stack", "unstack", "split"
)
_PLAIN |= named("reduce_sum", "reduce_max", "reduce_min", "cumsum", "cummax", "cummin", "sort", "top_k")
_PLAIN |= named("optimization_barrier")
#: How many equations are looked at.
MOST: Final = 20000


class Product(NamedTuple):
    """What is known of a product."""

    inputs: int
    """The inputs of the program that it is made from, one bit for each."""
    constant: float | None
    """About how large the constants in it are together; None where that is not known."""


def named_by(frame: Frame, eqn: Any) -> Any:
    """What tells an equation from itself in another call."""
    return id(eqn), calls_around(frame)


def multiplied(frame: Frame) -> dict[Any, Product] | None:
    """The products in a program and in all that it runs; None where there is too much to look at."""
    found: dict[Any, Product] = {}
    walk = _Walk(found)
    bits = {v: 1 << k for k, v in enumerate(frame.jaxpr.invars)}
    more = len(bits)
    bits.update({v: 1 << more + k for k, v in enumerate(frame.jaxpr.constvars) if v not in frame.consts})
    walk.through(frame, bits)
    return found if walk.left >= 0 else None


class _Walk:
    """Goes through a program from its beginning, and says of each product which inputs it is made from."""

    __slots__ = ("found", "left", "lists", "multiplying")

    def __init__(self, found: dict[Any, Product]) -> None:
        self.found = found
        self.left = MOST
        self.lists: dict[tuple[int, bool], list[tuple[Any, bool]]] = {}
        """By identity of a jaxpr, and whether its results are asked for: what `lasting` said."""
        self.multiplying: dict[int, bool] = {}
        """By identity of a jaxpr: whether there are products in it, or in what it runs."""

    def through(self, frame: Frame, bits: dict[Any, int], asked: bool = False) -> list[int]:
        """The inputs that each result is made from, where that is asked for."""
        constants: dict[Any, float | None] = {}
        self.left -= len(frame.jaxpr.eqns)
        for eqn, is_read in self.lasting(frame.jaxpr, asked) if self.left >= 0 else ():
            primitive = eqn.primitive
            given = [0 if type(v) is Literal else bits.get(v, 0) for v in eqn.invars]
            inputs, outvars = 0, eqn.outvars
            for one in given:
                inputs |= one
            if primitive not in PLAIN and (results := self.inside(frame, eqn, given, inputs, is_read)) is not None:
                if is_read:
                    bits.update(zip(outvars, results, strict=True))
                continue
            for v in outvars:
                bits[v] = inputs
            if not _is_integral(eqn):
                constant = _constant(frame, eqn, given, constants)
                if constant != 1.0:
                    constants[outvars[0]] = constant
                if primitive not in _PLAIN:
                    self.found[named_by(frame, eqn)] = Product(inputs, constant)
        return [0 if type(v) is Literal else bits.get(v, 0) for v in frame.jaxpr.outvars]

    def lasting(self, jaxpr: Any, asked: bool) -> list[tuple[Any, bool]]:
        """The equations that products, and the results where they are asked for, are made by; and of which anything is.

        A program has many equations, and few products.
        """
        known = self.lists.get((id(jaxpr), asked))
        if known is None:
            read = {v for v in jaxpr.outvars if type(v) is not Literal} if asked else set[Any]()
            known = []
            for eqn in reversed(jaxpr.eqns):
                is_read = False
                for v in eqn.outvars:
                    if v in read:
                        is_read = True
                        break
                if is_read or self.multiplies(eqn):
                    known.append((eqn, is_read))
                    for v in eqn.invars:
                        if type(v) is not Literal:
                            read.add(v)
            known.reverse()
            self.lists[id(jaxpr), asked] = known
        return known

    def multiplies(self, eqn: Any) -> bool:
        """Whether an equation is a product, or runs some."""
        primitive = eqn.primitive
        if primitive in PLAIN:
            return primitive not in _PLAIN and not _is_integral(eqn)
        key = CALLS.get(primitive)
        if key is not None:
            return self.has_products(open_jaxpr(eqn.params[key])[0])
        some = [open_jaxpr(one)[0] for one in inner_jaxprs(eqn.params)]
        return any(self.has_products(inner) for inner in some) if some else not _is_integral(eqn)

    def has_products(self, jaxpr: Any) -> bool:
        known = self.multiplying.get(id(jaxpr))
        if known is None:
            known = self.multiplying[id(jaxpr)] = any(self.multiplies(eqn) for eqn in jaxpr.eqns)
        return known

    def inside(self, frame: Frame, eqn: Any, given: list[int], inputs: int, is_read: bool) -> list[int] | None:
        """The same of what an equation runs; None for a plain one."""
        primitive = eqn.primitive
        if primitive in CALLS:
            inner, consts = open_jaxpr(eqn.params[CALLS[primitive]])
            if len(inner.invars) == len(given) and len(inner.outvars) == len(eqn.outvars):
                bits = dict(zip(inner.invars, given, strict=True))
                return self.through(frame.called(eqn, inner, consts), bits, is_read)
        some = inner_jaxprs(eqn.params)
        if not some:
            return None
        for one in some:
            inner, consts = open_jaxpr(one)
            # What a loop carries may be made from all that it is given.
            bits = dict.fromkeys(inner.invars, inputs)
            first = {SCAN_P: 0, COND_P: 1, WHILE_P: eqn.params.get("cond_nconsts", 0)}.get(primitive)
            if first is not None:
                count = len(inner.invars) if primitive is COND_P else eqn.params.get("body_nconsts", 0)
                count = scan_counts(eqn.params)[0] if primitive is SCAN_P else count
                if primitive is not WHILE_P or inner is open_jaxpr(eqn.params["body_jaxpr"])[0]:
                    bits.update(zip(inner.invars[:count], given[first : first + count], strict=True))
            self.through(frame.inside(inner, {}, consts), bits)
        return [inputs] * len(eqn.outvars)


def _is_integral(eqn: Any) -> bool:
    outvars = eqn.outvars
    return not outvars or dtype_info(getattr(outvars[0].aval, "dtype", None)).integral


def _constant(frame: Frame, eqn: Any, given: list[int], constants: dict[Any, float | None]) -> float | None:
    """About how large the constants are in what an equation makes; None where that is not known.

    What is made of any input, as is told of each operand, is no constant.
    """
    primitive = eqn.primitive
    if primitive in MOVES or primitive in NAMES:
        return 1.0 if type(eqn.invars[0]) is Literal else constants.get(eqn.invars[0], 1.0)
    if primitive not in (_MUL, _DIV):
        return (
            1.0 if primitive in ROUNDED and primitive not in LIMITS and not _adds_constant(frame, eqn, given) else None
        )
    found = 1.0
    for k, atom in enumerate(eqn.invars):
        size = 1.0 if type(atom) is Literal else constants.get(atom, 1.0)
        value = None if given[k] else constant_of(frame, atom)
        if value is not None:
            alike = value.size and value.dtype.kind in "fiu" and (value == value.flat[0]).all()
            size = abs(float(value.flat[0])) if alike else None
        if size is None or not 1e-30 < size < 1e30:
            return None
        found = found / size if primitive is _DIV and k else found * size
    return found if 1e-30 < found < 1e30 else None


def _adds_constant(frame: Frame, eqn: Any, given: list[int]) -> bool:
    """Whether a constant is added, which may be nothing."""
    if eqn.primitive not in _SUMS or all(given):
        return False
    return any(not mine and constant_of(frame, atom) is not None for atom, mine in zip(eqn.invars, given, strict=True))


_SUMS: Final = named("add", "sub")
