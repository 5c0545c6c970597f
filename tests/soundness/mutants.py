"""Wrong twins of the rules: each is a mistake somebody could make, and the points must find it.

A mutant names the primitive, the catalogue entries that exercise it, and a rule to put in its place,
written as a change of the right rule's claim or as a wrong rule of its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from redzone.domains import Fact, dtype_info, join, settle, summarised
from redzone.frontend import compat
from redzone.rules import RULES

Apply = Callable[..., Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Mutant:
    """A mistake: `wrong` gets the right rule and returns the one to use instead."""

    name: str
    primitive: str
    entries: tuple[str, ...]
    wrong: Callable[[Apply], Apply]

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        rule = RULES[compat.primitives()[self.primitive]]
        right = rule.apply
        rule.apply = self.wrong(right)
        try:
            yield
        finally:
            rule.apply = right


# ---- changes of a claim ----------------------------------------------------------------------


def claim_of(change: Callable[[Fact], Fact]) -> Callable[[Apply], Apply]:
    def wrong(right: Apply) -> Apply:
        def apply(eqn: Any, *facts: Fact) -> Any:
            claimed = right(eqn, *facts)
            return [change(c) for c in claimed] if isinstance(claimed, list | tuple) else change(claimed)

        return apply

    return wrong


def _high_one_short(fact: Fact) -> Fact:
    fact = summarised(fact)
    if fact.lo == fact.hi or not (math.isfinite(fact.lo) and math.isfinite(fact.hi)):
        return fact
    return Fact(fact.lo, max(fact.hi - 1, fact.lo), 1, fact.nan)


def _low_one_short(fact: Fact) -> Fact:
    fact = summarised(fact)
    if fact.lo == fact.hi or not (math.isfinite(fact.lo) and math.isfinite(fact.hi)):
        return fact
    return Fact(min(fact.lo + 1, fact.hi), fact.hi, 1, fact.nan)


def _never_nan(fact: Fact) -> Fact:
    return Fact(fact.lo, fact.hi, 1, False)


def _always_even(fact: Fact) -> Fact:
    fact = summarised(fact)
    return fact if type(fact.lo) is not int or fact.step == 0 else Fact(fact.lo, fact.hi, 2)


HIGH_ONE_SHORT = claim_of(_high_one_short)
LOW_ONE_SHORT = claim_of(_low_one_short)
NEVER_NAN = claim_of(_never_nan)
ALWAYS_EVEN = claim_of(_always_even)


# ---- rules that forget something ---------------------------------------------------------------


def _clipped(lo: Any, hi: Any, eqn: Any) -> Fact:
    """What a rule returns that takes overflow for saturation."""
    info = dtype_info(eqn.outvars[0].aval.dtype)
    lo, hi = max(min(lo, info.max), info.min), max(min(hi, info.max), info.min)
    return Fact(lo, hi, 0 if lo == hi else 1)


def saturating(function: Callable[[Any, Any], Any]) -> Callable[[Apply], Apply]:
    """Forgets wraparound: the ends of the result are the function at the ends of the operands."""

    def wrong(_: Apply) -> Apply:
        def apply(eqn: Any, *facts: Fact) -> Fact:
            a, b = (summarised(f) for f in (facts if len(facts) == 2 else (*facts, Fact(0, 0, 0))))
            corners = [function(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
            return _clipped(min(corners), max(corners), eqn)

        return apply

    return wrong


def instead(function: Apply) -> Callable[[Apply], Apply]:
    return lambda _: function


def with_operands(change: Callable[..., tuple[Fact, ...]]) -> Callable[[Apply], Apply]:
    """The right rule, told something else about its operands."""
    return lambda right: lambda eqn, *facts: right(eqn, *change(*facts))


def with_params(**changes: Any) -> Callable[[Apply], Apply]:
    """The right rule, misreading the equation's parameters."""

    def wrong(right: Apply) -> Apply:
        return lambda eqn, *facts: right(_Misread(eqn, changes), *facts)

    return wrong


class _Misread:
    """An equation whose parameters were misread."""

    def __init__(self, eqn: Any, changes: dict[str, Any]) -> None:
        self.primitive, self.invars, self.outvars = eqn.primitive, eqn.invars, eqn.outvars
        self.params = {**eqn.params, **changes}


def _divide_floor(eqn: Any, a: Fact, b: Fact) -> Fact:
    a, b = summarised(a), summarised(b)
    if b.lo <= 0 <= b.hi:
        return _clipped(-(2**40), 2**40, eqn)
    corners = [x // y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return _clipped(min(corners), max(corners), eqn)


def _divide_never_by_zero(eqn: Any, a: Fact, b: Fact) -> Fact:
    a, b = summarised(a), summarised(b)
    most = max(abs(a.lo), abs(a.hi))
    return Fact(0 if a.lo >= 0 and b.lo >= 0 else -most, most)


def _remainder_of_divisor_sign(eqn: Any, a: Fact, b: Fact) -> Fact:
    b = summarised(b)
    if b.lo <= 0 <= b.hi:
        return _clipped(-(2**40), 2**40, eqn)
    return Fact(0, b.hi - 1) if b.lo > 0 else Fact(b.lo + 1, 0)


def _remainder_never_by_zero(eqn: Any, a: Fact, b: Fact) -> Fact:
    b = summarised(b)
    most = max(abs(b.lo), abs(b.hi), 1) - 1
    return Fact(-most, most)


def _and_of_ends(eqn: Any, a: Fact, b: Fact) -> Fact:
    a, b = summarised(a), summarised(b)
    ends = [x & y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Fact(min(ends), max(ends))


def _or_of_ends(eqn: Any, a: Fact, b: Fact) -> Fact:
    a, b = summarised(a), summarised(b)
    ends = [x | y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Fact(min(ends), max(ends))


def _xor_of_ends(eqn: Any, a: Fact, b: Fact) -> Fact:
    a, b = summarised(a), summarised(b)
    ends = [x ^ y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Fact(min(ends), max(ends))


def _shift_is_arithmetic(eqn: Any, a: Fact, b: Fact) -> Fact:
    a, b = summarised(a), summarised(b)
    ends = [x >> max(min(y, 31), 0) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Fact(min(ends), max(ends))


def _power_of_ends(eqn: Any, a: Fact) -> Fact:
    a = summarised(a)
    ends = (a.lo**2, a.hi**2)
    return _clipped(min(ends), max(ends), eqn)


def _absolute_of_ends(eqn: Any, a: Fact) -> Fact:
    a = summarised(a)
    return _clipped(min(abs(a.lo), abs(a.hi)), max(abs(a.lo), abs(a.hi)), eqn)


def _first_case(eqn: Any, which: Fact, *cases: Fact) -> Fact:
    return cases[0]


def _nan_is_no_number(right: Apply) -> Apply:
    """Float to int: a NaN goes nowhere."""

    def apply(eqn: Any, a: Fact) -> Any:
        return right(eqn, Fact(a.lo, a.hi, a.step if a.step != 1 else 1, False))

    return apply


def _rounded(eqn: Any, a: Fact) -> Fact:
    a = summarised(a)
    if not (math.isfinite(a.lo) and math.isfinite(a.hi)) or a.nan:
        return _clipped(-(2**40), 2**40, eqn)
    return _clipped(math.floor(a.lo), math.floor(a.hi), eqn)


def _float_to_int_wraps(eqn: Any, a: Fact) -> Fact:
    a = summarised(a)
    info = dtype_info(eqn.outvars[0].aval.dtype)
    if not (math.isfinite(a.lo) and math.isfinite(a.hi)):
        return Fact(info.min, info.max)
    turn = lambda x: (math.trunc(x) - info.min) % (1 << info.bits) + info.min  # noqa: E731
    lo, hi = turn(a.lo), turn(a.hi)
    return Fact(min(lo, hi, 0), max(lo, hi, 0))


def _plain_float(function: Callable[[float, float], float]) -> Apply:
    def apply(eqn: Any, a: Fact, b: Fact) -> Fact:
        a, b = summarised(a), summarised(b)
        corners = [function(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        if any(c != c for c in corners):
            return Fact(-math.inf, math.inf, 1, True)
        return Fact(min(corners), max(corners), 1, a.nan or b.nan)

    return apply


def _always_equal_when_alike(eqn: Any, a: Fact, b: Fact) -> Fact:
    a, b = summarised(a), summarised(b)
    return Fact(1, 1, 0) if (a.lo, a.hi) == (b.lo, b.hi) else Fact(0, 1)


def _first_part(eqn: Any, *parts: Fact) -> Fact:
    return parts[0] if not parts[0].kept else summarised(parts[0])


def _parts_swapped(right: Apply) -> Apply:
    def apply(eqn: Any, *parts: Fact) -> Any:
        made = right(eqn, *parts)
        axis = eqn.params["dimension"]
        if not made.kept or made.lo.shape[axis] == 1:
            return made
        return Fact(np.flip(made.lo, axis), np.flip(made.hi, axis), 1, made.nan)

    return apply


def _not_moved(eqn: Any, a: Fact, *_: Fact) -> Fact:
    return a


def _starts_one_later(right: Apply) -> Apply:
    def apply(eqn: Any, a: Fact) -> Any:
        if not a.kept:
            return a
        return right(eqn, Fact(np.roll(a.lo, -1, 0), np.roll(a.hi, -1, 0), 1, a.nan))

    return apply


def _operand_only(eqn: Any, a: Fact, *_: Fact) -> Fact:
    return summarised(a)


def _sum_once(eqn: Any, a: Fact) -> Fact:
    return summarised(a)


def _added_once(eqn: Any, a: Fact, indices: Fact, updates: Fact) -> Fact:
    a, updates = summarised(a), summarised(updates)
    return _clipped(a.lo + min(0, updates.lo), a.hi + max(0, updates.hi), eqn)


def _elementwise_sorted(eqn: Any, *operands: Fact) -> Any:
    return list(operands) if len(operands) > 1 else operands[0]


def _positions_short(eqn: Any, *_: Fact) -> Any:
    n = eqn.invars[0].aval.shape[eqn.params.get("axes", (0,))[0]]
    return Fact(0, n - 2)


def _join_as_first(eqn: Any, a: Fact, value: Fact) -> Fact:
    return summarised(a)


def _row_of_start(right: Apply) -> Apply:
    """A read anywhere between two rows taken for a read at the first of them."""

    def apply(eqn: Any, a: Fact, *starts: Fact) -> Any:
        return right(eqn, a, *(Fact(summarised(s).lo, summarised(s).lo, 0) for s in starts))

    return apply


def _both_ends(eqn: Any, a: Fact, b: Fact) -> Fact:
    a, b = summarised(a), summarised(b)
    return settle(min(a.lo, b.lo), min(a.hi, b.hi), a.nan or b.nan)


def _union(eqn: Any, low: Fact, a: Fact, high: Fact) -> Fact:
    """A clamp that trusts low ≤ high."""
    low, high = summarised(low), summarised(high)
    return Fact(low.lo, max(high.hi, low.lo), 1, a.nan)


def _of(primitive: str, *mistakes: tuple[str, tuple[str, ...], Callable[[Apply], Apply]]) -> list[Mutant]:
    return [Mutant(f"{primitive}: {name}", primitive, entries, wrong) for name, entries, wrong in mistakes]


ARITHMETIC = [
    *_of(
        "add_p",
        ("forgets wraparound", ("add int8", "add int32"), saturating(lambda x, y: x + y)),
        ("high one short", ("add int8", "add uint8"), HIGH_ONE_SHORT),
        ("low one short", ("add int8", "add int32"), LOW_ONE_SHORT),
        ("claims a stride", ("add int8",), ALWAYS_EVEN),
        (
            "floats without rounding",
            ("add float32", "add bfloat16"),
            instead(_plain_float(lambda x, y: x + y)),
        ),
        ("inf - inf is a number", ("add float32",), NEVER_NAN),
    ),
    *_of(
        "sub_p",
        ("forgets wraparound", ("sub uint8", "sub int8"), saturating(lambda x, y: x - y)),
        ("operands swapped", ("sub int32",), with_operands(lambda a, b: (b, a))),
        ("low one short", ("sub int32",), LOW_ONE_SHORT),
    ),
    *_of(
        "mul_p",
        ("forgets wraparound", ("mul int8", "mul int16"), saturating(lambda x, y: x * y)),
        (
            "low times low, high times high",
            ("mul int8",),
            instead(
                lambda e, a, b: _clipped(
                    summarised(a).lo * summarised(b).lo,
                    max(summarised(a).hi * summarised(b).hi, summarised(a).lo * summarised(b).lo),
                    e,
                )
            ),
        ),
        ("0 times inf is a number", ("mul float32",), NEVER_NAN),
        ("high one short", ("mul int8",), HIGH_ONE_SHORT),
    ),
    *_of(
        "div_p",
        ("rounds down", ("div int32", "div int8"), instead(_divide_floor)),
        ("never by zero", ("div int32", "div uint8"), instead(_divide_never_by_zero)),
        ("high one short", ("div int32",), HIGH_ONE_SHORT),
    ),
    *_of(
        "rem_p",
        ("has the divisor's sign", ("rem int32",), instead(_remainder_of_divisor_sign)),
        ("never by zero", ("rem int32", "rem uint8"), instead(_remainder_never_by_zero)),
        ("high one short", ("rem int32", "rem uint8"), HIGH_ONE_SHORT),
    ),
    *_of(
        "neg_p",
        ("forgets wraparound", ("neg int8", "neg int32"), saturating(lambda x, y: -x)),
        ("is the identity", ("neg int8",), instead(_not_moved)),
    ),
    *_of(
        "abs_p",
        (
            "forgets the least integer",
            ("abs int8", "abs int32"),
            instead(lambda e, a: _clipped(0, max(abs(summarised(a).lo), abs(summarised(a).hi)), e)),
        ),
        ("forgets zero in between", ("abs int8",), instead(_absolute_of_ends)),
    ),
    *_of(
        "sign_p",
        ("high one short", ("sign int32",), HIGH_ONE_SHORT),
        ("low one short", ("sign int32",), LOW_ONE_SHORT),
    ),
    *_of("square_p", ("forgets zero in between", ("square int8", "square int32"), instead(_power_of_ends))),
    *_of("integer_pow_p", ("forgets wraparound", ("integer_pow 3 int8",), saturating(lambda x, y: x**3))),
    *_of(
        "max_p",
        ("is min", ("max int32",), instead(_both_ends)),
        ("low one short", ("max int32",), LOW_ONE_SHORT),
        ("NaN loses", ("max float32",), NEVER_NAN),
    ),
    *_of(
        "min_p",
        ("high one short", ("min int32",), HIGH_ONE_SHORT),
        ("of the first only", ("min int32",), instead(_not_moved)),
        ("NaN loses", ("min float32",), NEVER_NAN),
    ),
    *_of(
        "clamp_p",
        ("trusts low ≤ high", ("clamp int32", "clamp int8 each"), instead(_union)),
        ("high one short", ("clamp int32",), HIGH_ONE_SHORT),
    ),
    *_of(
        "not_p",
        ("is negation", ("bitwise_not int8",), saturating(lambda x, y: -x)),
        ("is the identity", ("not bool",), instead(_not_moved)),
    ),
    *_of(
        "and_p",
        ("of the ends", ("bitwise_and int8", "bitwise_and uint8"), instead(_and_of_ends)),
        ("is or", ("bitwise_and bool",), instead(_or_of_ends)),
    ),
    *_of("or_p", ("of the ends", ("bitwise_or int8", "bitwise_or uint8"), instead(_or_of_ends))),
    *_of("xor_p", ("of the ends", ("bitwise_xor int8",), instead(_xor_of_ends))),
    *_of(
        "shift_left_p",
        ("forgets wraparound", ("shift_left int8",), saturating(lambda x, y: x << max(min(y, 60), 0))),
    ),
    *_of(
        "shift_right_logical_p",
        ("keeps the sign", ("shift_right_logical int32",), instead(_shift_is_arithmetic)),
    ),
    *_of("shift_right_arithmetic_p", ("high one short", ("shift_right_arithmetic int32",), HIGH_ONE_SHORT)),
    *_of("population_count_p", ("high one short", ("population_count int8",), HIGH_ONE_SHORT)),
    *_of(
        "clz_p",
        ("high one short", ("clz int8", "clz uint32"), HIGH_ONE_SHORT),
        ("low one short", ("clz uint8",), LOW_ONE_SHORT),
    ),
    *_of(
        "lt_p",
        (
            "is le",
            ("lt int32",),
            instead(lambda e, a, b: Fact(1, 1, 0) if np.all(a.hi <= b.lo) else Fact(0, 1)),
        ),
        ("forgets NaN", ("lt float32",), with_operands(lambda a, b: (_never_nan(a), _never_nan(b)))),
    ),
    *_of(
        "ge_p",
        (
            "is gt when it fails",
            ("ge int32",),
            instead(lambda e, a, b: Fact(0, 0, 0) if np.all(a.hi <= b.lo) else Fact(0, 1)),
        ),
    ),
    *_of("eq_p", ("equal ranges are equal values", ("eq int32",), instead(_always_equal_when_alike))),
    *_of("ne_p", ("forgets NaN", ("ne float32",), with_operands(lambda a, b: (_never_nan(a), _never_nan(b))))),
    *_of("is_finite_p", ("forgets NaN", ("is_finite float32",), with_operands(lambda a: (_never_nan(a),)))),
    *_of("select_n_p", ("takes the first case", ("select int32", "select 3"), instead(_first_case))),
]

CONVERSIONS = [
    *_of(
        "convert_element_type_p",
        (
            "forgets wraparound",
            ("convert int32 to int8", "convert int32 to uint8"),
            saturating(lambda x, y: x),
        ),
        ("NaN goes nowhere", ("convert float32 to int32", "convert float32 to int8"), _nan_is_no_number),
        ("rounds down", ("convert float32 to int32", "convert float32 to int8"), instead(_rounded)),
        ("wraps instead of saturating", ("convert float32 to int8",), instead(_float_to_int_wraps)),
        (
            "integers are exact floats",
            ("convert int32 to bfloat16",),
            instead(lambda e, a: Fact(float(summarised(a).lo), float(summarised(a).hi))),
        ),
        ("narrow floats are exact", ("convert float32 to bfloat16",), instead(_not_moved)),
    ),
    *_of(
        "bitcast_convert_type_p",
        ("keeps the value", ("bitcast int32 to uint32", "bitcast uint32 to int32"), instead(_not_moved)),
    ),
]

FLOATS = [
    *_of(
        "div_p",
        (
            "floats without rounding",
            ("div float32", "div bfloat16"),
            instead(
                lambda e, a, b: (
                    _plain_float(lambda x, y: x / y)(e, a, b)
                    if 0 not in (summarised(b).lo, summarised(b).hi) and summarised(b).lo * summarised(b).hi > 0
                    else Fact(-math.inf, math.inf, 1, True)
                )
            ),
        ),
    ),
    *_of("floor_p", ("is the identity", ("floor float32",), instead(_not_moved))),
    *_of(
        "ceil_p",
        (
            "is floor",
            ("ceil float32",),
            instead(
                lambda e, a: Fact(
                    *(x if math.isinf(x) else float(math.floor(x)) for x in (summarised(a).lo, summarised(a).hi)),
                    1,
                    a.nan,
                )
            ),
        ),
    ),
    *_of(
        "round_p",
        (
            "is floor",
            ("round AWAY_FROM_ZERO", "round TO_NEAREST_EVEN"),
            instead(
                lambda e, a: Fact(
                    *(x if math.isinf(x) else float(math.floor(x)) for x in (summarised(a).lo, summarised(a).hi)),
                    1,
                    a.nan,
                )
            ),
        ),
    ),
    *_of("sqrt_p", ("of a negative is a number", ("sqrt float32",), NEVER_NAN)),
    *_of("tanh_p", ("positive", ("tanh float32",), claim_of(lambda f: Fact(0.0, f.hi, 1, f.nan)))),
    *_of("logistic_p", ("centred", ("logistic float32",), claim_of(lambda f: Fact(0.25, 0.75, 1, f.nan)))),
    *_of("exp_p", ("bounded", ("exp float32",), claim_of(lambda f: Fact(f.lo, 1e6, 1, f.nan)))),
    *_of("sin_p", ("of inf is a number", ("sin float32",), NEVER_NAN)),
]

MOVEMENT = [
    *_of("rev_p", ("does not turn", ("rev int32",), instead(_not_moved))),
    *_of("transpose_p", ("does not turn", ("transpose int32",), instead(_not_moved))),
    *_of("slice_p", ("starts one later", ("slice int32",), _starts_one_later)),
    *_of(
        "concatenate_p",
        ("first part only", ("concatenate int32", "concatenate rows int32"), instead(_first_part)),
        ("parts swapped", ("concatenate rows int32",), _parts_swapped),
    ),
    *_of(
        "pad_p",
        (
            "forgets the filling",
            ("pad line int32", "pad int32 ((1, 2, 0), (0, 0, 0))"),
            instead(_join_as_first),
        ),
    ),
    *_of("iota_p", ("one short", ("iota int32",), HIGH_ONE_SHORT)),
    *_of("reshape_p", ("is the identity", ("reshape int32",), instead(_not_moved))),
    *_of("broadcast_in_dim_p", ("is the identity", ("broadcast int32",), instead(_not_moved))),
    *_of("squeeze_p", ("is the identity", ("squeeze int32",), instead(_not_moved))),
    *_of("split_p", ("parts swapped", ("split int32",), lambda right: lambda e, a: list(reversed(right(e, a))))),
    *_of("stack_p", ("first part only", ("stack int32",), instead(_first_part))),
]

FOLDS = [
    *_of(
        "reduce_sum_p",
        ("forgets the count", ("reduce_sum int32 (0,)",), instead(_sum_once)),
        (
            "forgets wraparound",
            ("reduce_sum int8 (0, 1)",),
            instead(lambda e, a: _clipped(12 * summarised(a).lo, 12 * summarised(a).hi, e)),
        ),
        ("high one short", ("reduce_sum int32 (0,)",), HIGH_ONE_SHORT),
    ),
    *_of("psum_p", ("forgets the count", ("psum int32",), instead(_sum_once))),
    *_of("reduce_prod_p", ("forgets the count", ("reduce_prod int32 (0,)",), instead(_sum_once))),
    *_of(
        "reduce_max_p",
        (
            "is min of kept rows",
            ("reduce_max int32 (0,)",),
            instead(lambda e, a: Fact(summarised(a).lo, int(np.min(a.hi)))),
        ),
    ),
    *_of("reduce_min_p", ("low one short", ("reduce_min int32 (0,)",), LOW_ONE_SHORT)),
    *_of("reduce_and_p", ("as max", ("reduce_and int8 (0,)",), instead(_sum_once))),
    *_of("reduce_xor_p", ("as max", ("reduce_xor int8 (0,)",), instead(_sum_once))),
    *_of(
        "cumsum_p",
        ("forgets the count", ("cumsum int32 False",), instead(_sum_once)),
        ("runs the other way", ("cumsum int8 True", "cumsum int32 True"), with_params(reverse=False)),
    ),
    *_of("cumprod_p", ("is the identity", ("cumprod int8 False",), instead(_sum_once))),
    *_of("cummax_p", ("elementwise", ("cummax int32 False",), instead(_not_moved))),
    *_of("argmax_p", ("one short", ("argmax int32",), instead(_positions_short))),
    *_of("sort_p", ("elementwise", ("sort int32", "sort payload int32"), instead(_elementwise_sorted))),
    *_of("top_k_p", ("one short", ("top_k int32",), HIGH_ONE_SHORT)),
    *_of(
        "dot_general_p",
        (
            "forgets the count",
            ("dot int32",),
            instead(
                lambda e, a, b: _clipped(
                    min(
                        x * y
                        for x in (summarised(a).lo, summarised(a).hi)
                        for y in (summarised(b).lo, summarised(b).hi)
                    ),
                    max(
                        x * y
                        for x in (summarised(a).lo, summarised(a).hi)
                        for y in (summarised(b).lo, summarised(b).hi)
                    ),
                    e,
                )
            ),
        ),
    ),
    *_of("reduce_window_sum_p", ("forgets the count", ("reduce_window_add int32 (3,) SAME 1 1",), instead(_sum_once))),
    *_of(
        "reduce_window_max_p",
        ("every window has an element", ("reduce_window_max int32 (2,) [(2, 0)] 1 1",), instead(_not_moved)),
    ),
    *_of(
        "reduce_precision_p",
        (
            "is the identity",
            ("reduce_precision float32 (8, 3)", "reduce_precision float32 (5, 10)"),
            instead(_not_moved),
        ),
    ),
]

ACCESSES = [
    *_of("dynamic_slice_p", ("reads at the lowest start", ("dynamic_slice int32 (1, 3)",), _row_of_start)),
    *_of(
        "dynamic_update_slice_p",
        ("forgets the update", ("dynamic_update_slice int32 (2, 2)",), instead(_operand_only)),
        (
            "overwrites everything",
            ("dynamic_update_slice int32 (2, 2)",),
            instead(lambda e, a, u, *s: summarised(u)),
        ),
    ),
    *_of(
        "gather_p",
        (
            "forgets the filling",
            ("gather line int32 FILL_OR_DROP", "gather rows uint8 FILL_OR_DROP"),
            instead(_operand_only),
        ),
        ("reads at the lowest start", ("gather rows int32 CLIP", "gather line int32 CLIP"), _row_of_start),
    ),
    *_of(
        "scatter_p",
        ("forgets the updates", ("scatter int32 CLIP",), instead(_operand_only)),
        ("overwrites everything", ("scatter int32 CLIP",), instead(lambda e, a, i, u: summarised(u))),
    ),
    *_of(
        "scatter_add_p",
        ("adds once", ("scatter_add int32 CLIP", "scatter_add uint8 CLIP"), instead(_added_once)),
    ),
    *_of("scatter_max_p", ("forgets the updates", ("scatter_max int32 CLIP",), instead(_operand_only))),
    *_of(
        "scatter_mul_p",
        (
            "multiplies once",
            ("scatter_mul int32 CLIP",),
            instead(lambda e, a, i, u: join(summarised(a), summarised(u))),
        ),
    ),
]

MUTANTS = [*ARITHMETIC, *CONVERSIONS, *FLOATS, *MOVEMENT, *FOLDS, *ACCESSES]
