"""The documentation is true: its code runs, its output is real, its tables are current."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from redzone.frontend.config import config_from
from redzone.report.codes import CODES
from tests.doc_blocks import PAGES, PROJECT, blocks_in, shown_and_real, steady

IDS = [str(page.relative_to(PROJECT)) for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_code_runs_and_prints_what_is_shown(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    for block, real in shown_and_real(page.read_text()):
        assert steady(block.body) == steady(real)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_block_is_of_a_kind_that_is_tested(page: Path) -> None:
    text = page.read_text()
    assert text.count("```") == 2 * len(blocks_in(text))
    before = ""
    for block in blocks_in(text):
        if block.kind == "text":
            assert before == "python", f"output that belongs to no code: {block.body[:60]}"
        else:
            assert block.kind in ("python", "console", "sh", "toml")
        before = block.kind


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_settings_are_understood(page: Path) -> None:
    for block in blocks_in(page.read_text()):
        if block.kind == "toml":
            config_from(tomllib.loads(block.body)["tool"]["redzone"], page.name)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_shell_commands_exist(page: Path) -> None:
    makefile = (PROJECT / "Makefile").read_text()
    for block in blocks_in(page.read_text()):
        if block.kind == "sh":
            for line in block.body.splitlines():
                program, *rest = line.split()
                if program == "make":
                    assert re.search(rf"^{rest[0]}:", makefile, re.MULTILINE)
                elif program == "python":
                    assert (PROJECT / rest[0]).is_file()
                else:
                    assert line in ("pip install redzone", "pip install .")


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_codes_that_are_mentioned_exist(page: Path) -> None:
    for code in re.findall(r"\bRZ\d{3}\b", page.read_text()):
        assert code in CODES


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PROJECT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_rules_page_is_current() -> None:
    page = _script("generate_rules").rules_page()
    assert (PROJECT / "docs" / "rules.md").read_text() == page, "run `make docs`"
    for code in CODES:
        assert f"`{code}`" in page


def test_the_json_page_is_current() -> None:
    page = _script("generate_json").json_page()
    assert (PROJECT / "docs" / "json.md").read_text() == page, "run `python docs/generate_json.py`"


def test_the_gallery_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    gallery = _script("make_gallery")
    entries = gallery.bugs()
    assert len(entries) == 10 == len({bug.link for bug in entries})
    assert (PROJECT / "docs" / "gallery.md").read_text() == gallery.page(entries), "run `python docs/make_gallery.py`"
    for bug in entries:
        assert bug.link.startswith("https://github.com/")
        report = bug.report
        assert report.findings or report.requires or report.lints, bug.name
        shown = (PROJECT / "docs" / "gallery" / f"{bug.name}.svg").read_text("utf-8")
        assert gallery.words(shown) == gallery.words(gallery.image(bug)), "run `python docs/make_gallery.py`"
        assert re.findall(r"(?:href|src|url)\W+https?:", shown) == []


def test_bench_tables_are_put_between_the_marks() -> None:
    insert = _script("insert_bench")
    page = (PROJECT / "docs" / "performance.md").read_text()
    once = insert.with_tables(page, "# Results\n\n| a |\n")
    assert "\n## Results\n" in once
    assert insert.with_tables(once, "# Results\n\n| a |\n") == once
    with pytest.raises(ValueError, match="the page has no"):
        insert.with_tables("nothing", "x")
