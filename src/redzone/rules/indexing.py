"""The values that indexing equations produce: what an array holds survives reads and writes."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from redzone.access.site import column_of, stays_inside
from redzone.access.xla import ACCESSES
from redzone.domains import TOP_FLOAT, Fact, constant, join, leq, scalar, summarised, top
from redzone.domains.fact import KEEP, apart, is_small, least, most
from redzone.rules import floats, integers
from redzone.rules.integers import of, wrapped
from redzone.rules.reductions import multiplied
from redzone.rules.shapes import summarised_along
from redzone.rules.table import rule, top_of

#: How many elements of an array are kept apart across a write.
APART: Final = 64
#: How many columns are told apart of an array with more elements than that.
ROW: Final = 16
#: Of so many elements, told apart along one dimension alone, Python is faster than numpy.
FEW: Final = 48
#: How large an element is, and what is added to it, at most for its bounds to be kept apart: no sum of such wraps.
FAR: Final = 2**40


def _range_along(fact: Fact, axis: int, lo: Any, hi: Any) -> Fact:
    """The hull of the rows lo..hi (clamped into the array) along one kept-apart dimension."""
    n = fact.lo.shape[axis]
    first, last = min(max(lo, 0), n - 1), min(max(hi, 0), n - 1)
    window = [slice(None)] * fact.lo.ndim
    window[axis] = slice(first, last + 1)
    at = tuple(window)
    return Fact(fact.lo[at].min(axis=axis, keepdims=True), fact.hi[at].max(axis=axis, keepdims=True), 1, fact.nan)


@rule("dynamic_slice_p")
def _dynamic_slice(eqn: Any, a: Fact, *starts: Fact) -> Fact:
    if type(a.lo) is not np.ndarray:
        return a
    for axis, (size, start) in enumerate(zip(eqn.params["slice_sizes"], starts, strict=False)):
        n = a.lo.shape[axis]
        if n == 1 or size == n:
            continue
        first, last = min(max(start.lo, 0), n - size), min(max(start.hi, 0), n - size)
        if not size:
            return scalar(0)
        if a.lo.size == n == a.hi.size and n <= FEW and (first != last or size == 1):
            # Nothing is told apart along the other dimensions.
            if last + size - first == n:
                return summarised(a)
            low = min(a.lo.ravel().tolist()[first : last + size])
            high = max(a.hi.ravel().tolist()[first : last + size])
            return Fact(low, high, 0 if low == high and not a.nan else 1, a.nan)
        if first == last:
            window = [slice(None)] * a.lo.ndim
            window[axis] = slice(first, first + size)
            a = Fact(a.lo[tuple(window)], a.hi[tuple(window)], 1, a.nan)
        else:
            a = _range_along(a, axis, first, last + size - 1)
    return apart(a.lo, a.hi, a.nan)


@rule("dynamic_update_slice_p")
def _dynamic_update_slice(eqn: Any, a: Fact, update: Fact, *starts: Fact) -> Fact:
    whole, part = eqn.invars[0].aval.shape, eqn.invars[1].aval.shape
    for n in part:
        if type(n) is int and n == 0:
            return a
    if whole == part:
        return update
    if is_worth_telling_apart(whole, a, update, all(start.step == 0 for start in starts)):
        # The start is clamped into the array, so the window always lies inside.
        places = [
            (min(max(start.lo, 0), n - size), min(max(start.hi, 0), n - size))
            for n, size, start in zip(whole, part, map(summarised, starts), strict=True)
        ]
        return written(whole, a, update, places, part, True, whole)
    partial = [d for d, (x, y) in enumerate(zip(whole, part, strict=True)) if x != y]
    return join(summarised_along(a, partial), summarised_along(update, partial))


def is_worth_telling_apart(shape: Any, a: Fact, update: Fact, known: bool) -> bool:
    """Whether the elements of a small array of integers are worth keeping apart across a write, at a known place."""
    size = 1
    for n in shape:
        if type(n) is not int:
            return False
        size *= n
    if not 1 < size <= APART:
        return False
    if not (is_small(a) and is_small(update)) or isinstance(summarised(a).lo, float):
        return False
    return a.kept or known or not leq(summarised(update), a)


def written(
    shape: Any, a: Fact, update: Fact, places: list[tuple[int, int]], window: Any, certain: bool, kept: Any
) -> Fact:
    """An array after a window was written over it that starts somewhere in `places`; the update has the array's rank.

    Elements the window cannot touch stay; where the place is known, and it is `certain` that it is written to, the
    others are the update's, else either. `kept` are the sizes in which elements are told apart.
    """
    if len(kept) == 1 and kept[0] == shape[0] <= FEW and type(update.lo) is int and type(update.hi) is int:
        first, last = places[0]
        if type(first) is int and type(last) is int:
            return _written_in_row(kept[0], a, update, first, last, window[0], certain)
    lo, hi = np.empty(kept, np.int64), np.empty(kept, np.int64)
    lo[...], hi[...] = a.lo, a.hi
    at, sure = touched(shape, kept, places, window)
    # What is one for all in the array is that in what is written too.
    update = summarised_along(update, [d for d, (n, m) in enumerate(zip(shape, kept, strict=True)) if n != m])
    if sure and certain:
        lo[at], hi[at] = update.lo, update.hi
    else:
        # Where the window is as long as the array it starts at 0, so that what is kept apart there stays in place.
        partial = [d for d, (n, size) in enumerate(zip(shape, window, strict=True)) if n != size]
        new = summarised_along(update, partial)
        lo[at], hi[at] = np.minimum(lo[at], new.lo), np.maximum(hi[at], new.hi)
    return apart(lo, hi)


def _written_in_row(n: int, a: Fact, update: Fact, first: int, last: int, size: int, certain: bool) -> Fact:
    """The same of a few numbers in a row, over some of which one is written."""
    lows = a.lo.tolist() if type(a.lo) is np.ndarray else [a.lo]
    highs = a.hi.tolist() if type(a.hi) is np.ndarray else [a.hi]
    lo, hi = (lows * n if len(lows) == 1 else lows), (highs * n if len(highs) == 1 else highs)
    low, high, sure, changed = update.lo, update.hi, certain and first == last, not a.kept
    for k in range(first, last + size):
        if lo[k] > low or (sure and lo[k] != low):
            lo[k] = low
            changed = True
        if hi[k] < high or (sure and hi[k] != high):
            hi[k] = high
            changed = True
    return apart(np.array(lo, np.int64), np.array(hi, np.int64)) if changed else a


def touched(shape: Any, kept: Any, places: list[tuple[int, int]], window: Any) -> tuple[tuple[slice, ...], bool]:
    """Where in an array a window lies that starts somewhere in `places`, and whether it covers all of that for sure.

    Of a dimension whose elements are not told apart it touches the one that stands for all, and covers it only from
    end to end.
    """
    at, sure = [], True
    for n, m, (first, last), size in zip(shape, kept, places, window, strict=True):
        whole = m == n
        at.append(slice(first, last + size) if whole else slice(None))
        sure = sure and (first == last if whole else size == n)
    return tuple(at), sure


def sizes_apart(shape: Any, a: Fact) -> Any:
    """The sizes in which the integers of a larger array are told apart across a write; None where they are not.

    They stay as they are; where none are yet, the columns of short rows are, of which a write may reach one.
    """
    if not is_small(a) or isinstance(summarised(a).lo, float) or not all(type(n) is int and n > 0 for n in shape):
        return None
    if a.kept:
        return a.lo.shape if a.lo.ndim == len(shape) else None
    return (*(1,) * (len(shape) - 1), shape[-1]) if len(shape) > 1 and 1 < shape[-1] <= ROW else None


def fill_of(eqn: Any) -> Fact:
    """What a gather in fill mode yields outside the operand."""
    value = eqn.params.get("fill_value")
    info = of(eqn.outvars[0])
    if value is not None:
        if not info.integral:
            return Fact(float("-inf"), float("inf"), 1, True)
        given = np.asarray(value)
        if given.dtype.kind == "f":
            return floats.to_integer(constant(given), info)
        return integers.narrowed(scalar(int(given)), info)
    if info.kind == "i":
        return scalar(info.min)
    return scalar(info.max) if info.integral else top(None)


@rule("gather_p")
def _gather(eqn: Any, a: Fact, indices: Fact) -> Fact:
    site = ACCESSES[eqn.primitive](eqn, ())
    result = _gathered(eqn, site, a, indices)
    if site.mode in ("fill", "one_hot") and not stays_inside(site, [indices] * len(site.columns)):
        result = join(
            result, fill_of(eqn) if site.mode == "fill" else scalar(0 if of(eqn.outvars[0]).integral else 0.0)
        )
    return result


def _gathered(eqn: Any, site: Any, a: Fact, indices: Fact) -> Fact:
    if type(a.lo) is not np.ndarray:
        return a
    if any(type(n) is not int or n == 0 for n in site.window):
        return summarised(a)
    numbers = eqn.params["dimension_numbers"]
    rank = len(eqn.outvars[0].aval.shape)
    single = _single_column(a, site, numbers, indices)
    if single is not None:
        return single
    for col in site.columns:
        if a.lo.shape[col.dim] == 1:
            continue
        lo, hi = column_of(indices, col.column)
        first, last = (least(lo), most(hi)) if type(lo) is np.ndarray else (lo, hi)
        if type(first) is not int or type(last) is not int:
            return summarised(a)
        size, last_start = site.window[col.dim], a.lo.shape[col.dim] - site.window[col.dim]
        if last_start:
            first, last = min(max(first, 0), last_start), min(max(last, 0), last_start)
            a = _range_along(a, col.dim, first, last + size - 1)
    indexed = {col.dim for col in site.columns}
    for d, n in enumerate(a.lo.shape):
        if n != 1 and d not in indexed and site.window[d] != n and d not in numbers.operand_batching_dims:
            a = _range_along(a, d, 0, site.window[d] - 1)
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    a = _settled_along(a, numbers.operand_batching_dims)
    if type(a.lo) is not np.ndarray:
        return a
    shape = [1] * rank
    rest = iter(numbers.offset_dims)
    for d, n in enumerate(a.lo.shape):
        if d not in gone:
            shape[next(rest)] = n
    return apart(a.lo.reshape(shape), a.hi.reshape(shape), a.nan)


def _settled_along(a: Fact, axes: Any) -> Fact:
    return summarised_along(a, axes) if axes else apart(a.lo, a.hi, a.nan)


def _single_column(a: Fact, site: Any, numbers: Any, indices: Fact) -> Fact | None:
    """A table read along one dimension at known positions, whole in the others: exactly those rows."""
    if len(site.columns) != 1 or type(indices.lo) is not np.ndarray or numbers.operand_batching_dims:
        return None
    if not (indices.lo is indices.hi or (indices.lo == indices.hi).all()):
        return None
    dim, shape = site.columns[0].dim, site.buffer.shape
    if a.lo.shape[dim] == 1 or numbers.collapsed_slice_dims != (dim,):
        return None
    if any(n != size for d, (n, size) in enumerate(zip(shape, site.window, strict=True)) if d != dim):
        return None
    at = np.clip(column_of(indices, 0)[0], 0, a.lo.shape[dim] - 1)
    if at.size * (a.lo.size // a.lo.shape[dim]) > KEEP:
        return None
    offsets = numbers.offset_dims
    places = [*(d for d in range(at.ndim + len(offsets)) if d not in offsets), *offsets]
    lo, hi = (np.moveaxis(np.moveaxis(end, dim, 0)[at], range(len(places)), places) for end in (a.lo, a.hi))
    return apart(lo, hi, a.nan)


@rule("scatter_p")
def _scatter(eqn: Any, a: Fact, indices: Fact, updates: Fact) -> Fact:
    """Every element is the old one or an update; where one element of a short array is set, it is the update.

    `scatter_apply` is this primitive with a function of its own.
    """
    if eqn.params.get("update_jaxpr") is not None:
        return top_of(eqn.outvars[0])
    shape, row = eqn.invars[0].aval.shape, row_written(eqn, updates)
    if is_worth_telling_apart(shape, a, updates, indices.lo is indices.hi or indices.step == 0):
        kept = shape
    else:
        some = is_small(row) and not isinstance(summarised(row).lo, float) and (a.kept or not leq(summarised(row), a))
        kept = sizes_apart(shape, a) if some else None
    if kept is not None:
        site = ACCESSES[eqn.primitive](eqn, ())
        places = _places(site, indices)
        if places is not None:
            certain = site.count == 1 and stays_inside(site, [indices] * len(site.columns))
            return written(shape, a, row, places, site.window, certain, kept)
    if not row.kept:
        return join(summarised(a), row)
    return join(summarised_along(a, [d for d, n in enumerate(row.lo.shape) if n == 1]), row)


def row_written(eqn: Any, updates: Fact) -> Fact:
    """What a scatter writes, of the operand's rank, with the columns apart that every window covers from end to end.

    A dimension that is not indexed and as long in the window as in the operand starts at 0 in every window, so that
    its k-th update goes to the k-th place, whatever the index is and however often a place is written.
    """
    if type(updates.lo) is not np.ndarray:
        return updates
    numbers, shape = eqn.params["dimension_numbers"], eqn.invars[0].aval.shape
    away = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    within = [d for d in range(len(shape)) if d not in away]
    indexed = {int(d) for d in numbers.scatter_dims_to_operand_dims}
    kept = {}
    for u, d in zip(numbers.update_window_dims, within, strict=True):
        n = updates.lo.shape[u]
        if n != 1 and n == shape[d] and d not in indexed:
            kept[u] = d
    if not kept:
        return summarised(updates)
    updates = summarised_along(updates, [u for u in range(updates.lo.ndim) if u not in kept])
    if type(updates.lo) is not np.ndarray:
        return updates
    # Both run through the dimensions in order, so that the others, of one element now, can be left out and put in.
    at = [updates.lo.shape[u] for u in kept]
    new = [1] * len(shape)
    for n, d in zip(at, kept.values(), strict=True):
        new[d] = n
    return apart(updates.lo.reshape(new), updates.hi.reshape(new), updates.nan)


@rule("scatter_min_p", "scatter_max_p", needs=(0, 2))
def _scatter_extreme(eqn: Any, a: Fact, indices: Fact, updates: Fact) -> Fact:
    """Every element is the old one or an update, whichever of the two is taken."""
    return join(summarised(a), summarised(updates))


def _places(site: Any, indices: Fact) -> list[tuple[int, int]] | None:
    """Per dimension, where the windows of a scatter can start; None where that is not known or they may lie outside."""
    if site.mode == "promise_in_bounds" and not stays_inside(site, [indices] * len(site.columns)):
        return None
    shape = site.buffer.shape
    places = [(0, n - size) for n, size in zip(shape, site.window, strict=True)]
    for column in site.columns:
        lo, hi = column_of(indices, column.column)
        first, last = (least(lo), most(hi)) if type(lo) is np.ndarray else (lo, hi)
        if type(first) is not int or type(last) is not int:
            return None
        places[column.dim] = (min(max(first, 0), column.limit), min(max(last, 0), column.limit))
    return places


@rule("scatter_add_p", "scatter_sub_p", floats=False)
def _scatter_add(eqn: Any, a: Fact, indices: Fact, updates: Fact) -> Fact:
    """An element receives between none and all of the index tuples' updates; uniqueness promised is not relied on.

    One that no window can touch receives none, and where a single window is known to be inside its elements receive one
    each.
    """
    info = of(eqn.outvars[0])
    if not info.integral or info.kind == "b":
        return top_of(eqn.outvars[0])
    count, by, shape = updates_of(eqn), summarised(updates), eqn.invars[0].aval.shape
    turned = eqn.primitive.name == "scatter-sub"
    one = (-by.hi, -by.lo) if turned else (by.lo, by.hi)
    lo, hi = min(0, one[0]) * count, max(0, one[1]) * count
    known = indices.lo is indices.hi or indices.step == 0
    kept = shape if is_worth_telling_apart(shape, a, a, known) else sizes_apart(shape, a)
    ends = summarised(a)
    plain = all(type(x) is int for x in (lo, hi, ends.lo, ends.hi)) and hi - lo <= FAR
    if kept is not None and plain and ends.lo >= -FAR and ends.hi <= FAR:
        site = ACCESSES[eqn.primitive](eqn, ())
        places = _places(site, indices)
        if places is not None:
            at, sure = touched(shape, kept, places, site.window)
            low, high = np.empty(kept, np.int64), np.empty(kept, np.int64)
            low[...], high[...] = a.lo, a.hi
            if sure and count == 1 and stays_inside(site, [indices] * len(site.columns)):
                lo, hi = one
            low[at] += lo
            high[at] += hi
            return wrapped(low, high, 1, info)
    a = summarised(a)
    return wrapped(a.lo + lo, a.hi + hi, 1, info)


def updates_of(eqn: Any) -> Any:
    """How many updates a scatter writes: one for each index tuple."""
    count: Any = 1
    for n in eqn.invars[1].aval.shape[:-1]:
        count = count * n
    return count


@rule("scatter_mul_p", needs=(0, 2))
def _scatter_mul(eqn: Any, a: Fact, indices: Fact, updates: Fact) -> Fact:
    """An element is multiplied by between none and all of the index tuples' updates."""
    info, count = of(eqn.outvars[0]), updates_of(eqn)
    if info.kind not in "iuf":
        return top_of(eqn.outvars[0])
    by = multiplied(updates, 0, count, info)
    if info.integral:
        return integers.mul(summarised(a), by, info)
    # What is infinite on the way may meet a zero.
    found = floats.mul(summarised(a), by, info)
    return found if math.isfinite(found.lo) and math.isfinite(found.hi) else TOP_FLOAT


@rule("scatter_apply_p", needs="none")
def _scatter_apply(eqn: Any, *_: Fact) -> Any:
    return top_of(eqn.outvars[0])
