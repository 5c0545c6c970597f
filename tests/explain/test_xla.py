"""What XLA's redzone checks cost: real captures, made-up ones of other versions, and captures without any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redzone.explain.capture import read
from redzone.explain.names import Kind
from redzone.explain.xla import XlaCost, cost_of, costs_at
from redzone.explain.xla_text import answer, cost_as_json, cost_as_text
from tests.explain.captures import CPU, LEVEL_0, MLP, host, kernel, written

NEW = "stream_executor::gpu::RedzoneAllocatorKernelImpl(unsigned char*, unsigned char, unsigned long, unsigned int*)"
DETAILS = "regs:16 static_shared:0 dynamic_shared:0 grid:8192,1,1 block:1024,1,1 occ_pct:100"


@pytest.fixture(scope="module")
def mlp() -> XlaCost:
    return cost_of(read(MLP / "host.xplane.pb"))


def checked(check: str, start: float) -> list[dict[str, Any]]:
    """A candidate that is run, and the check of one buffer after it, in 100 µs."""
    return [
        kernel("gemm_fusion", start, 5, hlo_module="gemm_fusion", kernel_details=DETAILS),
        kernel("Memset 2", start + 10, 1, Memset_details="kind:pinned num_bytes:8 async:1"),
        kernel(check, start + 15, 20, kernel_details=DETAILS),
        kernel("MemcpyD2H", start + 20, 45, memcpy_details="kind_src:device kind_dst:pageable size:8 async:1"),
        kernel(check, start + 36, 20, kernel_details=DETAILS),
        kernel("delay_kernel", start + 80, 10, hlo_module="gemm_fusion"),
    ]


def test_the_launches_of_a_real_capture(mlp: XlaCost) -> None:
    work = mlp.work
    assert work.checks.launches == 532
    assert work.checks.seconds == pytest.approx(13.49e-3, rel=0.01)
    # Two launches and one readback for each buffer.
    assert work.by_kind[Kind.READBACK].launches == 266
    assert work.launches == 1738
    assert work.bytes_checked == pytest.approx(4.46e9, rel=0.01)
    assert work.bandwidth == pytest.approx(0.33e12, rel=0.02)


def test_no_moment_is_counted_twice(mlp: XlaCost) -> None:
    from redzone.explain.intervals import covered

    launches = read(MLP / "host.xplane.pb").launches
    busy = covered((one.start, one.end) for one in launches)
    # A readback that was asked for before its kernel began had nothing to wait for yet.
    assert 0.98 * busy <= mlp.work.seconds <= busy
    assert mlp.work.held_seconds >= mlp.work.checks.seconds + mlp.work.by_kind[Kind.READBACK].seconds


def test_the_compilation_around_it(mlp: XlaCost) -> None:
    (one,) = mlp.compiled
    assert one.module == "jit_l"
    assert one.seconds == pytest.approx(0.856, rel=0.01)
    assert one.autotuning == pytest.approx(0.668, rel=0.01)
    assert one.candidates == 82
    assert one.candidate_seconds < one.autotuning < one.candidate_cpu_seconds
    assert one.work.checks.launches == 532
    assert 0 < one.buffers_seconds < 0.02


def test_what_was_checked_longest(mlp: XlaCost) -> None:
    assert sum(tally.seconds for tally in mlp.checked.values()) == pytest.approx(mlp.work.held_seconds)
    names = list(mlp.checked)
    assert "gemm_fusion_dot.4" in names and "loop_select_fusion" in names
    assert [t.seconds for t in mlp.checked.values()] == sorted((t.seconds for t in mlp.checked.values()), reverse=True)
    assert f"Longest checked: {names[0]}" in cost_as_text(mlp)


def test_the_same_from_the_viewers_format(mlp: XlaCost) -> None:
    other = cost_of(read(MLP / "host.trace.json.gz"))
    assert other.work.checks.launches == mlp.work.checks.launches
    assert other.work.held_seconds == pytest.approx(mlp.work.held_seconds, rel=1e-3)
    assert other.autotune_seconds == pytest.approx(mlp.autotune_seconds, rel=1e-3)
    assert [c.module for c in other.compiled] == ["jit_l"]


@pytest.mark.parametrize("name", ["redzone_checker", NEW, "stream_executor::gpu::redzone_checker(unsigned char*)"])
def test_the_kernels_name_in_every_version(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, host("backend_compile", 0, 1000), *checked(name, 100), *checked(name, 300))
    cost = cost_of(read(file))
    assert cost.work.checks.launches == 4
    assert cost.work.checks.seconds == pytest.approx(80e-6)
    assert cost.work.bytes_checked == 4 * 8192 * 1024
    # From the counter's start to the readback's end: 10 … 65.
    assert cost.work.held_seconds == pytest.approx(2 * 55e-6)
    assert cost.work.by_kind[Kind.READBACK].seconds == pytest.approx(2 * 9e-6)


def test_a_readback_after_a_comparison_is_the_comparisons(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        *checked("redzone_checker", 0),
        kernel("void xla_fp_comparison<float>(float*, float*)", 120, 5),
        kernel("MemcpyD2H", 121, 20, memcpy_details="size:8"),
    )
    cost = cost_of(read(file))
    assert cost.work.by_kind[Kind.READBACK].launches == 1
    assert cost.work.by_kind[Kind.COMPARE].launches == 2


def test_modules_are_told_apart_by_time(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        host("backend_compile", 0, 500),
        host("HLO Transforms:jit_first", 10, 400),
        host("autotuner (jit_first)", 20, 300),
        host("autotuner", 21, 290),
        host("CompileToBackendResult", 30, 50, thread=5),
        host("CompileToBackendResult", 40, 60, thread=6),
        host("CompileToBackendResult", 410, 60),
        host("backend_compile", 600, 300),
        host("HLO Transforms:jit_second", 610, 200),
        *checked(NEW, 100),
        *checked(NEW, 700),
        *checked(NEW, 1000),
    )
    cost = cost_of(read(file))
    first, second = cost.compiled
    assert (first.module, second.module) == ("jit_first", "jit_second")
    assert first.autotuning == pytest.approx(300e-6)
    assert (first.candidates, second.candidates) == (2, 0)
    assert first.candidate_seconds == pytest.approx(70e-6)
    assert first.candidate_cpu_seconds == pytest.approx(110e-6)
    assert [c.work.checks.launches for c in cost.compiled] == [2, 2]
    assert cost.work.checks.launches == 6
    assert cost.outside == pytest.approx(55e-6)


def test_a_compilation_on_another_thread_is_the_one_waited_for(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        host("backend_compile", 0, 500),
        host("PjRtStreamExecutorClient::Compile", 10, 480, thread=5),
        host("HLO Transforms:jit_f", 20, 400, thread=5),
        host("gemm-fusion-autotuner", 30, 100, thread=5),
        host("CompileToBackendResult", 40, 50, thread=6),
        host("PjRtStreamExecutorClient::Compile", 100, 50, thread=8),
        host("HLO Transforms:jit_other", 110, 30, thread=8),
    )
    first, second = cost_of(read(file)).compiled
    assert (first.module, second.module) == ("jit_f", "jit_other")
    assert first.seconds == pytest.approx(500e-6)
    assert (first.candidates, first.autotuning) == (1, pytest.approx(100e-6))


def test_the_modules_of_a_real_cpu_capture() -> None:
    modules = [c.module for c in cost_of(read(CPU / "host.xplane.pb")).compiled]
    assert sorted(modules) == ["jit__lambda", "jit_broadcast_in_dim", "jit_convert_element_type"]


def test_nothing_is_said_of_bytes_that_the_capture_does_not_tell(tmp_path: Path) -> None:
    file = written(tmp_path, kernel("redzone_checker", 0, 10))
    cost = cost_of(read(file))
    assert cost_as_json(cost)["checks"]["bytes"] is None
    assert "does not say how large" in cost_as_text(cost)


class TestNoneHere:
    def test_on_a_cpu(self) -> None:
        cost = cost_of(read(CPU / "host.xplane.pb"))
        assert not cost.found
        assert "this capture has no GPU in it" in cost.why_none
        assert "None here: this capture has no GPU" in cost_as_text(cost)

    def test_on_a_tpu(self, tmp_path: Path) -> None:
        file = written(tmp_path, host("backend_compile", 0, 5), device="/device:TPU:0")
        assert "no GPU in it (/device:TPU:0)" in cost_of(read(file)).why_none

    def test_at_level_0(self) -> None:
        assert "xla_gpu_autotune_level is 0" in cost_of(read(LEVEL_0 / "host.xplane.pb")).why_none

    def test_nothing_compiled(self, tmp_path: Path) -> None:
        file = written(tmp_path, kernel("gemm_fusion", 0, 5, hlo_module="jit_f"), host("create redzone buffers", 0, 1))
        assert "nothing was compiled while the profiler ran" in cost_of(read(file)).why_none

    def test_host_not_recorded(self, tmp_path: Path) -> None:
        file = written(tmp_path, kernel("gemm_fusion", 0, 5, hlo_module="jit_f"))
        assert "host_tracer_level" in cost_of(read(file)).why_none

    def test_candidates_that_were_not_checked(self, tmp_path: Path) -> None:
        file = written(
            tmp_path,
            host("backend_compile", 0, 500),
            host("autotuner", 10, 400),
            kernel("DelayKernel", 100, 5, hlo_module="gemm"),
            kernel("gemm_fusion", 110, 5, hlo_module="gemm"),
        )
        why = cost_of(read(file)).why_none
        assert "timed 1 candidates without checking them" in why
        assert "xla_gpu_redzone_padding_bytes is 0" in why

    def test_results_from_a_cache(self, tmp_path: Path) -> None:
        file = written(tmp_path, host("backend_compile", 0, 500), kernel("nvjet_sm90_tst", 600, 5, hlo_module="jit_f"))
        assert "came from a cache" in cost_of(read(file)).why_none

    def test_nothing_to_choose_from(self, tmp_path: Path) -> None:
        file = written(tmp_path, host("backend_compile", 0, 500), kernel("loop_add", 600, 5, hlo_module="jit_f"))
        assert "has candidates to choose from" in cost_of(read(file)).why_none

    def test_an_empty_recording(self, tmp_path: Path) -> None:
        cost = cost_of(read(written(tmp_path)))
        assert cost.seconds == 0
        assert "None here" in cost_as_text(cost)


def test_the_answer_in_words(mlp: XlaCost) -> None:
    said = answer(mlp)
    assert "held the GPU for 19.9 ms: 2.3 % of the time recorded and 2.3 % of the 855.8 ms that XLA compiled" in said
    assert "60.2 % of the GPU's own time" in said
    assert "Autotuning as a whole took 668.0 ms (78.1 % of the compilation)" in said
    assert "compiling 82 candidates" in said


def test_the_text_fits_a_terminal(mlp: XlaCost) -> None:
    text = cost_as_text(mlp, older=2)
    assert max(map(len, text.splitlines())) <= 80
    assert "2 older captures in the same folder" in text
    assert "at 331 GB/s, 6.9 % of the card's 4.81 TB/s" in " ".join(text.split())
    assert "waiting for their results" in text


def test_json_says_what_the_text_does(mlp: XlaCost) -> None:
    said = cost_as_json(mlp)
    assert said["found"] and said["why_none"] == ""
    assert said["checks"]["launches"] == 532
    assert said["checks"]["share_of_gpu"] == pytest.approx(0.602, abs=0.001)
    assert said["checks"]["share_of_bandwidth"] == pytest.approx(0.0687, abs=0.001)
    assert sum(tally["seconds"] for tally in said["gpu"].values()) == pytest.approx(said["gpu_seconds"])
    assert said["modules"][0]["module"] == "jit_l"


def test_costs_at_a_folder() -> None:
    (cost,), older = costs_at(MLP)
    assert (cost.file.name, older) == ("host.xplane.pb", 0)


def test_streams_of_two_devices_are_told_apart(tmp_path: Path) -> None:
    second = [{**event, "pid": 3, "ts": event["ts"] + 3} for event in checked(NEW, 100)]
    named: list[dict[str, Any]] = [
        {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:GPU:1"}},
        {"ph": "M", "pid": 3, "tid": 7, "name": "thread_name", "args": {"name": "Stream #7(Compute)"}},
    ]
    cost = cost_of(read(written(tmp_path, *named, *checked(NEW, 100), *second)))
    assert cost.devices == ("/device:GPU:0", "/device:GPU:1")
    assert cost.work.by_kind[Kind.READBACK].launches == 2
    assert cost.work.by_kind[Kind.READBACK].seconds == pytest.approx(2 * 9e-6)
