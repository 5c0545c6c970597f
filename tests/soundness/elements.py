"""Pieces of elements against concrete evaluation: what a run computes must be what some piece says.

A program's result is asked for as piecewise affine expressions. For concrete inputs every atom that is an
input's element, a position or a quotient has a known value; put in, some piece must still be possible
and equal to what the run computed, or the point lies where a value was said to leave its integer type.
"""

from __future__ import annotations

import dataclasses
import functools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from redzone.domains.affine import Atom, Linear, Region
from redzone.engine import inventory_of
from redzone.engine.forward import Runner
from redzone.engine.slice import Slicer
from redzone.frontend.compat import open_jaxpr
from redzone.prove.conditions import rerun_of
from redzone.prove.elements import Elements
from redzone.prove.pieces import NotAffine, Work
from tests.fuzz.check import traced
from tests.fuzz.exact import Interpreter, Silent
from tests.fuzz.generate import Argument, sample
from tests.fuzz.relations import expression
from tests.fuzz.scope import Scope, Trace

SMALL = Argument((), np.dtype("int32"), -9, 12)
BYTE = Argument((), np.dtype("int8"), None, None)
UNSIGNED = Argument((), np.dtype("uint8"), None, None)
NEAR = Argument((), np.dtype("int32"), 0, 2)
ROW = Argument((4,), np.dtype("int32"), -9, 12)
PLACES = Argument((5,), np.dtype("int32"), 0, 3)
GRID = Argument((2, 3), np.dtype("int32"), -9, 12)


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """A traced program with one result."""

    name: str
    arguments: tuple[Argument, ...]
    closed: Any


def _row(*numbers: Any) -> Any:
    return lax.concatenate([n[None] for n in numbers], 0)


def _written(i: Any, j: Any) -> Any:
    return lax.dynamic_update_slice_p.bind(_row(j, i, j + 1, i - j), _row(i, i), j)


def _scattered(i: Any, j: Any) -> Any:
    grid = _row(j, i, j + 1, i - j).reshape(2, 2)
    numbers = lax.ScatterDimensionNumbers((0,), (0,), (0,))
    return lax.scatter(grid, lax.clamp(0, j, 1)[None], _row(i, i), numbers, mode="promise_in_bounds")


def _scattered_in_part(i: Any, j: Any) -> Any:
    grid = _row(j, i, j + 1, i - j).reshape(2, 2)
    numbers = lax.ScatterDimensionNumbers((0, 1), (), (0,))
    return lax.scatter(grid, lax.clamp(0, j, 1)[None], i[None, None], numbers, mode="promise_in_bounds")


def _gathered(i: Any, v: Any) -> Any:
    numbers = lax.GatherDimensionNumbers((0,), (), (0,))
    return lax.gather(v, i[None], numbers, (2,), mode=lax.GatherScatterMode.CLIP)


def _along_rows(i: Any, g: Any) -> Any:
    at = _row(i & 1, (i >> 1) & 1)
    return jax.vmap(lambda row, k: row[k])(g, at)


_TABLE = np.array([[3, 1, 4], [1, 5, 9]], np.int32)

#: Each handler where its result can be told.
DIRECTED: list[tuple[str, Callable[..., Any], tuple[Argument, ...]]] = [
    ("sums", lambda i, j: 3 * i - j + 2, (SMALL, SMALL)),
    ("bytes", lambda a, b: a * np.int8(3) + b - np.int8(100), (BYTE, BYTE)),
    ("bytes compared", lambda a, b: (a + b > a) & ((a - b) < b), (BYTE, BYTE)),
    ("unsigned", lambda a, b: lax.max(a - b, b), (UNSIGNED, UNSIGNED)),
    ("zero times anything", lambda i, j: i * (j == 1) + j * (i > 3), (SMALL, SMALL)),
    ("max and min", lambda i, j: lax.max(i, j) - 2 * lax.min(i, j + 1), (SMALL, SMALL)),
    ("clamped", lambda i, j: lax.clamp(i, j, jnp.int32(5)), (SMALL, SMALL)),
    ("signs", lambda i, j: jnp.sign(i - j) * 3 + abs(i) - (-j), (SMALL, SMALL)),
    ("the least byte", lambda a: abs(a), (BYTE,)),
    ("logic", lambda i, j: ((i < j) & ~(i == 2)) | ((j >= 3) ^ (i != j)) | (i <= -5), (SMALL, SMALL)),
    ("at most", lambda i, j: (i <= j) == (j > 3), (SMALL, SMALL)),
    ("stacked", lambda i, j: jnp.stack([i, j, i - j]), (SMALL, SMALL)),
    ("complement", lambda i: ~i, (SMALL,)),
    ("casts", lambda i: (i * 20).astype(np.int8).astype(np.uint8).astype(np.int32), (SMALL,)),
    ("casts to bool", lambda i, j: (i - j).astype(bool).astype(np.int32), (SMALL, SMALL)),
    ("quotients", lambda i, j: (i + j) // 3 - (i - j) % 4, (SMALL, SMALL)),
    (
        "division toward zero",
        lambda i, j: lax.div(i + j, jnp.int32(3)) * 5 + lax.rem(i - j, jnp.int32(4)),
        (SMALL,) * 2,
    ),
    ("quotients in parts", lambda i: jnp.where(i >= 8, i // 4, jnp.clip(i, 0, 7) // 4), (SMALL,)),
    (
        "shifts",
        lambda i, a: ((i << 2) >> 1) + lax.shift_right_logical(a, np.uint8(3)).astype(np.int32),
        (SMALL, UNSIGNED),
    ),
    ("shifts by one of few", lambda i, n: ((i << n) >> 1) + lax.shift_right_logical(i & 31, n), (SMALL, NEAR)),
    ("times one of few", lambda i, n: (i + 1) * (n - 1) + (2 * n + 1) * i, (SMALL, NEAR)),
    ("divided by one of few", lambda i, n: i // (n + 1) + 20 * ((i - 3) % (2 * n + 1)), (SMALL, NEAR)),
    (
        "divided toward zero by one of few",
        lambda i, n: lax.div(i, n + 1) * 30 + lax.rem(i - 2, 2 * n + 1),
        (SMALL, NEAR),
    ),
    ("lowest bits", lambda i: i & 7, (SMALL,)),
    ("selects", lambda i, j: lax.select_n((i & 3) % 3, i, j, i - j), (SMALL, SMALL)),
    ("branches", lambda i, j: lax.switch(i, [lambda: i, lambda: j, lambda: i - j]), (SMALL, SMALL)),
    ("broadcast", lambda i, v: jnp.broadcast_to(v[:, None], (4, 2)) + i, (SMALL, ROW)),
    ("squeezed", lambda g: g.reshape(2, 1, 3)[:, 0] + 1, (GRID,)),
    ("transposed", lambda g: g.T - 1, (GRID,)),
    ("reversed", lambda g: lax.rev(g, (1,)), (GRID,)),
    ("strided", lambda v: v[1::2] + 0, (ROW,)),
    ("reshaped", lambda g: g.reshape(3, 2) + 0, (GRID,)),
    ("concatenated", lambda i, v: jnp.concatenate([v[:0], i[None], v[2:], v]), (SMALL, ROW)),
    ("padded", lambda i, g: lax.pad(g + 1, i, ((1, 0, 0), (-1, 2, 0))), (SMALL, GRID)),
    ("numbered", lambda i: lax.broadcasted_iota(np.int32, (2, 3), 1) * 2 + i, (SMALL,)),
    ("sliced", lambda i, v: lax.dynamic_slice_p.bind(v, i, slice_sizes=(2,)), (SMALL, ROW)),
    ("gathered", _gathered, (SMALL, ROW)),
    ("gathered along rows", _along_rows, (SMALL, GRID)),
    ("a table", lambda i: jnp.asarray(_TABLE)[1, i], (NEAR,)),
    ("a table where it is asked", lambda i: jnp.asarray(_TABLE)[0, lax.clamp(0, i, 2)] * 2 + i, (SMALL,)),
    ("written", _written, (SMALL, SMALL)),
    ("scattered", _scattered, (SMALL, SMALL)),
    ("scattered in part", _scattered_in_part, (SMALL, SMALL)),
    ("reduced", lambda i: jnp.max(i[None]) + jnp.sum(i[None]) - jnp.min(i[None]), (SMALL,)),
    ("what is left of a sum", lambda v: jnp.sum(v) - jnp.cumsum(v), (ROW,)),
    ("running sums of some and of the others", lambda v: jnp.cumsum(v > 1) + jnp.cumsum(1 - (v > 1)), (ROW,)),
    ("sums of some and of all", lambda v: jnp.where(v > 1, 3, -1).sum() - 4 * (v > 1).sum() + v[0], (ROW,)),
    ("counted in two ways", lambda v: jnp.zeros(4, np.int32).at[v].add(1)[2] - (v == 2).sum(), (PLACES,)),
    ("picked by a sum", lambda i, v: (v * (jnp.arange(4) == i)).sum() - i, (NEAR, ROW)),
    ("picked by a sum or not", lambda i, v: jnp.where(jnp.arange(1, 5) == i, v, 0).sum(), (NEAR, ROW)),
    ("reduced to a bool", lambda i: jnp.all((i > 2)[None]) | jnp.any((i == 0)[None]), (SMALL,)),
]


@functools.cache
def subjects(count: int) -> tuple[Subject, ...]:
    """The directed programs and as many random ones."""
    found = [Subject(name, args, _traced(function, args)) for name, function, args in DIRECTED]
    for seed in range(count):
        argument = random.Random(seed).choice([SMALL, SMALL, BYTE, UNSIGNED])

        def program(*names: Any, seed: int = seed) -> Any:
            scope = Scope(Trace(seed, frozenset(), [], 9), "elements", names, 0)
            return expression(scope, names, scope.small(1, 3))

        found.append(Subject(f"random {seed}", (argument,) * 3, _traced(program, (argument,) * 3)))
    return tuple(found)


def _traced(function: Callable[..., Any], arguments: Sequence[Argument]) -> Any:
    return jax.make_jaxpr(function)(*(a.struct() for a in arguments))


class Asked:
    """One program's result as pieces, element by element."""

    def __init__(self, subject: Subject, spills: bool) -> None:
        closed, inputs = subject.closed, traced(subject.closed, subject.arguments).inputs
        jaxpr, consts = open_jaxpr(closed)
        program = Slicer(inventory_of(closed)).program(jaxpr, consts, (0,))
        runner = Runner(lambda *_: None, Counter(), strict=True)
        runner.run(program, [inputs[k].fact() for k, _ in program.inputs], True)
        reruns: dict[Any, Any] = {}

        def rerun(context: Any, step: Any, k: int) -> Any:
            key = (id(context.env), id(step), k)
            if key not in reruns:
                reruns[key] = rerun_of(context, step, k)
            return reruns[key]

        self.elements = Elements(inputs, rerun, Work(10**6), spills)
        self.out = jaxpr.outvars[0].aval
        self.context, self.slot = runner.latest, program.outs[0]

    def pieces(self, place: tuple[Linear, ...]) -> tuple[list[Any], list[Region]]:
        assert self.context is not None
        found = self.elements.ask(self.context, self.slot, place)
        found = self.elements.held(found, self.out.dtype)
        return found, list(self.elements.spilled)

    def known(self, args: Sequence[Any], positions: dict[Atom, int]) -> tuple[dict[Atom, int], set[Atom]]:
        """The atoms whose values follow from the inputs, and those that stand for no element of theirs."""
        values, absent = dict(positions), set[Atom]()
        number = {a.number: a for a in (*self.elements.atoms.values(), *positions)}
        for key, atom in self.elements.atoms.items():
            if atom.leaf >= 0:
                at = [_at(p, values) for p in atom.place]
                shape = np.shape(args[atom.leaf])
                if any(k is None for k in at):
                    continue
                if all(0 <= k < n for k, n in zip(at, shape, strict=True)):
                    values[atom] = int(args[atom.leaf][tuple(at)])
                else:
                    absent.add(atom)
            elif type(key) is tuple and key[0] == "q":
                const, terms = key[1]
                whole = _at(Linear(const, {number[n]: k for n, k in terms}), values)
                if whole is not None:
                    values[atom] = whole // key[2]
        return values, absent


def _at(linear: Linear, values: dict[Atom, int]) -> int | None:
    if any(a not in values for a in linear.terms):
        return None
    return linear.const + sum(k * values[a] for a, k in linear.terms.items())


def _fixed(values: dict[Atom, int]) -> list[Linear]:
    return [Linear(sign * -n, {a: sign}) for a, n in values.items() for sign in (1, -1)]


def _possible(region: Region, values: dict[Atom, int], result: Linear | None = None) -> bool:
    """Whether a region can hold a point with these values, and a result that is 0 there."""
    inside = region.where(*_fixed(values))
    if inside is None or any(_at(h, values) == 0 for h in region.holes):
        return False
    if any(
        not a.lo <= n <= a.hi for a, n in values.items() if a in region.box or any(a in g.terms for g in region.guards)
    ):
        return False
    return result is None or inside.where(result, -result) is not None


def first_contradiction(count: int = 25, runs: int = 8) -> str:
    """The first result of a run that no piece admits; empty where there is none."""
    for subject in subjects(count):
        interpreter = Interpreter(subject.closed)
        for spills in (False, True):
            try:
                asked = Asked(subject, spills)
                found = _contradiction(asked, subject, interpreter, runs)
            except NotAffine:
                continue
            if found:
                return f"{subject.name}, {'as a condition' if spills else 'as a proof'}: {found}"
    return ""


def _contradiction(asked: Asked, subject: Subject, interpreter: Interpreter, runs: int) -> str:
    rng = random.Random(subject.name)
    shape = asked.out.shape
    inputs = [[sample(rng, a) for a in subject.arguments] for _ in range(runs)]
    results = [np.asarray(interpreter.run(args, Silent())[0]) for args in inputs]
    anywhere = tuple(Atom("i", 0, n - 1) for n in shape)
    ways: list[tuple[tuple[Linear, ...], list[tuple[int, ...]]]] = [
        (tuple(map(Linear, at)), [at]) for at in np.ndindex(shape)
    ]
    if shape:
        ways.append((tuple(Linear(0, {a: 1}) for a in anywhere), list(np.ndindex(shape))))
    for place, positions in ways:
        pieces, spilled = asked.pieces(place)
        for args, result in zip(inputs, results, strict=True):
            for at in positions:
                values, absent = asked.known(args, dict(zip(anywhere, at, strict=True)))
                number = int(result[at])
                if any(_possible(r, values, v - number) for r, v in pieces if absent.isdisjoint(v.terms)):
                    continue
                if any(_possible(r, values) for r in spilled):
                    continue
                return f"{number} at {at} for {[np.asarray(a).tolist() for a in args]}, not in {pieces}"
    return ""
