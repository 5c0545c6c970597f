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
import warnings
from typing import Any

import jax

from redzone.access.site import Site
from redzone.frontend import compat

_JAX = os.path.dirname(os.path.abspath(jax.__file__))
_MODE = re.compile(r"\bmode\s*=|\bfill_value\s*=")
_CLIP = re.compile(r"""\bmode\s*=\s*(["']clip["']|\S*\bCLIP\b)""")
_NAMED = re.compile(r"\bmode\s*=\s*(?!None\b)[A-Za-z_]")
_FILL = re.compile(r"""\bmode\s*=\s*(["'](fill|drop)["']|\S*\bFILL_OR_DROP\b)""")

#: Routines whose documentation says that what falls outside is dropped, clipped or filled.
ROUTINES = frozenset(
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


def declared_by(site: Site) -> str:
    """The words that say what happens outside, or an empty string."""
    if site.effect == "read" and _reads_back(site):
        return "jax's derivative of a scatter, which looks up who wrote last and drops again what the scatter dropped"
    if site.mode in ("clip", "clamp"):
        # x.at[i].get(mode="clip") with a scalar i becomes a dynamic slice, and vmap makes a dynamic slice
        # a gather in mode clip: only the words count.
        # What a write that clips was told by a name can only be that.
        named = site.effect == "write" and site.mode == "clip" and _says(site, _NAMED)
        said = named or _says(site, _CLIP) or _written_in_jax(site, _CLIP)
        return "mode='clip'" if said else ""
    if site.mode not in ("fill", "drop"):
        return ""
    routine = _routine(site)
    if routine:
        return f"jax's {routine}, documented to {site.mode} what lies outside"
    return f"mode='{site.mode}'" if _says(site, _MODE) or _written_in_jax(site, _FILL) else ""


def _reads_back(site: Site) -> bool:
    """Whether a read is one of JAX's own, in the derivative of a scatter: what is written twice goes to the last."""
    for file, _, function in compat.all_frames(site.eqn.source_info):
        if not file.startswith(_JAX):
            return False
        if function.split(".")[-1] == "_scatter_jvp":
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
        for file, _, function in frames:
            if not file.startswith(_JAX):
                return ""
            if function.split(".")[-1] in ROUTINES:
                return function.split(".")[-1]
        if frames:
            own = False
    return ""


def _written_by_user(eqn: Any) -> bool:
    return bool(compat.user_frames(eqn.source_info))


def _says(site: Site, words: re.Pattern[str]) -> bool:
    """Whether the user's statement has these words; asked only where the lines around have them."""
    for eqn in (site.eqn, *site.chain):
        frames = compat.user_frames(eqn.source_info)
        if frames:
            file, line, _ = frames[0]
            return _found(file, line, words, True)
    return False


def _written_in_jax(site: Site, words: re.Pattern[str]) -> bool:
    """Whether JAX's own code between the user's line and the access says so."""
    for file, line, _ in compat.all_frames(site.eqn.source_info):
        if not file.startswith(_JAX):
            return False
        if not file.endswith(("slicing.py", "indexing.py")) and _found(file, line, words, False):
            return True
    return False


#: By file: its lines, and what was found on them.
_looked_at: dict[str, tuple[list[str], dict[Any, bool]]] = {}


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
_REACH = 12


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError):
        return False
    return len(tree.body) == 1 and not hasattr(tree.body[0], "body")
