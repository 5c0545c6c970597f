"""Conditions around an access: branches, selects, masks, loops."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, flag, i32


@case(f32(4), i32())
def branch(x, i):
    return lax.cond((i >= 0) & (i < 4), lambda: x[i], lambda: 0.0)  #: safe


@case(f32(4), i32(min=-9, max=9))
def branch_one_too_far(x, i):
    return lax.cond((i >= 0) & (i <= 4), lambda: x[i], lambda: 0.0)  #: unsafe


@case(f32(4), i32())
def negated_branch(x, i):
    return lax.cond((i < 0) | (i >= 4), lambda: 0.0, lambda: x[i])  #: safe


@case(f32(4), i32(min=-9, max=9))
def wrong_branch(x, i):
    return lax.cond((i < 0) | (i >= 4), lambda: x[i], lambda: 0.0)  #: unsafe


@case(f32(4), i32(3))
def index_selected(x, i):
    return x[jnp.where((i >= 0) & (i < 4), i, 0)]  #: safe


@case(f32(4), i32(3))
def value_selected(x, i):
    value = x.at[i].get(mode="promise_in_bounds")  #: masked
    return jnp.where((i >= 0) & (i < 4), value, 0.0)


@case(f32(4), i32())
def counted_while(x, n):
    def body(carry):
        i, total = carry
        return i + 1, total + x[i]  #: safe

    return lax.while_loop(lambda c: c[0] < jnp.minimum(n, 4), body, (0, 0.0))


@case(f32(4), i32(min=0, max=5))
def counted_while_too_far(x, n):
    def body(carry):
        i, total = carry
        return i + 1, total + x[i]  #: unsafe

    return lax.while_loop(lambda c: c[0] < n, body, (0, 0.0))


@case(f32(4))
def fori(x):
    return lax.fori_loop(0, 4, lambda i, t: t + x[i], 0.0)  #: safe


@case(f32(4))
def fori_too_far(x):
    return lax.fori_loop(0, 5, lambda i, t: t + x[i], 0.0)  #: unsafe


@case(f32(8))
def blocks(x):
    return lax.fori_loop(0, 4, lambda i, t: t + lax.dynamic_slice(x, (i * 2,), (2,)).sum(), 0.0)  #: safe


@case(f32(7))
def last_block_sticks_out(x):
    return lax.fori_loop(0, 4, lambda i, t: t + lax.dynamic_slice(x, (i * 2,), (2,)).sum(), 0.0)  #: unsafe


@case(f32(4), flag(5))
def counter_in_a_scan(x, keep):
    def body(count, flag):
        return count + flag.astype(np.int32), x[count]  #: unsafe

    return lax.scan(body, np.int32(0), keep)


@case(f32(6), flag(5))
def counter_in_a_scan_fits(x, keep):
    def body(count, flag):
        return count + flag.astype(np.int32), x[count]  #: safe

    return lax.scan(body, np.int32(0), keep)


@case(f32(4), i32(3, min=0, max=4))
def finished_lanes_run_on(x, limits):
    def lane(limit):
        def body(carry):
            i, total = carry
            return i + 1, total + x[i]  #: masked

        return lax.while_loop(lambda c: c[0] < limit, body, (0, 0.0))

    return jax.vmap(lane)(limits)


@case(f32(4), i32(3, min=0, max=5))
def running_lanes_go_too_far(x, limits):
    def lane(limit):
        def body(carry):
            i, total = carry
            return i + 1, total + x[i]  #: unsafe

        return lax.while_loop(lambda c: c[0] < limit, body, (0, 0.0))

    return jax.vmap(lane)(limits)


@case(f32(4))
def triangle(x):
    return lax.fori_loop(0, 4, lambda i, t: lax.fori_loop(0, i, lambda j, u: u + x[j], t), 0.0)  #: safe


@case(f32(4))
def never_entered(x):
    return lax.while_loop(lambda c: c[0] < 0, lambda c: (c[0] + 1, c[1] + x[c[0] + 9]), (0, 0.0))  #: safe


@case(f32(3), i32())
def switched(x, i):
    return lax.switch(i, [lambda: x[0], lambda: x[jnp.clip(i, 0, 2)], lambda: x[2]])  #: safe
