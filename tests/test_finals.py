"""What is compiled says of its constants that they are final, and runs as its source does."""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from hatch_build import sources
from hatch_finals import FUTURE, with_finals

ROOT = Path(__file__).resolve().parent.parent


def written(text: str, *compiled: str) -> list[str]:
    """What becomes of the lines below the first."""
    text = f"{FUTURE}\n{textwrap.dedent(text).strip()}\n"
    first, *rest = with_finals(text, frozenset(compiled)).splitlines()
    assert first == f"{FUTURE}; from typing import Final"
    assert len(rest) + 1 == len(text.splitlines())
    return rest


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


def test_what_is_bound_again_is_none() -> None:
    lines = ["import numpy as np", "def f(np):", "    return np.pi"]
    assert written("\n".join(lines)) == lines


def test_lines_stay() -> None:
    lines = "from math import (\n    inf,\n    pi,\n)\nimport numpy as np\ndef f():\n    return np.pi"
    assert written(lines)[-1] == "    return np_pi_"


def constants(path: Path) -> list[ast.Assign | ast.AnnAssign]:
    """What a module binds to names in capitals, once each."""
    body = ast.parse(path.read_text()).body
    bound = [one for one in body if isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign)]
    names = Counter(name for one in bound for name in names_of(one))
    plain = [one for one in bound if not isinstance(one, ast.AugAssign) and one.value is not None]
    return [one for one in plain if any(name.isupper() and names[name] == 1 for name in names_of(one))]


def names_of(one: ast.stmt) -> list[str]:
    """The names that a statement binds something to."""
    return [name.id for name in ast.walk(one) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]


@pytest.mark.parametrize("path", sources(), ids=lambda p: f"{p.parent.name}.{p.stem}")
def test_constants_are_final(path: Path) -> None:
    """Of one that does not say so the compiled core looks up the name each time."""
    for one in constants(path):
        said = ast.unparse(one.annotation) if isinstance(one, ast.AnnAssign) else ""
        assert said.startswith("Final"), ast.unparse(one)


@pytest.mark.parametrize("path", sorted((ROOT / "src" / "redzone" / "domains").glob("*.py")), ids=lambda p: p.stem)
def test_it_is_still_a_program(path: Path) -> None:
    compile(with_finals(path.read_text(), frozenset()), str(path), "exec")
