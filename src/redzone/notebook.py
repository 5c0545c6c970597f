"""`%load_ext redzone`: `%%redzone` checks what a cell calls, `%redzone f(x)` checks one call without making it."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import HTML, display

from redzone.frontend.targets import targets_of
from redzone.frontend.trace import CannotCheck
from redzone.report.model import Report

_HOOK = "__redzone_call__"
_OPTIONS = "--witness (show inputs that break conditions), --quiet (show only reports with something to do)"
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def load(shell: InteractiveShell) -> None:
    """Register the magics with a shell."""
    shell.register_magic_function(Magic(shell).redzone, magic_kind="line_cell", magic_name="redzone")


class Magic:
    """`%%redzone` and `%redzone` of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def redzone(self, line: str, cell: str | None = None) -> Report | None:
        """Check what a cell calls, or one call.

        %%redzone [--witness] [--quiet]: runs the cell as it is, then checks (a) every function it defines that says
        its shapes, by @redzone.example or jaxtyping annotations, and (b) every call at the cell's own level of a
        function that is jitted, or that was written in this notebook and is given an array. The reports are shown
        below the cell's own output and kept in `_redzone`.

        %redzone f(x, i): checks that call without making it, and returns the report.
        """
        if cell is None:
            return self.one_call(line)
        options = set(shlex.split(line))
        if not options <= {"--witness", "--quiet"}:
            wrong = ", ".join(sorted(options - {"--witness", "--quiet"}))
            raise UsageError(f"%%redzone does not know {wrong}; it knows {_OPTIONS}")
        reports = list(self.checked(cell))
        self.shell.user_ns["_redzone"] = reports
        for report in reports:
            if "--witness" in options:
                for cause in report.causes():
                    _ = cause.witness  # found once, it is shown
            if "--quiet" not in options or report.findings or report.lints:
                display(report)
        return None

    def one_call(self, line: str) -> Report:
        """The report of a call that is written out but not made."""
        try:
            tree = ast.parse(line.strip(), mode="eval").body
        except SyntaxError:
            tree = None
        if not isinstance(tree, ast.Call):
            raise UsageError("write the call to check, as in %redzone f(x, i); or %%redzone above a cell")
        record: list[Call] = []
        self.shell.user_ns[_HOOK] = lambda fn, *args, **kwargs: record.append((fn, args, kwargs))
        try:
            call = ast.Expression(_hooked(tree))
            eval(compile(ast.fix_missing_locations(call), "<call>", "eval"), self.shell.user_ns)
        finally:
            del self.shell.user_ns[_HOOK]
        try:
            return _report(*record[0])
        except CannotCheck as error:
            raise UsageError(str(error)) from None

    def checked(self, cell: str) -> Iterator[Report]:
        """Run the cell, and check what it defined and what it called."""
        calls: list[Call] = []

        def call(fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            if _is_checked(fn, args, kwargs):
                calls.append((fn, args, kwargs))
            return fn(*args, **kwargs)

        watching = _Calls()
        self.shell.user_ns[_HOOK] = call
        self.shell.ast_transformers.append(watching)
        try:
            result = self.shell.run_cell(cell, store_history=False)
        finally:
            self.shell.ast_transformers.remove(watching)
            self.shell.user_ns.pop(_HOOK, None)
        if not result.success:
            return
        yield from _defined(self.shell, watching.defined)
        seen = set()
        for fn, args, kwargs in calls:
            key = (id(fn), _shapes((args, kwargs)))
            if key not in seen:
                seen.add(key)
                try:
                    yield _report(fn, args, kwargs)
                except Exception as error:  # the cell itself is done, and its result stands
                    _note(f"{_name(fn)} was not checked: {_why(error)}")


class _Calls(ast.NodeTransformer):
    """Sends the calls at a cell's own level through the hook, and notes the names it defines."""

    def __init__(self) -> None:
        self.defined: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.defined.append(node.name)
        return node  # what happens inside a function is part of checking it

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.defined += [target.id for target in node.targets if isinstance(target, ast.Name)]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        # super() and the like look at who calls them.
        if isinstance(node.func, ast.Name) and node.func.id in (
            "super",
            "locals",
            "globals",
            "vars",
            "dir",
            "eval",
            "exec",
        ):
            return node
        return _hooked(node)


def _hooked(node: ast.Call) -> ast.Call:
    hook = ast.copy_location(ast.Name(_HOOK, ast.Load()), node.func)
    return ast.copy_location(ast.Call(hook, [node.func, *node.args], node.keywords), node)


def _is_checked(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """A jitted function, or one of this notebook's own that is given an array; what is JAX's own is not."""
    home = str(getattr(fn, "__module__", None) or "")
    if hasattr(fn, "lower") and hasattr(fn, "__wrapped__"):
        return home.partition(".")[0] not in ("jax", "jaxlib")
    own = home == "__main__" and type(fn) is type(_is_checked)
    return own and any(_is_array(leaf) for leaf in _leaves((args, kwargs)))


def _report(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
    """The report of a call; Python numbers that the function must know are taken as they are."""
    import redzone

    try:
        return redzone.check(fn, *args, **kwargs)
    except CannotCheck as error:
        fixed = {k: a for k, a in enumerate(args) if isinstance(a, int | float | bool | str)}
        named = {k: a for k, a in kwargs.items() if isinstance(a, int | float | bool | str)}
        if not fixed and not named:
            raise
        rest = [a for k, a in enumerate(args) if k not in fixed]

        def bound(*values: Any, **others: Any) -> Any:
            left = iter(values)
            return fn(*(fixed[k] if k in fixed else next(left) for k in range(len(args))), **named, **others)

        bound.__name__ = bound.__qualname__ = _name(fn)
        try:
            return redzone.check(bound, *rest, **{k: a for k, a in kwargs.items() if k not in named})
        except CannotCheck:
            raise error from None


def _defined(shell: InteractiveShell, names: list[str]) -> Iterator[Report]:
    """The reports of the functions a cell defined that say their shapes."""
    import redzone

    for name in dict.fromkeys(names):
        value = shell.user_ns.get(name)
        try:
            for target in targets_of(name, value):
                report = redzone.check(target.fn, *target.args, **target.kwargs)
                report.name = target.name
                yield report
        except Exception as error:
            _note(f"{name} was not checked: {_why(error)}")


def _note(text: str) -> None:
    from markupsafe import escape

    display(HTML(f"<pre>{escape(text)}</pre>"))


def _why(error: Exception) -> str:
    from redzone.frontend.failures import explained

    return str(error) if isinstance(error, CannotCheck) else explained(error)


def _name(fn: Any) -> str:
    return str(getattr(fn, "__name__", None) or type(fn).__name__)


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _leaves(tree: Any) -> list[Any]:
    import jax

    return jax.tree_util.tree_leaves(tree)


def _shapes(tree: Any) -> tuple[Any, ...]:
    return tuple((x.shape, str(x.dtype)) if _is_array(x) else repr(x)[:80] for x in _leaves(tree))
