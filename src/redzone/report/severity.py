"""How bad a finding is, and which known weakness it is, in the words other tools use."""

from __future__ import annotations

from redzone.report.codes import CODES
from redzone.report.model import Access, Verdict

#: Verdicts that are told, with the level of SARIF and of GitHub.
LEVELS = {
    Verdict.UNSAFE: ("error", "error"),
    Verdict.UNKNOWN: ("warning", "warning"),
    Verdict.REQUIRES: ("note", "notice"),
}
#: The Common Weakness Enumeration, as far as rules speak of it.
WEAKNESSES = {
    119: "Improper Restriction of Operations within the Bounds of a Memory Buffer",
    125: "Out-of-bounds Read",
    190: "Integer Overflow or Wraparound",
    193: "Off-by-one Error",
    787: "Out-of-bounds Write",
}
_BY_RULE = {"RZ301": (190,), "RZ302": (190,), "RZ303": (193,), "RZ304": (193,)}


def weaknesses_of(code: str) -> tuple[int, ...]:
    """The CWE numbers of a rule; none for those about the checker itself."""
    if code in _BY_RULE:
        return _BY_RULE[code]
    name = CODES[code].name if code in CODES else ""
    if code.startswith("RZ1") or "read" in name:
        return (125,)
    if code.startswith("RZ2") or "write" in name:
        return (787,)
    return (119,) if code.startswith(("RZ4", "RZ5")) else ()


def is_off_by_one(access: Access) -> bool:
    """Whether an unsafe access passes an end of its array by a single position."""
    if access.verdict is not Verdict.UNSAFE:
        return False
    for bounds in access.bounds:
        numbers = (bounds.lo, bounds.hi, bounds.min, bounds.max)
        if all(type(n) is int for n in numbers) and (bounds.hi == bounds.max + 1 or bounds.lo == bounds.min - 1):
            return True
    return False
