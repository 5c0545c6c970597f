"""Source excerpts: labels stand under what they are about, at any width."""

from __future__ import annotations

import pytest

from redzone.report.excerpt import Excerpt, Label, array_on_line, on_line
from redzone.report.place import Location, Span
from redzone.report.text import as_plain


def shown(text: str, *labels: Label, width: int = 80) -> str:
    return as_plain(Excerpt(7, text, labels), width)


def at(text: str, part: str, label: str, mark: str = "^") -> Label:
    start = text.index(part)
    return Label(start, start + len(part), label, "red", mark)


LINE = "    y = table[row] + 1"


def test_a_label_beside_its_mark() -> None:
    assert shown(LINE, at(LINE, "row", "is 0 … 16")) == "\n".join(
        [
            "  |",
            "7 | y = table[row] + 1",
            "  |           ^^^ is 0 … 16",
        ]
    )


def test_two_labels() -> None:
    assert shown(LINE, at(LINE, "table", "f32[16]", "-"), at(LINE, "row", "is 0 … 16")) == "\n".join(
        [
            "  |",
            "7 | y = table[row] + 1",
            "  |     ----- ^^^ is 0 … 16",
            "  |     |",
            "  |     f32[16]",
        ]
    )


def test_a_label_that_does_not_fit_beside_goes_below() -> None:
    long = "is " + "9" * 40
    assert shown(LINE, at(LINE, "table", "f32[16]", "-"), at(LINE, "row", long), width=60) == "\n".join(
        [
            "  |",
            "7 | y = table[row] + 1",
            "  |     ----- ^^^",
            "  |     |     |",
            f"  |     |     {long}",
            "  |     f32[16]",
        ]
    )


def test_no_labels() -> None:
    assert shown("x") == "  |\n7 | x\n  |"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_mark_far_to_the_right_is_moved_into_view(width: int) -> None:
    text = "value = " + "some_function(" * 12 + "table[row]" + ")" * 12
    lines = shown(text, at(text, "row", "is 0 … 16"), width=width).splitlines()
    assert all(len(line) <= width for line in lines)
    column = lines[2].index("^^^")
    assert lines[1][column : column + 3] == "row"
    assert lines[1].startswith("7 | …")


def test_wide_characters_and_tabs_keep_their_columns() -> None:
    text = "\t名 = x[i]"
    lines = shown(text, at(text, "i", "here")).splitlines()
    assert lines[1] == "7 | 名 = x[i]"
    assert lines[2] == "  |        ^ here"


def test_the_part_on_a_line() -> None:
    text = "  x[a +"
    assert on_line(Span(3, 4, 4, 9), 3, text) == (4, 7)
    assert on_line(Span(2, 4, 3, 5), 3, text) == (2, 5)
    assert on_line(Span(3, 4, 3, 99), 3, text) is None
    assert on_line(Span(4, 0, 4, 1), 3, text) is None
    assert on_line(None, 3, text) is None


@pytest.mark.parametrize(
    ("text", "start", "index", "array"),
    [
        ("y = x[i]", 4, 6, "x"),
        ("x.at[i].set(0)", 0, 5, "x"),
        ("a.b [ i]", 0, 6, "a.b"),
        ("take(x, i)", 0, 8, None),
    ],
)
def test_the_array_on_a_line(text: str, start: int, index: int, array: str | None) -> None:
    place = Location("m.py", 1, "f", text, Span(1, start, 1, len(text)))
    found = array_on_line(place, Span(1, index, 1, index + 1), 1, text)
    assert (None if found is None else text[slice(*found)]) == array
