"""Images, sound and numbers in boxes: resampling, windows, bins, codebooks, chunks, right and almost right."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, i8, i32, u8

# Linear interpolation reads a sample and the one after it.
# https://github.com/OpenSourceEconomics/pylcm/issues/83


@case(f32(16), f32(5, min=0.0, max=15.0))
def a_sample_and_the_next(x, t):
    low = jnp.floor(t).astype(np.int32)
    return x[low], x[low + 1]  #: safe unsafe


@case(f32(16), f32(5, min=0.0, max=15.0))
def a_sample_and_the_next_that_is_there(x, t):
    low = jnp.clip(jnp.floor(t), 0, 14).astype(np.int32)
    return x[low], x[low + 1]  #: safe


@case(f32(16), f32(5))
def a_sample_anywhere(x, t):
    low = jnp.clip(jnp.floor(t).astype(np.int32), 0, 15)
    high = jnp.clip(low + 1, 0, 15)
    return x[low] * (1 - t + low) + x[high] * (t - low)  #: safe


@case(f32(8, 9), f32(4, min=0.0, max=1.0), f32(4, min=0.0, max=1.0))
def four_pixels_around(image, u, v):
    y, x = u * 7, v * 8
    y0, x0 = jnp.floor(y).astype(np.int32), jnp.floor(x).astype(np.int32)
    y1, x1 = jnp.minimum(y0 + 1, 7), jnp.minimum(x0 + 1, 8)
    return image[y0, x0] + image[y0, x1] + image[y1, x0] + image[y1, x1]  #: safe


@case(f32(8, 9), f32(4, min=0.0, max=1.0), f32(4, min=0.0, max=1.0))
def four_pixels_around_with_the_axes_swapped(image, u, v):
    y, x = jnp.floor(u * 8).astype(np.int32), jnp.floor(v * 7).astype(np.int32)
    return image[y, x]  #: unsafe


@case(f32(8, 8))
def nearest_neighbours_of_twice_the_size(image):
    at = jnp.floor((jnp.arange(16) + 0.5) * (8 / 16)).astype(np.int32)
    return image[at][:, at]  #: safe


@case(f32(8, 8))
def nearest_neighbours_rounded_up(image):
    at = jnp.ceil((jnp.arange(16) + 0.5) * (8 / 16)).astype(np.int32)
    return image[at][:, at]  #: unsafe


@case(f32(8, 8), f32(5, 2))
def pixels_of_points_in_front(image, points):
    at = jnp.round(points).astype(np.int32)
    inside = ((at >= 0) & (at < 8)).all(-1)
    values = image.at[at[:, 0], at[:, 1]].get(mode="promise_in_bounds")  #: masked
    return jnp.where(inside, values, 0.0)


@case(f32(8, 8), f32(5, 2))
def pixels_of_points_held_against_the_wrong_size(image, points):
    at = jnp.round(points).astype(np.int32)
    inside = ((at >= 0) & (at <= 8)).all(-1)
    values = image[jnp.where(inside, at[:, 0], 0), jnp.where(inside, at[:, 1], 0)]  #: unsafe
    return jnp.where(inside, values, 0.0)


# Windows over a signal.


@case(f32(100), f32(16))
def frames(signal, window):
    starts = jnp.arange(0, 100 - 16 + 1, 4)
    return jax.vmap(lambda s: lax.dynamic_slice(signal, (s,), (16,)) * window)(starts)  #: safe


@case(f32(100), f32(16))
def frames_with_one_too_many(signal, window):
    starts = jnp.arange(0, 100, 4)
    return jax.vmap(lambda s: lax.dynamic_slice(signal, (s,), (16,)) * window)(starts)  #: unsafe


@case(f32(100))
def frames_by_broadcast_indices(signal):
    return signal[jnp.arange(22)[:, None] * 4 + jnp.arange(16)]  #: safe


@case(f32(100))
def frames_by_broadcast_indices_too_long(signal):
    return signal[jnp.arange(22)[:, None] * 4 + jnp.arange(17)]  #: unsafe


@case(f32(6, 6), f32(3, 3))
def convolution_by_hand(image, kernel):
    padded = jnp.pad(image, 1)

    def at(i, j):
        return (lax.dynamic_slice(padded, (i, j), (3, 3)) * kernel).sum()  #: safe

    return jax.vmap(lambda i: jax.vmap(lambda j: at(i, j))(jnp.arange(6)))(jnp.arange(6))


@case(f32(6, 6), f32(3, 3))
def convolution_without_padding(image, kernel):
    def at(i, j):
        return (lax.dynamic_slice(image, (i, j), (3, 3)) * kernel).sum()  #: unsafe

    return jax.vmap(lambda i: jax.vmap(lambda j: at(i, j))(jnp.arange(6)))(jnp.arange(6))


@case(f32(40, 3), i32(min=0, max=39))
def context_around_a_frame(features, t):
    padded = jnp.pad(features, ((2, 2), (0, 0)), mode="edge")
    return lax.dynamic_slice(padded, (t, 0), (5, 3))  #: safe


@case(f32(12))
def a_stencil_inside(x):
    def step(i, y):
        return y.at[i].set(x[i - 1] - 2 * x[i] + x[i + 1])  #: safe

    return lax.fori_loop(1, 11, step, x)


@case(f32(12))
def a_stencil_on_the_border(x):
    def step(i, y):
        return y.at[i].set(x[i - 1] - 2 * x[i] + x[i + 1])  #: safe unsafe

    return lax.fori_loop(0, 12, step, x)


# Pooling that remembers where.


def place_of_the_greatest(x, start):
    def greater(a, b):
        first = a[0] >= b[0]
        return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])

    places = lax.iota(np.int32, x.shape[0])
    return lax.reduce_window((x, places), (np.float32(-np.inf), np.int32(start)), greater, (4,), (4,), "SAME")[1]


@case(f32(30))
def unpooled(x):
    at = place_of_the_greatest(x, 0)
    return jnp.zeros(30).at[at].set(x.at[at].get(mode="promise_in_bounds"))  #: safe


@case(f32(30))
def unpooled_into_one_fewer(x):
    at = place_of_the_greatest(x, 0)
    return jnp.zeros(29).at[at].set(1.0, mode="promise_in_bounds")  #: unknown


@case(f32(30))
def unpooled_from_nowhere(x):
    at = place_of_the_greatest(x, 30)
    return x.at[at].get(mode="promise_in_bounds")  #: unknown


@case(f32(9), i32(12, min=0, max=8))
def the_greatest_of_each_window(x, i):
    return x[lax.reduce_window(i, np.int32(-(2**31)), lax.max, (3,), (3,), "SAME")]  #: safe


@case(f32(9), i32(12, min=0, max=8))
def the_greatest_of_each_window_also_of_none(x, i):
    return x[lax.reduce_window(i, np.int32(-(2**31)), lax.max, (2,), (1,), [(2, 0)])]  #: unknown


@case(f32(8), i32(12, min=0, max=8))
def the_greatest_of_each_window_in_a_short_table(x, i):
    return x[lax.reduce_window(i, np.int32(-(2**31)), lax.max, (3,), (3,), "SAME")]  #: unknown


# Spectra.


@case(f32(64), i32(min=0, max=63))
def a_bin_of_a_real_transform(signal, k):
    spectrum = jnp.abs(jnp.fft.rfft(signal))
    return spectrum[k]  #: unsafe


@case(f32(64), i32(min=0, max=63))
def a_bin_of_a_real_transform_mirrored(signal, k):
    spectrum = jnp.abs(jnp.fft.rfft(signal))
    return spectrum[jnp.where(k <= 32, k, 64 - k)]  #: safe


@case(f32(33), f32(10, min=0.0, max=8000.0))
def a_bin_of_a_frequency(spectrum, hertz):
    return spectrum[jnp.floor(hertz * (33 / 8000.0)).astype(np.int32)]  #: unsafe


@case(f32(33), f32(10, min=0.0, max=8000.0))
def a_bin_of_a_frequency_by_gaps(spectrum, hertz):
    return spectrum[jnp.floor(hertz * (32 / 8000.0)).astype(np.int32)]  #: safe


@case(f32(8))
def bits_reversed(x):
    k = jnp.arange(8)
    at = ((k & 1) << 2) | (k & 2) | ((k >> 2) & 1)
    return x[at]  #: safe


@case(f32(8), i32(8))
def butterflies(x, unused):
    def stage(s, x):
        half = 1 << s
        k = jnp.arange(8)
        return x[k ^ half] + x  #: safe

    return lax.fori_loop(0, 3, stage, x)


@case(f32(8), i32(8))
def butterflies_one_stage_too_many(x, unused):
    def stage(s, x):
        half = 1 << s
        k = jnp.arange(8)
        return x[k ^ half] + x  #: unsafe

    return lax.fori_loop(0, 4, stage, x)


# Histograms.


@case(f32(50, min=0.0, max=1.0))
def bins_of_the_unit_interval(x):
    return jnp.zeros(10, np.int32).at[(x * 10).astype(np.int32)].add(1)  #: unsafe


@case(f32(50, min=0.0, max=1.0))
def bins_of_the_unit_interval_with_its_end(x):
    return jnp.zeros(10, np.int32).at[jnp.minimum((x * 10).astype(np.int32), 9)].add(1)  #: safe


@case(u8(6, 6, 3))
def colours_of_an_image(image):
    coarse = (image // 64).astype(np.int32)
    code = coarse[..., 0] * 16 + coarse[..., 1] * 4 + coarse[..., 2]
    return jnp.zeros(64, np.int32).at[code].add(1)  #: safe


@case(u8(6, 6, 3), requires=("image[:, :, 0] ≤ 179",))
def colours_of_an_image_with_wide_steps(image):
    coarse = (image // 60).astype(np.int32)
    code = coarse[..., 0] * 16 + coarse[..., 1] * 4 + coarse[..., 2]
    return jnp.zeros(64, np.int32).at[code].add(1)  #: requires


@case(u8(100))
def a_histogram_of_bytes(data):
    counts = jnp.zeros(256, np.int32).at[data].add(1)  #: safe
    return jnp.cumsum(counts)[data]  #: safe


# Codebooks and packed numbers.


@case(f32(16), u8(20))
def two_codes_in_a_byte(book, packed):
    return book[packed & 15], book[packed >> 4]  #: safe


@case(f32(16), i8(20))
def two_codes_in_a_signed_byte(book, packed):
    return book.at[packed & 15].get(mode="promise_in_bounds"), book[packed >> 4]  #: safe


@case(f32(8), i8(20))
def two_codes_in_a_signed_byte_with_a_sign(book, packed):
    low, high = packed & 15, lax.shift_right_logical(packed, jnp.int8(4))
    return book[low], book[high]  #: unsafe


@case(f32(4, 256), u8(10, 4))
def product_quantised(books, codes):
    return books[jnp.arange(4), codes]  #: safe


@case(f32(4, 250), u8(10, 4))
def product_quantised_with_short_books(books, codes):
    return books[jnp.arange(4), codes]  #: requires


@case(f32(10, 8), f32(16, 8))
def the_nearest_code(x, book):
    distance = ((x[:, None] - book[None]) ** 2).sum(-1)
    return book[jnp.argmin(distance, axis=1)]  #: safe


@case(f32(256), f32(30))
def codes_of_companded_samples(table, x):
    code = jnp.clip(jnp.round((jnp.tanh(x) + 1) * 127.5), 0, 255).astype(np.uint8)
    return table[code]  #: safe


@case(f32(255), f32(30))
def codes_of_companded_samples_in_a_short_table(table, x):
    code = jnp.clip(jnp.round((x + 1) * 127.5), 0, 255).astype(np.uint8)
    return table[code]  #: unsafe


# Chunked scans.


@case(f32(48, 4))
def chunks_of_a_scan(x):
    def chunk(state, k):
        block = lax.dynamic_slice(x, (k * 12, 0), (12, 4))  #: safe
        return state + block.sum(0), lax.dynamic_index_in_dim(x, k * 12 + 11, keepdims=False)  #: safe

    return lax.scan(chunk, jnp.zeros(4), jnp.arange(4))


@case(f32(50, 4))
def chunks_of_a_scan_rounded_up(x):
    def chunk(state, k):
        block = lax.dynamic_slice(x, (k * 12, 0), (12, 4))  #: unsafe
        return state + block.sum(0), None

    return lax.scan(chunk, jnp.zeros(4), jnp.arange(-(-50 // 12)))


@case(f32(48, 4))
def chunks_written_back(x):
    def chunk(k, out):
        block = lax.dynamic_slice_in_dim(x, k * 12, 12)  #: safe
        return lax.dynamic_update_slice_in_dim(out, jnp.cumsum(block, 0), k * 12, 0)  #: safe

    return lax.fori_loop(0, 4, chunk, x)


@case(f32(16, 4), i32(min=1, max=16))
def a_state_every_few_steps(x, every):
    def step(carry, t):
        kept, saved = carry
        slot = t // every
        return (kept + x[t], saved.at[slot].set(kept)), None  #: safe

    return lax.scan(step, (jnp.zeros(4), jnp.zeros((16, 4))), jnp.arange(16))


@case(f32(16, 4), i32(min=0, max=16))
def a_state_every_few_steps_or_none(x, every):
    def step(carry, t):
        kept, saved = carry
        slot = t // every
        return (kept + x[t], saved.at[slot].set(kept, mode="promise_in_bounds")), None  #: safe unknown

    return lax.scan(step, (jnp.zeros(4), jnp.zeros((16, 4))), jnp.arange(16))


# Bins on a logarithmic scale: only a very large number reaches the one behind the last.


@case(f32(20))
def bins_by_logarithms(x):
    at = jnp.ceil(jnp.log(jnp.abs(x) + 1e-9) * 50.0).astype(jnp.int32) + 1000
    return jnp.zeros(2048).at[jnp.clip(at, 0, 2047)].add(1.0)  #: safe


@case(f32(20))
def bins_by_logarithms_and_one_more(x):
    at = jnp.ceil(jnp.log(jnp.abs(x) + 1e-9) * 50.0).astype(jnp.int32) + 1000
    return jnp.zeros(2048).at[jnp.clip(at, 0, 2048)].add(1.0)  #: unsafe
