"""Does an index leave its array where the program is compiled as one, too, and not only equation by equation?

A replay computes one equation after the other, each rounded. A compiler puts a product and the sum it goes into
together, groups quotients and constants anew, and takes the root of a square for the number itself. So where several
equations on floats lead to an index, a witness shows something only if the compiled program gets there as well: all
that leads to the index is compiled, and run on it. Inside loops and branches it is replayed a second time, with
products put together with sums (`prove/fused.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import jax
import numpy as np

from redzone.access.site import Site
from redzone.domains import dtype_info
from redzone.engine.inventory import CALLS, PLAIN, SHARD_MAP_P, children
from redzone.frontend.compat import Literal, bind, open_jaxpr, primitives
from redzone.prove.fused import Fused, puts_together
from redzone.prove.latest import Latest
from redzone.prove.purse import COST
from redzone.prove.replay import Replay, on_cpu

_P: Final = primitives()
_ROUNDING: Final = frozenset(
    _P[f"{n}_p"]
    for n in (
        *("add", "sub", "mul", "div", "integer_pow", "square", "pow", "sqrt", "rsqrt", "exp", "exp2", "log", "log1p"),
        *("dot_general", "reduce_sum", "cumsum", "reduce_prod", "tanh", "logistic", "sin", "cos", "expm1"),
    )
    if f"{n}_p" in _P
)
#: Of more equations nothing is compiled, and the replay is believed.
LONGEST: Final = 600
#: How much longer a second run may take than the replay did, for several accesses.
LONGER: Final = 2

#: A jaxpr, its constants, and the equations of it that are run.
_Level = tuple[Any, tuple[Any, ...], list[Any]]


class _Origins:
    """Which equations of a jaxpr make what others read, worked out once for all accesses."""

    def __init__(self, jaxpr: Any) -> None:
        self.eqns = jaxpr.eqns
        self.places: dict[Any, int] = {v: -1 - i for i, v in enumerate(jaxpr.invars)}
        """By variable: the place of the equation that makes it; of inputs, counted from -1 downward."""
        for k, eqn in enumerate(self.eqns):
            for v in eqn.outvars:
                self.places[v] = k
        self.reads: list[list[int] | None] = [None] * len(self.eqns)
        """By equation: the same of its operands, where somebody asked."""

    def of(self, atoms: Any) -> list[int]:
        """Where these are made; constants are nowhere."""
        places = self.places
        return [places[v] for v in atoms if type(v) is not Literal and v in places]

    def read_by(self, place: int) -> list[int]:
        """Where what an equation reads is made."""
        found = self.reads[place]
        if found is None:
            found = self.reads[place] = self.of(self.eqns[place].invars)
        return found

    def leading_to(self, wanted: list[int], most: int) -> set[int] | None:
        """The places of all that these are made from, and their own; None where it takes more equations than that."""
        found = set(wanted)
        waiting, known = [place for place in found if place >= 0], [False] * len(self.eqns)
        for place in waiting:
            known[place] = True
        for place in waiting:
            most -= 1
            if most < 0:
                return None
            for read in self.read_by(place):
                if read < 0:
                    found.add(read)
                elif not known[read]:
                    known[read] = True
                    waiting.append(read)
        found.update(waiting)
        return found


class _Known:
    """What was compiled of a program."""

    def __init__(self) -> None:
        self.indices: dict[int, tuple[Site, Any]] = {}
        """By identity of an access's equation: what computes its index, None where the replay is believed."""
        self.origins: dict[int, _Origins] = {}
        """By identity of a jaxpr of the program: what its equations are made from."""
        self.fused: dict[frozenset[int], Fused] = {}
        """By accesses in loops or branches, as identities of their equations: what replays them with products fused."""
        self.roundings: dict[int, tuple[Any, int]] = {}
        """By identity of a jaxpr, which stays for it: that, and how many equations in it round floats."""


_LATEST: Final = Latest(_Known)


def leaves_compiled(closed: Any, site: Site, arguments: list[Any], replay: Replay, others: Sequence[Site] = ()) -> bool:
    """Whether an access that leaves its array in a replay does so compiled, too, as far as that can be told.

    `others` left in it as well: where a program is replayed a second time, once for all of them.
    """
    indices = _index_of(closed, site)
    if indices is None:
        if not _is_inside(site) or not puts_together(replay):
            return True
        return _leaves_fused(closed, site, arguments, others, max(COST, LONGER * replay.spent))
    try:
        with on_cpu():
            found = indices(*arguments)
    except Exception:  # what JAX does not compile was run all the same
        return True
    return _is_outside(site, [np.asarray(value) for value in found]) or _has_other_callers(closed, site)


def _index_of(closed: Any, site: Site) -> Any:
    """What computes the operands that an access is at, compiled once for all inputs; None where nothing is rounded."""
    known: _Known = _LATEST.of(closed)
    found = known.indices.get(id(site.eqn))
    if found is None or found[0] is not site:
        levels = _levels(closed, site, known)
        function = None
        if levels is not None and sum([_roundings(eqn, known) for _, _, eqns in levels for eqn in eqns]) > 1:
            function = jax.jit(functools.partial(_indices, levels, site))
        found = known.indices[id(site.eqn)] = (site, function)
    return found[1]


def _is_inside(site: Site) -> bool:
    """Whether an access is in a loop or a branch."""
    return any(eqn.primitive not in CALLS or eqn.primitive is SHARD_MAP_P for eqn in site.chain)


def _leaves_fused(closed: Any, site: Site, arguments: list[Any], others: Sequence[Site], cost: int) -> bool:
    """Whether an access leaves with products fused, too: seen in one run for all that may be asked about, or alone."""
    together = [one for one in others if _is_inside(one)]
    if len(together) > 1:
        leaves = _fused(closed, together).leaves(site, arguments, cost)
        if leaves is not None:
            return leaves
    return _fused(closed, [site]).leaves(site, arguments) is not False


def _fused(closed: Any, sites: Sequence[Site]) -> Fused:
    known: _Known = _LATEST.of(closed)
    key = frozenset([id(site.eqn) for site in sites])
    found = known.fused.get(key)
    if found is None:
        found = known.fused[key] = Fused(closed, sites)
    return found


def _has_other_callers(closed: Any, site: Site) -> bool:
    """Whether other equations run one of the functions around an access: it may be outside for them."""
    around = {id(child) for eqn in site.chain for child in children(eqn)}
    seen, waiting, calls = set[int](), [open_jaxpr(closed)[0]], 0
    for jaxpr in waiting:
        for eqn in jaxpr.eqns:
            inside = children(eqn)
            calls += sum(id(child) in around for child in inside)
            waiting += [child for child in inside if id(child) not in seen]
            seen.update(map(id, inside))
    return calls > len(around)


def _levels(closed: Any, site: Site, known: _Known) -> list[_Level] | None:
    """The calls around an access, the program first, each with what leads to the index.

    None in loops and branches, and where that is too much.
    """
    jaxprs: list[tuple[Any, tuple[Any, ...]]] = [open_jaxpr(closed)]
    for eqn in site.chain[::-1]:
        if eqn.primitive not in CALLS or eqn.primitive is SHARD_MAP_P:
            return None
        inner, consts = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
        if len(inner.invars) != len(eqn.invars):
            return None
        jaxprs.append((inner, consts))
    found: list[_Level] = []
    wanted, most = _operands(site), LONGEST
    for depth in range(len(jaxprs) - 1, -1, -1):
        jaxpr, consts = jaxprs[depth]
        origins = known.origins.get(id(jaxpr))
        if origins is None:
            origins = known.origins[id(jaxpr)] = _Origins(jaxpr)
        places = origins.leading_to(origins.of(wanted), most)
        if places is None:
            return None
        needed = sorted(place for place in places if place >= 0)
        found.append((jaxpr, consts, [jaxpr.eqns[place] for place in needed]))
        most -= len(needed)
        if depth:
            call = site.chain[len(jaxprs) - 1 - depth]
            wanted = [call.invars[-1 - place] for place in places if place < 0]
    return found[::-1]


def _operands(site: Site) -> list[Any]:
    """What the index is read from."""
    places = [place for column in site.columns for place in (column.operand, column.also) if place is not None]
    return [site.eqn.invars[place] for place in places]


def _roundings(eqn: Any, known: _Known) -> int:
    """How many equations, of this one and all in it, round floats."""
    inside = 0 if eqn.primitive in PLAIN else sum([_roundings_in(child, known) for child in children(eqn)])
    rounds = eqn.primitive in _ROUNDING and dtype_info(eqn.outvars[0].aval.dtype).kind == "f"
    return inside + int(rounds)


def _roundings_in(jaxpr: Any, known: _Known) -> int:
    found = known.roundings.get(id(jaxpr))
    if found is None:
        found = known.roundings[id(jaxpr)] = (jaxpr, sum([_roundings(eqn, known) for eqn in jaxpr.eqns]))
    return found[1]


def _indices(levels: list[_Level], site: Site, *arguments: Any) -> list[Any]:
    """The operands that an access is at, as they are computed from the program's inputs."""
    values: dict[Any, Any] = {}

    def value(atom: Any) -> Any:
        return atom.val if type(atom) is Literal else values.get(atom)

    given = list(arguments)
    for depth, (jaxpr, consts, eqns) in enumerate(levels):
        values = dict(zip(jaxpr.invars, given, strict=True))
        values.update(zip(jaxpr.constvars, consts, strict=False))
        for eqn in eqns:
            values.update(zip(eqn.outvars, bind(eqn, [value(v) for v in eqn.invars]), strict=True))
        if depth + 1 < len(levels):
            given = [value(v) for v in site.chain[len(levels) - 2 - depth].invars]
    return [value(v) for v in _operands(site)]


def _is_outside(site: Site, operands: list[Any]) -> bool:
    """Whether any of these indices is outside the array."""
    rest = iter(operands)
    for column in site.columns:
        index = next(rest).astype(object)
        index = index if column.column is None else index[..., column.column]
        if column.also is not None:
            index = index + next(rest).astype(object)
        if column.repeat != 1:
            index = index.sum()
        if np.any((np.asarray(index) < 0) | (np.asarray(index) > column.limit)):
            return True
    return False
