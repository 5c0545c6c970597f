"""Binary search: where in an array it can end.

Bounds of the elements and of the query say how comparisons come out, and that says where it ends, be the array sorted
or not: never behind an element at which, and at all after which, it would turn back.

`jax.random.choice(p=…)` searches cumsum(p) for cumsum(p)[-1] · (1 - u). A search among n elements ends at n
only if its last comparison, with element n - 1, found the query greater. A share of at most 1 of a last
element that is not negative is, rounded or not, at most that element, because rounding is monotone. So is the lesser
of that element and another number, and so is an element of what was sorted, `jnp.searchsorted(jnp.sort(x), x)`; and so
is, where it holds, what is compared with it: a search that goes on behind equal elements ends before n if the query is
less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, dtype_info, summarised
from redzone.frontend.compat import Literal, open_jaxpr, primitives

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_SUB: Final = _P["sub_p"]
_DIV: Final = _P["div_p"]
_MUL: Final = _P["mul_p"]
_MIN: Final = _P["min_p"]
_EQ: Final = _P["eq_p"]
_NE: Final = _P["ne_p"]
_SELECT: Final = _P["select_n_p"]
_GATHER: Final = _P["gather_p"]
_DYNAMIC_SLICE: Final = _P["dynamic_slice_p"]
_SLICE: Final = _P["slice_p"]
_LE_TO: Final = _P.get("le_to_p")
_LT_TO: Final = _P.get("lt_to_p")
_SORT: Final = _P["sort_p"]
_REV: Final = _P["rev_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_MOVES: Final = (_P["squeeze_p"], _P["reshape_p"], _BROADCAST)
_JIT: Final = _P.get("jit_p", _P.get("pjit_p"))


class Search(NamedTuple):
    """A scan body that looks for `query` in `array`: positions among its inputs."""

    array: int
    query: int
    size: int
    right: bool
    """Whether it goes on behind elements that are equal to the query."""


class Share(NamedTuple):
    """The query of a search is a share of the array's last element."""

    size: int
    last: int
    """The slot of the last element."""
    share: int

    def moved(self, slots: tuple[int, ...]) -> Share:
        """The same over other slots."""
        return Share(self.size, slots[0], slots[1])


class Placed(NamedTuple):
    """A search of which bounds of the elements and of the query are known."""

    size: int
    array: int
    """The slot of the array."""
    query: int
    right: bool
    whole: bool
    """Whether it is known to search the whole array, and to the end."""

    def moved(self, slots: tuple[int, ...]) -> Placed:
        """The same over other slots."""
        return Placed(self.size, slots[0], slots[1], self.right, self.whole)


class Lesser(NamedTuple):
    """The query of a search is the lesser of the array's last element and another number."""

    size: int
    other: int
    """The slot of the other number."""

    def moved(self, slots: tuple[int, ...]) -> Lesser:
        """The same over other slots."""
        return Lesser(self.size, slots[0])


class Among(NamedTuple):
    """What is looked for are elements of what the array was sorted from, so that none is beyond its last."""

    size: int

    def moved(self, slots: tuple[int, ...]) -> Among:
        """The same over other slots, of which it needs none."""
        return self


def search_of(jaxpr: Any, consts: int, fixed: dict[int, int]) -> Search | None:
    """The binary search that a scan's body is one round of, its carries the two ends; None if it is none.

    `fixed` are the inputs whose numbers are known, by their positions.
    """
    if len(jaxpr.outvars) != 2 or len(jaxpr.invars) != consts + 2 or _LE_TO is None:
        return None
    made = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    low, high = jaxpr.invars[consts:]
    ends = [made.get(v) if type(v) is not Literal else None for v in jaxpr.outvars]
    if any(e is None or e.primitive is not _SELECT or len(e.invars) != 3 for e in ends):
        return None
    test, middle, kept_low = ends[0].invars  # type: ignore[union-attr]
    test_, kept_high, middle_ = ends[1].invars  # type: ignore[union-attr]
    if test is not test_ or middle is not middle_ or kept_low is not low or kept_high is not high:
        return None
    compared = made.get(test)
    twos = [jaxpr.invars[i] for i, number in fixed.items() if number == 2]
    if compared is None or compared.primitive not in (_LE_TO, _LT_TO) or not _is_middle(made, middle, low, high, twos):
        return None
    query, element = (_without_zeros_and_nans(made, a) for a in compared.invars)
    if dtype_info(query.aval.dtype).kind == "f" and query is compared.invars[0]:
        # To a total order -0 and 0 are two numbers.
        return None
    array = _element_at(made, element, middle)
    inputs = list(jaxpr.invars[:consts])
    if query not in inputs or array not in inputs:
        return None
    right = compared.primitive is _LT_TO
    return Search(inputs.index(array), inputs.index(query), int(array.aval.shape[-1]), right)


def _is(value: Any, number: float) -> bool:
    return type(value) is Literal and getattr(value.val, "shape", ()) == () and bool(value.val == number)


def _is_middle(made: dict[Any, Any], middle: Any, low: Any, high: Any, twos: list[Any]) -> bool:
    """Whether a variable is low + (high - low) // 2, of numbers that are not negative; `twos` are inputs that are 2."""
    total = made.get(middle)
    if total is None or total.primitive is not _ADD or total.invars[0] is not low:
        return False
    half = made.get(total.invars[1])
    if half is None or len(half.invars) != 2 or not (_is(half.invars[1], 2) or half.invars[1] in twos):
        return False
    if half.primitive is _JIT:
        inner, _ = open_jaxpr(half.params["jaxpr"])
        quotient = inner.eqns[-1] if inner.eqns else None
        others = [e for e in inner.eqns[:-1] if e.invars[0] is inner.invars[1]]
        if quotient is None or quotient.primitive is not _DIV or inner.outvars[0] is not quotient.outvars[0]:
            return False
        if quotient.invars[0] is not inner.invars[0] or any(e.primitive is not _CONVERT for e in inner.eqns[:-1]):
            return False
        if quotient.invars[1] is not inner.invars[1] and all(quotient.invars[1] is not e.outvars[0] for e in others):
            return False
    elif half.primitive is not _DIV:
        return False
    difference = made.get(half.invars[0])
    if difference is None or difference.primitive is not _SUB:
        return False
    return difference.invars[0] is high and difference.invars[1] is low


def _without_zeros_and_nans(made: dict[Any, Any], atom: Any) -> Any:
    """What a value was before -0 became 0 and every NaN the same one, as a total order wants it."""
    outer = made.get(atom) if type(atom) is not Literal else None
    if outer is None or outer.primitive is not _SELECT or len(outer.invars) != 3:
        return atom
    missing, inner = made.get(outer.invars[0]), made.get(outer.invars[1])
    if missing is None or missing.primitive is not _NE or inner is None or inner.primitive is not _SELECT:
        return atom
    value = inner.invars[1]
    zero = made.get(inner.invars[0])
    if zero is None or zero.primitive is not _EQ or zero.invars[0] is not value or not _is(zero.invars[1], 0.0):
        return atom
    if missing.invars[0] is not value or missing.invars[1] is not value or not _is(_spread(made, inner.invars[2]), 0.0):
        return atom
    nan = _spread(made, outer.invars[2])
    return value if type(nan) is Literal and bool(nan.val != nan.val) else atom


def _spread(made: dict[Any, Any], atom: Any) -> Any:
    eqn = made.get(atom) if type(atom) is not Literal else None
    return _spread(made, eqn.invars[0]) if eqn is not None and eqn.primitive is _BROADCAST else atom


def _element_at(made: dict[Any, Any], element: Any, index: Any) -> Any:
    """The one-dimensional array whose element at the index this is, or the array of rows each of whose elements is."""
    eqn = made.get(element) if type(element) is not Literal else None
    while eqn is not None and eqn.primitive in _MOVES and eqn.primitive is not _BROADCAST:
        eqn = made.get(eqn.invars[0])
    if eqn is None or eqn.primitive not in (_GATHER, _DYNAMIC_SLICE):
        return None
    array, at = eqn.invars[0], eqn.invars[1]
    rows = len(array.aval.shape) - 1
    if rows < 0 or set(eqn.params["slice_sizes"]) != {1} or any(type(n) is not int for n in array.aval.shape):
        return None
    if rows and (eqn.primitive is not _GATHER or not _is_in_each_row(eqn, rows)):
        return None
    if eqn.primitive is _GATHER:
        spread = made.get(at) if type(at) is not Literal else None
        if spread is None or spread.primitive is not _BROADCAST:
            return None
        shape = index.aval.shape
        if spread.outvars[0].aval.shape != (*shape, 1) or tuple(spread.params["broadcast_dimensions"]) != tuple(
            range(len(shape))
        ):
            return None
        at = spread.invars[0]
    return array if at is index else None


def _is_in_each_row(eqn: Any, rows: int) -> bool:
    """Whether a gather reads one element of each row, of so many dimensions of rows, at an index of its own."""
    numbers, array, indices = eqn.params["dimension_numbers"], eqn.invars[0].aval, eqn.invars[1].aval
    first = tuple(range(rows))
    return (
        tuple(numbers.operand_batching_dims) == tuple(numbers.start_indices_batching_dims) == first
        and tuple(numbers.start_index_map) == (rows,)
        and tuple(indices.shape) == (*array.shape[:-1], 1)
    )


#: A variable and the jaxpr it belongs to, with what it is another name of looked through.
Resolve = Callable[[Any, Any], tuple[Any, Any]]


def factors(resolve: Resolve, frame: Any, query: Any, array: Any, size: Any) -> tuple[Any, Any, Any] | None:
    """(frame, last element, share) if a query is a product with the last element of the array searched."""
    at, product = resolve(frame, query)
    eqn = None if type(product) is Literal else at.maker(product)
    if eqn is None or eqn.primitive is not _MUL:
        return None
    where = resolve(frame, array)
    for last, share in (eqn.invars, eqn.invars[::-1]):
        if is_last(resolve, at, last, where, size):
            return at, last, share
    return None


def lesser(resolve: Resolve, frame: Any, query: Any, array: Any, size: Any) -> tuple[Any, Any] | None:
    """(frame, other number) if a query is the lesser of it and the last element of the array searched.

    Where that is made inside a call, as by jnp.clip, the query stands for the other number: it is NaN if that is.
    """
    where = resolve(frame, array)
    outside, asked = at, least = resolve(frame, query)
    for _ in range(4):
        eqn = None if type(least) is Literal else at.maker(least)
        if eqn is None or eqn.primitive is not _JIT:
            break
        inner, consts = open_jaxpr(eqn.params["jaxpr"])
        if len(inner.invars) != len(eqn.invars) or len(inner.outvars) != len(eqn.outvars):
            return None
        result = inner.outvars[eqn.outvars.index(least)]
        at, least = resolve(at.inside(inner, dict(zip(inner.invars, eqn.invars, strict=True)), consts), result)
    if eqn is None or eqn.primitive is not _MIN:
        return None
    for last, other in (eqn.invars, eqn.invars[::-1]):
        if is_last(resolve, at, last, where, size):
            return (at, other) if at is outside else (outside, asked)
    return None


def is_among(resolve: Resolve, frame: Any, query: Any, array: Any) -> bool:
    """Whether a sorted array is searched for elements of its own, or of what it was sorted from.

    A sort compares as the search does, so the last element is before none of them, NaN included.
    """
    where = resolve(frame, array)
    source = _sorted_from(resolve, *where)
    if source is None:
        return False
    at, atom = resolve(frame, query)
    for _ in range(6):
        if any(at is place and atom is one for place, one in (where, source)):
            return True
        eqn = None if type(atom) is Literal else at.maker(atom)
        if eqn is None or not (eqn.primitive in _MOVES or eqn.primitive in (_SLICE, _REV)):
            return False
        at, atom = resolve(at, eqn.invars[0])
    return False


def _sorted_from(resolve: Resolve, at: Any, atom: Any) -> tuple[Any, Any] | None:
    """Where the row comes from that a sort has put in order by itself; None where none did."""
    for _ in range(4):
        eqn = None if type(atom) is Literal else at.maker(atom)
        if eqn is None:
            return None
        if eqn.primitive is _SORT:
            return resolve(at, eqn.invars[0]) if atom is eqn.outvars[0] and len(atom.aval.shape) == 1 else None
        if eqn.primitive is not _JIT:
            return None
        inner, consts = open_jaxpr(eqn.params["jaxpr"])
        if len(inner.invars) != len(eqn.invars) or len(inner.outvars) != len(eqn.outvars):
            return None
        result = inner.outvars[eqn.outvars.index(atom)]
        at, atom = resolve(at.inside(inner, dict(zip(inner.invars, eqn.invars, strict=True)), consts), result)
    return None


def is_last(resolve: Resolve, frame: Any, atom: Any, array: tuple[Any, Any], size: Any) -> bool:
    """Whether an atom is the last element of the array, or those of its rows, each in its place."""
    rows = tuple(array[1].aval.shape[:-1])
    if rows and atom.aval.shape != rows:
        return False
    for _ in range(4):
        frame, atom = resolve(frame, atom)
        eqn = None if type(atom) is Literal else frame.maker(atom)
        if eqn is None:
            return False
        if eqn.primitive is _SLICE:
            p = eqn.params
            found, var = resolve(frame, eqn.invars[0])
            same = found is array[0] and var is array[1]
            starts, limits, first = tuple(p["start_indices"]), tuple(p["limit_indices"]), (0,) * len(rows)
            return same and starts == (*first, size - 1) and limits == (*rows, size)
        if eqn.primitive not in _MOVES or (rows and not _drops_ones(eqn, rows)):
            return False
        atom = eqn.invars[0]
    return False


def stays_below(share: Share, last: Fact, part: Fact, low: Fact, high: Fact, rounds: Any) -> bool:
    """Whether the search ends before the array's end; of a last element that is NaN, every share is that NaN."""
    last, part = summarised(last), summarised(part)
    if part.nan or not (last.lo >= 0 and -math.inf < part.lo and part.hi <= 1):
        return False
    if last.hi == math.inf and not part.lo > 0:
        # None of infinitely much would be NaN, which is found nowhere.
        return False
    return _closes(share.size, low, high, rounds)


def is_before_the_end(found: Lesser, other: Fact, low: Fact, high: Fact, rounds: Any) -> bool:
    """The same of a lesser number: where the last element is NaN so is the query, and that is not behind it."""
    return not other.nan and _closes(found.size, low, high, rounds)


def is_before_or_at_the_last(found: Among, low: Fact, high: Fact, rounds: Any) -> bool:
    """The same of elements that the array has."""
    return _closes(found.size, low, high, rounds)


def _closes(size: int, low: Fact, high: Fact, rounds: Any) -> bool:
    """Whether a search of the whole array has at most one element left in the end, however its comparisons come out."""
    return low.step == 0 and low.lo == 0 and high.step == 0 and high.lo == size and is_long_enough(size, rounds)


def is_long_enough(size: int, rounds: Any) -> bool:
    """Whether so many rounds leave one element of as many as the array has, and look at one at least."""
    if type(rounds) is not int or rounds < 1:
        return False
    left = size
    for _ in range(min(rounds, size)):
        left -= left // 2
    return left == 1


def ends_of(placed: Placed, array: Fact, query: Fact, low: Fact, high: Fact, rounds: Any) -> Fact | None:
    """Where the search can end; None where nothing is said.

    It ends at the array's end or at an element that the query was not behind, and right after the first element or one
    that the query was behind. NaN is behind every number.
    """
    if not _closes(placed.size, low, high, rounds):
        return None
    query, first, last = summarised(query), 0, placed.size
    if not all(map(_is_number, (query.lo, query.hi, array.lo, array.hi))):
        return None
    # One element that stands for all, or each by itself.
    lows, highs = np.atleast_1d(array.lo), np.atleast_1d(array.hi)
    if not array.nan:
        behind = query.lo >= highs if placed.right else query.lo > highs
        first = placed.size if behind.all() else int(np.argmin(behind))
    if not query.nan:
        before = query.hi < lows if placed.right else query.hi <= lows
        last = 1 if before.all() else placed.size - int(np.argmin(before[::-1]))
    return Fact(first, last, 0 if first == last else 1) if first <= last else None


def _is_number(bound: Any) -> bool:
    """Whether a bound is known, for all elements or each of them: no size without a number."""
    return type(bound) in (int, float, np.ndarray)


def _drops_ones(eqn: Any, rows: tuple[Any, ...]) -> bool:
    """Whether a rearrangement leaves as many rows as there are, one element of each, in their order."""
    return eqn.invars[0].aval.shape == (*rows, 1) and eqn.primitive is not _BROADCAST
