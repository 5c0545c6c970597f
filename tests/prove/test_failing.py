"""A stage that fails costs what it would have shown, and says so; the report is there all the same."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import redzone
from redzone.prove import conditioned, decide
from redzone.prove.decide import RAISES, Deciding

X, AT = redzone.Spec((10,), "float32"), redzone.Spec((), "int32")


def read(x, i):
    return x[jnp.clip(i, 0, 9)] + x[i]


def fails(*_, **__):
    raise IndexError("of our own making")


@pytest.fixture
def user(monkeypatch):
    monkeypatch.delenv(RAISES)
    return monkeypatch


@pytest.mark.changes_the_engine
@pytest.mark.parametrize(
    ("owner", "name", "stage", "verdict"),
    [
        (decide, "masked_sites", "masks", "requires"),
        (Deciding, "exactly", "the exact stage", "requires"),
        (Deciding, "derived", "the exact stage", "requires"),
        (Deciding, "settled_by_witness", "witnesses", "unknown"),
    ],
)
def test_the_rest_goes_on(user, owner, name, stage, verdict):
    user.setattr(owner, name, fails)
    report = redzone.check(read, X, AT)
    assert [str(access.verdict) for access in report.accesses] == ["safe", verdict]
    assert f"redzone failed at {stage} (IndexError: of our own making)" in str(report).replace("\n", " ")


@pytest.mark.changes_the_engine
def test_without_conditions_it_is_unknown(user):
    user.setattr(conditioned, "propose", fails)
    user.setattr(Deciding, "derived", fails)
    report = redzone.check(read, X, AT)
    first, second = report.accesses
    assert (str(first.verdict), str(second.verdict), second.rule) == ("safe", "unknown", "RZ103")
    assert not report.ok


@pytest.mark.changes_the_engine
def test_tests_see_it(monkeypatch):
    monkeypatch.setattr(decide, "masked_sites", fails)
    with pytest.raises(IndexError, match="of our own making"):
        redzone.check(read, X, AT)
