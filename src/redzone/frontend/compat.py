"""The one file that may import jax._src: every name redzone needs that JAX does not export.

JAX 0.10 has a ClosedJaxpr; 0.11 merged it into Jaxpr, where `.jaxpr` is the thing itself.
`self_test` is run once at first use and says which name moved when JAX changes under us.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import jax
from jax._src import config as _config
from jax._src import core as _core
from jax._src import linear_util as _linear_util
from jax._src import sharding_impls as _sharding
from jax._src import source_info_util as _source_info
from jax._src.interpreters import partial_eval as _partial_eval
from jax.extend import core as _public

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
#: The one file of redzone that users call from inside the function.
_ASSUME = os.path.join(_PACKAGE, "frontend", "assume.py")

Literal: Any = _core.Literal
Var: Any = _core.Var
Jaxpr: Any = _core.Jaxpr
ClosedJaxpr: Any = getattr(_core, "ClosedJaxpr", _core.Jaxpr)
#: Whether a closed jaxpr keeps its two parts in attributes, which its properties, Python functions, hand out.
_KEEPS_BOTH: bool = ClosedJaxpr is not Jaxpr and {"_jaxpr", "_consts"} <= set(getattr(ClosedJaxpr, "__slots__", ()))
_UNSPECIFIED: Any = type(vars(_sharding)["UNSPECIFIED"])
DropVar: Any = getattr(_core, "DropVar", ())
_UNNAMED: Any = _core.DebugInfo("redzone", "implementation", None, None)


class JaxMoved(RuntimeError):
    """A name or a layout of JAX that redzone relies on is not where it was."""


def open_jaxpr(jaxpr: Any) -> tuple[Any, tuple[Any, ...]]:
    """The equations-bearing jaxpr and its constants, from a closed, merged or open jaxpr."""
    if _KEEPS_BOTH and type(jaxpr) is ClosedJaxpr:
        return jaxpr._jaxpr, tuple(jaxpr._consts)
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return inner, tuple(getattr(jaxpr, "consts", ()))


def inner_jaxprs(params: dict[str, Any]) -> list[Any]:
    """Every jaxpr held in an equation's parameters."""
    return list(_core.jaxprs_in_params(params))


def equations_of(function: Callable[..., Any], avals: list[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The jaxpr and constants of a function from arrays to a tuple of arrays: make_jaxpr without its formalities."""
    traced = _linear_util.wrap_init(function, debug_info=_UNNAMED)
    jaxpr, _, consts = _partial_eval.trace_to_jaxpr_dynamic(traced, avals)
    # Only a closed jaxpr of JAX 0.11 tells constants from inputs.
    jaxpr, closed_over = open_jaxpr(_public.ClosedJaxpr(open_jaxpr(jaxpr)[0], consts) if consts else jaxpr)
    return jaxpr, tuple(closed_over)


def scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """How many of a scan's operands are constants and how many are carries; JAX 0.11 keeps them as a tree."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].unpack()
    return len(tuple(consts)), len(tuple(carry))


def bind(eqn: Any, values: list[Any]) -> list[Any]:
    """Run one equation on concrete arrays, as JAX's own evaluator does."""
    params = eqn.primitive.get_bind_params(eqn.params)
    results = eqn.primitive.bind(*values, **params)
    return list(results) if eqn.primitive.multiple_results else [results]


def rebind(eqn: Any, values: list[Any]) -> list[Any]:
    """Put an equation into the program being traced, with its own place in the source and its own settings."""
    names = _source_info.current_name_stack() + eqn.source_info.name_stack
    with _source_info.user_context(eqn.source_info.traceback, name_stack=names), eqn.ctx.manager:
        return bind(eqn, values)


def has_refs(jaxpr: Any) -> bool:
    """Whether a program makes or uses mutable refs."""
    inner, _ = open_jaxpr(jaxpr)
    return any(
        any(hasattr(v.aval, "inner_aval") for v in (*eqn.invars, *eqn.outvars))
        or any(has_refs(body) for body in inner_jaxprs(eqn.params))
        for eqn in inner.eqns
    )


def is_wide() -> bool:
    """Whether 64-bit types are on here."""
    return bool(_config.enable_x64.value)


def is_jit_disabled() -> bool:
    """Whether `jax.disable_jit` is in force here."""
    return bool(_config.disable_jit.value)


def is_tracing() -> bool:
    """Whether JAX is tracing a function right here."""
    return not _core.trace_state_clean()


@contextlib.contextmanager
def settings_of(eqn: Any) -> Iterator[Callable[[Any], Any]]:
    """The settings an equation was traced under; yields what brings a scalar from outside in.

    Values belong to a mesh and the way its axes are used; where that changes, a scalar has to be handed over.
    """
    changes = eqn.ctx.cur_abstract_mesh != jax.sharding.get_abstract_mesh()
    with eqn.ctx.manager:
        yield brought_here if changes else lambda x: x


def brought_here(x: Any) -> Any:
    """A scalar as a value of the mesh that is set here."""
    if jax.typeof(x).sharding.mesh == jax.sharding.get_abstract_mesh():
        return x
    return jax.reshard(x, jax.sharding.PartitionSpec())


def closed_over(traced: Any) -> list[Any]:
    """The values of an enclosing trace that a traced function closes over: the first inputs of its jaxpr."""
    count = traced._num_consts
    return list(traced._consts[:count]) if count else []


def call_with_shardings(eqn: Any, function: Any, state: Any, values: list[Any]) -> Any:
    """Call `function(state, *values)`, which returns (state, results), under a jit equation's name and shardings."""
    params = eqn.params

    def constrained(arrays: Any, shardings: Any) -> list[Any]:
        return [
            array if isinstance(s, _UNSPECIFIED) else jax.lax.with_sharding_constraint(array, s)
            for array, s in zip(arrays, shardings, strict=True)
        ]

    def whole(before: Any, *operands: Any) -> Any:
        after, results = function(before, *constrained(operands, params["in_shardings"]))
        return after, constrained(results, params["out_shardings"])

    whole.__name__ = whole.__qualname__ = str(params["name"])
    names = _source_info.current_name_stack() + eqn.source_info.name_stack
    with _source_info.user_context(eqn.source_info.traceback, name_stack=names), eqn.ctx.manager:
        return jax.jit(whole, inline=params["inline"])(state, *values)


def sharded(eqn: Any, function: Any, values: list[Any]) -> Any:
    """Run a function, which returns (scalars, results), as a shard_map equation runs its jaxpr.

    Each of the scalars comes out with one element for each shard. `function(scalars, *operands)` gets what makes a
    scalar of its own of a constant.
    """
    params = eqn.params
    axes = tuple(params["newly_manual_axes"])

    def whole(*operands: Any) -> Any:
        scalars, results = function(lambda x: _varying(x, axes), *operands)
        return [jax.numpy.reshape(x, (1,)) for x in scalars], results

    rows = jax.sharding.PartitionSpec(axes)
    mapped = jax.shard_map(
        whole,
        mesh=params["mesh"],
        in_specs=tuple(params["in_specs"]),
        out_specs=([rows, rows], list(params["out_specs"])),
        axis_names=frozenset(axes),
        check_vma=params["check_vma"],
    )
    with eqn.ctx.manager:
        return mapped(*values)


def _varying(x: Any, axes: tuple[str, ...]) -> Any:
    """A constant as a value that may differ from shard to shard."""
    return jax.lax.pcast(x, axes, to="varying")


def user_frames(source_info: Any) -> list[tuple[str, int, str]]:
    """(file, line, function) of the frames outside JAX, innermost first."""
    traceback = source_info.traceback
    return [] if traceback is None else list(_user_frames(traceback))


@functools.lru_cache(1024)
def _user_frames(traceback: Any) -> list[tuple[str, int, str]]:
    return [(code.co_filename, _located(code, at)[0], code.co_qualname) for code, at in _user_running(traceback)]


@functools.lru_cache(1024)
def _user_running(traceback: Any) -> list[tuple[types.CodeType, int]]:
    """What runs in every frame outside JAX, and where it is, innermost first."""
    frames = zip(*traceback.raw_frames(), strict=True)
    return _up_to_us([frame for frame in frames if _source_info.is_user_filename(frame[0].co_filename)])


#: By what runs, known by its identity as it is kept, and where it is there: the lines and columns of the expression.
_expressions: dict[tuple[int, int], tuple[types.CodeType, Position]] = {}


def _located(code: types.CodeType, at: int) -> Position:
    """Where the expression stands that a frame is at: the frames around are the same for many equations."""
    known = _expressions.get((id(code), at))
    if known is None:
        if len(_expressions) > 8192:
            _expressions.clear()
        f = _source_info.raw_frame_to_frame(code, at)
        known = (code, (f.start_line, f.start_column, f.end_line, f.end_column))
        _expressions[id(code), at] = known
    return known[1]


#: Line, column, end line and end column of an expression; columns in bytes.
Position = tuple[int, int, int, int]


class Call(NamedTuple):
    """The expression that a frame outside JAX was at."""

    file: str
    span: Position | None
    """None where it is not known."""
    code: types.CodeType


def user_span(source_info: Any) -> Position | None:
    """Where the expression in the innermost frame outside JAX stands."""
    return next((call.span for call in user_calls(source_info)), None)


def user_calls(source_info: Any) -> list[Call]:
    """What the frames outside JAX were at, innermost first."""
    found = []
    for code, at in [] if source_info.traceback is None else _user_running(source_info.traceback):
        span = _located(code, at)
        known = span[2] >= span[0] and span[3] > 0 and span[1] >= 0
        found.append(Call(code.co_filename, span if known else None, code))
    return found


class Frame(NamedTuple):
    """Any frame, JAX's own included."""

    code: types.CodeType
    at: int

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        return self.code.co_name

    @property
    def line(self) -> int:
        return _located(*self)[0]


def all_frames(source_info: Any) -> list[Frame]:
    """Every frame, innermost first."""
    traceback = source_info.traceback
    return [] if traceback is None else list(_all_frames(traceback))


@functools.lru_cache(1024)
def _all_frames(traceback: Any) -> list[Frame]:
    return _up_to_us([Frame(*frame) for frame in zip(*traceback.raw_frames(), strict=True)])


_Running = TypeVar("_Running", bound=tuple[types.CodeType, int])


def _up_to_us(frames: list[_Running]) -> list[_Running]:
    """The frames inside redzone's own call of the function; what is outside called redzone."""
    first = 0
    while first < len(frames) and frames[first][0].co_filename == _ASSUME:
        first += 1
    for k in range(first, len(frames)):
        if frames[k][0].co_filename.startswith(_PACKAGE):
            return frames[first:k]
    return frames[first:]


class Origin(NamedTuple):
    """What a jaxpr knows of the function it was traced from; empty where it does not."""

    function: str
    file: str
    line: int
    arguments: tuple[str, ...]
    is_operation: bool
    """Whether it is one primitive that was called outside of jit."""


_JAX = os.path.join(os.path.dirname(os.path.abspath(jax.__file__)), "")
_DISPATCH = os.path.join(_JAX, "_src", "dispatch.py")


def is_jaxs_own(file: str) -> bool:
    """Whether a file is part of JAX."""
    return file.startswith(_JAX)


def origin_of(jaxpr: Any) -> Origin:
    """The function a jaxpr was traced from, and its arguments' names as far as JAX kept them."""
    info = getattr(open_jaxpr(jaxpr)[0], "debug_info", None)
    name = getattr(info, "func_name", "") or ""
    file = getattr(info, "func_filename", None) or ""
    line = getattr(info, "func_lineno", None) or 0
    names = getattr(info, "arg_names", None) or ()
    return Origin("" if name == "<unknown>" else name, file, line, tuple(n or "" for n in names), file == _DISPATCH)


def wrap_lowering(wrapped: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[], None]:
    """Put `wrapped(f)` in the place of the function f that every compile passes; the result takes it away again."""
    from jax._src.interpreters import mlir

    lower = getattr(mlir, "lower_jaxpr_to_module", None)
    if lower is None:
        raise moved("mlir.lower_jaxpr_to_module is gone")
    ours = wrapped(lower)
    mlir.lower_jaxpr_to_module = ours

    def take_away() -> None:
        # Somebody else may have wrapped it since: theirs calls ours, which then only passes on.
        if mlir.lower_jaxpr_to_module is ours:
            mlir.lower_jaxpr_to_module = lower

    return take_away


def lowered(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any]:
    """Name and closed jaxpr, from the arguments of the function that every compile passes."""
    given = {**dict(zip(("module_name", "jaxpr"), args, strict=False)), **kwargs}
    return str(given["module_name"]), given["jaxpr"]


def backend_is_up() -> bool:
    """Whether JAX has looked for its devices already, which a program may want to configure before."""
    from jax._src import xla_bridge

    return bool(xla_bridge.backends_are_initialized())


@contextlib.contextmanager
def plain_surroundings() -> Iterator[None]:
    """JAX as if nothing was being traced and nobody had changed how operations behave."""
    with (
        _core.eval_context(),
        jax.disable_jit(False),
        jax.debug_nans(False),
        jax.debug_infs(False),
        jax.transfer_guard("allow"),
        jax.numpy_rank_promotion("allow"),
        jax.numpy_dtype_promotion("standard"),
        jax.log_compiles(False),
    ):
        yield


def hide_from_tracebacks(file: str) -> None:
    """Leave a file's frames out of the tracebacks that JAX shows."""
    from jax._src import traceback_util

    traceback_util.register_exclusion(file)


@functools.cache
def self_test() -> None:
    """Trace one small function and look at everything redzone relies on."""
    try:
        closed = jax.make_jaxpr(lambda x, i: x[i])(
            jax.ShapeDtypeStruct((4,), "float32"), jax.ShapeDtypeStruct((2,), "int32")
        )
        jaxpr, consts = open_jaxpr(closed)
        eqn = jaxpr.eqns[-1]
        if eqn.primitive.name != "gather":
            raise JaxMoved("x[indices] is no longer lowered to a gather")
        for name in ("dimension_numbers", "slice_sizes", "mode"):
            if name not in eqn.params:
                raise JaxMoved(f"gather has no parameter {name!r}")
        if not any(isinstance(a, Literal) for e in jaxpr.eqns for a in e.invars):
            raise JaxMoved("literals are no longer core.Literal")
        if consts or not all(isinstance(v, Var) for v in jaxpr.invars):
            raise JaxMoved("jaxpr.invars are no longer core.Var")
        loop = jax.make_jaxpr(lambda x: jax.lax.scan(lambda c, _: (c + 1, c), x, None, length=3))(0).eqns[-1]
        if loop.primitive.name != "scan" or scan_counts(loop.params) != (0, 1):
            raise JaxMoved("the operands of a scan are no longer told apart as they were")
        if [e.primitive.name for e in _batched_branches().eqns[1:4]] != ["eq", "stop_gradient", "select_n"]:
            raise JaxMoved("vmap no longer marks the operands of a branch as it did, by which promises in it are told")
        array = jax.core.ShapedArray((4,), jax.numpy.dtype("float32"))
        if len(equations_of(lambda x: (x + x,), [array])[0].eqns) != 1:
            raise JaxMoved("functions are no longer traced as they were")
        user_calls(eqn.source_info)
        lines = [(frame.file, frame.line) for frame in all_frames(eqn.source_info)]
        if lines != [(f.file_name, f.line_num) for f in eqn.source_info.traceback.frames][: len(lines)]:
            raise JaxMoved("the two ways to list a traceback no longer agree")
    except JaxMoved as moved:
        raise JaxMoved(_moved_message(str(moved))) from None
    except (AttributeError, TypeError, ImportError, IndexError) as error:
        raise JaxMoved(_moved_message(str(error))) from error


def _batched_branches() -> Any:
    """What vmap makes of a cond."""
    branches = jax.vmap(lambda p, x: jax.lax.cond(p, lambda x: x + 1, lambda x: x, x))
    return jax.make_jaxpr(branches)(jax.ShapeDtypeStruct((2,), "bool"), jax.ShapeDtypeStruct((2,), "int32"))


def moved(what: str) -> JaxMoved:
    """The error for something that this JAX does in another way than those redzone knows."""
    return JaxMoved(_moved_message(what))


def _moved_message(what: str) -> str:
    return (
        f"redzone does not know this JAX ({jax.__version__}): {what}. "
        "Versions 0.10 to 0.12 are known to work; install one of them or a newer redzone."
    )


@functools.cache
def primitives() -> dict[str, Any]:
    """Every primitive JAX defines, by the name of its variable ("add_p"), public modules first."""
    import importlib

    names = (
        "jax.lax",
        "jax.extend.core.primitives",
        "jax._src.lax.lax",
        "jax._src.lax.slicing",
        "jax._src.lax.parallel",
        "jax._src.lax.linalg",
        "jax._src.lax.windowed_reductions",
        "jax._src.lax.convolution",
        "jax._src.lax.fft",
        "jax._src.lax.ann",
        "jax._src.lax.special",
        "jax._src.lax.control_flow.conditionals",
        "jax._src.lax.control_flow.loops",
        "jax._src.lax.control_flow.solves",
        "jax._src.ad_util",
        "jax._src.ad_checkpoint",
        "jax._src.core",
        "jax._src.custom_derivatives",
        "jax._src.prng",
        "jax._src.random",
        "jax._src.random.prng",
        "jax._src.pjit",
        "jax._src.dispatch",
        "jax._src.shard_map",
        "jax._src.state.primitives",
        "jax._src.state.discharge",
        "jax._src.callback",
        "jax._src.hijax",
        "jax._src.ffi",
        "jax._src.export._export",
        "jax._src.export.shape_poly",
        "jax._src.pallas.pallas_call",
    )
    found: dict[str, Any] = {}
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for key, value in vars(module).items():
            if key.endswith("_p") and isinstance(value, _core.Primitive):
                found.setdefault(key, value)
    return found


def sparse_kind(primitive: Any) -> str:
    """The kind of JAX's sparse arrays that a primitive computes with, or an empty string."""
    name = primitive.name
    kind = str(name).partition("_")[0]
    # A program that has such a primitive has imported the module.
    module = sys.modules.get(f"jax.experimental.sparse.{kind}") if kind in _SPARSE else None
    return kind if getattr(module, f"{name}_p", None) is primitive else ""


_SPARSE = frozenset({"bcoo", "bcsr", "coo", "csr"})


def sparse_function(primitive: Any) -> Callable[..., Any] | None:
    """What a primitive of JAX's sparse arrays is compiled as: a function of other primitives. None for others."""
    kind = sparse_kind(primitive)
    module = sys.modules.get(f"jax.experimental.sparse.{kind}") if kind else None
    return getattr(module, f"_{primitive.name}_impl", None)


def module_bytes(lowered: Any) -> bytes:
    """A lowered program as the compiler takes it."""
    from jax._src.interpreters import mlir

    return bytes(mlir.module_to_bytecode(lowered.compiler_ir("stablehlo")))


def compile_module(module: bytes) -> Any:
    """Compile a lowered program for the first device, as jax.jit would."""
    from jax._src import compiler
    from jaxlib import xla_client

    device = jax.devices()[0]
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
    return device.client.compile_and_load(module, xla_client.DeviceList((device,)), options)


def is_size(value: Any) -> bool:
    """Whether this is an expression of symbolic sizes."""
    return type(value).__name__ == "_DimExpr"


def names_of_size(size: Any) -> set[str]:
    """The names in an expression of symbolic sizes, and those that the constraints on them speak of."""
    names: set[str] = set(size._get_vars())
    for one in size.scope._explicit_constraints:
        names |= set(one.diff._get_vars()) if is_size(one.diff) else set()
    return names


def size_at(size: Any, sizes: Any) -> int:
    """What an expression of symbolic sizes comes to."""
    return int(size._evaluate(dict(sizes)))


def keeps_constraints(size: Any, sizes: Any) -> bool:
    """Whether sizes keep every constraint of an expression's scope."""
    for one in size.scope._explicit_constraints:
        difference = size_at(one.diff, sizes) if is_size(one.diff) else int(one.diff)
        if difference != 0 if one.cmp.name == "EQ" else difference < 0:
            return False
    return True
