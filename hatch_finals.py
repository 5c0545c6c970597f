"""Names from elsewhere that mypyc keeps in C (hatch_build.py): all others it looks up, each time they are used.

Finding a name in a module's dictionary costs as much as what is then done with it, and an attribute of a module, as
`np.ndarray`, twice that. A module's own constants say `Final` in the source (tests/test_finals.py); what is imported
cannot say it there, so the copies that are compiled bind it once more, as a constant of their own.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterator

FUTURE = "from __future__ import annotations"
#: What is indexed by a type when it runs, and not only in annotations: `set[int]()`.
_GENERIC = frozenset({"dict", "frozenset", "list", "set", "tuple", "type"})


def with_finals(text: str, compiled: frozenset[str]) -> str:
    """The text of a module that is compiled together with these others, with what it imports Final; lines stay."""
    source = _Source(text, compiled)
    source.imported()
    return source.edited()


class _Source:
    """One module, and what of its text is replaced."""

    def __init__(self, text: str, compiled: frozenset[str]) -> None:
        self.text = text.encode()
        self.compiled = compiled
        self.tree = ast.parse(text)
        self.starts = [0, *itertools.accumulate(map(len, self.text.splitlines(keepends=True)))]
        self.edits: list[tuple[int, int, str]] = []
        self.bound = Counter(_bound(self.tree))
        """By name: how often anything in the module is bound to it."""

    def imported(self) -> None:
        """What functions use of numpy, and of modules of ours that are not compiled."""
        numpy, names = dict[str, ast.stmt](), dict[str, ast.stmt]()
        for node in self.tree.body:
            if isinstance(node, ast.Import) and node.names[0].name == "numpy":
                numpy |= self.bound_once(node)
            elif isinstance(node, ast.ImportFrom) and self.is_left(node.module or ""):
                names |= self.bound_once(node)
        used: dict[ast.stmt, set[str]] = {}
        for inner in _run_later(self.tree):
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id in numpy:
                self.replace(inner, inner, f"{inner.value.id}_{inner.attr}_")
                used.setdefault(numpy[inner.value.id], set()).add(f"{inner.value.id}.{inner.attr}")
            elif isinstance(inner, ast.Name) and inner.id in names:
                self.replace(inner, inner, f"{inner.id}_")
                used.setdefault(names[inner.id], set()).add(inner.id)
        for node, what in used.items():
            finals = [f"; {name.replace('.', '_')}_: Final = {name}" for name in sorted(what)]
            self.replace(node, node, ast.unparse(node) + "".join(finals))

    def bound_once(self, node: ast.Import | ast.ImportFrom) -> dict[str, ast.stmt]:
        return {name: node for one in node.names if self.bound[name := one.asname or one.name] == 1}

    def is_left(self, module: str) -> bool:
        """Whether a module of ours is not compiled, nor passes on what is."""
        return module.startswith("redzone.") and not any(f"{one}.".startswith(f"{module}.") for one in self.compiled)

    def replace(self, first: ast.expr | ast.stmt, last: ast.expr | ast.stmt, text: str) -> None:
        """Put text in the place of some nodes, on as many lines."""
        begin = self.starts[first.lineno - 1] + first.col_offset
        end = self.starts[(last.end_lineno or last.lineno) - 1] + (last.end_col_offset or 0)
        self.edits.append((begin, end, text + "\\\n" * self.text[begin:end].count(b"\n")))

    def edited(self) -> str:
        text = self.text
        for begin, end, new in sorted(self.edits, reverse=True):
            text = text[:begin] + new.encode() + text[end:]
        return text.decode().replace(FUTURE, f"{FUTURE}; from typing import Final", 1)


def _bound(tree: ast.Module) -> Iterator[str]:
    """Every name that something is bound to, as often as that is written down."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (one.asname or one.name for one in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name


def _run_later(tree: ast.Module) -> Iterator[ast.AST]:
    """What functions run: no annotations, decorators or defaults; nor what is in f-strings, whose places are vague."""
    waiting: list[ast.AST] = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            waiting += node.body
        elif isinstance(node, ast.ClassDef):
            waiting += [one for one in node.body if isinstance(one, ast.FunctionDef)]
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in _GENERIC:
            continue
        elif not isinstance(node, ast.JoinedStr):
            yield node
            annotation = getattr(node, "annotation", None)
            waiting += [inner for inner in ast.iter_child_nodes(node) if inner is not annotation]
