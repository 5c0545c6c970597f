"""What follows from a capture: the settings that were measured to matter, and those that were measured not to."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from redzone.explain.settings import LOOKED_UP, SETTINGS, Setting, measured
from redzone.explain.words import counted, seconds_as_text, share_as_text

#: A setting is worth trying when it leaves at most this much of the time to compile: runs of one setting differ by
#: up to a fifth.
WORTH = 0.75
#: A result this much slower than the default's is too dear; less shows between processes with the same setting too.
SLOWER = 2.0
#: What remains for one model where a setting that saves little in all is worth a word after all.
NOTABLE = 0.92


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """One setting, what it gives up, and the measurement behind it."""

    setting: str
    gives_up: str
    evidence: str
    remains: float
    """The measured time to compile under it, as a part of the default's."""
    slower: dict[str, float]
    """The models whose result ran slower under it, and by how much."""
    caution: str = ""
    """Where the JAX or the card seen are not those it was measured on."""


@dataclasses.dataclass(frozen=True, slots=True)
class Advised:
    """What is worth trying, most saved first, and what is not."""

    measured_on: str
    """The card, the JAX, the models, and what these took by default."""
    worth: tuple[Advice, ...] = ()
    too_slow: tuple[Advice, ...] = ()
    """What compiles faster, to programs that run much slower."""
    not_worth: tuple[Advice, ...] = ()
    """What is about the checks and was measured to save little."""


def advised(jax_version: str, card: str, results: dict[str, Any] | None = None) -> Advised:
    """The settings for a JAX version, told apart by what was measured."""
    results = measured() if results is None else results
    cases = {entry["case"]: entry["models"] for entry in results["cases"]}
    base = cases.get("default", {})
    found = []
    for setting in SETTINGS:
        models = [m for m in base if m in cases.get(setting.case, {})]
        if not models or not _exists(setting, jax_version):
            continue
        found.append((setting, _advice(setting, models, base, cases[setting.case], results, jax_version, card)))
    found.sort(key=lambda pair: pair[1].remains)
    saving = [advice for _, advice in found if advice.remains <= WORTH]
    total = sum(entry["compile_s"] for entry in base.values())
    return Advised(
        f"{results['device']}, JAX {results['jax']}: {', '.join(base)} compile in {seconds_as_text(total)} by default",
        tuple(advice for advice in saving if not advice.slower),
        tuple(advice for advice in saving if advice.slower),
        tuple(advice for setting, advice in found if advice.remains > WORTH and setting.checks_only),
    )


def _exists(setting: Setting, jax_version: str) -> bool:
    """Whether a version has the setting; one that was not looked up is believed to, with a word of caution."""
    minor = ".".join(jax_version.split(".")[:2])
    return minor not in LOOKED_UP or minor in setting.versions


def _advice(
    setting: Setting,
    models: Sequence[str],
    base: dict[str, Any],
    mine: dict[str, Any],
    results: dict[str, Any],
    jax_version: str,
    card: str,
) -> Advice:
    default = sum(base[m]["compile_s"] for m in models)
    total = sum(mine[m]["compile_s"] for m in models)
    slower = {m: mine[m]["run_ms"] / base[m]["run_ms"] for m in models if base[m]["run_ms"]}
    slower = {m: round(x, 2) for m, x in slower.items() if x > SLOWER}
    counts = sorted({mine[m]["runs"] for m in models})
    runs = f"{counts[0]} to {counts[-1]} runs" if len(counts) > 1 else counted(counts[0], "run")
    best = min(models, key=lambda m: mine[m]["compile_s"] / base[m]["compile_s"])
    only = f" ({', '.join(models)})" if len(models) < len(base) else ""
    evidence = f"{seconds_as_text(default)} → {seconds_as_text(total)}{only}, {share_as_text(total, default)} ({runs})"
    if setting.checks_only and mine[best]["compile_s"] < NOTABLE * base[best]["compile_s"]:
        times = [seconds_as_text(found[best]["compile_s"]) for found in (base, mine)]
        evidence += f"; most for {best}: {times[0]} → {times[1]}"
    if slower:
        evidence += "; the result ran slower: " + ", ".join(f"{m} {x:.3g}×" for m, x in slower.items())
    caution = []
    minor = ".".join(jax_version.split(".")[:2])
    if jax_version and minor not in LOOKED_UP:
        caution.append(
            f"the spelling is that of JAX {LOOKED_UP[0]} to {LOOKED_UP[-1]}; a JAX {jax_version} that does not know a "
            "flag stops at its start and says so"
        )
    if card and results["device"] and card != results["device"]:
        caution.append(f"measured on another card than this {card}")
    return Advice(setting.spelled, setting.gives_up, evidence, total / default, slower, "; ".join(caution))
