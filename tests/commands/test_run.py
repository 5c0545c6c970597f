"""`redzone run`: the program runs as under Python, and what it compiles is checked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from redzone.cli import main

PROGRAM = """
    import sys
    import jax, jax.numpy as jnp

    def good(x): return x[jnp.arange(3)]
    def bad(x): return x[jnp.arange(3) + 7]
    def depends(x, i): return x[i]

    x = jnp.arange(9.0)
    for word in sys.argv[1:]:
        if word == "good": jax.jit(good)(x)
        elif word == "bad": jax.jit(bad)(x)
        elif word == "depends": jax.jit(depends)(x, 3)
        elif word == "crash": raise RuntimeError("boom")
        elif word == "interrupt": raise KeyboardInterrupt
        elif word == "thread":
            import threading, time
            threading.Thread(target=lambda: (time.sleep(0.2), jax.jit(bad)(x))).start()
        elif word == "say": print(__name__, __file__, sys.argv, sys.path[0], sys.modules["__main__"].good is good)
        elif word.isdigit(): sys.exit(int(word))
        elif word == "exit": sys.exit()
        else: sys.exit(f"no such word: {word}")
"""

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("REDZONE", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "train.py").write_text(textwrap.dedent(PROGRAM))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["run", *arguments])

    return invoke


@pytest.mark.parametrize(
    ("words", "options", "code"),
    [
        (("good",), (), 0),
        (("bad",), (), 1),
        (("bad", "exit"), (), 1),
        (("bad", "0"), (), 1),
        (("bad", "3"), (), 3),
        (("good", "1"), (), 1),
        (("good", "what"), (), 1),
        (("bad",), ("--exit-zero",), 0),
        (("bad", "5"), ("--exit-zero",), 5),
        (("bad",), ("--ignore", "RZ101"), 0),
        (("bad",), ("--select", "RZ2"), 0),
        (("depends",), (), 0),
        (("depends",), ("--strict",), 1),
        (("bad",), ("--mode", "off"), 0),
        (("bad",), ("--mode", "raise"), 1),
        (("bad",), ("--mode", "raise", "--ignore", "RZ1"), 0),
        (("bad", "crash"), (), 1),
        (("good", "crash"), ("--exit-zero",), 1),
        (("bad", "interrupt"), (), 130),
        (("thread",), (), 1),
    ],
)
def test_exit_codes(run: Run, words: tuple[str, ...], options: tuple[str, ...], code: int) -> None:
    result = run(*options, "train.py", *words)
    assert result.exit_code == code, result.output


@pytest.mark.parametrize("end", ["exit", "3", "crash", "interrupt", "what"])
def test_the_report_comes_however_the_program_ends(run: Run, end: str) -> None:
    output = run("--format", "concise", "train.py", "bad", end).output
    assert "train.py:6: RZ101 unsafe reads index 9 of dimension 0, which has 9 elements" in output
    assert "redzone: " in output and "1 unsafe; checking took" in output


def test_a_traceback_is_the_programs_own(run: Run) -> None:
    output = run("train.py", "crash").output
    assert 'train.py", line 14, in <module>' in output and "RuntimeError: boom" in output
    assert "script.py" not in output and "redzone/commands" not in output


def test_a_syntax_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("x = = 1\n")
    result = run("wrong.py")
    assert result.exit_code == 1
    assert "SyntaxError: invalid syntax" in result.output and "script.py" not in result.output


def test_in_raise_mode_the_program_gets_the_error(run: Run) -> None:
    output = run("--mode", "raise", "train.py", "bad").output
    assert "redzone.runtime.errors.OutOfBounds: bad leaves an array" in output
    assert "watching.py" not in output


def test_main_arguments_and_path(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    assert f"__main__ {file} ['train.py', 'say'] {tmp_path} True" in run("train.py", "say").output
    assert f"__main__ {file} [{str(file)!r}, 'say'] {tmp_path} True" in run("-m", "train", "say").output
    assert f"__main__ {file} [{str(file)!r}, 'say'] {tmp_path} True" in run("-mtrain", "say").output


def test_options_after_the_script_are_its_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint(sys.argv)\n")
    words = ("--strict", "-m", "x", "--", "--format", "json", "-h")
    assert str(["train.py", *words]) in run("--strict", "train.py", *words).output
    assert str([*words])[1:] in run("-m", "train", *words).output
    assert "['train.py', 'x']" in run("--format", "text", "--", "train.py", "x").output


def test_what_was_there_before_is_there_again(run: Run) -> None:
    before = sys.modules["__main__"], sys.argv, [*sys.path]
    run("train.py", "good")
    assert (sys.modules["__main__"], sys.argv, sys.path) == before


def test_packages_folders_and_archives(run: Run, tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("value = 5\n")
    (package / "__main__.py").write_text("from pkg.part import value\nprint(__package__, __spec__.name, value)\n")
    assert "pkg pkg.__main__ 5" in run("-m", "pkg").output
    assert run("-m", "pkg.part").exit_code == 0
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("import sys, near\nprint('near', near.value, sys.argv)\n")
    (tmp_path / "app" / "near.py").write_text("value = 6\n")
    assert "near 6 ['app', 'x']" in run("app", "x").output
    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", "print('in an archive')\n")
    assert "in an archive" in run("app.pyz").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.py",), r"redzone: cannot open 'nowhere.py': there is no such file"),
        (("-m", "nowhere"), r"redzone: no module is named nowhere"),
        (("-m", "nowhere.at.all"), r"redzone: no module is named nowhere.at.all"),
        (("-m", "email"), r"redzone: email is a package without a __main__ and cannot be run"),
        (("-m", "sys"), r"redzone: .*sys"),
        (("folder",), r"redzone: cannot find a __main__.py in 'folder'"),
        ((), r"name a script, or a module with -m"),
        (("--mode", "on", "train.py"), r"redzone: mode: 'on' is no mode of redzone; use report, raise or off"),
        (("--select", "RZ7", "train.py"), r"--select: no rule is called 'RZ7'"),
        (("--baseline", "none.json", "train.py"), r"there is no baseline none.json; `redzone baseline TARGETS"),
    ],
)
def test_what_cannot_be_run(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "folder").mkdir()
    result = run(*arguments)
    assert result.exit_code == 2
    import re

    assert re.search(message, result.output), result.output


def test_the_environment_wins(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDZONE", "off")
    assert run("--mode", "raise", "train.py", "bad").exit_code == 0
    monkeypatch.setenv("REDZONE", "raise")
    assert "OutOfBounds" in run("train.py", "bad").output
    monkeypatch.setenv("REDZONE", "always")
    result = run("train.py", "bad")
    assert result.exit_code == 2 and "environment variable REDZONE: 'always' is no mode" in result.output


def test_json_to_a_file(run: Run, tmp_path: Path) -> None:
    result = run("--format", "json", "--output", "report.json", "train.py", "bad", "good", "depends")
    assert result.exit_code == 1
    data = json.loads((tmp_path / "report.json").read_text())
    assert [r["name"] for r in data["reports"]] == ["train.py:bad", "train.py:good", "train.py:depends"]
    assert data["exit_code"] == 1
    assert "schema" not in result.output
    assert run("--output", "no/such/folder/x", "train.py").exit_code == 2


def test_files_besides_have_everything(run: Run, tmp_path: Path) -> None:
    files = {name: f"r.{name}" for name in ("html", "json", "sarif", "junit")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    result = run(*options, "--format", "concise", "train.py", "bad", "good")
    assert result.exit_code == 1 and result.output.count("RZ101") == 1
    assert [r["ok"] for r in json.loads((tmp_path / "r.json").read_text())["reports"]] == [False, True]
    assert all((tmp_path / file).stat().st_size for file in files.values())


def test_text_tells_the_same_only_once(run: Run) -> None:
    output = run("train.py", "bad", "bad", "good").output
    assert output.count("unsafe[RZ101]") == 1
    assert "train.py:good" not in output


def test_a_baseline(run: Run) -> None:
    run("--format", "json", "--output", "report.json", "train.py", "bad")
    made = CliRunner().invoke(main, ["baseline", "--from", "report.json"])
    assert made.exit_code == 0 and ".redzone-baseline.json: 1 finding" in made.output
    for mode in ("report", "raise"):
        result = run("--mode", mode, "--baseline", ".redzone-baseline.json", "train.py", "bad")
        assert result.exit_code == 0, result.output
        assert "1 known finding not counted, by .redzone-baseline.json" in result.output


def test_a_failure_of_redzone_does_not_stop_the_program(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from redzone import api

    monkeypatch.setattr(api, "check_traced", lambda traced: 1 / 0)
    result = run("train.py", "bad", "say")
    assert "__main__" in result.output
    assert "bad: could not be checked" in result.output and "ZeroDivisionError" in result.output
    assert result.exit_code == 2


def _environment(**changes: str) -> dict[str, str]:
    return {**{k: v for k, v in os.environ.items() if k != "REDZONE"}, **changes}


def test_jax_is_not_imported_before_the_program_does(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "import os, sys\n"
        "print('jax' in sys.modules)\n"
        "os.environ['JAX_ENABLE_X64'] = '1'\n"
        "import jax\n"
        "jax.config.update('jax_num_cpu_devices', 3)\n"
        "print(jax.jit(lambda x: x[jax.numpy.arange(2)])(jax.numpy.arange(3)).dtype, len(jax.devices()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "redzone", "run", "p.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=_environment(),
    )
    assert done.stdout.startswith("False\nint64 3\n"), done.stderr
    assert done.returncode == 0
    assert "1 access in 1 of them, no findings" in done.stderr


def test_a_program_without_jax(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("import atexit\natexit.register(lambda: print('last'))\nprint('hello')\n")
    done = subprocess.run(
        [sys.executable, "-m", "redzone", "run", "p.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=_environment(),
    )
    assert done.stdout == "hello\nlast\n" and done.returncode == 0
    assert "nothing was checked: the program did not use JAX" in done.stderr


def test_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "import jax, signal, time\n"
        # Started in the background, the tests themselves may have been told to ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "jax.jit(lambda x: x[jax.numpy.arange(4)])(jax.numpy.arange(3))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "redzone", "run", "--format", "concise", "p.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=_environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "KeyboardInterrupt" in err and "RZ101" in out
