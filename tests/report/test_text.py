"""The report for people: complete, readable at 80 columns, and plain."""

from __future__ import annotations

import dataclasses

import pytest

from redzone.report.model import Condition, Lint, Location, Loss, Pattern, Suppression, Verdict, Witness
from redzone.report.text import report_as_text, seconds_as_text
from tests.report.samples import HERE, access, report, requires, unsafe


def test_an_unsafe_access_is_told_in_full() -> None:
    text = report_as_text(report(unsafe()))
    assert (
        text
        == """\
lookup: 1 access in 1,234 equations

verdict  where        access        pattern
─────────────────────────────────────────────────────────────────
unsafe   model.py:12  read f32[16]  contiguous, ≤ 64 B in [0, 63]
                      gather

unsafe[RZ101]: the read can start at 16, the last legal start is 15
  --> /project/model.py:12 in lookup
   |
12 | return table[row]
   |
   = index:      dimension 0 is 0 … 16, may be 0 … 15
   = witness:    position = 160 makes the index 16 (iteration 3)
   = mode:       promise_in_bounds
   = decided by: interval
   = fix:        Bound the index.

1 unsafe
time: trace 12.3 ms, facts 42 µs"""
    )


def test_printing_a_report_shows_it() -> None:
    shown = report(unsafe())
    assert str(shown) == report_as_text(shown)


def test_nothing_to_tell() -> None:
    text = report_as_text(report(equations=1, timings={}))
    assert text == "lookup: 0 accesses in 1 equation\n\nnothing is accessed at computed positions"


def test_a_safe_access_has_a_row_and_no_excerpt() -> None:
    text = report_as_text(report(access()))
    assert "safe     model.py:12" in text
    assert "-->" not in text


def test_alike_accesses_share_a_row() -> None:
    text = report_as_text(report(access(), access(), access(_location=Location("b.py", 3, "f", "x"))))
    assert "gather ×2" in text
    assert "3 safe" in text


def test_patterns_that_differ_are_shown_together() -> None:
    other = Pattern("contiguous", (), 64, 64, 127)
    text = report_as_text(report(access(), access(_pattern=other)))
    assert "contiguous, in [0, 127]\n" in text
    text = report_as_text(report(access(), access(_pattern=Pattern("block", (), None, None, None))))
    assert "various" in text


def test_conditions_are_collected_at_the_end() -> None:
    text = report_as_text(report(requires(), requires()))
    assert text.count("requires 0 ≤ indices ≤ 15") == 1
    assert "2 requires" in text


def test_one_condition_of_many_accesses_is_one_line() -> None:
    places = [Location("model.py", line, "f", "y = table[tokens]") for line in (3, 3, 7)]
    needs = (Condition("tokens", 1, 0, 15),)
    accesses = [requires(_location=place, requires=needs) for place in places]
    text = report_as_text(report(*accesses, origins=("table: argument 1", "tokens: argument 2")))
    assert (
        """
requires 0 ≤ tokens ≤ 15   (tokens: argument 2)
  RZ102  model.py:3  read f32[16] ×2  y = table[tokens]
  RZ102  model.py:7  read f32[16]     y = table[tokens]
  = fix: Promise it with redzone.Spec(min=0, max=15) for tokens, or validate the
         input.

3 requires
"""
        in text
    )


def test_different_ranges_of_one_input_are_one_cause() -> None:
    accesses = [
        requires(requires=(Condition("i", 1, lo, hi),), _location=Location("m.py", line, "f", "x[i]"))
        for line, (lo, hi) in enumerate([(-8, 7), (-4, 3), (-8, 7)], start=1)
    ]
    text = report_as_text(report(*accesses))
    assert (
        """
requires -4 ≤ i ≤ 3
  -8 ≤ i ≤ 7:
    RZ102  m.py:1  read f32[16]  x[i]
    RZ102  m.py:3  read f32[16]  x[i]
  -4 ≤ i ≤ 3:
    RZ102  m.py:2  read f32[16]  x[i]
"""
        in text
    )


def test_a_witness_of_a_condition_is_shown_when_asked_for() -> None:
    asked = []

    def search() -> Witness:
        asked.append(1)
        return Witness((), (16,), "iteration 3", "indices=jnp.int32(16)")

    shown = report(requires(_witness=search))
    assert "witness" not in report_as_text(shown) and not asked
    text = report_as_text(shown, witnesses=True)
    assert "  = witness: indices=jnp.int32(16) makes the index 16 (iteration 3)" in text
    assert asked == [1]
    assert "none was found" in report_as_text(report(requires()), witnesses=True)


def test_a_lint_is_a_warning_of_its_own() -> None:
    there = Location("model.py", 11, "lookup", "row = jnp.where(ok, i, -1)")
    lint = Lint("RZ204", "the index -1 is not dropped", "Map it.", there)
    shown = report(access(_lints=(lint, lint)), access(_lints=lambda: (lint,)))
    text = report_as_text(shown)
    assert shown.lints == (lint,) and shown.ok
    assert (
        """
warning[RZ204]: the index -1 is not dropped
  --> model.py:11 in lookup
   |
11 | row = jnp.where(ok, i, -1)
   |
   = fix: Map it.

2 safe, 1 warning
"""
        in text
    )
    assert "warning" not in report_as_text(report(access(_lints=(dataclasses.replace(lint, suppressed=True),))))


def test_an_unknown_access_says_what_would_settle_it() -> None:
    there = Location("model.py", 3, "f", "k = jnp.cumsum(n)")
    loss = Loss("cumsum → int32[10]", there, ("n",), "redzone.assume(idx, min=0, max=15)")
    text = report_as_text(report(access(Verdict.UNKNOWN, _loss=lambda: loss, fix="Clip the index.")))
    assert "   = lost at:    model.py:3: k = jnp.cumsum(n)\n" in text
    assert "   = depends on: n, with no range promised" in text
    assert "   = settle:     redzone.assume(idx, min=0, max=15) before this line" in text
    assert "Clip the index." not in text


def test_a_suppressed_access_is_marked_and_not_explained() -> None:
    text = report_as_text(report(unsafe(suppressed=True)))
    assert "(ignored)" in text and "1 unsafe (1 ignored)" in text
    assert "-->" not in text


def test_notes_unmodelled_and_unused_comments() -> None:
    unused = Suppression(Location("/project/model.py", 7, "", "x  # redzone: ignore"), ("RZ101",), False)
    text = report_as_text(report(unmodelled={"fft": 2}, notes=("mind the gap",), suppressions=(unused,)))
    assert "not modelled, taken as any value [RZ901]: fft ×2" in text
    assert "note: mind the gap" in text
    assert "unused[RZ902]: /project/model.py:7: '# redzone: ignore[RZ101]' silences nothing" in " ".join(text.split())


def test_everything_fits_into_80_columns() -> None:
    wide = unsafe(
        message="word " * 60,
        shape=tuple(range(10, 18)),
        _location=Location("/project/" + "deep/" * 30 + "model.py", 123456, "f.<locals>.g", "x" * 300),
        fix="fix " * 60,
    )
    for line in report_as_text(report(wide, access(), requires())).splitlines():
        assert len(line) <= 80
        assert line == line.rstrip()


def test_brackets_in_a_message_are_not_markup() -> None:
    assert "x[bold] :smile:" in report_as_text(report(unsafe(message="x[bold] :smile:")))


def test_a_long_table_counts_its_safe_rows() -> None:
    many = [access(_location=Location("m.py", line, "f", "x")) for line in range(1, 201)]
    text = report_as_text(report(*many, unsafe()))
    assert "… and 141 more rows, all safe" in text
    assert "200 safe" in text and "unsafe[RZ101]" in text


def test_an_access_without_a_location() -> None:
    text = report_as_text(report(unsafe(_location=Location("", 0, "", ""))))
    assert "<unknown>" in text and "-->" not in text


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_can_be_shown(verdict: Verdict) -> None:
    assert f"1 {verdict}" in report_as_text(report(access(verdict)))


def test_durations() -> None:
    assert [seconds_as_text(s) for s in (2.0, 0.25, 3e-6)] == ["2.0 s", "250.0 ms", "3 µs"]


def test_the_location_is_asked_for_only_when_shown() -> None:
    asked = []

    def where() -> Location:
        asked.append(1)
        return HERE

    shown = report(access(_location=where))
    assert not asked and shown.ok
    str(shown)
    assert asked == [1]
