"""`redzone baseline`, and a check that counts only what is not in it."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from redzone.cli import main

SOURCE = """
    import jax, jax.numpy as jnp, redzone

    X = redzone.Spec((16,), "float32")
    I = redzone.Spec((4,), "int32")

    @redzone.example(X, I)
    def old(x, i):
        return x[jnp.clip(i, 0, 16)]

    @redzone.example(X, I)
    def depends(x, i):
        return x[i]
"""

Command = Callable[..., Result]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "m.py").write_text(textwrap.dedent(SOURCE))

    def invoke(*arguments: str) -> Result:
        for name in [name for name in sys.modules if name.startswith("m_")]:
            del sys.modules[name]
        import linecache

        linecache.checkcache()
        return CliRunner().invoke(main, arguments)

    return invoke


def _changed(folder: Path, **replacements: str) -> None:
    text = (folder / "m.py").read_text()
    for old, new in replacements.items():
        text = text.replace(f"def {old}", new)
    (folder / "m.py").write_text(text)


NEW = "def new(x, i):\n    return x[jnp.clip(i, -17, 3)]\n\n\n@redzone.example(X, I)\ndef old"


def test_known_findings_do_not_count(command: Command, tmp_path: Path) -> None:
    assert command("check", "m.py").exit_code == 1
    made = command("baseline", "m.py")
    assert made.exit_code == 0 and made.output == ".redzone-baseline.json: 1 finding\n"
    checked = command("check", "m.py", "--baseline", ".redzone-baseline.json", "--format", "concise")
    assert checked.exit_code == 0
    assert "RZ101" not in checked.output
    assert "redzone: 1 known finding not counted, by .redzone-baseline.json" in checked.output


def test_the_file_is_for_people_too(command: Command, tmp_path: Path) -> None:
    command("baseline", "m.py", "-o", "known.json")
    data = json.loads((tmp_path / "known.json").read_text())
    assert data == {
        "redzone-baseline": 1,
        "findings": [
            {
                "file": "m.py",
                "function": "old",
                "text": "return x[jnp.clip(i, 0, 16)]",
                "rule": "RZ101",
                "primitive": "gather",
                "ordinal": 0,
            }
        ],
    }


def test_moved_lines_are_still_known_and_new_ones_are_not(command: Command, tmp_path: Path) -> None:
    command("baseline", "m.py")
    options = ("--baseline", ".redzone-baseline.json", "--format", "concise")
    (tmp_path / "m.py").write_text("# Lines\n# above\n" + (tmp_path / "m.py").read_text())
    assert command("check", "m.py", *options).exit_code == 0
    _changed(tmp_path, old=NEW)
    checked = command("check", "m.py", *options)
    assert checked.exit_code == 1
    assert re.findall(r"unsafe (.*)", checked.output) == ["reads index -1 of dimension 0, which has 16 elements"]


def test_a_second_line_that_reads_the_same_is_new(command: Command, tmp_path: Path) -> None:
    command("baseline", "m.py")
    text = (tmp_path / "m.py").read_text()
    line = "    return x[jnp.clip(i, 0, 16)]\n"
    (tmp_path / "m.py").write_text(text.replace(line, f"    if x is None:\n    {line}{line}"))
    assert command("check", "m.py", "--baseline", ".redzone-baseline.json").exit_code == 1


def test_stale_entries_are_told_and_dropped(command: Command, tmp_path: Path) -> None:
    command("baseline", "m.py")
    (tmp_path / "m.py").write_text((tmp_path / "m.py").read_text().replace("0, 16", "0, 15"))
    checked = command("check", "m.py", "--baseline", ".redzone-baseline.json", "--format", "concise")
    assert checked.exit_code == 0
    assert "stale in .redzone-baseline.json: RZ101 m.py in old: return x[jnp.clip(i, 0, 16)]" in checked.output
    assert "`redzone baseline --update` drops stale entries" in checked.output
    refused = command("baseline", "m.py")
    assert refused.exit_code == 2 and ".redzone-baseline.json is there already; --update replaces it" in refused.output
    updated = command("baseline", "m.py", "--update")
    assert updated.output == ".redzone-baseline.json: 0 findings (0 new, 1 gone)\n"
    assert "stale" not in command("check", "m.py", "--baseline", ".redzone-baseline.json").output


def test_what_was_not_checked_is_not_called_stale(command: Command) -> None:
    command("baseline", "m.py")
    checked = command(
        "check", "m.py:depends", "--arg", "f32[16]", "--arg", "i32[4]", "--baseline", ".redzone-baseline.json"
    )
    assert checked.exit_code == 0 and "stale" not in checked.output


def test_update_adds_what_is_new(command: Command, tmp_path: Path) -> None:
    command("baseline", "m.py")
    _changed(tmp_path, old=NEW)
    assert command("baseline", "m.py", "--update").output == ".redzone-baseline.json: 2 findings (1 new, 0 gone)\n"


def test_strict_writes_conditions_down_too(command: Command) -> None:
    # The read past the end, the warning about its clip, and the condition.
    assert command("baseline", "m.py", "--strict").output == ".redzone-baseline.json: 3 findings\n"
    assert command("check", "m.py", "--strict", "--baseline", ".redzone-baseline.json").exit_code == 0


def test_warnings_in_strict(command: Command, tmp_path: Path) -> None:
    trap = """
        import jax.numpy as jnp, redzone

        @redzone.example(redzone.Spec((16,), "float32"), redzone.Spec((4,), "int32"))
        def trap(x, i):
            return x.at[jnp.where(i > 0, 3, -1)].set(0.0, mode="drop")
    """
    (tmp_path / "m.py").write_text(textwrap.dedent(trap))
    assert command("check", "m.py", "--strict").exit_code == 1
    assert command("baseline", "m.py", "--strict").output == ".redzone-baseline.json: 1 finding\n"
    assert command("check", "m.py", "--strict", "--baseline", ".redzone-baseline.json").exit_code == 0


def test_from_json_reports(command: Command, tmp_path: Path) -> None:
    report = command("check", "m.py", "--format", "json").stdout
    (tmp_path / "report.json").write_text(report)
    made = command("baseline", "--from", "report.json", "-o", "from.json")
    assert made.exit_code == 0
    command("baseline", "m.py", "-o", "direct.json")
    assert (tmp_path / "from.json").read_text() == (tmp_path / "direct.json").read_text()
    # What a report made under the baseline leaves out because it is known, stays known.
    report = command("check", "m.py", "--format", "json", "--baseline", "from.json").stdout
    (tmp_path / "report.json").write_text(report)
    updated = command("baseline", "--from", "report.json", "-o", "from.json", "--update")
    assert updated.output == "from.json: 1 finding (0 new, 0 gone)\n"


def test_settings(command: Command, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.redzone]\nbaseline = "known.json"\n')
    checked = command("check", "m.py")
    assert checked.exit_code == 2
    assert re.search(r"there is no baseline \S*known.json; `redzone baseline", checked.output)
    assert command("baseline", "m.py").exit_code == 0
    assert (tmp_path / "known.json").is_file()
    assert command("check", "m.py").exit_code == 0


def test_ignored_rules_are_not_written(command: Command) -> None:
    assert command("baseline", "m.py", "--ignore", "RZ101").output == ".redzone-baseline.json: 0 findings\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), r"name either functions to check, or JSON reports"),
        (("m.py", "--from", "report.json"), r"name either functions to check, or JSON reports"),
        (("--from", "nowhere.json"), r"nowhere.json cannot be read: No such file"),
        (("--from", "m.py"), r"m.py is no JSON report of redzone: write one with `redzone check"),
        (("--from", "list.json"), r"list.json is no JSON report of this redzone"),
        (("m.py:missing",), r"(?s)missing.*\.redzone-baseline.json was not written"),
        (("m.py", "-o", "no/such/folder/x.json"), r"no/such/folder/x.json could not be written"),
    ],
)
def test_what_cannot_be_done(command: Command, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "list.json").write_text("[]")
    result = command("baseline", *arguments)
    assert result.exit_code == 2
    assert re.search(message, result.output), result.output


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"redzone-baseline": 1}', '{"redzone-baseline": 1, "findings": [{"x": 1}]}', "\x00"]
)
def test_a_file_that_is_no_baseline(command: Command, tmp_path: Path, text: str) -> None:
    (tmp_path / "b.json").write_text(text)
    result = command("check", "m.py", "--baseline", "b.json")
    assert result.exit_code == 2 and "b.json is no baseline of redzone" in result.output


def test_a_baseline_of_another_version(command: Command, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"redzone-baseline": 99, "findings": []}')
    assert "written by another version of redzone" in command("check", "m.py", "--baseline", "b.json").output
