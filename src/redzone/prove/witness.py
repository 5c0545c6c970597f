"""Inputs tried in turn until one really makes an access leave its array, where somebody sees it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.domains import Fact
from redzone.frontend.trace import Input
from redzone.frontend.unwatched import unwatched
from redzone.prove.compiled import leaves_compiled
from redzone.prove.concrete_random import is_key, words
from redzone.prove.masks import Thrown
from redzone.prove.pasted import pasted
from redzone.prove.plain import filled, has_sizes, keeps
from redzone.prove.purse import Purse
from redzone.prove.replay import Replay
from redzone.prove.visible import is_visible
from redzone.report.model import Witness

#: By accesses: what replays toward them.
Replays = dict[frozenset[int], Replay]
#: How many inputs are tried for one access.
TRIES: Final = 14
#: After how many inputs for which no index could be computed no other is tried.
BLIND: Final = 2
#: How many inputs may show what nobody sees before none is believed.
HIDDEN: Final = 12


@unwatched()
def witnesses(
    closed: Any,
    sites: Sequence[Site],
    inputs: Sequence[Input],
    facts: Sequence[Fact],
    candidates: Iterable[dict[int, Any]],
    purse: Purse,
    tried: set[Any] | None = None,
    replays: Replays | None = None,
    tries: int = TRIES,
    thrown: Thrown | None = None,
    hidden: int = HIDDEN,
    counts: Callable[[int, Witness], bool] | None = None,
) -> dict[int, Witness]:
    """By identity of the access's equation: an input that really makes it leave its array, and is not `thrown` away.

    Inputs in `tried` are passed over, those looked at are added to it. `replays` of the same program are used again.
    `hidden`: how many inputs may show what nobody sees before none is believed. `counts` says whether a witness does.
    """
    result: dict[int, Witness] = {}
    if not has_sizes(inputs):
        return result
    replay: Replay | None = None
    tried, blind = set() if tried is None else tried, 0
    nothing: dict[Any, bool] = {}
    """By the inputs that lead to the accesses, on which a run to its end found none outside: whether it was blind."""
    for chosen in itertools.islice(candidates, tries):
        if len(result) == len(sites) or purse.left <= 0:
            break
        if replay is None:
            replay = _toward(closed, sites, purse, {} if replays is None else replays, thrown or {})
        arguments = filled(inputs, facts, chosen)
        seen = tuple(_identity(a) for a in arguments)
        if seen in tried:
            continue
        tried.add(seen)
        leading = tuple([seen[i] for i in sorted(replay.needed())])
        ran, found = replay, {} if leading in nothing else replay.attempt(arguments)
        is_blind = nothing.get(leading, replay.unjudged and not replay.judged)
        if not found and replay.left >= 0 and not replay.compiles:
            nothing[leading] = is_blind
        blind += is_blind
        if blind == BLIND:
            break
        if found and not all(keeps(facts[i], value) for i, value in chosen.items()):
            # A point of the exact stage may speak of what a float is rounded to, and not of the float.
            continue
        if found and replay.rough and purse.sure is not None:
            left = [site for site in sites if id(site.eqn) in found and id(site.eqn) not in result]
            ran = Replay(closed, left, purse.sure, thrown)
            found = ran.attempt(arguments) if left else {}
        telling: _Telling | None = None
        asked = [key for key in found if key not in result and _is_seen(closed, sites, key, arguments, hidden)]
        outside = [_site_of(sites, key) for key in asked]
        for key, site in zip(asked, outside, strict=True):
            index, path = found[key]
            if not leaves_compiled(closed, site, arguments, ran, outside):
                continue
            if telling is None:
                telling = _Telling(inputs, facts, chosen, arguments, replay.needed())
            # The others do not lead outside, but without them perhaps nobody sees it.
            alone = telling.is_all or _is_seen(closed, sites, key, telling.arguments, hidden)
            witness = telling.witness(index, path, alone)
            if counts is None or counts(key, witness):
                result[key] = witness
    return result


class _Telling:
    """What an input shows and which part of it leads there: the same for all accesses that it takes outside."""

    def __init__(
        self,
        inputs: Sequence[Input],
        facts: Sequence[Fact],
        chosen: dict[int, Any],
        arguments: list[Any],
        needed: frozenset[int],
    ) -> None:
        self.inputs, self.chosen, self.given, self.needed = inputs, chosen, arguments, needed
        self.leading = {i: value for i, value in chosen.items() if i in needed}
        self.is_all = len(self.leading) == len(chosen)
        self.arguments = arguments if self.is_all else filled(inputs, facts, self.leading)
        """The same with nothing chosen that does not lead there."""
        self.texts: dict[bool, str] = {}

    def witness(self, index: tuple[int, ...], path: str, alone: bool) -> Witness:
        """What it shows of an access, with what leads there alone or with all that was chosen."""
        arguments = self.arguments if alone else self.given
        text = self.texts.get(alone)
        if text is None:
            relevant = sorted(self.leading if alone else self.chosen) or sorted(self.needed)[:4]
            text = ", ".join([f"{self.inputs[i].name}={pasted(arguments[i])}" for i in relevant])
            self.texts[alone] = text
        return Witness(tuple(arguments), index, path, text)


def _is_seen(closed: Any, sites: Sequence[Site], key: int, arguments: list[Any], times: int) -> bool:
    return is_visible(closed, _site_of(sites, key), arguments, times)


def _site_of(sites: Sequence[Site], key: int) -> Site:
    return next(site for site in sites if id(site.eqn) == key)


def _toward(closed: Any, sites: Sequence[Site], purse: Purse, replays: Replays, thrown: Thrown) -> Replay:
    """A replay toward these accesses; what one has found out about the program, the next knows."""
    key = frozenset(id(site.eqn) for site in sites)
    replay = replays.get(key)
    if replay is None:
        replay = replays[key] = Replay(closed, sites, purse, thrown)
    replay.spends(purse)
    return replay


def _identity(value: Any) -> Any:
    """Equal for equal arrays; of one that holds a single number, that number says it."""
    if is_key(value):
        value = words(value)
    if not isinstance(value, np.ndarray):
        return id(value)
    if value.size and not any(value.strides):
        return value.flat[0].item()
    return value.tobytes()
