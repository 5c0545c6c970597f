"""`# redzone: ignore` comments: what they silence, and when they are reported themselves."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redzone.report import suppress
from redzone.report.model import Access, Location, Suppression, Verdict
from tests.report.samples import access, requires, unsafe

SOURCE = """\
def f(x, i):
    a = x[i]  # redzone: ignore[RZ101]
    b = x[i]  # redzone: ignore
    c = x[i]  # redzone: ignore[RZ201, RZ102] the caller checks
    d = "# redzone: ignore"
    return a + b + c

def g(x, i):
    return x[i]  # redzone: ignore
"""


@pytest.fixture
def place(tmp_path: Path) -> Callable[[int], Location]:
    file = tmp_path / "source.py"
    file.write_text(SOURCE)
    linecache.checkcache()
    return lambda line: Location(str(file), line, "f", linecache.getline(str(file), line).strip())


def _run(file: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(Path(file).read_text(), file, "exec"), names)
    return names


def _lines(comments: tuple[Suppression, ...], used: bool) -> list[int]:
    return [s.location.line for s in comments if s.used is used]


@pytest.mark.parametrize(
    ("line", "item", "silenced"),
    [
        (2, unsafe, True),
        (2, requires, False),
        (3, unsafe, True),
        (3, requires, True),
        (4, requires, True),
        (4, unsafe, False),
        (5, unsafe, False),
        (6, unsafe, False),
    ],
)
def test_which_accesses_a_comment_silences(
    place: Callable[[int], Location], line: int, item: Callable[..., Access], silenced: bool
) -> None:
    one = item(_location=place(line))
    suppress.apply([one])
    assert one.suppressed is silenced
    assert one.is_finding is (one.verdict is Verdict.UNSAFE and not silenced)


def test_a_comment_on_a_safe_line_is_unused(place: Callable[[int], Location]) -> None:
    comments = suppress.apply([access(_location=place(2)), unsafe(_location=place(3))])
    assert _lines(comments, used=False) == [2]
    assert _lines(comments, used=True) == [3]


def test_comments_in_the_body_count_even_without_an_access(place: Callable[[int], Location]) -> None:
    f = _run(place(1).file)["f"]
    comments = suppress.apply([unsafe(_location=place(2))], f)
    assert _lines(comments, used=True) == [2]
    assert _lines(comments, used=False) == [3, 4]  # line 9 belongs to g, which is not checked here


def test_a_comment_used_by_any_check_is_used() -> None:
    here = Location("m.py", 3, "", "x")
    unused, used = Suppression(here, (), False), Suppression(here, (), True)
    assert suppress.unused([unused, used]) == ()
    assert suppress.unused([used, unused]) == ()
    assert suppress.unused([unused, unused]) == (unused,)


def test_complaints() -> None:
    here = Location("m.py", 3, "", "x")
    assert "'# redzone: ignore[RZ101]' silences nothing" in suppress.complaint(Suppression(here, ("RZ101",), False))
    assert suppress.complaint(Suppression(here, ("RZ999",), False)).startswith("no rule is called RZ999")


def test_no_source_no_comments() -> None:
    nowhere = unsafe(_location=Location("", 0, "", ""))
    assert suppress.apply([nowhere], len) == ()
    assert not nowhere.suppressed


def test_safe_locations_are_not_asked_for_without_comments() -> None:
    def where() -> Location:
        raise AssertionError("asked for")

    assert suppress.apply([access(_location=where)]) == ()


def test_a_file_that_does_not_tokenize(tmp_path: Path) -> None:
    file = tmp_path / "cell.py"
    file.write_text("x = y[i]  # redzone: ignore\nz = (\n")
    one = unsafe(_location=Location(str(file), 1, "f", ""))
    suppress.apply([one])
    assert one.suppressed


def test_a_file_that_gets_a_comment_later(tmp_path: Path) -> None:
    file = tmp_path / "later.py"
    for text, silenced in (("x[i]\n", False), ("x[i]  # redzone: ignore\n", True), ("x[i] \n", False)):
        file.write_text(text)
        linecache.checkcache(str(file))
        item = unsafe(_location=Location(str(file), 1, "f", "x[i]"))
        suppress.apply([item])
        assert item.suppressed is silenced
