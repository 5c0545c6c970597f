"""Gymnax: small games whose boards are arrays and whose pieces are indices."""

from __future__ import annotations

from . import Made, key, program, shapes_of


def _step_of(name: str) -> Made:
    import gymnax

    environment, settings = gymnax.make(name)
    _, state = shapes_of(environment.reset, key(), settings)
    action = shapes_of(lambda k: environment.action_space(settings).sample(k), key())
    return lambda k, s, a: environment.step(k, s, a, settings), (key(), state, action)


@program("gymnax/breakout", "gymnax")
def breakout() -> Made:
    return _step_of("Breakout-MinAtar")


@program("gymnax/asterix", "gymnax")
def asterix() -> Made:
    return _step_of("Asterix-MinAtar")


@program("gymnax/space_invaders", "gymnax")
def space_invaders() -> Made:
    return _step_of("SpaceInvaders-MinAtar")


@program("gymnax/four_rooms", "gymnax")
def four_rooms() -> Made:
    return _step_of("FourRooms-misc")


@program("gymnax/deep_sea", "gymnax")
def deep_sea() -> Made:
    return _step_of("DeepSea-bsuite")


@program("gymnax/catch", "gymnax")
def catch() -> Made:
    return _step_of("Catch-bsuite")


@program("gymnax/cart_pole", "gymnax")
def cart_pole() -> Made:
    return _step_of("CartPole-v1")
