"""Serving language models: caches, page tables, drafts, beams and padded batches, right and almost right."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.cases import case, f32, flag, i32

# A chunk of new tokens is written at the cursor: the window must end inside, not only begin there.


@case(f32(2048, 4), f32(16, 4), i32(), requires=("0 ≤ pos ≤ 2032",))
def a_chunk_into_the_cache(cache, chunk, pos):
    return lax.dynamic_update_slice(cache, chunk, (pos, 0))  #: requires


@case(f32(64, 4), f32(16, 4), i32(min=0, max=63))
def a_chunk_checked_at_its_start_only(cache, chunk, pos):
    pos = jnp.minimum(pos, cache.shape[0] - 1)
    return lax.dynamic_update_slice(cache, chunk, (pos, 0))  #: unsafe


@case(f32(64, 4), f32(16, 4), i32(min=0, max=63))
def a_chunk_checked_at_its_end(cache, chunk, pos):
    pos = jnp.minimum(pos, cache.shape[0] - chunk.shape[0])
    return lax.dynamic_update_slice(cache, chunk, (pos, 0))  #: safe


# Decoding n tokens after a prompt: the cursor is the prompt's length plus the step.


@case(f32(32, 4), i32(min=0, max=24), i32(min=0, max=9))
def decoding_past_the_cache(cache, prompt, steps):
    def step(t, held):
        return held.at[prompt + t].set(1.0)  #: unsafe

    return lax.fori_loop(0, steps, step, cache)


@case(f32(32, 4), i32(min=0, max=24), i32(min=0, max=8))
def decoding_up_to_the_end(cache, prompt, steps):
    def step(t, held):
        return held.at[prompt + t].set(1.0)  #: safe

    return lax.fori_loop(0, steps, step, cache)


@case(f32(32, 4), i32(min=0), i32(min=0), requires=("prompt + steps ≤ 32",))
def decoding_as_far_as_asked(cache, prompt, steps):
    def step(t, held):
        return held.at[prompt + t].set(1.0)  #: requires

    return lax.fori_loop(0, steps, step, cache)


@case(f32(32, 4), i32(min=0, max=32), i32(min=0, max=32))
def decoding_as_far_as_promised(cache, prompt, steps):
    redzone.assume(prompt + steps <= cache.shape[0])

    def step(t, held):
        return held.at[prompt + t].set(1.0)  #: safe

    return lax.fori_loop(0, steps, step, cache)


# Each lane of a batch has its own length; the write goes to the slot after it.


@case(f32(3, 8), i32(3, min=0, max=8))
def a_full_lane_gets_one_more(cache, lengths):
    return jax.vmap(lambda lane, n: lane.at[n].set(1.0))(cache, lengths)  #: unsafe


@case(f32(3, 8), i32(3, min=0, max=8))
def a_full_lane_is_left_alone(cache, lengths):
    full = lengths >= cache.shape[1]
    written = jax.vmap(lambda lane, n: lane.at[n].set(1.0))(cache, jnp.where(full, 0, lengths))  #: safe
    return jnp.where(full[:, None], cache, written)


# The last hidden state of each sequence; an empty sequence has none.
# https://github.com/google-research/reverse-engineering-neural-networks/issues/26


@case(f32(4, 10), i32(4, min=0, max=10))
def the_last_of_each_sequence(hidden, lengths):
    return jnp.take_along_axis(hidden, (lengths - 1)[:, None], axis=1)  #: safe


@case(f32(4, 10), i32(4, min=0, max=10))
def the_one_after_each_sequence(hidden, lengths):
    return hidden[jnp.arange(4), lengths]  #: unsafe


# Rotary tables hold as many rows as the context is long.


@case(f32(128, 8), i32(2, 16), requires=("positions ≤ 127",))
def rotary_rows(table, positions):
    positions = redzone.assume(positions, min=0)
    return table[positions]  #: requires


@case(f32(128, 8), i32(min=0, max=120))
def rotary_rows_of_a_chunk(table, start):
    return table[start + jnp.arange(16)]  #: unsafe


@case(f32(128, 8), i32(min=0, max=112))
def rotary_rows_of_a_chunk_that_fits(table, start):
    return table[start + jnp.arange(16)]  #: safe


# Paged attention: token t of a sequence lies in page t // size, at t % size, where the block table points.


@case(f32(24, 4, 8), i32(2, 5, min=0, max=23), i32(min=0, max=19))
def a_page_and_its_offset(pages, blocks, t):
    page = blocks[1, t // 4]  #: safe
    return pages[page, t % 4]  #: safe


@case(f32(24, 4, 8), i32(2, 5, min=0, max=23), i32(min=0, max=20))
def a_page_one_token_too_far(pages, blocks, t):
    page = blocks[1, t // 4]  #: unsafe
    return pages[page, t % 4]  #: safe


@case(f32(24, 4, 8), i32(2, 5), i32(2, min=0, max=19), requires=("-24 ≤ blocks ≤ 23",))
def pages_of_a_batch(pages, blocks, positions):
    page = jnp.take_along_axis(blocks, (positions // 4)[:, None], axis=1)[:, 0]  #: safe
    return pages[page, positions % 4]  #: requires


@case(f32(24, 4), i32(6, min=-1, max=23), i32(min=0, max=24))
def pages_that_are_not_there(pages, blocks, length):
    def add(total, k):
        page = blocks[k]  #: safe
        row = pages[jnp.where(page < 0, 0, page)].sum()  #: safe
        return total + jnp.where(page < 0, 0.0, row), None

    return lax.scan(add, 0.0, jnp.arange(6))[0]


# A flat cache location is page * size + offset.


@case(f32(96, 8), i32(5, min=0, max=23), i32(min=0, max=19))
def a_flat_location(cache, blocks, t):
    at = blocks[t // 4] * 4 + t % 4  #: safe
    return cache.at[at].set(1.0)  #: safe


@case(f32(95, 8), i32(5, min=0, max=23), i32(min=0, max=19))
def a_flat_location_in_a_pool_one_short(cache, blocks, t):
    at = blocks[t // 4] * 4 + t % 4  #: safe
    return cache.at[at].set(1.0)  #: unsafe


# Padding to a multiple of the page: rounding down loses the last, partly filled page.
# https://github.com/sgl-project/sglang-jax/pull/215


@case(i32(40), i32(3, min=0, max=10))
def aligned_locations_in_a_buffer_that_is_not(buffer, lengths):
    aligned = (lengths + 7) // 8 * 8
    offsets = jnp.cumsum(aligned) - aligned
    return buffer.at[offsets[:, None] + jnp.arange(8)].set(1, mode="promise_in_bounds")  #: safe


@case(i32(39), i32(3, min=0, max=10))
def aligned_locations_one_too_many(buffer, lengths):
    aligned = (lengths + 7) // 8 * 8
    offsets = jnp.cumsum(aligned) - aligned
    return buffer.at[offsets[:, None] + jnp.arange(8)].set(1, mode="promise_in_bounds")  #: unsafe


# Speculative decoding: the bonus token comes from the row after the last accepted draft.


@case(i32(5), f32(6, 50), flag(5))
def the_bonus_token(drafts, logits, accepted):
    count = jnp.cumprod(accepted.astype(np.int32)).sum()
    return jnp.argmax(logits[count])  #: safe


@case(i32(5), f32(5, 50), flag(5))
def the_bonus_token_without_its_row(drafts, logits, accepted):
    count = jnp.cumprod(accepted.astype(np.int32)).sum()
    return jnp.argmax(logits[count])  #: unsafe


@case(f32(6, 50), i32(5, min=0, max=49))
def the_chance_of_each_draft(p, drafts):
    return p[jnp.arange(5), drafts]  #: safe


# Beam search over beams * vocabulary: the best of the flat scores come apart by // and %.


@case(f32(4, 50), f32(4, 7), i32(4, 7))
def beams_of_flat_scores(scores, states, tokens):
    _, flat = lax.top_k(scores.reshape(-1), 4)
    beam, token = flat // 50, flat % 50
    return states[beam], tokens[beam].at[:, 3].set(token)  #: safe


@case(f32(4, 50), f32(4, 7))
def beams_of_flat_scores_with_the_end_token(scores, states):
    _, flat = lax.top_k(jnp.pad(scores, ((0, 0), (0, 1))).reshape(-1), 4)
    return states[flat // 50]  #: unsafe


@case(f32(4, 50), i32(4, 16, min=0, max=3))
def back_along_the_beams(scores, parents):
    def back(beam, t):
        return parents[beam, t], beam  #: safe

    return lax.scan(back, jnp.argmax(scores[:, 0]), jnp.arange(16), reverse=True)


@case(f32(4, 50), i32(4, 16), requires=("-4 ≤ parents ≤ 3",))
def back_along_unknown_beams(scores, parents):
    def back(beam, t):
        return parents[beam, t], beam  #: requires

    return lax.scan(back, 0, jnp.arange(16), reverse=True)


# A sliding window keeps the last w positions: slot = position % w.


@case(f32(16, 4), f32(16), i32(min=0))
def a_rolling_window(cache, scores, pos):
    slots = (pos - jnp.arange(16)) % 16
    cache = cache.at[pos % 16].set(1.0)  #: safe
    return cache[slots], scores[jnp.minimum(pos, 15)]  #: safe


@case(f32(16, 4), i32(min=0, max=100))
def a_window_before_the_first(cache, pos):
    return lax.dynamic_slice(cache, (jnp.minimum(pos, 16) - 4, 0), (4, 4))  #: unsafe


# The number of a token, and of a token that a wider tokenizer made.


@case(f32(50257, 2), i32(3, 8), requires=("tokens ≤ 50256",))
def embedding(table, tokens):
    return table.at[redzone.assume(tokens, min=0)].get()  #: requires


@case(f32(128, 8), i32(6), i32(min=0, max=7))
def embedding_of_a_part_of_the_vocabulary(table, tokens, rank):
    start = rank * 128
    elsewhere = (tokens < start) | (tokens >= start + 128)
    rows = table[jnp.where(elsewhere, 0, tokens - start)]  #: safe
    return jnp.where(elsewhere[:, None], 0.0, rows)


@case(f32(128, 8), i32(6), i32(min=0, max=7))
def embedding_of_a_part_of_the_vocabulary_that_only_masks(table, tokens, rank):
    start = rank * 128
    here = (tokens >= start) & (tokens < start + 128)
    rows = table[tokens - start]  #: masked
    return jnp.where(here[:, None], rows, 0.0)


@case(f32(128, 8), i32(6), i32(min=0, max=7))
def embedding_of_a_part_of_the_vocabulary_and_one_more(table, tokens, rank):
    start = rank * 128
    here = (tokens >= start) & (tokens <= start + 128)
    rows = table[jnp.where(here, tokens - start, 0)]  #: unsafe
    return jnp.where(here[:, None], rows, 0.0)


@case(f32(50257, 2), i32(3, 8, min=0, max=50303))
def embedding_of_a_padded_vocabulary(table, tokens):
    return table[tokens]  #: unsafe


@case(f32(50257, 2), i32(3, 8, min=0, max=50303))
def embedding_with_unknown_tokens_replaced(table, tokens):
    return table[jnp.where(tokens < table.shape[0], tokens, 0)]  #: safe


# A bias for logits that were banned, with -1 for "none".


@case(f32(100), i32(8, min=-1, max=99))
def banned_tokens(logits, banned):
    return logits.at[banned].set(-1e9, mode="drop")  #: safe


@case(f32(100), i32(8, min=-1, max=99))
def banned_tokens_past_the_end(logits, banned):
    return logits.at[jnp.where(banned < 0, 100, banned)].set(-1e9, mode="drop")  #: declared


# Packed sequences: where each segment begins, and the position inside it.


@case(f32(32), i32(5, min=0, max=32), f32(5))
def starts_of_packed_sequences(packed, starts, x):
    redzone.assume(starts[1:] >= starts[:-1])
    inside = jnp.searchsorted(starts, jnp.arange(32), side="right") - 1  #: safe
    return x[inside] + packed  #: safe


@case(f32(32, 4), i32(6, min=0), i32(6, min=0))
def rows_from_starts_and_lengths(packed, starts, lengths):
    redzone.assume(starts, max=32)
    redzone.assume(lengths, max=32)
    redzone.assume(starts + lengths <= 32)

    def one(carry, row):
        start, length = row
        add = lambda k, total: total + packed[start + k, 0]  # noqa: E731  #: safe
        return carry, lax.fori_loop(0, length, add, 0.0)

    return lax.scan(one, 0, (starts, lengths))


@case(f32(32, 4), i32(6, min=0, max=32), i32(6, min=0, max=32))
def rows_from_starts_and_lengths_in_lanes(packed, starts, lengths):
    redzone.assume(starts + lengths <= 32)

    def one(start, length):
        add = lambda k, total: total + packed[start + k, 0]  # noqa: E731  #: masked
        return lax.fori_loop(0, length, add, 0.0)

    return jax.vmap(one)(starts, lengths)


@case(f32(32, 4), i32(6, min=0), i32(6, min=0), requires=("for all i: starts[i] + lengths[i] ≤ 32",))
def rows_from_starts_and_lengths_unpromised(packed, starts, lengths):
    def one(carry, row):
        start, length = row
        add = lambda k, total: total + packed[start + k, 0]  # noqa: E731  #: requires
        return carry, lax.fori_loop(0, length, add, 0.0)

    return lax.scan(one, 0, (starts, lengths))


# A prompt may be longer than leaves room for what is generated behind it, however the loop is written.


@case(i32(40), i32(), i32())
def generated_behind_a_long_prompt(cache, token, length):
    length = jnp.clip(length, 1, 32)

    def body(state):
        count, cache = state
        return count + 1, cache.at[length + count].set(token)  #: unsafe

    return lax.while_loop(lambda state: state[0] < 16, body, (0, cache))


@case(i32(40), i32(), i32())
def generated_behind_a_long_prompt_to_the_end(cache, token, length):
    length = jnp.clip(length, 1, 32)

    def body(state):
        count, cache = state
        return count + 1, cache.at[length + count].set(token)  #: safe

    return lax.while_loop(lambda state: (state[0] < 16) & (length + state[0] < 40), body, (0, cache))


@case(i32(40), i32(), i32(), i32(), requires=("count ≤ 8",))
def generated_as_many_as_asked(cache, token, length, count):
    length = jnp.clip(length, 1, 32)

    def body(state):
        done, cache = state
        return done + 1, cache.at[length + done].set(token)  #: requires

    return lax.while_loop(lambda state: state[0] < count, body, (0, cache))


# Pairs of tokens put together: the last token has no next one, which shows only where it is the first of a pair.


@case(i32(32), i32(min=1, max=32), i32(), i32())
def pairs_put_together_past_the_last(ids, n, first, second):
    def merge(state):
        i, o, out = state
        pair = (ids[i] == first) & (ids[i + 1] == second)  #: safe unsafe
        return i + jnp.where(pair, 2, 1), o + 1, out.at[o].set(jnp.where(pair, 999, ids[i]))  #: safe

    return lax.while_loop(lambda s: s[0] < n, merge, (0, 0, jnp.zeros(32, np.int32)))[2]


@case(i32(32), i32(min=1, max=32), i32(), i32())
def pairs_put_together_up_to_the_last(ids, n, first, second):
    def merge(state):
        i, o, out = state
        pair = (ids[i] == first) & (i + 1 < n) & (ids[jnp.minimum(i + 1, 31)] == second)  #: safe
        return i + jnp.where(pair, 2, 1), o + 1, out.at[o].set(jnp.where(pair, 999, ids[i]))  #: safe

    return lax.while_loop(lambda s: s[0] < n, merge, (0, 0, jnp.zeros(32, np.int32)))[2]
