"""jaxtyping annotations become specs, with one symbolic dimension for each name."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import Array
from jaxtyping import Bool, Float, Float32, Int, Key, PRNGKeyArray, PyTree, Shaped, UInt8

import redzone
from redzone.frontend.jaxtyping_shapes import annotated_example, says_shapes


def _shapes(fn: Any) -> list[str]:
    return [f"{jnp.dtype(s.dtype).name}{list(map(str, s.shape))}" for s in annotated_example(fn).args]


def test_names_are_symbols_and_numbers_are_sizes() -> None:
    def f(x: Float[Array, "batch 128"], i: Int[Array, "batch"], ok: Bool[Array, ""]) -> None: ...

    assert says_shapes(f)
    assert _shapes(f) == ["float32['batch', '128']", "int32['batch']", "bool[]"]
    x, i, _ = annotated_example(f).args
    assert x.shape[0] == i.shape[0]  # one scope: comparing symbols of two scopes raises


def test_expressions() -> None:
    def f(x: Float[Array, "n+1 2*n-1 n//2 m=4"]) -> None: ...

    assert _shapes(f) == ["float32['n + 1', '2*n - 1', 'floordiv(n, 2)', '4']"]


def test_an_anonymous_axis_is_a_size_of_its_own() -> None:
    def f(x: Float[Array, "_ _ _rows"]) -> None: ...

    (x,) = annotated_example(f).args
    assert len({str(size) for size in x.shape}) == 3


def test_dtypes() -> None:
    def f(a: UInt8[Array, "3"], b: Shaped[Array, "3"], c: Float32[Array, "3"]) -> None: ...

    assert _shapes(f) == ["uint8['3']", "float32['3']", "float32['3']"]


def test_keys() -> None:
    def f(key: PRNGKeyArray, keys: Key[Array, "n"]) -> None: ...

    key, keys = annotated_example(f).args
    assert key.shape == () and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    assert str(keys.shape[0]) == "n"


def test_defaults_are_left_to_the_function() -> None:
    def f(x: Float[Array, "n"], scale: float = 2.0, *, y: Int[Array, "n"], verbose: bool = False) -> None: ...

    call = annotated_example(f)
    assert len(call.args) == 1 and list(call.kwargs) == ["y"]


def test_optional_and_tuples() -> None:
    def f(pair: tuple[Float[Array, "n"], Int[Array, "n"]], mask: Bool[Array, "n"] | None = None) -> None: ...

    pair, mask = annotated_example(f).args
    assert isinstance(pair, tuple) and str(mask.shape[0]) == "n"


def test_jitted_functions() -> None:
    @jax.jit
    def f(x: Float[Array, "n"]) -> Float[Array, "n"]:
        return x

    assert says_shapes(f) and _shapes(f) == ["float32['n']"]


def test_functions_that_say_nothing() -> None:
    def f(x: Array, n: int = 3) -> Float[Array, "n"]: ...

    assert not says_shapes(f)
    assert not says_shapes(len)


@pytest.mark.parametrize(
    ("dims", "why"),
    [
        ("... 3", r"'\.\.\.' stands for any number of axes"),
        ("*batch 3", r"'\*batch' stands for any number of axes"),
        ("#n", r"'#n' may be broadcast"),
        ("{n} 3", r"'{n}' is only known when the function is called"),
        ("min(n,3)", r"'min\(n,3\)' is not an integer expression of names"),
        ("n**2", r"'n\*\*2' is not an integer expression"),
    ],
)
def test_what_one_shape_cannot_stand_for(dims: str, why: str) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = Float[Array, dims]
    with pytest.raises(redzone.CannotCheck, match=rf"parameter 'x', {why}.*@redzone\.example"):
        annotated_example(f)


def test_a_parameter_without_annotation() -> None:
    def f(x: Float[Array, "n"], k: int) -> None: ...

    with pytest.raises(redzone.CannotCheck, match=r"'k' has no jaxtyping annotation and no default"):
        annotated_example(f)


def test_a_pytree() -> None:
    def f(x: PyTree[Float[Array, "n"]]) -> None: ...

    assert says_shapes(f)
    with pytest.raises(redzone.CannotCheck, match=r"cannot tell the shapes of parameter 'x' from PyTree"):
        annotated_example(f)
