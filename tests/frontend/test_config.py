"""`[tool.redzone]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redzone.frontend.config import BadConfig, Config, check_codes, config_from, nearest_config


def test_every_key() -> None:
    table = {
        "strict": True,
        "select": ["RZ1"],
        "ignore": ["RZ103"],
        "format": "json",
        "exit-zero": True,
        "exclude": ["old/*"],
    }
    assert config_from(table, "here") == Config(True, ("RZ1",), ("RZ103",), "json", True, ("old/*",))


def test_the_nearest_file_that_speaks_of_redzone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.redzone]\nstrict = true\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    assert nearest_config(inner).strict


def test_select_and_ignore_by_family() -> None:
    config = Config(select=("RZ1", "RZ201"), ignore=("RZ103",))
    assert [config.reports(c) for c in ("RZ101", "RZ103", "RZ201", "RZ202")] == [True, False, True, False]
    assert Config().reports("RZ101")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"stric": True}, r"here: unknown key 'stric' in \[tool\.redzone\]; known are strict, select"),
        ({"strict": "yes"}, r"here: strict must be true or false"),
        ({"select": "RZ101"}, r"here: select must be a list of strings"),
        ({"ignore": ["RZ999"]}, r"here: ignore: no rule is called 'RZ999'"),
        ({"format": "xml"}, r"here: format must be one of text, concise, json"),
        ({"format": 3}, r"here: format must be a string"),
    ],
)
def test_bad_settings(table: dict[str, Any], message: str) -> None:
    with pytest.raises(BadConfig, match=message):
        config_from(table, "here")


def test_bad_files(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("not toml")
    with pytest.raises(BadConfig, match=r"pyproject\.toml: "):
        nearest_config(tmp_path)
    file.write_text("[tool]\nredzone = 3\n")
    with pytest.raises(BadConfig, match=r"must be a table"):
        nearest_config(tmp_path)


def test_an_empty_code_is_no_code() -> None:
    with pytest.raises(BadConfig, match=r"--select: no rule is called ''"):
        check_codes([""], "--select")
