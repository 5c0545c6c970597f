"""Running a program again looks at what its changed inputs reach, and at nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from redzone.domains import Fact, scalar, top
from redzone.engine import analyse, inventory_of
from redzone.engine.forward import Runner
from redzone.engine.program import SIMPLE, Program
from redzone.engine.slice import Slicer
from redzone.frontend.compat import open_jaxpr

INT = jax.ShapeDtypeStruct((), jnp.int32)
#: What stands before a slice: its start counts from the end where it is negative.
WRAP = ["lt", "add", "select_n"]
TABLE = jax.ShapeDtypeStruct((100,), jnp.float32)


def sliced(fn: Callable[..., Any], *args: Any) -> Program:
    closed = jax.make_jaxpr(fn)(*args)
    jaxpr, consts = open_jaxpr(closed)
    return Slicer(inventory_of(closed)).program(jaxpr, consts, ())


def names(program: Program, inputs: int, recorded: bool = False) -> list[str]:
    return [step.eqn.primitive.name for step, _, _ in program.rerun(inputs, recorded).steps if step.kind == SIMPLE]


def two_indices(table: Any, i: Any, j: Any) -> Any:
    return lax.dynamic_slice(table, (lax.mul(i, jnp.int32(3)),), (1,)) + lax.dynamic_slice(
        table, (lax.max(j, jnp.int32(5)),), (1,)
    )


def test_only_steps_behind_a_changed_input_run_again() -> None:
    program = sliced(two_indices, TABLE, INT, INT)
    bit = {position: 1 << k for k, (position, _) in enumerate(program.inputs)}
    assert names(program, bit[1]) == ["mul", *WRAP]
    assert names(program, bit[2]) == ["max", *WRAP]
    assert names(program, bit[1] | bit[2]) == ["mul", *WRAP, "max", *WRAP]
    assert names(program, 0) == []
    made = program.rerun(bit[1], False).made
    assert [program.defs[slot].eqn.primitive.name for slot in made] == ["mul", *WRAP]


def test_a_recorded_run_goes_through_every_access() -> None:
    program = sliced(two_indices, TABLE, INT, INT)
    accesses = [step for step in program.steps if step.kind != SIMPLE]
    assert len(accesses) == 2
    assert [step for step, _, _ in program.rerun(0, True).steps] == accesses
    assert program.rerun(0, False).steps == []


def test_a_select_runs_again_whatever_changed_behind_it() -> None:
    def fn(table: Any, i: Any) -> Any:
        return lax.dynamic_slice(table, (lax.max(i, jnp.int32(7)),), (1,))

    steps = sliced(fn, TABLE, INT).rerun(1, False).steps
    assert {step.eqn.primitive.name: always for step, _, always in steps} == {
        "max": False,
        "lt": False,
        "add": False,
        "select_n": True,
    }


def test_what_is_made_from_a_step_with_an_order_runs_again_with_it() -> None:
    program = sliced(two_indices, TABLE, INT, INT)
    more = 1 << len(program.inputs)
    assert names(program, more) == []
    program.is_ordered([step for step in program.steps if step.kind == SIMPLE and step.eqn.primitive.name == "max"])
    assert names(program, more) == ["max", *WRAP]
    step, _, always = program.rerun(more, False).steps[0]
    assert always and step.volatile


def test_a_second_run_gives_what_a_first_would() -> None:
    def facts(program: Program, *inputs: Fact) -> list[tuple[Any, ...]]:
        runner = Runner(lambda *_: None, Counter(), True)
        given = dict(zip((1, 2), inputs, strict=True))
        env = runner.run(program, [given[position] for position, _ in program.inputs], True)
        return [fact.key() for step in program.steps for fact in (env[out] for out in step.outs)]

    program = sliced(two_indices, TABLE, INT, INT)
    for inputs in (
        (Fact(0, 9), Fact(0, 50)),
        (Fact(0, 9), Fact(6, 50)),
        (Fact(0, 9), Fact(6, 50)),
        (scalar(4), Fact(0, 3)),
        (Fact(0, 9), Fact(0, 50)),
    ):
        assert facts(program, *inputs) == facts(sliced(two_indices, TABLE, INT, INT), *inputs)


def behind_a_condition(table: Any, i: Any, j: Any) -> Any:
    """An index that hangs on j, but only on whether it is positive."""
    more = lax.convert_element_type(j > 0, jnp.int32)
    return lax.dynamic_slice(table, (lax.select(i < 10, lax.max(i, jnp.int32(0)) + more, jnp.int32(0)),), (1,))


def test_a_select_keeps_its_result_while_all_it_looked_at_is_the_same() -> None:
    program = sliced(behind_a_condition, TABLE, INT, INT)
    runner = Runner(lambda *_: None, Counter(), True)

    def visited(i: Fact, j: Fact) -> int:
        before, given = runner.visits, {1: i, 2: j}
        env = runner.run(program, [given[position] for position, _ in program.inputs], False)
        fresh = sliced(behind_a_condition, TABLE, INT, INT)
        plain = Runner(lambda *_: None, Counter(), True).run(fresh, [given[p] for p, _ in fresh.inputs], False)
        for step, other in zip(program.steps, fresh.steps, strict=True):
            assert [env[out].key() for out in step.outs] == [plain[out].key() for out in other.outs]
        return runner.visits - before

    visited(Fact(-9, 90), Fact(-5, 5))
    # The comparison alone, which comes out either way as before.
    assert visited(Fact(-9, 90), Fact(-4, 4)) == 1
    assert visited(Fact(-9, 90), Fact(1, 4)) > 1
    assert visited(Fact(-9, 8), Fact(1, 4)) > 1
    assert visited(Fact(-9, 90), Fact(-5, 5)) > 1


def test_nothing_runs_twice_for_the_same_inputs() -> None:
    program = sliced(two_indices, TABLE, INT, INT)
    runner = Runner(lambda *_: None, Counter(), True)
    inputs = [Fact(0, 9) for _ in program.inputs]
    first = runner.run(program, inputs, False)
    visits = runner.visits
    assert runner.run(program, [Fact(0, 9) for _ in program.inputs], False) is first
    assert runner.visits == visits > 0


def test_visits_grow_with_the_loops_not_with_their_nesting() -> None:
    """A loop is not brought to rest again for counters around it that only an access in it looks at."""

    def visits(depth: int) -> int:
        def nest(table: Any, n: Any, counters: tuple[Any, ...]) -> Any:
            if len(counters) == depth:
                return table[sum(counters) % 100]
            return lax.fori_loop(0, n, lambda k, s: s + nest(table, n, (*counters, k)), 0.0)

        closed = jax.make_jaxpr(lambda table, n: nest(table, n, ()))(TABLE, INT)
        return analyse(closed, [top(v.dtype) for v in closed.in_avals]).visits

    assert visits(6) < 4 * visits(2)
