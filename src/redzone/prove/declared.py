"""Does the program say in so many words what happens outside the array?

`mode="clip"` shows in the jaxpr. A scatter's default and an explicit `mode="drop"` do not differ
there, nor do `jnp.take`'s default and `mode="fill"`: the source statement tells them apart. JAX's own
routines that are documented to drop or fill are known by their frames.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import textwrap
import types
import warnings
from typing import Any, Final

import jax

from redzone.access.site import Site
from redzone.access.sparse import PADDING
from redzone.frontend import compat
from redzone.report.marks import characters
from redzone.report.place import Span

_JAX: Final = os.path.dirname(os.path.abspath(jax.__file__))
_MODE: Final = re.compile(r"\bmode\s*=\s*(?!None\b|=)|\bfill_value\s*=")
_CLIP: Final = re.compile(r"""\bmode\s*=\s*(["']clip["']|\S*\bCLIP\b)""")
_FILL: Final = re.compile(r"""\bmode\s*=\s*(["'](fill|drop)["']|\S*\bFILL_OR_DROP\b)""")

#: What `_CLIP` and `_FILL` look for.
_MODES: Final = frozenset({"clip", "CLIP", "fill", "drop", "FILL_OR_DROP"})

#: Routines whose documentation says that what falls outside is dropped, clipped or filled.
ROUTINES: Final = frozenset(
    {
        "segment_sum",
        "segment_prod",
        "segment_min",
        "segment_max",
        "_scatter_update_segments",
        "_segment_update",
        "nonzero",
        "flatnonzero",
        "argwhere",
        "bincount",
        "unique",
        "unique_values",
        "unique_counts",
        "unique_inverse",
        "unique_all",
        "_unique",
        "repeat",
        "insert",
        "histogram",
        "histogram2d",
        "histogramdd",
        "setdiff1d",
        "intersect1d",
        "union1d",
        "setxor1d",
        "searchsorted",
        "digitize",
        "delete",
        "where",
        "extract",
        "compress",
    }
)


#: By file of JAX's sparse arrays, what is padding there.
_PADDED: Final = {os.path.join(_JAX, "experimental", "sparse", f"{kind}.py"): why for kind, why in PADDING.items()}


def declared_by(site: Site) -> str:
    """The words that say what happens outside, or an empty string."""
    if site.effect == "read" and _reads_back(site):
        return "jax's derivative of a scatter, which looks up who wrote last and drops again what the scatter dropped"
    clips = site.mode in ("clip", "clamp")
    if not clips and site.mode not in ("fill", "drop"):
        return ""
    routine = _routine(site) if not clips else ""
    if routine:
        return f"jax's {routine}, documented to {site.mode} what lies outside"
    padded = _padded(site) if not clips else ""
    if padded:
        return padded
    # x.at[i].get(mode="clip") with a scalar i becomes a dynamic slice, and vmap makes a dynamic slice a gather in mode
    # clip: only the words count. What a write that clips was told by a name can only be that, and so can what any other
    # gather was told.
    words, any_name = (_CLIP, site.mode == "clip" and not _may_be_slice(site)) if clips else (_MODE, True)
    mode = "clip" if clips else site.mode
    said = _says(site, words, any_name) or _written_in_jax(site, _CLIP if clips else _FILL)
    return f"mode='{mode}'" if said else ""


def is_own_word(why: str) -> bool:
    """Whether it is the program itself that says what happens outside, not a routine that it calls."""
    return why.startswith("mode=")


def _may_be_slice(site: Site) -> bool:
    """Whether a read may be a dynamic slice, or what vmap makes of one: it keeps every dimension of its array."""
    return site.effect == "read" and not getattr(site.eqn.params.get("dimension_numbers"), "collapsed_slice_dims", ())


def _reads_back(site: Site) -> bool:
    """Whether a read is one of JAX's own, in the derivative of a scatter: what is written twice goes to the last."""
    for frame in compat.all_frames(site.eqn.source_info):
        if not frame.file.startswith(_JAX):
            return False
        if frame.function == "_scatter_jvp":
            return True
    return False


def _routine(site: Site) -> str:
    own = True
    for eqn in (site.eqn, *site.chain):
        frames = compat.all_frames(eqn.source_info)
        if own and eqn is not site.eqn and eqn.params.get("name") in ROUTINES and not _written_by_user(site.eqn):
            return str(eqn.params["name"])
        high = type(eqn.params.get("_prim")).__name__.lower()
        if high in ROUTINES:
            return high
        for frame in frames:
            if not frame.file.startswith(_JAX):
                return ""
            if frame.function in ROUTINES:
                return frame.function
        if frames:
            own = False
    return ""


def _padded(site: Site) -> str:
    """The kind of sparse array whose padding an access drops."""
    for eqn in (site.eqn, *site.chain):
        for frame in compat.all_frames(eqn.source_info):
            if frame.file in _PADDED:
                return _PADDED[frame.file]
            if not frame.file.startswith(_JAX):
                return ""
    return ""


def _written_by_user(eqn: Any) -> bool:
    return bool(compat.user_frames(eqn.source_info))


def _says(site: Site, words: re.Pattern[str], any_name: bool) -> bool:
    """Whether the call that made an access has these words, or, with `any_name`, says the mode by a name.

    Where the call is not known, whether the user's statement has the words.
    """
    for eqn in (site.eqn, *site.chain):
        calls = compat.user_calls(eqn.source_info)
        if calls:
            text = _told(calls)
            if text is None:
                file, line, _ = compat.user_frames(eqn.source_info)[0]
                return _found(file, line, words, True)
            return bool(words.search(text)) or (any_name and "mode=" in text)
    return False


#: Keywords that say what happens outside.
_KEYWORDS: Final = frozenset({"mode", "fill_value"})


def _has_keywords(code: types.CodeType) -> bool:
    """Whether anything is called with such a keyword in a function, by what was compiled: its file need not be read."""
    return any(type(names) is tuple and not _KEYWORDS.isdisjoint(names) for names in code.co_consts)


def _told(calls: list[compat.Call]) -> str | None:
    """What the innermost call says of the mode and of what is filled in, as keywords; None where it is not known.

    A name that is a parameter of the function around says what that function's caller says, `None` nothing.
    """
    (file, span, code), *outer = calls
    if span is not None and not _has_keywords(code):
        return ""
    call = _call_at(file, span) if span is not None else None
    if call is None:
        return None
    said = []
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg not in _KEYWORDS or _may_be_none(value):
            continue
        if isinstance(value, ast.Name) and span is not None and _is_none_by_default(file, span[0], value.id):
            handed = _call_at(outer[0].file, outer[0].span) if outer else None
            given = [k.value for k in handed.keywords if k.arg == value.id] if handed is not None else []
            if handed is not None and handed.args and not given:
                given = [a for a in handed.args if isinstance(a, ast.Constant) and type(a.value) is str]
            if not any(not isinstance(v, ast.Constant) or v.value is not None for v in given):
                continue
            value = given[-1]
        said.append(f"{keyword.arg}={ast.unparse(value)}")
    return " ".join(said)


def _may_be_none(value: ast.expr) -> bool:
    """Whether an expression is `None`, or is in one of its cases, which then is as if nothing was said."""
    if isinstance(value, ast.IfExp):
        return _may_be_none(value.body) or _may_be_none(value.orelse)
    return isinstance(value, ast.Constant) and value.value is None


def _is_none_by_default(file: str, line: int, name: str) -> bool:
    """Whether the function around a line has a parameter of this name that is None unless it is given."""
    lines, default = linecache.getlines(file), re.compile(rf"\b{name}\b\s*(:[^=,]*)?=\s*None\b")
    for start in range(min(line, len(lines)) - 1, -1, -1):
        if re.match(r"\s*(async\s+)?def\s|.*\blambda\b", lines[start]):
            return bool(default.search("".join(lines[start : min(start + _REACH, line)])))
    return False


#: By file, line and column and where it ends: the call that stands there.
_calls: Final[dict[tuple[str, compat.Position], tuple[list[str], ast.Call | None]]] = {}
#: An expression that is no call says nothing of modes.
_NO_CALL: Final = ast.Call(ast.Constant(None), [], [])


def _call_at(file: str, span: compat.Position | None) -> ast.Call | None:
    """The call that an expression is; one without keywords for what is no call, None where nothing is known."""
    lines = linecache.getlines(file)
    if span is None or not 0 < span[0] <= span[2] <= len(lines):
        return None
    known = _calls.get((file, span))
    if known is None or known[0] is not lines:
        known = _calls[file, span] = (lines, _parsed(lines, span))
    return known[1]


def _parsed(lines: list[str], span: compat.Position) -> ast.Call | None:
    line, column, end_line, end_column = span
    found = expression(
        lines, Span(line, characters(lines, line, column), end_line, characters(lines, end_line, end_column))
    )
    return found if found is None or isinstance(found, ast.Call) else _NO_CALL


def expression(lines: list[str], span: Span) -> ast.expr | None:
    """The expression that stands at a place in a file's lines; None where none does."""
    text = lines[span.line - 1 : span.end_line]
    if not text:
        return None
    text[-1] = text[-1][: span.end_column]
    text[0] = text[0][span.column :]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(f"({''.join(text)})", mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _written_in_jax(site: Site, words: re.Pattern[str]) -> bool:
    """Whether JAX's own code between the user's line and the access says so."""
    for frame in compat.all_frames(site.eqn.source_info):
        if not frame.file.startswith(_JAX):
            return False
        named = not frame.file.endswith(("slicing.py", "indexing.py")) and _names_mode(frame.code)
        if named and _found(frame.file, frame.line, words, False):
            return True
    return False


def _names_mode(code: types.CodeType) -> bool:
    """Whether a mode is named anywhere in a function, by what was compiled."""
    return not _MODES.isdisjoint(code.co_names) or any(c in _MODES for c in code.co_consts if type(c) is str)


#: By file: its lines, and what was found on them.
_looked_at: Final[dict[str, tuple[list[str], dict[Any, bool]]]] = {}


def _found(file: str, line: int, words: re.Pattern[str], around: bool) -> bool:
    """Whether a line has these words, or, with `around`, the statement it is part of."""
    lines = linecache.getlines(file)
    known = _looked_at.get(file)
    if known is None or known[0] is not lines:
        known = _looked_at[file] = (lines, {})
    key = (line, words, around)
    found = known[1].get(key)
    if found is None:
        near = _REACH if around else 0
        text = "".join(lines[max(line - near - 1, 0) : line + near])
        found = bool(words.search(text) and (not around or words.search(statement_at(file, line))))
        known[1][key] = found
    return found


def statement_at(file: str, line: int) -> str:
    """The source text of the simple statement that a line is part of.

    Only the lines around it are read: parsing a whole library file would take longer than the check.
    """
    for start in range(line, max(line - _REACH, 0), -1):
        for stop in range(line, line + _REACH):
            text = "".join(linecache.getline(file, n) for n in range(start, stop + 1))
            if not text.strip():
                break
            if _parses(text):
                return text
    return linecache.getline(file, line)


#: How many lines a statement may extend before and after the line asked about.
_REACH: Final = 12


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError):
        return False
    return len(tree.body) == 1 and not hasattr(tree.body[0], "body")
