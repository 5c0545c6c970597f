"""Brax and MuJoCo MJX: one simulation step, its contact search included."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import Made, floats, key, program, shapes_of

_TWO_BODIES = """
<mujoco>
  <option solver="{solver}" iterations="4" ls_iterations="4"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 1">
      <freejoint/>
      <geom type="box" size=".1 .1 .1"/>
      <body pos="0 0 .3">
        <joint name="hinge" type="hinge" range="-1 1" limited="true"/>
        <geom type="capsule" size=".05 .1"/>
      </body>
    </body>
    <body pos="0 .3 1"><freejoint/><geom type="sphere" size=".1"/></body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
  <sensor><jointpos joint="hinge"/></sensor>
</mujoco>
"""


def _brax_step(name: str, backend: str) -> Made:
    from brax import envs

    environment = envs.get_environment(name, backend=backend)
    state = shapes_of(environment.reset, key())
    return lambda s, action: environment.step(s, action), (state, floats(environment.action_size))


@program("brax/ant_generalized", "brax", "mujoco.mjx")
def ant_generalized() -> Made:
    return _brax_step("ant", "generalized")


@program("brax/halfcheetah_spring", "brax", "mujoco.mjx")
def halfcheetah_spring() -> Made:
    return _brax_step("halfcheetah", "spring")


@program("brax/hopper_positional", "brax", "mujoco.mjx")
def hopper_positional() -> Made:
    return _brax_step("hopper", "positional")


@program("brax/replay_buffer", "brax", "mujoco.mjx")
def replay_buffer() -> Made:
    from brax.training import replay_buffers

    queue = replay_buffers.UniformSamplingQueue(100, jnp.zeros((3,)), 8)
    state = shapes_of(queue.init, key())

    def turn(state: Any, items: jax.Array) -> Any:
        return queue.sample(queue.insert(state, items))

    return turn, (state, floats(10, 3))


def _mjx_step(solver: str) -> Made:
    import mujoco
    from mujoco import mjx

    model = mjx.put_model(mujoco.MjModel.from_xml_string(_TWO_BODIES.format(solver=solver)))
    data = shapes_of(lambda: mjx.make_data(model))
    return lambda d, control: mjx.step(model, d.replace(ctrl=control)), (data, floats(1))


@program("mjx/step_newton", "mujoco.mjx")
def step_newton() -> Made:
    return _mjx_step("Newton")


@program("mjx/step_conjugate_gradient", "mujoco.mjx")
def step_conjugate_gradient() -> Made:
    return _mjx_step("CG")
