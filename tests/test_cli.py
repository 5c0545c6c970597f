"""The `redzone` command: exit codes, formats, options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import redzone
from redzone import twins
from redzone.cli import main
from redzone.report.codes import CODES

SOURCE = """
    import jax, jax.numpy as jnp, redzone

    X = redzone.Spec((16,), "float32")
    I = redzone.Spec((4,), "int32")

    def good(x, i): return x[jnp.clip(i, 0, 15)]
    def bad(x, i): return x[jnp.clip(i, 0, 16)]
    def depends(x, i): return x[i]
    def quiet(x, i): return x[jnp.clip(i, 0, 16)]  # redzone: ignore[RZ101]
    def needless(x, i): return x[jnp.clip(i, 0, 15)]  # redzone: ignore[RZ101]
    def trap(x, i): return x.at[jnp.where(i > 0, 3, -1)].set(0.0, mode="drop")
    def known_trap(x, i): return x.at[jnp.where(i > 0, 3, -1)].set(0.0, mode="drop")  # redzone: ignore[RZ204]
    def branches(x, i): return x if i[0] > 0 else -x
"""

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "m.py").write_text(textwrap.dedent(SOURCE))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["check", *arguments])

    return invoke


ARGS = ("--arg", "f32[16]", "--arg", "i32[4]")


@pytest.mark.parametrize(
    ("function", "options", "code"),
    [
        ("good", (), 0),
        ("bad", (), 1),
        ("bad", ("--exit-zero",), 0),
        ("bad", ("--ignore", "RZ1"), 0),
        ("bad", ("--select", "RZ2"), 0),
        ("bad", ("--select", "RZ101"), 1),
        ("depends", (), 0),
        ("depends", ("--strict",), 1),
        ("depends", ("--strict", "--ignore", "RZ102"), 0),
        ("quiet", (), 0),
        ("trap", (), 0),
        ("trap", ("--strict",), 1),
        ("trap", ("--strict", "--ignore", "RZ204"), 0),
        ("trap", ("--strict", "--select", "RZ1"), 0),
        ("known_trap", ("--strict",), 0),
        ("needless", (), 0),
        ("needless", ("--strict",), 1),
        ("needless", ("--strict", "--ignore", "RZ902"), 0),
        ("branches", (), 2),
        ("branches", ("--exit-zero",), 2),
        ("gone", (), 2),
    ],
)
def test_exit_codes(run: Run, function: str, options: tuple[str, ...], code: int) -> None:
    result = run(f"m.py:{function}", *ARGS, *options)
    assert result.exit_code == code, result.output


def test_text(run: Run) -> None:
    result = run("m.py:bad", *ARGS)
    assert "unsafe[RZ101]" in result.stdout
    assert "--> m.py:8 in bad" in result.stdout
    assert result.stderr == ""


def test_concise(run: Run) -> None:
    result = run("m.py:bad", *ARGS, "--format", "concise")
    finding, warning = result.stdout.splitlines()
    assert finding.startswith("m.py:8: RZ101 unsafe ")
    assert warning.startswith("m.py:8: RZ304 warning the index is limited to 16, the size of dimension 0")


def test_witnesses_of_conditions_are_shown_when_asked_for(run: Run) -> None:
    assert "witness" not in run("m.py:depends", *ARGS).stdout.split("time:")[0]
    assert (
        "= witness: i=jnp.full((4,), 16, 'int32') makes the index 16" in run("m.py:depends", *ARGS, "--witness").stdout
    )
    parsed = json.loads(run("m.py:depends", *ARGS, "--witness", "--format", "json").stdout)
    assert parsed["reports"][0]["accesses"][0]["witness"]["index"] == [16]


def test_json(run: Run) -> None:
    parsed = json.loads(run("m.py:needless", *ARGS, "--format", "json").stdout)
    assert parsed["schema"] == 1 and parsed["version"] == redzone.__version__
    assert parsed["reports"][0]["name"] == "m.py:needless"
    assert parsed["reports"][0]["accesses"][0]["verdict"] == "safe"
    assert [s["location"]["line"] for s in parsed["unused_suppressions"]] == [11]
    parsed = json.loads(run("m.py:branches", *ARGS, "--format", "json").stdout)
    assert parsed["exit_code"] == 2 and "TracerBoolConversionError" in parsed["failures"][0]["reason"]


def test_an_unused_comment_is_reported(run: Run) -> None:
    assert "unused[RZ902]: m.py:11: " in run("m.py:needless", *ARGS).stdout
    assert "m.py:11: RZ902 unused " in run("m.py:needless", *ARGS, "--format", "concise").stdout
    assert "RZ902" not in run("m.py:quiet", *ARGS).stdout


def test_a_comment_used_by_one_example_is_used(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(
        "import redzone\n"
        "S = redzone.Spec((), 'int32', min=0, max=9)\n"
        "@redzone.example(redzone.Spec((10,), 'float32'), S)\n"
        "@redzone.example(redzone.Spec((5,), 'float32'), S)\n"
        "def f(x, i): return x[i]  # redzone: ignore[RZ101]\n"
    )
    result = run("two.py", "--strict")
    assert result.exit_code == 0, result.output
    assert "RZ902" not in result.output


def test_the_failure_of_one_is_told_and_the_rest_goes_on(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(
        "import redzone\n"
        "S = redzone.Spec((3,), 'float32')\n"
        "@redzone.example(S)\n"
        "def f(x):\n"
        "    if x[0] > 0:\n"
        "        return x\n"
        "@redzone.example(S)\n"
        "def g(x): return x\n"
    )
    result = run("gone.py", "two.py")
    assert result.exit_code == 2
    assert "two.py:g: 0 accesses" in result.stdout
    assert "1 checked, 0 findings, 2 could not be checked" in result.stdout
    assert "gone.py: could not be checked\n  there is no file gone.py" in result.stderr
    assert "two.py:f: could not be checked\n  TracerBoolConversionError: " in result.stderr
    assert "two.py:5: if x[0] > 0:" in result.stderr
    assert "fix: a Python `if`" in result.stderr


def test_nothing_to_check(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = run("empty")
    assert result.exit_code == 2
    assert "empty: could not be checked\n  nothing to check here" in result.stderr


def test_a_function_named_twice_is_checked_once(run: Run) -> None:
    assert run("m.py:good", "m.py:good").stderr.count("could not be checked") == 1


def test_arguments_belong_to_one_function(run: Run) -> None:
    result = run("m.py:good", "m.py:bad", *ARGS)
    assert result.exit_code == 2
    assert "give a single target with it" in result.stderr


def test_settings_in_pyproject(run: Run, tmp_path: Path) -> None:
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.redzone]\nstrict = true\nformat = "concise"\n')
    result = run("m.py:depends", *ARGS)
    assert result.exit_code == 1 and "RZ102 requires" in result.stdout
    assert run("m.py:depends", *ARGS, "--no-strict").exit_code == 0
    settings.write_text("[tool.redzone]\nstrikt = true\n")
    result = run("m.py:depends", *ARGS)
    assert result.exit_code == 2
    assert "unknown key 'strikt'" in result.stderr


def test_a_code_that_is_none(run: Run) -> None:
    result = run("m.py:good", *ARGS, "--select", "E501")
    assert result.exit_code == 2
    assert "--select: no rule is called 'E501'" in result.stderr


def test_rules() -> None:
    result = CliRunner().invoke(main, ["rules"])
    assert result.exit_code == 0
    for code in CODES.values():
        assert f"{code.code} {code.name}\n" in result.output


def test_version() -> None:
    compiled = ", compiled" if twins.in_use() else ""
    assert CliRunner().invoke(main, ["--version"]).output == f"redzone {redzone.__version__}{compiled}\n"


def _process(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "redzone", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_real_process_in_a_pipe(run: Run, tmp_path: Path) -> None:
    result = _process("check", "m.py:bad", *ARGS, folder=tmp_path, FORCE_COLOR="1")
    assert result.returncode == 1, result.stderr
    assert "unsafe[RZ101]" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr
    assert result.stderr == ""


def test_a_terminal_gets_colour_and_progress_unless_told_otherwise(run: Run, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    for no_colour in ("", "1"):
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "redzone", "check", "m.py:bad", *ARGS],
            cwd=tmp_path,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": no_colour, "COLUMNS": "100"},
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        shown = _everything(master)
        assert process.wait(timeout=120) == 1
        assert "checking m.py:bad" in shown
        assert ("\x1b[1;31m" in shown) is (not no_colour)


def _everything(master: int) -> str:
    chunks = []
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(master)
    return b"".join(chunks).decode()


def test_files_besides(run: Run, tmp_path: Path) -> None:
    files = ("--html", "a.html", "--json", "a.json", "--sarif", "a.sarif", "--junit", "a.xml")
    result = run("m.py:bad", *ARGS, *files)
    assert result.exit_code == 1 and "unsafe[RZ101]" in result.stdout
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / "a.json").read_text())["exit_code"] == 1
    sarif = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]
    assert sarif["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "m.py"
    assert '<failure type="RZ101"' in (tmp_path / "a.xml").read_text()


@pytest.mark.parametrize(
    ("format", "start"),
    [
        ("text", "m.py:bad: 1 access"),
        ("concise", "m.py:8: RZ101"),
        ("json", "{"),
        ("html", "<!doctype html>"),
        ("sarif", "{"),
        ("github", "::error file=m.py,line=8,"),
        ("junit", "<?xml"),
    ],
)
def test_output_instead(run: Run, tmp_path: Path, format: str, start: str) -> None:
    printed = run("m.py:bad", *ARGS, "--format", format)
    assert printed.exit_code == 1 and printed.stdout.startswith(start)
    written = run("m.py:bad", *ARGS, "--format", format, "--output", "out")
    assert written.exit_code == 1 and written.stdout == ""
    assert (tmp_path / "out").read_text().startswith(start)


def test_what_could_not_be_checked_is_in_every_format(run: Run, tmp_path: Path) -> None:
    for format in ("json", "sarif", "github", "junit", "html"):
        result = run("m.py:branches", *ARGS, "--format", format)
        assert result.exit_code == 2 and result.stderr == ""
        assert "TracerBoolConversionError" in result.stdout, format
    result = run("m.py:branches", *ARGS, "--format", "sarif", "-o", "out")
    assert "m.py:branches: could not be checked" in result.stderr


def test_a_file_that_cannot_be_written(run: Run) -> None:
    result = run("m.py:good", *ARGS, "--html", "no/such/a.html")
    assert result.exit_code == 2
    assert "no/such/a.html could not be written: No such file or directory" in result.stderr


def test_a_check_shown_again_from_json(run: Run) -> None:
    run("m.py:bad", *ARGS, "--json", "a.json")
    again = CliRunner().invoke(main, ["report", "a.json", "--format", "concise"])
    assert again.exit_code == 0
    assert again.stdout == run("m.py:bad", *ARGS, "--format", "concise").stdout
