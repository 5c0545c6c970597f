"""Which memory XLA's indexing equations touch: gather, the scatter family, dynamic slices."""

from __future__ import annotations

from typing import Any, Final

import jax
import numpy as np

from redzone.access.site import Column, Site
from redzone.frontend.compat import primitives


def _number(n: Any) -> Any:
    """A size or a position as Python's own integer, where JAX was given one of numpy's; symbolic ones as they are."""
    return int(n) if isinstance(n, np.integer) else n


def _numbers(sizes: Any) -> tuple[Any, ...]:
    for n in sizes:
        if type(n) is not int:
            return tuple(map(_number, sizes))
    return tuple(sizes)


def _dynamic_slice(eqn: Any, chain: tuple[Any, ...]) -> Site:
    operand = eqn.invars[0].aval
    sizes = _numbers(eqn.params["slice_sizes"])
    columns = tuple(
        [Column(d, 1 + d, None, n - size) for d, (n, size) in enumerate(zip(operand.shape, sizes, strict=True))]
    )
    return Site(eqn, chain, "read", "clamp", operand, sizes, columns, 1)


def _dynamic_update_slice(eqn: Any, chain: tuple[Any, ...]) -> Site:
    operand, update = eqn.invars[0].aval, eqn.invars[1].aval
    columns = tuple(
        [Column(d, 2 + d, None, n - size) for d, (n, size) in enumerate(zip(operand.shape, update.shape, strict=True))]
    )
    return Site(eqn, chain, "write", "clamp", operand, tuple(update.shape), columns, 1)


_modes: Final[dict[Any, str]] = {}
"""By JAX's word for it: a mode's name."""


def _mode(eqn: Any, filled: str) -> str:
    mode = eqn.params.get("mode")
    name = _modes.get(mode)
    if name is None:
        name = _modes[mode] = getattr(mode, "name", str(mode)).lower()
    return filled if name == "fill_or_drop" else name


def _tuples(indices: Any) -> Any:
    count: Any = 1
    for n in indices.shape[:-1]:
        count = count * n
    return count


def _gather(eqn: Any, chain: tuple[Any, ...]) -> Site:
    operand, indices = eqn.invars[0].aval, eqn.invars[1].aval
    sizes, shape = _numbers(eqn.params["slice_sizes"]), operand.shape
    dims = _numbers(eqn.params["dimension_numbers"].start_index_map)
    columns = tuple([Column(d, 1, k, shape[d] - sizes[d]) for k, d in enumerate(dims)])
    return Site(eqn, chain, "read", _mode(eqn, "fill"), operand, sizes, columns, _tuples(indices))


def scatter_window(eqn: Any) -> tuple[Any, ...]:
    """The box one index tuple of a scatter writes."""
    operand, updates = eqn.invars[0].aval, eqn.invars[2].aval
    numbers = eqn.params["dimension_numbers"]
    if not numbers.update_window_dims:
        return (1,) * len(operand.shape)
    single = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    given = iter(numbers.update_window_dims)
    return tuple(1 if d in single else updates.shape[next(given)] for d in range(len(operand.shape)))


def _scatter(eqn: Any, chain: tuple[Any, ...]) -> Site:
    operand, indices = eqn.invars[0].aval, eqn.invars[1].aval
    window, shape = scatter_window(eqn), operand.shape
    dims = _numbers(eqn.params["dimension_numbers"].scatter_dims_to_operand_dims)
    columns = tuple([Column(d, 1, k, shape[d] - window[d]) for k, d in enumerate(dims)])
    return Site(eqn, chain, "write", _mode(eqn, "drop"), operand, window, columns, _tuples(indices))


def _opaque(effect: str, why: str) -> Any:
    def build(eqn: Any, chain: tuple[Any, ...]) -> Site:
        avals = [v.aval for v in eqn.invars if hasattr(v.aval, "shape")] or [v.aval for v in eqn.outvars]
        buffer = avals[0] if avals else None
        return Site(eqn, chain, effect, "opaque", buffer, (), (), 1, opaque=why)

    return build


def _ragged(eqn: Any, chain: tuple[Any, ...]) -> Site:
    """Offsets and sizes of `ragged_all_to_all`: reads of the operand, writes of the output, by run-time tables."""
    operand, output = eqn.invars[0].aval, eqn.invars[1].aval
    columns = (
        Column(0, 2, None, operand.shape[0], also=3),
        Column(0, 4, None, output.shape[0], also=5),
    )
    return Site(eqn, chain, "write", "promise_in_bounds", output, (), columns, eqn.invars[2].aval.shape[0])


def _ragged_dot(eqn: Any, chain: tuple[Any, ...]) -> Site:
    """The group sizes of `ragged_dot` partition the rows of the left operand."""
    rows = eqn.invars[0].aval
    ragged = _numbers(eqn.params["ragged_dot_dimension_numbers"].lhs_ragged_dimensions)
    limit = rows.shape[ragged[0]] if ragged else rows.shape[0]
    groups = eqn.invars[2].aval.shape[-1]
    column = Column(ragged[0] if ragged else 0, 2, None, limit, repeat=groups)
    return Site(eqn, chain, "read", "clamp", rows, (), (column,), groups)


class _Place:
    """Stands for an operand's position among an indexer's leaves."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


def _ref(effect: str, first: int) -> Any:
    """get, swap and addupdate on a mutable ref: the indexer's dynamic parts are the index."""

    def build(eqn: Any, chain: tuple[Any, ...]) -> Site:
        ref = eqn.invars[0].aval
        buffer = getattr(ref, "inner_aval", ref)
        places = [_Place(i) for i in range(first, len(eqn.invars))]
        indexers = jax.tree_util.tree_unflatten(eqn.params["tree"], places)
        columns: list[Column] = []
        if len(indexers) > 1 or any(not hasattr(x, "indices") for x in indexers):
            return Site(eqn, chain, effect, "ref", buffer, (), (), 1, opaque="a ref seen through a transformation")
        window = list(buffer.shape)
        count: Any = 1
        for indexer in indexers:
            for n in indexer.int_indexer_shape:
                count = count * n
            for d, index in enumerate(indexer.indices):
                if isinstance(index, _Place):
                    columns.append(Column(d, index.position, None, buffer.shape[d] - 1))
                    window[d] = 1
                elif hasattr(index, "start"):
                    window[d] = (index.size - 1) * index.stride + 1 if isinstance(index.stride, int) else index.size
                    if isinstance(index.start, _Place):
                        columns.append(Column(d, index.start.position, None, buffer.shape[d] - window[d]))
        return Site(eqn, chain, effect, "ref", buffer, tuple(window), tuple(columns), count)

    return build


def _builders() -> dict[Any, Any]:
    known = primitives()
    table = {
        "dynamic_slice_p": _dynamic_slice,
        "dynamic_update_slice_p": _dynamic_update_slice,
        "gather_p": _gather,
        "get_p": _ref("read", 1),
        "swap_p": _ref("write", 2),
        "addupdate_p": _ref("write", 2),
        "ragged_all_to_all_p": _ragged,
        "ragged_dot_general_p": _ragged_dot,
        "ffi_call_p": _opaque("write", "a foreign (FFI) kernel"),
        "custom_call_p": _opaque("write", "a custom call"),
        "call_exported_p": _opaque("write", "a call of an exported program"),
        "pallas_call_p": _opaque("write", "a Pallas kernel"),
        "core_map_p": _opaque("write", "a Pallas kernel"),
        "mpmd_map_p": _opaque("write", "a Pallas kernel"),
    }
    for suffix in ("", "_add", "_mul", "_min", "_max", "_sub", "_apply"):
        table[f"scatter{suffix}_p"] = _scatter
    return {known[name]: build for name, build in table.items() if name in known}


#: From primitive to the function that makes a Site of (equation, enclosing equations).
ACCESSES: Final[dict[Any, Any]] = _builders()
