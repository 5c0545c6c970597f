"""redzone.jit: jax.jit that raises before, or one call after, an access leaves its array."""

from __future__ import annotations

import functools
import gc
import threading
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import redzone
from redzone.runtime import jit as jit_module
from redzone.runtime import pending
from redzone.runtime.jit import Unguarded
from redzone.runtime.prepared import Prepared
from tests.runtime.programs import (
    BAD,
    GOOD,
    X,
    branched,
    followed_in_test,
    picked,
    rematerialised,
    scanned,
    walked,
    with_own_derivative,
    with_own_gradient,
)


@pytest.fixture(autouse=True)
def nothing_left_over() -> Any:
    yield
    pending.wait()


def raises(function: Any, *args: Any, match: str | None = None, **kwargs: Any) -> redzone.OutOfBounds:
    with pytest.raises(redzone.OutOfBounds, match=match) as caught:
        function(*args, **kwargs)
        redzone.wait()
    return caught.value


class TestVerdicts:
    def test_unsafe_raises_before_anything_runs(self) -> None:
        ran = []

        @redzone.jit
        def f(x: Any) -> Any:
            jax.debug.callback(lambda: ran.append(1))
            return x[jnp.arange(11)]

        error = raises(f, X, match=r"f leaves an array\nunsafe\[RZ101\]")
        assert error.access is not None and error.access.verdict == "unsafe"
        jax.effects_barrier()
        assert not ran

    def test_safe_programs_carry_nothing(self) -> None:
        f = redzone.jit(lambda x: x[jnp.arange(3)])
        assert np.array_equal(f(X), [0, 1, 2])
        assert f._compiled(X)[1] is None

    def test_a_condition_names_argument_element_value_and_access(self) -> None:
        error = raises(redzone.jit(picked), X, BAD, match=r"picked: i\[1\] is 20, which breaks -10 ≤ i ≤ 9")
        assert "reads index 20 of dimension 0, which has 10 elements" in str(error)
        assert "programs.py" in str(error) and "return jnp.sin(x[i]).sum()" in str(error)
        assert error.report is not None and error.access is error.report.accesses[0]

    def test_a_condition_on_part_of_an_input(self) -> None:
        f = redzone.jit(lambda x, p: x[p[:, 1]])
        f(X, jnp.array([[99, 1], [99, 2]]))
        raises(f, X, jnp.array([[0, 1], [0, 12]]), match=r"p\[1, 1\] is 12, which breaks")

    def test_suppressed_accesses_are_left_alone(self) -> None:
        f = redzone.jit(lambda x, i: x[i])  # redzone: ignore
        f(X, BAD)
        redzone.wait()

    def test_declared_modes_are_left_alone(self) -> None:
        f = redzone.jit(lambda x, i: x.at[i].get(mode="fill", fill_value=0) + x.at[i].get(mode="clip"))
        f(X, BAD)
        redzone.wait()

    def test_a_condition_that_is_not_needed_raises_nothing(self) -> None:
        f = redzone.jit(lambda x, i, use: jnp.where(use, 0.0, x[jnp.where(i > 3, 0, i)]))
        for i in (2, 9, 50, 3):
            f(X, i, False)
        redzone.wait()
        raises(f, X, -40, False)

    @pytest.mark.parametrize("function", [walked, followed_in_test])
    def test_contents_of_arrays(self, function: Any) -> None:
        f = redzone.jit(function)
        assert f(jnp.array([1, 0, 1, 0]), 2) == jax.jit(function)(jnp.array([1, 0, 1, 0]), 2)
        raises(f, jnp.array([1, 9, 1, 0]), 20)


IN_PLACE = [
    pytest.param(lambda x, i: scanned(x, i)[0], id="scan"),
    pytest.param(lambda x, i: branched(x, i, x[0] == 0.0), id="cond"),
    pytest.param(with_own_gradient, id="custom_vjp"),
    pytest.param(with_own_derivative, id="custom_jvp"),
    pytest.param(rematerialised, id="remat"),
    pytest.param(lambda x, i: jax.jit(lambda x, i: x[i * i // 2])(x, i), id="jit"),
    pytest.param(jax.grad(rematerialised), id="gradient of remat"),
    pytest.param(jax.vmap(lambda x, i: x.at[i * i // 2].set(1.0), (None, 0)), id="vmapped scatter"),
    pytest.param(
        jax.vmap(lambda x, i: jax.lax.cond(i > 0, lambda: x[i * i // 2], lambda: x[0]), (None, 0)), id="vmapped cond"
    ),
    pytest.param(
        jax.vmap(
            lambda x, i: jax.lax.while_loop(lambda c: c < i, lambda c: c + 1 + x[c * i // 2].astype(int) * 0, 0),
            (None, 0),
        ),
        id="vmapped while",
    ),
    pytest.param(lambda x, i: jax.lax.map(lambda k: x[k * k // 2], i), id="map"),
    pytest.param(lambda x, i: jax.lax.dynamic_slice(x, (i[0] * i[0] // 2,), (3,)), id="dynamic_slice"),
    pytest.param(lambda x, i: jax.lax.dynamic_update_slice(x, jnp.ones(3), (i[1] * i[1] // 2,)), id="update"),
]


class TestInPlace:
    @pytest.mark.parametrize("function", IN_PLACE)
    def test_results_are_the_same_to_the_bit_and_errors_are_found(self, function: Any) -> None:
        f = redzone.jit(function)
        plain = jax.jit(function)(X, GOOD)
        for one, other in zip(jax.tree.leaves(f(X, GOOD)), jax.tree.leaves(plain), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
        plan = f._programs[0].planned(f.reports[0], exactly=True)
        assert plan.accesses or plan.promises, "nothing is checked in place here"
        raises(f, X, jnp.array([6, 6]))

    @pytest.mark.parametrize("function", IN_PLACE)
    def test_when_every_condition_is_checked_at_its_access(self, function: Any) -> None:
        guarded = redzone.guard(function)
        error, result = jax.jit(guarded)(X, GOOD)
        error.throw()
        for one, other in zip(jax.tree.leaves(result), jax.tree.leaves(jax.jit(function)(X, GOOD)), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
        assert jax.jit(guarded)(X, jnp.array([6, 6]))[0].get() is not None

    def test_the_branch_not_taken_is_not_looked_at(self) -> None:
        f = redzone.jit(branched)
        f(X, jnp.array([6]), False)
        redzone.wait()
        raises(f, X, jnp.array([6]), True)

    def test_narrow_and_unsigned_indices(self) -> None:
        for dtype in ("int8", "uint8", "uint16", "uint32"):
            f = redzone.jit(lambda x, i: x[i * i // 2])
            f(X, jnp.array([3], dtype))
            redzone.wait()
            raises(f, X, jnp.array([6], dtype))

    def test_wide_indices_beyond_32_bits(self) -> None:
        with jax.enable_x64(True):
            f = redzone.jit(lambda x, i: jax.lax.dynamic_slice(x, (i * i // 2,), (3,)))
            f(X, jnp.int64(3))
            redzone.wait()
            raises(f, X, jnp.int64(2**20))


class TestWhen:
    def test_at_the_next_guarded_call(self) -> None:
        f = redzone.jit(lambda x, i: x[i * i // 2])
        f(X, jnp.array([6]))
        with pytest.raises(redzone.OutOfBounds):
            f(X, jnp.array([1]))

    def test_at_the_next_call_of_another_function(self) -> None:
        f, g = redzone.jit(lambda x, i: x[i * i // 2]), redzone.jit(lambda x, i: x[i * i // 2] + 1)
        f(X, jnp.array([6]))
        with pytest.raises(redzone.OutOfBounds):
            g(X, jnp.array([1]))

    def test_at_the_call_when_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REDZONE_SYNC", "1")
        with pytest.raises(redzone.OutOfBounds):
            redzone.jit(lambda x, i: x[i * i // 2])(X, jnp.array([6]))

    def test_wait_raises_once(self) -> None:
        redzone.jit(lambda x, i: x[i * i // 2])(X, jnp.array([6]))
        with pytest.raises(redzone.OutOfBounds):
            redzone.wait()
        redzone.wait()

    def test_at_exit(self, tmp_path: Any) -> None:
        import subprocess
        import sys

        script = tmp_path / "script.py"
        script.write_text(
            "import jax.numpy as jnp, redzone\n"
            "f = redzone.jit(lambda x, i: x[i * i // 2])\n"
            "f(jnp.arange(10.0), jnp.array([6]))\n"
        )
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
        assert "redzone: found at exit" in done.stderr and "reads index 18" in done.stderr

    def test_each_thread_gets_its_own(self) -> None:
        f = redzone.jit(lambda x, i: x[i * i // 2])
        found: list[int] = []

        def work(i: Any, which: int) -> None:
            try:
                for _ in range(5):
                    f(X, i)
                redzone.wait()
            except redzone.OutOfBounds:
                found.append(which)

        f(X, jnp.array([1]))
        bad = threading.Thread(target=work, args=(jnp.array([6]), 1))
        bad.start()
        bad.join()
        assert found == [1]

    def test_inputs_that_are_not_computed_yet(self) -> None:
        f = redzone.jit(picked)
        slow = jax.jit(lambda x: jax.lax.fori_loop(0, 300, lambda _, m: jnp.tanh(m @ m), x)[0, 0] > 2)
        flag = slow(jnp.ones((300, 300)))
        raises(f, X, jnp.where(flag, GOOD, BAD))


class TestAsJit:
    def test_options(self) -> None:
        f = redzone.jit(lambda x, n, i: x[i] * n, static_argnums=1)
        f(X, 3, GOOD)
        raises(f, X, 3, BAD)
        g = redzone.jit(lambda x, i, *, flag: x[i] if flag else x[0], static_argnames="flag")
        g(X, i=BAD, flag=False)
        redzone.wait()
        raises(g, X, i=BAD, flag=True)

    def test_donation(self) -> None:
        f = redzone.jit(lambda state, i: (state.at[i].add(1.0), i), donate_argnums=0)
        state = jnp.zeros(10)
        f(state, GOOD)
        assert state.is_deleted()
        raises(f, jnp.zeros(10), BAD)

    def test_a_donated_index(self) -> None:
        f = redzone.jit(lambda i, x: (i + 1, x[i]), donate_argnames="i")
        f(jnp.array([1]), X)
        redzone.wait()
        raises(f, jnp.array([30]), X, match="reads index 30")
        raises(f, i=jnp.array([30]), x=X)

    def test_decorator_and_methods(self) -> None:
        @redzone.jit
        def f(x: Any, i: Any) -> Any:
            """What it does."""
            return x[i]

        assert f.__name__ == "f" and f.__doc__ == "What it does."
        f(X, GOOD)

        class Model:
            @functools.partial(redzone.jit, static_argnums=0)
            def pick(self, i: Any) -> Any:
                return X[i]

        Model().pick(GOOD)
        raises(Model().pick, BAD)

        @redzone.jit(static_argnums=0)
        def first(n: int, x: Any) -> Any:
            return x[n]

        first(3, X)
        raises(first, 30, X)

    def test_pytrees_and_python_numbers(self) -> None:
        f = redzone.jit(lambda tree, i: {"out": tree["x"][i], "none": None})
        assert f({"x": X, "other": (1, 2.0)}, 3)["out"] == 3
        raises(f, {"x": X, "other": (1, 2.0)}, 30)

    def test_stages(self) -> None:
        f = redzone.jit(picked)
        traced = f.trace(X, GOOD)
        assert traced.out_info.shape == () and len(traced.jaxpr.eqns) == len(jax.make_jaxpr(picked)(X, GOOD).eqns)
        compiled = traced.lower().compile()
        assert compiled(X, GOOD) == jax.jit(picked)(X, GOOD)
        raises(compiled, X, BAD)
        assert "HloModule" in f.lower(X, GOOD).compile().as_text()
        assert f.eval_shape(X, GOOD).shape == ()
        f.clear_cache()
        f(X, GOOD)

    def test_export(self) -> None:
        with pytest.warns(Unguarded, match="exported without its checks"):
            exported = jax.export.export(redzone.jit(picked))(X, GOOD)
        assert exported.call(X, GOOD) == jax.jit(picked)(X, GOOD)
        with pytest.raises(redzone.OutOfBounds):
            jax.export.export(redzone.jit(lambda x: x[jnp.arange(11)]))(X)

    def test_disable_jit(self) -> None:
        f = redzone.jit(picked)
        with jax.disable_jit():
            assert f(X, GOOD) == picked(X, GOOD)
            raises(f, X, BAD)

    def test_no_function(self) -> None:
        with pytest.raises(TypeError, match="takes a function"):
            redzone.jit(3)

    def test_an_error_of_the_function_stays_its_own(self) -> None:
        def f(x: Any) -> Any:
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            redzone.jit(f)(X)

    def test_modes(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        redzone.jit(picked, mode="off")(X, BAD)
        redzone.jit(picked, mode="report")(X, BAD)
        redzone.wait()
        assert "i[1] is 20" in capsys.readouterr().err
        with pytest.raises(ValueError, match="report, raise or off"):
            redzone.jit(picked, mode="loud")
        monkeypatch.setenv("REDZONE", "off")
        redzone.jit(picked)(X, BAD)
        redzone.wait()

    def test_large_inputs_are_not_kept_alive(self) -> None:
        f = redzone.jit(lambda big, i: big[i])
        big = jnp.zeros(1 << 20)
        f(big, GOOD)
        import weakref

        alive = weakref.ref(big)
        del big
        gc.collect()
        assert alive() is None


class TestInsideOthers:
    def test_transformations(self) -> None:
        f = redzone.jit(picked)
        jax.grad(f)(X, GOOD)
        jax.vmap(f, (None, 0))(X, jnp.stack([GOOD, GOOD]))
        jax.jit(lambda x, i: f(x, i) * 2)(X, GOOD)
        redzone.wait()
        raises(jax.grad(f), X, BAD)
        raises(jax.vmap(f, (None, 0)), X, jnp.stack([GOOD, BAD]))
        raises(jax.jit(lambda x, i: f(x, i) * 2), X, BAD)
        raises(jax.jit(jax.grad(f)), X, BAD)

    def test_in_place_inside_transformations(self) -> None:
        f = redzone.jit(lambda x, i: x[i * i // 2].sum())
        jax.grad(f)(X, GOOD)
        redzone.wait()
        for one in (jax.grad(f), jax.jit(f)):
            raises(one, X, jnp.array([6, 6]))
        raises(jax.vmap(f, (None, 0)), X, jnp.array([[1], [6]]))

    def test_a_guarded_function_calls_another(self) -> None:
        inner = redzone.jit(picked)
        outer = redzone.jit(lambda x, i: inner(x, i) * 2)
        raises(outer, X, BAD)
        assert not inner.reports

    def test_own_derivatives_stay(self) -> None:
        f = redzone.jit(lambda x, i: with_own_gradient(x, i).sum())
        assert np.array_equal(jax.grad(f)(X, GOOD), np.full(10, 14.0))
        raises(jax.grad(f), X, jnp.array([6]))
        g = redzone.jit(lambda x, i: with_own_derivative(x, i).sum())
        assert np.array_equal(jax.jvp(lambda x: g(x, GOOD), (X,), (X,))[1], 6.0)

    def test_closed_over_values(self) -> None:
        def outer(y: Any, i: Any) -> Any:
            return redzone.jit(lambda k: y[k])(i) + redzone.jit(lambda: X[i])()

        jax.jit(outer)(X, GOOD)
        redzone.wait()
        raises(jax.jit(outer), X, BAD)


class TestBesideCheckingSessions:
    def test_a_session_sees_the_function_and_nothing_of_the_guards_own(self) -> None:
        f = redzone.jit(lambda x, i: x[i] + x[i * i // 2 * (i % 3)])
        with redzone.checking(mode="report", report=lambda _: None) as session:
            f(X, GOOD)
            raises(f, X, BAD)
        assert not session.errors
        assert all(not r.name.startswith("_look") for r in session.reports)


class TestContracts:
    def test_an_annotated_range_is_checked_on_entry(self) -> None:
        def f(x: Any, i: Annotated[jax.Array, redzone.Range(0, 9)]) -> Any:
            return x[i]

        g = redzone.jit(f)
        g(X, GOOD)
        assert g.reports[0].counts()["safe"] == 1
        raises(g, X, BAD, match=r"i\[1\] is 20, which breaks 0 ≤ i ≤ 9, what its contract promises")

    def test_an_assumption_is_held_to_its_word(self) -> None:
        def f(x: Any, i: Any) -> Any:
            return x[redzone.assume(i, min=0, max=9)]

        redzone.jit(f)(X, GOOD)
        redzone.wait()
        raises(redzone.jit(f), X, BAD, match=r"a redzone\.assume does not hold")

    def test_an_assumed_relation(self) -> None:
        def f(x: Any, start: Any, count: Any) -> Any:
            redzone.assume((start >= 0) & (count >= 0) & (start <= 10) & (count <= 10 - start))
            return jax.lax.fori_loop(0, count, lambda k, total: total + x[start + k], 0.0)

        redzone.jit(f)(X, 3, 7)
        redzone.wait()
        raises(redzone.jit(f), X, 3, 8, match="assume does not hold")


class TestOverlap:
    def test_a_slow_check_of_a_safe_program_runs_beside_the_compiler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        checked = slowed(monkeypatch)
        f = redzone.jit(lambda x: x[jnp.arange(3)])
        assert np.array_equal(f(X), [0, 1, 2])
        assert checked == ["done"] and np.array_equal(f(X), [0, 1, 2])

    def test_a_slow_check_of_an_unsafe_program_still_comes_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slowed(monkeypatch)
        raises(redzone.jit(lambda x: x[jnp.arange(11)]), X)

    def test_a_slow_check_that_asks_for_guards(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slowed(monkeypatch)
        f = redzone.jit(lambda x, i: x[i * i // 2])
        assert np.array_equal(f(X, GOOD), [0, 2])
        raises(f, X, jnp.array([6, 6]))
        compiled = redzone.jit(picked).lower(X, GOOD).compile()
        raises(compiled, X, BAD)


def slowed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Checks outlast their head start."""
    import time

    from redzone.runtime import prepared

    done: list[str] = []

    def slow(traced: Any) -> Any:
        time.sleep(0.2)
        report = prepared_check(traced)
        done.append("done")
        return report

    prepared_check = prepared.check_traced
    monkeypatch.setattr(prepared, "check_traced", slow)
    monkeypatch.setattr(prepared, "HEAD_START", 0.001)
    monkeypatch.setattr(prepared, "SHARE", 0.0)
    return done


class TestElsewhere:
    """As on a device with memory of its own: a program looks at the inputs, started after the one it is for."""

    @pytest.fixture(autouse=True)
    def elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pending, "is_on_host", lambda: False)
        monkeypatch.setattr(pending, "_has_host_memory", lambda: False)

    def test_conditions(self) -> None:
        f = redzone.jit(picked)
        assert f(X, GOOD) == jax.jit(picked)(X, GOOD)
        raises(f, X, BAD, match=r"picked: i\[1\] is 20, which breaks -10 ≤ i ≤ 9")
        f(X, BAD)
        with pytest.raises(redzone.OutOfBounds):
            f(X, GOOD)

    def test_the_first_result_does_not_wait_for_the_look(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import time

        from redzone.runtime.look import Look

        compile_look, release = Look._compile, threading.Event()

        def slow(self: Look, types: Any) -> None:
            release.wait(30)
            compile_look(self, types)

        monkeypatch.setattr(Look, "_compile", slow)
        f = redzone.jit(picked)
        started = time.monotonic()
        f(X, BAD)
        assert time.monotonic() - started < 25
        release.set()
        with pytest.raises(redzone.OutOfBounds, match=r"i\[1\] is 20"):
            redzone.wait()

    def test_both_kinds_of_checks(self) -> None:
        f = redzone.jit(lambda x, i, j: x[i] + x[j * j // 2 * (j % 3)])
        f(X, GOOD, GOOD)
        redzone.wait()
        raises(f, X, BAD, GOOD)
        raises(f, X, GOOD, jnp.array([5, 5]))

    def test_transformations_and_donation(self) -> None:
        f = redzone.jit(picked)
        raises(jax.grad(f), X, BAD)
        raises(jax.vmap(f, (None, 0)), X, jnp.stack([GOOD, BAD]))
        raises(jax.jit(f), X, BAD)
        g = redzone.jit(lambda i, x: (i + 1, x[i]), donate_argnums=0)
        raises(g, jnp.array([30]), X)

    def test_floats_bools_and_parts(self) -> None:
        def f(
            x: Any, i: Annotated[jax.Array, redzone.Range(0, 9)], y: Annotated[jax.Array, redzone.Range(-1.5, 2)]
        ) -> Any:
            return x[i] * y

        g = redzone.jit(f)
        g(X, GOOD, jnp.array([0.5, -1.5]))
        redzone.wait()
        raises(g, X, GOOD, jnp.array([0.5, -1.6]), match=r"y\[1\] is -1.6")


class TestFailures:
    def test_a_check_that_fails_leaves_the_program_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("redzone.runtime.prepared.check_traced", broken)
        with pytest.warns(Unguarded, match="could not check .*boom"):
            assert redzone.jit(picked)(X, GOOD) == jax.jit(picked)(X, GOOD)

    def test_a_guard_that_fails_leaves_the_program_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Prepared, "guarded", broken)
        with pytest.warns(Unguarded, match="could not guard .*boom"):
            assert redzone.jit(picked)(X, GOOD) == jax.jit(picked)(X, GOOD)

    def test_a_call_that_cannot_be_run_again_is_told_by_its_condition(self, monkeypatch: pytest.MonkeyPatch) -> None:
        f = redzone.jit(picked)
        f(X, GOOD)
        monkeypatch.setattr(f, "_confirmed", broken)
        raises(f, X, BAD, match=r"i\[1\] is 20, which breaks .*\n  for this read to stay inside its array")

    def test_what_cannot_be_guarded_is_told(self) -> None:
        def f(x: Any, i: Any) -> Any:
            return jax.lax.custom_linear_solve(lambda v: v * 2 + 0 * v[i * i // 2].sum(), x, lambda mv, b: mv(b))

        with pytest.warns(Unguarded, match="neither proved nor checked at run time: gather at .*in TestFailures"):
            jax.jit(redzone.guard(f))(X, GOOD)

    def test_the_module_exports_what_it_says(self) -> None:
        assert redzone.jit is jit_module.jit


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("boom")
