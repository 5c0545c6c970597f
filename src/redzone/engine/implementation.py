"""Third-party primitives: what they compute is read off their own implementation.

A library that defines a primitive gives it an implementation in terms of others, which JAX runs
eagerly. Traced on the equation's types, it says what the equation's results are; JAX's own primitives
are implemented by compiling themselves, which says nothing new. Those of its COO and CSR arrays are compiled as
a function of others, and count as a library's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
from jax.core import ShapedArray

from redzone.domains import dtype_info
from redzone.frontend.compat import equations_of, inner_jaxprs, is_wide, open_jaxpr, sparse_function, sparse_kind

#: An implementation longer than this is not looked into.
LONGEST: Final = 400

_expanded: Final[dict[int, tuple[Any, Any]]] = {}


def expansion(eqn: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """What a high-level primitive of JAX (0.12 on) is expanded to before it is compiled."""
    return _once(_expanded, 4096, eqn, _expand)


def _once(
    done: dict[int, tuple[Any, Any]], most: int, eqn: Any, work: Callable[[Any], tuple[Any, tuple[Any, ...]] | None]
) -> tuple[Any, tuple[Any, ...]] | None:
    """What this yields for an equation, worked out once; the equation is kept, so that its identity stands for it."""
    known = done.get(id(eqn))
    if known is None or known[0] is not eqn:
        if len(done) > most:
            done.clear()
        known = done[id(eqn)] = (eqn, work(eqn))
    found: tuple[Any, tuple[Any, ...]] | None = known[1]
    return found


def _expand(eqn: Any) -> tuple[Any, tuple[Any, ...]] | None:
    high = eqn.params.get("_prim")
    if high is None or not hasattr(high, "expand"):
        return None

    def call(*operands: Any) -> Any:
        return tuple(jax.tree_util.tree_leaves(high.expand(*jax.tree_util.tree_unflatten(high.in_tree, operands))))

    try:
        jaxpr, consts = equations_of(call, [v.aval for v in eqn.invars])
    except Exception:
        return None
    return (jaxpr, consts) if len(jaxpr.outvars) == len(eqn.outvars) else None


_seen: Final[dict[Any, tuple[Any, Any]]] = {}
#: The types of parameters that need not be written down to be told apart.
_PLAIN: Final = frozenset((bool, int, str, type(None)))


def _key(eqn: Any) -> Any:
    """Equal for equations that are implemented by the same equations.

    Parameters are the same if they are equal and look the same: 1 equals True, and what looks alike can differ inside.
    Traced with 64-bit types, an implementation counts in other integers.
    """
    if eqn.primitive.name.startswith("coo_"):
        # CSR arrays are computed as COO arrays are, but what is outside is padding of theirs.
        return id(eqn)
    try:
        params, avals = eqn.params, tuple([v.aval for v in eqn.invars])
        items = tuple(sorted(params.items(), key=lambda p: p[0]) if len(params) > 1 else params.items())
        kinds = tuple([type(value) for _, value in items])
        if _PLAIN.issuperset(kinds) and all(type(aval) is ShapedArray for aval in avals):
            # Of these, what is equal and of one type is the same.
            return (eqn.primitive, avals, kinds, items, is_wide())
        hash((items, avals))
        shown = str(items)
    except Exception:
        return id(eqn)
    # Objects that print as their address are told apart by the equation, which is kept.
    return id(eqn) if " at 0x" in shown else (eqn.primitive, avals, shown, items, is_wide())


def known_implementation(eqn: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """The implementation of a primitive if a check has looked into it, with the very equations it saw."""
    if eqn.primitive not in _looked_into:
        return None
    latest = _latest.get(id(eqn))
    if latest is not None and latest[0] is eqn:
        found: tuple[Any, tuple[Any, ...]] | None = latest[1]
        return found
    known = _seen.get(_key(eqn))
    return None if known is None else known[1]


_looked_into: Final[set[Any]] = set()
_latest: Final[dict[int, tuple[Any, Any]]] = {}


def implementation(eqn: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """The jaxpr and constants that a primitive's own implementation traces to, or None."""
    # What an equation's parameters say takes long to write down, and a loop's body is looked at more than once.
    return _once(_latest, 1024, eqn, _implementation)


def _implementation(eqn: Any) -> tuple[Any, tuple[Any, ...]] | None:
    key = _key(eqn)
    _looked_into.add(eqn.primitive)
    known = _seen.get(key)
    if known is None or (type(key) is int and known[0] is not eqn):
        if len(_seen) > 1024:
            _seen.clear()
        known = _seen[key] = (eqn, _trace(eqn))
    found: tuple[Any, tuple[Any, ...]] | None = known[1]
    return found


def is_third_party(primitive: Any) -> bool:
    """Whether a library other than JAX wrote what a primitive does, or JAX did for its COO and CSR arrays."""
    known = _third_party.get(primitive)
    if known is None:
        run = getattr(primitive, "impl", None)
        known = run is not None and (not _is_jax(run) or sparse_kind(primitive) in ("coo", "csr"))
        _third_party[primitive] = known
    return known


_third_party: Final[dict[Any, bool]] = {}


def takes_integers(eqn: Any) -> bool:
    """Whether an equation is given numbers that can be indices, or conditions."""
    return any(dtype_info(getattr(v.aval, "dtype", None)).integral for v in eqn.invars)


def _takes_functions(params: dict[str, Any]) -> bool:
    return any(hasattr(v, "eqns") or callable(v) for v in params.values())


def _is_jax(function: Any) -> bool:
    """Whether JAX itself wrote an implementation; what cannot be told counts as JAX's."""
    return str(getattr(function, "__module__", "jax")).partition(".")[0] in ("jax", "jaxlib", "functools")


def _is_opaque(aval: Any) -> bool:
    """Whether a value is of a type of its own, such as a random key: nothing is known of what is inside."""
    dtype: Any = getattr(aval, "dtype", None)
    return dtype is not None and bool(jax.numpy.issubdtype(dtype, jax.dtypes.extended))


def _trace(eqn: Any) -> tuple[Any, tuple[Any, ...]] | None:
    primitive = eqn.primitive
    run = sparse_function(primitive) or getattr(primitive, "impl", None)
    if sparse_kind(primitive) in ("bcoo", "bcsr"):
        # What they do with their indices is long, and touches nothing else.
        return None
    if any(_is_opaque(v.aval) for v in (*eqn.invars, *eqn.outvars)):
        return None
    if run is None or eqn.effects or (_takes_functions(eqn.params) and _is_jax(run)):
        return None

    def call(*operands: Any) -> Any:
        result = run(*operands, **eqn.params)
        return tuple(result) if primitive.multiple_results else (result,)

    try:
        jaxpr, consts = equations_of(call, [v.aval for v in eqn.invars])
    except Exception:
        return None
    same = [
        v.aval.shape == o.aval.shape and v.aval.dtype == o.aval.dtype
        for v, o in zip(jaxpr.outvars, eqn.outvars, strict=False)
    ]
    if len(jaxpr.outvars) != len(eqn.outvars) or not all(same) or len(jaxpr.eqns) > LONGEST:
        return None
    return None if _uses(jaxpr, primitive) else (jaxpr, consts)


def _uses(jaxpr: Any, primitive: Any) -> bool:
    """Whether a primitive's implementation is, somewhere inside, the primitive again."""
    return any(
        e.primitive is primitive or any(_uses(open_jaxpr(inner)[0], primitive) for inner in inner_jaxprs(e.params))
        for e in jaxpr.eqns
    )
