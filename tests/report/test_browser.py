"""The page in a real browser: it renders, filters, searches, follows links and keys, and never complains."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import redzone
from redzone.report.html import run_as_html
from redzone.report.model import DimBounds, Location, Pattern, Verdict
from redzone.report.run import Run
from tests.report.browser import CHROMIUM, MISSING, Browser, browser
from tests.report.samples import access, full_run, full_unsafe, report, requires

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as one:
        yield one


@pytest.fixture
def page(tab: Browser, tmp_path: Path) -> Iterator[Any]:
    """Opens a run; afterwards nothing may have gone wrong, and nothing may have been asked of the network."""
    tab.problems.clear()
    tab.requests.clear()
    tab.size(1300, 900)
    tab.theme("light")

    def show(run: Run, link: str = "") -> Browser:
        file = tmp_path / "page.html"
        file.write_text(run_as_html(run), "utf-8")
        tab.open(file, link)
        return tab

    yield show
    assert tab.problems == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "about:"))] == []


def real_run() -> Run:
    def decode(table, tokens, cache, position):  # type: ignore[no-untyped-def]
        x = table[tokens]
        cache = jax.lax.dynamic_update_slice(cache, x[:4], (position + 1, 0))
        cache = cache.at[jnp.where(tokens > 3, tokens, -1)].set(0.0, mode="drop")
        return cache[jnp.cumsum(tokens)], table[jnp.arange(0, 50, 5)]

    return Run((redzone.check(decode, jnp.zeros((50, 8)), jnp.zeros(16, int), jnp.zeros((128, 8)), 0),))


def many(count: int) -> Run:
    """A run with that many accesses over 50 lines and 5 functions, of every verdict."""
    made = []
    for k in range(count):
        place = Location(
            f"/project/part{k % 5}.py", 10 + k % 50, f"layer{k % 5}", f"y = table{k % 7}[index + {k % 50}]"
        )
        pattern = Pattern("strided", (16,), 64, (k * 64) % 4096, (k * 64) % 4096 + 255)
        fields: dict[str, Any] = {"_location": place, "_pattern": pattern, "_bounds": (DimBounds(0, 0, k % 20, 0, 15),)}
        if k % 100 == 0:
            made.append(full_unsafe(**fields, message=f"leaves at {k}"))
        elif k % 10 == 0:
            made.append(requires(**fields))
        else:
            made.append(access(list(Verdict)[k % 3], **fields))
    parts = [made[i::5] for i in range(5)]
    return Run(tuple(report(*part, name=f"part{i}") for i, part in enumerate(parts)), root="/project")


def rows(tab: Browser) -> list[str]:
    found: list[str] = tab.run("[...document.querySelectorAll('.row')].map(r => r.innerText)")
    return found


def found(tab: Browser) -> str:
    return tab.text(".found")


def test_everything_is_drawn(page: Any) -> None:
    tab = page(full_run(witnesses=True))
    assert "leave" in tab.text("h1")
    assert len(rows(tab)) == 7
    assert tab.text(".count.v-unsafe b") == "2"
    assert "the read can start at 16" in tab.text(".detail h2")
    assert tab.run("document.querySelectorAll('.bar-index').length") == 1
    assert tab.run("document.querySelectorAll('.bar-index .out').length") >= 1
    assert tab.run("document.querySelector('.src mark.ix').textContent") == "row"
    assert "floor_divide(position, 10)" in tab.text(".chain")
    assert "position = 160" in tab.text(".say")
    assert "Bound the index." in tab.text(".fixit")


@pytest.mark.parametrize("tab_name", ["accesses", "conditions", "buffers", "warnings", "time"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_part_of_a_real_report(page: Any, tab_name: str, theme: str) -> None:
    run = real_run()
    tab = page(run, f"#{tab_name}")
    tab.theme(theme)
    tab.settle()
    assert tab.run("document.querySelector('.tabs [aria-selected=true]').dataset.tab") == tab_name
    assert len(tab.text("main")) > 40
    dark = tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
    assert dark is (theme == "dark")


def test_a_program_without_accesses(page: Any) -> None:
    tab = page(Run((report(),)))
    assert "Nothing is accessed" in tab.text("main")


def test_verdicts_are_filtered(page: Any) -> None:
    tab = page(full_run())
    tab.click(".chip[data-verdict=safe]")
    assert not any(row.startswith("safe") for row in rows(tab))
    assert found(tab).startswith("5 of 7 accesses")
    tab.click(".chip[data-verdict=safe]")
    assert found(tab).startswith("7 of 7 accesses")
    tab.click(".count.v-requires")
    assert [row.split()[0] for row in rows(tab)] == ["requires", "requires"]
    tab.click(".count.v-requires")
    assert found(tab).startswith("7 of 7 accesses")


def test_reads_writes_and_functions_are_filtered(page: Any) -> None:
    tab = page(full_run())
    select = (
        "(() => {{ const s = document.querySelector('select[aria-label=\"{}\"]');"
        " s.value = {}; s.dispatchEvent(new Event('change')); }})()"
    )
    tab.run(select.format("Reads or writes", "'write'"))
    assert found(tab).startswith("1 of 7")
    tab.press("0")
    tab.run(select.format("Function", "'1'"))
    assert found(tab).startswith("1 of 7")
    tab.run(select.format("Function", "''"))
    tab.run(select.format("Sort", "'program'"))
    assert [row.split("#")[1].split()[0] for row in rows(tab)] == ["1", "2", "3", "4", "5", "6", "7"]


def test_search(page: Any) -> None:
    tab = page(full_run())
    tab.press("/")
    tab.type("scatter RZ203")
    assert len(rows(tab)) == 1 and found(tab).startswith("1 of 7")
    tab.run("document.getElementById('search').select()")
    tab.type("no such thing")
    assert "Nothing matches" in tab.text(".list")
    tab.click(".list .act")
    assert found(tab).startswith("7 of 7") and tab.run("document.getElementById('search').value") == ""


def test_links_to_one_access(page: Any) -> None:
    tab = page(full_run(), "#access-2")
    assert "could not be bounded" in tab.text(".detail h2")
    assert tab.run("document.querySelector('.row[aria-selected=true]').dataset.id") == "2"
    tab.run("location.hash = '#access-3'")
    tab.settle()
    assert "0 ≤ indices ≤ 15" in tab.text(".detail")
    tab.run("location.hash = '#buffer-1'")
    tab.wait("document.querySelector('#buffer-1.lit') !== null")
    assert "table" in tab.text("#buffer-1")
    tab.run("location.hash = '#condition-1'")
    tab.settle()
    assert tab.run("document.querySelector('#condition-1.lit') !== null")
    tab.run("location.hash = '#access-99999'")
    tab.settle()
    assert tab.run("document.querySelector('.tabs [aria-selected=true]').dataset.tab") == "accesses"


def test_choosing_an_access_is_a_link_to_it(page: Any) -> None:
    tab = page(full_run())
    tab.click(".row[data-id='2']")
    assert tab.run("location.hash") == "#access-2"
    tab.click(".first .todo")
    assert tab.run("location.hash") == "#access-1"
    assert "the read can start at 16" in tab.text(".detail h2")


def test_an_access_hidden_by_a_filter_is_shown_when_linked(page: Any) -> None:
    tab = page(full_run())
    tab.click(".chip[data-verdict=unknown]")
    tab.run("location.hash = '#access-2'")
    tab.settle()
    assert "could not be bounded" in tab.text(".detail h2")


def test_keyboard(page: Any) -> None:
    tab = page(full_run())
    chosen = "document.querySelector('.row[aria-selected=true]')?.dataset.id"
    first = tab.run(chosen)
    tab.press("j")
    second = tab.run(chosen)
    assert second != first
    tab.press("k")
    assert tab.run(chosen) == first
    tab.press("ArrowDown")
    assert tab.run(chosen) == second
    tab.press("End")
    assert tab.run(chosen) == tab.run("[...document.querySelectorAll('.row')].at(-1).dataset.id")
    tab.press("Home")
    assert tab.run(chosen) == first
    tab.press("n")
    assert tab.run(chosen) == "2"
    tab.press("6")
    assert found(tab).startswith("5 of 7")
    tab.press("0")
    assert found(tab).startswith("7 of 7")
    tab.press("]")
    assert tab.run("document.querySelector('.tabs [aria-selected=true]').dataset.tab") == "conditions"
    tab.press("[")
    tab.run("document.querySelector('.tabs [aria-selected=true]').focus()")
    tab.press("ArrowRight")
    assert tab.run("document.activeElement.dataset.tab") == "conditions"
    tab.press("ArrowLeft")
    tab.run("document.activeElement.blur()")
    tab.press("?")
    assert tab.run("document.getElementById('help').open")
    tab.press("Escape")
    tab.run("document.getElementById('help').close()")
    tab.press("/")
    assert tab.run("document.activeElement.id") == "search"
    tab.type("jt")
    assert tab.run("document.getElementById('search').value") == "jt"
    tab.press("Escape")
    assert tab.run("document.activeElement.id") != "search"
    theme = "document.documentElement.dataset.theme ?? 'auto'"
    assert tab.run(theme) == "auto"
    tab.press("t")
    assert tab.run(theme) == "light"
    tab.press("t")
    assert tab.run(theme) == "dark"
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
    tab.press("t")


def test_alike_accesses_are_grouped_until_asked(page: Any) -> None:
    tab = page(Run((report(*(full_unsafe() for _ in range(5))),)))
    assert len(rows(tab)) == 1 and "×5" in rows(tab)[0]
    tab.press("g")
    assert len(rows(tab)) == 5
    tab.press("g")
    tab.run("location.hash = '#access-4'")
    tab.settle()
    assert len(rows(tab)) == 5
    assert tab.run("document.querySelector('.row[aria-selected=true]').dataset.id") == "4"


def test_the_icicle_can_be_looked_into(page: Any) -> None:
    tab = page(full_run(), "#time")
    blocks = "[...document.querySelectorAll('.ice button')].map(b => b.title.split(':')[0])"
    assert tab.run(blocks)[:3] == ["2 functions", "lookup", "other"]
    before = tab.run("document.querySelectorAll('.ice').length")
    tab.click(".ice:nth-child(2) button")
    assert tab.run(blocks)[:2] == ["2 functions", "lookup"] and "other" not in tab.run(blocks)
    tab.click(".ice:nth-child(1) button")
    assert tab.run("document.querySelectorAll('.ice').length") == before


def test_an_explained_check_is_shown_by_line(page: Any) -> None:
    (report,) = real_run().reports
    explained = report.explain(compare=False).to_json()
    tab = page(Run((report,), explanations=(explained,)), "#time")
    assert tab.text(".card h2") == explained["sentence"]
    assert "test_browser.py:" in tab.text(".card.detail")
    titles = tab.run("[...document.querySelectorAll('.ice button')].map(b => b.title)")
    assert any("test_browser.py:" in title for title in titles), "the stages are broken down"


def test_narrow_screens_show_one_thing_at_a_time(page: Any, tab: Browser) -> None:
    tab.size(400, 800)
    tab = page(full_run())
    assert tab.run("document.documentElement.scrollWidth") <= 400
    assert tab.run("getComputedStyle(document.querySelector('.detail')).display") == "none"
    tab.click(".row[data-id='1']")
    assert tab.run("getComputedStyle(document.querySelector('.list')).display") == "none"
    assert tab.run("document.documentElement.scrollWidth") <= 400
    tab.click(".back")
    assert tab.run("getComputedStyle(document.querySelector('.list')).display") != "none"


def test_source_text_is_never_markup(page: Any) -> None:
    nasty = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    place = Location("/p/m.py", 3, nasty, nasty)
    one = full_unsafe(message=nasty, fix=nasty, _location=place)
    run = Run((report(one, name=nasty, notes=(nasty,), _sources={place.file: {3: nasty}}),), root="/p")
    for link in ("", "#buffers", "#warnings", "#time", "#conditions"):
        tab = page(run, link)
        assert tab.run("window.hacked === undefined && document.querySelectorAll('img').length === 0")
    assert nasty in page(run).text(".detail h2")


def test_ten_thousand_accesses(page: Any) -> None:
    started = time.perf_counter()
    tab = page(many(10_000))
    opened = time.perf_counter() - started
    tab.press("g")
    assert found(tab).startswith("10,000 of 10,000 accesses")
    drawn = tab.run("document.querySelectorAll('.row').length")
    assert drawn < 60, "only what is looked at is drawn"
    tab.press("End")
    assert tab.run("document.querySelector('.row[aria-selected=true]') !== null")
    assert tab.run("document.querySelectorAll('.row').length") < 60
    # The work of one keystroke of a search, in the page itself.
    spent = tab.run(
        "new Promise(done => { const s = document.getElementById('search'); const t = performance.now();"
        " s.value = 'part3 layer3 index'; s.dispatchEvent(new Event('input'));"
        " requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - t))); })"
    )
    print(f"written and opened in {opened:.2f} s, a search in {spent:.0f} ms")
    assert found(tab).startswith("2,000 of 10,000")
    assert spent < 1000
    tab.run("location.hash = '#access-7777'")
    tab.settle()
    assert tab.run("document.querySelector('.row[aria-selected=true]').dataset.id") == "7777"
    for part in ("buffers", "conditions", "time"):
        tab.run(f"location.hash = '#{part}'")
        tab.settle()
    assert json.dumps(tab.problems) == "[]"


def test_drawings_take_the_width_of_the_screen(page: Any, tab: Browser) -> None:
    for width in (400, 1300):
        tab.size(width, 900)
        tab = page(full_run(), "#access-1")
        drawn, box = tab.run(
            "(() => { const s = document.querySelector('.bar-index');"
            " return [s.viewBox.baseVal.width, s.clientWidth]; })()"
        )
        assert 0.8 < drawn / box < 1.25, "text in the drawing is as large as beside it"
