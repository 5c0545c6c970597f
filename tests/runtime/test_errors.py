"""OutOfBounds: what it says and what it carries."""

from __future__ import annotations

import pickle

import jax.numpy as jnp
import pytest

import redzone
from redzone.report.model import Report
from redzone.runtime.errors import OutOfBounds, unsafe_program


def past_the_end(x: jnp.ndarray) -> jnp.ndarray:
    y = x[jnp.arange(10)]
    z = x[jnp.arange(11)]
    return y.sum() + z.sum()


def _report() -> Report:
    return redzone.check(past_the_end, redzone.Spec((9,), "float32"))


def test_it_is_an_index_error_that_carries_the_report() -> None:
    report = _report()
    error = unsafe_program(report)
    assert isinstance(error, IndexError)
    assert error.report is report
    assert error.access is report.findings[0]


def test_the_message_says_what_where_and_how_to_mend_it() -> None:
    with pytest.raises(
        OutOfBounds,
        match=r"(?s)past_the_end leaves an array\nunsafe\[RZ101\]: .*test_errors.py:\d+ in past_the_end\n"
        r"    \| y = x\[jnp.arange\(10\)\]\n.*witness: .*makes the index 9.*\n  fix: .*\n  and at .*test_errors.py:\d+",
    ):
        error = unsafe_program(_report())
        assert error is not None
        raise error


def test_a_program_that_stays_inside_has_no_error() -> None:
    assert unsafe_program(redzone.check(lambda x: x[3], redzone.Spec((9,), "float32"))) is None


def test_a_suppressed_access_is_no_error() -> None:
    report = _report()
    for access in report.accesses:
        access.suppressed = True
    assert unsafe_program(report) is None


def test_it_travels_between_processes_as_its_message() -> None:
    error = unsafe_program(_report())
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is OutOfBounds
    assert str(copy) == str(error)
    assert copy.report is None and copy.access is None
