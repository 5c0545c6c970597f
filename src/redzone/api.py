"""check: each of its stages is one call; the rest of redzone is behind it."""

from __future__ import annotations

import dataclasses
import functools
import gc
import threading
import time
from collections.abc import Callable
from typing import Any

from redzone.domains import Fact, summarised
from redzone.domains.symbolic import at_most, sizes
from redzone.engine import Analysis, analyse, idioms
from redzone.engine.inventory import CALLS
from redzone.frontend import compat
from redzone.frontend.location import locate
from redzone.frontend.trace import Spec as Spec
from redzone.frontend.trace import Traced, takes_dims, trace
from redzone.frontend.unwatched import unwatched
from redzone.prove.decide import Deciding
from redzone.report import suppress
from redzone.report.model import Report
from redzone.stages import stage

#: How many symbolic dimensions are known to be no larger than a size can be.
SIZES = 24


def check(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Report:
    """A verdict for every array access of `fn` called with these arguments.

    Arguments are arrays, `jax.ShapeDtypeStruct`, `redzone.Spec`, or pytrees of them; only shapes, dtypes
    and the ranges of Specs are looked at; `Annotated[..., redzone.Range(...)]` on parameters and fields adds to them.
    `dims=("n >= 8",)` constrains the dimensions that Specs name (it goes to the function if that has a parameter of
    this name). Raises `CannotCheck` where JAX cannot trace the function.
    """
    first_use()
    dims = () if takes_dims(fn) else kwargs.pop("dims", ())
    with stage("trace"):
        traced = trace(fn, args, kwargs, dims=(dims,) if isinstance(dims, str) else dims)
    return check_traced(traced)


@functools.cache
def first_use() -> None:
    """Look once at what this JAX is like, so that no check's own time holds it."""
    compat.self_test()
    idioms.references()


#: What a check remembers for the next one is shared by all threads.
_one_at_a_time = threading.RLock()


@unwatched()
def check_traced(traced: Traced) -> Report:
    """The verdicts of an already traced function."""
    with _one_at_a_time:
        return _undisturbed(traced)


def _undisturbed(traced: Traced) -> Report:
    collecting = gc.isenabled()
    # A check makes many small objects and few cycles; a collection would walk the whole jaxpr each time.
    gc.disable()
    try:
        with stage(f"check {traced.name}"), sizes(symbolic_sizes(traced)):
            return _check_traced(traced)
    finally:
        if collecting:
            gc.enable()


def symbolic_sizes(traced: Traced) -> list[Any]:
    """The symbolic dimensions of the inputs, and of arrays that are made whatever happens, each once."""
    found = {str(n): n for source in traced.inputs for n in getattr(source.aval, "shape", ()) if type(n) is not int}
    if found:
        pending = [compat.open_jaxpr(traced.jaxpr)[0]]
        while pending and len(found) < SIZES:
            for eqn in pending.pop().eqns:
                shapes = [getattr(v.aval, "shape", ()) for v in eqn.outvars]
                found |= {str(n): n for shape in shapes for n in shape if type(n) is not int}
                if eqn.primitive in CALLS:
                    pending.append(compat.open_jaxpr(eqn.params[CALLS[eqn.primitive]])[0])
    return list(found.values())[:SIZES]


def _with_assumptions(traced: Traced, facts: list[Fact], analysis: Analysis) -> tuple[list[Fact], Traced]:
    """The contract of the inputs with what the function itself assumes of them."""
    inputs = list(traced.inputs)
    for i, (given, known) in enumerate(zip(facts, analysis.inputs, strict=True)):
        if known is not given:
            low, high = summarised(known).lo, summarised(known).hi
            widest = summarised(given)
            # Where sizes decide which of two bounds is the tighter, what the caller promised stays: an input that is to
            # show something has to keep it, and whether it keeps what is assumed is looked at when it is tried.
            low = low if at_most(low, widest.lo) is False else inputs[i].min
            high = high if at_most(widest.hi, high) is False else inputs[i].max
            inputs[i] = dataclasses.replace(inputs[i], min=low, max=high)
    return analysis.inputs, dataclasses.replace(traced, inputs=tuple(inputs))


def _notes(analysis: Analysis) -> tuple[str, ...]:
    broken = [f"{locate((eqn,))}: this assumption can never hold, so it is not used" for eqn in analysis.broken]
    doubted = [
        f"{locate((eqn,))}: vmap runs this branch for every lane, so the assumption in it is not used"
        for eqn in analysis.doubted
    ]
    closed = [f"{name} ×{count}" for name, count in analysis.inventory.closed.items()]
    unseen = [f"not looked into, a library's own primitives: {', '.join(closed)}"] if closed else []
    return tuple(dict.fromkeys(broken + doubted + unseen))


def _explained(traced: Traced, report: Report, **options: Any) -> Any:
    from redzone.explain.own import explanation_of

    return explanation_of(report, traced, check_traced, **options)


def _check_traced(given: Traced) -> Report:
    started = time.perf_counter()
    traced = given
    facts = [source.fact() for source in traced.inputs]
    analysis = analyse(traced.jaxpr, facts)
    facts, traced = _with_assumptions(traced, facts, analysis)
    deciding = Deciding(traced, analysis, facts)
    accesses = deciding.accesses()
    timings = {"trace": traced.seconds, **analysis.timings, **deciding.timings}
    total = time.perf_counter() - started
    timings["other"] = max(0.0, total - sum(v for k, v in timings.items() if k != "trace"))
    return Report(
        name=traced.name,
        accesses=accesses,
        jaxpr=traced.jaxpr,
        timings=timings,
        unmodelled=dict(analysis.unmodelled),
        equations=analysis.inventory.equations,
        notes=(*_notes(analysis), *dict.fromkeys(deciding.failures)),
        origins=tuple(source.origin for source in traced.inputs),
        _explain=functools.partial(_explained, given),
        doubted=tuple(analysis.doubted),
        suppressions=suppress.apply(accesses, traced.function),
    )
