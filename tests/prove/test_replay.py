"""Replays: a program's own equations on concrete inputs, and where an access leaves its array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.engine import inventory_of
from redzone.prove.purse import Purse
from redzone.prove.replay import Replay

TABLE = np.arange(8, dtype=np.float32)


def _found(function, *arguments, purse=None):
    """The index outside and the path to it, of each access that leaves on these inputs."""
    closed = jax.make_jaxpr(function)(*arguments)
    sites = list(inventory_of(closed).sites.values())
    replay = Replay(closed, sites, purse or Purse(compiles=False))
    return list(replay.attempt(list(arguments)).values()), replay


@jax.jit
def _next(i):
    return i + 1


@jax.jit
def _both(i, j):
    """Results that are an operand and a literal."""
    return j, i, 3


def _read(x, i):
    return lax.dynamic_slice(x, (i,), (1,))


def test_a_function_called_twice_has_values_of_its_own_each_time():
    found, _ = _found(lambda x, i: _read(x, _next(_next(i))), TABLE, np.int32(6))
    assert found == [((8,), "")]


def test_results_that_are_operands_or_literals():
    def swapped(x, i):
        j, k, three = _both(i, i + 4)
        return _read(x, j + three) + _read(x, k)

    found, _ = _found(swapped, TABLE, np.int32(1))
    assert found == [((8,), "")]
    assert _found(swapped, TABLE, np.int32(0))[0] == []


def test_a_function_called_in_a_loop():
    def counted(x, n):
        return lax.fori_loop(0, n, lambda k, s: s + _read(x, _next(k))[0], 0.0)

    assert _found(counted, TABLE, np.int32(7))[0] == []
    assert _found(counted, TABLE, np.int32(9))[0] == [((8,), "iteration 7")]


def test_the_branch_is_told():
    def chosen(x, i):
        return lax.cond(i > 3, lambda i: _read(x, _next(i)), lambda i: _read(x, i), i)

    assert _found(chosen, TABLE, np.int32(7))[0] == [((8,), "branch 1")]


def test_lanes_that_are_done_keep_what_they_have():
    def lanes(x, n):
        return jax.vmap(lambda m: _read(x, lax.while_loop(lambda k: k < m, lambda k: k + 3, 0)))(n)

    assert _found(lanes, TABLE, np.array([1, 7], np.int32))[0] == [((9,), "")]


def test_constants_of_a_called_function():
    table = jnp.array([2, 5, 8])
    inner = jax.jit(lambda i: table[i % 3])
    found, _ = _found(lambda x, i: _read(x, inner(i)), TABLE, np.int32(2))
    assert found == [((8,), "")]


def test_an_index_that_cannot_be_computed_is_not_judged():
    def solved(x, t):
        return _read(x, jnp.linalg.det(t).astype(np.int32))

    found, replay = _found(solved, TABLE, np.eye(5, dtype=np.float32))
    assert found == []
    assert replay.unjudged
    assert not replay.judged


def test_a_random_index_is_the_one_that_jax_draws():
    def drawn(x, seed):
        return _read(x, jax.random.randint(jax.random.key(seed), (), 0, 30))

    found, _ = _found(drawn, TABLE, np.uint32(3))
    index = int(jax.random.randint(jax.random.key(3), (), 0, 30))
    assert index >= len(TABLE)
    assert [at for at, _ in found] == [(index,)]


def test_a_replay_that_pays_from_another_purse():
    found, replay = _found(lambda x, i: _read(x, _next(i)), TABLE, np.int32(7))
    assert len(found) == 1
    purse = Purse(100, compiles=False)
    replay.spends(purse)
    assert replay.attempt([TABLE, np.int32(3)]) == {}
    assert 90 < purse.left < 100


@pytest.mark.parametrize("left, finds", [(40, True), (3, False)])
def test_no_more_than_the_purse_holds(left, finds):
    found, _ = _found(
        lambda x, n: lax.fori_loop(0, n, lambda k, s: s + _read(x, k)[0], 0.0),
        TABLE,
        np.int32(9),
        purse=Purse(left * 4, compiles=False),
    )
    assert bool(found) is finds
