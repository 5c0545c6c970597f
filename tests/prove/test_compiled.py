"""A witness leaves the array in the compiled program, too, where floats lead to the index."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import redzone
from redzone.prove import witness

X = redzone.Spec((5,), "float32")
C = np.float32(1.1) * np.float32(1.1)


#: By name: an index, and what it is made from. What the compiler puts together decides whether it is 9 or 0.
INDICES = {
    "a product in a difference": (lambda a: jnp.where(a * a - C == 0, 9, 0), np.float32(1.1)),
    "the root of a square": (lambda a: jnp.where(jnp.sqrt(a * a) > 1e31, 9, 0), np.float32(1e30)),
}


def verdict(name):
    index, number = INDICES[name]
    given = redzone.Spec((), "float32", min=float(number), max=float(number))
    (access,) = redzone.check(lambda x, a: x[index(a)], X, given).accesses
    return str(access.verdict)


@pytest.mark.parametrize("name", INDICES)
def test_it_is_what_the_compiled_program_does(name):
    index, number = INDICES[name]
    assert verdict(name) == ("unknown" if int(jax.jit(index)(number)) == 0 else "unsafe")


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("name", INDICES)
def test_equation_by_equation_it_leaves(name, monkeypatch):
    monkeypatch.setattr(witness, "leaves_compiled", lambda *_: True)
    assert verdict(name) == "unsafe"


def test_an_access_in_a_function_that_is_called():
    def program(x, a):
        return jax.jit(lambda a: x[(a * 3.0 + 2.0).astype(int)])(a)

    (access,) = redzone.check(program, X, redzone.Spec((), "float32", min=0.0, max=3.0)).accesses
    assert access.verdict == "unsafe"
    assert access.witness.index == (11,)
