"""The self-test says what moved when JAX is not as redzone knows it."""

from __future__ import annotations

import jax
import pytest

from redzone.frontend import compat


@pytest.fixture
def anew():
    compat.self_test.cache_clear()
    yield
    compat.self_test.cache_clear()


def test_this_jax_is_known(anew):
    compat.self_test()


@pytest.mark.parametrize(
    ("name", "instead", "said"),
    [
        ("_batched_branches", lambda: jax.make_jaxpr(lambda x: x + 1)(1), "vmap no longer marks the operands"),
        ("scan_counts", lambda params: (1, 0), "the operands of a scan are no longer told apart"),
        ("Literal", int, "literals are no longer core.Literal"),
    ],
)
def test_what_moved_is_said(anew, monkeypatch, name, instead, said):
    monkeypatch.setattr(compat, name, instead)
    told = rf"redzone does not know this JAX \({jax.__version__}\): {said}.*Versions"
    with pytest.raises(compat.JaxMoved, match=told):
        compat.self_test()
