"""Where the lanes of a batched loop are among the dimensions of what an equation makes.

A place is a dimension along which each element belongs to its own lane. An equation keeps lanes apart where every
element of its result is made from elements of the same lane, and of values that have no lanes; the functions here
say where the result's lanes are then, and raise `Mixed` for everything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from redzone.frontend.assume import assume_p
from redzone.frontend.compat import primitives
from redzone.rules import RULES

#: The dimensions of a value that are the lanes', in their order; None for a value that has no lanes.
Places = tuple[int, ...] | None


class Mixed(Exception):
    """An element may be made from several lanes, or nothing is known of it."""


def joined(one: Places, other: Places) -> Places:
    """Where the lanes of a value are that is one or the other of two; one without lanes is the same in each."""
    if one is None or other is None or one == other:
        return other if one is None else one
    raise Mixed


def after(eqn: Any, ins: Sequence[Places]) -> list[Places]:
    """By result: where its lanes are, for an equation that runs no other."""
    primitive = eqn.primitive
    rule = RULES.get(primitive)
    found: Places
    if primitive in _POINTWISE or (rule is not None and rule.pointwise):
        found = _element_by_element(eqn, ins)
    elif primitive in _PLACES:
        found = _PLACES[primitive](eqn, ins)
    elif not eqn.outvars:
        return []
    else:
        raise Mixed
    return [found] * len(eqn.outvars)


def _shape(atom: Any) -> Any:
    return atom.aval.shape


def _only(ins: Sequence[Places], position: int = 0) -> tuple[int, ...]:
    """The lanes of one operand, where no other has any."""
    place = ins[position]
    if place is None or any(p is not None for k, p in enumerate(ins) if k != position):
        raise Mixed
    return place


def _together(ins: Sequence[Places]) -> tuple[int, ...]:
    found: Places = None
    for place in ins:
        found = joined(found, place)
    assert found is not None
    return found


def _element_by_element(eqn: Any, ins: Sequence[Places]) -> tuple[int, ...]:
    found, out = _together(ins), _shape(eqn.outvars[0])
    for atom, place in zip(eqn.invars, ins, strict=True):
        if place is not None:
            shape = _shape(atom)
            if len(shape) != len(out) or any(shape[d] != out[d] for d in place):
                raise Mixed
    return found


def _without(place: tuple[int, ...], gone: Sequence[int]) -> tuple[int, ...]:
    """The same places once other dimensions are gone."""
    if not set(place).isdisjoint(gone):
        raise Mixed
    return tuple(d - sum(g < d for g in gone) for d in place)


def _beside(axis: Callable[[Any], Sequence[int]]) -> Callable[[Any, Sequence[Places]], Places]:
    """For what works along dimensions that stay: the lanes' must be others."""

    def found(eqn: Any, ins: Sequence[Places]) -> Places:
        place = _together(ins)
        rank = len(_shape(eqn.invars[0]))
        if not set(place).isdisjoint(d % rank for d in axis(eqn)):
            raise Mixed
        return place

    return found


def _reduced(eqn: Any, ins: Sequence[Places]) -> Places:
    return _without(_only(ins), eqn.params["axes"])


def _squeezed(eqn: Any, ins: Sequence[Places]) -> Places:
    return _without(_only(ins), eqn.params["dimensions"])


def _broadcast(eqn: Any, ins: Sequence[Places]) -> Places:
    place, to = _only(ins), eqn.params["broadcast_dimensions"]
    old, new = _shape(eqn.invars[0]), _shape(eqn.outvars[0])
    if any(old[d] != new[to[d]] for d in place):
        raise Mixed
    return tuple(int(to[d]) for d in place)


def _transposed(eqn: Any, ins: Sequence[Places]) -> Places:
    order = [int(d) for d in eqn.params["permutation"]]
    return tuple(order.index(d) for d in _only(ins))


def _reshaped(eqn: Any, ins: Sequence[Places]) -> Places:
    """A dimension is the same one where as many elements as before come before it."""
    place, old, new = _only(ins), _shape(eqn.invars[0]), _shape(eqn.outvars[0])
    if eqn.params.get("dimensions") is not None or any(type(n) is not int for n in (*old, *new)):
        raise Mixed
    found = []
    for d in place:
        same = (k for k, n in enumerate(new) if n == old[d] and math.prod(new[:k]) == math.prod(old[:d]))
        found.append(next(same, -1))
    if -1 in found or len({*found}) != len(found):
        raise Mixed
    return tuple(found)


def _sliced(eqn: Any, ins: Sequence[Places]) -> Places:
    place, shape, params = _only(ins), _shape(eqn.invars[0]), eqn.params
    strides = params["strides"] or (1,) * len(shape)
    if any(params["start_indices"][d] != 0 or params["limit_indices"][d] != shape[d] or strides[d] != 1 for d in place):
        raise Mixed
    return place


def _padded(eqn: Any, ins: Sequence[Places]) -> Places:
    place = _only(ins)
    if any(tuple(eqn.params["padding_config"][d]) != (0, 0, 0) for d in place):
        raise Mixed
    return place


def _stacked(eqn: Any, ins: Sequence[Places]) -> Places:
    axis = eqn.params["axis"]
    return tuple(d + (d >= axis) for d in _together(ins))


def _unstacked(eqn: Any, ins: Sequence[Places]) -> Places:
    return _without(_only(ins), (eqn.params["axis"],))


def _dotted(eqn: Any, ins: Sequence[Places]) -> Places:
    contracted, batch = eqn.params["dimension_numbers"]
    shapes = [_shape(a) for a in eqn.invars[:2]]
    found: Places = None
    for k, place in enumerate(ins[:2]):
        if place is None:
            continue
        free = [d for d in range(len(shapes[k])) if d not in contracted[k] and d not in batch[k]]
        before = len(batch[0]) + (0 if k == 0 else len(shapes[0]) - len(batch[0]) - len(contracted[0]))
        order = {**{d: n for n, d in enumerate(batch[k])}, **{d: before + n for n, d in enumerate(free)}}
        if any(d not in order for d in place):
            raise Mixed
        found = joined(found, tuple(order[d] for d in place))
    return found


def _gathered(eqn: Any, ins: Sequence[Places]) -> Places:
    """Each index's lane reads an array without lanes, or its own lane of one; or whole lanes are read side by side."""
    numbers = eqn.params["dimension_numbers"]
    (source, chosen), rank = ins[:2], len(_shape(eqn.outvars[0]))
    batch = [d for d in range(rank) if d not in numbers.offset_dims]
    if chosen is not None and any(d >= len(batch) for d in chosen):
        raise Mixed
    found = None if chosen is None else tuple(batch[d] for d in chosen)
    if source is not None:
        found = joined(found, tuple(_read(eqn, numbers, d, batch) for d in source))
    return found


def _read(eqn: Any, numbers: Any, d: int, batch: Sequence[int]) -> int:
    beside = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    if d in beside:
        return batch[beside[d]]
    shape, sizes = _shape(eqn.invars[0]), eqn.params["slice_sizes"]
    gone = {*numbers.collapsed_slice_dims, *beside}
    if d in numbers.start_index_map or d in gone or sizes[d] != shape[d]:
        raise Mixed
    return int(numbers.offset_dims[sum(k not in gone for k in range(d))])


def _scattered(eqn: Any, ins: Sequence[Places]) -> Places:
    """Each lane's indices and updates write to its own lane of the array."""
    numbers = eqn.params["dimension_numbers"]
    shapes = [_shape(a) for a in eqn.invars[:3]]
    target, chosen, updates = ins[:3]
    beside = dict(zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims, strict=True))
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    batch = [d for d in range(len(shapes[2])) if d not in numbers.update_window_dims]
    windows = [d for d in range(len(shapes[0])) if d not in gone]
    onto = {batch[k]: d for k, d in beside.items()}
    for k, d in zip(numbers.update_window_dims, windows, strict=True):
        if d not in numbers.scatter_dims_to_operand_dims and shapes[2][k] == shapes[0][d]:
            onto[k] = d
    if chosen is not None and any(d not in beside for d in chosen):
        raise Mixed
    if updates is not None and any(d not in onto for d in updates):
        raise Mixed
    found = joined(target, None if chosen is None else tuple(beside[d] for d in chosen))
    found = joined(found, None if updates is None else tuple(onto[d] for d in updates))
    # Where each lane writes is where its lane is, or the whole of it.
    if found is None or any(d not in onto.values() for d in found):
        raise Mixed
    return found


def _window(eqn: Any, ins: Sequence[Places]) -> Places:
    place, shape = _only(ins), _shape(eqn.invars[0])
    if any(eqn.params["slice_sizes"][d] != shape[d] for d in place):
        raise Mixed
    return place


def _updated(eqn: Any, ins: Sequence[Places]) -> Places:
    if any(p is not None for p in ins[2:]):
        raise Mixed
    place, old, new = joined(ins[0], ins[1]), _shape(eqn.invars[0]), _shape(eqn.invars[1])
    assert place is not None
    if any(old[d] != new[d] for d in place):
        raise Mixed
    return place


def _leading(last: Callable[[Any], int]) -> Callable[[Any, Sequence[Places]], Places]:
    """For what works on the last dimensions of each operand and leaves those before them as they are."""

    def found(eqn: Any, ins: Sequence[Places]) -> Places:
        place, used = _together(ins), last(eqn)
        for atom, one in zip(eqn.invars, ins, strict=True):
            if one is not None and any(d >= len(_shape(atom)) - used for d in one):
                raise Mixed
        return place

    return found


def _top_k_axis(eqn: Any) -> Sequence[int]:
    return (eqn.params.get("axis", -1),)


def _named(names: str) -> list[Any]:
    known = primitives()
    return [known[f"{name}_p"] for name in names.split() if f"{name}_p" in known]


_POINTWISE: Final = frozenset(
    _named(
        "select_n bitcast_convert_type acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt complex conj "
        "cosh digamma erf_inv expm1 igamma igamma_grad_a igammac imag lgamma log log1p mulhi nextafter polygamma real "
        "reduce_precision regularized_incomplete_beta rsqrt sinh tan threefry2x32 zeta random_fold_in random_clone "
        "random_gamma"
    )
) | {assume_p}

_PLACES: Final[dict[Any, Callable[[Any, Sequence[Places]], Places]]] = {
    primitive: function
    for names, function in (
        ("reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or reduce_xor argmax argmin", _reduced),
        ("cumsum cumprod cummax cummin cumlogsumexp split", _beside(lambda eqn: (eqn.params["axis"],))),
        ("sort concatenate", _beside(lambda eqn: (eqn.params["dimension"],))),
        ("rev", _beside(lambda eqn: eqn.params["dimensions"])),
        ("top_k", _beside(_top_k_axis)),
        ("squeeze", _squeezed),
        ("broadcast_in_dim", _broadcast),
        ("transpose", _transposed),
        ("reshape", _reshaped),
        ("slice", _sliced),
        ("pad", _padded),
        ("stack", _stacked),
        ("unstack", _unstacked),
        ("dot_general", _dotted),
        ("gather", _gathered),
        ("scatter scatter_add scatter_mul scatter_min scatter_max scatter_sub", _scattered),
        ("dynamic_slice", _window),
        ("dynamic_update_slice", _updated),
        ("cholesky lu qr eigh svd triangular_solve householder_product geqrf", _leading(lambda _: 2)),
        ("fft", _leading(lambda eqn: len(eqn.params["fft_lengths"]))),
        ("random_bits random_split random_unwrap", _leading(lambda _: 0)),
        ("random_wrap random_seed", _leading(lambda eqn: len(_shape(eqn.invars[0])) - len(_shape(eqn.outvars[0])))),
    )
    for primitive in _named(names)
}
