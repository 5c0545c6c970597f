"""redzone's stages in the user's own profile, and recorders that nobody else hears."""

from __future__ import annotations

import threading
import time
import warnings
from pathlib import Path
from typing import Any

import jax
import pytest

import redzone
from redzone.explain.capture import captures_in
from redzone.explain.recording import Recording
from redzone.stages import recorded, recorder, recording, stage
from tests.explain import programs


def annotations(folder: Path) -> dict[str, list[tuple[float, float]]]:
    """The annotations of redzone in a capture: when each began and ended."""
    from jax.profiler import ProfileData

    found: dict[str, list[tuple[float, float]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for file in captures_in(folder)[0]:
            for plane in ProfileData.from_file(str(file)).planes:
                for line in plane.lines:
                    for event in line.events:
                        if event.name.startswith("redzone: "):
                            times = (event.start_ns, event.start_ns + event.duration_ns)
                            found.setdefault(event.name.removeprefix("redzone: "), []).append(times)
    return found


def test_stages_appear_in_the_users_own_profile(tmp_path: Path) -> None:
    redzone.check(programs.decode, *programs.DECODE)
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(str(tmp_path), profiler_options=options):
        report = redzone.check(programs.decode, *programs.DECODE)
    found = annotations(tmp_path)
    assert {"trace", "check decode", "walk", "slice", "facts", "masks", "exact", "conditions", "witness"} <= set(found)
    ((begins, ends),) = found["check decode"]
    for name in ("walk", "slice", "facts", "exact"):
        assert all(begins <= a <= b <= ends for a, b in found[name]), name
    ((a, b),) = found["facts"]
    # The profile and the report tell of the same moment; a busy machine may come between their clocks.
    assert (b - a) * 1e-9 == pytest.approx(report.timings["facts"], rel=0.5, abs=2e-3)


def test_nobody_records_by_default() -> None:
    assert recorder() is None
    assert recorded("x")(lambda a: a + 1)(1) == 2


def test_a_recorder_hears_only_its_own_thread() -> None:
    record, others = Recording(), Recording()

    def elsewhere() -> None:
        with recording(others), stage("other one"), stage("there"):
            pass

    with recording(record), stage("whole"):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with stage("here"):
            pass
    assert [event.name for event in record.events] == ["here", "whole"]
    assert [event.name for event in others.events] == ["there", "other one"]


def test_a_failing_call_is_recorded_and_still_fails() -> None:
    @recorded("isl")
    def fails() -> None:
        raise ArithmeticError("no")

    record = Recording()
    with pytest.raises(ArithmeticError, match="no"), recording(record), stage("whole"):
        fails()
    assert [event.name for event in record.events] == ["isl", "whole"]
    assert record.questions[0].result is None


def test_the_least_of_several_recordings() -> None:
    def once(wait: float) -> Recording:
        record = Recording()
        with recording(record), stage("whole"), stage("part"):
            time.sleep(wait)
        return record

    slow, quick = once(0.02), once(0.001)
    slow.calmed([slow, quick])
    assert slow.seconds < 0.015


def test_without_a_recorder_a_stage_costs_next_to_nothing() -> None:
    @recorded("x")
    def nothing() -> None:
        pass

    def seconds(action: Any) -> float:
        return min(_timed(action) for _ in range(5))

    def _timed(action: Any) -> float:
        started = time.perf_counter()
        for _ in range(1000):
            action()
        return (time.perf_counter() - started) / 1000

    assert seconds(nothing) < 5e-6
    assert seconds(lambda: stage("x").__enter__()) < 5e-5
