"""The page as text: self-contained, escaped, and true to the run. What it does is tested in test_browser.py."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

import redzone
from redzone.report.formats import format_of, rendered
from redzone.report.html import run_as_html
from redzone.report.model import Location, Verdict
from redzone.report.page_data import embedded, packed, page_data
from redzone.report.priorities import fix_first
from redzone.report.run import Run
from tests.report.samples import access, full_run, full_unsafe, report, requires, unsafe

NASTY = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> & \" ' \u2028 \ud800"


UNKNOWN = access(Verdict.UNKNOWN, rule="RZ103")


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "script"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[-1] += data


def data_of(page: str) -> Any:
    return json.loads(Elements(page).scripts[0])


def test_nothing_is_fetched_and_nothing_else_runs() -> None:
    page = run_as_html(full_run())
    elements = Elements(page)
    for tag, attributes in elements.found:
        assert not attributes.get("src"), tag
        assert not any(name.startswith("on") for name in attributes)
        if "href" in attributes:
            assert (attributes["href"] or "").startswith(("#", "data:,"))
    assert "@import" not in page
    assert re.findall(r"https?:", page) == []
    policy = next(a["content"] for _, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(elements.scripts[1].encode()).digest()).decode()
    assert policy is not None
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}'" in policy


def test_source_text_stays_text() -> None:
    place = Location(f"/p/{NASTY}.py", 3, NASTY, NASTY)
    one = full_unsafe(message=NASTY, fix=NASTY, _location=place)
    quiet = report(one, name=NASTY, notes=(NASTY,), _sources={place.file: {3: NASTY}})
    page = rendered("html", Run((quiet,), root="/p"))
    assert len(Elements(page).scripts) == 2
    assert [tag for tag, _ in Elements(page).found].count("img") == 0
    assert data_of(page)["functions"][0]["name"] == NASTY.replace("\ud800", "?")
    page.encode("utf-8")


def test_embedded_json_is_the_same_value() -> None:
    value = {"a": ["</script>", "&lt;", "<!--", "é", 2**53]}
    assert json.loads(embedded(value)) == value
    assert not set("<>&") & set(embedded(value))


def test_packed_rows_come_apart_again() -> None:
    rows = [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [1, 2]}]
    got = packed(rows)
    assert [dict(zip(got["keys"], (got["pool"][i] for i in row), strict=True)) for row in got["rows"]] == rows
    assert len(got["pool"]) == 3
    assert packed([])["rows"] == []


def test_a_long_program_makes_a_small_page() -> None:
    many = report(*(full_unsafe() for _ in range(2000)))
    assert len(run_as_html(Run((many,)))) < 400_000


def test_numbers_run_through_all_reports() -> None:
    data = page_data(Run((report(full_unsafe(), access()), report(requires(), full_unsafe())), root="/project"))
    keys = data["accesses"]["keys"]
    ids = [data["accesses"]["pool"][row[keys.index("id")]] for row in data["accesses"]["rows"]]
    assert ids == [1, 2, 3, 4]
    assert data["causes"][0]["ids"] == [3]
    assert [(b["fn"], b["accesses"]) for b in data["buffers"]] == [(0, [1]), (1, [4])]


def test_paths_are_those_of_the_project() -> None:
    page = run_as_html(full_run())
    assert "/project/" not in page and '"model.py"' in page


def headline(run: Run) -> str:
    found = re.search(r"<h1 class=\"(\w+)\">(.*?)</h1>", run_as_html(run))
    assert found is not None
    return f"{found[1]}: {found[2]}"


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (Run((report(unsafe()),)), "bad: 1 access leaves its array"),
        (Run((report(unsafe(), unsafe(), UNKNOWN),)), "bad: 2 accesses leave their arrays, 1 could not be proved"),
        (Run((report(UNKNOWN),)), "doubt: 1 access could not be proved"),
        (Run((report(requires()),)), "if: Every access stays inside, if a condition on the inputs holds"),
        (Run((report(access()),)), "good: Every access stays inside its array"),
        (Run((report(unsafe(suppressed=True)),)), "good: Every access stays inside its array"),
        (Run((report(),)), "good: Nothing is accessed at computed positions"),
        (Run((), full_run().failures), "bad: Nothing could be checked"),
    ],
)  # fmt: skip
def test_the_first_screen_says_how_it_stands(run: Run, told: str) -> None:
    assert headline(run) == told


def test_what_to_fix_first() -> None:
    write = full_unsafe(effect="write", rule="RZ201", primitive="scatter")
    unknown = access(Verdict.UNKNOWN, rule="RZ103", message="lost")
    todos = fix_first(
        Run((report(requires(), unknown, full_unsafe(), full_unsafe(), write, access()),), root="/project")
    )
    assert [(t.label, t.link, t.count) for t in todos] == [
        ("unsafe RZ201", "access-5", 1),
        ("unsafe RZ101", "access-3", 2),
        ("unknown RZ103", "access-2", 1),
        ("RZ304 clip-to-size", "warning-1", 1),
        ("requires", "condition-1", 1),
    ]
    assert todos[0].place == "model.py:12" and todos[0].fix == "Bound the index."


def test_failures_are_on_the_first_screen() -> None:
    assert "Could not be checked" in run_as_html(full_run())
    assert "Could not be checked" not in run_as_html(Run((report(access()),)))


def test_the_report_itself_writes_pages(tmp_path: Path) -> None:
    real = redzone.check(lambda x, i: x[jnp.clip(i, 0, 8)], jnp.zeros(8), jnp.zeros(3, int))
    assert real.to_html().startswith("<!doctype html>")
    for name, start in (
        ("a.html", "<!doctype html>"),
        ("a.json", "{"),
        ("a.sarif", "{"),
        ("a.xml", "<?xml"),
        ("a.txt", "test_the_report_itself"),
    ):
        real.save(tmp_path / name)
        assert (tmp_path / name).read_text("utf-8").startswith(start)
    real.save(tmp_path / "annotations", format="github")
    assert (tmp_path / "annotations").read_text().startswith("::error ")
    with pytest.raises(ValueError, match=r"report\.pdf: the name does not say a format; end it with one of \.html"):
        real.save(tmp_path / "report.pdf")
    with pytest.raises(ValueError, match="there is no format 'pdf'; known are text"):
        real.save(tmp_path / "report.pdf", format="pdf")
    assert format_of("A.SARIF.json") == "sarif"


def test_an_empty_run_is_a_page_too() -> None:
    assert data_of(rendered("html", Run(())))["accesses"] == {"keys": [], "pool": [], "rows": []}
