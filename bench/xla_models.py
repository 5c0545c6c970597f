"""Models whose compilation XLA autotunes, compiled once in a fresh process: the worker of xla_redzone.py.

It imports JAX, says `ready`, waits for a line, and then prints one JSON object for each model. What is measured is
`lowered.compile()`: nothing of it has happened before in the process, and XLA keeps its autotuning results in memory,
so a second compilation in the same process would measure something else.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

BF16 = jnp.bfloat16


#: A sixteenth of each size where only the harness itself is tried.
SMALL = "--small" in sys.argv


def ones(*shape: int) -> Any:
    return jnp.full([max(4, n // 16) if SMALL and n > 16 else n for n in shape], 0.01, BF16)


def mlp(scale: float) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The gradient of four bf16 layers of 2048."""

    def loss(weights: list[Any], x: Any) -> Any:
        for w in weights:
            x = jax.nn.relu(x @ w)
        return (x.astype(jnp.float32) ** 2).sum() * scale

    return jax.grad(loss), ([ones(2048, 2048) for _ in range(4)], ones(2048, 2048))


def block(scale: float) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The gradient of a transformer block: width 1024, 16 heads, 4 × 512 tokens, bf16."""

    def norm(x: Any) -> Any:
        y = x.astype(jnp.float32)
        return ((y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)).astype(BF16)

    def loss(w: dict[str, Any], x: Any) -> Any:
        y = norm(x)
        q, k, v = (jnp.einsum("btd,dhe->bhte", y, w[name]) for name in "qkv")
        s = jax.nn.softmax(jnp.einsum("bhte,bhse->bhts", q, k).astype(jnp.float32) / 8)
        x = x + jnp.einsum("bhts,bhse,hed->btd", s.astype(BF16), v, w["o"])
        x = x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]
        return (x.astype(jnp.float32) ** 2).sum() * scale

    weights = {name: ones(1024, 16, 64) for name in "qkv"}
    weights |= {"o": ones(16, 64, 1024), "up": ones(1024, 4096), "down": ones(4096, 1024)}
    return jax.grad(loss), (weights, ones(4, 512, 1024))


def convnet(scale: float) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The gradient of three 3 × 3 convolutions over 16 images of 56 × 56 × 64, bf16."""

    def loss(weights: list[Any], x: Any) -> Any:
        for w in weights:
            x = jax.nn.relu(
                jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            )
        return (x.astype(jnp.float32) ** 2).sum() * scale

    return jax.grad(loss), ([ones(3, 3, 64, 64) for _ in range(3)], ones(16, 56, 56, 64))


def attention(scale: float) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The gradient of plain attention: 4 × 8 heads of 64, 1024 tokens, bf16."""

    def loss(q: Any, k: Any, v: Any) -> Any:
        s = jax.nn.softmax(jnp.einsum("bhte,bhse->bhts", q, k).astype(jnp.float32) / 8)
        y = jnp.einsum("bhts,bhse->bhte", s.astype(BF16), v)
        return (y.astype(jnp.float32) ** 2).sum() * scale

    x = ones(4, 8, 1024, 64)
    return jax.grad(loss, argnums=(0, 1, 2)), (x, x, x)


MODELS: dict[str, Callable[[float], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "mlp": mlp,
    "block": block,
    "convnet": convnet,
    "attention": attention,
}


def compiled(name: str, changed: int, capture: str) -> dict[str, Any]:
    """Lower, compile and run one model; the profiler records the compilation into a folder if one is given."""
    fn, args = MODELS[name](1 + changed / 8)
    jax.block_until_ready(args)
    started = time.perf_counter()
    traced = jax.jit(fn).trace(*args)
    seen = time.perf_counter()
    lowered = traced.lower()
    before = time.perf_counter()
    if capture:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        with jax.profiler.trace(f"{capture}/{name}", profiler_options=options):
            before = time.perf_counter()
            program = lowered.compile()
            after = time.perf_counter()
    else:
        program = lowered.compile()
        after = time.perf_counter()
    jax.block_until_ready(program(*args))
    batches = []
    for _ in range(0 if capture else 4):
        begun = time.perf_counter()
        # Started one after the other without waiting, so that the device's time shows and not the host's.
        jax.block_until_ready([program(*args) for _ in range(10)])
        batches.append((time.perf_counter() - begun) / 10)
    return {
        "model": name,
        "trace_s": seen - started,
        "lower_s": before - seen,
        "compile_s": after - before,
        "run_ms": min(batches, default=0.0) * 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--changed", type=int, default=0, help="a number that makes it another program")
    parser.add_argument("--capture", default="", help="a folder for the profiler's captures")
    parser.add_argument("--small", action="store_true", help="tiny models, to try the harness")
    options = parser.parse_args()
    print("ready", flush=True)
    sys.stdin.readline()
    device = jax.devices()[0]
    jax.block_until_ready(jnp.ones(8) + 1)
    print(json.dumps({"device": device.device_kind, "jax": jax.__version__}), flush=True)
    for name in options.models.split(","):
        try:
            result = compiled(name, options.changed, options.capture)
        except Exception as error:
            result = {"model": name, "error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
