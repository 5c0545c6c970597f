"""Every compile comes by, with the program's name and arguments, whatever way it is asked for."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from redzone.frontend import compat, intercept
from redzone.frontend.intercept import Program
from redzone.frontend.unwatched import is_unwatched, unwatched

Seen = Callable[[str], list[Program]]


@pytest.fixture
def seen() -> Iterator[Seen]:
    programs: list[Program] = []
    watcher = programs.append
    intercept.watch(watcher)
    yield lambda name: [p for p in programs if p.name == name]
    intercept.unwatch(watcher)


X = np.arange(8, dtype=np.float32)


def _arguments(program: Program) -> list[str]:
    return [source.name for source in program.traced().inputs]


def test_a_jitted_function(seen: Seen) -> None:
    @jax.jit
    def pick(table: Any, i: Any) -> Any:
        return table["a"][i]

    pick({"a": X}, 3)
    (program,) = seen("pick")
    assert program.module == "jit(pick)"
    assert program.origin.file == __file__
    assert not program.is_operation
    assert _arguments(program) == ["table['a']", "i"]
    assert program.traced().inputs[1].origin == "i: argument of pick"
    pick({"a": X}, 5)
    assert len(seen("pick")) == 1, "a compiled program is not compiled again"
    pick({"a": X[:4]}, 3)
    assert [p.shapes[0] for p in seen("pick")] == ["float32[8]", "float32[4]"]


def test_static_donated_keyword_and_unused_arguments(seen: Seen) -> None:
    @functools.partial(jax.jit, static_argnums=1, static_argnames=("flag",), donate_argnums=0)
    def step(state: Any, n: int, unused: Any, *, k: Any, flag: bool = False) -> Any:
        return state.at[k + n].set(1.0)

    step(jnp.asarray(X), 2, jnp.zeros(3), k=jnp.int32(1), flag=True)
    (program,) = seen("step")
    assert _arguments(program) == ["state", "k"]


def test_aot(seen: Seen) -> None:
    def ahead(x: Any, i: Any) -> Any:
        return x[i]

    lowered = jax.jit(ahead).lower(jax.ShapeDtypeStruct((3,), "float32"), jax.ShapeDtypeStruct((), "int32"))
    assert len(seen("ahead")) == 1
    lowered.compile()
    assert len(seen("ahead")) == 1


def test_export_with_symbolic_shapes(seen: Seen) -> None:
    def any_size(x: Any, i: Any) -> Any:
        return x[i]

    (n,) = export.symbolic_shape("n")
    export.export(jax.jit(any_size))(jax.ShapeDtypeStruct((n,), "float32"), jax.ShapeDtypeStruct((), "int32"))
    (program,) = seen("any_size")
    assert program.shapes[0] == "float32[n]"


def test_one_operation_outside_of_jit(seen: Seen) -> None:
    jax.lax.dynamic_slice(jnp.arange(23.0), (jnp.int32(1),), (2,))
    (program,) = seen("dynamic_slice")
    assert program.is_operation


def test_a_nested_jit_is_part_of_its_caller(seen: Seen) -> None:
    @jax.jit
    def inner(x: Any) -> Any:
        return x[2]

    @jax.jit
    def outer(x: Any) -> Any:
        return inner(x) + 1

    outer(X)
    assert len(seen("outer")) == 1 and not seen("inner")


def test_a_function_without_a_name(seen: Seen) -> None:
    class Model:
        def __call__(self, x: Any) -> Any:
            return x[1]

    jax.jit(functools.partial(lambda x, i: x[i], i=2))(X)
    jax.jit(Model())(X)
    jax.jit(lambda *args: args[0][args[1]])(X, 1)
    # JAX names the first two as it likes; the arguments are named in any case.
    programs = [p for name in ("<lambda>", "Model", "__call__", "<unnamed wrapped function>") for p in seen(name)]
    assert all(_arguments(p) for p in programs)
    assert _arguments(seen("<lambda>")[-1]) == ["args[0]", "args[1]"]


def test_another_thread(seen: Seen) -> None:
    def elsewhere(x: Any) -> Any:
        return x[3]

    thread = threading.Thread(target=lambda: jax.jit(elsewhere)(X))
    thread.start()
    thread.join()
    assert len(seen("elsewhere")) == 1


def test_what_redzone_compiles_itself_is_passed_on_unseen(seen: Seen) -> None:
    def own(x: Any) -> Any:
        return x[3]

    with unwatched():
        with unwatched():
            pass
        assert is_unwatched()
        jax.jit(own)(X)
    assert not is_unwatched()
    assert not seen("own")


def test_a_watcher_that_raises_stops_the_compile_each_time() -> None:
    def stopped(x: Any) -> Any:
        return x[3]

    def stop(program: Program) -> None:
        if program.name == "stopped":
            raise RuntimeError("not this one")

    fn = jax.jit(stopped)
    intercept.watch(stop)
    try:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="not this one"):
                fn(X)
    finally:
        intercept.unwatch(stop)
    assert fn(X) == 3


def test_jax_is_left_as_it_was() -> None:
    from jax._src.interpreters import mlir

    before = mlir.lower_jaxpr_to_module
    watcher, other = (lambda _: None), (lambda _: None)
    intercept.watch(watcher)
    assert mlir.lower_jaxpr_to_module is not before
    intercept.watch(other)
    intercept.unwatch(watcher)
    assert mlir.lower_jaxpr_to_module is not before
    intercept.unwatch(other)
    intercept.unwatch(other)
    assert mlir.lower_jaxpr_to_module is before


def test_somebody_elses_wrapper_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src.interpreters import mlir

    before = mlir.lower_jaxpr_to_module
    programs: list[Program] = []
    watcher = programs.append
    intercept.watch(watcher)
    ours = mlir.lower_jaxpr_to_module
    theirs = lambda *args, **kwargs: ours(*args, **kwargs)  # noqa: E731
    monkeypatch.setattr(mlir, "lower_jaxpr_to_module", theirs)
    intercept.unwatch(watcher)
    assert mlir.lower_jaxpr_to_module is theirs
    jax.jit(lambda x: x[2] + 4)(X)
    assert not programs
    monkeypatch.undo()
    mlir.lower_jaxpr_to_module = before


def test_a_jax_that_compiles_in_another_way_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src.interpreters import mlir

    jnp.zeros(3)  # the devices are known
    intercept._self_test.cache_clear()
    monkeypatch.setattr(compat, "wrap_lowering", lambda wrapped: lambda: None)
    with pytest.raises(compat.JaxMoved, match=r"redzone does not know this JAX .*no longer passes mlir.*0.10 to 0.12"):
        intercept.watch(lambda _: None)
    monkeypatch.undo()
    monkeypatch.delattr(mlir, "lower_jaxpr_to_module")
    with pytest.raises(compat.JaxMoved, match=r"mlir.lower_jaxpr_to_module is gone"):
        intercept.watch(lambda _: None)
    monkeypatch.undo()
    watcher = lambda _: None  # noqa: E731
    intercept.watch(watcher)
    intercept.unwatch(watcher)


def test_watching_leaves_the_choice_of_devices_to_the_program() -> None:
    program = (
        "import jax\n"
        "from redzone.frontend import intercept\n"
        "seen = []\n"
        "intercept.watch(seen.append)\n"
        "jax.config.update('jax_num_cpu_devices', 2)\n"
        "jax.jit(lambda x: x[1])(jax.numpy.arange(3))\n"
        "print(len(jax.devices()), bool(seen))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "2 True\n"
