"""Where writes at known places put what, and which parts of an array they change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from redzone.frontend.compat import primitives

if TYPE_CHECKING:
    from redzone.engine.slots import Slots
    from redzone.engine.windows import Want

_UPDATE: Final = primitives()["dynamic_update_slice_p"]


class Write:
    """Where a write at a literal place puts what."""

    __slots__ = ("first", "places", "update", "window")

    def __init__(self, first: tuple[int, ...], window: tuple[int, ...], update: Any, places: dict[int, int]) -> None:
        self.first = first
        self.window = window
        self.update = update
        """None where something else is written: x.at[i].apply(f) is a scatter too."""
        self.places = places
        """Which dimension of the array each dimension of the update is; its others have one element."""


def known_write(build: Slots, eqn: Any) -> Write | None:
    """Where an equation writes, if that is known."""
    writes = build.slicer.writes
    if id(eqn) not in writes:
        writes[id(eqn)] = _known_write(build, eqn)
    return writes[id(eqn)]


def is_beside(want: Want, write: Write) -> bool:
    """Whether a write leaves a window as it was."""
    starts, sizes, first, window = want.starts, want.sizes, write.first, write.window
    for d, a in enumerate(starts):
        if a + sizes[d] <= first[d]:
            return True
        if first[d] + window[d] <= a:
            return True
    return False


def is_within(want: Want, write: Write) -> bool:
    """Whether a write changes all of a window."""
    starts, sizes, first, window = want.starts, want.sizes, write.first, write.window
    return all(first[d] <= a and a + sizes[d] <= first[d] + window[d] for d, a in enumerate(starts))


def _known_write(build: Slots, eqn: Any) -> Write | None:
    index = build.slicer.inventory.settled.get(id(eqn))
    if index is None:
        return None
    if eqn.primitive is _UPDATE:
        window = eqn.invars[1].aval.shape
        return Write(tuple(index), window, eqn.invars[1], {d: d for d in range(len(window))})
    site = build.slicer.inventory.sites[id(eqn)]
    numbers = eqn.params["dimension_numbers"]
    if site.count != 1 or numbers.operand_batching_dims:
        return None
    first = [0] * len(site.window)
    for column, at in zip(site.columns, index, strict=True):
        first[column.dim] = at
    within = [d for d in range(len(first)) if d not in numbers.inserted_window_dims]
    places = dict(zip(sorted(numbers.update_window_dims), within, strict=True))
    update = eqn.invars[2] if eqn.params.get("update_jaxpr") is None else None
    return Write(tuple(first), site.window, update, places)
