"""What XLA's redzone checking cost, for people and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from redzone.explain.advice import Advice, Advised, advised
from redzone.explain.names import Kind
from redzone.explain.words import bytes_as_text, columns, counted, folded, seconds_as_text, share_as_text
from redzone.explain.xla import XlaCost

SCHEMA = 1
_MEANS = {
    Kind.CHECK: "redzone checks",
    Kind.READBACK: "waiting for their results",
    Kind.COUNTER: "setting their counters to zero",
    Kind.GUARD: "writing the guard bytes",
    Kind.INIT: "filling buffers",
    Kind.COMPARE: "comparing outputs",
    Kind.DELAY: "delay kernels",
    Kind.OTHER: "candidates and the program itself",
}
#: How many modules are told one by one.
MODULES = 12
#: How many matrix products, convolutions and fusions are named.
FUSIONS = 4


def cost_as_text(cost: XlaCost, older: int = 0) -> str:
    """The whole answer, in lines of at most 80 characters."""
    return "\n".join(_lines(cost, older))


def _lines(cost: XlaCost, older: int) -> Iterator[str]:
    yield f"XLA's redzone checks in {cost.file.name}"
    facts = [f"JAX {cost.jax_version}" if cost.jax_version else "", cost.card.name or ", ".join(cost.devices)]
    facts.append(f"{seconds_as_text(cost.seconds)} recorded")
    yield ", ".join(fact for fact in facts if fact)
    if older:
        yield f"({counted(older, 'older capture')} in the same folder: name one to see it)"
    yield ""
    if not cost.found:
        yield from folded(f"None here: {cost.why_none}.")
    else:
        yield from folded(answer(cost))
    if cost.work.launches:
        yield ""
        yield from _on_the_device(cost)
    if cost.compiled:
        yield ""
        yield from _by_module(cost)
    if cost.found:
        yield ""
        yield from _advice_lines(advised(cost.jax_version, cost.card.name))


def answer(cost: XlaCost) -> str:
    """What the checks cost, in two or three sentences."""
    work, whole = cost.work, cost.compile_seconds
    held = f"The checks held the GPU for {seconds_as_text(work.held_seconds)}: "
    held += f"{share_as_text(work.held_seconds, cost.seconds)} of the time recorded"
    if whole:
        inside = sum(c.work.held_seconds for c in cost.compiled)
        held += f" and {share_as_text(inside, whole)} of the {seconds_as_text(whole)} that XLA compiled"
    parts = [
        f"{held}. Their kernels are {share_as_text(work.checks.seconds, work.seconds)} of the GPU's own time, which "
        "tells little: while XLA compiles, the GPU mostly waits."
    ]
    if cost.autotune_seconds:
        candidates = sum(c.candidates for c in cost.compiled)
        compiling = sum(c.candidate_seconds for c in cost.compiled)
        parts.append(
            f"Autotuning as a whole took {seconds_as_text(cost.autotune_seconds)} "
            f"({share_as_text(cost.autotune_seconds, cost.compile_seconds)} of the compilation), "
            f"{seconds_as_text(compiling)} of it compiling {counted(candidates, 'candidate')}."
        )
    return " ".join(parts)


def _on_the_device(cost: XlaCost) -> Iterator[str]:
    work = cost.work
    rows = [("on the GPU", "launches", "time", "share")]
    for kind, means in _MEANS.items():
        tally = work.by_kind.get(kind)
        if tally is not None and tally.launches:
            share = share_as_text(tally.seconds, work.seconds)
            rows.append((means, f"{tally.launches:,}", seconds_as_text(tally.seconds), share))
    rows.append(("all", f"{work.launches:,}", seconds_as_text(work.seconds), "100 %"))
    yield from columns(rows)
    if work.bytes_checked:
        speed = f"{bytes_as_text(work.bandwidth)}/s"
        against, whole = "", cost.card.bandwidth
        if whole:
            against = f", {share_as_text(work.bandwidth, whole)} of the card's {bytes_as_text(whole)}/s"
        yield ""
        each = work.bytes_checked / work.checks.launches
        yield from folded(
            f"The checks read {bytes_as_text(work.bytes_checked)} of guard bytes, {bytes_as_text(each)} at a time, at "
            f"{speed}{against}: each thread reads one byte."
        )
    elif cost.found:
        yield ""
        yield "The capture does not say how large the checking kernels were."


def _by_module(cost: XlaCost) -> Iterator[str]:
    rows = [("module", "compile", "autotuning", "candidates", "compiling them", "checks", "checks held")]
    largest = sorted(cost.compiled, key=lambda c: -c.seconds)
    for one in largest[:MODULES]:
        rows.append(
            (
                one.module if len(one.module) <= 20 else f"{one.module[:19]}…",
                seconds_as_text(one.seconds),
                seconds_as_text(one.autotuning) if one.autotuning else "–",
                f"{one.candidates:,}" if one.candidates else "–",
                seconds_as_text(one.candidate_seconds) if one.candidates else "–",
                f"{one.work.checks.launches:,}" if one.work.checks.launches else "–",
                seconds_as_text(one.work.held_seconds) if one.work.held_seconds else "–",
            )
        )
    told = [k for k in range(len(rows[0])) if any(row[k] != "–" for row in rows[1:])]
    yield from columns([[row[k] for k in told] for row in rows], indent="")
    if len(largest) > MODULES:
        rest = largest[MODULES:]
        yield f"… and {counted(len(rest), 'more module')}, {seconds_as_text(sum(c.seconds for c in rest))} together"
    largest_checked = [(name, tally) for name, tally in cost.checked.items() if name][:FUSIONS]
    if largest_checked:
        named = (f"{name} {seconds_as_text(t.seconds)} ({counted(t.launches, 'time')})" for name, t in largest_checked)
        yield ""
        yield from folded(f"Longest checked: {', '.join(named)}.")
    buffers = sum(c.buffers_seconds for c in cost.compiled)
    if buffers:
        yield ""
        yield f"The host spent {seconds_as_text(buffers)} on making buffers with guard bytes."


def _advice_lines(found: Advised) -> Iterator[str]:
    yield "What makes compiling faster, by measurement (docs/xla-redzone.md)"
    yield from folded(f"on {found.measured_on}", indent="  ")
    for number, one in enumerate(found.worth, 1):
        yield from _one(one, f"  {number}. ")
    if not found.worth:
        yield "  nothing that was measured does"
    if found.too_slow:
        yield "What compiles faster, but to a slower program"
        for one in found.too_slow:
            yield from _one(one, "  – ")
    if found.not_worth:
        yield "What saves nothing that shows, though it is about the checks"
        for one in found.not_worth:
            yield from folded(f"{one.setting}: {one.evidence}", first="  – ", indent="    ")
    cautions = dict.fromkeys(one.caution for one in (*found.worth, *found.too_slow, *found.not_worth) if one.caution)
    for caution in cautions:
        yield from folded(f"Caution: {caution}.")


def _one(one: Advice, first: str) -> Iterator[str]:
    margin = " " * len(first)
    yield from folded(one.setting, first=first, indent=margin)
    for label, text in (("measured", one.evidence), ("gives up", one.gives_up)):
        yield from folded(f"{label}: {text}", indent=margin + "  ", first=margin)


def cost_as_json(cost: XlaCost) -> dict[str, Any]:
    """The same as plain values; times in seconds."""
    work = cost.work
    found = advised(cost.jax_version, cost.card.name) if cost.found else Advised("")
    return {
        "file": str(cost.file),
        "jax_version": cost.jax_version,
        "card": {"name": cost.card.name, "bytes_per_second": cost.card.bandwidth or None},
        "devices": list(cost.devices),
        "seconds": cost.seconds,
        "found": cost.found,
        "why_none": cost.why_none,
        "answer": answer(cost) if cost.found else f"None here: {cost.why_none}.",
        "checks": {
            "launches": work.checks.launches,
            "seconds": work.checks.seconds,
            "held_seconds": work.held_seconds,
            "share_of_gpu": _share(work.checks.seconds, work.seconds),
            "share_of_wall": _share(work.held_seconds, cost.seconds),
            "share_of_compile": _share(sum(c.work.held_seconds for c in cost.compiled), cost.compile_seconds),
            "bytes": work.bytes_checked or None,
            "bytes_per_second": work.bandwidth or None,
            "share_of_bandwidth": _share(work.bandwidth, cost.card.bandwidth),
        },
        "gpu": {str(k): dataclasses.asdict(t) for k, t in work.by_kind.items()},
        "gpu_seconds": work.seconds,
        "compile_seconds": cost.compile_seconds,
        "autotune_seconds": cost.autotune_seconds,
        "modules": [
            {
                "module": c.module,
                "seconds": c.seconds,
                "autotune_seconds": c.autotuning,
                "candidates": c.candidates,
                "candidate_seconds": c.candidate_seconds,
                "candidate_cpu_seconds": c.candidate_cpu_seconds,
                "redzone_buffers_seconds": c.buffers_seconds,
                "checks": c.work.checks.launches,
                "check_seconds": c.work.checks.seconds,
                "held_seconds": c.work.held_seconds,
                "gpu_seconds": c.work.seconds,
            }
            for c in cost.compiled
        ],
        "checked": {name: dataclasses.asdict(tally) for name, tally in cost.checked.items()},
        "measured_on": found.measured_on,
        "advice": [dataclasses.asdict(one) for one in found.worth],
        "too_slow": [dataclasses.asdict(one) for one in found.too_slow],
        "not_worth": [dataclasses.asdict(one) for one in found.not_worth],
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
