"""Wrong twins of the engine and the deciders: refinement, loops, branches, windows, conditions, witnesses.

Each replaces one function by a mistaken one; the battery of programs must contradict the result.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from redzone.access import site as access_site
from redzone.domains import Fact, join, scalar, summarised
from redzone.engine import hot, levels, refine, relations, weights
from redzone.frontend import compat
from redzone.prove import unused as prove_unused
from redzone.prove import whole


@dataclasses.dataclass(frozen=True, slots=True)
class EngineMutant:
    """`wrong` gets the right function and returns the one to put at `place` (module:name or module:Class.name)."""

    name: str
    place: str
    wrong: Callable[[Any], Any]
    seen_in: str
    """The program of the battery that is tried first: it told once, and saves trying the rest while it does."""

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        module, path = self.place.split(":")
        owner: Any = importlib.import_module(f"redzone.{module}")
        *outer, name = path.split(".")
        for part in outer:
            owner = getattr(owner, part)
        if not hasattr(owner, name):
            # A built-in: the module gets a name of its own for a while.
            setattr(owner, name, self.wrong(None))
            try:
                yield
            finally:
                delattr(owner, name)
            return
        right = getattr(owner, name)
        setattr(owner, name, self.wrong(right))
        try:
            yield
        finally:
            setattr(owner, name, right)


def _unused_by_one(right: Any) -> Any:
    def wrong(closed: Any) -> set[int]:
        liveness = prove_unused._Liveness()
        jaxpr, _ = compat.open_jaxpr(closed)
        liveness.asked(jaxpr, frozenset(range(len(jaxpr.outvars))))
        return liveness.left

    return wrong


def _under_the_most_conditions(right: Any) -> Any:
    def wrong(*args: Any) -> Any:
        found = right(*args)
        return found and [
            (step, [(slot, one._replace(use=0)) for slot, one in conditions]) for step, conditions in found
        ]

    return wrong


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda _: lambda *args, **kwargs: value


def _the_first_way_on(right: Any) -> Any:
    return lambda carries, one, other, sign, held: right(carries, one, other, sign, held[:1])


def _read_inside(right: Any) -> Any:
    def places(self: Any, table: Any, fact: Any, shape: Any, indices: Any) -> Any:
        inside = [Fact(max(one.lo, 0), min(one.hi, n - 1)) for one, n in zip(indices, shape, strict=True)]
        return right(self, table, fact, shape, inside)

    return places


def _one_place_less(right: Any) -> Any:
    def places(self: Any, table: Any, fact: Any, shape: Any, indices: Any) -> Any:
        return [Fact(one.lo, max(one.lo, one.hi - 1)) for one in right(self, table, fact, shape, indices)]

    return places


def _the_first_part(right: Any) -> Any:
    def unstacked(build: Any, eqn: Any, frame: Any, out: Any, want: Any) -> Any:
        return right(build, eqn, frame, eqn.outvars[0], want)

    return unstacked


def _the_first_branch(right: Any) -> Any:
    def taken(self: Any, step: Any, slot: int, fact: Fact) -> None:
        every = self.env[step.apart]
        self.env[step.apart] = dict([*every.items()][:1])
        try:
            right(self, step, slot, fact)
        finally:
            self.env[step.apart] = every

    return taken


def _never_taken_back(right: Any) -> Any:
    def made(carries: Any, env: Any, flag: int, value: int) -> Any:
        return right(carries, env, flag, value) if value or env[carries.slot[flag]].hi == 0 else None

    return made


def _any_comparison(_: Any) -> Any:
    def flags(program: Any, slot: int) -> Any:
        made = hot.made_by(program, slot)
        while made is not None and made.eqn.primitive is hot._CONVERT:
            made = hot.made_by(program, made.ins[0])
        return made if made is not None and len(made.ins) == 2 else None

    return flags


def _carries_stay_apart(right: Any) -> Any:
    def scan(self: Any, at: Any, eqn: Any, given: Any) -> Any:
        first, count = compat.scan_counts(eqn.params)
        return [*given[first : first + count], *(whole.NOTHING,) * (len(eqn.outvars) - count)]

    return scan


def _never_negative(right: Any) -> Any:
    return lambda index, wrapped, n: (max(wrapped.lo, index.lo, 0), min(wrapped.hi, index.hi))


def _kept_by_conversion(right: Any) -> Any:
    def wrong(self: Any, step: Any, fact: Fact, level: Any) -> None:
        if step.eqn.outvars[0].aval.dtype != bool:
            self.narrow(step.ins[0], fact, level)

    return wrong


def _only_one_true(right: Any) -> Any:
    def wrong(self: Any, step: Any, fact: Fact, level: Any) -> None:
        for k, (slot, inner) in enumerate(self.side_by_side(step, level) or ()):
            if fact.step == 0 and k != fact.lo:
                self.narrow(slot, Fact(0, 0, 0), inner)

    return wrong


def _turned_definitions(right: Any) -> Any:
    return lambda *given: {k: one._replace(operands=one.operands[::-1]) for k, one in right(*given).items()}


def _relation_read_as(table: dict[str, str]) -> Callable[[Any], Any]:
    return lambda right: lambda relation, a, b: right(table.get(relation, relation), a, b)


def _changed_table(**changes: str) -> Callable[[Any], Any]:
    return lambda right: {**right, **changes}


def _one_sided_join(a: Fact, b: Fact) -> Fact:
    both = join(a, b)
    return Fact(both.lo, summarised(a).hi, 1, both.nan) if not both.kept else both


def _low_join(a: Fact, b: Fact) -> Fact:
    both = join(a, b)
    return Fact(summarised(a).lo, both.hi, 1, both.nan) if not both.kept else both


def _at_first(right: Any) -> Any:
    def wrong(carries: Any, condition: Any, lane: bool, looked: Any, env: list[Any]) -> list[Any]:
        first = {carries.body.outs[i]: carries.first[i] for i in carries.moving}
        return [first.get(slot, fact) for slot, fact in enumerate(env)]

    return wrong


def _any_share(right: Any) -> Any:
    return lambda self, program, env, step, plain: right(
        self._replace(share=-1), program, [*env, Fact(0.0, 1.0)], step, plain
    )


def _any_difference(right: Any) -> Any:
    def wrong(frame: Any, atom: Any, subtrahend: Any) -> Any:
        made = None if isinstance(atom, compat.Literal) else frame.maker(atom)
        return made.invars[0] if made is not None and made.primitive.name == "sub" else None

    return wrong


def _nan_is_comparable(right: Any) -> Any:
    def wrong(self: Any, step: Any, kind: str, fact: Fact, level: Any) -> None:
        if kind in relations.FLIPPED and fact.step == 0 and not fact.lo:
            self.compare(step, relations.NEGATED[kind], level)
        else:
            right(self, step, kind, fact, level)

    return wrong


def _last_of_some_rows(right: Any) -> Any:
    def wrong(program: Any, step: Any) -> Any:
        made = program.defs.get(step.ins[0]) if step.ins else None
        if step.eqn.primitive.name == "slice" and made is not None and made.eqn.primitive.name == "cumsum":
            return step.outs[0], made, (int(made.eqn.params["axis"]),)
        return right(program, step)

    return wrong


def _bounds_also_by_nan(right: Any) -> Any:
    return lambda self, step, fact, level: right(self, step, Fact(fact.lo, fact.hi, fact.step), level)


def _connective_always_both(right: Any) -> Any:
    """`a and b` is false, so both are false."""

    def wrong(self: Any, step: Any, fact: Fact, level: Any, decisive: int) -> None:
        if fact.step == 0:
            for position in (0, 1):
                self.narrow_operand(step, position, fact, level)

    return wrong


def _fails_by_its_first_part(right: Any) -> Any:
    return lambda program, *given: tuple([parts[:1] for parts in right(program, *given)])


def _keeps_its_first_part(right: Any) -> Any:
    return lambda program, *given: [(parts[:1], shape) for parts, shape in right(program, *given)]


def _keeps_its_last_part(right: Any) -> Any:
    return lambda program, *given: [(parts[-1:], shape) for parts, shape in right(program, *given)]


def _of_the_first_caller(right: Any) -> Any:
    return lambda self, jaxpr: right(self, jaxpr)[:1]


def _row_backwards(right: Any) -> Any:
    def wrong(eqn: Any, updates: Fact) -> Fact:
        row = right(eqn, updates)
        return Fact(row.lo[..., ::-1], row.hi[..., ::-1]) if row.kept else row

    return wrong


def _sums_turned_around(right: Any) -> Any:
    def wrong(self: Any, step: Any, fact: Fact, level: Any) -> None:
        a, b = self.pairwise(step, level)
        fact = summarised(fact)
        if self.integral(step) and self.fits(step, a.lo + b.lo, a.hi + b.hi):
            self.narrow_operand(step, 0, relations.spanning(fact.lo - b.lo, max(fact.hi - b.hi, fact.lo - b.lo)), level)

    return wrong


def _shorter_trip(right: Any) -> Any:
    return lambda carries, trips: right(carries, trips - 1 if trips and trips > 1 else trips)


def _grown_less(right: Any) -> Any:
    return lambda carries, moving, env, trips: right(carries, moving, env, max(trips - 2, 0))


def _one_trip_less(right: Any) -> Any:
    def wrong(*args: Any) -> Any:
        trips = right(*args)
        return trips if not trips else trips - 2

    return wrong


def _never_overflows(right: Any) -> Any:
    def wrong(fact: Fact, lo: int, hi: int, info: Any, by: int) -> Fact | None:
        made = right(fact, lo, hi, info, by)
        if made is not None or fact.kept:
            return made
        return Fact(max(fact.lo + lo, info.min), min(fact.hi + hi, info.max))

    return wrong


def _first_row(right: Any) -> Any:
    def wrong(fact: Fact) -> Fact:
        if not fact.kept:
            return fact
        lo, hi = fact.lo[0], fact.hi[0]
        return Fact(lo.item(), hi.item(), 1, fact.nan) if lo.ndim == 0 else Fact(lo, hi, 1, fact.nan)

    return wrong


def _swapped_cases(right: Any) -> Any:
    return lambda which, first, second: right(which, second, first)


def _next_branch(right: Any) -> Any:
    def wrong(self: Any, program: Any, env: Any, step: Any, k: int, last: int) -> Any:
        return right(self, program, env, step, (k + 1) % (last + 1), last)

    return wrong


def _one_more_allowed(site: Any, facts: Any) -> bool:
    for column, fact in zip(site.columns, facts, strict=True):
        lo, hi = access_site.column_of(fact, column.column)
        if np.min(lo) < 0 or np.max(hi) > column.limit + 1:
            return False
    return True


def _negatives_allowed(site: Any, facts: Any) -> bool:
    for column, fact in zip(site.columns, facts, strict=True):
        _, hi = access_site.column_of(fact, column.column)
        if np.max(hi) > column.limit:
            return False
    return True


def _first_column_only(right: Any) -> Any:
    return lambda fact, column: right(fact, 0 if column is not None else None)


def _first_of_them(right: Any) -> Any:
    return lambda seen, leaves: set(sorted(right(seen, leaves))[:1])


def _everything_proved(right: Any) -> Any:
    def wrong(program: Any, facts: Any, sites: Any) -> Any:
        found, visits = right(program, facts, sites)
        return {site: one._replace(inside=True) for site, one in found.items()}, visits

    return wrong


def _wider_conditions(right: Any) -> Any:
    def wrong(needs: Any, inputs: Any) -> Any:
        made = right(needs, inputs)
        return tuple(dataclasses.replace(c, max=None if c.max is None else c.max + 1) for c in made)

    return wrong


def _harmless_witness(right: Any) -> Any:
    def wrong(*args: Any, **kwargs: Any) -> Any:
        found = right(*args, **kwargs)
        if found is None:
            return None
        return dataclasses.replace(found, arguments=tuple(np.zeros_like(a) for a in found.arguments))

    return wrong


def _the_promise_alone(right: Any) -> Any:
    def wrong(computed: Fact, known: Fact | None) -> Fact:
        return computed if known is None else Fact(known.lo, known.lo, 0)

    return wrong


def _zeros_below(right: Any) -> Any:
    return lambda fact: right(fact) if summarised(fact).hi != 1 or summarised(fact).lo != 1 else Fact(0, 0, 0)


def _other_branch(right: Any) -> Any:
    return lambda self, program, step, slot, k: right(self, program, step, slot, 1 - k)


def _next_place(right: Any) -> Any:
    def wrong(site: Any, indices: Fact) -> Any:
        places = right(site, indices)
        if places is None:
            return None
        return [tuple((p + 1) % n for p in ends) for ends, n in zip(places, site.buffer.shape, strict=True)]

    return wrong


def _slice_is_all(right: Any) -> Any:
    return lambda self, step, fact: self.narrow(step.ins[0], summarised(fact), levels.ALL)


def _shorter_range(lo: int, hi: int, step: int) -> range:
    return range(lo, hi - 1, step)


def _seen_inside_only(right: Any) -> Any:
    """A value that is also a result of its jaxpr is taken for one that is not."""

    def wrong(self: Any, jaxpr: Any, var: Any) -> Any:
        try:
            return right(self, jaxpr, var)
        except Exception:
            return self.readers(jaxpr, var)

    return wrong


def _all_beside(right: Any) -> Any:
    """A write leaves every window as it was."""

    def wrong(build: Any, eqn: Any, frame: Any, wants: Any) -> Any:
        frame.wanted.setdefault(eqn.invars[0], {}).update(wants)
        return {}

    return wrong


def _operands_do_not_matter(right: Any) -> Any:
    return lambda step, rule: rule


LOOPS, REFINE, FORWARD, NARROWING = "engine.loops", "engine.refine", "engine.forward", "engine.narrowing"

ENGINE_MUTANTS = [
    EngineMutant(
        "a conjunction fails by its first part",
        "engine.selects:beside",
        _fails_by_its_first_part,
        "real_bugs.intended_by_the_library",
    ),
    EngineMutant(
        "a conjunction among what fails fails by its last part",
        "engine.either:alternatives",
        _keeps_its_last_part,
        "guards.child_by_another_condition",
    ),
    EngineMutant(
        "all elements keep the same part of a promise",
        "engine.either:HERE",
        lambda right: levels.ALL,
        "assumptions.neighbours_of_which_one_is_true",
    ),
    EngineMutant(
        "of a promise the first part holds",
        "engine.either:alternatives",
        _keeps_its_first_part,
        "assumptions.an_index_or_a_number_for_none",
    ),
    EngineMutant(
        "what is moved stays where it was",
        "engine.narrowing:adds_ones",
        lambda right: lambda eqn: True,
        "battery.elementwise_selects",
    ),
    EngineMutant(
        "one index outside means all are",
        "prove.seen:HERE",
        lambda right: levels.ALL,
        "masked.turned_where_another_ball_leaves",
    ),
    EngineMutant(
        "a function has one caller",
        "prove.uses:Uses.callers",
        _of_the_first_caller,
        "masked.read_by_a_function_for_one_who_sees_it",
    ),
    EngineMutant(
        "every quotient is a share",
        "engine.share:is_share",
        lambda right: lambda program, step: True,
        "algorithms.derivative_of_interp",
    ),
    EngineMutant(
        "every constant beside a sum is positive",
        "engine.weights:_is_positive",
        lambda right: lambda frame, atom: right(frame, atom) or type(atom) is compat.Literal,
        "drawn.weights_over_less_than_their_sum",
    ),
    EngineMutant(
        "weights over any sum are over their own",
        "engine.closer:own_share",
        lambda right: lambda frame, eqn: weights._NOT_NEGATIVE,
        "drawn.squares_over_another_sum",
    ),
    EngineMutant(
        "what an iteration sets is not set back",
        "engine.carried:changed_or_set",
        lambda right: lambda *given: (found := right(*given)) and found._replace(set_to=None),
        "cursors.so_many_left_or_one_more",
    ),
    EngineMutant(
        "a loop that a flag ends does not go on",
        "engine.entered:_if_it_goes_on",
        _at_first,
        "cursors.until_fuller_than_full_or_found",
    ),
    EngineMutant(
        "no zero is negative",
        "engine.share:_no_negative_zero",
        lambda right: lambda *given: True,
        "habits.divided_by_a_zero_of_either_sign",
    ),
    EngineMutant(
        "no lane sees another",
        "engine.loops:stay_apart",
        lambda right: lambda step: True,
        "regressions.lanes_that_are_done_seen_by_others",
    ),
    EngineMutant(
        "a row is written backwards", "rules.indexing:row_written", _row_backwards, "state.an_element_written_last"
    ),
    EngineMutant(
        "< is read as ≤ - 1 too strictly",
        f"{NARROWING}:satisfying",
        _relation_read_as({"le": "lt"}),
        "battery.every_arithmetic",
    ),
    EngineMutant(
        "≥ is read as >", f"{NARROWING}:satisfying", _relation_read_as({"ge": "gt"}), "battery.every_arithmetic"
    ),
    EngineMutant(
        "≠ is read as =", f"{NARROWING}:satisfying", _relation_read_as({"ne": "eq"}), "battery.every_relation"
    ),
    EngineMutant("not < is >", f"{NARROWING}:NEGATED", _changed_table(lt="gt"), "battery.every_arithmetic"),
    EngineMutant("not > is <", f"{NARROWING}:NEGATED", _changed_table(gt="lt"), "battery.every_arithmetic"),
    EngineMutant("not = is <", f"{NARROWING}:NEGATED", _changed_table(eq="lt"), "battery.every_relation"),
    EngineMutant(
        "a < b turned around is b < a", f"{NARROWING}:FLIPPED", _changed_table(lt="lt"), "battery.counting_from_the_end"
    ),
    EngineMutant(
        "a ≥ b turned around is b ≥ a", f"{NARROWING}:FLIPPED", _changed_table(ge="ge"), "battery.every_relation"
    ),
    EngineMutant("sums never wrap", f"{REFINE}:Refiner.fits", _constant(True), "arithmetic.within_a_circle_that_wraps"),
    EngineMutant(
        "a sum's operand moves the wrong way", f"{REFINE}:Refiner._add", _sums_turned_around, "battery.every_relation"
    ),
    EngineMutant(
        "a difference is a sum", f"{REFINE}:Refiner._sub", lambda right: refine.Refiner._add, "battery.every_arithmetic"
    ),
    EngineMutant(
        "a false conjunction has false parts",
        f"{REFINE}:Refiner.connective",
        _connective_always_both,
        "battery.every_relation",
    ),
    EngineMutant("max is min", f"{REFINE}:Refiner._max", lambda right: refine.Refiner._min, "battery.every_arithmetic"),
    EngineMutant(
        "quotients are exact",
        f"{REFINE}:Refiner._div",
        lambda right: (
            lambda self, step, fact, level: self.narrow_operand(
                step,
                0,
                Fact(summarised(fact).lo * 2, max(summarised(fact).hi * 2, summarised(fact).lo * 2)),
                level,
            )
        ),
        "battery.every_arithmetic",
    ),
    EngineMutant(
        "every position is where the condition holds",
        f"{REFINE}:Refiner.behind",
        lambda right: lambda self, step, level: level,
        "battery.elementwise_selects",
    ),
    EngineMutant(
        "not < says ≥ of a NaN too", f"{REFINE}:Refiner.backward", _nan_is_comparable, "floats.clipped_by_hand"
    ),
    EngineMutant(
        "the next branch's condition",
        f"{FORWARD}:Runner.inputs_of_branch",
        _next_branch,
        "battery.the_first_that_holds",
    ),
    EngineMutant(
        "branches join low only", f"{FORWARD}:join", lambda right: _one_sided_join, "battery.every_arithmetic"
    ),
    EngineMutant(
        "a select's cases swapped", "engine.selects:_chosen", _swapped_cases, "algorithms.knapsack_by_selects"
    ),
    EngineMutant("one iteration too few", f"{LOOPS}:count_exactly", _shorter_trip, "battery.carries"),
    EngineMutant("counters never overflow", "engine.growing:_after", _never_overflows, "battery.counters_that_wrap"),
    EngineMutant("growth for fewer iterations", "engine.resting:bounded_growth", _grown_less, "battery.carries"),
    EngineMutant("a while runs less often", f"{LOOPS}:most_trips", _one_trip_less, "battery.batched_loops"),
    EngineMutant("the first value is all there is", "engine.resting:leq", _constant(True), "battery.carries"),
    EngineMutant("carries only fall", "engine.resting:join", lambda right: _one_sided_join, "battery.carries"),
    EngineMutant("carries only rise", "engine.resting:join", lambda right: _low_join, "battery.carries"),
    EngineMutant("a scan sees the first row", f"{LOOPS}:row_of", _first_row, "battery.tables"),
    EngineMutant(
        "one past the end is inside", "engine:stays_inside", lambda right: _one_more_allowed, "battery.tables"
    ),
    EngineMutant(
        "negative is inside",
        "engine:stays_inside",
        lambda right: _negatives_allowed,
        "arithmetic.remainder_can_be_negative",
    ),
    EngineMutant("one column for all", "access.site:column_of", _first_column_only, "positions.columns_swapped"),
    EngineMutant(
        "conditions are believed",
        "prove.trials:outcomes",
        _everything_proved,
        "battery.pointers_that_pass_each_other",
    ),
    EngineMutant(
        "one input is all that matters",
        "prove.conditioned:relevant",
        _first_of_them,
        "state.both_of_what_is_looked_up_anyway",
    ),
    EngineMutant(
        "conditions one too wide",
        "prove.decide:as_conditions",
        _wider_conditions,
        "assumptions.beyond_what_can_be_followed",
    ),
    EngineMutant(
        "witnesses may break promises",
        "prove.replay:Replay.keep",
        _constant(None),
        "assumptions.beyond_what_can_be_followed",
    ),
    EngineMutant(
        "a promise is its lower end",
        "engine.assumptions:held",
        _the_promise_alone,
        "assumptions.beyond_what_can_be_followed",
    ),
    EngineMutant(
        "a scan's body is run by no other scan",
        "prove.last:_is_run_elsewhere",
        _constant(False),
        "masked.rows_read_ahead_by_two_scans_one_of_which_goes_further",
    ),
    EngineMutant("a witness that is none", "prove.seeking:find_witness", _harmless_witness, "battery.tables"),
    EngineMutant(
        "every conversion is a renaming",
        "engine.slice:is_renaming",
        _constant(True),
        "battery.pointers_that_pass_each_other",
    ),
    EngineMutant(
        "a value seen elsewhere is discarded",
        "prove.uses:Uses.of",
        _seen_inside_only,
        "guards.value_seen_before_it_is_discarded",
    ),
    EngineMutant("a while's body starts less often", f"{LOOPS}:grown", _grown_less, "battery.carries"),
    EngineMutant(
        "what zeros they were does not matter", "engine.mass:summarised", _zeros_below, "algorithms.counting_sort"
    ),
    EngineMutant(
        "any cond takes this branch",
        f"{FORWARD}:Runner.of_same_branch",
        _other_branch,
        "structure.branch_and_its_contrary",
    ),
    EngineMutant("another element is set", "rules.indexing:_places", _next_place, "battery.tables"),
    EngineMutant(
        "what one caller has no use for is never used",
        "prove.decide:unused",
        _unused_by_one,
        "masked.a_result_of_a_function_that_one_caller_asks_for",
    ),
    EngineMutant(
        "a window covers all that it may touch",
        "rules.indexing:touched",
        lambda right: lambda *args: (right(*args)[0], True),
        "games.a_column_of_which_one_is_set",
    ),
    EngineMutant(
        "a window touches the first of its places",
        "rules.indexing:touched",
        lambda right: lambda shape, kept, places, window: right(shape, kept, [(a, a) for a, _ in places], window),
        "games.any_column_counted_up",
    ),
    EngineMutant(
        "what holds for a slice holds for all",
        f"{REFINE}:Refiner.narrow_part",
        _slice_is_all,
        "guards.counter_in_a_vector",
    ),
    EngineMutant(
        "every search ends before the end",
        f"{LOOPS}:stays_below",
        _constant(True),
        "habits.sampled_by_a_part_of_any_sign",
    ),
    EngineMutant(
        "every product is with the last element", "engine.search:is_last", _constant(True), "structure.share_of_another"
    ),
    EngineMutant(
        "all but the last value are tried",
        "engine.tabulate:range",
        lambda right: _shorter_range,
        "arithmetic.a_small_number_times_itself_again_and_again",
    ),
    EngineMutant(
        "a write changes nothing that is read",
        "engine.windows:_beside",
        _all_beside,
        "guards.counter_in_a_vector_too_far",
    ),
    EngineMutant(
        "equal equations on anything are equal",
        "engine.sharing:_asked",
        _operands_do_not_matter,
        "battery.counting_from_the_end",
    ),
    EngineMutant(
        "an index counts from before the end",
        "engine.selects:from_the_end",
        lambda right: lambda i, n: right(i, n - 1),
        "algorithms.knapsack_by_selects",
    ),
    EngineMutant(
        "what counted from the end did not",
        "engine.refine_elementwise:before_wrap",
        _never_negative,
        "battery.counting_from_the_end",
    ),
    EngineMutant(
        "conversions keep every number",
        f"{REFINE}:Refiner._convert",
        _kept_by_conversion,
        "masked.signed_only_for_its_branch",
    ),
    EngineMutant(
        "the first true one is the only one", f"{REFINE}:Refiner._first", _only_one_true, "battery.the_first_that_holds"
    ),
    EngineMutant(
        "a number beyond the cases picks none",
        "prove.selected:picks",
        lambda right: lambda _, case: (case, case),
        "masked.a_number_beyond_the_cases_picks_the_last",
    ),
    EngineMutant(
        "nobody tells -0 from 0",
        "prove.selected:are_told",
        _constant(False),
        "readings.half_a_turn_or_none",
    ),
    EngineMutant(
        "as if every type of floats held every number",
        "prove.finite:_reaches",
        lambda right: lambda dtype: 0.0,
        "readings.more_than_half_a_float_holds_times_nothing",
    ),
    EngineMutant(
        "every function of finite numbers is finite",
        "prove.selected:stays_finite",
        _constant(True),
        "masked.weighted_and_times_a_condition",
    ),
    EngineMutant(
        "how it is summed up does not matter",
        "engine.sharing:_is_same",
        _constant(True),
        "arithmetic.the_coordinates_of_a_number",
    ),
    EngineMutant(
        "what a bool was made from, turned around",
        "engine.bodies:definitions",
        _turned_definitions,
        "guards.full_was_asked_before",
    ),
    EngineMutant(
        "≠ settles <",
        "engine.relations:SAYS",
        lambda right: {**right, "ne": {"eq": 0, "lt": 1}},
        "battery.every_relation",
    ),
    EngineMutant(
        "padded elements never meet", "engine.interleaved:_beside", _constant(True), "structure.every_third_of_two"
    ),
    EngineMutant(
        "nothing is left between padded elements",
        "engine.interleaved:_inside",
        lambda right: lambda places, size: size / 2,
        "structure.every_third_of_two",
    ),
    EngineMutant(
        "combining leads no further",
        "rules.reductions:leq",
        _constant(True),
        "arithmetic.a_hash_of_many_not_taken_back",
    ),
    EngineMutant(
        "where a fold starts does not matter",
        "engine.folds:join",
        lambda right: lambda a, b: a,
        "arithmetic.a_hash_of_many_that_starts_outside",
    ),
    EngineMutant(
        "any share lies between", "engine.between:Between.closer", _any_share, "floats.on_the_way_beyond_another"
    ),
    EngineMutant(
        "any difference will do", "engine.between:_taken_from", _any_difference, "floats.on_the_way_from_another"
    ),
    EngineMutant("every callback raises", "engine.errors:_never_returns", _constant(True), "guards.error_that_is_none"),
    EngineMutant(
        "a while goes on in one way only",
        "engine.continuing:Condition.ways",
        lambda right: lambda *args: right(*args)[:1],
        "cursors.moved_on_while_either",
    ),
    EngineMutant(
        "two cursors come to their ends sooner",
        f"{LOOPS}:most_trips_of_two",
        _one_trip_less,
        "cursors.merged_while_either_has_some_into_too_few",
    ),
    EngineMutant(
        "of three cases the first is taken",
        "engine.selects:_switch",
        lambda right: lambda runner, program, env, step: env[step.ins[1]],
        "cursors.moved_too_far_by_one_of_three_in_each_lane",
    ),
    EngineMutant(
        "promised sums never wrapped",
        "engine.totals:is_exact",
        _constant(True),
        "assumptions.a_total_in_a_type_too_narrow",
    ),
    EngineMutant(
        "what was cut to bytes is still all there",
        "engine.totals:_holds_all",
        _constant(True),
        "assumptions.a_total_of_what_was_cut_to_bytes",
    ),
    EngineMutant(
        "neighbours and a number never wrap",
        "engine.neighbours:Term.fits",
        _constant(True),
        "assumptions.a_byte_and_a_hundred_may_wrap",
    ),
    EngineMutant(
        "differences of neighbours never wrap",
        "engine.neighbours:_use_apart",
        lambda right: lambda lo, hi, k, one, order: right(lo, hi, k, one._replace(width=one.width * 4), order),
        "assumptions.steps_of_bytes_that_may_wrap",
    ),
    EngineMutant(
        "steps begin with the first",
        "engine.neighbours:_use_less",
        lambda right: lambda lo, hi, k, one: right(lo, hi, k, one._replace(by=one.by + 1)),
        "assumptions.strictly_rising_and_one_too_far",
    ),
    EngineMutant(
        "some of the bools is true",
        "engine.first:_is_any",
        _constant(True),
        "habits.the_first_neighbour_where_none_may_be_inside",
    ),
    EngineMutant(
        "no two labels are alike",
        "engine.hot:_differ",
        _constant(True),
        "routing.two_of_several_by_a_sum",
    ),
    EngineMutant(
        "all labels are compared with one number",
        "engine.hot:_is_same_along",
        _constant(True),
        "routing.as_many_as_are_equal_by_a_sum",
    ),
    EngineMutant(
        "carries are what they are in the first half",
        "engine.determined:hull",
        lambda right: lambda numbers: right(numbers[: len(numbers) // 2 + 1]),
        "reported.moved_on_every_fifth_time_and_once_more",
    ),
    EngineMutant(
        "extremes of rows stand beside any",
        "engine.extremes:_is_beside",
        _constant(True),
        "reported.bins_of_each_row_beside_columns",
    ),
    EngineMutant(
        "any comparison picks one of several",
        "engine.hot:_flags",
        _any_comparison,
        "reported.all_up_to_one_by_a_product",
    ),
    EngineMutant(
        "every while goes through its body",
        f"{LOOPS}:_surely_starts",
        _constant(True),
        "long_loops.made_small_if_at_all",
    ),
    EngineMutant(
        "whatever is put in is less than any score",
        "engine.chosen:How.is_end",
        _constant(True),
        "positions.the_best_where_others_are_not_less",
    ),
    EngineMutant(
        "no score is as low as what is put in",
        "engine.chosen:How.is_beyond",
        _constant(True),
        "positions.the_best_of_two_inside_or_the_first",
    ),
    EngineMutant(
        "of two ways to a result one is looked at",
        "prove.whole:Whole.any",
        lambda right: lambda self, several: tuple(sorted(right(self, several), key=int.bit_count)[-1:]),
        "masked.a_branch_that_looks_at_what_was_read_either_way",
    ),
    EngineMutant(
        "nobody sees which branch is taken",
        "prove.whole:Whole.branches",
        lambda right: lambda self, at, eqn, given: right(self, at, eqn, [whole.NOTHING, *given[1:]]),
        "masked.what_was_read_decides_a_branch_that_may_be_seen",
    ),
    EngineMutant(
        "what a loop carries stays apart",
        "prove.whole:Whole.scan",
        _carries_stay_apart,
        "masked.what_was_read_goes_into_another_carry_that_may_be_seen",
    ),
    EngineMutant(
        "where not both hold neither does",
        "prove.whole:_OR",
        lambda right: compat.primitives()["and_p"],
        "masked.what_was_read_is_replaced_here_and_there",
    ),
    EngineMutant(
        "lanes are never put together",
        "prove.whole:carried",
        lambda right: lambda eqn, position, places: places,
        "lanes.summed_over_lanes_before_it_is_thrown_away",
    ),
    EngineMutant(
        "a number of a condition decides about any lane",
        "prove.whole:Whole.lanes",
        lambda right: (
            lambda self, at, atom, labels: (
                None if right(self, at, atom, (0,) * len(labels)) is None else tuple(range(len(labels)))
            )
        ),
        "lanes.lanes_of_lanes_exchanged",
    ),
    EngineMutant(
        "any places differ from each other",
        "engine.distinct:_below",
        lambda right: lambda frame, atom, axis, deep: right(frame, atom, axis, deep) or atom.aval.shape[axis],
        "positions.places_that_need_not_differ",
    ),
    EngineMutant(
        "every part of an array is its first",
        "engine.windows:_unstacked",
        _the_first_part,
        "structure.coordinates_taken_apart_and_exchanged",
    ),
    EngineMutant(
        "every element stays at its place",
        "prove.passing:_mixed",
        lambda right: lambda eqn: None if right(eqn) is None else set(),
        "masked.rows_turned_round_but_not_what_keeps_them",
    ),
    EngineMutant(
        "a number that may be none bounds those beside it",
        "engine.refine:Refiner._most",
        _bounds_also_by_nan,
        "regressions.numbers_beside_one_that_is_none",
    ),
    EngineMutant(
        "every type tells the places of an extreme",
        "engine.first:tells_places",
        _constant(True),
        "regressions.the_first_place_in_a_type_that_does_not_hold_all",
    ),
    EngineMutant(
        "every type tells the first of equal places",
        "rules.reductions:tells_places",
        _constant(True),
        "regressions.no_place_in_a_type_that_does_not_hold_all",
    ),
    EngineMutant(
        "few places are always told apart",
        "engine.refine_reductions:tells_places",
        _constant(True),
        "regressions.few_places_in_a_type_that_holds_fewer",
    ),
    EngineMutant(
        "the last sums of some rows are those of all",
        "engine.totals:_summed",
        _last_of_some_rows,
        "regressions.a_total_promised_of_one_row",
    ),
    EngineMutant(
        "a reshape never turns an array about",
        "engine.levels:signature_of",
        lambda right: lambda params: right({**params, "dimensions": None} if "new_sizes" in params else params),
        "readings.beside_rows_turned_about",
    ),
    EngineMutant(
        "there is one zero",
        "engine.slots:math",
        lambda right: types.SimpleNamespace(copysign=lambda a, b: 1.0),
        "readings.divided_by_zeros_of_both_signs",
    ),
    EngineMutant(
        "bits in common are like bools",
        "engine.refine_reductions:dtype_info",
        lambda right: lambda dtype: right(np.dtype(bool)),
        "readings.the_bits_in_common_are_one",
    ),
    EngineMutant(
        "more than half of a sum is inside its type",
        "engine.order:fits",
        lambda right: lambda lo, hi, least, most: lo > 0 or right(lo, hi, least, most),
        "readings.far_more_than_half_of_a_sum",
    ),
    EngineMutant(
        "ends stay in order though their difference wraps",
        "engine.order:_lasting",
        lambda right: lambda body, now: body.special,
        "readings.ends_out_of_order_once_their_difference_wrapped",
    ),
    EngineMutant(
        "one loop is always given the same",
        "engine.nested:given_alike",
        _constant(()),
        "readings.one_loop_that_is_given_one_number_and_then_two",
    ),
    EngineMutant(
        "what was read of a table was read inside it",
        "engine.refine_reads:Reads.places",
        _read_inside,
        "walls.where_the_ends_are_open",
    ),
    EngineMutant(
        "the last place of a table's is not one of them",
        "engine.refine_reads:Reads.places",
        _one_place_less,
        "walls.two_beside_each_that_is_no_wall",
    ),
    EngineMutant(
        "a share of anything is one of a row's last element",
        "engine.search:is_last",
        _constant(True),
        "drawn.a_share_of_the_last_of_another_row",
    ),
    EngineMutant(
        "a loop that may go on for either reason goes on for the first",
        "engine.trips:_moves",
        _the_first_way_on,
        "cursors.back_to_both_ends_and_standing_still_at_one",
    ),
    EngineMutant(
        "any constant is where a carry stands",
        "engine.together:_stands_at",
        _constant(True),
        "cursors.back_along_an_alignment_that_is_set_back",
    ),
    EngineMutant(
        "conditions of several elements are the same for all",
        "engine.refine:is_of_several",
        _constant(False),
        "arithmetic.flags_that_are_not_all_the_same",
    ),
    EngineMutant(
        "a number has one bit less than it may have",
        f"{LOOPS}:most_trips_of_bits",
        _one_trip_less,
        "everyday.the_bits_that_are_set_of_one_more",
    ),
    EngineMutant(
        "a carry that may be kept always is",
        f"{LOOPS}:first_or_replaced",
        lambda right: lambda runner, carries, env, i: right(runner, carries, env, i) and carries.first[i],
        "walls.a_walk_through_a_gap_by_one_number",
    ),
    EngineMutant(
        "of two conditions one holds where the other does not",
        "engine.alternatives:_is_negation",
        _constant(True),
        "arithmetic.either_of_two_numbers_or_both",
    ),
    EngineMutant(
        "a choice written as a sum is the other way round",
        "engine.alternatives:_looked_for",
        lambda right: lambda *args: (found := right(*args)) and found._replace(cases=found.cases[::-1]),
        "arithmetic.the_other_number_of_the_two",
    ),
    EngineMutant(
        "any comparison holds once in a row",
        "engine.mass:one_of_each",
        lambda right: lambda *args: scalar(1),
        "sums.sorted_by_counts_and_ranks_of_others",
    ),
    EngineMutant(
        "sums of other numbers are sums of these",
        "prove.element_sums:made_from",
        lambda right: lambda program, env, slot: right(program, env, slot)._replace(times=1, plus=0),
        "sums.what_is_kept_without_what_is_not",
    ),
    EngineMutant(
        "how many are equal does not hang on which",
        "prove.element_sums:_count_name",
        lambda right: lambda n, *_: ("equal", n),
        "routing.in_the_order_of_other_experts",
    ),
    EngineMutant(
        "what has room for no more is filled to one less",
        "engine.filled:Filled.closer",
        lambda right: lambda *args: Fact(0, 99),
        "cursors.where_the_next_would_go",
    ),
    EngineMutant(
        "a loop in a body that moves on moves by nine at least",
        "engine.nested:moved_by",
        lambda right: lambda *args: (found := right(*args)) and (max(found[0], 9), max(found[1], 9)),
        "cursors.lengths_of_words_with_room_for_one_less",
    ),
    EngineMutant(
        "a loop in a body adds as much as an iteration of it",
        "engine.nested:_turns_of",
        lambda right: lambda *args: (found := right(*args)) and (found[0], min(found[1], 1)),
        "nested.all_that_is_set_in_a_table_of_one_less",
    ),
    EngineMutant(
        "a lane of a batched loop in a body has an iteration less",
        "engine.nested:_turns_of",
        lambda right: lambda *args: (found := right(*args)) and (found[0], max(found[1] - 1, 0)),
        "nested.copies_in_lanes_of_a_table_of_one_less",
    ),
    EngineMutant(
        "what is taken away in a loop makes up for what is added",
        "engine.growing:added_at_most",
        _constant(0),
        "cursors.the_same_by_a_stack_of_one_less",
    ),
    EngineMutant(
        "of several branches the first was taken",
        "engine.refine:Refiner.taken",
        _the_first_branch,
        "cursors.up_to_a_zero_or_past_the_end",
    ),
    EngineMutant(
        "what some element is all are",
        "engine.refine:Refiner.some_element",
        lambda right: lambda self, step: self.narrow(step.ins[0], scalar(1), levels.ALL),
        "cursors.some_element_is_true",
    ),
    EngineMutant(
        "masks of one use hold for all",
        "prove.exact:Exact.decide_seen",
        lambda right: lambda self, site, uses: right(self, site, uses[:1]),
        "masked.a_span_under_two_masks",
    ),
    EngineMutant(
        "a flag is never taken back",
        "engine.flags:_made_where",
        _never_taken_back,
        "cursors.letters_of_a_flag_that_may_be_taken_back",
    ),
    EngineMutant(
        "a flag is only set once",
        "engine.flags:_by_iteration",
        lambda right: lambda carries, flag, started: right(carries, flag, started[:4]),
        "cursors.read_where_the_first_turn_ends",
    ),
    EngineMutant(
        "what is written to a row is all that it may be",
        "rules.indexing:_written_in_row",
        lambda right: lambda n, a, update, first, last, size, certain: right(n, a, update, first, first, size, True),
        "battery.tables",
    ),
    EngineMutant(
        "parts of one sum are parts of any",
        "engine.parts:_converted",
        _constant(0),
        "sums.quarters_of_another_sum",
    ),
    EngineMutant(
        "where one run is, it is inside",
        "prove.alone:Alone.all_inside",
        lambda right: lambda self: [] if self.needed() else [*self.targets.values()],
        "alone.over_a_triangle_with_one_more_in_each_row",
    ),
    EngineMutant(
        "a limit for one coordinate holds one further down",
        "engine.narrowing:_beside",
        lambda right: lambda lo, hi, *how: right(lo, hi - 1, *how),
        "columns.points_up_to_the_far_side",
    ),
    EngineMutant(
        "what is not 0 is above it",
        "prove.selected:_by_sign",
        lambda right: lambda *args: right(*args)[:1],
        "masked.where_it_is_not_zero",
    ),
    EngineMutant(
        "elements that are equal do not count",
        "engine.program:counts",
        lambda right: lambda *args: [one._replace(right=False) for one in right(*args)],
        "sums.frames_of_each_by_counting_ends_and_one_more",
    ),
    EngineMutant(
        "lanes that are done count on",
        "prove.element_loops:lanes_of",
        _constant(0),
        "regressions.counters_of_lanes_that_end_at_different_times",
    ),
    EngineMutant(
        "counters never come to the end of their type",
        "engine.determined:wrapped",
        lambda right: lambda lo, hi, step, info: Fact(lo, hi, step),
        "regressions.a_counter_wraps_on_the_way",
    ),
    EngineMutant(
        "a flag that nobody asked for is never true",
        "engine.extended:Extended.made",
        lambda right: lambda self, frame, atom: self.new(scalar(0)),
        "masked.by_a_flag_one_too_wide_that_goes_into_no_index",
    ),
    EngineMutant(
        "inputs that nobody asked for are what they are not",
        "engine.extended:Extended.input",
        lambda right: lambda self, frame, atom: self.new(scalar(-1)),
        "masked.by_a_flag_one_too_wide_that_goes_into_no_index",
    ),
    EngineMutant(
        "what one use hides all uses hide",
        "prove.met:met_with",
        _under_the_most_conditions,
        "masked.seen_under_two_conditions_and_under_the_wider_alone",
    ),
    EngineMutant(
        "a counter gives out fewer rows than there are iterations",
        "engine.resting:grown",
        _grown_less,
        "filled_tables.a_trie_with_too_few_nodes",
    ),
    EngineMutant(
        "whatever is written marks what was read",
        "engine.spent:_is_marked",
        _constant(True),
        "marks.slots_of_which_another_is_marked",
    ),
    EngineMutant(
        "no mark is ever taken back",
        "engine.marks:is_mark",
        _constant(True),
        "marks.slots_that_are_taken_and_given_back",
    ),
    EngineMutant(
        "one element is marked at first",
        "engine.spent:unmarked_in",
        lambda right: lambda *args: (left := right(*args)) and left - 1,
        "marks.each_vertex_once_and_one_marked_that_is_not_there",
    ),
    EngineMutant(
        "what is read and written is where it is said to be",
        "engine.marks:_are_inside",
        _constant(True),
        "marks.slots_that_may_not_be_there",
    ),
    EngineMutant(
        "distances rise by one",
        "engine.marks:_adds_one",
        _constant(True),
        "marks.distances_that_rise_by_five",
    ),
    EngineMutant(
        "whatever places are known follow one another from the first",
        "engine.consecutive:_first",
        _constant(0),
        "in_order.the_worth_of_each_piece_from_the_other_side",
    ),
    EngineMutant(
        "a condition on rows is one on columns",
        "engine.narrowing:is_along_rows",
        lambda right: lambda level, eqn: eqn.primitive.name == "broadcast_in_dim",
        "in_order.where_each_piece_goes_if_one_is_there",
    ),
    EngineMutant(
        "wherever an array is spread it is the same",
        "engine.levels:_broadcast",
        lambda right: lambda shape, places: right(shape, tuple(range(len(places)))),
        "in_order.where_some_pieces_go_by_conditions_the_other_way_round",
    ),
    EngineMutant(
        "rows are kept wherever there are as many",
        "prove.masks:_by_rows",
        lambda right: lambda found, shape: right(found._replace(sizes=shape), shape),
        "readings.rows_that_a_reshape_mixes",
    ),
    EngineMutant(
        "how long loops in a lane that is done go on is nobody's business",
        "prove.trials:decides_rounds",
        _constant(False),
        "ragged.rows_of_rows",
    ),
]
