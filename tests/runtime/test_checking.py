"""`redzone.checking`: what a session sees, keeps and does about it."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import redzone
from redzone import api
from redzone.runtime.session import Session

X = np.arange(9, dtype=np.float32)


def _bad() -> Any:
    """A function compiled for the first time, with an access past the end."""

    def bad(x: Any) -> Any:
        return x[jnp.arange(3) + 7]

    return jax.jit(bad)


def _good() -> Any:
    def good(x: Any) -> Any:
        return x[jnp.arange(3)]

    return jax.jit(good)


def _names(session: Session) -> list[str]:
    return [report.name for report in session.reports]


@pytest.fixture(autouse=True)
def no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDZONE", raising=False)


class TestReport:
    def test_findings_are_kept_and_told_at_the_end(self, capsys: pytest.CaptureFixture[str]) -> None:
        with redzone.checking() as session:
            assert float(_bad()(X)[0]) == 7
            _good()(X)
        assert _names(session) == ["bad", "good"]
        (access,) = session.findings
        assert access.verdict == "unsafe" and access.location.file == __file__
        assert session.seconds > 0 and session.errors == () and not session.ok
        told = capsys.readouterr()
        assert told.out == ""
        assert "unsafe[RZ101]: reads index 9 of dimension 0, which has 9 elements" in told.err
        assert "test_checking.py" in told.err and "1 unsafe; checking took" in told.err

    def test_nothing_is_said_where_nothing_was_compiled(self, capsys: pytest.CaptureFixture[str]) -> None:
        with redzone.checking() as session:
            pass
        assert session.ok and capsys.readouterr().err == ""

    def test_a_function_of_ones_own_is_told_instead(self, capsys: pytest.CaptureFixture[str]) -> None:
        told: list[Session] = []
        with redzone.checking(report=told.append) as session:
            _bad()(X)
        assert told == [session] and capsys.readouterr().err == ""

    def test_nothing_is_checked_afterwards(self) -> None:
        with redzone.checking() as session:
            pass
        _bad()(X)
        assert session.reports == () and session.programs == 0

    def test_comments_silence(self) -> None:
        def silenced(x: Any) -> Any:
            return x[jnp.arange(3) + 7]  # redzone: ignore[RZ101]

        with redzone.checking("raise") as session:
            jax.jit(silenced)(X)
        assert session.ok and _names(session) == ["silenced"]

    def test_an_exception_of_the_body_passes(self) -> None:
        with pytest.raises(ZeroDivisionError), redzone.checking() as session:
            _bad()(X)
            raise ZeroDivisionError
        assert len(session.findings) == 1


class TestRaise:
    def test_an_unsafe_program_raises_before_it_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        ran: list[int] = []

        def bad(x: Any) -> Any:
            jax.debug.callback(lambda: ran.append(1))
            return x[jnp.arange(3) + 7]

        with redzone.checking("raise") as session:
            for _ in range(2):  # it stays forbidden
                with pytest.raises(redzone.OutOfBounds, match=r"(?s)bad leaves an array.*witness.*fix") as error:
                    jax.jit(bad)(X)
        jax.effects_barrier()
        assert not ran
        assert error.value.report is session.reports[0]
        assert error.value.access is session.findings[0]
        assert len(session.reports) == 1

    def test_what_cannot_be_shown_does_not_raise(self) -> None:
        def unknown(x: Any, i: Any) -> Any:
            return x[jnp.sum(x[i] * jnp.cos(x)).astype("int32")]

        with redzone.checking("raise") as session:
            jax.jit(unknown)(X, 3)
        assert [a.verdict for a in session.findings] == ["unknown"]

    def test_the_finding_is_not_told_twice(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(redzone.OutOfBounds), redzone.checking("raise"):
            _bad()(X)
        said = capsys.readouterr().err
        assert "RZ101" not in said and "1 unsafe" in said


class TestOff:
    def test_off_is_off(self, capsys: pytest.CaptureFixture[str]) -> None:
        with redzone.checking("off") as session:
            _bad()(X)
        assert session.reports == () and capsys.readouterr().err == ""

    def test_an_inner_off_hides_from_the_outer(self) -> None:
        with redzone.checking() as session:
            with redzone.checking("off"):
                _bad()(X)
            _good()(X)
        assert _names(session) == ["good"]

    def test_the_environment_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REDZONE", "off")
        with redzone.checking("raise") as session:
            _bad()(X)
        assert session.mode is redzone.Mode.OFF
        monkeypatch.setenv("REDZONE", "raise")
        with pytest.raises(redzone.OutOfBounds), redzone.checking("off"):
            _bad()(X)

    def test_wrong_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ValueError, match=r"mode: 'strict' is no mode of redzone; use report, raise or off"):
            redzone.checking("strict")
        with pytest.raises(TypeError, match=r"report must be a function that takes the session"):
            redzone.checking(report="x")  # type: ignore[arg-type]
        monkeypatch.setenv("REDZONE", "on")
        with pytest.raises(ValueError, match=r"environment variable REDZONE: 'on' is no mode"):
            redzone.checking()


class TestNested:
    def test_both_keep_what_the_inner_sees(self) -> None:
        with redzone.checking() as outer:
            _good()(X)
            with redzone.checking() as inner:
                _bad()(X)
        assert _names(outer) == ["good", "bad"] and _names(inner) == ["bad"]

    def test_the_inner_mode_decides(self) -> None:
        with redzone.checking("raise") as outer, redzone.checking("report"):
            _bad()(X)
        assert len(outer.findings) == 1
        with redzone.checking("report") as outer, pytest.raises(redzone.OutOfBounds), redzone.checking("raise"):
            _bad()(X)
        assert len(outer.findings) == 1

    def test_one_manager_may_be_used_again_and_inside_itself(self) -> None:
        manager = redzone.checking()
        with manager as first:
            with manager as second:
                _bad()(X)
            _good()(X)
        with manager as third:
            pass
        assert _names(first) == ["bad", "good"] and _names(second) == ["bad"] and third.ok


class TestDecorator:
    def test_of_a_function(self) -> None:
        told: list[Session] = []

        @redzone.checking(report=told.append)
        def work(n: int, *, k: int) -> int:
            """Works."""
            _bad()(X)
            return n + k

        assert work(1, k=2) == 3 and work(2, k=2) == 4
        assert work.__name__ == "work" and work.__doc__ == "Works."
        assert [len(s.findings) for s in told] == [1, 1]

    def test_without_parentheses(self, capsys: pytest.CaptureFixture[str]) -> None:
        @redzone.checking
        def work() -> int:
            _bad()(X)
            return 5

        assert work() == 5
        assert "RZ101" in capsys.readouterr().err

    def test_in_raise_mode(self) -> None:
        @redzone.checking("raise")
        def work() -> None:
            _bad()(X)

        with pytest.raises(redzone.OutOfBounds):
            work()

    def test_of_a_coroutine(self) -> None:
        told: list[Session] = []

        @redzone.checking(report=told.append)
        async def work() -> int:
            await asyncio.sleep(0)
            _bad()(X)
            return 7

        assert asyncio.run(work()) == 7
        assert [len(s.findings) for s in told] == [1]

    def test_of_a_generator(self) -> None:
        told: list[Session] = []

        @redzone.checking(report=told.append)
        def work(n: int) -> Generator[int, int, str]:
            got = yield n
            _bad()(X)
            try:
                yield got
            except KeyError:
                yield -1
            return "done"

        with redzone.checking(report=lambda s: None) as outside:
            steps = work(1)
            assert next(steps) == 1
            _good()(X)  # while it waits, it does not look
            assert steps.send(5) == 5
            assert steps.throw(KeyError()) == -1
            with pytest.raises(StopIteration, match="done"):
                next(steps)
        assert [_names(s) for s in told] == [["bad"]]
        assert _names(outside) == ["good", "bad"]

    def test_a_generator_given_up(self) -> None:
        told: list[Session] = []
        closed: list[int] = []

        @redzone.checking(report=told.append)
        def work() -> Generator[int, None, None]:
            try:
                yield 1
            finally:
                closed.append(1)

        steps = work()
        next(steps)
        steps.close()
        assert closed == [1] and len(told) == 1

    def test_what_it_cannot_decorate(self) -> None:
        async def work() -> Any:
            yield 1

        with pytest.raises(TypeError, match=r"work, which is an async generator: write `with redzone.checking\(\):`"):
            redzone.checking()(work)
        with pytest.raises(TypeError, match=r"decorates functions, not <class 'int'>"):
            redzone.checking()(int)


class TestThreads:
    def test_threads_started_inside_are_checked(self) -> None:
        with redzone.checking() as session:
            thread = threading.Thread(target=lambda: _bad()(X))
            thread.start()
            thread.join()
        assert _names(session) == ["bad"]

    def test_in_raise_mode_the_thread_gets_the_error(self) -> None:
        with redzone.checking("raise"), ThreadPoolExecutor(1) as pool:
            future = pool.submit(lambda: _bad()(X))
            with pytest.raises(redzone.OutOfBounds):
                future.result()

    def test_an_inner_off_covers_threads(self) -> None:
        with redzone.checking() as session, redzone.checking("off"), ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: _bad()(X)).result()
        assert session.reports == ()

    def test_sessions_of_two_threads_do_not_mix(self) -> None:
        found: dict[str, list[str]] = {}
        together = threading.Barrier(2)

        def work(name: str, fn: Any) -> None:
            with redzone.checking(report=lambda s: None) as session:
                together.wait()
                fn(X)
                together.wait()
            found[name] = _names(session)

        threads = [threading.Thread(target=work, args=args) for args in (("a", _bad()), ("b", _good()))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {"a": ["bad"], "b": ["good"]}

    def test_sessions_that_come_and_go_see_their_own(self) -> None:
        def work(n: int) -> list[list[str]]:
            seen = []
            for k in range(6):
                with redzone.checking(report=lambda s: None) as session:
                    jax.jit(lambda x: x[jnp.arange(3)])(jnp.zeros(100 * n + k + 3))
                seen.append(_names(session))
            return seen

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(work, range(6))) == [[["<lambda>"]] * 6] * 6

    def test_many_at_once(self) -> None:
        def work(n: int) -> None:
            def many(x: Any, i: Any) -> Any:
                return jax.lax.fori_loop(0, n + 2, lambda j, c: c + x[j] + x[i], 0.0)

            jax.jit(many)(jnp.zeros(n + 1), 0)

        with redzone.checking(report=lambda s: None) as session, ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(24)))
        assert session.errors == ()
        assert sorted(_names(session)) == ["many"] * 24
        assert all(len(r.findings) == 1 for r in session.reports)


class TestTwice:
    def test_an_equal_program_is_not_checked_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        checks: list[str] = []
        check = api.check_traced
        monkeypatch.setattr(api, "check_traced", lambda traced: (checks.append(traced.name), check(traced))[1])
        with redzone.checking() as session:
            fn = _bad()
            fn(X)
            jax.clear_caches()
            fn(X)
            _bad()(X)
        assert checks == ["bad"] and _names(session) == ["bad"]
        assert session.programs >= 3

    def test_another_program_of_the_same_function_is(self) -> None:
        def make(k: int) -> Any:
            def shifted(x: Any) -> Any:
                return x[jnp.arange(3) + k]

            return jax.jit(shifted)

        with redzone.checking() as session:
            make(6)(X)
            make(7)(X)
            make(7)(X[:8])
        assert [len(r.findings) for r in session.reports] == [0, 1, 1]


class TestFailures:
    def test_a_crash_inside_redzone_is_reported_and_the_compile_goes_on(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def crash(traced: Any) -> Any:
            raise RuntimeError("a bug in redzone\nsecond line")

        monkeypatch.setattr(api, "check_traced", crash)
        with redzone.checking("raise") as session:
            assert float(_bad()(X)[0]) == 7
        (failure,) = session.errors
        assert failure.name == "bad" and isinstance(failure.error, RuntimeError)
        assert not session.ok
        said = capsys.readouterr().err
        assert "redzone failed on bad: RuntimeError: a bug in redzone (it was compiled unchecked)" in said

    def test_a_jax_that_is_not_known_is_reported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from redzone.frontend import compat, intercept

        jnp.zeros(3)
        intercept._self_test.cache_clear()
        monkeypatch.setattr(compat, "wrap_lowering", lambda wrapped: lambda: None)
        with redzone.checking() as session:
            _bad()(X)
        assert "redzone does not know this JAX" in str(session.errors[0])

    def test_a_report_that_cannot_be_shown(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from redzone.runtime import checking

        monkeypatch.setattr(checking, "whole", lambda session: 1 / 0)
        with redzone.checking():
            _bad()(X)
        assert "what was found could not be shown: ZeroDivisionError" in capsys.readouterr().err


class TestOperations:
    """Outside of jit every operation is a program of its own, whose index is an argument."""

    def test_they_are_no_findings_and_have_no_report(self) -> None:
        x = jnp.arange(29.0)
        with redzone.checking("raise") as session:
            x[3], x[jnp.array([1, 40])], x.at[3].set(2.0), jnp.take(x, 3), x[jnp.int32(3)]
            jax.lax.dynamic_slice(x, (jnp.int32(30),), (2,))
        assert session.reports == () and session.programs > 3 and session.ok

    def test_a_foreign_program_is_none_of_them(self) -> None:
        def double(x: Any) -> Any:
            return x * 2

        exported = export.export(jax.jit(double))(jax.ShapeDtypeStruct((37,), "float32"))
        with redzone.checking() as session:
            exported.call(jnp.arange(37.0))
        assert [a.primitive for r in session.reports for a in r.accesses] == ["call_exported"]

    def test_under_disable_jit_there_is_nothing_else(self) -> None:
        with redzone.checking("raise") as session, jax.disable_jit():
            _bad()(jnp.arange(9.0))
        assert session.reports == () and session.errors == ()

    def test_a_loop_outside_of_jit_is_a_program(self) -> None:
        x = jnp.arange(31.0)
        with redzone.checking() as session:
            jax.lax.fori_loop(0, 3, lambda i, c: c + x[jnp.arange(3) + 30].sum(), 0.0)
        assert [a.verdict for a in session.findings] == ["unsafe"]

    def test_a_users_function_run_by_jax_has_a_report(self) -> None:
        with redzone.checking() as session:
            jax.pmap(lambda a, i: a[i])(jnp.ones((1, 3)), jnp.zeros((1,), "int32"))
        assert [r.counts()["requires"] for r in session.reports] == [1]

    def test_they_cost_next_to_nothing(self) -> None:
        with redzone.checking() as session:
            for n in range(20):
                jnp.zeros(300 + n) + 1.0
        assert session.programs >= 20
        assert session.seconds / session.programs < 2e-3


class TestKinds:
    """What can be compiled, is checked."""

    def test_static_donated_and_keyword_arguments(self) -> None:
        @functools.partial(jax.jit, static_argnums=1, donate_argnums=0)
        def step(state: Any, n: int, *, k: Any) -> Any:
            return state.at[jnp.clip(k, 0, n)].set(1.0)

        with redzone.checking() as session:
            step(jnp.zeros(5), 4, k=jnp.int32(1))
            step(jnp.zeros(5), 5, k=jnp.int32(1))
        assert [len(r.findings) for r in session.reports] == [0, 1]

    def test_aot_and_export(self) -> None:
        spec = jax.ShapeDtypeStruct((9,), "float32")
        with redzone.checking() as session:
            _bad().lower(spec).compile()
            export.export(_bad())(jax.ShapeDtypeStruct((8,), "float32"))
        assert [len(r.findings) for r in session.reports] == [1, 1]

    def test_symbolic_shapes(self) -> None:
        def last(x: Any) -> Any:
            return jax.lax.dynamic_slice(x, (x.shape[0] - 1,), (1,))

        def beyond(x: Any) -> Any:
            return jax.lax.dynamic_slice(x, (x.shape[0],), (1,))

        (n,) = export.symbolic_shape("n")
        with redzone.checking() as session:
            export.export(jax.jit(last))(jax.ShapeDtypeStruct((n,), "float32"))
            export.export(jax.jit(beyond))(jax.ShapeDtypeStruct((n,), "float32"))
        assert [r.counts()["safe"] for r in session.reports] == [1, 0]
        assert session.errors == () and len(session.findings) == 1

    def test_custom_vjp_and_gradients(self) -> None:
        @jax.custom_vjp
        def pick(x: Any) -> Any:
            return x[jnp.arange(3) + 7].sum()

        pick.defvjp(lambda x: (pick(x), x), lambda x, g: (jnp.zeros_like(x).at[jnp.arange(3)].add(g),))
        with redzone.checking() as session:
            jax.jit(jax.value_and_grad(pick))(X)
        assert [a.verdict for a in session.findings] == ["unsafe"]

    def test_shard_map(self) -> None:
        mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
        fn = jax.shard_map(
            lambda x: x[jnp.arange(3) + 7], mesh=mesh, in_specs=jax.P("d"), out_specs=jax.P("d"), check_vma=False
        )
        with redzone.checking() as session:
            jax.jit(fn)(X)
        assert [a.verdict for a in session.findings] == ["unsafe"]
        assert "device d=0" in str(session.findings[0].witness)

    def test_sharded_inputs_over_several_devices(self) -> None:
        program = """
            import jax, jax.numpy as jnp, redzone
            auto = (jax.sharding.AxisType.Auto,)
            mesh = jax.make_mesh((4,), ("d",), axis_types=auto)
            rows = jax.device_put(jnp.zeros((4, 8)), jax.NamedSharding(mesh, jax.P("d")))
            columns = lambda x, k: x[:, jnp.arange(2) + jnp.clip(k, 0, 6)]
            too_far = lambda x, k: x[:, jnp.arange(2) + jnp.clip(k, 0, 7)]
            with redzone.checking(report=lambda s: None) as session:
                jax.jit(columns)(rows, 3)
                jax.jit(too_far)(rows, 3)
                jax.jit(too_far)(jnp.zeros((4, 8)), 3)
                jax.pmap(lambda x, k: x[jnp.clip(k, 0, 3)])(jnp.zeros((4, 4)), jnp.zeros((4,), "int32"))
            print(len(jax.devices()), [len(r.findings) for r in session.reports], session.errors)
        """
        environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        assert done.stdout == "4 [0, 1, 1, 0] ()\n"

    def test_pallas_in_interpret_mode(self) -> None:
        from jax.experimental import pallas as pl

        def kernel(x_ref: Any, o_ref: Any) -> None:
            o_ref[...] = x_ref[...] * 2

        with redzone.checking() as session:
            pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8,), "float32"), interpret=True)(jnp.arange(8.0))
        assert session.errors == ()

    def test_callbacks_and_unhashable_things(self) -> None:
        def odd(x: Any, table: Any) -> Any:
            y = jax.pure_callback(lambda v: np.asarray(v), jax.ShapeDtypeStruct((9,), "float32"), x)
            return y[table["k"][0]]

        with redzone.checking() as session:
            jax.jit(odd)(X, {"k": [1, 2]})
        assert session.errors == () and _names(session) == ["odd"]

    def test_while_something_else_is_traced(self) -> None:
        @jax.jit
        def outer(x: Any) -> Any:
            _bad().lower(jax.ShapeDtypeStruct((9,), "float32"))
            return x + 1

        with redzone.checking() as session:
            jaxpr = jax.make_jaxpr(outer)(X)
        assert session.errors == () and [len(r.findings) for r in session.reports] == [1]
        assert len(jaxpr.eqns[0].params["jaxpr"].eqns) == 1, "the check leaves no equation behind"

    def test_under_settings_that_forbid_things(self) -> None:
        fn = _bad()
        x = jnp.asarray(X)
        with (
            redzone.checking() as session,
            jax.transfer_guard("disallow"),
            jax.debug_nans(True),
            jax.numpy_rank_promotion("raise"),
            jax.numpy_dtype_promotion("strict"),
        ):
            fn(x)
        assert session.errors == () and len(session.findings) == 1

    def test_a_check_inside_is_not_checked(self) -> None:
        def sums(x: Any, i: Any) -> Any:
            return x[jnp.cumsum(i)]

        jax.clear_caches()
        with redzone.checking() as session:
            report = redzone.check(sums, redzone.Spec((9,), "float32"), redzone.Spec((4,), "int32", min=0, max=8))
            assert report.accesses[0].witness is not None
        assert session.programs == 0


class TestMemory:
    def test_a_program_without_accesses_is_not_kept(self) -> None:
        def plain(table: Any) -> Any:
            return jax.jit(lambda x: x + table)

        table = jnp.arange(9.0)
        gone = weakref.ref(table)
        with redzone.checking() as session:
            plain(table)(X)
            del table
            jax.clear_caches()
            gc.collect()
            assert gone() is None
        assert session.programs == 1

    def test_a_session_may_let_reports_go(self) -> None:
        from redzone.runtime import watching

        def picking(table: Any) -> Any:
            def picks(x: Any) -> Any:
                return x[table]

            return jax.jit(picks)

        table = jnp.arange(3)
        gone = weakref.ref(table)
        told: list[str] = []
        session = Session(keeps=lambda report: not report.ok, noticed=lambda report: told.append(report.name))
        watching.open_session(session)
        picking(table)(X)
        _bad()(X)
        del table
        jax.clear_caches()
        gc.collect()
        watching.close_session(session)
        assert gone() is None
        assert _names(session) == ["bad"] and told == ["picks", "bad"]
        assert session.checked == 2 and session.accesses == 2
