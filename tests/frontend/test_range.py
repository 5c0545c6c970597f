"""`Annotated[..., redzone.Range(...)]` on parameters and on fields of what is passed."""

from __future__ import annotations

import dataclasses
import functools
from typing import Annotated, NamedTuple, Optional, TypedDict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int

import redzone
from redzone.frontend.jaxtyping_shapes import annotated_example
from redzone.frontend.trace import trace

Index = Annotated[jax.Array, redzone.Range(0, 49)]
X = redzone.Spec((50,), "float32")
I = redzone.Spec((3,), "int32")  # noqa: E741


def verdict(fn, *args, **kwargs):
    (access,) = redzone.check(fn, *args, **kwargs).accesses
    return str(access.verdict)


def ranges(fn, *args, **kwargs):
    return {i.name: (i.min, i.max) for i in trace(fn, args, kwargs).inputs if i.min is not None or i.max is not None}


def lookup(x, i: Index):
    return x[i]


@pytest.mark.parametrize("argument", [I, jnp.zeros(3, int), np.zeros(3, "int32"), jax.ShapeDtypeStruct((3,), "int32")])
def test_on_a_parameter(argument):
    assert verdict(lookup, X, argument) == "safe"
    assert verdict(lookup, X, i=argument) == "safe"


def test_around_a_function():
    assert verdict(jax.jit(lookup), X, I) == "safe"
    assert verdict(functools.partial(lookup, jnp.zeros(50)), I) == "safe"
    assert verdict(functools.partial(lookup, i=jnp.zeros(3, int)), X) == "safe"
    assert verdict(jax.vmap(lookup, (None, 0)), X, redzone.Spec((3, 2), "int32")) == "safe"


def test_both_promises_hold():
    def f(x, i: Annotated[jax.Array, redzone.Range(max=49)]):
        return x[i]

    assert verdict(f, X, redzone.Spec((3,), "int32", min=0)) == "safe"
    assert ranges(f, X, redzone.Spec((3,), "int32", min=-1, max=99)) == {"i": (-1, 49)}
    assert ranges(f, X, redzone.Spec((3,), "int32", min=-1, max=9)) == {"i": (-1, 9)}


def test_bounds_for_each_element():
    def f(i: Annotated[jax.Array, redzone.Range(0, 5)]):
        return i

    low, high = ranges(f, redzone.Spec((2,), "int32", min=[-3, 3], max=[4, 9]))["i"]
    assert low.tolist() == [0, 3] and high.tolist() == [4, 5]


def test_promises_that_contradict():
    with pytest.raises(redzone.CannotCheck, match="i: no value keeps both min=60 and min=0 max=49"):
        redzone.check(lookup, X, redzone.Spec((3,), "int32", min=60))


def test_one_too_far():
    def f(x, i: Annotated[jax.Array, redzone.Range(0, 50)]):
        return x[i]

    assert verdict(f, X, I) == "unsafe"


@functools.partial(jax.tree_util.register_dataclass, data_fields=["position", "inner"], meta_fields=["size"])
@dataclasses.dataclass
class State:
    position: Annotated[jax.Array, redzone.Range(0, 49)]
    inner: Inner
    size: int = 3


class Inner(NamedTuple):
    row: Annotated[Int[Array, "n"], redzone.Range(0, 9)]
    column: Optional[Annotated[jax.Array, redzone.Range(1, 2)]] = None  # noqa: UP045


def state(position=I, row=I, column=None):
    return State(position, Inner(row, column))


def test_on_fields_of_dataclasses_and_named_tuples():
    def f(x, s):
        return x[s.position]

    assert verdict(f, X, state()) == "safe"
    assert ranges(f, X, state(column=I)) == {
        "s.position": (0, 49),
        "s.inner.row": (0, 9),
        "s.inner.column": (1, 2),
    }


def test_on_fields_found_through_containers():
    def f(states):
        return states

    assert ranges(f, {"a": (state(),)})["states['a'][0].position"] == (0, 49)


@jax.tree_util.register_pytree_node_class
class Registered:
    """Registered without the names of its fields, which it holds in another order."""

    low: Annotated[jax.Array, redzone.Range(0, 1)]
    high: Annotated[jax.Array, redzone.Range(5, 6)]

    def __init__(self, low, high):
        self.low, self.high = low, high

    def tree_flatten(self):
        return (self.high, self.low), None

    @classmethod
    def tree_unflatten(cls, _, children):
        high, low = children
        return cls(low, high)


def test_on_fields_of_a_registered_class():
    def f(r):
        return r.low

    given = Registered(redzone.Spec((), "int32"), redzone.Spec((), "int32"))
    assert sorted(ranges(f, given).values()) == [(0, 1), (5, 6)]
    assert ranges(f, given)[next(iter(ranges(f, given)))] == (5, 6)


class Batch(TypedDict):
    tokens: Annotated[jax.Array, redzone.Range(0, 49)]
    weights: jax.Array


def test_in_containers():
    def f(
        batch: Batch,
        pair: tuple[jax.Array, Index],
        many: list[Index],
        by_name: dict[str, Index],
        maybe: Index | None,
        either: Index | int,
        every: Annotated[tuple[jax.Array, jax.Array], redzone.Range(0, 3)],
        *rest: Index,
        **options: Index,
    ):
        return 0

    n = redzone.Spec((), "int32")
    found = ranges(f, {"tokens": n, "weights": n}, (n, n), [n, n], {"a": n}, n, n, (n, n), n, extra=n)
    index, three = (0, 49), (0, 3)
    assert found == {
        "batch['tokens']": index,
        "pair[1]": index,
        "many[0]": index,
        "many[1]": index,
        "by_name['a']": index,
        "maybe": index,
        "every[0]": three,
        "every[1]": three,
        "rest[0]": index,
        "extra": index,
    }


def test_on_methods_and_callable_objects():
    class Model:
        def __call__(self, x, i: Index):
            return x[i]

        def method(self, x, i: Index):
            return x[i]

    assert verdict(Model(), X, I) == "safe"
    assert verdict(Model().method, X, I) == "safe"


def test_floats():
    def f(x, u: Annotated[jax.Array, redzone.Range(0.0, 49.9, finite=True)]):
        return x[u.astype(int)]

    (source,) = [i for i in trace(f, (X, redzone.Spec((), "float32")), {}).inputs if i.name == "u"]
    assert source.finite and not source.fact().nan
    assert verdict(f, X, redzone.Spec((), "float32")) == "safe"


def test_with_jaxtyping():
    def f(x: Float[Array, "50"], i: Annotated[Int[Array, "n"], redzone.Range(0, 49)]):
        return x[i]

    call = annotated_example(f)
    assert verdict(f, *call.args) == "safe"


def test_examples():
    @redzone.example(X, I)
    def f(x, i: Index):
        return x[i]

    assert verdict(f, X, I) == "safe"


def test_annotations_with_names_of_the_function_around():
    local = redzone.Range(0, 49)

    def f(x, i: Annotated[jax.Array, local]):
        return x[i] + local.max

    assert verdict(f, X, I) == "safe"


def test_a_range_that_cannot_be_read_is_not_left_out():
    limit = 49

    def f(x, i: Annotated[jax.Array, redzone.Range(0, limit)]):
        return x[i]

    class Local(NamedTuple):
        i: Annotated[jax.Array, redzone.Range(0, limit)]

    for fn, argument in ((f, I), (lambda x, one: x[one.i], Local(I))):
        with pytest.raises(redzone.CannotCheck, match=r"promises a range but cannot be evaluated \(name 'limit'"):
            redzone.check(fn, X, argument)
    assert limit


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: redzone.Range(), ValueError, "says nothing"),
        (lambda: redzone.Range(3, 2), ValueError, "min=3 is above max=2"),
        (lambda: redzone.Range("0"), TypeError, "min must be a number, not '0'"),
        (lambda: redzone.Range(True), TypeError, "min must be a number, not True"),
        (lambda: redzone.Range(float("nan")), ValueError, "min is NaN"),
    ],
)
def test_nonsense(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


@pytest.mark.parametrize(
    ("promise", "dtype", "message"),
    [
        (redzone.Range(0.5), "int32", r"Range\(min=0.5\) of i, which is int32.*must be an integer"),
        (redzone.Range(min=300), "uint8", "no value is above 255"),
        (redzone.Range(finite=True), "int32", "integers are always finite"),
        (redzone.Range(0), "complex64", "not ordered numbers"),
        (redzone.Range, "int32", r"write redzone\.Range\(min, max\)"),
    ],
)
def test_promises_that_do_not_fit_the_array(promise, dtype, message):
    def f(i):
        return i

    f.__annotations__["i"] = Annotated[jax.Array, promise]
    with pytest.raises(redzone.CannotCheck, match=message):
        redzone.check(f, redzone.Spec((), dtype))


def test_specs_of_floats():
    assert redzone.Spec((), "float32", finite=True).finite is not False
    fact = trace(lambda x: x, (redzone.Spec((), "float32", finite=True),), {}).inputs[0].fact()
    assert (fact.lo, fact.hi, fact.nan) == (-np.finfo("float32").max, np.finfo("float32").max, False)
    fact = trace(lambda x: x, (redzone.Spec((), "bfloat16", min=0, finite=True),), {}).inputs[0].fact()
    assert fact.lo == 0 and not fact.nan and fact.hi < np.inf
    fact = trace(lambda x: x, (redzone.Spec((), "float32", min=0, max=1),), {}).inputs[0].fact()
    assert fact.nan


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"dtype": "int32", "finite": True}, r"Spec\(int32\) cannot have finite=True: integers are always finite"),
        ({"dtype": "complex64", "finite": True}, "it is about floats"),
        ({"dtype": "float16", "finite": True, "min": 1e6}, "no value is above 65504"),
        ({"dtype": "uint8", "min": 256}, "no value is above 255"),
        ({"dtype": "uint8", "max": -1}, "no value is below 0"),
        ({"dtype": "float32", "max": float("nan")}, "max is NaN"),
    ],
)
def test_specs_that_are_nonsense(keywords, message):
    with pytest.raises(ValueError, match=message):
        redzone.Spec((), **keywords)


@pytest.mark.parametrize(("low", "high", "size"), [(0, [9, 1], 2), ([0, 0], [9, 1], 2), ([-20, 0], 9, 10)])
def test_one_end_may_be_the_same_for_all_columns(low, high, size):
    low, high = (np.array(x) if isinstance(x, list) else x for x in (low, high))

    def second(x, s):
        return x[s[3, 1]]

    spec = redzone.Spec((8, 2), "int32", min=low, max=high)
    for n, expected in ((size, {"safe"}), (size - 1, {"unsafe"})):
        report = redzone.check(second, redzone.Spec((n,), "float32"), spec)
        assert {str(a.verdict) for a in report.accesses} == expected, str(report)


def test_the_bound_of_a_flag_is_a_number():
    spec = redzone.Spec((), "bool", max=False)
    (access,) = redzone.check(lambda x, flag: x[flag.astype(int)], jnp.zeros(2), spec).accesses
    assert str(access.verdict) == "safe"
    assert type(access.bounds[0].hi) is int
