"""Timing one program: JAX's own stages, redzone's, and checkify's. Runs inside the worker process."""

from __future__ import annotations

import gc
import importlib
import math
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import jax
from jax.experimental import checkify
from jax.extend.core import jaxprs_in_params

LONG = 3.0
"""Seconds of tracing past which one repetition has to do."""

Answer = dict[str, Any]
Function = Callable[..., Any]


def timed(work: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """Seconds of processor time, all threads together, and what the work returned.

    Tracing and checking wait for nothing, so this is their wall time on an idle machine
    (more, where threads share the work), and it stays that on a busy one.
    """
    gc.collect()
    start = time.process_time()
    result = work(*args)
    return time.process_time() - start, result


def waited(work: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """Seconds of wall time, and what the work returned: for the compiler, which has threads of its own."""
    gc.collect()
    start = time.perf_counter()
    result = work(*args)
    return time.perf_counter() - start, result


def fresh(fn: Function) -> Function:
    """The same function under a new identity, so that no cache of JAX's knows it."""
    return lambda *args: fn(*args)


def traced_by_jax(fn: Function, args: tuple[Any, ...]) -> Any:
    return jax.jit(fresh(fn)).trace(*args)


def check(fn: Function, args: tuple[Any, ...], repeats: int) -> Answer:
    """JAX's tracing and redzone's check, each the best of `repeats`.

    Each check follows a trace from empty caches, as the first check of a program does, so what it makes JAX trace or
    compile beyond that counts. Where tracing takes long, one trace has to do for all.
    """
    from redzone.api import check_traced
    from redzone.frontend.trace import trace

    best = trace_times(fn, args, repeats)
    traced = trace(fresh(fn), args, {})
    for _ in range(repeats):
        if best["trace"] < LONG:
            jax.clear_caches()
            traced = trace(fresh(fn), args, {})
        seconds, report = timed(check_traced, traced)
        if seconds < best.get("check", math.inf):
            best["check"], best["stages"] = seconds, dict(report.timings)
        best["walk"] = min(best.get("walk", math.inf), timed(bare_walk, traced.jaxpr)[0])
    best["memory"], _ = peak_memory(check_traced, traced)
    best["render"], _ = timed(str, report)
    return best | verdicts_of(report)


def start_up() -> Answer:
    """What the first check in a process pays once: importing redzone, then loading its rules."""
    imported, _ = timed(importlib.import_module, "redzone.api")
    from redzone.api import check_traced
    from redzone.frontend.trace import trace

    x, i = jax.ShapeDtypeStruct((8,), "float32"), jax.ShapeDtypeStruct((4,), "int32")
    first, _ = timed(check_traced, trace(lambda x, i: x[(i // 3) % 8], (x, i), {}))
    again, _ = timed(check_traced, trace(lambda x, i: x[(i // 3) % 8], (x, i), {}))
    return {"import": imported, "first": first, "again": again}


def trace_times(fn: Function, args: tuple[Any, ...], repeats: int) -> Answer:
    """JAX's tracing from empty caches, and again when they are warm."""
    cold, warm = math.inf, math.inf
    counts: Answer = {}
    for _ in range(repeats):
        jax.clear_caches()
        seconds, traced = timed(traced_by_jax, fn, args)
        cold = min(cold, seconds)
        counts = counts or equation_counts(traced.jaxpr)
        if cold > LONG:
            return {"trace": cold} | counts
        warm = min(warm, timed(traced_by_jax, fn, args)[0])
    return {"trace": cold, "retrace": warm} | counts


def compile_times(fn: Function, args: tuple[Any, ...]) -> Answer:
    """JAX's lowering and XLA's compilation, once each."""
    traced = traced_by_jax(fn, args)
    lower, lowered = waited(traced.lower)
    seconds, _ = waited(lowered.compile)
    return {"lower": lower, "compile": seconds}


def checkify_times(fn: Function, args: tuple[Any, ...]) -> Answer:
    """The same program with checkify's run-time index checks: tracing, and lowering with compilation."""
    jax.clear_caches()
    checked = checkify.checkify(fresh(fn), errors=checkify.index_checks)
    trace_seconds, traced = timed(jax.jit(checked).trace, *args)
    answer = {
        "checkify_trace": trace_seconds,
        "checkify_equations": equation_counts(traced.jaxpr)["equations"],
    }
    answer["checkify_compile"], _ = waited(lambda: traced.lower().compile())
    return answer


def peak_memory(work: Callable[..., Any], *args: Any) -> tuple[int, Any]:
    """The most bytes of Python objects held at once during the work, beyond those before it."""
    gc.collect()
    tracemalloc.start()
    try:
        result = work(*args)
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


def bare_walk(jaxpr: Any) -> int:
    """Visit each equation once and look at every operand: the least that any checker does."""
    seen: set[int] = set()
    pending, operands = [jaxpr], 0
    while pending:
        jaxpr = pending.pop()
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        if id(jaxpr) in seen:
            continue
        seen.add(id(jaxpr))
        for eqn in jaxpr.eqns:
            for operand in eqn.invars:
                operands += operand.aval is not None
            pending.extend(jaxprs_in_params(eqn.params))
    return operands


def equation_counts(jaxpr: Any) -> Answer:
    """How many equations, each distinct sub-program once, and at each of its calls."""
    sizes: dict[int, int] = {}
    distinct = 0

    def inlined(jaxpr: Any) -> int:
        nonlocal distinct
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        known = sizes.get(id(jaxpr))
        if known is not None:
            return known
        distinct += len(jaxpr.eqns)
        total = len(jaxpr.eqns)
        for eqn in jaxpr.eqns:
            total += sum(map(inlined, jaxprs_in_params(eqn.params)))
        sizes[id(jaxpr)] = total
        return total

    total = inlined(jaxpr)
    return {"equations": distinct, "equations_inlined": total}


def verdicts_of(report: Any) -> Answer:
    return {
        "accesses": len(report.accesses),
        "verdicts": report.counts(),
        "unmodelled": dict(report.unmodelled),
        "findings": [finding(a) for a in report.accesses if str(a.verdict) in ("unknown", "unsafe")],
    }


def finding(access: Any) -> dict[str, Any]:
    """An access that needs a person, in plain values."""
    where = access.location
    return {
        "verdict": str(access.verdict),
        "at": f"{short_path(where.file)}:{where.line}",
        "function": where.function,
        "source": where.text.strip(),
        "primitive": access.primitive,
        "effect": access.effect,
        "mode": str(access.mode),
        "shape": [str(d) for d in access.shape],
        "bounds": [str(b) for b in access.bounds],
        "rule": access.rule,
        "message": access.message,
    }


def short_path(path: str) -> str:
    """A file as its package names it, the same on every machine."""
    for root in ("site-packages/", "/bench/"):
        if root in path:
            return path.rpartition(root)[2]
    return path.rpartition("/")[2]
