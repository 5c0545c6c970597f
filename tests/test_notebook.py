"""`%load_ext redzone` in a real IPython shell."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

with warnings.catch_warnings():
    # IPython's own imports may warn; that is no fault of ours.
    warnings.simplefilter("ignore")
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output
    from traitlets.config import Config

Cell = Callable[[str], "Shown"]


class Shown:
    """What a cell came to: printed text, and the HTML of what it displayed."""

    def __init__(self, result: Any, captured: Any) -> None:
        self.result = result.result
        self.error = result.error_in_exec or result.error_before_exec
        self.printed = captured.stdout
        self.html = [o.data["text/html"] for o in captured.outputs if "text/html" in o.data]

    def only(self) -> str:
        assert len(self.html) == 1, self.html
        return str(self.html[0])


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        yield one
        InteractiveShell.clear_instance()


@pytest.fixture
def cell(shell: InteractiveShell) -> Iterator[Cell]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shell.reset(new_session=False)
        shell.user_ns["__name__"] = "__main__"

        def run(text: str) -> Shown:
            with capture_output() as captured:
                result = shell.run_cell(textwrap.dedent(text).strip())
            return Shown(result, captured)

        run("%load_ext redzone")
        run("%reload_ext redzone")
        run("import jax, jax.numpy as jnp, redzone\nx, i = jnp.zeros(16), jnp.zeros(4, int)")
        yield run


def test_a_report_shows_itself(cell: Cell) -> None:
    shown = cell("redzone.check(lambda x, i: x[jnp.clip(i, 0, 16)], x, i)")
    assert "1 access leaves its array" in shown.result._repr_html_()


def test_jitted_functions_that_are_called(cell: Cell) -> None:
    shown = cell(
        """
        %%redzone
        @jax.jit
        def bad(x, i):
            return x[jnp.clip(i, 0, 16)]
        y = bad(x, i)
        y.shape
        """
    )
    assert shown.error is None
    html = shown.only()
    assert "1 access leaves its array" in html and "RZ101" in html
    assert "<mark>x[</mark><mark><mark>jnp.clip(i, 0, 16)</mark></mark><mark>]</mark>" in html
    assert "this notebook, line 3" in html
    assert "(4,)" in shown.printed
    assert cell("_redzone[0].name").result == "bad"


def test_functions_of_the_notebook_that_are_given_arrays(cell: Cell) -> None:
    cell("def own(x, k): return x[k]\ndef plain(n): return n + 1")
    shown = cell("%%redzone\nplain(3)\nown(x, i)\njnp.sum(x)\nlen([1])\nown(x, i)")
    assert "own" in shown.only() and "-16 ≤ k ≤ 15" in shown.only()
    assert len(cell("%%redzone\nfor n in (3, 4):\n    own(x[:n], i)").html) == 2


def test_functions_that_say_their_shapes(cell: Cell) -> None:
    shown = cell(
        """
        %%redzone
        @redzone.example(redzone.Spec((8,), "float32"), redzone.Spec((), "int32", min=0, max=8))
        def pick(x, k):
            return x[k]
        def says_nothing(x):
            return x
        """
    )
    assert "pick" in shown.only() and "1 access leaves its array" in shown.only()


def test_calls_inside_other_calls_and_functions(cell: Cell) -> None:
    shown = cell("%%redzone\nz = jax.jit(lambda x, k: x[k])(jnp.ones(3), jnp.clip(i, 0, 2))")
    assert len(shown.html) == 1


def test_the_cell_runs_as_it_would(cell: Cell) -> None:
    shown = cell(
        """
        %%redzone
        class A:
            def __init__(self): super().__init__()
        a = A()
        print(sorted(vars(a)), *'ab', sep='-')
        """
    )
    assert shown.error is None and shown.printed == "[]-a-b\n" and shown.html == []
    shown = cell("%%redzone\nimport math\nmath.sqrt(-1)")
    assert isinstance(shown.error, ValueError) or "ValueError" in shown.printed
    assert shown.html == []
    assert cell("'__redzone_call__' in globals()").result is False


def test_numbers_that_are_static(cell: Cell) -> None:
    cell("import functools\n@functools.partial(jax.jit, static_argnums=1)\ndef first(x, n): return x[jnp.arange(n)]")
    assert "Every access stays inside its array" in cell("%%redzone\nfirst(x, 3)").only()


def test_what_cannot_be_checked_is_told(cell: Cell) -> None:
    cell("def branches(x):\n    return x if float(x[0]) > 0 else -x")
    shown = cell("%%redzone\nbranches(x)")
    assert "branches was not checked: " in shown.only()


def test_options(cell: Cell) -> None:
    cell("def own(x, k): return x[k]\ndef fine(x): return x[jnp.arange(3)]")
    assert cell("%%redzone --quiet\nfine(x)").html == []
    cell("%%redzone --witness\nown(x, i)")
    assert cell("_redzone[0].accesses[0].known_witness is not None").result is True
    shown = cell("%%redzone --loud\nfine(x)")
    assert shown.error is not None or "does not know --loud" in shown.printed


def test_one_call_that_is_not_made(cell: Cell) -> None:
    cell("made = []\ndef own(x, k):\n    made.append(1)\n    return x[k]")
    report = cell("%redzone own(x, k=i)").result
    assert report.counts()["requires"] == 1
    assert cell("r = %redzone own(x, i)\nr.ok").result is True
    for wrong in ("%redzone", "%redzone own", "%redzone own(x"):
        shown = cell(wrong)
        assert shown.error is not None or "write the call to check" in shown.printed
