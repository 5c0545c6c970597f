"""isl's answer to whether a conjunction of linear constraints has an integer point; loaded when first asked."""

from __future__ import annotations

import importlib
from typing import Any

from redzone.domains.affine import Atom, Region
from redzone.stages import recorded


@recorded("isl")
def sample(region: Region) -> dict[Atom, int] | bool | None:
    """Integers satisfying every constraint; None where there are none, False where isl is not installed."""
    try:
        isl: Any = importlib.import_module("islpy")
    except ImportError:
        return False
    atoms = region.atoms()
    names = [f"x{k}" for k in range(len(atoms))]
    name_of = dict(zip(atoms, names, strict=True))
    space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=names)

    def number(n: int) -> Any:
        return n if -(2**63) <= n < 2**63 else isl.Val.read_from_str(isl.DEFAULT_CONTEXT, str(n))

    found: Any = isl.BasicSet.universe(space)
    for atom, name in name_of.items():
        lo, hi = region.box.get(atom) or (atom.lo, atom.hi)
        found = found.add_constraint(isl.Constraint.ineq_from_names(space, {1: number(-lo), name: 1}))
        found = found.add_constraint(isl.Constraint.ineq_from_names(space, {1: number(hi), name: -1}))
    for guard in region.guards:
        terms: dict[Any, Any] = {name_of[a]: number(k) for a, k in guard.terms.items()}
        found = found.add_constraint(isl.Constraint.ineq_from_names(space, {1: number(guard.const), **terms}))
    point = found.sample_point()
    if point.is_void():
        return None
    values = [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(len(atoms))]
    rest = {a: min(max(0, lo), hi) for a, (lo, hi) in region.box.items()}
    return rest | dict(zip(atoms, values, strict=True))
