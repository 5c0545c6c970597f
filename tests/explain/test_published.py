"""The harness that measures XLA's autotuning, and the page and the advice that its results go into."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "bench"))
    return importlib.import_module("xla_redzone")


@pytest.fixture
def publish(bench: ModuleType) -> ModuleType:
    return importlib.import_module("xla_publish")


def record(case: str, model: str, seconds: float, **more: Any) -> dict[str, Any]:
    times = {"trace_s": 0.1, "lower_s": 0.2, "compile_s": seconds, "run_ms": 1.0}
    return {"case": case, "captured": False, "model": model, **times, **more}


def test_the_page_and_the_advice_are_those_of_the_results(publish: ModuleType) -> None:
    results = json.loads(publish.RESULTS.read_text())
    page = publish.PAGE.read_text()
    assert publish.with_table(page, "settings", publish.table(results)) == page, "run bench/xla_publish.py"
    captures = json.loads(publish.CAPTURED.read_text())
    assert publish.with_table(page, "captures", publish.captures_table(captures)) == page, "run bench/xla_publish.py"
    shipped = json.loads(publish.MEASURED.read_text())
    assert shipped == {key: value for key, value in results.items() if key != "records"}


def test_the_results_are_those_of_their_records(bench: ModuleType, publish: ModuleType) -> None:
    results = json.loads(publish.RESULTS.read_text())
    assert bench.merged([results])["cases"] == results["cases"]


def test_the_middle_of_several_runs(bench: ModuleType) -> None:
    seconds = (3.0, 1.0, 2.0)
    records = [record("default", "mlp", s) for s in seconds] + [record("default", "mlp", 99.0, captured=True)]
    (entry, *_) = bench.summary(records, bench.CASES, {"device": "D", "jax": "J"})["cases"]
    mlp = entry["models"]["mlp"]
    assert (mlp["compile_s"], mlp["least_s"], mlp["most_s"], mlp["runs"]) == (2.0, 1.0, 3.0, 3)


def test_results_of_several_runs_are_taken_together(bench: ModuleType) -> None:
    one, two = (
        bench.summary([record("default", "mlp", s)], bench.CASES, {"device": "D", "jax": "J"}) for s in (1.0, 3.0)
    )
    both = bench.merged([one, two])
    assert both["cases"][0]["models"]["mlp"]["compile_s"] == 2.0
    assert (both["device"], both["jax"]) == ("D", "J")


def test_the_table(bench: ModuleType) -> None:
    records = [record("default", "mlp", 4.0), record("level 0", "mlp", 1.0, run_ms=3.0)]
    records += [{"case": "level 1", "captured": False, "model": "*", "error": "it broke"}]
    lines = bench.table(bench.summary(records, bench.CASES, {"device": "D", "jax": "J"})).splitlines()
    assert "| default | 4.00 | – | – | – | 4.00 | 100 % | 1 | same |" in lines
    assert "| level 0 | 1.00 | – | – | – | 1.00 | 25 % | 1 | mlp 3.00× |" in lines
    assert any(line.startswith("| level 1 |") and "it broke" in line for line in lines)


def test_every_setting_comes_once_before_any_comes_again(bench: ModuleType) -> None:
    order = list(itertools.islice(bench.schedule(bench.CASES, True), 80))
    assert order[0] == (bench.CASES[0], True)
    plain = [case for case, captured in order if not captured]
    quick = [case for case in bench.CASES if not case.slow]
    assert plain[: len(quick)] == quick
    assert [case for case, captured in order if captured] == [case for case in bench.CASES if case.capture]
    assert plain.count(next(case for case in bench.CASES if case.slow)) == 1


def test_a_cache_is_filled_before_it_is_used(bench: ModuleType) -> None:
    names = [case.name for case in bench.CASES]
    for kind in ("persistent cache", "per-fusion cache"):
        assert (
            names.index(f"{kind}, filling") < names.index(f"{kind}, filled") < names.index(f"{kind}, program changed")
        )
    assert names.index("autotune results, dumping") < names.index("autotune results, loaded")


def test_a_process_that_fails_says_why(bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import sys\nprint('ready')\nsys.stdin.readline()\nraise RuntimeError('no such flag')\n")
    monkeypatch.setattr(bench, "WORKER", worker)
    (said,) = bench.Worker(bench.CASES[0], ("mlp",), tmp_path, 1, None).results(30)
    assert said == {"model": "*", "error": "RuntimeError: no such flag"}


def test_a_process_that_takes_too_long_is_ended(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import json, time\nprint(json.dumps({'model': 'mlp'}), flush=True)\ntime.sleep(60)\n")
    monkeypatch.setattr(bench, "WORKER", worker)
    said = list(bench.Worker(bench.CASES[0], ("mlp",), tmp_path, 1, None).results(2))
    assert said == [{"model": "mlp"}, {"model": "*", "error": "took too long"}]


def test_a_page_without_marks(publish: ModuleType) -> None:
    with pytest.raises(ValueError, match="the page has no <!-- settings -->"):
        publish.with_table("nothing", "settings", "x")


def test_flags_and_variables_of_a_case(bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, os, sys\nnames = 'XLA_FLAGS', 'JAX_COMPILATION_CACHE_DIR'\n"
        "print(json.dumps({n: os.environ.get(n) for n in names} | {'args': sys.argv[1:]}))\n"
    )
    monkeypatch.setattr(bench, "WORKER", worker)
    monkeypatch.setenv("XLA_FLAGS", "--xla_before=1")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "argv", ["xla_redzone.py"])
    cases = {case.name: case for case in bench.CASES}
    (said,) = bench.Worker(cases["per-fusion cache, program changed"], ("mlp",), tmp_path, 7, None).results(30)
    assert said["XLA_FLAGS"] == f"--xla_before=1 --xla_gpu_per_fusion_autotune_cache_dir={tmp_path}/fusions"
    assert said["args"] == ["--models", "mlp", "--changed", "7"]
    assert (tmp_path / "fusions").is_dir()
    (said,) = bench.Worker(cases["persistent cache, filled"], ("mlp",), tmp_path, 7, tmp_path / "c").results(30)
    assert said["JAX_COMPILATION_CACHE_DIR"] == f"{tmp_path}/persistent"
    assert said["args"][-2:] == ["--capture", f"{tmp_path}/c"]
