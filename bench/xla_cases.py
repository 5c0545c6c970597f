"""The settings of XLA's autotuning that are compared: each is one change from the default."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One way to compile: flags and variables of the environment, `{work}` standing for a scratch folder."""

    name: str
    group: str
    flags: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    changed: bool = False
    """Whether the program is another than the one that filled the caches."""
    models: tuple[str, ...] = ()
    """The only models it is tried on, where the others would take too long."""
    clears: str = ""
    """The cache that it fills from nothing."""
    key: bool = False
    """Whether it is repeated before the others are."""
    capture: bool = False
    """Whether the profiler records it too, in a run of its own."""
    slow: bool = False
    """Whether it takes so long that it is tried once, after everything else."""


def _flag(name: str, group: str, *flags: str, key: bool = False, capture: bool = False) -> Case:
    return Case(name, group, flags=flags, key=key, capture=capture)


_PERSISTENT = (
    ("JAX_COMPILATION_CACHE_DIR", "{work}/persistent"),
    ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0"),
    ("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1"),
)
_PER_FUSION = ("--xla_gpu_per_fusion_autotune_cache_dir={work}/fusions",)
_RESULTS = "{work}/results.txt"

# Those that fill a cache come before those that use it.
CASES = (
    _flag("default", "default", key=True, capture=True),
    _flag("padding 0", "padding", "--xla_gpu_redzone_padding_bytes=0", key=True, capture=True),
    _flag("level 0", "level", "--xla_gpu_autotune_level=0", key=True, capture=True),
    _flag("level 1", "level", "--xla_gpu_autotune_level=1", key=True, capture=True),
    Case("persistent cache, filling", "cache", env=_PERSISTENT, clears="persistent", key=True),
    Case("persistent cache, filled", "cache", env=_PERSISTENT, key=True),
    Case("persistent cache, program changed", "cache", env=_PERSISTENT, changed=True, key=True),
    Case("per-fusion cache, filling", "cache", flags=_PER_FUSION, clears="fusions", key=True),
    Case("per-fusion cache, filled", "cache", flags=_PER_FUSION, key=True, capture=True),
    Case("per-fusion cache, program changed", "cache", flags=_PER_FUSION, changed=True),
    Case("autotune results, dumping", "cache", (f"--xla_gpu_dump_autotune_results_to={_RESULTS}",), key=True),
    Case("autotune results, loaded", "cache", flags=(f"--xla_gpu_load_autotune_results_from={_RESULTS}",), key=True),
    _flag("no Triton gemms", "backends", "--xla_gpu_enable_triton_gemm=false", key=True),
    _flag("no cuBLAS fallback", "backends", "--xla_gpu_cublas_fallback=false"),
    _flag("cuBLASLt on", "backends", "--xla_gpu_enable_cublaslt=true"),
    _flag("one fusion emitter", "backends", "--xla_gpu_experimental_enable_fusion_autotuner=false"),
    _flag("4 gemm solutions", "candidates", "--xla_gpu_autotune_max_solutions=4"),
    _flag("8 BLAS algorithms", "candidates", "--xla_gpu_blas_max_algorithms=8"),
    _flag("1 cuDNN plan", "candidates", "--xla_gpu_cudnn_gemm_max_plans=1"),
    _flag("level 2", "level", "--xla_gpu_autotune_level=2"),
    _flag("level 3", "level", "--xla_gpu_autotune_level=3", capture=True),
    _flag("level 5", "level", "--xla_gpu_autotune_level=5"),
    _flag("padding 64 KiB", "padding", "--xla_gpu_redzone_padding_bytes=65536", capture=True),
    _flag("padding 1 MiB", "padding", "--xla_gpu_redzone_padding_bytes=1048576", capture=True),
    _flag("padding 64 MiB", "padding", "--xla_gpu_redzone_padding_bytes=67108864", capture=True),
    Case(
        "exhaustive tilings",
        "candidates",
        ("--xla_gpu_exhaustive_tiling_search=true",),
        models=("attention",),
        slow=True,
    ),
)
