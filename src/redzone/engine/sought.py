"""What a binary search looks for, noted with the loop that it is: a share of the last element, or numbers."""

from __future__ import annotations

from typing import Any

from redzone.engine import windows
from redzone.engine.frames import Frame, resolve
from redzone.engine.known import filled, is_at_hand
from redzone.engine.products import is_one
from redzone.engine.program import LoopShape
from redzone.engine.search import (
    Among,
    Lesser,
    Placed,
    Share,
    factors,
    is_among,
    is_last,
    is_long_enough,
    lesser,
    search_of,
)
from redzone.engine.slots import Slots


def note_search(build: Slots, eqn: Any, frame: Frame, inner: Any, fixed: dict[int, int], shape: LoopShape) -> None:
    """Note what a binary search looks for if it is a share of the last element, or known in numbers."""
    found = search_of(inner, shape.consts, fixed)
    if found is None:
        return
    query, array = eqn.invars[found.query], eqn.invars[found.array]
    # Where its last element may be another number than the one that is searched, it says nothing.
    alike = is_one(frame, array)
    parts = factors(resolve, frame, query, array, found.size) if alike and not found.right else None
    if len(array.aval.shape) > 1 and parts is None:
        # Of a search in each row only shares of its own last element are known.
        return
    plain = alike and not found.right and parts is None
    less = lesser(resolve, frame, query, array, found.size) if plain else None
    if parts is not None:
        at, last, part = parts
        shape.also = (build.slot(at, last), build.slot(at, part))
        shape.search = Share(found.size, *shape.also)
    elif less is not None:
        shape.also = (build.slot(*less),)
        shape.search = Lesser(found.size, shape.also[0])
    elif not found.right and is_among(resolve, frame, query, array):
        shape.search = Among(found.size)
    elif is_at_hand(frame, query) and is_at_hand(frame, array):
        shape.also = (build.slot(frame, array), build.slot(frame, query))
        first, end = (filled(frame, atom) for atom in eqn.invars[-2:])
        whole = alike and first == 0 and end == found.size and is_long_enough(found.size, shape.length)
        shape.search = Placed(found.size, shape.also[0], shape.also[1], found.right, whole)
        _ask_for_last(build, eqn, frame, array, found.size)


def _ask_for_last(build: Slots, eqn: Any, frame: Frame, array: Any, size: int) -> None:
    """Take the last element from a searched array of floats, where anything is compared with it.

    It may have been made behind the search, where nobody looks again: so it is made here.
    """
    at: Frame | None = frame
    where = resolve(frame, array)
    while at is not None:
        for atom, slot in list(at.floats.items()):
            shape = atom.aval.shape
            if shape in ((), (1,)) and is_last(resolve, at, atom, where, size):
                del at.floats[atom]
                build.template[slot] = None
                windows.cut(build, eqn, *where, windows.Want(slot, (size - 1,), (1,), shape, None))
        # Where carries are taken for one, the body's frame is its own parent.
        at = at.parent if at.parent is not at else None
