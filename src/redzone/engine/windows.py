"""Parts of arrays, asked for one by one: what a program reads from a state array is followed to where it was written.

`cars[3][0]` after a row of writes at known places is the number written there last, or the element the array came in
with. So the demand for a slice is not one for its array: it is a window, and it moves backward through the equations
that only put elements elsewhere (slices, squeezes, concatenations, broadcasts, writes at literal places), and through
selects and elementwise equations, which are then made for the window alone. Equal windows of one array share a slot,
so that what a condition says of one reading holds for all of them. The steps made here compute the same values as the
equations they stand for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from redzone.domains import dtype_info
from redzone.engine.consecutive import part_of
from redzone.engine.program import SIMPLE
from redzone.engine.writes import is_beside, is_within, known_write
from redzone.frontend.compat import Literal, primitives
from redzone.rules import RULES, Rule
from redzone.rules.table import SAME

if TYPE_CHECKING:
    from redzone.engine.frames import Frame
    from redzone.engine.slots import Slots

#: How many windows of one array an elementwise equation is made for; beyond, the array is computed once.
MANY: Final = 8
#: How many elements such a window may have.
SHORT: Final = 16

_P: Final = primitives()
_SLICE: Final = _P["slice_p"]
_SQUEEZE: Final = _P["squeeze_p"]
_RESHAPE: Final = _P["reshape_p"]
_COPY: Final = _P["copy_p"]
_SELECT: Final = _P["select_n_p"]
_SCATTER: Final = _P["scatter_p"]
_UPDATE: Final = _P["dynamic_update_slice_p"]
_GATHER: Final = _P["gather_p"]
#: Equations whose result is a window of their operand; of a gather, where its places are known.
READS: Final = frozenset((_SLICE, _SQUEEZE, _GATHER))
#: `a, b = x` from JAX 0.11 on: each of its results is a window of its operand, without one dimension.
UNSTACK: Final = _P.get("unstack_p")
#: Equations that take parts of an array.
PARTS: Final = frozenset((_SLICE, _SQUEEZE, UNSTACK))


_NO_EFFECTS: Final[frozenset[Any]] = frozenset()


class Shape:
    """The type of a part of an array."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype

    def str_short(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Value:
    """A value that no equation of the program has a name for."""

    __slots__ = ("aval",)

    def __init__(self, aval: Shape) -> None:
        self.aval = aval


class Made:
    """An equation made for a part of an array; its place in the source is that of the equation it stands for."""

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "source_info")

    def __init__(self, primitive: Any, params: dict[str, Any], invars: list[Any], shape: Shape, like: Any) -> None:
        self.primitive = primitive
        self.params = params
        self.invars = invars
        self.outvars = [Value(shape)]
        self.effects = _NO_EFFECTS
        self.source_info = like.source_info


class Want:
    """A window of an array, and the slot its values are to have."""

    __slots__ = ("given", "shape", "sizes", "slot", "starts")

    def __init__(
        self,
        slot: int,
        starts: tuple[int, ...],
        sizes: tuple[int, ...],
        shape: tuple[int, ...],
        given: tuple[Any, int] | None,
    ) -> None:
        self.slot = slot
        self.starts = starts
        self.sizes = sizes
        self.shape = shape
        """Its sizes, more or less some that are 1."""
        self.given = given
        """A condition, and how it comes out wherever this is used."""

    def key(self) -> Any:
        """Equal for two windows of one array that hold the same values."""
        return self.starts, self.sizes, self.shape, self.given

    def at(self, starts: tuple[int, ...], sizes: tuple[int, ...]) -> Want:
        """The same values elsewhere."""
        return Want(self.slot, starts, sizes, self.shape, self.given)


def is_followed(aval: Any) -> bool:
    """Whether windows of such an array are followed: integers, of known size, and some."""
    if not dtype_info(getattr(aval, "dtype", None)).integral:
        return False
    for n in aval.shape:
        if type(n) is not int:
            return False
        if n == 0:
            return False
    return True


def read(build: Slots, eqn: Any, frame: Frame, at: int = 0) -> bool:
    """Follow the result of a slice or squeeze that was asked for; False where it is an ordinary step.

    Where its place among the equations is known, the slice right before a squeeze, `x[i]`, is gone through at once.
    """
    out, source = eqn.outvars[0], eqn.invars[0]
    if not is_followed(source.aval) or not is_followed(out.aval) or type(source) is Literal:
        return False
    shape, primitive = out.aval.shape, eqn.primitive
    if primitive is _SLICE:
        return _part(build, eqn, frame, frame.slots[out], shape)
    if at and primitive is _SQUEEZE:
        before = frame.eqns[at - 1]
        if before.primitive is _SLICE and before.outvars[0] is source:
            alone = source not in frame.slots and source not in frame.wanted
            if alone and _part(build, before, frame, frame.slots[out], shape):
                return True
    want = Want(frame.slots[out], (0,) * len(shape), shape, shape, None)
    return _MOVES[primitive](build, eqn, frame, want)


def _part(build: Slots, eqn: Any, frame: Frame, slot: int, shape: tuple[int, ...]) -> bool:
    """Ask for all that a slice takes, for a slot of this shape; False where it leaves elements out."""
    params = eqn.params
    if _has_steps(params):
        return False
    starts = tuple([n if type(n) is int else int(n) for n in params["start_indices"]])
    ask(build, eqn, frame, eqn.invars[0], Want(slot, starts, eqn.outvars[0].aval.shape, shape, None))
    return True


def unstack(build: Slots, eqn: Any, frame: Frame) -> None:
    """Take those of an unstack's results that were asked for from its operand, one by one."""
    for out in eqn.outvars:
        slot = frame.slots.get(out)
        if slot is not None:
            shape = out.aval.shape
            _unstacked(build, eqn, frame, out, Want(slot, (0,) * len(shape), shape, shape, None))


def _unstacked(build: Slots, eqn: Any, frame: Frame, out: Any, want: Want) -> None:
    """Ask for a window of one of the results of an unstack where it lies in the operand."""
    source, axis = eqn.invars[0], int(eqn.params["axis"])
    number = next(k for k, v in enumerate(eqn.outvars) if v is out)
    starts = (*want.starts[:axis], number, *want.starts[axis:])
    there = want.at(starts, (*want.sizes[:axis], 1, *want.sizes[axis:]))
    (ask if is_followed(source.aval) else cut)(build, eqn, frame, source, there)


def moves(eqn: Any) -> bool:
    """Whether an equation only puts elements elsewhere, so that windows of its result are windows of its operands."""
    return eqn.primitive in _MOVES or eqn.primitive is UNSTACK


def may_follow(eqn: Any) -> bool:
    """Whether windows of an equation's result may be followed through it."""
    rule = RULES.get(eqn.primitive)
    return moves(eqn) or (rule is not None and rule.pointwise)


def flush(build: Slots, eqn: Any, frame: Frame, out: Any) -> None:
    """Follow the windows asked for of an equation's result through it."""
    wants = frame.wanted.pop(out)
    frame.pending -= 1
    if eqn.primitive is UNSTACK:
        for want in wants.values():
            _unstacked(build, eqn, frame, out, want)
        return
    move = _MOVES.get(eqn.primitive)
    if move is None and len(wants) <= MANY and out not in frame.slots:
        rule = RULES.get(eqn.primitive)
        move = _pointwise if rule is not None and rule.pointwise and rule.each else None
    elif eqn.primitive is _SELECT:
        wants = _picked(build, eqn, frame, wants)
    elif eqn.primitive is _SCATTER or eqn.primitive is _UPDATE:
        wants = _beside(build, eqn, frame, wants)
    for want in wants.values():
        if move is None or not move(build, eqn, frame, want):
            cut(build, eqn, frame, out, want)


def flush_inputs(build: Slots, frame: Frame) -> None:
    """Cut the windows that were followed to a program's inputs."""
    while frame.wanted:
        atom, wants = frame.wanted.popitem()
        for want in wants.values():
            cut(build, frame.jaxpr.eqns[0], frame, atom, want)


def ask(build: Slots, eqn: Any, frame: Frame, atom: Any, want: Want) -> None:
    """Ask for a window of an atom."""
    frame, atom = frame.outer(atom)
    aval = atom.aval
    if want.sizes == aval.shape == want.shape:
        build.rename(_copy(eqn, atom, aval.shape), frame, atom, want.slot)
        return
    if type(atom) is Literal or atom in frame.consts:
        cut(build, eqn, frame, atom, want)
        return
    wants = frame.wanted.get(atom)
    key = want.key()
    if wants is None:
        _put(frame, atom, {key: want})
        return
    known = wants.setdefault(key, want)
    if known is not want:
        build.emit(SIMPLE, _copy(eqn, atom, want.shape), (known.slot,), (want.slot,)).rule = SAME


def _put(frame: Frame, atom: Any, wants: dict[Any, Want]) -> None:
    """Ask for windows of a variable of which none was asked for so far."""
    if atom not in frame.inputs:
        frame.pending += 1
    frame.wanted[atom] = wants


def cut(build: Slots, eqn: Any, frame: Frame, atom: Any, want: Want) -> None:
    """Take a window from the whole array."""
    aval, source, target = atom.aval, build.slot(frame, atom), want.slot
    sliced = want.sizes != aval.shape
    if want.shape != want.sizes:
        middle = build.new() if sliced else source
        inner: Any = Value(Shape(want.sizes, aval.dtype)) if sliced else atom
        dims = _dropped(want.sizes, want.shape)
        if dims is None:
            primitive, params = _RESHAPE, {"new_sizes": want.shape, "dimensions": None, "sharding": None}
        else:
            primitive, params = _SQUEEZE, {"dimensions": dims}
        made = Made(primitive, params, [inner], Shape(want.shape, aval.dtype), eqn)
        build.emit(SIMPLE, made, (middle,), (target,)).rule = RULES[primitive]
        target = middle
    elif not sliced:
        build.emit(SIMPLE, _copy(eqn, atom, want.shape), (source,), (target,)).rule = SAME
    if sliced:
        ends = tuple([start + want.sizes[d] for d, start in enumerate(want.starts)])
        bounds: dict[str, Any] = {"start_indices": want.starts, "limit_indices": ends, "strides": None}
        made = Made(_SLICE, bounds, [atom], Shape(want.sizes, aval.dtype), eqn)
        build.emit(SIMPLE, made, (source,), (target,)).rule = RULES[_SLICE]


def _dropped(sizes: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Which dimensions of one element are left out to get from these sizes to that shape; None where others come in."""
    dims, left = [], list(shape)
    for d in reversed(range(len(sizes))):
        if left and left[-1] == sizes[d]:
            left.pop()
        elif sizes[d] == 1:
            dims.append(d)
        else:
            return None
    return None if left else tuple(reversed(dims))


def _copy(eqn: Any, atom: Any, shape: tuple[int, ...]) -> Made:
    return Made(_COPY, {}, [atom], Shape(shape, atom.aval.dtype), eqn)


# Through one equation each; False where its whole result is needed


def _slice(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    params = eqn.params
    if _has_steps(params):
        return False
    first = params["start_indices"]
    moved = [a + (n if type(n) is int else int(n)) for a, n in zip(want.starts, first, strict=True)]
    ask(build, eqn, frame, eqn.invars[0], want.at(tuple(moved), want.sizes))
    return True


def _has_steps(params: dict[str, Any]) -> bool:
    """Whether a slice leaves elements out between those that it takes."""
    return any(n != 1 for n in params["strides"] or ())


def _squeeze(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    ask(build, eqn, frame, eqn.invars[0], _squeezed(eqn, want))
    return True


def _squeezed(eqn: Any, want: Want) -> Want:
    """Where a window of what a squeeze makes lies in its operand."""
    starts, sizes, dims = list(want.starts), list(want.sizes), eqn.params["dimensions"]
    for d in dims if len(dims) == 1 else sorted(dims):
        starts.insert(d, 0)
        sizes.insert(d, 1)
    return want.at(tuple(starts), tuple(sizes))


def _gathered(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    """Elements read at places that follow one another (`engine/consecutive.py`)."""
    table = eqn.invars[0]
    part = part_of(frame, eqn) if is_followed(table.aval) and type(table) is not Literal else None
    if part is None:
        return False
    starts, sizes = [0] * len(table.aval.shape), [1] * len(table.aval.shape)
    for d, source in enumerate(part.sources):
        if source >= 0:
            starts[source], sizes[source] = want.starts[d], want.sizes[d]
    starts[part.axis] += part.first
    ask(build, eqn, frame, table, want.at(tuple(starts), tuple(sizes)))
    return True


def _same(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    ask(build, eqn, frame, eqn.invars[0], want)
    return True


def _broadcast(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    dims, shape = eqn.params["broadcast_dimensions"], eqn.invars[0].aval.shape
    if not is_followed(eqn.invars[0].aval):
        return False
    spread = [n for d, n in enumerate(want.sizes) if d not in dims or shape[dims.index(d)] == 1]
    if any(n != 1 for n in spread):
        return False
    starts = tuple(0 if n == 1 else want.starts[d] for d, n in zip(dims, shape, strict=True))
    ask(build, eqn, frame, eqn.invars[0], want.at(starts, tuple([want.sizes[d] for d in dims])))
    return True


def _reshape(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    """One element, by its number; more only where nothing but dimensions of one element changes."""
    old, new = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    if eqn.params.get("dimensions") is not None or not is_followed(eqn.invars[0].aval):
        return False
    if math.prod(want.sizes) == 1:
        number = 0
        for a, n in zip(want.starts, new, strict=True):
            number = number * n + a
        starts: list[int] = []
        for n in reversed(old):
            number, at = divmod(number, n)
            starts.append(at)
        ask(build, eqn, frame, eqn.invars[0], want.at(tuple(starts[::-1]), (1,) * len(old)))
        return True
    if [n for n in old if n != 1] != [n for n in new if n != 1]:
        return False
    real = iter([(a, s) for a, s, n in zip(want.starts, want.sizes, new, strict=True) if n != 1])
    places = [next(real) if n != 1 else (0, 1) for n in old]
    moved = want.at(tuple([a for a, _ in places]), tuple([s for _, s in places]))
    if [n for n in want.shape if n != 1] != list(want.shape) and math.prod(want.shape) != 1:
        return False
    ask(build, eqn, frame, eqn.invars[0], moved)
    return True


def _concatenate(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    axis = int(eqn.params["dimension"])
    start: Any = 0
    first, last = want.starts[axis], want.starts[axis] + want.sizes[axis]
    for atom in eqn.invars:
        stop = start + atom.aval.shape[axis]
        if start <= first and last <= stop:
            starts = (*want.starts[:axis], first - start, *want.starts[axis + 1 :])
            ask(build, eqn, frame, atom, want.at(starts, want.sizes))
            return True
        start = stop
    return False


def _beside(build: Slots, eqn: Any, frame: Frame, wants: dict[Any, Want]) -> dict[Any, Want]:
    """Hand the windows that a write leaves as they were on to the array before it; the others are left."""
    write, atom = known_write(build, eqn), eqn.invars[0]
    if write is None or not _is_new(frame, atom):
        return wants
    left = {key: want for key, want in wants.items() if not is_beside(want, write)}
    for key in left:
        del wants[key]
    if wants:
        _put(frame, atom, wants)
    return left


def _is_new(frame: Frame, atom: Any) -> bool:
    """Whether an atom is a variable of a frame's own of which no window was asked for yet."""
    if type(atom) is Literal or atom in frame.bindings or atom in frame.consts:
        return False
    return atom not in frame.wanted


def _written(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    """A write at a known place: beside it the array is as it was, inside it is what was written."""
    write = known_write(build, eqn)
    if write is None:
        return False
    if is_beside(want, write):
        ask(build, eqn, frame, eqn.invars[0], want)
        return True
    if write.update is None or not is_within(want, write) or not is_followed(write.update.aval):
        return False
    starts, sizes = [], []
    for k, n in enumerate(write.update.aval.shape):
        d = write.places.get(k)
        if d is None and n != 1:
            return False
        starts.append(0 if d is None else want.starts[d] - write.first[d])
        sizes.append(1 if d is None else want.sizes[d])
    ask(build, eqn, frame, write.update, want.at(tuple(starts), tuple(sizes)))
    return True


def _picked(build: Slots, eqn: Any, frame: Frame, wants: dict[Any, Want]) -> dict[Any, Want]:
    """Hand the windows behind a case of a select on to that case of another by the same condition; others are left."""
    invars = eqn.invars
    at, name = frame.outer(invars[0])
    if len(invars) != 3 or type(name) is Literal:
        return wants
    ways = [_case_behind(want, at, name) for want in wants.values()]
    case = ways[0]
    if case >= 0 and ways.count(case) == len(ways) and _is_new(frame, invars[1 + case]):
        _put(frame, invars[1 + case], wants)
        return {}
    left: dict[Any, Want] = {}
    for case, (key, want) in zip(ways, wants.items(), strict=True):
        if case < 0:
            left[key] = want
        else:
            ask(build, eqn, frame, invars[1 + case], want)
    return left


def _case_behind(want: Want, at: Frame, name: Any) -> int:
    """Which case of a select by this condition a window stands behind; -1 where it is none."""
    if want.given is None:
        return -1
    (where, what), case = want.given
    return int(case) if where is at and what is name else -1


def _select(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    """A select of the windows of its cases."""
    invars = eqn.invars
    if len(invars) != 3:
        return False
    which, cases = invars[0], invars[1:]
    at, name = frame.outer(which)
    if type(name) is Literal:
        if name.aval.shape:
            return False
        ask(build, eqn, frame, cases[min(max(int(name.val), 0), 1)], want)
        return True
    condition = (at, name)
    if eqn.outvars[0] in frame.slots or math.prod(want.shape) > SHORT or which.aval.shape:
        return False
    slots = [build.new(), build.new()]
    shape = Shape(want.shape, eqn.outvars[0].aval.dtype)
    made = Made(_SELECT, {}, [which, Value(shape), Value(shape)], shape, eqn)
    build.emit(SIMPLE, made, (build.slot(frame, which), *slots), (want.slot,)).rule = RULES[_SELECT]
    for k, case in enumerate(cases):
        ask(build, eqn, frame, case, Want(slots[k], want.starts, want.sizes, want.shape, (condition, k)))
    return True


def _pointwise(build: Slots, eqn: Any, frame: Frame, want: Want) -> bool:
    """An elementwise equation on the windows of its operands."""
    rule: Rule = RULES[eqn.primitive]
    out = eqn.outvars[0].aval
    if math.prod(want.shape) > SHORT:
        return False
    invars, shapes, whole = list(eqn.invars), out.shape, list[bool]()
    for a in invars:
        aval = a.aval
        if not is_followed(aval):
            return False
        spread = aval.shape
        if spread and spread != shapes:
            return False
        whole.append(not spread)
    slots = [build.slot(frame, a) if w else build.new() for a, w in zip(invars, whole, strict=True)]
    inner = [a if w else Value(Shape(want.shape, a.aval.dtype)) for a, w in zip(invars, whole, strict=True)]
    made = Made(eqn.primitive, eqn.params, inner, Shape(want.shape, out.dtype), eqn)
    build.emit(SIMPLE, made, slots, (want.slot,)).rule = rule
    for a, w, slot in zip(invars, whole, slots, strict=True):
        if not w:
            ask(build, eqn, frame, a, Want(slot, want.starts, want.sizes, want.shape, want.given))
    return True


_MOVES: Final = {
    _P[name]: move
    for name, move in {
        "slice_p": _slice,
        "squeeze_p": _squeeze,
        "gather_p": _gathered,
        "copy_p": _same,
        "stop_gradient_p": _same,
        "broadcast_in_dim_p": _broadcast,
        "reshape_p": _reshape,
        "concatenate_p": _concatenate,
        "scatter_p": _written,
        "dynamic_update_slice_p": _written,
        "select_n_p": _select,
    }.items()
    if name in _P
}
