"""How long JAX itself takes for a program: tracing, lowering and compiling it.

Compiling cannot be interrupted, so it is done in a process of its own that can be ended:
`python -m redzone.explain.compiling` takes a lowered module on its input and prints the seconds.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from typing import Any

import jax
from jax.extend.core import jaxpr_as_fun

from redzone.frontend import compat
from redzone.frontend.trace import Traced


@dataclasses.dataclass(frozen=True, slots=True)
class JaxTime:
    """Seconds JAX needed; None where something was not measured, with the reason."""

    trace: float
    lower: float | None = None
    compile: float | None = None
    compile_limit: float | None = None
    """Compiling took longer than this, and was not waited for."""
    why_not: str = ""

    @property
    def seconds(self) -> float:
        """As much as was measured: at least this."""
        return self.trace + (self.lower or 0.0) + (self.compile or self.compile_limit or 0.0)

    @property
    def is_whole(self) -> bool:
        return self.lower is not None and self.compile is not None


def jax_time(traced: Traced, limit: float) -> JaxTime:
    """Lower the program here and compile it in another process, for `limit` seconds at most."""
    jaxpr, _ = compat.open_jaxpr(traced.jaxpr)
    avals = [v.aval for v in jaxpr.invars]
    if any(type(n) is not int for aval in avals for n in getattr(aval, "shape", ())):
        return JaxTime(traced.seconds, why_not="its sizes are symbolic, and JAX compiles it once for each size")
    try:
        shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
        # What JAX loads for the first lowering of a process is not this program's.
        jax.jit(lambda x: x + 1).lower(jax.ShapeDtypeStruct((), "float32"))
        staged = jax.jit(jaxpr_as_fun(traced.jaxpr)).trace(*shapes)
        started = time.perf_counter()
        lowered = staged.lower()
        lower = time.perf_counter() - started
    except Exception as error:
        return JaxTime(traced.seconds, why_not=f"JAX cannot lower it here: {_first_line(error)}")
    try:
        module = compat.module_bytes(lowered)
        seconds, why_not = _compiled(module, limit)
    except Exception as error:
        return JaxTime(traced.seconds, lower, why_not=f"it could not be compiled: {_first_line(error)}")
    late = why_not == "late"
    return JaxTime(traced.seconds, lower, seconds, limit if late else None, "" if late else why_not)


def _compiled(module: bytes, limit: float) -> tuple[float | None, str]:
    # A second process must not take the memory of a device that this one holds.
    env = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    if jax.default_backend() == "cpu":
        # The program was lowered for the CPU, whatever else a new process would find.
        env["JAX_PLATFORMS"] = "cpu"
    command = [sys.executable, "-c", "from redzone.explain.compiling import main; main()", str(limit)]
    try:
        done = subprocess.run(command, input=module, env=env, capture_output=True, timeout=limit + STARTING)
    except subprocess.TimeoutExpired:
        return None, "late"
    for line in reversed(done.stdout.decode(errors="replace").splitlines()):
        if line.startswith("{"):
            seconds = float(json.loads(line)["seconds"])
            return (None, "late") if seconds > limit else (seconds, "")
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return None, f"it could not be compiled: {said[-1][:200] if said else f'exit status {done.returncode}'}"


#: Seconds a new process may take to import JAX, beyond the limit.
STARTING = 20.0


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def main() -> None:
    """Compile what comes in, after something small that loads the compiler, and print the seconds."""
    module = sys.stdin.buffer.read()
    small: Any = jax.jit(lambda x: x + 1).lower(jax.ShapeDtypeStruct((), "float32"))
    compat.compile_module(compat.module_bytes(small))
    started = time.perf_counter()
    compat.compile_module(module)
    print(json.dumps({"seconds": time.perf_counter() - started}), flush=True)
    # What a compiler leaves to be torn down is nobody's business any more.
    os._exit(0)


if __name__ == "__main__":
    main()
