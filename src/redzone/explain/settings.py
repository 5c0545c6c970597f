"""The settings that change what XLA's autotuning costs: how each is spelled, what it gives up, what was measured."""

from __future__ import annotations

import dataclasses
import functools
import json
from importlib import resources
from typing import Any

#: The versions in which the spelling of every flag was looked up.
LOOKED_UP = ("0.10", "0.11", "0.12")


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """One thing a user can change, and the measured case that shows what it does."""

    case: str
    spelled: str
    """What to set, ready to paste."""
    gives_up: str
    versions: tuple[str, ...] = LOOKED_UP
    checks_only: bool = False
    """Whether it is about the redzone checks alone, not about autotuning."""


def _flags(*flags: str) -> str:
    return f"XLA_FLAGS='{' '.join(flags)}'"


SETTINGS = (
    Setting(
        "persistent cache, filled",
        "JAX_COMPILATION_CACHE_DIR=DIR JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0",
        "disk space; a program, a flag or a JAX that changed is compiled anew",
    ),
    Setting(
        "persistent cache, program changed",
        "JAX_COMPILATION_CACHE_DIR=DIR (it keeps the autotuning results of each fusion too, so a changed program "
        "tries only what is new)",
        "disk space",
    ),
    Setting(
        "per-fusion cache, filled",
        _flags("--xla_gpu_per_fusion_autotune_cache_dir=DIR"),
        "the folder must exist, and be emptied by hand when JAX, driver or card change",
    ),
    Setting(
        "autotune results, loaded",
        _flags("--xla_gpu_load_autotune_results_from=FILE")
        + ", after one run with --xla_gpu_dump_autotune_results_to=FILE",
        "the file must be made again by hand when the program, JAX, driver or card change",
    ),
    Setting(
        "level 0",
        _flags("--xla_gpu_autotune_level=0"),
        "the choice of kernels: the first candidate is taken untried, and the program may run slower for good",
    ),
    Setting(
        "no Triton gemms",
        _flags("--xla_gpu_enable_triton_gemm=false"),
        "matrix products fused with what is around them: only cuBLAS and cuDNN are tried",
    ),
    Setting(
        "no cuBLAS fallback",
        _flags("--xla_gpu_cublas_fallback=false"),
        "cuBLAS: only Triton's kernels are tried for matrix products",
    ),
    Setting("cuBLASLt on", _flags("--xla_gpu_enable_cublaslt=true"), "plain cuBLAS where cuBLASLt has a kernel"),
    Setting(
        "one fusion emitter",
        _flags("--xla_gpu_experimental_enable_fusion_autotuner=false"),
        "the choice between XLA's own and Triton's kernels for fusions without a matrix product; experimental",
    ),
    Setting(
        "4 gemm solutions",
        _flags("--xla_gpu_autotune_max_solutions=4"),
        "all but the first four of the library's kernels for a matrix product",
    ),
    Setting(
        "8 BLAS algorithms",
        _flags("--xla_gpu_blas_max_algorithms=8"),
        "all but the first eight of the BLAS library's algorithms",
        versions=("0.11", "0.12"),
    ),
    Setting(
        "1 cuDNN plan",
        _flags("--xla_gpu_cudnn_gemm_max_plans=1"),
        "all but the first of cuDNN's plans for a fused matrix product",
    ),
    Setting(
        "padding 0",
        _flags("--xla_gpu_redzone_padding_bytes=0"),
        "the detection of kernels that write outside their buffers",
        checks_only=True,
    ),
    Setting(
        "padding 64 KiB",
        _flags("--xla_gpu_redzone_padding_bytes=65536"),
        "the detection of writes more than 64 KiB outside",
        checks_only=True,
    ),
    Setting(
        "padding 1 MiB",
        _flags("--xla_gpu_redzone_padding_bytes=1048576"),
        "the detection of writes more than 1 MiB outside",
        checks_only=True,
    ),
    Setting(
        "level 1",
        _flags("--xla_gpu_autotune_level=1"),
        "checking altogether: candidates are timed on buffers that nobody filled, and wrong ones are not noticed",
        checks_only=True,
    ),
    Setting(
        "level 2",
        _flags("--xla_gpu_autotune_level=2"),
        "checking altogether: wrong candidates are not noticed",
        checks_only=True,
    ),
    Setting(
        "level 3",
        _flags("--xla_gpu_autotune_level=3"),
        "checking altogether: wrong candidates are not noticed",
        checks_only=True,
    ),
)


@functools.cache
def measured() -> dict[str, Any]:
    """The results of bench/xla_redzone.py that come with redzone."""
    text = resources.files("redzone.explain").joinpath("measured.json").read_text()
    content: dict[str, Any] = json.loads(text)
    return content
