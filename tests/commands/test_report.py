"""`redzone report`: a check's JSON, shown again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from redzone.cli import main
from redzone.report.formats import FORMATS, rendered
from redzone.report.json import run_as_json
from tests.report.samples import full_run

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.json").write_text(json.dumps(run_as_json(full_run(witnesses=True))))
    return lambda *arguments: CliRunner().invoke(main, ["report", *arguments])


def test_text_unless_said(run: Run) -> None:
    result = run("r.json")
    assert result.exit_code == 0
    assert "unsafe[RZ101]" in result.stdout and "2 checked, 2 findings, 1 could not be checked" in result.stdout


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(run: Run, format: str) -> None:
    result = run("r.json", "--format", format)
    assert result.exit_code == 0, result.output
    assert result.stdout == rendered(format, full_run(witnesses=True))


def test_short_names(run: Run) -> None:
    assert run("r.json", "--github").stdout.startswith("::error ")
    assert json.loads(run("r.json", "--sarif").stdout)["version"] == "2.1.0"
    assert ET.fromstring(run("r.json", "--junit").stdout).tag == "testsuites"


def test_files(run: Run, tmp_path: Path) -> None:
    result = run("r.json", "--sarif", "a.sarif", "--junit", "a.xml")
    assert result.exit_code == 0 and result.output == ""
    assert json.loads((tmp_path / "a.sarif").read_text())["runs"]
    assert ET.parse(tmp_path / "a.xml").getroot().tag == "testsuites"
    assert run("r.json", "--github", "-o", "a.txt").output == ""
    assert (tmp_path / "a.txt").read_text().startswith("::error ")


def test_the_json_after_an_option_that_takes_a_file(run: Run) -> None:
    assert json.loads(run("--sarif", "r.json").stdout)["version"] == "2.1.0"


def test_mistakes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    for arguments, code, message in (
        ((), 2, "name the JSON file to show"),
        (("gone.json",), 2, "gone.json: cannot be read"),
        (("bad.json",), 2, "bad.json: this JSON is no report of redzone"),
        (("r.json", "--sarif", "no/such/folder.sarif"), 2, "folder.sarif could not be written: No such file"),
        (("r.json", "--sarif", "--junit", "-o", "x"), 2, "--output is for one format"),
    ):
        result = run(*arguments)
        assert result.exit_code == code and message in result.stderr, result.output


def test_it_needs_no_jax(run: Run, tmp_path: Path) -> None:
    program = (
        "import sys; from redzone.cli import main\n"
        "sys.argv = ['redzone', 'report', 'r.json', '--sarif', 'x.sarif']\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code, 'jax' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=os.environ, capture_output=True, text=True)
    assert done.stdout == "0 False\n", done.stderr


def test_on_a_terminal(run: Run, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    for options, code in (((), 0), (("--html",), 0)):
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "redzone", "report", "r.json", *options],
            cwd=tmp_path,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", "COLUMNS": "100"},
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        shown = everything(master)
        assert process.wait(timeout=120) == code
        if options:
            assert "wrote r.html" in shown and (tmp_path / "r.html").read_text().startswith("<!doctype html>")
        else:
            assert "\x1b[1;31m" in shown and "2 checked, 2 findings, 1 could not be checked" in shown


def everything(master: int) -> str:
    """What a terminal was sent, up to its end."""
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
