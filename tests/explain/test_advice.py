"""Advice is what was measured: settings for the JAX seen, what they save, what they give up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import jax
import pytest

from redzone.explain.advice import advised
from redzone.explain.settings import LOOKED_UP, SETTINGS, measured


def results(**compile_s: float) -> dict[str, Any]:
    """Results of one model: seconds by case, and a run of 1 ms (of 3 where the case is level 0)."""
    cases = [
        {
            "case": case.replace("_", " "),
            "models": {"mlp": {"compile_s": s, "run_ms": 3.0 if case == "level_0" else 1.0, "runs": 2}},
        }
        for case, s in compile_s.items()
    ]
    return {"device": "NVIDIA H200", "jax": "0.11.2", "cases": cases}


def test_what_saves_most_comes_first() -> None:
    found = advised("0.11.2", "NVIDIA H200", results(default=4.0, no_Triton_gemms=1.0, level_0=2.0, padding_0=3.9))
    assert [one.remains for one in found.worth] == [0.25]
    assert "--xla_gpu_enable_triton_gemm=false" in found.worth[0].setting
    assert found.worth[0].evidence == "4.00 s → 1.00 s, 25.0 %"
    assert found.measured_on == "NVIDIA H200, JAX 0.11.2: mlp compile in 4.00 s by default"
    assert found.worth[0].caution == ""


def test_a_result_that_runs_slower_is_said() -> None:
    found = advised("0.11.2", "NVIDIA H200", results(default=4.0, level_0=2.0))
    assert found.worth == ()
    assert found.too_slow[0].slower == {"mlp": 3.0}
    assert "the result ran slower: mlp 3×" in found.too_slow[0].evidence


def test_switching_the_checks_off_is_told_as_not_worth_it() -> None:
    found = advised("0.11.2", "NVIDIA H200", results(default=4.0, padding_0=3.9, level_1=3.95))
    assert found.worth == ()
    assert ["padding_bytes=0" in one.setting for one in found.not_worth] == [True, False]
    assert "outside their buffers" in found.not_worth[0].gives_up


def test_were_the_checks_costly_that_would_be_advised() -> None:
    found = advised("0.11.2", "NVIDIA H200", results(default=4.0, padding_0=1.0))
    assert "padding_bytes=0" in found.worth[0].setting


def test_a_flag_that_a_version_lacks_is_not_advised() -> None:
    few = {"default": 4.0, "8_BLAS_algorithms": 1.0}
    assert advised("0.10.2", "NVIDIA H200", results(**few)).worth == ()
    assert len(advised("0.12.0", "NVIDIA H200", results(**few)).worth) == 1


@pytest.mark.parametrize("version", ["0.6.1", "0.4.30", "0.99.0"])
def test_a_version_nobody_looked_at(version: str) -> None:
    (one,) = advised(version, "NVIDIA H200", results(default=4.0, no_Triton_gemms=2.0)).worth
    assert f"a JAX {version} that does not know a flag stops at its start" in one.caution


def test_another_card() -> None:
    (one,) = advised("0.11.2", "NVIDIA A100", results(default=4.0, no_Triton_gemms=2.0)).worth
    assert "measured on another card than this NVIDIA A100" in one.caution


def test_a_capture_that_does_not_say_its_version() -> None:
    (one,) = advised("", "", results(default=4.0, no_Triton_gemms=2.0)).worth
    assert one.caution == ""


def test_every_setting_is_measured_and_every_number_is_there() -> None:
    content = measured()
    assert content["device"] == "NVIDIA H200"
    assert content["jax"].startswith("0.11")
    cases = {entry["case"]: entry for entry in content["cases"]}
    for setting in SETTINGS:
        assert cases[setting.case]["models"], setting.case
        assert set(setting.versions) <= set(LOOKED_UP)
        for flag in cases[setting.case]["flags"]:
            name = flag.removeprefix("--").partition("=")[0]
            assert name in setting.spelled, f"{setting.case} was measured with {name}"


def test_what_the_measurements_say() -> None:
    """What the documentation tells people to do rests on these."""
    found = advised("0.11.2", "NVIDIA H200")
    assert "JAX_COMPILATION_CACHE_DIR" in found.worth[0].setting
    worth = " ".join(one.setting for one in found.worth)
    assert "xla_gpu_enable_triton_gemm=false" in worth
    assert "xla_gpu_redzone_padding_bytes" not in worth and "autotune_level" not in worth
    assert ["autotune_level=0" in one.setting for one in found.too_slow] == [True]
    not_worth = " ".join(one.setting for one in found.not_worth)
    assert "xla_gpu_redzone_padding_bytes=0" in not_worth and "xla_gpu_autotune_level=1" in not_worth


def _accepted(flags: list[str]) -> bool:
    """Whether the JAX installed here starts with these flags; it stops at one it does not know."""
    program = "import jax; jax.jit(lambda x: x + 1)(1).block_until_ready()"
    env = {**os.environ, "XLA_FLAGS": " ".join(flags), "JAX_PLATFORMS": "cpu"}
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True).returncode == 0


def _flags_for(version: str) -> list[str]:
    minor = ".".join(version.split(".")[:2])
    spelled = " ".join(setting.spelled for setting in SETTINGS if minor in setting.versions)
    return [flag.replace("DIR", "/nowhere").replace("FILE", "") for flag in re.findall(r"--xla_\w+=\w+", spelled)]


def test_every_flag_that_is_advised_exists_in_this_jax() -> None:
    flags = _flags_for(jax.__version__)
    assert len(flags) >= 12
    assert _accepted(flags), flags


def test_a_flag_that_is_not_advised_for_a_version_is_not_in_it() -> None:
    assert not _accepted(["--xla_gpu_no_such_flag=1"])
    if jax.__version__.startswith("0.10."):
        assert not _accepted(["--xla_gpu_blas_max_algorithms=8"])
