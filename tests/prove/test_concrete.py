"""What replays evaluate in numpy is what JAX evaluates, to the bit."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.frontend.compat import Literal, bind
from redzone.prove.concrete import evaluate, exact_functions, exactly, is_exact_here

WHOLE = np.array([[3, -128, 7], [0, 127, -1]], np.int8)
FLOATS = np.array([[0.5, np.nan, -0.0], [np.inf, 1e-40, -2.0]], np.float32)
EMPTY = np.zeros((0, 3), np.int32)
FLAGS = np.array([[True, False, True], [False, False, True]])

FUNCTIONS = {
    "stack": lambda x: jnp.stack([x, x[::-1]], axis=1),
    "rev": lambda x: lax.rev(x, (1,)),
    "pad": lambda x: lax.pad(x, jnp.ones((), x.dtype), [(1, -1, 0), (0, 2, 1)]),
    "cut": lambda x: lax.pad(x, jnp.ones((), x.dtype), [(-1, 0, 0), (-1, -1, 2)]),
    "cut to nothing": lambda x: lax.pad(x, jnp.ones((), x.dtype), [(-3, 1, 0), (0, 0, 0)]),
    "update": lambda x: lax.dynamic_update_slice(x, x[:1, :2], (jnp.int32(9), jnp.int32(-1))),
}
INTEGER_FUNCTIONS = {
    "abs": lax.abs,
    "sum": lambda x: lax.reduce_sum_p.bind(x, axes=(1,), out_sharding=None),
    "product": lambda x: lax.reduce_prod_p.bind(x, axes=(1,), out_sharding=None),
    "largest": lambda x: lax.reduce_max_p.bind(x, axes=(0,), out_sharding=None),
    "smallest": lambda x: lax.reduce_min_p.bind(x, axes=(0, 1), out_sharding=None),
    "or": lambda x: lax.reduce_or_p.bind(x, axes=(0,)),
    "cube": lambda x: lax.integer_pow(x, 3),
}
NUMBERS = {"bytes": WHOLE, "unsigned": WHOLE.view(np.uint8), "empty": EMPTY}


def _agree(function, x):
    """Every equation whose result numpy can tell, from the same values as JAX; whether there was one."""
    closed = jax.make_jaxpr(function)(x)
    values = dict(zip(closed.jaxpr.invars, [x], strict=True))
    values.update(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    new = False
    for eqn in closed.jaxpr.eqns:
        args = [np.asarray(v.val if isinstance(v, Literal) else values[v]) for v in eqn.invars]
        theirs = [np.asarray(o) for o in bind(eqn, args)]
        if is_exact_here(eqn):
            (ours,) = evaluate(eqn, args)
            assert ours.dtype == theirs[0].dtype
            assert ours.shape == theirs[0].shape
            assert ours.tobytes() == theirs[0].tobytes(), eqn
            new = True
        values.update(zip(eqn.outvars, theirs, strict=True))
    return new


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [WHOLE, FLOATS, FLAGS], ids=["bytes", "floats", "flags"])
def test_moving_elements_agrees_with_jax(name, x):
    assert _agree(FUNCTIONS[name], x)


@pytest.mark.parametrize("name", INTEGER_FUNCTIONS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_arithmetic_of_whole_numbers_agrees_with_jax(name, kind):
    x = NUMBERS[kind]
    if name == "abs" and x.dtype.kind == "u":
        return
    if name == "or" and kind == "empty":
        x = FLAGS
    assert _agree(INTEGER_FUNCTIONS[name], x)


@pytest.mark.parametrize("name", ["sum", "product"])
def test_sums_of_floats_are_left_to_jax(name):
    assert not any(is_exact_here(eqn) for eqn in jax.make_jaxpr(INTEGER_FUNCTIONS[name])(FLOATS).jaxpr.eqns)


ENDS = {
    dtype: [np.dtype(dtype).type(n) for n in (np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1, 2, 5, -1 % 128, 100)]
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
}
OF_TWO = (
    *(lax.add, lax.sub, lax.mul, lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.max, lax.min, lax.div, lax.rem),
    *(lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge),
)
OF_ONE = (
    *(lax.neg, lax.bitwise_not, lambda x: lax.convert_element_type(x, bool), lambda x: lax.broadcast(x, (2, 1))),
    *(lambda x, to=to: lax.convert_element_type(x, to) for to in ("int8", "uint16", "int32", "uint64", "float32")),
)


def _agree_on_numbers(function, *columns):
    """What a replay computes of numbers, and of arrays of one, is what JAX does; nothing where there is no equation."""
    theirs = np.asarray(jax.vmap(function)(*map(np.array, columns)))
    for eqn in jax.make_jaxpr(function)(*(column[0] for column in columns)).eqns:
        single, several = exact_functions(eqn)
        for *numbers, expected in zip(*columns, theirs, strict=True):
            for given in (numbers, [np.asarray(n) for n in numbers], [numbers[0], *map(np.asarray, numbers[1:])]):
                with np.errstate(all="ignore"):
                    ours = single(*given) if single is not None else several(given)[0]
                assert (ours.dtype, np.shape(ours)) == (theirs.dtype, theirs.shape[1:]), eqn
                assert np.asarray(ours).tobytes() == expected.tobytes(), (eqn, numbers)


@pytest.mark.parametrize("dtype", [*ENDS, "bool"])
def test_numbers_are_computed_as_arrays_are(dtype):
    ends = ENDS.get(dtype, [np.bool_(False), np.bool_(True)])
    pairs = zip(*itertools.product(ends, ends), strict=True)
    first, second = (list(column) for column in pairs)
    with jax.enable_x64(True):
        for function in OF_ONE if dtype != "bool" else [*OF_ONE[1:2], *OF_ONE[3:]]:
            _agree_on_numbers(function, ends)
        for function in OF_TWO if dtype != "bool" else [*OF_TWO[3:8], *OF_TWO[10:]]:
            _agree_on_numbers(function, first, second)


@pytest.mark.parametrize("which", [np.bool_(False), np.bool_(True), *map(np.int32, (-7, 0, 1, 2, 9))])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_case_is_chosen_by_a_number_or_by_many(which, shape):
    cases = [np.full(shape, n, np.int32) for n in ((3, 4) if which.dtype == bool else (3, 4, 5))]
    for count in (2, len(cases)):
        (eqn,) = jax.make_jaxpr(lax.select_n)(np.broadcast_to(which, shape), *cases[:count]).eqns
        (theirs,) = bind(eqn, [np.broadcast_to(which, shape), *cases[:count]])
        assert np.array_equal(exactly(eqn, [np.broadcast_to(which, shape), *cases[:count]])[0], theirs)
