"""A program with symbolic sizes at some of them: the same equations with numbers in place of names, to be run.

Nothing is proved here. An access that leaves its array at one size the constraints allow is out of bounds for
some input allowed, and the input that shows it says the size.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from redzone.access.site import Site
from redzone.access.xla import ACCESSES
from redzone.domains import Fact
from redzone.frontend import compat
from redzone.frontend.trace import Input
from redzone.report.model import Witness

#: The sizes tried for one name: small ones of every kind, and one that is larger than most constants.
SIZES: Final = (4, 5, 3, 1, 2, 7, 8, 16, 33)
#: How many assignments of sizes to names are tried, and how many are looked through for them.
TRIED: Final = 5
LOOKED: Final = 400
#: How many sizes that are larger than an array are tried, for how many names, and up to what size of the array.
BEYOND: Final = 2
FAR: Final = 1 << 14

#: From a program, sites, inputs and facts without symbols, and the sizes, to witnesses by identity of equations.
Run = Callable[[Any, list[Site], list[Input], list[Fact], Mapping[str, int]], Mapping[int, Witness]]


class NoSuchSize(Exception):
    """Something in the program has no number at these sizes."""


def at_sizes(closed: Any, sites: Sequence[Site], inputs: Sequence[Input], run: Run) -> dict[int, Witness]:
    """What `run` finds out about the accesses of a symbolic program at a few of its sizes."""
    found: dict[int, Witness] = {}
    try:
        chosen = list(some_sizes(inputs, _beyond(sites)))
    except (AttributeError, OverflowError):
        # JAX keeps its constraints elsewhere now, or counts a size in too few bits: such a size shows nothing.
        return found
    for sizes in chosen:
        left = [site for site in sites if id(site.eqn) not in found]
        if not left:
            break
        try:
            program = AtSize(closed, sizes)
            sized = [_input(one, sizes) for one in inputs]
            facts = [one.fact() for one in sized]
            known = [(site, program.made[id(site.eqn)]) for site in left if id(site.eqn) in program.made]
            builds = [ACCESSES[new.primitive](new, site.chain) for site, new in known]
            # At some sizes a window is empty, and no element of it is anywhere.
            builds = [site for site in builds if 0 not in site.window]
            here = {id(new): id(site.eqn) for site, new in known}
        except (NoSuchSize, ArithmeticError, ValueError, KeyError):
            continue
        if not builds:
            continue
        said = ", ".join(f"{name}={size}" for name, size in sorted(sizes.items()))
        try:
            shown_here = run(program.closed, builds, sized, facts, sizes)
        except OverflowError:
            # A bound beyond 32 bits, in which JAX counts sizes.
            continue
        for key, witness in shown_here.items():
            shown = f"{said}, {witness.shown}" if witness.shown else said
            found[here[key]] = dataclasses.replace(witness, shown=shown)
    return found


def _beyond(sites: Sequence[Site]) -> list[int]:
    """Sizes of which a count leaves one of the arrays, where that has a size of its own."""
    limits = {column.limit for site in sites for column in site.columns if type(column.limit) is int}
    return sorted(limit + 2 for limit in limits if limit <= FAR)[-BEYOND:]


def some_sizes(inputs: Sequence[Input], beyond: Sequence[int] = ()) -> Iterator[dict[str, int]]:
    """Sizes for the names in the shapes of the inputs that keep all that is promised of them; few, and plain ones.

    Those `beyond` something are tried for one name after the other.
    """
    dims = [n for one in inputs for n in getattr(one.aval, "shape", ()) if type(n) is not int]
    names = sorted({name for n in dims for name in compat.names_of_size(n)})
    if not names:
        return
    same = [dict.fromkeys(names, size) for size in SIZES]
    # Names that nothing relates may be of different sizes: each in turn one larger than the others.
    apart = [{**same[0], name: SIZES[1]} for name in names if len(names) > 1]
    mixed = (dict(zip(names, sizes, strict=True)) for sizes in itertools.product(SIZES, repeat=len(names)))
    larger = [{**same[0], name: size} for size in beyond for name in names[:BEYOND]]
    every = itertools.chain(same[:1], larger, apart[:2], same[1:], mixed)
    kept = (s for s in itertools.islice(every, LOOKED) if compat.keeps_constraints(dims[0], s))
    seen: list[dict[str, int]] = []
    for sizes in kept:
        if sizes not in seen:
            seen.append(sizes)
            yield sizes
        if len(seen) == TRIED + len(larger):
            return


def _input(source: Input, sizes: Mapping[str, int]) -> Input:
    low, high = number(source.min, sizes), number(source.max, sizes)
    if type(low) is int and type(high) is int and low > high:
        raise NoSuchSize
    return dataclasses.replace(source, aval=_aval(source.aval, sizes), min=low, max=high)


def number(value: Any, sizes: Mapping[str, int]) -> Any:
    """An expression of sizes as a number; any other value as it is."""
    return compat.size_at(value, sizes) if compat.is_size(value) else value


def _aval(aval: Any, sizes: Mapping[str, int]) -> Any:
    shape = tuple(number(n, sizes) for n in getattr(aval, "shape", ()))
    if any(n < 0 for n in shape):
        raise NoSuchSize
    return aval if shape == getattr(aval, "shape", ()) else aval.update(shape=shape)


class AtSize:
    """The equations of a symbolic program at some sizes."""

    def __init__(self, closed: Any, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.made: dict[int, Any] = {}
        """By identity of a symbolic equation: the same at these sizes."""
        self._jaxprs: dict[int, Any] = {}
        self._kept: list[Any] = []
        self.closed = self._jaxpr(closed)

    def _jaxpr(self, jaxpr: Any) -> Any:
        known = self._jaxprs.get(id(jaxpr))
        if known is not None:
            return known
        opened, _ = compat.open_jaxpr(jaxpr)
        names: dict[Any, Any] = {}

        def var(atom: Any) -> Any:
            if isinstance(atom, compat.Literal) or not hasattr(atom.aval, "shape"):
                return atom
            if atom not in names:
                aval = _aval(atom.aval, self.sizes)
                names[atom] = atom if aval is atom.aval else compat.Var(aval)
            return names[atom]

        def all_of(atoms: Iterable[Any]) -> list[Any]:
            return [var(a) for a in atoms]

        ins, consts = all_of(opened.invars), all_of(opened.constvars)
        eqns = []
        for eqn in opened.eqns:
            params = {k: self._param(v) for k, v in eqn.params.items()}
            new = eqn.replace(invars=all_of(eqn.invars), outvars=all_of(eqn.outvars), params=params)
            self.made[id(eqn)] = new
            eqns.append(new)
        parts = {"invars": ins, "constvars": consts, "outvars": all_of(opened.outvars), "eqns": eqns}
        made = opened.replace(**parts, debug_info=opened.debug_info.with_unknown_names())
        if jaxpr is not opened:
            made = jaxpr.replace(jaxpr=made)
        self._kept.append(jaxpr)
        self._jaxprs[id(jaxpr)] = made
        return made

    def _param(self, value: Any) -> Any:
        if hasattr(value, "eqns") or (hasattr(value, "jaxpr") and hasattr(value, "consts")):
            return self._jaxpr(value)
        if type(value) in (tuple, list):
            return type(value)(self._param(v) for v in value)
        return number(value, self.sizes)
