"""The pieces of elements hold for the handlers as they are, and for none of their wrong twins."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from redzone.domains.affine import Linear
from redzone.prove import element_arithmetic, element_movement, elements
from tests.soundness.elements import first_contradiction


def test_what_a_run_computes_is_what_some_piece_says():
    assert not first_contradiction(120)


@contextlib.contextmanager
def replaced(owner: Any, name: str, wrong: Callable[[Any], Any]) -> Iterator[None]:
    right = getattr(owner, name)
    setattr(owner, name, wrong(right))
    try:
        yield
    finally:
        setattr(owner, name, right)


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("primitive", list(elements._HANDLERS), ids=lambda p: p.name)
def test_a_handler_that_is_one_off_is_found(primitive):
    """Each handler's result is looked at somewhere: one more, or the other truth value, shows."""
    right = elements._HANDLERS[primitive]

    def wrong(self: Any, context: Any, step: Any, place: Any) -> Any:
        pieces = right(self, context, step, place)
        if step.eqn.outvars[0].aval.dtype == bool:
            return [(r, Linear(1) - v) for r, v in pieces]
        return [(r, v + 1) for r, v in pieces]

    elements._HANDLERS[primitive] = wrong
    try:
        assert first_contradiction()
    finally:
        elements._HANDLERS[primitive] = right


def _bounds_of_the_first_region(right: Any) -> Any:
    def quotient(self: Any, region: Any, a: Any, k: int) -> Any:
        lo, hi = region.bounds(a)
        if lo // k == hi // k:
            return region, Linear(lo // k)
        q = self.atom(("q", a.key(), k), "q", lo // k, hi // k)
        remainder = a - q * k
        return region.where(remainder, Linear(k - 1) - remainder), q

    return quotient


def _remainder_may_be_negative(right: Any) -> Any:
    def quotient(self: Any, region: Any, a: Any, k: int) -> Any:
        inside, q = right(self, region, a, k)
        return inside, q + 1 if region.bounds(a)[0] < 0 else q

    return quotient


def _never_wraps(right: Any) -> Any:
    return lambda self, region, value, info: [(region, value)]


def _wraps_half_as_far(right: Any) -> Any:
    def fitted(self: Any, region: Any, value: Any, info: Any) -> Any:
        span = info.max - info.min + 1
        return [(r, v if v is value else value + (span // 2 if (v - value).const > 0 else -span // 2))
                for r, v in right(self, region, value, info)]  # fmt: skip

    return fitted


def _forgets_what_spills(right: Any) -> Any:
    def fitted(self: Any, region: Any, value: Any, info: Any) -> Any:
        before = list(self.spilled)
        pieces = right(self, region, value, info)
        self.spilled = before
        return pieces

    return fitted


def _not_clamped(right: Any) -> Any:
    return lambda region, value, limit: [(region, value)]


def _the_next_branch(right: Any) -> Any:
    return lambda selector, k, last: right(selector, last - k, last)


def _the_other_side(right: Any) -> Any:
    return lambda region, first, a, b: right(region, first, b, a)


def _the_entry_before(right: Any) -> Any:
    def entries(self: Any, values: Any, place: Any, axis: int, first: int, last: int) -> Any:
        return [(r, Linear(v.const + 1)) for r, v in right(self, values, place, axis, first, last)]

    return entries


def _first_element(right: Any) -> Any:
    return lambda self, context, slot, places: right(
        self, context, slot, [(r, (*[p * 0 for p in at[:1]], *at[1:])) for r, at in places]
    )


def _all_but_the_last(right: Any) -> Any:
    return lambda pieces, *ends: right(pieces, *ends)[:-1]


def _nearer(right: Any) -> Any:
    def table(self: Any, context: Any, slot: int, place: Any, within: Any = elements.EVERYWHERE) -> Any:
        return right(self, context, slot, place, within.where(*(Linear(1) - p for p in place if p.terms)) or within)

    return table


TWINS = [
    ("a quotient's bounds from one region", elements.Elements, "quotient", _bounds_of_the_first_region),
    ("a quotient rounds up below zero", elements.Elements, "quotient", _remainder_may_be_negative),
    ("nothing wraps", elements, "fitted", _never_wraps),
    ("half around", elements, "fitted", _wraps_half_as_far),
    ("what leaves a type is forgotten", elements, "fitted", _forgets_what_spills),
    ("windows are not clamped", element_movement, "_clamped", _not_clamped),
    ("another branch", elements, "taken", _the_next_branch),
    ("the other case of max, min and clamp", element_arithmetic, "_split", _the_other_side),
    ("the wrong entry of a table", elements.Elements, "entries", _the_entry_before),
    ("one of few values is left out", element_arithmetic, "_told_apart", _all_but_the_last),
    ("a table looked at in a part of its region", elements.Elements, "table", _nearer),
    ("reads of the first element", element_movement, "_read", _first_element),
]


@pytest.mark.changes_the_engine
@pytest.mark.parametrize(("name", "owner", "what", "wrong"), TWINS, ids=[t[0] for t in TWINS])
def test_a_wrong_twin_is_found(name, owner, what, wrong):
    with replaced(owner, what, wrong):
        assert first_contradiction()
