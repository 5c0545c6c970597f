"""`redzone explain`, and `redzone check` with --explain and --trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from redzone.cli import main
from tests.explain.captures import CPU, LEVEL_0, MLP

FUNCTION = """
import redzone

@redzone.example(redzone.Spec((16,), "float32"), redzone.Spec((), "int32", min=0, max=15))
def price(table, i):
    return table[i]
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "prices.py"
    file.write_text(FUNCTION)
    return str(file)


class TestExplain:
    @pytest.mark.parametrize("name", ["", "host.xplane.pb", "host.trace.json.gz"])
    def test_a_capture_with_checks(self, name: str) -> None:
        done = run("explain", str(MLP / name))
        assert done.exit_code == 0
        assert "The checks held the GPU for 19.9 ms" in done.output
        assert "--xla_gpu_enable_triton_gemm=false" in done.output

    @pytest.mark.parametrize(("folder", "says"), [(CPU, "no GPU in it"), (LEVEL_0, "without timing any")])
    def test_a_capture_without(self, folder: Path, says: str) -> None:
        done = run("explain", str(folder))
        assert done.exit_code == 0
        assert "None here: " in done.output
        assert says in " ".join(done.output.split())
        assert "What makes compiling faster" not in done.output

    def test_json(self) -> None:
        said = json.loads(run("explain", str(MLP), "--format", "json").output)
        assert said["schema"] == 1
        assert said["captures"][0]["checks"]["launches"] == 532
        assert said["captures"][0]["advice"]

    @pytest.mark.parametrize(
        ("name", "content", "says"),
        [
            ("missing", None, "there is no file or folder"),
            ("a.xplane.pb", b"", "is empty"),
            ("a.xplane.pb", b"words and words", "no capture of JAX's profiler"),
            ("a.trace.json.gz", b"\x1f\x8b\x08", "cut short or damaged"),
        ],
    )
    def test_what_cannot_be_read(self, tmp_path: Path, name: str, content: bytes | None, says: str) -> None:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        done = run("explain", str(tmp_path / name))
        assert done.exit_code == 2
        assert says in done.output
        assert "Traceback" not in done.output


class TestCheck:
    def test_explain(self, program: str) -> None:
        done = run("check", program, "--explain")
        assert done.exit_code == 0, done.output
        assert "prices.py:price took" in " ".join(done.output.split())
        assert "by stage" in done.output and "by primitive" in done.output

    def test_explain_in_json(self, program: str) -> None:
        said = json.loads(run("check", program, "--explain", "--format", "json").output)
        (one,) = said["explanations"]
        assert one["name"].endswith("prices.py:price")
        assert one["jax"]["seconds"] > 0

    def test_json_without_it(self, program: str) -> None:
        assert "explanations" not in json.loads(run("check", program, "--format", "json").output)

    def test_other_formats_stay_clean(self, program: str) -> None:
        done = run("check", program, "--explain", "--format", "concise")
        assert "by stage" not in done.stdout
        assert "by stage" in done.stderr

    def test_trace(self, program: str, tmp_path: Path) -> None:
        done = run("check", program, "--trace", str(tmp_path / "t.json"))
        assert done.exit_code == 0, done.output
        assert "by stage" not in done.output
        events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        assert any(event["name"] == "facts" for event in events)
        assert any(event["args"].get("name", "").endswith("prices.py:price") for event in events)

    def test_a_trace_that_cannot_be_written(self, program: str, tmp_path: Path) -> None:
        done = run("check", program, "--trace", str(tmp_path / "missing" / "t.json"))
        assert done.exit_code == 2
        assert "the trace cannot be written to" in done.output
