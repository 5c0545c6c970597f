"""Conditions by cause: what one input must keep is one thing to tell, however many accesses depend on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from redzone.domains.symbolic import at_most
from redzone.report.model import Access, Cause, Condition


@dataclasses.dataclass(slots=True)
class _Group:
    condition: Condition
    accesses: dict[int, Access]
    conditions: dict[Condition, None]


def causes_of(accesses: Sequence[Access], origins: Sequence[str]) -> tuple[Cause, ...]:
    """One cause for each input or sum of inputs that accesses depend on, in the order first met.

    Where the accesses ask for different ranges, the cause is their intersection; ranges that exclude each other, or
    whose order depends on symbolic sizes, stay apart.
    """
    groups: dict[Any, list[_Group]] = {}
    for access in accesses:
        if access.suppressed:
            continue
        for condition in access.requires:
            _add(groups.setdefault(_subject(condition), []), condition, access)
    return tuple(
        Cause(g.condition, tuple(g.accesses.values()), tuple(g.conditions), _origin(g.condition, origins))
        for same in groups.values()
        for g in same
    )


def _subject(condition: Condition) -> Any:
    return condition.terms or (condition.leaf, condition.argument, condition.where)


def _add(groups: list[_Group], condition: Condition, access: Access) -> None:
    for group in groups:
        both = _both(group.condition, condition)
        if both is not None:
            group.condition = both
            group.accesses[id(access)] = access
            group.conditions[condition] = None
            return
    groups.append(_Group(condition, {id(access): access}, {condition: None}))


def _both(one: Condition, other: Condition) -> Condition | None:
    """The condition that says both; None where there is none or it cannot be told."""
    if one == other:
        return one
    try:
        low, high = _tighter(one.min, other.min, above=False), _tighter(one.max, other.max, above=True)
        if low is not None and high is not None and at_most(low, high) is False:
            return None
    except (TypeError, ValueError):
        return None
    return dataclasses.replace(one, min=low, max=high, text="")


def _tighter(a: Any, b: Any, above: bool) -> Any:
    if a is None or b is None:
        return b if a is None else a
    order = at_most(a, b)
    if order is None:
        raise ValueError("the order of two bounds depends on sizes")
    return a if order == above else b


def _origin(condition: Condition, origins: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(origins[leaf] for leaf in condition.leaves if leaf < len(origins) and origins[leaf]))
