"""Every rule against concrete points: whatever the operands hold, the result lies inside the claim."""

from __future__ import annotations

import pytest

from redzone.rules import RULES
from tests.soundness.against_points import first_failure, is_checkable
from tests.soundness.catalogue import entries, equations

ENTRIES = {entry[0]: entry for entry in entries()}


@pytest.mark.parametrize("label", ENTRIES)
def test_rule_holds_at_points(label):
    for eqn in equations(ENTRIES[label]):
        if is_checkable(eqn):
            assert not first_failure(eqn, seed=0, rounds=20, points=4)


ANY_VALUE = {
    # Their rule is "any value of the dtype", which needs no points.
    *[
        "after_all",
        "cholesky",
        "complex",
        "custom_lin",
        "conj",
        "conv_general_dilated",
        "create_token",
        "custom_lin",
        "custom_linear_solve",
        "eig",
        "eigh",
    ],
    *[
        "empty",
        "empty2",
        "fft",
        "geqp3",
        "geqrf",
        "hessenberg",
        "householder_product",
        "igamma",
        "igamma_grad_a",
        "igammac",
        "imag",
        "io_callback",
        "lu",
        "mulhi",
    ],
    *[
        "platform_index",
        "polygamma",
        "pure_callback",
        "qr",
        "random_bits",
        "random_clone",
        "random_fold_in",
        "random_gamma",
    ],
    *[
        "random_seed",
        "random_split",
        "random_unwrap",
        "random_wrap",
        "real",
        "reduce",
        "reduce_window",
    ],
    *[
        "regularized_incomplete_beta",
        "rng_bit_generator",
        "rng_uniform",
        "schur",
        "select_and_gather_add",
        "select_and_scatter",
    ],
    *["select_and_scatter_add", "svd", "threefry2x32", "triangular_solve", "tridiagonal", "tridiagonal_solve", "zeta"],
}
ONE_DEVICE = {
    "dim_as_value",
    # Symbolic dimensions have no concrete points.
    # Collectives and placement are the identity on one device, and are in the shard_map cases.
    *[
        "all_gather",
        "all_gather_invariant",
        "all_to_all",
        "device_put",
        "layout_constraint",
        "pbroadcast",
        "pmax",
        "pmin",
        "ppermute",
    ],
    *["psend", "psum_invariant", "pvary", "ragged_all_to_all", "reduce_scatter", "reshard", "sharding_constraint"],
}
REFS = {"addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "swap"}
"""A ref is no value; the random programs run them."""


def test_labels_are_distinct():
    assert len(ENTRIES) == sum(1 for _ in entries())


def test_every_rule_is_in_the_catalogue():
    seen = {eqn.primitive.name for entry in ENTRIES.values() for eqn in equations(entry)}
    missing = {p.name for p in RULES} - seen - ANY_VALUE - ONE_DEVICE - REFS
    assert not missing, f"rules without an equation in catalogue.py: {sorted(missing)}"
