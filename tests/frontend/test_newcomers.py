"""What somebody tries who has not read the manual: each works, or says what to do."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import redzone

X = redzone.Spec((10,), "float32")
N = redzone.Spec((), "int32")


def _verdicts(fn: Any, *args: Any, **kwargs: Any) -> list[str]:
    return [str(access.verdict) for access in redzone.check(fn, *args, **kwargs).accesses]


@dataclasses.dataclass
class Plain:
    row: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Known:
    row: Annotated[jax.Array, redzone.Range(0, 9)]


class Pair(NamedTuple):
    row: Annotated[jax.Array, redzone.Range(0, 10)]
    column: jax.Array


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: redzone.Spec((3,), "int33"), TypeError, r"'int33' is no dtype; write it as numpy does"),
        (lambda: redzone.Spec((-3,), "int32"), ValueError, r"size -3; sizes are 0 or more"),
        (lambda: redzone.Spec((3,), "int32", min=object()), TypeError, r"min must be a number"),
        (lambda: redzone.Spec((3,), "int32", max=["a"]), TypeError, r"max must be a number"),
        (lambda: redzone.Spec((3,), "int32", min=5, max=2), ValueError, r"min=5 is above max=2"),
    ],
)
def test_a_spec_that_makes_no_sense(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_class_that_is_no_pytree_is_named() -> None:
    with pytest.raises(redzone.CannotCheck, match=r"p is a Plain, which is no pytree.*register_dataclass\(Plain"):
        redzone.check(lambda x, p: x[p.row], X, Plain(N))
    assert _verdicts(lambda x, p: x[p.row], X, Known(N)) == ["safe"]
    assert _verdicts(lambda x, p: x[p.row], X, Pair(N, N)) == ["unsafe"]


def test_a_class_without_arrays_is_passed_as_it_is() -> None:
    assert _verdicts(lambda x, p: x[jnp.arange(p.row)], X, Plain(11)) == ["unsafe"]


def test_static_arguments_of_jit_are_constants() -> None:
    by_place = jax.jit(lambda x, n: x[jnp.arange(n)], static_argnums=1)
    by_name = jax.jit(lambda x, n: x[jnp.arange(n)], static_argnames="n")
    assert _verdicts(by_place, X, 11) == _verdicts(by_name, X, n=11) == ["unsafe"]
    assert _verdicts(by_place, X, 10) == ["safe"]


def test_a_number_that_is_not_declared_static_varies() -> None:
    assert _verdicts(lambda x, i: x[i], X, 3) == ["requires"]


def test_what_is_returned_besides_arrays_does_not_matter() -> None:
    assert _verdicts(lambda x, i: {"name": "row", "row": x[i], "again": len}, X, N) == ["requires"]
    assert _verdicts(lambda x, i: None, X, N) == []


def test_a_condition_has_no_range() -> None:
    with pytest.raises(redzone.CannotCheck, match=r"a condition has no range; promise assume\(condition\)"):
        redzone.check(lambda x, i: x[redzone.assume(i > 0, min=0) + i], X, N)


@pytest.mark.parametrize(("size", "index"), [((0, 4), (0,)), ((10, 4), (0,)), ((10, 0), (3,))])
def test_arrays_without_elements(size: tuple[int, ...], index: tuple[int, ...]) -> None:
    given = redzone.Spec(size, "float32"), redzone.Spec(index, "int32", min=0, max=9)
    assert _verdicts(lambda x, i: x[i], *given) in (["safe"], [])


def test_a_function_of_nothing() -> None:
    report = redzone.check(lambda: jnp.arange(10)[jnp.arange(11)])
    (access,) = report.accesses
    assert access.verdict == "unsafe" and access.witness is not None
    assert str(access.witness) == "any input makes the index 10"
    assert access.witness.args == () and access.witness.kwargs == {}


class TestSizesAsBounds:
    ROWS = redzone.Spec(("n",), "float32")

    def test_the_last_place_of_a_named_dimension(self) -> None:
        index = redzone.Spec((4,), "int32", min=0, max="n-1")
        assert _verdicts(lambda x, i: x[i], self.ROWS, index) == ["safe"]

    def test_one_more(self) -> None:
        index = redzone.Spec((4,), "int32", min=0, max="n")
        assert _verdicts(lambda x, i: x[i], self.ROWS, index) != ["safe"]

    @pytest.mark.parametrize(
        ("bound", "words"), [("m-1", r"about a dimension nothing has; there are n"), ("n-", r"cannot read .* 'n-'")]
    )
    def test_what_cannot_be_understood(self, bound: str, words: str) -> None:
        with pytest.raises(redzone.CannotCheck, match=words):
            redzone.check(lambda x, i: x[i], self.ROWS, redzone.Spec((4,), "int32", max=bound))

    def test_without_a_named_dimension(self) -> None:
        with pytest.raises(redzone.CannotCheck, match=r"no argument has a named one"):
            redzone.check(lambda x, i: x[i], X, redzone.Spec((4,), "int32", max="n"))


def test_blocks_of_a_size_that_is_a_multiple() -> None:
    def total(x: Any) -> Any:
        block = lambda k, t: t + jax.lax.dynamic_slice(x, (k * 4,), (4,)).sum()  # noqa: E731
        return jax.lax.fori_loop(0, x.shape[0] // 4, block, np.float32(0))

    rows = redzone.Spec(("n",), "float32")
    assert _verdicts(total, rows, dims=("mod(n, 4) == 0", "n >= 4")) == ["safe"]
    # A size is never 0, and so a multiple of 4 is at least that; one of 3 may be less.
    assert _verdicts(total, rows, dims=("mod(n, 4) == 0",)) == ["safe"]
    with pytest.raises(redzone.CannotCheck, match=r"say more of it, as in dims=\('n >= 8',\)"):
        redzone.check(total, rows, dims=("mod(n, 3) == 0",))
