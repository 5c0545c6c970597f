"""Constraints on named dimensions, wherever a call is described."""

from __future__ import annotations

import jax
import pytest
from jax import lax
from jaxtyping import Array, Float

import redzone
from redzone.frontend.dimensions import scope_of
from redzone.frontend.jaxtyping_shapes import annotated_example
from redzone.frontend.spec_text import example_from_texts
from redzone.frontend.targets import targets_in

N = redzone.Spec(("n",), "float32")


def eight(x):
    return lax.dynamic_slice(x, (x.shape[0] - 8,), (8,))


def verdict(fn, *args, **kwargs):
    (access,) = redzone.check(fn, *args, **kwargs).accesses
    return str(access.verdict)


def test_named_dimensions_of_specs():
    report = redzone.check(lambda x, y: x + y[:-1], N, redzone.Spec(("n + 1",), "float32"))
    assert report.ok
    assert redzone.Spec("n", "float32").shape == ("n",)


def test_what_a_number_divides_can_be_split_by_it():
    def rows(x, i):
        return x.reshape(-1, 4)[i // 4, i % 4]

    i = redzone.Spec((), "int32", min=0)
    report = redzone.check(rows, N, i, dims=("mod(n, 4) == 0",))
    assert list(map(str, report.requires)) == ["i ≤ n - 1"]
    with pytest.raises(redzone.CannotCheck, match="mod"):
        redzone.check(rows, N, i, dims=("mod(n, 6) == 0",))


def test_only_a_single_remainder_is_taken_for_a_division():
    assert len(scope_of(("mod(n + m, 4) == 0",))._explicit_constraints) == 4
    assert len(scope_of(("mod(n, 3)*mod(m, 4) == 0",))._explicit_constraints) == 1


def test_a_constraint_decides():
    def f(x):
        return lax.dynamic_slice(x, (7,), (1,))

    assert verdict(f, N) != "safe"
    assert verdict(f, N, dims=("n >= 8",)) == "safe"
    assert verdict(f, N, dims="n >= 8") == "safe"
    assert verdict(f, N, dims=("n >= 7",)) != "safe"


def test_a_shape_needs_its_constraint():
    assert verdict(eight, N, dims=("n >= 8",)) == "safe"
    with pytest.raises(redzone.CannotCheck):
        redzone.check(eight, N)


def test_multiples():
    def f(x):
        return x.reshape(x.shape[0] // 4, 4)

    assert redzone.check(f, N, dims=("mod(n, 4) == 0",)).ok
    assert redzone.check(lambda x, y: x + y, N, redzone.Spec(("m",), "float32"), dims=("n == m",)).ok


def test_a_function_with_dims_of_its_own():
    def total(x, dims):
        assert dims == "0 1"
        return x.sum()

    assert redzone.check(total, redzone.Spec((2, 3), "float32"), dims="0 1").ok


def test_command_line():
    call = example_from_texts(["f32[n]"], ["n >= 8"])
    assert verdict(eight, *call.args) == "safe"


def test_jaxtyping():
    def f(x: Float[Array, "n"]):
        return eight(x)

    assert verdict(f, *annotated_example(f, ("n >= 8",)).args) == "safe"


MODULE = """
import redzone
from jax import lax
from jaxtyping import Array, Float

@redzone.example(dims=("n >= 8",))
def annotated(x: Float[Array, "n"]):
    return lax.dynamic_slice(x, (x.shape[0] - 8,), (8,))

@redzone.example(redzone.Spec(("n",), "float32"), dims=("n >= 8",))
def given(x):
    return lax.dynamic_slice(x, (x.shape[0] - 8,), (8,))

def bare(x: Float[Array, "n"]):
    return lax.dynamic_slice(x, (x.shape[0] - 8,), (8,))
"""


def test_examples_and_targets(tmp_path):
    file = tmp_path / "constrained.py"
    file.write_text(MODULE)
    for target in [t for t in targets_in(str(file)) if not t.name.endswith("bare")]:
        assert verdict(target.fn, *target.args, **target.kwargs) == "safe"
    (target,) = targets_in(f"{file}:bare", (), (), ("n >= 8",))
    assert verdict(target.fn, *target.args, **target.kwargs) == "safe"
    (target,) = targets_in(f"{file}:given", (), (), ("n <= 100",))
    assert target.kwargs["dims"] == ("n >= 8", "n <= 100")
    (failed,) = targets_in(str(file), (), (), ("n >= 8",))
    assert "--dim belongs to one function" in failed.reason


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        (("n > 8",), r"cannot read the constraint 'n > 8'.*write it as 'n >= 8'"),
        (("n >= ",), "cannot read the constraint"),
        ((3,), "cannot read the constraint 3"),
        (("m >= 8",), "'m >= 8' is about m, but no dimension is called that; there are n"),
        (("n >= 8", "n <= 4"), "leave n no size"),
    ],
)
def test_bad_constraints(dims, message):
    with pytest.raises(redzone.CannotCheck, match=message):
        redzone.check(lambda x: x, N, dims=dims)


def test_constraints_without_named_dimensions():
    with pytest.raises(redzone.CannotCheck, match="no argument has a named one"):
        redzone.check(lambda x: x, redzone.Spec((3,), "float32"), dims=("n >= 8",))
    (n,) = jax.export.symbolic_shape("n")
    with pytest.raises(redzone.CannotCheck, match=r"made elsewhere: give its constraints to jax\.export"):
        redzone.check(lambda x: x, redzone.Spec((n,), "float32"), dims=("n >= 8",))


def test_bad_names():
    with pytest.raises(redzone.CannotCheck, match=r"cannot read the dimension 'n \+' of a Spec"):
        redzone.check(lambda x: x, redzone.Spec(("n +",), "float32"))


def test_names_beside_symbols():
    (n,) = jax.export.symbolic_shape("n")
    assert redzone.check(lambda x, y: x + y, redzone.Spec((n,), "float32"), N).ok
