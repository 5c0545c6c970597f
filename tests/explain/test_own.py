"""Where a check's own time went: the tables add up, and say what was done for which access."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import redzone
from redzone.explain import cheaper
from redzone.explain.compiling import JaxTime
from redzone.explain.own import Explanation
from redzone.explain.own_text import sentence
from tests.explain import programs


def explained(program: Callable[..., Any], arguments: tuple[Any, ...], **options: Any) -> Explanation:
    return redzone.check(program, *arguments).explain(**{"compare": False} | options)  # type: ignore[no-any-return]


@pytest.fixture(autouse=True, scope="module")
def however_fast_the_machine() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(cheaper, "SHORT", 0.0)
        yield


@pytest.fixture(scope="module")
def decode() -> Explanation:
    return explained(programs.decode, programs.DECODE)


PROGRAMS = [
    (programs.decode, programs.DECODE),
    (programs.triangle, programs.TRIANGLE),
    (programs.unrolled, programs.UNROLLED),
    (programs.creeping, programs.CREEPING),
    (programs.parity, programs.PARITY),
]


@pytest.mark.parametrize(("program", "arguments"), PROGRAMS, ids=[p.__name__ for p, _ in PROGRAMS])
def test_every_table_adds_up_to_the_whole(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    one = explained(program, arguments)
    whole = pytest.approx(one.seconds, rel=1e-9)
    assert sum(row.seconds for row in one.stages) == whole
    assert sum(row.seconds for row in one.lines) == whole
    assert sum(row.seconds for row in one.primitives) == whole
    assert sum(cost.seconds for cost in one.accesses) + one.shared_seconds == whole
    assert all(sum(cost.stages.values()) == pytest.approx(cost.seconds) for cost in one.accesses)
    assert min(row.seconds for row in (*one.stages, *one.lines, *one.primitives)) >= 0


@pytest.mark.parametrize(("program", "arguments"), PROGRAMS, ids=[p.__name__ for p, _ in PROGRAMS])
def test_explaining_changes_no_verdict(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    report = redzone.check(program, *arguments)
    before = [(a.verdict, a.decided_by, a.requires) for a in report.accesses]
    report.explain(compare=False)
    again = redzone.check(program, *arguments)
    assert [(a.verdict, a.decided_by, a.requires) for a in again.accesses] == before


def test_the_stages(decode: Explanation) -> None:
    names = [row.name for row in decode.stages]
    assert names == ["walk", "slice", "facts", "masks", "exact", "conditions", "witness", "other"]
    assert all(row.seconds > 0 for row in decode.stages)


def test_most_of_the_facts_belong_to_equations(decode: Explanation) -> None:
    facts = sum(row.seconds for row in decode.stages if row.name == "facts")
    steps = sum(p.seconds for p in decode.record.pieces.values() if p.stage == "facts" and p.eqn is not None)
    assert steps > 0.8 * facts


def test_lines_are_those_of_the_program(decode: Explanation) -> None:
    lines = {row.location.line for row in decode.lines if row.location is not None}
    first = programs.decode.__code__.co_firstlineno
    assert {line - first for line in lines} == {5, 7, 8}
    assert {row.name for row in decode.lines if row.location is None} >= {"(walk: every equation once)", "(other)"}


def test_primitives_are_named(decode: Explanation) -> None:
    count = {row.name: row.count for row in decode.primitives}
    assert count["while"] >= 1
    assert count["gather"] >= 1
    assert "(exactly)" in count and "(slice)" in count


def test_the_costliest_access_comes_first(decode: Explanation) -> None:
    costs = [cost.seconds for cost in decode.accesses]
    assert costs == sorted(costs, reverse=True)
    assert len(costs) == 4
    inside_the_loop = [cost for cost in decode.accesses if cost.access.location.text.startswith("return i + 1")]
    assert len(inside_the_loop) == 2
    assert all(any("the while at programs.py:" in why and "rounds" in why for why in c.why) for c in inside_the_loop)


def test_an_access_outside_a_loop_is_not_charged_for_it(decode: Explanation) -> None:
    (gather,) = [cost for cost in decode.accesses if cost.access.primitive == "gather"]
    assert not any("while" in why for why in gather.why)


def test_the_rounds_of_a_loop() -> None:
    one = explained(programs.creeping, programs.CREEPING)
    (loop,) = one.loops
    assert loop.count > 5
    assert loop.name.startswith("the while at programs.py:")
    assert 0 < loop.seconds < 2 * one.seconds
    assert any(f"took {loop.count} rounds until nothing changed" in item.advice for item in one.advice)


def test_what_isl_was_asked() -> None:
    one = explained(programs.parity, programs.PARITY)
    (cost,) = one.accesses
    assert any("1 question to isl" in why and "about i + j - a ≥ 0" in why for why in cost.why)
    assert "isl" in {row.name.strip("()") for row in one.primitives}


@pytest.mark.changes_the_engine
@pytest.mark.skipif(importlib.util.find_spec("z3") is None, reason="z3 is an extra")
def test_what_z3_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    # However busy the machine is, z3 is to answer.
    monkeypatch.setattr("redzone.prove.solver.LATEST", 60_000)
    one = explained(programs.bits, programs.BITS)
    (cost,) = one.accesses
    assert any("2 questions to z3" in why for why in cost.why)
    assert one.advice and "z3 was asked 2 times about the access at" in one.advice[0].advice
    assert "redzone.assume(index, min=0, max=0)" in one.advice[0].advice


def test_what_trying_a_condition_took() -> None:
    def scattered(x: Any, state: Any, slots: Any) -> Any:
        slot = jnp.pad(slots, (0, 4))[jnp.arange(8)]
        return state.at[slot].set(state[slot] + x)

    shapes = ((8, 1), "float32"), ((5, 1), "float32"), ((4,), "int32")
    one = explained(scattered, tuple(redzone.Spec(shape, dtype) for shape, dtype in shapes))
    assert {str(cost.access.verdict) for cost in one.accesses} == {"safe", "requires"}
    for cost in one.accesses:
        assert any("forward run" in why for why in cost.why) == (str(cost.access.verdict) == "requires")
        if cost.access.requires:
            assert any("together with 1 other" in why for why in cost.why)


def test_what_a_replay_took() -> None:
    one = explained(lambda x, i: x[i], (redzone.Spec((8,), "float32"), redzone.Spec((), "int32", min=0, max=8)))
    (cost,) = one.accesses
    assert cost.access.verdict == "unsafe"
    assert any("on concrete inputs" in why for why in cost.why)
    assert cost.stages["witness"] > 0


def test_a_missing_z3_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    one = explained(programs.bits, programs.BITS)
    assert any("pip install 'redzone[z3]'" in item.advice for item in one.advice), one.advice


def test_a_promise_is_advised_with_what_it_spares(decode: Explanation) -> None:
    best = decode.advice[0]
    assert "redzone.Spec(min=0, max=84) for pos" in best.advice
    assert 0 < best.seconds < decode.seconds


def test_the_advice_is_right() -> None:
    """With the promise made, what it was to spare is gone."""
    before = explained(programs.decode, programs.DECODE)
    promised = (
        redzone.Spec((100,), "float32"),
        redzone.Spec((8,), "int32", min=0, max=99),
        redzone.Spec((), "int32", min=0, max=84),
        redzone.Spec((), "int32", min=0, max=10),
    )
    after = explained(programs.decode, promised)
    late = [{row.name: row.seconds for row in one.stages} for one in (before, after)]
    assert late[1]["exact"] + late[1]["conditions"] < 0.3 * (late[0]["exact"] + late[0]["conditions"])


def test_a_python_loop_is_noticed() -> None:
    one = explained(programs.unrolled, programs.UNROLLED)
    (item,) = [item for item in one.advice if "as a Python loop leaves it" in item.advice]
    assert "programs.py:" in item.advice and "60 times" in item.advice


def test_a_program_without_accesses() -> None:
    one = explained(lambda x: x + 1, (redzone.Spec((3,), "float32"),))
    assert one.accesses == ()
    assert one.shared_seconds == pytest.approx(one.seconds)
    assert "no access took time of its own" in str(one)


def test_the_text_fits_a_terminal(decode: Explanation) -> None:
    text = str(decode)
    assert max(map(len, text.splitlines())) <= 80, text
    for heading in (
        "by stage",
        "by line",
        "by primitive",
        "the costliest accesses, of 4",
        "what would make it cheaper",
    ):
        assert heading in text
    assert text.count("100 %") == 3


def test_json_holds_what_the_text_says(decode: Explanation) -> None:
    said = json.loads(json.dumps(decode.to_json()))
    assert said["schema"] == 1
    assert said["sentence"] == decode.sentence
    assert [row["name"] for row in said["stages"]] == [row.name for row in decode.stages]
    assert len(said["accesses"]) == 4
    tree = said["tree"]
    assert sum(child["seconds"] for child in tree["children"]) == pytest.approx(tree["seconds"])
    assert {child["name"] for child in tree["children"]} == {row["name"] for row in said["stages"]}


class TestAgainstJax:
    def test_a_whole_comparison(self) -> None:
        one = explained(programs.triangle, programs.TRIANGLE, compare=True)
        assert one.jax is not None and one.jax.is_whole, one.jax
        assert one.jax.compile is not None and one.jax.compile > 0.001
        spent = one.check_seconds if one.check_seconds <= 1.5 * one.again_seconds else one.again_seconds
        share = 100 * spent / one.jax.seconds
        assert one.sentence.endswith("of the time JAX itself needed.")
        assert f"{share:.1f} %" in one.sentence or f"{share:.2g} %" in one.sentence
        assert "JAX: tracing" in str(one) and "compiling" in str(one)

    def test_a_compilation_that_takes_too_long(self) -> None:
        one = explained(programs.triangle, programs.TRIANGLE, compare=True, limit=1e-6)
        assert one.jax is not None
        assert one.jax.compile is None and one.jax.compile_limit == 1e-6
        assert "less than" in one.sentence and "was not waited for" in one.sentence

    def test_symbolic_sizes(self) -> None:
        one = explained(lambda x, i: x[i], (redzone.Spec(("n",), "float32"), redzone.Spec((), "int32")), compare=True)
        assert one.jax is not None
        assert (one.jax.lower, one.jax.compile) == (None, None)
        assert "of the time JAX needed for tracing alone." in one.sentence
        assert "its sizes are symbolic" in str(one)

    def test_a_program_with_random_keys(self) -> None:
        def chosen(key: Any, x: Any) -> Any:
            return x[jax.random.randint(key, (), 0, 8)]

        one = explained(chosen, (jax.random.key(0), redzone.Spec((8,), "float32")), compare=True)
        assert one.jax is not None and one.jax.is_whole, one.jax

    def test_a_program_with_a_callback(self) -> None:
        def called(x: Any, i: Any) -> Any:
            jax.debug.print("{}", i)
            return x[i]

        one = explained(called, (redzone.Spec((8,), "float32"), redzone.Spec((), "int32")), compare=True)
        assert one.jax is not None
        assert one.jax.is_whole or one.jax.why_not

    @pytest.mark.parametrize(
        ("jax_time", "says"),
        [
            (JaxTime(0.5, 0.25, 0.25), "took 10.0 ms: 1.0 % of the time JAX itself needed."),
            (JaxTime(0.5, 0.25, None, 60.0), "less than 0.016 % of the time JAX itself needs"),
            (JaxTime(0.5, 0.5, None, None, "it broke"), "1.0 % of the time JAX needed for tracing and lowering alone."),
            (JaxTime(1.0, None, None, None, "symbolic"), "1.0 % of the time JAX needed for tracing alone."),
            (None, "took 10.0 ms."),
        ],
    )
    def test_the_sentence(self, decode: Explanation, jax_time: JaxTime | None, says: str) -> None:
        import dataclasses

        one = dataclasses.replace(decode, jax=jax_time, check_seconds=0.01, again_seconds=0.009)
        assert says in sentence(one)

    def test_first_uses_are_not_compared(self, decode: Explanation) -> None:
        import dataclasses

        one = dataclasses.replace(decode, jax=JaxTime(0.5, 0.25, 0.25), check_seconds=0.5, again_seconds=0.01)
        assert "took 500.0 ms, and 10.0 ms when run again: 1.0 % of the time JAX itself needed." in sentence(one)


class TestTrace:
    def test_events_nest_and_add_up(self, decode: Explanation) -> None:
        content = decode.to_trace()
        assert content["otherData"]["events_left_out"] == 0
        events = [event for event in content["traceEvents"] if event["ph"] == "X"]
        (whole,) = [event for event in events if event["name"] == "check decode"]
        assert whole["ts"] == 0
        open_: list[dict[str, Any]] = []
        inside: dict[int, float] = {}
        for event in events:
            while open_ and open_[-1]["ts"] + open_[-1]["dur"] <= event["ts"]:
                open_.pop()
            if open_:
                outer = open_[-1]
                assert event["ts"] >= outer["ts"]
                assert event["ts"] + event["dur"] <= outer["ts"] + outer["dur"] + 0.002
                inside[id(outer)] = inside.get(id(outer), 0.0) + event["dur"]
            else:
                assert event is whole
            open_.append(event)
        for event in events:
            assert inside.get(id(event), 0.0) <= event["dur"] + 0.002 * len(events)

    def test_events_say_where(self, decode: Explanation) -> None:
        events = decode.to_trace()["traceEvents"]
        loops = {e["args"]["line"] for e in events if e["name"] == "while" and e["cat"] == "equation"}
        line = programs.decode.__code__.co_firstlineno + 7
        assert len(loops) == 1 and loops.pop().endswith(f"programs.py:{line}")
        names = {e["name"] for e in events}
        assert {"walk", "slice", "facts", "exact", "exactly", "witness", "decide"} <= names
        assert all("programs.py" in e["args"]["accesses"][0] for e in events if e["name"] == "exactly")

    @pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
    def test_a_file(self, decode: Explanation, tmp_path: Path, name: str) -> None:
        decode.write_trace(tmp_path / name)
        raw = (tmp_path / name).read_bytes()
        content = json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
        assert content == json.loads(json.dumps(decode.to_trace()))

    def test_more_events_than_a_trace_holds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("redzone.explain.recording.EVENTS", 5)
        one = explained(programs.decode, programs.DECODE)
        assert len(one.record.events) == 5
        assert one.to_trace()["otherData"]["events_left_out"] > 5


def test_a_report_from_elsewhere_cannot_be_explained() -> None:
    report = redzone.Report("f", (), None, {}, {})
    with pytest.raises(ValueError, match="only the report of a check in this process can be explained"):
        report.explain()
