"""What the names in a capture mean: XLA's redzone kernels and their companions, compilation, autotuning.

Names have changed between versions of XLA; each line says what stands for what, in every version known.
"""

from __future__ import annotations

import enum
import re


class Kind(enum.StrEnum):
    """What a launch on the device is for."""

    CHECK = "check"
    """Reads the guard bytes around a buffer."""
    COUNTER = "counter"
    """Sets the 8 bytes to zero that a check counts mismatches in."""
    READBACK = "readback"
    """Copies those 8 bytes back to the host, which waits for them."""
    GUARD = "guard"
    """Writes the guard bytes."""
    INIT = "init"
    """Fills the buffers of a candidate with numbers."""
    COMPARE = "compare"
    """Compares a candidate's output with the first one's."""
    DELAY = "delay"
    """Holds the stream so that a candidate's launches are timed back to back."""
    OTHER = "other"
    """Candidates being timed, and the program itself."""


#: `redzone_checker` up to JAX 0.6.1, `RedzoneAllocatorKernelImpl` after.
_CHECK = re.compile(r"redzone_checker|RedzoneAllocatorKernel|RedzoneAllocator", re.IGNORECASE)
_COMPARE = re.compile(r"xla_(fp|int)\w*_comparison|__xla_\w*comparison|_comparison\b|BufferComparator", re.IGNORECASE)
_INIT = re.compile(r"RepeatBufferKernel|repeat_buffer", re.IGNORECASE)
_DELAY = re.compile(r"DelayKernel|delay_kernel", re.IGNORECASE)
_FILL = re.compile(r"^memset", re.IGNORECASE)
_COPY = re.compile(r"^memcpy", re.IGNORECASE)
#: The count of mismatches; a copy this small that belongs to no module is its readback.
_COUNT = 8


def kind_of(name: str, size: int, module: str) -> Kind:
    """What a launch is for, by its name, the bytes it moves and the module it belongs to."""
    if _CHECK.search(name):
        return Kind.CHECK
    if _COMPARE.search(name):
        return Kind.COMPARE
    if _INIT.search(name):
        return Kind.INIT
    if _DELAY.search(name):
        return Kind.DELAY
    if module:
        return Kind.OTHER
    if _FILL.search(name):
        return Kind.COUNTER if size <= _COUNT else Kind.GUARD
    if _COPY.search(name):
        return Kind.READBACK if size <= _COUNT else Kind.INIT
    return Kind.OTHER


_COMPILE = re.compile(
    r"^(backend_compile(_and_load)?$|XlaCompile\b|PJRT_Client_Compile$|PjRtCApiClient::Compile"
    r"|PjRtStreamExecutorClient::Compile|PjRtCpuClient::Compile|TfrtCpuClient::Compile|\S*Client::Compile\w*$)"
)
#: The pass that tries candidates: `config-assigner` in JAX 0.11, one of the others before.
_AUTOTUNE = re.compile(r"^(config-assigner|[\w-]*autotun[\w-]*|[\w-]*algorithm-picker)( \(.*\))?$", re.IGNORECASE)
_CANDIDATE = re.compile(
    r"^(CompileToBackendResult|CompileTargetBinary|CompileToTargetBinary|Compile fusion|RunBackend)\b"
)
_BUFFERS = re.compile(r"^create redzone buffers|^RedzoneAllocator|CreateRedzone|CreateRzBuffers", re.IGNORECASE)
#: Where a compilation says which module it is about.
_MODULE = (
    re.compile(r"^HLO Transforms:(?P<module>\S+)$"),
    re.compile(r"CompileAndLoad\((?P<module>[^)]+)\)$"),
    re.compile(r"#module=(?P<module>[^,#]+)"),
    re.compile(r"^Optimization passes? \((?P<module>[^)]+)\)$"),
)
_PASS_OF = re.compile(r" \((?P<module>[^()]+)\)$")


def is_compile(name: str) -> bool:
    """Whether a span is the compilation of a whole module."""
    return bool(_COMPILE.search(name))


def is_autotuning(name: str) -> bool:
    """Whether a span is a pass that tries candidates."""
    return bool(_AUTOTUNE.search(name))


def is_candidate(name: str) -> bool:
    """Whether a span is the compilation of one module down to machine code: of a candidate, when inside autotuning."""
    return bool(_CANDIDATE.search(name))


def is_redzone_buffers(name: str) -> bool:
    """Whether a span is the host making buffers with guard bytes around them."""
    return bool(_BUFFERS.search(name))


def module_in(name: str) -> str:
    """The module a span of the host names; empty where it names none."""
    for pattern in _MODULE:
        found = pattern.search(name)
        if found:
            return found["module"]
    return ""


def pass_module(name: str) -> str:
    """The module in a pass's name, as in `config-assigner (jit_step)`."""
    found = _PASS_OF.search(name)
    return found["module"] if found else ""


def says_something(name: str) -> bool:
    """Whether a span of the host is kept: those of the Python tracer (`$file.py:12 f`) and most others are not."""
    if name.startswith("$"):
        return False
    if is_compile(name) or is_autotuning(name) or is_candidate(name) or is_redzone_buffers(name):
        return True
    return bool(module_in(name)) or pass_module(name).startswith(("jit_", "pmap_"))
