"""Stable rule codes, in families: 1xx reads, 2xx writes, 3xx index arithmetic, 4xx kernels, 5xx opaque calls, 9xx the checker itself."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Code:
    """One rule: its code, a short name, and what it means to a user."""

    code: str
    name: str
    meaning: str
    fix: str


CODES: dict[str, Code] = {
    c.code: c
    for c in (
        Code(
            "RZ101",
            "read-out-of-bounds",
            "A read leaves its array for some input.",
            "Bound the index, or say mode='clip' or mode='fill' if that is meant.",
        ),
        Code(
            "RZ102",
            "read-requires",
            "A read stays inside only under a condition on the inputs.",
            "State the range with redzone.Spec(min=, max=), or validate the input.",
        ),
        Code(
            "RZ103",
            "read-unproved",
            "Nothing could be shown about a read.",
            "Clip the index, or state the range of the inputs it depends on.",
        ),
        Code(
            "RZ104",
            "negative-index-read",
            "A negative sentinel is not left out of a read: it wraps to the end of the array.",
            "Map the sentinel to the array's size and read with mode='fill', or select what was read afterwards.",
        ),
        Code(
            "RZ201",
            "write-out-of-bounds",
            "A write leaves its array for some input; JAX drops or moves it.",
            "Bound the index, or say mode='drop' if that is meant.",
        ),
        Code(
            "RZ202",
            "write-requires",
            "A write stays inside only under a condition on the inputs.",
            "State the range with redzone.Spec(min=, max=), or validate the input.",
        ),
        Code(
            "RZ203",
            "write-unproved",
            "Nothing could be shown about a write.",
            "Clip the index, or state the range of the inputs it depends on.",
        ),
        Code(
            "RZ204",
            "negative-index-wraps",
            "A negative index is not dropped, not even by mode='drop': it wraps to the end of the array.",
            "Map the sentinel to the array's size instead of a negative number.",
        ),
        Code(
            "RZ301",
            "index-overflow",
            "Arithmetic that makes an index can leave its integer type and wrap around.",
            "Use a wider integer type, or bound the operands.",
        ),
        Code(
            "RZ302",
            "narrow-index",
            "The integer type of an index ends before the array does.",
            "Use a wider integer type, or promise the range with redzone.Spec(min=, max=).",
        ),
        Code(
            "RZ303",
            "float-index",
            "A float becomes an index that can be just past the end, or is NaN.",
            "Clip the integer to the last index, or compute the index in integers.",
        ),
        Code(
            "RZ304",
            "clip-to-size",
            "An index is limited to the size of a dimension, whose last element is one less.",
            "Limit it to the size less one.",
        ),
        Code(
            "RZ401",
            "kernel-not-analysed",
            "A Pallas kernel's own reads and writes are not analysed.",
            "Check the kernel with Pallas' interpreter.",
        ),
        Code(
            "RZ501",
            "opaque-call",
            "A foreign or custom call touches memory redzone cannot see.",
            "Check the callee by other means.",
        ),
        Code(
            "RZ901",
            "unmodelled-primitive",
            "An equation nobody modelled: its result may be any value.",
            "Report it; the verdicts stay sound.",
        ),
        Code(
            "RZ902",
            "unused-suppression",
            "A '# redzone: ignore' that suppresses nothing.",
            "Remove the comment.",
        ),
    )
}
