"""What is compiled says of its constants that they are final, and runs as its source does."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hatch_finals import FUTURE, with_finals

ROOT = Path(__file__).resolve().parent.parent


def written(text: str, *compiled: str) -> list[str]:
    """What becomes of the lines below the first."""
    text = f"{FUTURE}\n{textwrap.dedent(text).strip()}\n"
    first, *rest = with_finals(text, frozenset(compiled)).splitlines()
    assert first == f"{FUTURE}; from typing import Any, Final"
    assert len(rest) + 1 == len(text.splitlines())
    return rest


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("MOST = 3", "MOST: Final = 3"),
        ("_KNOWN: dict[int, str] = {}", "_KNOWN: Final[dict[int, str]] = {}"),
        ("LOW, HIGH = 1, (2)", "LOW: Final = 1; HIGH: Final = 2"),
        ("A, B = map(f, x)", "A_ALL: Any = tuple(map(f, x)); A: Final[Any] = A_ALL[0]; B: Final[Any] = A_ALL[1]"),
        ("Pair = tuple[int, int]", "Pair = tuple[int, int]"),
        ("A = B = 1", "A = B = 1"),
    ],
)
def test_constants(line: str, becomes: str) -> None:
    assert written(line) == [becomes]


def test_what_is_bound_again_is_none() -> None:
    assert written("A = 1\nA = 2") == ["A = 1", "A = 2"]
    assert written("A = 1\ndef f(A): return A") == ["A = 1", "def f(A): return A"]


def test_attributes_of_numpy_in_functions() -> None:
    assert written(
        """
        import numpy as np
        def f(x: np.ndarray, y=np.inf):
            return np.sum(x) + len(f"{np.pi}")
        """
    ) == [
        "import numpy as np; np_sum_: Final = np.sum",
        "def f(x: np.ndarray, y=np.inf):",
        '    return np_sum_(x) + len(f"{np.pi}")',
    ]


def test_names_of_modules_that_are_not_compiled() -> None:
    lines = """
        from redzone.frontend.trace import Input, trace
        from redzone.domains import Fact
        from redzone.domains.fact import join
        def f(x: Input):
            return Input(trace(Fact(join)), set[Input]())
        """
    assert written(lines, "redzone.domains.fact") == [
        "from redzone.frontend.trace import Input, trace; Input_: Final = Input; trace_: Final = trace",
        "from redzone.domains import Fact",
        "from redzone.domains.fact import join",
        "def f(x: Input):",
        "    return Input_(trace_(Fact(join)), set[Input]())",
    ]


def test_lines_stay() -> None:
    lines = "A, B = (\n    1,\n    2,\n)\ndef f():\n    return 1 / 0"
    assert written(lines)[-1] == "    return 1 / 0"
    names: dict[str, object] = {}
    exec(with_finals(f"{FUTURE}\n{lines}\n", frozenset()), names)
    assert (names["A"], names["B"]) == (1, 2)


@pytest.mark.parametrize("path", sorted((ROOT / "src" / "redzone" / "domains").glob("*.py")), ids=lambda p: p.stem)
def test_it_is_still_a_program(path: Path) -> None:
    compile(with_finals(path.read_text(), frozenset()), str(path), "exec")
