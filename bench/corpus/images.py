"""dm_pix: cropping, warping and patching of images."""

from __future__ import annotations

from typing import Any

import jax

from . import Made, floats, key, program


@program("dm_pix/random_crop_and_flip", "dm_pix")
def random_crop_and_flip() -> Made:
    import dm_pix

    def augment(seed: jax.Array, image: jax.Array) -> jax.Array:
        return dm_pix.random_crop(seed, dm_pix.random_flip_left_right(seed, image), (24, 24, 3))

    return augment, (key(), floats(32, 32, 3))


@program("dm_pix/elastic_deformation", "dm_pix")
def elastic_deformation() -> Made:
    import dm_pix

    def deform(seed: jax.Array, image: jax.Array) -> jax.Array:
        return dm_pix.elastic_deformation(seed, dm_pix.gaussian_blur(image, 1.0, 5), 1.0, 2.0)

    return deform, (key(), floats(32, 32, 3))


@program("dm_pix/rotate", "dm_pix")
def rotate() -> Made:
    import dm_pix

    return lambda image, angle: dm_pix.rotate(image, angle), (floats(32, 32, 3), floats())


@program("dm_pix/patches_and_depth", "dm_pix")
def patches_and_depth() -> Made:
    import dm_pix

    def split(image: jax.Array) -> Any:
        patches = dm_pix.extract_patches(image, (1, 4, 4, 1), (1, 2, 2, 1), (1, 1, 1, 1), padding="VALID")
        return patches, dm_pix.depth_to_space(image, 2), dm_pix.space_to_depth(image, 2)

    return split, (floats(1, 8, 8, 4),)
