"""The pytest plugin: `pytest --redzone` checks every program that the tests compile.

It is loaded in every run of pytest, so it is nothing but options until it is asked for.
"""

from __future__ import annotations

import pytest

MODES = {
    "report": "Check what the tests compile and tell at the end; no test fails for it.",
    "raise": "The same as --redzone.",
    "off": "Do not check, whatever the settings say.",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("redzone", "array bounds of JAX programs")
    group.addoption(
        "--redzone",
        action="store_const",
        const="raise",
        default=None,
        dest="redzone",
        help="Check every JAX program that the tests compile: a test that compiles an access which is unsafe or "
        "unknown fails.",
    )
    for mode, meaning in MODES.items():
        # Options of their own, because an optional value would swallow the path in `pytest --redzone tests/`.
        group.addoption(f"--redzone={mode}", action="store_const", const=mode, dest="redzone", help=meaning)
    group.addoption("--redzone-baseline", metavar="FILE", help="Findings listed there do not count.")
    group.addoption("--redzone-report", metavar="FILE", help="Write all reports to FILE as JSON.")
    group.addoption(
        "--redzone-clear-caches",
        action="store_true",
        default=None,
        help="Clear JAX's caches before each test, so that each sees its own compiles.",
    )
    parser.addini("redzone", "report, raise or off: what --redzone=MODE says on the command line.", default="")
    parser.addini("redzone_baseline", "A file of known findings, from the rootdir.", default="")
    parser.addini("redzone_clear_caches", "Clear JAX's caches before each test.", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "redzone(mode): how this test's compiles are checked under --redzone: report, raise or off."
    )
    given = config.getoption("redzone")
    word = given or config.getini("redzone")
    if not word:
        return
    from redzone.runtime.mode import BadMode, Mode, asked, mode_named

    try:
        mode_named(word, "--redzone" if given else "ini option redzone")
        mode = asked(word)
    except BadMode as error:
        raise pytest.UsageError(str(error)) from None
    if mode is Mode.OFF:
        return
    from redzone.runtime.in_pytest import CheckedRun

    config.pluginmanager.register(CheckedRun(config, mode), "redzone-checked-run")
