"""What is read or written outside and then thrown away: by selects, by factors of zero, along rows, in lanes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.cases import case, f32, flag, i32, u32


def _inside(i, n):
    return (i >= 0) & (i < n)


@case(f32(10), i32(6))
def times_a_condition(x, i):
    return _inside(i, 10) * x.at[i].get(mode="promise_in_bounds")  #: masked


@case(i32(10), i32(6))
def times_a_condition_and_summed(x, i):
    return (_inside(i, 10).astype(np.int32) * x.at[i].get(mode="promise_in_bounds")).sum()  #: masked


@case(f32(10), i32(6))
def times_a_condition_that_lets_one_through(x, i):
    return _inside(i, 11).astype(np.float32) * x.at[i].get(mode="promise_in_bounds")  #: unsafe


@case(f32(10), i32(6), f32(6))
def times_what_is_no_condition(x, i, weight):
    return weight * x.at[i].get(mode="promise_in_bounds")  #: requires


@case(f32(10, 3), i32(6))
def rows_times_a_condition(x, i):
    return _inside(i, 10)[:, None] * x.at[i].get(mode="promise_in_bounds")  #: masked


@case(f32(10), i32(6))
def reshaped_with_its_condition(x, i):
    values = x.at[i].get(mode="promise_in_bounds").reshape(2, 3)  #: masked
    return jnp.where(_inside(i, 10).reshape(2, 3), values, 0.0)


@case(f32(10), i32(6))
def reshaped_beside_another_condition(x, i):
    values = x.at[i].get(mode="promise_in_bounds").reshape(2, 3)  #: requires
    return jnp.where(_inside(i, 10).reshape(3, 2).T, values, 0.0)


@case(f32(10), i32(2, 3))
def transposed_with_its_condition(x, i):
    values = x.at[i].get(mode="promise_in_bounds").T  #: masked
    return jnp.where(_inside(i, 10).T, values, 0.0)


@case(f32(10), i32(3, 3))
def transposed_without_its_condition(x, i):
    values = x.at[i].get(mode="promise_in_bounds").T  #: requires
    return jnp.where(_inside(i, 10), values, 0.0)


@case(f32(10, 3), i32(6), f32(3, 4))
def rows_multiplied_by_a_matrix(x, i, w):
    messages = x.at[i].get(mode="promise_in_bounds") @ w  #: masked
    return jnp.where(_inside(i, 10)[:, None], jnp.tanh(messages), 0.0)


@case(f32(10, 6), i32(6), f32(4, 6))
def rows_mixed_by_a_matrix(x, i, w):
    messages = w @ x.at[i].get(mode="promise_in_bounds")  #: requires
    return jnp.where(_inside(i, 10)[:4, None], messages, 0.0)


@case(f32(10, 3), i32(6))
def lengths_of_rows(x, i):
    rows = x.at[i].get(mode="promise_in_bounds")  #: masked
    return jnp.where(_inside(i, 10), (rows**2).sum(-1), 0.0)


@case(f32(10, 3), i32(3))
def sums_over_rows(x, i):
    rows = x.at[i].get(mode="promise_in_bounds")  #: requires
    return jnp.where(_inside(i, 10), rows.sum(0), 0.0)


@case(f32(10), i32())
def a_write_that_is_taken_back(x, i):
    return jnp.where(_inside(i, 10), x.at[i].set(1.0, mode="promise_in_bounds"), x)  #: masked


@case(f32(10), i32(), flag())
def a_write_that_is_taken_back_by_something_else(x, i, ok):
    return jnp.where(ok, x.at[i].set(1.0, mode="promise_in_bounds"), x)  #: requires


@case(f32(10), i32(6))
def writes_in_lanes_of_a_branch(x, i):
    def one(k):
        return lax.cond(_inside(k, 10), lambda: x.at[k].add(1.0, mode="promise_in_bounds"), lambda: x)  #: masked

    return jax.vmap(one)(i)


@case(f32(10), i32(6))
def writes_in_lanes_of_a_wider_branch(x, i):
    def one(k):
        return lax.cond(_inside(k, 12), lambda: x.at[k].add(1.0, mode="promise_in_bounds"), lambda: x)  #: unsafe

    return jax.vmap(one)(i)


@case(f32(10), i32(6))
def several_writes_taken_back_together(x, i):
    written = x.at[i].set(1.0, mode="promise_in_bounds")  #: masked
    return jnp.where(_inside(i, 10).all(), written, x)


@case(f32(10), i32(6))
def several_writes_taken_back_one_by_one(x, i):
    written = x.at[i].set(1.0, mode="promise_in_bounds")  #: requires
    return jnp.where(_inside(i, 10)[0], written, x)


@case(f32(10), i32(6))
def the_gradient_of_what_is_masked(x, i):
    def total(x):
        return jnp.where(_inside(i, 10), x.at[i].get(mode="promise_in_bounds"), 0.0).sum()  #: masked

    return jax.grad(total)(x)


@case(f32(10), i32(6), f32(6))
def nothing_is_added_outside(x, i, y):
    return x.at[i].add(jnp.where(_inside(i, 10), y, 0.0), mode="promise_in_bounds")  #: masked


@case(f32(10), i32(6), f32(6))
def one_is_added_outside(x, i, y):
    return x.at[i].add(jnp.where(_inside(i, 10), y, 1.0), mode="promise_in_bounds")  #: requires


@case(f32(10), i32(6), f32(6))
def zero_is_put_outside(x, i, y):
    return x.at[i].set(jnp.where(_inside(i, 10), y, 0.0), mode="promise_in_bounds")  #: requires


# A condition on a whole row: both coordinates are inside, or neither is looked at.


@case(f32(8, 9), i32(5, 2))
def both_coordinates_inside(image, at):
    ok = ((at >= 0) & (at < jnp.array([8, 9]))).all(-1)
    return jnp.where(ok, image.at[at[:, 0], at[:, 1]].get(mode="promise_in_bounds"), 0.0)  #: masked


@case(f32(8, 9), i32(5, 2))
def both_coordinates_inside_the_other_way(image, at):
    ok = ((at >= 0) & (at < jnp.array([9, 8]))).all(-1)
    return jnp.where(ok, image.at[at[:, 0], at[:, 1]].get(mode="promise_in_bounds"), 0.0)  #: unsafe


@case(f32(8, 8), i32(5), i32(5))
def coordinates_put_side_by_side(image, r, c):
    at = jnp.stack([r, c], -1)
    ok = ((at >= 0) & (at < 8)).all(-1)
    return image[jnp.where(ok, r, 0), jnp.where(ok, c, 0)]  #: safe


@case(f32(8, 8), i32(5, 2))
def not_one_coordinate_outside(image, at):
    bad = ((at < 0) | (at >= 8)).any(-1)
    return jnp.where(bad, 0.0, image.at[at[:, 0], at[:, 1]].get(mode="promise_in_bounds"))  #: masked


@case(f32(8, 8), i32(5, 2))
def one_coordinate_inside(image, at):
    ok = ((at >= 0) & (at < 8)).any(-1)
    return jnp.where(ok, image.at[at[:, 0], at[:, 1]].get(mode="promise_in_bounds"), 0.0)  #: requires


@case(f32(8, 8), i32(5, 2))
def columns_instead_of_rows(image, at):
    ok = ((at >= 0) & (at < 8)).all(0)
    return jnp.where(ok[0], image.at[at[:, 0], at[:, 1]].get(mode="promise_in_bounds"), 0.0)  #: requires


@case(f32(8, 8), i32(5, 2))
def the_row_before(image, at):
    ok = jnp.roll(((at >= 0) & (at < 8)).all(-1), 1)
    return jnp.where(ok, image.at[at[:, 0], at[:, 1]].get(mode="promise_in_bounds"), 0.0)  #: requires


@case(i32(3, min=0, max=2), i32(min=-1, max=3))
def a_condition_on_what_was_read(x, i):
    # Outside it may be anything, and then both hold.
    read = x.at[i].get(mode="promise_in_bounds")  #: unsafe
    return (read > 8) & (read >= 7)


# A factor of zero hides a finite number: not what a function may have made of one.


@case(f32(10), i32(6))
def squashed_and_times_a_condition(x, i):
    return jnp.tanh(-x.at[i].get(mode="promise_in_bounds")) * _inside(i, 10)  #: masked


@case(f32(10), i32(6), f32(6))
def weighted_and_times_a_condition(x, i, weight):
    # Two large numbers have no finite product.
    return x.at[i].get(mode="promise_in_bounds") * weight * _inside(i, 10)  #: requires


@case(f32(10), i32(6))
def a_logarithm_times_a_condition(x, i):
    return jnp.log(x.at[i].get(mode="promise_in_bounds")) * _inside(i, 10)  #: requires


@case(f32(10), i32(6))
def an_inverse_times_a_condition(x, i):
    return (1 / x.at[i].get(mode="promise_in_bounds")) * _inside(i, 10)  #: requires


@case(f32(10), i32(6))
def a_complex_number_times_a_condition(x, i):
    z = lax.complex(x, x)
    return -z.at[i].get(mode="promise_in_bounds") * _inside(i, 10)  #: masked


@case(f32(10), i32(6))
def a_complex_logarithm_times_a_condition(x, i):
    z = lax.complex(x, x)
    return jnp.log(z.at[i].get(mode="promise_in_bounds")) * _inside(i, 10)  #: requires


@case(f32(10), i32(6))
def a_complex_length_times_a_condition(x, i):
    # Two large numbers are the sides of one that is too large.
    z = lax.complex(x, x)
    return jnp.abs(z.at[i].get(mode="promise_in_bounds")) * _inside(i, 10)  #: requires


@case(f32(10), i32(6), f32(6))
def what_is_added_times_a_condition(x, i, y):
    return x.at[i].add(_inside(i, 10) * -y, mode="promise_in_bounds")  #: masked


@case(f32(10), i32(6), f32(6))
def a_logarithm_is_added_times_a_condition(x, i, y):
    return x.at[i].add(_inside(i, 10) * jnp.log(y), mode="promise_in_bounds")  #: requires


# Seen only where the condition holds: outside it does not, be it that bounds say so or not.


@case(f32(32), i32(5, min=0, max=32))
def only_odd_ones_are_seen(x, i):
    return jnp.where(i % 2 == 1, x.at[i].get(mode="promise_in_bounds"), 0.0)  #: masked


@case(f32(32), i32(5, min=0, max=32))
def only_ones_with_odd_squares_are_seen(x, i):
    return jnp.where(i * i % 2 == 1, x.at[i].get(mode="promise_in_bounds"), 0.0)  #: masked


@case(f32(32), i32(5, min=0, max=32))
def only_ones_beside_even_ones_are_seen(x, i):
    return jnp.where((i ^ 1) % 2 == 0, x.at[i].get(mode="promise_in_bounds"), 0.0)  #: masked


@case(f32(32), i32(5, min=0, max=33))
def only_ones_beside_even_ones_are_seen_and_one_is_outside(x, i):
    return jnp.where((i ^ 1) % 2 == 0, x.at[i].get(mode="promise_in_bounds"), 0.0)  #: unsafe


@case(f32(32), i32(5, min=0, max=32))
def only_even_ones_are_seen(x, i):
    return jnp.where(i % 2 == 0, x.at[i].get(mode="promise_in_bounds"), 0.0)  #: unsafe


# The derivative of a scatter looks up who wrote last: where nobody did, that is dropped again.


@case(f32(6), i32(6, min=0))
def the_derivative_of_what_is_dropped(v, i):
    def loss(v):
        return (jnp.zeros(10).at[jnp.where(i < 10, i, 10)].set(v, mode="drop") ** 2).sum()  #: declared

    return jax.grad(loss)(v)


@case(f32(21), i32(min=0, max=30))
def read_then_written_in_one_case(x, i):
    return jnp.where(i < 21, x.at[0].set(x[i]), x)  #: masked safe


@case(f32(21), i32(min=0, max=30))
def read_then_written_in_one_case_too_wide(x, i):
    return jnp.where(i < 22, x.at[0].set(x[i]), x)  #: unsafe safe


@case(f32(3, 21), i32(3, min=0, max=20))
def branch_of_a_batch_that_reads_and_writes(x, i):
    def one(x, i):
        return lax.cond(i < 20, lambda: x.at[i].set(x[i + 1]), lambda: x)  #: masked safe

    return jax.vmap(one)(x, i)


# What is written three times is one value: equal equations on equal operands.


@case(f32(10), i32(6))
def read_anew_in_a_loop(x, i):
    def step(t, total):
        ok = (i[t] >= 0) & (i[t] < 10)  #: safe
        row = i[t]  #: safe
        return total + jnp.where(ok, x[row], 0.0)  #: masked

    return lax.fori_loop(0, 6, step, 0.0)


@case(f32(10), i32(6))
def read_anew_in_a_loop_and_one_too_wide(x, i):
    def step(t, total):
        ok = (i[t] >= 0) & (i[t] <= 10)  #: safe
        row = i[t]  #: safe
        return total + jnp.where(ok, x[row], 0.0)  #: unsafe

    return lax.fori_loop(0, 6, step, 0.0)


@case(f32(10), i32(6))
def read_anew_elsewhere(x, i):
    def step(t, total):
        ok = (i[t] >= 0) & (i[t] < 10)  #: safe
        row = i[5 - t]  #: safe
        return total + jnp.where(ok, x[row], 0.0)  #: requires

    return lax.fori_loop(0, 6, step, 0.0)


@case(f32(10), i32(6), i32(3, min=0, max=5))
def gathered_anew(x, i, at):
    ok = (i[at] >= 0) & (i[at] < 10)  #: safe
    row = i[at]  #: safe
    return jnp.where(ok, x[row], 0.0)  #: masked


@case(f32(10), i32(6), i32(3, min=0, max=5), i32(3, min=0, max=5))
def gathered_anew_from_elsewhere(x, i, at, other):
    ok = (i[at] >= 0) & (i[at] < 10)  #: safe
    row = i[other]  #: safe
    return jnp.where(ok, x[row], 0.0)  #: requires


@case(f32(10), i32(6), i32(min=0, max=3))
def sliced_anew(x, i, t):
    ok = (lax.dynamic_slice(i, (t,), (3,)) >= 0) & (lax.dynamic_slice(i, (t,), (3,)) < 10)  #: safe
    rows = lax.dynamic_slice(i, (t,), (3,))  #: safe
    return jnp.where(ok, x[rows], 0.0)  #: masked


@case(f32(10), i32(6, 6))
def summed_up_anew(x, i):
    ok = (i.sum(0) >= 0) & (i.sum(0) < 10)
    return jnp.where(ok, x[i.sum(0)], 0.0)  #: masked


@case(f32(10), i32(6, 6))
def summed_up_along_the_other_axis(x, i):
    ok = (i.sum(0) >= 0) & (i.sum(0) < 10)
    return jnp.where(ok, x[i.sum(1)], 0.0)  #: requires


# Conditions that let indices through which count from the end: the wrap is part of what is looked at.


@case(f32(10), i32(6))
def counting_from_the_end_is_let_through(x, i):
    return jnp.where((i >= -10) & (i < 10), x[i], 0.0)  #: masked


@case(f32(10), i32(6))
def counting_from_one_before_the_start(x, i):
    return jnp.where((i >= -11) & (i < 10), x[i], 0.0)  #: unsafe


@case(f32(10), i32(6))
def counting_to_one_past_the_end(x, i):
    return jnp.where((i >= -10) & (i <= 10), x[i], 0.0)  #: unsafe


@case(f32(10), i32(6))
def the_next_counting_from_the_end(x, i):
    return jnp.where((i >= -11) & (i < 9), x[i + 1], 0.0)  #: masked


@case(f32(10), i32(6))
def the_next_counting_from_too_far(x, i):
    return jnp.where((i >= -12) & (i < 9), x[i + 1], 0.0)  #: unsafe


@case(f32(10), i32())
def a_wrap_before_its_branch(x, i):
    at = jnp.where(i < 0, i + 10, i)
    return lax.cond((i >= -10) & (i < 10), lambda: x.at[at].get(mode="promise_in_bounds"), lambda: 0.0)  #: safe


@case(f32(10), i32())
def a_wrap_before_its_branch_from_too_far(x, i):
    at = jnp.where(i < 0, i + 10, i)
    return lax.cond((i >= -21) & (i < 10), lambda: x.at[at].get(mode="promise_in_bounds"), lambda: 0.0)  #: requires


@case(f32(40), i32())
def a_branch_on_what_was_wrapped(x, i):
    at = jnp.where(i < 0, i + 20, i)
    return lax.cond((at >= 0) & (at < 20), lambda: x[i + 20], lambda: 0.0)  #: safe


@case(f32(40), i32())
def a_branch_on_what_was_wrapped_by_more(x, i):
    at = jnp.where(i < 0, i + 61, i)
    return lax.cond((at >= 0) & (at < 20), lambda: x[i + 20], lambda: 0.0)  #: requires


# A negative number is a large one without a sign.


@case(f32(10), i32(6))
def without_a_sign_below_the_size(x, i):
    return jnp.where(i.astype(jnp.uint32) < 10, x[i], 0.0)  #: masked


@case(f32(10), i32(6))
def without_a_sign_up_to_the_size(x, i):
    return jnp.where(i.astype(jnp.uint32) <= 10, x[i], 0.0)  #: unsafe


@case(f32(10), i32())
def a_branch_without_a_sign(x, i):
    return lax.cond(i.astype(jnp.uint32) < 10, lambda: x[i], lambda: 0.0)  #: safe


@case(f32(10), i32())
def a_branch_without_a_sign_one_too_far(x, i):
    return lax.cond(i.astype(jnp.uint32) < 11, lambda: x[i], lambda: 0.0)  #: unsafe


@case(f32(10), i32(min=-300, max=300))
def a_branch_on_eight_bits(x, i):
    return lax.cond(i.astype(jnp.uint8) < 10, lambda: x[i], lambda: 0.0)  #: unsafe


@case(f32(10), i32(min=-246, max=255))
def a_branch_on_eight_bits_that_suffice(x, i):
    return lax.cond(i.astype(jnp.uint8) < 10, lambda: x[i], lambda: 0.0)  #: safe


@case(f32(10), i32(min=-247, max=255))
def a_branch_on_eight_bits_that_just_do_not(x, i):
    return lax.cond(i.astype(jnp.uint8) < 10, lambda: x[i], lambda: 0.0)  #: unsafe


@case(f32(10), u32(min=2**32 - 4))
def signed_only_for_its_branch(x, i):
    return lax.cond(i.astype(jnp.int32) >= -2, lambda: x[(i + 10).astype(jnp.int32) - 8], lambda: 0.0)  #: safe


# jnp.select takes the case of the first condition that holds.


@case(f32(10), i32(6))
def one_of_a_single_case(x, i):
    return jnp.select([_inside(i, 10)], [x[i]], 0.0)  #: masked


@case(f32(10), i32(6))
def one_of_a_single_case_too_wide(x, i):
    return jnp.select([_inside(i, 11)], [x[i]], 0.0)  #: unsafe


@case(f32(10), i32(6))
def what_is_left_by_those_before(x, i):
    return jnp.select([i < 0, i < 10], [0.0, x[i]], 0.0)  #: masked


@case(f32(10), i32(6))
def what_is_left_by_those_before_too_wide(x, i):
    return jnp.select([i < -11, i < 10], [0.0, x[i]], 0.0)  #: unsafe


@case(f32(10), i32(6))
def the_conditions_the_other_way(x, i):
    return jnp.select([i < 10, i < 0], [x[i], 0.0], 0.0)  #: requires


@case(f32(10), i32(6))
def what_is_left_by_all(x, i):
    return jnp.select([i < 0, i >= 10], [1.0, 2.0], x[i])  #: masked


@case(f32(10), i32(6))
def what_is_left_by_all_but_one(x, i):
    return jnp.select([i < 0, i > 10], [1.0, 2.0], x[i])  #: unsafe


@case(f32(10), i32(6), i32(6))
def a_select_by_another_array(x, i, j):
    return jnp.select([_inside(j, 10)], [x[i]], 0.0)  #: requires


@case(f32(10), i32(3, 3))
def a_select_by_the_transposed(x, i):
    return jnp.select([_inside(i, 10).T], [x[i]], 0.0)  #: requires


@case(f32(10), i32())
def a_switch_on_the_first_that_holds(x, i):
    first = jnp.argmax(jnp.stack([i < 0, i < 10, i >= 10]))
    return lax.switch(first, [lambda: 0.0, lambda: x[i], lambda: 1.0])  #: safe


@case(f32(10), i32())
def a_switch_on_the_first_that_may_hold(x, i):
    first = jnp.argmax(jnp.stack([i < 0, i < 11, i > 10]))
    return lax.switch(first, [lambda: 0.0, lambda: x[i], lambda: 1.0])  #: requires


@case(f32(2), i32(6))
def a_number_beyond_the_cases_picks_the_last(x, i):
    return lax.select_n(i, jnp.zeros(6), x[i])  #: requires


@case(f32(2), i32(6, min=0, max=1))
def a_number_of_a_case(x, i):
    return lax.select_n(i, jnp.zeros(6), x[2 * i - 1])  #: safe


@case(f32(3), i32(6))
def a_number_of_a_case_between(x, i):
    return lax.select_n(i, jnp.zeros(6), x[i], jnp.zeros(6))  #: masked


# A matrix product with a condition: each element is multiplied by its own before they are summed up.


@case(f32(10), i32(6))
def a_product_with_a_condition(x, i):
    return x[i] @ _inside(i, 10).astype(np.float32)  #: masked


@case(f32(10), i32(6))
def a_product_with_a_condition_too_wide(x, i):
    return x[i] @ _inside(i, 11).astype(np.float32)  #: unsafe


@case(f32(10), i32(6), i32(6))
def a_product_with_another_condition(x, i, j):
    return x[i] @ _inside(j, 10).astype(np.float32)  #: requires


@case(f32(10, 3), i32(6))
def rows_summed_by_a_condition(x, i):
    return jnp.einsum("i,ij->j", _inside(i, 10), x[i])  #: masked


@case(f32(10, 6), i32(6))
def columns_summed_by_a_condition(x, i):
    return jnp.einsum("j,ij->i", _inside(i, 10), x[i])  #: requires


@case(f32(10), i32(4, 6))
def each_row_with_its_condition(x, i):
    return jnp.einsum("bi,bi->b", x[i], _inside(i, 10).astype(np.float32))  #: masked


@case(f32(10), i32(6, 6))
def each_row_with_a_condition_transposed(x, i):
    return jnp.einsum("bi,ib->b", x[i], _inside(i, 10).astype(np.float32))  #: requires


@case(f32(10), i32(6, 6))
def all_rows_with_all_conditions(x, i):
    return x[i] @ _inside(i, 10).astype(np.float32)  #: requires


@case(f32(10), i32(6))
def a_logarithm_in_a_product_with_a_condition(x, i):
    return jnp.log(x[i]) @ _inside(i, 10).astype(np.float32)  #: requires


@case(f32(10), i32(6))
def half_a_product_with_a_condition(x, i):
    # What is finite in 32 bits need not be in 16.
    read, ok = x[i], _inside(i, 10).astype(np.float32)  #: requires
    return lax.dot(read, ok, preferred_element_type=jnp.float16)


@case(i32(10), i32(6))
def a_product_of_integers_with_a_condition(x, i):
    return (3 * x[i]) @ _inside(i, 10).astype(np.int32)  #: masked


# What is written outside is dropped where the program says so, and with it what was read outside.


@case(f32(10), i32(6))
def read_and_dropped(x, i):
    row = jnp.where(_inside(i, 10), i, 10)
    read = x[i]  #: masked
    return jnp.zeros(10).at[row].set(read, mode="drop")  #: declared


@case(f32(10), i32(6))
def read_and_dropped_but_one(x, i):
    row = jnp.where(_inside(i, 11), i, 11)
    read = x[i]  #: unsafe
    return jnp.zeros(11).at[row].set(read, mode="drop")  #: declared


@case(f32(10), i32(6))
def read_and_not_dropped_but_wrapped(x, i):
    row = jnp.where(_inside(i, 10), i, -1)
    read = x[i]  #: requires
    return jnp.zeros(10).at[row].set(read, mode="drop")  #: safe


@case(f32(10), i32(6))
def read_and_dropped_without_a_word(x, i):
    row = jnp.where(_inside(i, 10), i, 10)
    read = x[i]  #: requires
    return jnp.zeros(10).at[row].set(read)  #: unsafe


@case(f32(10), i32(6))
def read_and_dropped_in_another_order(x, i):
    row = jnp.where(_inside(i, 10), i, 10)[::-1]
    read = x[i]  #: requires
    return jnp.zeros(10).at[row].set(read, mode="drop")  #: declared


@case(f32(10, 3), i32(6))
def rows_read_and_dropped(x, i):
    row = jnp.where(_inside(i, 10), i, 10)
    read = jnp.exp(x[i])  #: masked
    return jnp.zeros((10, 3)).at[row].add(read, mode="drop")  #: declared


@case(f32(10), i32(6), i32(6))
def dropped_by_one_of_two_places(x, i, j):
    row = jnp.where(_inside(i, 10), i, 10)
    read = x[i]  #: masked
    return jnp.zeros((10, 4)).at[row, j].set(read, mode="drop")  #: declared


@case(f32(10), i32(6))
def summed_up_by_segments(x, i):
    segment = jnp.where(_inside(i, 10), i, 10)
    read = x[i]  #: masked
    return jax.ops.segment_sum(read, segment, 10)  #: declared


@case(f32(10), i32(6))
def summed_up_by_segments_of_which_one_is_kept(x, i):
    segment = jnp.where(_inside(i, 10), i, 10)
    read = x[i]  #: requires
    return jax.ops.segment_sum(read, segment, 11)  #: safe


@case(f32(10), i32(6))
def left_out_by_minus_one(x, i):
    # A segment is no index that counts from the end.
    segment = jnp.where(_inside(i, 10), i, -1)
    read = x[i]  #: masked
    return jax.ops.segment_max(read, segment, 10)  #: declared


@case(f32(10), i32(6), i32(6))
def segments_of_something_else(x, i, j):
    segment = jnp.where(_inside(j, 10), j, 10)
    read = x[i]  #: requires
    return jax.ops.segment_sum(read, segment, 10)  #: declared


@case(f32(10), i32(6))
def one_bound_for_each_select(x, i):
    return jnp.where(i >= 0, jnp.where(i < 10, x[i], 0.0), 0.0)  #: masked


@case(f32(10), i32(6))
def one_bound_for_each_select_too_wide(x, i):
    return jnp.where(i >= 0, jnp.where(i < 11, x[i], 0.0), 0.0)  #: unsafe


@case(f32(10, 4), i32(6), i32(6))
def row_and_column_in_selects_of_their_own(x, i, j):
    return jnp.where((i >= 0) & (i < 10), jnp.where((j >= 0) & (j < 4), x[i, j], 0.0), 0.0)  #: masked


@case(f32(10), i32(6), i32(6))
def a_select_that_is_about_another(x, i, j):
    return jnp.where(j >= 0, jnp.where(i < 10, x[i], 0.0), 0.0)  #: requires


@case(f32(8))
def windows_of_a_row(x):
    at = jnp.arange(8)[:, None] + jnp.arange(3)
    return jnp.where(at < 8, x[at], 0.0)  #: masked


@case(f32(8))
def windows_of_a_row_too_far(x):
    at = jnp.arange(8)[:, None] + jnp.arange(3)
    return jnp.where(at <= 8, x[at], 0.0)  #: unsafe


@case(f32(10), i32(min=0, max=10))
def first_of_a_padded_row(x, n):
    return jnp.where(jnp.arange(12) < n, x[jnp.arange(12)], 0.0)  #: masked


@case(f32(10), i32(min=0, max=11))
def first_of_a_padded_row_too_far(x, n):
    return jnp.where(jnp.arange(12) < n, x[jnp.arange(12)], 0.0)  #: unsafe


@case(f32(10), i32(5, min=-3, max=14))
def taken_and_thrown_away(x, i):
    return jnp.where((i >= 0) & (i < 10), jnp.take(x, i, axis=0), 0)  #: masked


@case(f32(10), i32(5, min=-3, max=14))
def taken_and_thrown_away_one_too_late(x, i):
    return jnp.where((i >= 0) & (i <= 10), jnp.take(x, i, axis=0), 0)  #: unsafe


@case(f32(10), i32(5, min=-3, max=14))
def read_by_a_function_for_two_callers(x, i):
    @jax.jit
    def read(k):
        return jax.nn.relu(x[k]) + 1  #: masked

    return jnp.where((i >= 0) & (i < 10), read(i), 0), jnp.where((i >= -1) & (i < 9), read(i + 1), 0)


@case(f32(10), i32(5, min=-3, max=14))
def read_by_a_function_for_one_who_sees_it(x, i):
    @jax.jit
    def read(k):
        return jax.nn.relu(x[k]) + 1  #: unsafe

    return jnp.where((i >= 0) & (i < 10), read(i), 0), read(i + 1)


@case(f32(10), i32(5, min=-3, max=14))
def read_by_a_function_under_the_other_ones_mask(x, i):
    @jax.jit
    def read(k):
        return x[k]  #: unsafe

    fits = (i >= 0) & (i < 10)
    return jnp.where(fits, read(i), 0), jnp.where(fits, read(i + 1), 0)


@case(f32(10), i32(5, min=-3, max=14))
def read_by_a_function_in_a_function(x, i):
    @jax.jit
    def inner(k):
        return x[k]  #: masked

    @jax.checkpoint
    def outer(k):
        return 2 * inner(k)

    return jax.lax.scan(lambda c, k: (c + jnp.where((k >= 0) & (k < 10), outer(k), 0), None), 0.0, i)[0]


@case(f32(10), i32(5, min=-3, max=14))
def read_by_a_function_that_turns_it_round(x, i):
    @jax.jit
    def read(k):
        return x[k][::-1]  #: unsafe

    return jnp.where((i >= 0) & (i < 10), read(i), 0)


@case(f32(10), i32(5, min=-3, max=14))
def of_what_a_function_reads_one_half_is_seen(x, i):
    @jax.jit
    def read(k):
        y = x[k]  #: unsafe
        return y, -y

    first, second = read(i)
    return jnp.where((i >= 0) & (i < 10), first, 0), second


@case(f32(10), i32(5, min=-3, max=14))
def a_gradient_through_a_function_that_reads(x, i):
    def loss(x):
        return jnp.where((i >= 0) & (i < 10), jnp.take(x, i, axis=0), 0).sum()  #: masked

    return jax.grad(loss)(x)


@case(f32(10), i32(5, min=-3, max=14))
def a_gradient_through_a_function_that_reads_one_too_many(x, i):
    def loss(x):
        return jnp.where((i >= 0) & (i <= 10), jnp.take(x, i, axis=0), 0).sum()  #: masked unsafe

    return jax.grad(loss)(x)


@case(f32(4, 4, 7), i32(4, 4, min=-100, max=9))
def labels_that_are_left_out_of_a_loss(logits, labels):
    def loss(logits):
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)[..., 0]  #: masked
        return -jnp.where((labels >= 0) & (labels < 7), picked, 0).sum()

    return jax.grad(loss)(logits)


# Read by a function, thrown away by its caller: `jnp.take` and `jnp.take_along_axis` are such functions.


@case(f32(10), i32(4))
def taken_by_any_index_and_thrown_away(x, i):
    return jnp.where((i >= 0) & (i < 10), jnp.take(x, i), 0.0)  #: masked


@case(f32(4, 10), i32(4, min=-100, max=9))
def labels_of_which_some_are_left_out(logits, labels):
    def loss(logits):
        each = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)[:, 0]  #: masked
        return -jnp.where(labels >= 0, each, 0.0).sum() / (labels >= 0).sum()

    return jax.value_and_grad(loss)(logits)


@case(f32(4, 10), i32(4, min=-100, max=10))
def labels_of_which_one_is_too_large(logits, labels):
    each = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]  #: unsafe
    return jnp.where(labels >= 0, each, 0.0)


@case(f32(4, 10), i32(4, min=-100, max=9))
def labels_left_out_the_other_way_round(logits, labels):
    each = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]  #: unsafe
    return jnp.where(labels[::-1] >= 0, each, 0.0)


@case(f32(10), i32(4, min=-100, max=9))
def summed_over_one_and_thrown_away(x, i):
    return jnp.where(i >= 0, jnp.take(x, i[:, None]).sum(1), 0.0)  #: masked


@case(f32(10), i32(4, min=-100, max=9))
def summed_over_all_and_thrown_away(x, i):
    return jnp.where(i >= 0, jnp.take(x, i[None, :]).sum(1), 0.0)  #: unsafe


@case(f32(10), i32(4, min=-100, max=9))
def read_by_a_function_of_two_callers(x, i):
    read = jax.jit(lambda x, i: x[i])  #: unsafe
    return jnp.where(i >= 0, read(x, i), 0.0) + read(x, i)


@case(f32(10), i32(4, min=-100, max=9))
def read_by_a_function_that_a_loop_calls_too(x, i):
    read = jax.jit(lambda x, i: x[i])  #: unsafe
    total = lax.fori_loop(0, 3, lambda k, total: total + read(x, i).sum(), 0.0)
    return jnp.where(i >= 0, read(x, i), 0.0), total


@case(f32(10), i32(4, min=-100, max=9))
def read_and_used_by_a_function(x, i):
    def used(x, i):
        found = x[i]  #: unsafe
        return -found, found.sum()

    negative, total = jax.jit(used)(x, i)
    return jnp.where(i >= 0, negative, 0.0), total


@case(f32(10), i32(min=-100, max=9))
def one_read_by_a_function(x, i):
    return jnp.where(i >= 0, jax.jit(lambda x, i: -x[i])(x, i), 0.0)  #: masked


@case(f32(10), i32(1, 4, min=-100, max=9), i32(4, 1, min=-100, max=9))
def rows_and_columns_of_one(x, i, k):
    return jnp.where((k >= 0)[:, 0], jnp.take(x, i)[0], 0.0)  #: unsafe


@case(f32(4, 10), i32(4, min=-100, max=9))
def gradient_of_labels_left_out_elsewhere(logits, labels):
    def loss(logits):
        each = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]  #: unsafe
        return jnp.where(labels[::-1] >= 0, each, 0.0).sum()

    return jax.grad(loss)(logits)


@case(f32(4, 4, 7), i32(4, 4, min=-100, max=9))
def labels_that_are_left_out_of_a_loss_by_another_ones_sign(logits, labels):
    picked = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]  #: unsafe
    return jnp.where(((labels >= 0) & (labels < 7)).T, picked, 0)


@case(f32(4, 4, 7), i32(4, 4, min=-100, max=9))
def labels_that_are_left_out_of_a_loss_turned_round(logits, labels):
    picked = jnp.take_along_axis(logits, labels.reshape(4, 4, 1), axis=2).squeeze(2)  #: masked
    return jnp.where(((labels >= 0) & (labels < 7)).T, picked.T, 0)


@case(f32(50, 16), i32(4, 8, min=-1, max=60))
def an_embedding_and_its_gradient_where_there_is_a_token(table, tokens):
    def energy(table):
        there = (tokens >= 0) & (tokens < 50)
        return (jnp.where(there[..., None], jnp.take(table, tokens, axis=0), 0) ** 2).sum()  #: masked

    return jax.grad(energy)(table)


@case(f32(10), i32(5, min=-3, max=14))
def a_guarded_read_used_twice(x, i):
    @jax.jit
    def read(k, fits):
        return jnp.where(fits, x[k], 0)  #: masked

    return read(i, (i >= 0) & (i < 10)) + read(i + 1, (i >= -1) & (i < 9))


@case(f32(10), i32(5, min=-3, max=14))
def a_guarded_read_used_twice_and_guarded_once(x, i):
    @jax.jit
    def read(k, fits):
        return jnp.where(fits, x[k], 0)  #: unsafe

    fits = (i >= 0) & (i < 10)
    return read(i, fits) + read(i + 1, fits)


# One condition for all that was read, whatever is made of it.


def is_inside(i):
    return (i >= 0) & (i < 10)


@case(f32(10), i32(4))
def a_sum_if_all_are_inside(x, i):
    return jnp.where(is_inside(i).all(), x[i].sum(), 0.0)  #: masked


@case(f32(10, 3), i32(4))
def a_mean_if_the_ends_are_inside(x, i):
    return jnp.where((i.min() >= 0) & (i.max() < 10), x[i].mean(), 0.0)  #: masked


@case(f32(10), i32(2, 4))
def pieces_if_all_are_inside(x, i):
    read = x[i]  #: masked
    return jnp.where(is_inside(i).all(), jnp.concatenate([read[0], read[1]]), 0.0)


@case(f32(10), i32(4))
def any_if_all_are_inside(x, i):
    return is_inside(i).all() & (x[i] > 0).any()  #: masked


@case(f32(10), i32(4))
def a_sum_if_any_is_inside(x, i):
    return jnp.where(is_inside(i).any(), x[i].sum(), 0.0)  #: requires


@case(f32(10), i32(4))
def a_sum_beside_each(x, i):
    return jnp.where(is_inside(i), x[i].sum(), 0.0)  #: requires


@case(f32(10), i32(4))
def a_sum_if_not_all_are_inside(x, i):
    return jnp.where(is_inside(i).all(), 0.0, x[i].sum())  #: requires


@case(f32(10), i32(4))
def a_sum_that_is_also_seen(x, i):
    read = x[i]  #: requires
    return jnp.where(is_inside(i).all(), read.sum(), 0.0), read.max()


@case(f32(9), i32(4))
def a_sum_if_all_are_nearly_inside(x, i):
    return jnp.where(is_inside(i).all(), x[i].sum(), 0.0)  #: unsafe


@case(f32(10), i32(4, min=-100, max=9))
def read_by_a_function_that_a_loop_calls_later(x, i):
    read = jax.jit(lambda x, i: x[i])  #: unsafe
    kept = jnp.where(i >= 0, read(x, i), 0.0)
    return kept, lax.fori_loop(0, 3, lambda k, total: total + read(x, i).sum(), 0.0)


@case(f32(10), i32(4, min=-100, max=9))
def read_by_a_function_that_a_branch_calls_later(x, i):
    read = jax.jit(lambda x, i: x[i])  #: unsafe
    kept = jnp.where(i >= 0, read(x, i), 0.0)
    return kept, lax.cond(i[0] > 0, lambda: read(x, i), lambda: read(x, i) * 0.5)


# What a mask and a promise say together: neither bounds the index by itself.
@case(f32(10), i32(4), i32(4))
def rows_as_long_as_is_said(x, start, length):
    redzone.assume((start >= 0) & (length >= 0) & (start <= 10) & (length <= 10) & (start + length <= 10))
    column = jnp.arange(6)
    return jnp.where(column < length[:, None], x[start[:, None] + column], 0.0)  #: masked


@case(f32(10), i32(4), i32(4))
def rows_one_longer_than_is_said(x, start, length):
    redzone.assume((start >= 0) & (length >= 0) & (start <= 10) & (length <= 10) & (start + length <= 10))
    column = jnp.arange(6)
    return jnp.where(column <= length[:, None], x[start[:, None] + column], 0.0)  #: unsafe


@case(f32(10), i32(4), i32(4))
def one_row_after_another_that_is_longer(x, start, length):
    column = jnp.arange(6)

    def row(mine):
        first, count = mine
        redzone.assume((first >= 0) & (count >= 0) & (first <= 10) & (count <= 10) & (first + count <= 10))
        return jnp.where(column <= count, x[first + column], 0.0)  #: unsafe

    return lax.map(row, (start, length))


@case(f32(10), i32(6), i32(min=0, max=4))
def neighbours_of_a_node(x, rows, node):
    redzone.assume(rows[1:] >= rows[:-1])
    redzone.assume((rows[0] == 0) & (rows[-1] == 10))
    first, end = rows[node], rows[node + 1]  #: safe #: safe
    column = jnp.arange(6)
    return jnp.where(column < end - first, x[first + column], 0.0)  #: masked


@case(f32(10), i32(6), i32(5))
def a_neighbour_of_each_node_that_has_one(x, rows, draws):
    redzone.assume(rows[1:] >= rows[:-1])
    redzone.assume((rows[0] == 0) & (rows[-1] == 10))
    count = rows[1:] - rows[:-1]
    return jnp.where(count > 0, x[rows[:-1] + draws % jnp.maximum(count, 1)], 0.0)  #: masked


@case(f32(10), i32(6), i32(5))
def a_neighbour_of_each_node(x, rows, draws):
    redzone.assume(rows[1:] >= rows[:-1])
    redzone.assume((rows[0] == 0) & (rows[-1] == 10))
    count = rows[1:] - rows[:-1]
    return x[rows[:-1] + draws % jnp.maximum(count, 1)]  #: unsafe


# Conditions that say nothing of an index but where it is outside: then all of these flags are false.
def _moved(at, way, ways):
    return sum((at + step) * (way == k) for k, step in enumerate(ways))


@case(i32(), i32())
def turned_where_the_ball_leaves(at, way):
    new = _moved(at, way, (-1, 1, 1, -1))
    return jnp.where((new < 0) | (new > 9), jnp.array([1, 0, 3, 2])[way], way)  #: masked


@case(i32(), i32())
def turned_where_the_ball_leaves_or_stands_at_the_wall(at, way):
    new = _moved(at, way, (-1, 1, 1, -1))
    return jnp.where((new <= 0) | (new > 9), jnp.array([1, 0, 3, 2])[way], way)  #: requires


@case(i32(4), i32(4))
def turned_where_another_ball_leaves(at, way):
    new = jnp.roll(_moved(at, way, (-1, 1, 1, -1)), 1)
    return jnp.where((new < 0) | (new > 9), jnp.array([1, 0, 3, 2])[way], way)  #: requires


@case(i32(4), i32(4))
def turned_where_each_ball_leaves(at, way):
    new = _moved(at, way, (-1, 1, 1, -1))
    return jnp.where((new < 0) | (new > 9), jnp.array([1, 0, 3, 2])[way], way)  #: masked


@case(f32(10), i32(4, min=-1000, max=1000), i32(4, min=-1000, max=1000))
def a_sum_the_other_way_round(x, row, column):
    ok = (row + column < 10) & (row >= 0) & (column >= 0)
    return jnp.where(ok, x.at[column + row].get(mode="promise_in_bounds"), 0.0)  #: masked


@case(f32(10), i32(4, min=-1000, max=1000), i32(4, min=-1000, max=1000))
def a_sum_the_other_way_round_of_what_may_be_negative(x, row, column):
    ok = (row + column < 10) & (row >= 0)
    return jnp.where(ok, x.at[column + row].get(mode="promise_in_bounds"), 0.0)  #: unsafe


# Kept or thrown away as one: whatever is made of it on the way, it must come out of a select.


@case(i32(64), i32(min=0, max=63), i32(min=-1, max=64))
def moved_from_one_square_to_another(board, start, end):
    ok = _inside(end, 64)
    piece = board[start]  #: safe
    moved = board.at[end].set(piece)  #: masked
    return jnp.where(ok, moved.at[start].set(0), board)  #: safe


@case(i32(64), i32(min=0, max=63), i32(min=-1, max=64))
def moved_one_square_too_far(board, start, end):
    ok = (end >= 0) & (end <= 64)
    piece = board[start]  #: safe
    moved = board.at[end].set(piece)  #: unsafe
    return jnp.where(ok, moved.at[start].set(0), board)  #: safe


@case(i32(64), i32(min=0, max=63), i32(min=-1, max=64))
def moved_and_also_seen(board, start, end):
    ok = _inside(end, 64)
    piece = board[start]  #: safe
    moved = board.at[end].set(piece)  #: unsafe
    return jnp.where(ok, moved.at[start].set(0), board), moved.sum()  #: safe


@case(i32(8), i32(min=0, max=8), i32(min=0, max=8))
def swapped_if_both_are_there(x, i, j):
    ok = _inside(i, 8) & _inside(j, 8)
    a, b = x[i], x[j]  #: masked
    return jnp.where(ok, x.at[i].set(b).at[j].set(a), x)  #: masked


@case(i32(8), i32(min=0, max=8), i32(min=0, max=8))
def swapped_if_one_is_there(x, i, j):
    ok = _inside(i, 8)
    a = x[i]  #: masked
    b = x[j]  #: unsafe
    x = jnp.where(ok, x.at[i].set(b), x)  #: masked
    return jnp.where(ok, x.at[j].set(a), x)  #: unsafe


@case(f32(8), i32(min=-1, max=8))
def put_beside_others(x, i):
    return jnp.where(_inside(i, 8), jnp.stack([x[i], 1.0]), 0.0)  #: masked


@case(f32(8), i32(min=-1, max=8))
def put_beside_others_under_half_a_condition(x, i):
    return jnp.where(i >= 0, jnp.stack([x[i], 1.0]), 0.0)  #: unsafe


@case(f32(8), i32(min=-1, max=8))
def a_state_of_which_all_is_taken_back(x, i):
    old = {"x": x, "first": x[0], "twice": x * 2}
    written = x.at[i].add(1.0)  #: masked
    new = {"x": written.at[0].add(1.0), "first": x[i], "twice": jnp.sort(written)}  #: masked safe
    return jax.tree.map(lambda a, b: jnp.where(_inside(i, 8), a, b), new, old)


@case(f32(8), i32(min=-1, max=8))
def a_state_of_which_one_part_stays(x, i):
    written = x.at[i].add(1.0)  #: unsafe
    return jnp.where(_inside(i, 8), written.at[0].add(1.0), x), jnp.sort(written)  #: safe


@case(f32(8), i32(min=-1, max=8))
def written_and_gone_through(x, i):
    written = x.at[i].set(1.0)  #: masked
    summed = lax.fori_loop(0, 7, lambda k, x: x.at[k + 1].add(x[k]), written)  #: safe
    return jnp.where(_inside(i, 8), summed, x)


@case(f32(8), i32(min=-1, max=8))
def written_and_gone_through_beside_another_carry(x, i):
    def step(k, both):
        a, b = both
        return a.at[k].add(1.0), b + k  #: safe

    written = x.at[i].set(1.0)  #: masked
    summed, count = lax.fori_loop(0, 7, step, (written, 0))
    return jnp.where(_inside(i, 8), summed, x), count


@case(f32(8), i32(min=-1, max=8))
def written_and_gone_through_into_another_carry(x, i):
    def step(k, both):
        a, b = both
        return a + 1.0, b + a[k]  #: safe

    written = x.at[i].set(1.0)  #: unsafe
    summed, total = lax.fori_loop(0, 7, step, (written, 0.0))
    return jnp.where(_inside(i, 8), summed, x), total


@case(f32(8), i32(min=-1, max=8))
def taken_back_in_a_loop(x, i):
    ok, written = _inside(i, 8), x.at[i].set(1.0)  #: masked
    return lax.fori_loop(0, 7, lambda k, y: jnp.where(ok, y.at[k].add(1.0), x), written)  #: safe


@case(f32(8), i32(min=-1, max=8), i32(min=0, max=3))
def taken_back_in_a_loop_that_may_not_run(x, i, n):
    ok, written = _inside(i, 8), x.at[i].set(1.0)  #: unsafe
    return lax.fori_loop(0, n, lambda k, y: jnp.where(ok, y.at[k].add(1.0), x), written)  #: safe


@case(f32(8), i32(min=-1, max=8))
def a_loop_as_long_as_what_was_read(x, i):
    # Outside, it may be any number, and the loop need not end.
    read = x.at[i].get(mode="promise_in_bounds")  #: unsafe
    return jnp.where(_inside(i, 8), lax.while_loop(lambda c: c < read, lambda c: c + 1.0, 0.0), 0.0)


@case(f32(8), i32(min=-1, max=8))
def a_loop_as_long_as_what_is_let_through(x, i):
    read = jnp.where(_inside(i, 8), jnp.stack([x[i], 1.0]).min(), 0.0)  #: masked
    return lax.while_loop(lambda c: c < read, lambda c: c + 1.0, 0.0)


@case(f32(8), i32(min=-1, max=8))
def printed_before_it_is_thrown_away(x, i):
    read = x[i]  #: unsafe
    jax.debug.callback(lambda _: None, read)
    return jnp.where(_inside(i, 8), jnp.stack([read, 1.0]), 0.0)


@case(f32(8), i32(min=-1, max=8))
def printed_after_it_is_thrown_away(x, i):
    read = jnp.where(_inside(i, 8), jnp.stack([x[i], 1.0]), 0.0)  #: masked
    jax.debug.callback(lambda _: None, read)
    return read


@case(f32(8), i32(min=-1, max=8))
def printed_in_a_loop(x, i):
    def step(total, k):
        jax.debug.callback(lambda _: None, total)
        return total + k, None

    read = x[i]  #: unsafe
    return jnp.where(_inside(i, 8), lax.scan(step, read, x)[0], 0.0)


@case(f32(8), i32(min=-1, max=8))
def a_branch_that_takes_what_was_written_or_not(x, i):
    written = x.at[i].set(1.0).at[0].set(2.0)  #: masked safe
    return lax.cond(_inside(i, 8), lambda new, old: new, lambda new, old: old, written, x)


@case(f32(8), i32(min=-1, max=8))
def a_branch_that_looks_at_what_was_written_either_way(x, i):
    written = x.at[i].set(1.0).at[0].set(2.0)  #: unsafe safe
    return lax.cond(_inside(i, 8), lambda new, old: new, lambda new, old: old + new[3], written, x)


@case(f32(8), i32(min=-1, max=8))
def free_and_inside(x, i):
    # What was read is part of the condition: where it counts, the rest of that holds.
    ok = _inside(i, 8) & (x[i] == 0)  #: masked
    return jnp.where(ok, x.at[i].set(1.0).at[0].add(x[i]), x)  #: masked safe


@case(f32(8), i32(min=-1, max=8))
def free_or_inside(x, i):
    ok = _inside(i, 8) | (x[i] == 0)  #: unsafe
    return jnp.where(ok, x.at[i].set(1.0).at[0].add(1.0), x)  #: unsafe safe


@case(f32(8), i32(min=-1, max=8))
def written_by_a_function_and_thrown_away(x, i):
    @jax.jit
    def put(x, i):
        return x.at[i].set(1.0).at[0].add(1.0), x.sum()  #: masked safe

    new, total = put(x, i)
    return jnp.where(_inside(i, 8), new, x), total


@case(f32(8), i32(min=-1, max=8))
def written_by_a_function_and_summed_up(x, i):
    @jax.jit
    def put(x, i):
        new = x.at[i].set(1.0).at[0].add(1.0)  #: unsafe safe
        return new, new.sum()

    new, total = put(x, i)
    return jnp.where(_inside(i, 8), new, x), total


@case(f32(8), i32(min=-1, max=8), f32(8))
def one_element_of_what_was_written_is_taken(x, i, mask):
    # Each element by its own condition: one of them is enough.
    return jnp.where(_inside(i, 8) & (mask > 0), x.at[i].set(1.0)[::-1], x)  #: masked


@case(f32(8), i32(min=-1, max=8), f32(8))
def one_element_of_what_was_written_is_taken_by_itself(x, i, mask):
    return jnp.where(_inside(i, 8) | (mask > 0), x.at[i].set(1.0)[::-1], x)  #: unsafe


@case(f32(8), i32(5, min=-1, max=8))
def taken_back_each_time(x, i):
    def step(x, k):
        return jnp.where(_inside(k, 8), x.at[k].set(1.0).at[0].add(1.0), x), None  #: masked safe

    return lax.scan(step, x, i)[0]


@case(f32(8), i32(5, min=-1, max=8))
def taken_back_one_by_one_after_all(x, i):
    def step(x, k):
        return x.at[k].set(1.0).at[0].add(1.0), _inside(k, 8)  #: unsafe safe

    written, ok = lax.scan(step, x, i)
    return jnp.where(ok[0], written, x)


@case(f32(3, 8), i32(3, min=-1, max=8))
def lanes_put_in_order(x, i):
    # What is outside in one lane is seen in another.
    read = jax.vmap(lambda row, k: row.at[k].get(mode="promise_in_bounds"))(x, i)  #: unsafe
    return jnp.where(_inside(i, 8), jnp.sort(read), 0.0)


@case(f32(8), i32(min=-1, max=8))
def a_branch_that_looks_at_what_was_read_either_way(x, i):
    read = jnp.stack([x.at[i].get(mode="promise_in_bounds"), 1.0])  #: unsafe
    return lax.cond(_inside(i, 8), lambda v: v.sum(), lambda v: v.max(), read)


@case(f32(8), i32(min=-1, max=8))
def what_was_read_decides_a_branch_too(x, i):
    read = x.at[i].get(mode="promise_in_bounds")  #: unsafe
    kept = jnp.where(_inside(i, 8), jnp.stack([read, 1.0]), 0.0)
    return kept, lax.cond(read > 9, lambda: 1.0, lambda: 2.0)


@case(f32(8), i32(min=-1, max=8))
def what_was_read_goes_into_another_carry(x, i):
    read = x.at[i].get(mode="promise_in_bounds")  #: unsafe
    first, second = lax.fori_loop(0, 3, lambda k, c: (c[0] + 1.0, c[1] + c[0]), (read, 0.0))
    return jnp.where(_inside(i, 8), first, 0.0), second


@case(f32(8), i32(min=6, max=20), flag())
def what_was_read_decides_a_branch_that_may_be_seen(x, i, other):
    read = x.at[i].get(mode="promise_in_bounds")  #: unsafe
    kept = jnp.where(_inside(i, 8), jnp.stack([read, 1.0]), 0.0)
    return kept, jnp.where(other, lax.cond(read > 9, lambda: 1.0, lambda: 2.0), 0.0)


@case(f32(8), i32(min=6, max=20), flag())
def what_was_read_goes_into_another_carry_that_may_be_seen(x, i, other):
    read = x.at[i].get(mode="promise_in_bounds")  #: unsafe
    first, second = lax.fori_loop(0, 3, lambda k, c: (c[0] + 1.0, c[1] + c[0]), (read, 0.0))
    return jnp.where(_inside(i, 8), first, 0.0), jnp.where(other, second, 0.0)


@case(f32(8), i32(min=0, max=30), f32(8))
def what_was_read_is_replaced_here_and_there(x, i, mask):
    read = x.at[i].get(mode="promise_in_bounds")  #: unsafe
    return jnp.where(~_inside(i, 8) & (mask > 0), 0.0, jnp.full(8, read)[::-1])


# What changes nothing where it is written: 1 in a product, the least number in a maximum, the largest in a minimum.


@case(f32(10), i32(6), f32(6))
def no_more_than_there_is(x, i, y):
    return x.at[i].max(jnp.where(_inside(i, 10), y, -jnp.inf), mode="promise_in_bounds")  #: masked


@case(f32(10), i32(6, min=0, max=10), f32(6))
def zero_at_least(x, i, y):
    return x.at[i].max(jnp.where(_inside(i, 10), y, 0.0))  #: unsafe


@case(f32(10), i32(6), f32(6))
def no_less_than_there_is(x, i, y):
    return x.at[i].min(jnp.where(_inside(i, 10), y, jnp.inf), mode="promise_in_bounds")  #: masked


@case(f32(10), i32(6, min=0, max=10), f32(6))
def no_less_than_nothing(x, i, y):
    return x.at[i].min(jnp.where(_inside(i, 10), y, -jnp.inf))  #: unsafe


@case(f32(10), i32(6), f32(6))
def times_one(x, i, y):
    return x.at[i].mul(jnp.where(_inside(i, 10), y, 1.0), mode="promise_in_bounds")  #: masked


@case(f32(10), i32(6, min=0, max=10), f32(6))
def times_zero(x, i, y):
    return x.at[i].mul(jnp.where(_inside(i, 10), y, 0.0))  #: unsafe


@case(f32(10), i32(6, min=0, max=10), f32(6))
def times_one_too_late(x, i, y):
    return x.at[i].mul(jnp.where(_inside(i, 11), y, 1.0))  #: unsafe


@case(i32(10), i32(6), i32(6))
def the_least_integer(x, i, y):
    return x.at[i].max(jnp.where(_inside(i, 10), y, jnp.iinfo(jnp.int32).min))  #: masked


@case(i32(10), i32(6, min=0, max=10), i32(6))
def not_the_least_integer(x, i, y):
    return x.at[i].max(jnp.where(_inside(i, 10), y, jnp.iinfo(jnp.int32).min + 1))  #: unsafe


@case(flag(10), i32(6), flag(6))
def marked_if_inside(x, i, y):
    return x.at[i].max(y & _inside(i, 10))  #: masked


@case(flag(10), i32(6, min=0, max=10), flag(6))
def marked_or_inside(x, i, y):
    return x.at[i].max(y | _inside(i, 10))  #: unsafe


@case(flag(10), i32(6), flag(6))
def marked_unless_outside(x, i, y):
    return x.at[i].min(y | ~_inside(i, 10))  #: masked


@case(i32(10), i32(6, min=0, max=12))
def counted_if_inside(x, i):
    return x.at[i].add(i < 10)  #: masked


@case(i32(10), i32(6, min=0, max=12))
def counted_if_nearly_inside(x, i):
    return x.at[i].add(i <= 10)  #: unsafe


@case(f32(10), i32(6, min=0, max=12))
def kept_if_outside(x, i):
    return x.at[i].mul(i >= 10)  #: masked


@case(f32(10), i32(6, min=0, max=12))
def kept_if_inside(x, i):
    return x.at[i].mul(i < 10)  #: unsafe


# Rows that are read, and taken apart before each is kept or thrown away


@case(f32(10, 3), i32(6))
def columns_of_rows_by_themselves(x, i):
    rows, ok = x[i], _inside(i, 10)  #: masked
    return jnp.where(ok, rows[:, 0], 0.0) + jnp.where(ok, rows[:, 2], 1.0)


@case(f32(10, 3), i32(6))
def columns_of_rows_one_of_them_seen(x, i):
    rows, ok = x[i], _inside(i, 10)  #: requires
    return jnp.where(ok, rows[:, 0], 0.0) + rows[:, 2]


@case(f32(10, 3), i32(6))
def columns_of_rows_unstacked(x, i):
    (a, b, _), ok = jnp.unstack(x[i], axis=1), _inside(i, 10)  #: masked
    return jnp.where(ok, a * b, 0.0)


@case(f32(10, 3), i32(6))
def columns_of_rows_unstacked_and_the_last_seen(x, i):
    (a, b, c), ok = jnp.unstack(x[i], axis=1), _inside(i, 10)  #: requires
    return jnp.where(ok, a * b, 0.0), c


@case(f32(10, 3), i32(6))
def columns_of_rows_in_each_lane(x, i):
    def one(k):
        a, b, _ = x[k]  #: masked
        return jnp.where(_inside(k, 10), a + b, 0.0)

    return jax.vmap(one)(i)


@case(f32(10, 3), i32(6), f32(6, 1))
def rows_with_a_column_more_and_turned_round(x, i, more):
    rows = jnp.concatenate([x[i], more], axis=1)[:, ::-1]  #: masked
    return jnp.where(_inside(i, 10)[:, None], jnp.cumsum(rows, axis=1), 0.0)


@case(f32(10, 3), i32(6))
def rows_moved_to_the_next_place(x, i):
    rows = jnp.concatenate([x[i][1:], x[i][:1]])  #: requires
    return jnp.where(_inside(i, 10)[:, None], rows, 0.0)


@case(f32(10, 3), i32(6))
def rows_turned_round_but_not_what_keeps_them(x, i):
    return jnp.where(_inside(i, 10)[:, None], x[i][::-1], 0.0)  #: requires


@case(f32(10, 3), i32(6))
def rows_summed_up_before_they_are_kept(x, i):
    return jnp.where(_inside(i, 10)[:, None], jnp.cumsum(x[i], axis=0), 0.0)  #: requires


@case(f32(10, 3), i32(6))
def rows_unstacked_one_for_each_place(x, i):
    rows, ok = jnp.unstack(x[i]), _inside(i, 10)  #: requires
    return [jnp.where(ok[0], row, 0.0) for row in rows]


# Spans of varying length, read at their longest: what is beyond a span's end is thrown away, so only the rest is asked.


@case(f32(100), i32(min=0), i32(), requires=("start + length ≤ 100",))
def a_span_masked_by_its_length(x, start, length):
    k = jnp.arange(16)
    return jnp.where(k < length, x[start + k], 0.0)  #: requires


@case(f32(100), i32(min=0, max=100), i32(min=0, max=16))
def a_span_masked_by_its_length_that_may_end_beyond(x, start, length):
    k = jnp.arange(16)
    return jnp.where(k < length, x[start + k], 0.0)  #: unsafe


@case(f32(100), i32(min=0), i32(), requires=("start + length ≤ 99",))
def a_span_masked_by_one_more_than_its_length(x, start, length):
    k = jnp.arange(16)
    return jnp.where(k <= length, x[start + k], 0.0)  #: requires


@case(f32(100), i32(min=0), i32(), requires=("start ≤ 84",))
def a_span_that_is_also_seen_without_its_mask(x, start, length):
    k = jnp.arange(16)
    span = x[start + k]  #: requires
    return jnp.where(k < length, span, 0.0), span


@case(f32(100), i32(min=0), i32(), i32(), requires=("start + other ≤ 100", "start + length ≤ 100"))
def a_span_under_two_masks(x, start, length, other):
    k = jnp.arange(16)
    span = x[start + k]  #: requires
    return jnp.where(k < length, span, 0.0), jnp.where(k < other, span, 1.0)


@case(f32(4, 100), i32(4, min=0), i32(4), requires=("for all i: start[i] + length[i] ≤ 100",))
def spans_of_lanes(x, start, length):
    k = jnp.arange(16)
    return jax.vmap(lambda x, s, n: jnp.where(k < n, x[s + k], 0.0).sum())(x, start, length)  #: requires


@case(f32(100), i32(min=0), i32(), f32(16), requires=("start + length ≤ 100",))
def a_span_added_to_as_far_as_it_goes(x, start, length, v):
    k = jnp.arange(16)
    return x.at[start + k].add(jnp.where(k < length, v, 0.0))  #: requires


@case(f32(100), i32(min=0), i32(), requires=("start + length ≤ 100",))
def a_span_read_one_by_one(x, start, length):
    return lax.fori_loop(0, 16, lambda k, a: a + jnp.where(k < length, x[start + k], 0.0), 0.0)  #: requires


@case(i32(21, min=0), i32(100), i32(min=0, max=19), requires=("ptr ≤ 100",))
def the_row_of_a_graph_up_to_its_end(ptr, col, node):
    begin, end, k = ptr[node], ptr[node + 1], jnp.arange(8)  #: safe
    return jnp.where(begin + k < end, col[begin + k], -1)  #: requires


@case(f32(10), i32(5), requires=("i ≤ 9",))
def numbers_below_zero_are_thrown_away(x, i):
    return jnp.where(i >= 0, x[i], 0.0)  #: requires


@case(f32(100), f32(16), i32(min=0), i32(), requires=("start + length ≤ 100",))
def a_span_masked_by_its_length_and_by_something_else(x, y, start, length):
    k = jnp.arange(16)
    return jnp.where((k < length) & (jnp.sin(y) > 0.5), x[start + k], 0.0)  #: requires


# What an iteration reads for the next one: the last reads for none.


@case(f32(10, 4))
def rows_read_ahead(x):
    def step(row, i):
        return x[i + 1], row.sum()  #: masked

    return lax.scan(step, x[0], jnp.arange(10))[1]


@case(f32(10, 4))
def rows_read_ahead_the_last_of_which_is_returned(x):
    def step(row, i):
        return x[i + 1], row.sum()  #: unsafe

    return lax.scan(step, x[0], jnp.arange(10))


@case(f32(10, 4))
def rows_read_ahead_by_two(x):
    def step(row, i):
        return x[i + 2], row.sum()  #: unsafe

    return lax.scan(step, x[0], jnp.arange(10))[1]


@case(f32(10, 4))
def rows_read_ahead_and_seen_at_once(x):
    def step(row, i):
        after = x[i + 1]  #: unsafe
        return after, row.sum() - after.sum()

    return lax.scan(step, x[0], jnp.arange(10))[1]


@case(f32(10, 4), f32())
def rows_read_back_to_front(x, share):
    def step(row, i):
        return x.at[i].get(mode="promise_in_bounds") * share, row.sum()  #: masked

    return lax.scan(step, x[0], jnp.arange(9) - 11, reverse=True)[1]


@case(f32(10, 4))
def rows_read_ahead_by_two_scans_one_of_which_returns_the_last(x):
    def step(row, i):
        return x[i + 1], row.sum()  #: unsafe

    return lax.scan(step, x[0], jnp.arange(10))[1], lax.scan(step, x[0], jnp.arange(10))


@case(f32(10, 4))
def rows_read_ahead_by_two_scans_one_of_which_goes_further(x):
    def step(carry, _):
        i, row = carry
        return (i + 1, x[i]), row.sum()  #: unsafe

    first = lax.scan(step, (0, x[0]), None, length=11)[1]
    return first, lax.scan(step, (1, x[0]), None, length=11)[1]


# An integer as a condition: what is not 0 is true, be it above or below.


@case(f32(32), i32(min=16, max=32))
def where_the_last_bit_is_set(x, i):
    return jnp.where(i & 1, x[i], 0.0)  #: masked


@case(f32(32), i32(min=16, max=33))
def where_the_last_bit_is_set_of_one_more(x, i):
    return jnp.where(i & 1, x[i], 0.0)  #: unsafe


@case(f32(32), i32(8, min=16, max=32))
def each_where_the_last_bit_is_not_set(x, i):
    return jnp.where(i & 1, 0.0, x[i - 1 + (i & 1) * 2])  #: masked


@case(f32(10), i32(6, min=-5, max=10), i32(6))
def each_where_another_is_none_or_not(x, i, k):
    none = jnp.where((i >= 0) & (i < 10), 0, k)
    return jnp.where(none, 0.0, x.at[i].get(mode="promise_in_bounds", wrap_negative_indices=False))  #: unsafe


@case(f32(10), i32(6, min=-5, max=10), i32(6))
def each_where_nothing_is_wrong(x, i, k):
    wrong = jnp.where((i >= 0) & (i < 10), k, 0)
    return jnp.where(wrong, x.at[i].get(mode="promise_in_bounds", wrap_negative_indices=False), 0.0)  #: masked


@case(f32(10), i32(min=-3, max=12))
def where_it_is_not_ten(x, i):
    return jnp.where(i - 10, x[i], 0.0)  #: unsafe


@case(f32(10), i32(min=-3, max=10))
def where_it_is_not_ten_at_most(x, i):
    return jnp.where(i - 10, x[i], 0.0)  #: masked


@case(f32(10), i32(min=-3, max=9))
def where_it_is_not_zero(x, i):
    return jnp.where(i, x.at[i].get(mode="promise_in_bounds", wrap_negative_indices=False), 0.0)  #: unsafe


@case(f32(10), i32())
def a_read_of_which_nothing_is_made(x, i):
    table = {"read": x[jnp.clip(i, 0, 10)] * 2.0, "sum": x.sum()}  #: masked
    return table["sum"]


@case(f32(10), i32())
def a_result_of_a_function_that_nobody_asks_for(x, i):
    both = jax.jit(lambda x, i: (x[jnp.clip(i, 0, 10)] * 2.0, x[jnp.clip(i, 0, 9)]))  #: masked safe
    return both(x, i)[1]


@case(f32(10), i32())
def a_result_of_a_function_that_one_caller_asks_for(x, i):
    both = jax.jit(lambda x, i: (x[jnp.clip(i, 0, 10)] * 2.0, x.sum()))  #: unsafe
    return both(x, i)[1], both(x, i + 1)[0]


@case(f32(10), i32(), flag())
def a_branch_that_is_asked_for_the_other_result(x, i, which):
    first = lax.cond(which, lambda: (x[jnp.clip(i, 0, 10)], 1.0), lambda: (0.0, 2.0))  #: masked
    return first[1]


@case(f32(10), i32(), flag())
def a_branch_that_is_asked_for_what_it_reads(x, i, which):
    first = lax.cond(which, lambda: (x[jnp.clip(i, 0, 10)], 1.0), lambda: (0.0, 2.0))  #: unsafe
    return first[0]


@case(f32(10), i32())
def a_read_that_only_a_callback_sees(x, i):
    jax.debug.callback(lambda value: None, x[jnp.clip(i, 0, 10)])  #: unsafe
    return x.sum()


@case(f32(10), i32())
def a_read_that_a_loop_may_not_end_by(x, i):
    end = x[jnp.clip(i, 0, 10)]  #: requires
    lax.while_loop(lambda k: k < end, lambda k: k + 1.0, 0.0)
    return x.sum()


@case(f32(10), i32())
def a_read_that_a_loop_carries_to_the_end(x, i):
    def body(carry, _):
        return (carry[0] + x[jnp.clip(i, 0, 10)], carry[1] + 1.0), carry[0]  #: unsafe

    return lax.scan(body, (0.0, 0.0), None, length=3)[0][0]


@case(f32(10), i32(), f32())
def seen_under_one_condition_and_under_one_more(x, i, y):
    value = x.at[i].get(mode="promise_in_bounds")  #: masked
    ok = _inside(i, 10)
    return jnp.where(ok, value, 0.0), jnp.where(y > 0, jnp.where(ok, value, 1.0), 2.0)


@case(f32(10), i32(), f32())
def seen_under_a_wider_condition_and_under_one_more(x, i, y):
    value = x.at[i].get(mode="promise_in_bounds")  #: unsafe
    ok = _inside(i, 11)
    return jnp.where(ok, value, 0.0), jnp.where(y > 0, jnp.where(ok, value, 1.0), 2.0)


@case(f32(10), i32(), f32())
def seen_under_two_conditions_and_under_the_wider_alone(x, i, y):
    value = x.at[i].get(mode="promise_in_bounds")  #: unsafe
    wide = _inside(i, 11)
    return jnp.where(wide, jnp.where(i < 10, value, 1.0), 2.0), jnp.where(wide, value, 0.0) * y


@case(f32(4), i32(2), i32(), flag())
def by_a_flag_that_goes_into_no_index(x, at, steps, over):
    ok = ~over & ((at[0] < 4) == (steps >= 0)) & (steps >= 0) & (at[0] >= 0)
    return jnp.where(ok, x.at[at[0]].get(mode="promise_in_bounds"), 0.0)  #: masked


@case(f32(4), i32(2), i32(), flag())
def by_a_flag_of_another_number_of_the_same_array(x, at, steps, over):
    ok = ~over & ((at[1] < 4) == (steps >= 0)) & (steps >= 0) & (at[1] >= 0)
    return jnp.where(ok, x.at[at[0]].get(mode="promise_in_bounds"), 0.0)  #: requires


@case(f32(4), i32(2), i32(), flag())
def by_a_flag_one_too_wide_that_goes_into_no_index(x, at, steps, over):
    ok = ~over & ((at[0] < 5) == (steps >= 0)) & (steps >= 0) & (at[0] >= 0)
    return jnp.where(ok, x.at[at[0]].get(mode="promise_in_bounds"), 0.0)  #: unsafe


@case(f32(4), i32(), i32())
def by_a_function_that_is_called_with_its_condition_each_time(x, i, j):
    @jax.jit
    def read(at, ok):
        return jnp.where(ok, x.at[at].get(mode="promise_in_bounds"), 0.0)  #: masked

    return read(i, _inside(i, 4)) + read(j, _inside(j, 4))


@case(f32(4), i32(), i32())
def by_a_function_that_is_called_with_the_condition_of_another(x, i, j):
    @jax.jit
    def read(at, ok):
        return jnp.where(ok, x.at[at].get(mode="promise_in_bounds"), 0.0)  #: requires

    return read(i, _inside(i, 4)) + read(j, _inside(i, 4))


@case(f32(4), i32(2, 1, 3))
def by_rows_of_rows_of_one_element(x, i):
    rows = _inside(i, 4).all(2)
    ok = jnp.broadcast_to(rows[:, :, None], i.shape).all((1, 2))
    which = jnp.broadcast_to(ok[:, None, None], i.shape).astype(np.int32)
    return lax.select_n(which, jnp.zeros(i.shape), x[i])  #: masked


@case(f32(4), i32(2, 1, 3))
def by_rows_of_rows_in_another_order(x, i):
    rows = _inside(i, 4).all(2)
    ok = jnp.broadcast_to(rows[::-1, :, None], i.shape).all((1, 2))
    which = jnp.broadcast_to(ok[:, None, None], i.shape).astype(np.int32)
    return lax.select_n(which, jnp.zeros(i.shape), x[i])  #: requires


@case(f32(8, 8), f32(3), i32(), i32(min=0, max=7), requires=("-9 ≤ row ≤ 2147483646",))
def beside_a_place_that_may_be_computed_anew(x, p, row, column):
    product, row = p[0] * p[1], row + 1
    column = jnp.clip(jnp.where(product + p[2] > 5, column + 1, column - 1), 0, 7)
    written = x.at[row, column].set(1.0)  #: requires
    return jnp.where(row >= 8, x, written), product


@case(f32(8, 8), f32(3), i32(min=-2), i32(min=0, max=7))
def beside_a_place_that_may_be_computed_anew_by_that_place(x, p, row, column):
    product = p[0] * p[1]
    column = jnp.where(product + p[2] > 5, column + 1, column)
    written = x.at[row, column].set(1.0)  #: requires
    return jnp.where((row >= 8) | (column >= 8), x, written), product
