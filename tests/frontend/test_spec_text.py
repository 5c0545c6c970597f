"""`--arg` texts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import export

import redzone
from redzone.frontend.spec_text import example_from_texts, spec_from_text


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("f32[100000]", (100000,), "float32"),
        ("i32[]", (), "int32"),
        ("u8[2, 3]", (2, 3), "uint8"),
        ("bf16[1,2,3]", (1, 2, 3), "bfloat16"),
        ("f16[0]", (0,), "float16"),
        ("bool[4]", (4,), "bool"),
        ("f8_e4m3fn[4]", (4,), "float8_e4m3fn"),
        ("float8_e5m2[4]", (4,), "float8_e5m2"),
        ("i4[4]", (4,), "int4"),
        ("u2[4]", (4,), "uint2"),
        ("c64[4]", (4,), "complex64"),
        ("float32[4]", (4,), "float32"),
    ],
)
def test_shapes_and_dtypes(text: str, shape: tuple[int, ...], dtype: str) -> None:
    name, spec = spec_from_text(text, export.SymbolicScope())
    assert name == ""
    assert spec.shape == shape
    assert jnp.dtype(spec.dtype).name == dtype
    assert spec.min is None and spec.max is None


def test_ranges() -> None:
    _, spec = spec_from_text("i32[1000] min=0 max=99999", export.SymbolicScope())
    assert (spec.min, spec.max) == (0, 99999)
    _, spec = spec_from_text("f32[3] max=-0.5", export.SymbolicScope())
    assert (spec.min, spec.max) == (None, -0.5)


def test_finite() -> None:
    for text in ("f32[10] finite min=0", "f32[10] min=0 finite"):
        _, spec = spec_from_text(text, export.SymbolicScope())
        assert (spec.min, spec.max, spec.finite) == (0, None, True)
    with pytest.raises(redzone.CannotCheck, match=r"--arg 'i32\[3\] finite': .* integers are always finite"):
        spec_from_text("i32[3] finite", export.SymbolicScope())


def test_equal_names_are_equal_sizes() -> None:
    call = example_from_texts(["f32[n,128]", "i32[n+1]"])
    x, i = call.args
    assert i.shape[0] == x.shape[0] + 1


def test_keys() -> None:
    _, spec = spec_from_text("key[2]", export.SymbolicScope())
    assert jnp.issubdtype(spec.dtype, jax.dtypes.prng_key)


def test_keyword_arguments() -> None:
    call = example_from_texts(["f32[3]", "mask=bool[3]"])
    assert len(call.args) == 1 and list(call.kwargs) == ["mask"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f32", r"cannot read --arg 'f32': write dtype\[shape\], as in"),
        ("f32[3] low=0", r"cannot read --arg"),
        ("q32[3]", r"no dtype is called 'q32' in --arg 'q32\[3\]'; known are f16"),
        ("i32[3] min=3+", r"min in --arg .* must be a number, or a size such as n-1, not '3\+'"),
        ("i32[3,]]", r"cannot read --arg"),
        ("f32[3 4]", r"cannot read the shape of --arg 'f32\[3 4\]'"),
        ("f64[3]", r"is a 64-bit type, .*set JAX_ENABLE_X64=1"),
    ],
)
def test_what_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(redzone.CannotCheck, match=message):
        spec_from_text(text, export.SymbolicScope())


def test_bounds_are_numbers_or_sizes() -> None:
    call = example_from_texts(["f32[n]", "i32[3] min=0 max=n-1"], ["n >= 2"])
    assert str(call.args[1].max) == "n - 1"
    with pytest.raises(redzone.CannotCheck, match=r"'x' in --arg .* is neither a number nor made of named dimensions"):
        example_from_texts(["f32[n]", "i32[3] min=x"])


def test_64_bits_with_x64() -> None:
    with jax.enable_x64(True):
        _, spec = spec_from_text("i64[3]", export.SymbolicScope())
    assert jnp.dtype(spec.dtype).name == "int64"


def test_positional_after_named() -> None:
    with pytest.raises(redzone.CannotCheck, match=r"put named ones last"):
        example_from_texts(["a=f32[3]", "f32[3]"])
