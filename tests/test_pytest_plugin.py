"""`pytest --redzone`: findings fail the test that caused them, and nothing else changes."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest

import redzone

# What a run inside this process is the first to import, is forgotten after it; JAX does not survive that.
redzone.check(lambda x, i: x[jnp.sum(jnp.cos(x)).astype("int32") + jnp.cumsum(i)], jnp.arange(9.0), jnp.arange(3))
assert redzone.checking is not None

pytest_plugins = ["pytester"]

SOURCE = """
    import jax, jax.numpy as jnp, pytest

    X = jnp.arange(9.0)

    def good(x): return x[jnp.arange(3)]
    def bad(x): return x[jnp.arange(3) + 7]
    def lost(x): return x[jnp.round(6 * (jnp.sin(x[0]) ** 2 + jnp.cos(x[0]) ** 2)).astype("int32")]
    def needs(x, i): return x[i]

    def test_good():
        jax.jit(good)(X)
        jax.jit(needs)(X, 3)
        X[4], X[jnp.array([1, 2])]
"""
BAD = """
    def test_bad():
        jax.jit(bad)(X)
"""
LOST = """
    def test_lost():
        jax.jit(lost)(X)
"""

INSTALLED = any(e.name == "redzone" for e in importlib.metadata.entry_points(group="pytest11"))
LOADED = () if INSTALLED else ("-p", "redzone.pytest_plugin")

# Hypothesis' plugin takes seconds to be imported again for each run.
ALONE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("REDZONE", raising=False)

    def invoke(source: str, *arguments: str, **settings: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=SOURCE + source)
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        pytester.makeini(f"[pytest]\n{lines}")
        return pytester.runpytest_inprocess(*LOADED, *ALONE, "-p", "no:xdist", *arguments)

    return invoke


def _says(result: pytest.RunResult, *patterns: str) -> None:
    result.stdout.re_match_lines([f".*{pattern}" for pattern in patterns])


class TestUnasked:
    def test_nothing_happens(self, run: Run) -> None:
        result = run(BAD)
        result.assert_outcomes(passed=2)
        assert "redzone" not in "\n".join(line for line in result.outlines if not line.startswith("plugins"))

    def test_it_costs_next_to_nothing(self) -> None:
        program = (
            "import sys, time, pytest\n"
            "before = set(sys.modules)\n"
            "import redzone.pytest_plugin\n"
            "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
            "print(sorted(new & {'jax', 'numpy', 'rich', 'click'}), len(set(sys.modules) - before))\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        heavy, count = done.stdout.rsplit(maxsplit=1)
        assert heavy == "[]" and int(count) < 10

    def test_the_marker_is_known(self, run: Run) -> None:
        marked = "\n    @pytest.mark.redzone('off')\n    def test_it(): pass\n"
        run(marked, "--strict-markers").assert_outcomes(passed=2)

    @pytest.mark.parametrize("word", ["raise", "report"])
    def test_the_environment_alone_does_not_ask(self, run: Run, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
        monkeypatch.setenv("REDZONE", word)
        run(BAD).assert_outcomes(passed=2)


class TestAsked:
    def test_an_unsafe_program_raises_in_its_test(self, run: Run) -> None:
        result = run(BAD, "--redzone")
        result.assert_outcomes(passed=1, failed=1)
        _says(result, "OutOfBounds: bad leaves an array", r"unsafe\[RZ101\]: reads index 9", "test_it.py:6 in bad")
        _says(
            result,
            r"test_it.py:6: RZ101 unsafe reads index 9 of dimension 0, which has 9 elements  \[test_it.py::test_bad\]",
            r"1 finding in 1 test; \d+ programs compiled, \d accesses in \d of them; checking took",
        )

    def test_an_unknown_access_fails_its_test_afterwards(self, run: Run) -> None:
        result = run(LOST, "--redzone")
        result.assert_outcomes(passed=1, failed=1)
        _says(
            result,
            "redzone: this test compiled array accesses that can leave their arrays, or of which that cannot be",
            r"unknown\[RZ103\]",
            r" *--> test_it.py:7 in lost",
            r" *settle: ",
        )

    def test_a_path_may_follow(self, run: Run) -> None:
        run(BAD, "--redzone", "test_it.py").assert_outcomes(passed=1, failed=1)
        run(BAD, "--redzone=report", "test_it.py::test_bad").assert_outcomes(passed=1)

    def test_report_changes_no_result(self, run: Run) -> None:
        result = run(BAD + LOST, "--redzone=report")
        result.assert_outcomes(passed=3)
        assert result.ret == 0
        _says(result, r"unsafe\[RZ101\]", r"unknown\[RZ103\]", "2 findings in 2 tests")

    def test_off(self, run: Run) -> None:
        run(BAD, "--redzone=off", redzone="raise").assert_outcomes(passed=2)

    def test_the_ini_option(self, run: Run) -> None:
        run(BAD, redzone="raise").assert_outcomes(passed=1, failed=1)
        run(BAD, "--redzone=report", redzone="raise").assert_outcomes(passed=2)

    def test_the_environment_wins(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REDZONE", "report")
        run(BAD, "--redzone").assert_outcomes(passed=2)
        monkeypatch.setenv("REDZONE", "off")
        assert "checking took" not in run(BAD, "--redzone").stdout.str()

    @pytest.mark.parametrize(
        ("arguments", "settings", "message"),
        [
            ((), {"redzone": "always"}, "ini option redzone: 'always' is no mode of redzone; use report, raise or off"),
            (("--redzone", "--redzone-baseline", "no.json"), {}, "redzone: there is no baseline no.json; `redzone ba"),
            (("--redzone=always",), {}, "--redzone"),
        ],
    )
    def test_wrong_words(self, run: Run, arguments: tuple[str, ...], settings: dict[str, str], message: str) -> None:
        result = run(BAD, *arguments, **settings)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert message in result.stderr.str()

    def test_a_wrong_word_in_the_environment(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REDZONE", "yes")
        result = run(BAD, "--redzone")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "environment variable REDZONE: 'yes' is no mode" in result.stderr.str()


class TestMarkers:
    def test_off_for_a_test_a_class_a_module(self, run: Run) -> None:
        source = """
    @pytest.mark.redzone("off")
    def test_bad():
        jax.jit(bad)(X)

    @pytest.mark.redzone("off")
    class TestThings:
        def test_lost(self):
            jax.jit(lost)(X)

        @pytest.mark.redzone("raise")
        def test_bad(self):
            jax.jit(bad)(X[:8])
"""
        result = run(source, "--redzone")
        result.assert_outcomes(passed=3, failed=1)
        _says(result, "1 finding in 1 test")

    def test_other_modes(self, run: Run) -> None:
        source = """
    @pytest.mark.redzone("report")
    def test_told():
        jax.jit(bad)(X)

    @pytest.mark.redzone("raise")
    def test_raised():
        jax.jit(bad)(X[:8])
"""
        run(source, "--redzone").assert_outcomes(passed=2, failed=1)
        run(source, "--redzone=report").assert_outcomes(passed=2, failed=1)

    @pytest.mark.parametrize("given", ["'never'", "", "'off', 'raise'"])
    def test_wrong_words(self, run: Run, given: str) -> None:
        result = run(f"\n    @pytest.mark.redzone({given})\n    def test_it(): pass\n", "--redzone")
        result.assert_outcomes(passed=1, errors=1)
        _says(result, r"@pytest.mark.redzone.*report, raise or off")


class TestWhoCausedIt:
    def test_the_first_test_that_compiles(self, run: Run) -> None:
        source = """
    f = jax.jit(lost)
    def test_first(): f(X)
    def test_second(): f(X)
    def test_same_program(): jax.jit(lost)(X)
"""
        result = run(source, "--redzone")
        result.assert_outcomes(passed=3, failed=1)
        _says(result, r"test_it.py:7: RZ103 unknown .*\[test_it.py::test_first\]")

    def test_with_cleared_caches_an_equal_program_is_still_the_first_tests(self, run: Run) -> None:
        source = """
    f = jax.jit(lost)
    def test_first(): f(X)
    def test_second(): f(X)
"""
        result = run(source, "--redzone", "--redzone-clear-caches")
        result.assert_outcomes(passed=2, failed=1)

    def test_with_cleared_caches_an_unsafe_program_raises_in_each(self, run: Run) -> None:
        source = """
    f = jax.jit(bad)
    @pytest.mark.redzone("off")
    def test_first(): f(X)
    def test_second(): f(X)
"""
        run(source, "--redzone").assert_outcomes(passed=3)
        run(source, "--redzone", "--redzone-clear-caches").assert_outcomes(passed=2, failed=1)
        run(source, "--redzone", redzone_clear_caches="true").assert_outcomes(passed=2, failed=1)

    def test_a_fixture(self, run: Run) -> None:
        source = """
    @pytest.fixture
    def made(): return jax.jit(lost)(X)
    @pytest.fixture
    def unmade():
        yield
        jax.jit(lost)(X[:7])
    def test_setup(made): pass
    def test_teardown(unmade): pass
"""
        run(source, "--redzone").assert_outcomes(passed=2, failed=1, errors=1)

    def test_a_module_being_imported(self, run: Run) -> None:
        source = """
    Y = jax.jit(lost)(X)
    def test_it(): pass
"""
        result = run(source, "--redzone")
        result.assert_outcomes(passed=2)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        _says(result, r"RZ103 unknown .*\[while tests were collected\]")
        assert run(source, "--redzone=report").ret == 0

    def test_a_thread_of_the_test(self, run: Run) -> None:
        source = """
    import threading
    def test_thread():
        thread = threading.Thread(target=lambda: jax.jit(lost)(X))
        thread.start()
        thread.join()
"""
        run(source, "--redzone").assert_outcomes(passed=1, failed=1)


class TestOtherOutcomes:
    def test_a_test_that_fails_by_itself_gets_a_section(self, run: Run) -> None:
        source = """
    def test_both():
        jax.jit(lost)(X)
        assert 1 == 2
"""
        result = run(source, "--redzone")
        result.assert_outcomes(passed=1, failed=1)
        _says(result, "assert 1 == 2", "-+ Captured redzone call -+", r"unknown\[RZ103\]")

    def test_skipped_and_expected_failures_stay(self, run: Run) -> None:
        source = """
    def test_skipped():
        jax.jit(lost)(X)
        pytest.skip("later")

    @pytest.mark.xfail
    def test_expected():
        jax.jit(lost)(X[:7])
        assert 1 == 2
"""
        run(source, "--redzone").assert_outcomes(passed=1, skipped=1, xfailed=1)

    def test_an_error_that_the_test_swallows_still_counts(self, run: Run) -> None:
        source = """
    def test_swallows():
        try:
            jax.jit(bad)(X)
        except IndexError:
            pass
"""
        result = run(source, "--redzone")
        result.assert_outcomes(passed=1, failed=1)
        _says(result, "redzone: this test compiled", r"unsafe\[RZ101\]")

    def test_unittest(self, run: Run) -> None:
        source = """
    import unittest
    class TestThings(unittest.TestCase):
        def test_good(self): jax.jit(good)(X)
        def test_lost(self): jax.jit(lost)(X)
        def test_both(self):
            jax.jit(lost)(X[:7])
            self.assertEqual(1, 2)
"""
        result = run(source, "--redzone")
        result.assert_outcomes(passed=2, failed=2)
        _says(result, "AssertionError: 1 != 2", "-+ Captured redzone call -+", r"unknown\[RZ103\]")

    def test_comments_silence(self, run: Run) -> None:
        source = """
    def quiet(x): return x[jnp.arange(3) + 7]  # redzone: ignore[RZ101]
    def test_quiet(): jax.jit(quiet)(X)
"""
        run(source, "--redzone").assert_outcomes(passed=2)

    def test_settings_of_the_project(self, run: Run, pytester: pytest.Pytester) -> None:
        pytester.makepyprojecttoml('[tool.redzone]\nignore = ["RZ103"]\n')
        run(LOST, "--redzone").assert_outcomes(passed=2)
        pytester.makepyprojecttoml('[tool.redzone]\nignored = ["RZ103"]\n')
        result = run(LOST, "--redzone")
        assert result.ret == pytest.ExitCode.USAGE_ERROR and "unknown key 'ignored'" in result.stderr.str()

    def test_a_failure_of_redzone_changes_no_result(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        from redzone import api

        monkeypatch.setattr(api, "check_traced", lambda traced: 1 / 0)
        result = run(BAD, "--redzone")
        result.assert_outcomes(passed=2)
        _says(result, r"redzone failed on bad: ZeroDivisionError: division by zero \(it was compiled unchecked\)")

    def test_findings_that_cannot_be_shown_still_fail(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        from redzone.runtime import telling

        monkeypatch.setattr(telling, "each_finding", lambda reports: 1 / 0)
        result = run(LOST, "--redzone", "--redzone-report", "r.json")
        result.assert_outcomes(passed=1, failed=1)
        _says(result, "findings in lost cannot be shown: ZeroDivisionError")

    def test_a_session_inside_a_test(self, run: Run) -> None:
        source = """
    import redzone
    def test_expects():
        with redzone.checking("report", report=lambda s: None) as session:
            jax.jit(bad)(X)
        assert len(session.findings) == 1

    @pytest.mark.redzone("off")
    def test_expects_alone():
        with redzone.checking("report", report=lambda s: None) as session:
            jax.jit(bad)(X[:8])
        assert len(session.findings) == 1
"""
        run(source, "--redzone").assert_outcomes(passed=2, failed=1)


class TestBaseline:
    def test_only_new_findings_fail(self, run: Run, pytester: pytest.Pytester) -> None:
        from click.testing import CliRunner

        from redzone.cli import main

        first = run(BAD, "--redzone=report", "--redzone-report", "report.json")
        first.assert_outcomes(passed=2)
        data = json.loads((pytester.path / "report.json").read_text())
        assert sorted(r["name"] for r in data["reports"]) == [f"test_it.py:{name}" for name in ("bad", "good", "needs")]
        shown = CliRunner().invoke(main, ["report", "report.json", "--format", "concise"])
        assert "test_it.py:6: RZ101 unsafe" in shown.output
        made = CliRunner().invoke(main, ["baseline", "--from", "report.json"])
        assert made.exit_code == 0, made.output
        known = ("--redzone", "--redzone-baseline", ".redzone-baseline.json")
        result = run(BAD, *known)
        result.assert_outcomes(passed=2)
        _says(result, "1 known finding not counted, by .redzone-baseline.json", "0 new findings")
        run(BAD + LOST, *known).assert_outcomes(passed=2, failed=1)
        run(BAD, "--redzone", redzone_baseline=".redzone-baseline.json").assert_outcomes(passed=2)
        pytester.makepyprojecttoml('[tool.redzone]\nbaseline = ".redzone-baseline.json"\n')
        run(BAD, "--redzone").assert_outcomes(passed=2)

    def test_stale_entries_are_told(self, run: Run, pytester: pytest.Pytester) -> None:
        entry = {"file": "test_it.py", "function": "good", "text": "x", "rule": "RZ101", "primitive": "gather"}
        (pytester.path / "b.json").write_text(json.dumps({"redzone-baseline": 1, "findings": [entry]}))
        result = run("", "--redzone", "--redzone-baseline", "b.json")
        result.assert_outcomes(passed=1)
        _says(result, "stale in b.json: RZ101 test_it.py in good: x")

    def test_a_report_that_cannot_be_written(self, run: Run) -> None:
        result = run("", "--redzone", "--redzone-report", "no/such/folder/x.json")
        result.assert_outcomes(passed=1)
        _says(result, "redzone: no/such/folder/x.json could not be written: No such file or directory")


def test_xdist(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xdist")
    monkeypatch.delenv("REDZONE", raising=False)
    pytester.makepyfile(test_it=SOURCE + BAD + LOST)
    arguments = (*LOADED, *ALONE, "-n", "2", "--redzone", "--redzone-report", "r.json")
    result = pytester.runpytest_subprocess(*arguments)
    result.assert_outcomes(passed=1, failed=2)
    _says(result, r"unsafe\[RZ101\]: reads index 9")
    _says(result, r"test_it.py:6: RZ101 unsafe .*\[test_it.py::test_bad\]", "2 findings in 2 tests")
    data: dict[str, Any] = json.loads((pytester.path / "r.json").read_text())
    assert {r["name"].partition(":")[2] for r in data["reports"]} == {"good", "bad", "lost", "needs"}
