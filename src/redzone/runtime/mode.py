"""How redzone takes part in a running program, and the environment's word on it: `REDZONE=report|raise|off`."""

from __future__ import annotations

import enum
import os

VARIABLE = "REDZONE"


class Mode(enum.StrEnum):
    """What happens to a program that is checked as it runs."""

    OFF = "off"
    """Nothing: no function is looked at."""
    REPORT = "report"
    """Findings are collected and shown; the program runs on."""
    RAISE = "raise"
    """A program that leaves an array for some input raises `OutOfBounds` before it runs."""


class BadMode(ValueError):
    """A word that is no mode; the message says which are."""


def mode_named(word: str | Mode, source: str) -> Mode:
    """The mode of that name; `source` says in an error message where the word stands."""
    try:
        return Mode(word.strip().lower())
    except (ValueError, AttributeError):
        pass
    raise BadMode(f"{source}: {word!r} is no mode of redzone; use {Mode.REPORT}, {Mode.RAISE} or {Mode.OFF}") from None


def asked(default: str | Mode) -> Mode:
    """The mode to work in: what the environment variable REDZONE says, else `default`.

    Raises `BadMode` for a word in the environment that is no mode; an empty one counts as not given.
    """
    word = os.environ.get(VARIABLE, "")
    return mode_named(word, f"environment variable {VARIABLE}") if word.strip() else mode_named(default, "mode")
