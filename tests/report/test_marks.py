"""Which part of a line is the index, and which the array."""

from __future__ import annotations

import linecache
from pathlib import Path

import pytest

from redzone.report.marks import index_of, mark_of
from redzone.report.place import Location, Span


def marked(tmp_path: Path, text: str, inner: str = "") -> tuple[str, str] | None:
    """The index and the array of the expression `inner` in a file that holds this line."""
    file = tmp_path / "m.py"
    file.write_text(f"# first\n{text}\n", encoding="utf-8")
    linecache.checkcache(str(file))
    start = text.index(inner) if inner else 0
    span = Span(2, start, 2, start + len(inner or text))
    mark = mark_of(Location(str(file), 2, "f", text, span))
    if mark is None:
        return None
    assert mark.index.line == mark.index.end_line == 2
    return text[mark.index.column : mark.index.end_column], mark.array


@pytest.mark.parametrize(
    ("text", "inner", "index", "array"),
    [
        ("x[i]", "", "i", "x"),
        ("y = a.b[i + 1, :] * 2", "a.b[i + 1, :]", "i + 1, :", "a.b"),
        ("x.at[i].set(0.0)", "", "i", "x"),
        ("x.at[i].set(0.0)", ".set(0.0)", "i", "x"),
        ("é = x[ü + 1]", "x[ü + 1]", "ü + 1", "x"),
        ("lax.dynamic_slice(x, (i, 0), (1, 2))", "", "(i, 0)", "x"),
        ("dynamic_update_slice(x, u, (i,))", "", "(i,)", "x"),
        ("jnp.take(x, i * 2, axis=0)", "", "i * 2", "x"),
        ("f(x)[j][i]", "", "i", "f(x)[j]"),
        ("jax.ops.segment_sum(x, i, 4)", "", "i", ""),
    ],
)
def test_what_is_marked(tmp_path: Path, text: str, inner: str, index: str, array: str) -> None:
    assert marked(tmp_path, text, inner) == (index, array)


@pytest.mark.parametrize("text", ["f(x, i)", "jnp.take(*args)", "jnp.take(x)", "x + i", "x[i"])
def test_what_is_not(tmp_path: Path, text: str) -> None:
    assert marked(tmp_path, text) is None


def test_what_was_read_back_is_taken_as_it_is() -> None:
    span = Span(3, 1, 3, 2)
    assert index_of(Location("/gone.py", 3, "f", "x[i]", None, span)) == span
    assert index_of(Location("/gone.py", 3, "f", "x[i]", Span(3, 0, 3, 4))) is None
    assert index_of(Location("", 0, "", "")) is None
