"""What JAX's BCOO and BCSR arrays read and write: at their own indices, of which those outside are padding."""

from __future__ import annotations

from typing import Any, Final

from redzone.access.site import Site
from redzone.frontend.compat import sparse_kind

#: By kind, what of an array is padding: of the first two, documented to be; of CSR's elements, those beyond the last
#: row's end, which may be anywhere up to the number of elements.
PADDING: Final = {
    kind: f"jax's {kind.upper()}, whose {what} are padding"
    for kind, what in (
        ("bcoo", "indices out of bounds"),
        ("bcsr", "indices out of bounds"),
        ("csr", "elements beyond the last row's end"),
    )
}
#: By what follows the kind in a primitive's name: whether it reads or writes, and which operand or (-1) its result.
#: The others only work on indices: they sort them, find equal ones, multiply two arrays.
_TOUCHED: Final = {
    "todense": ("write", -1),
    "extract": ("read", None),
    "dot_general": ("read", None),
    "dot_general_sampled": ("read", 0),
}


def padded_access(eqn: Any, chain: tuple[Any, ...]) -> Site | None:
    """The access that an equation of a BCOO or BCSR array is; None where it touches nothing but sparse arrays."""
    kind = sparse_kind(eqn.primitive)
    known = _TOUCHED.get(eqn.primitive.name.removeprefix(f"{kind}_"))
    if known is None:
        return None
    effect, position = known
    if position is None:
        # The array that is no part of the sparse one comes last.
        position = len(eqn.invars) - 1
    buffer = eqn.outvars[0].aval if position < 0 else eqn.invars[position].aval
    mode = "drop" if effect == "write" else "fill"
    return Site(eqn, chain, effect, mode, buffer, (), (), 1, padding=PADDING[kind])
