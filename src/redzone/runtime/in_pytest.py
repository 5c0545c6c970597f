"""A test run whose compiles are checked: findings belong to the test that caused them."""

from __future__ import annotations

import dataclasses
import json
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from redzone.frontend.arrival import when_imported
from redzone.runtime.mode import BadMode, Mode, mode_named
from redzone.runtime.tally import Tally

if TYPE_CHECKING:
    from redzone.report.model import Report
    from redzone.runtime.session import Session

_Phase = Generator[None, Any, Any]


class CheckedRun:
    """The hooks of a run of pytest that was asked to check."""

    def __init__(self, config: pytest.Config, mode: Mode) -> None:
        self.config = config
        self.mode = mode
        """How tests are checked that do not say otherwise."""
        self.here = mode
        """How the test is checked that is running now."""
        self.test = ""
        self.session: Session | None = None
        self.tally = Tally()
        self.problem = ""
        self.clears = bool(config.getoption("redzone_clear_caches") or config.getini("redzone_clear_caches"))
        self.report_file: str = config.getoption("redzone_report") or ""
        self._settings()
        self._lock = threading.Lock()
        self._fresh: list[Report] = []
        self._forget: Callable[[], None] = lambda: None

    def _settings(self) -> None:
        from redzone.frontend.config import BadConfig, nearest_config
        from redzone.report.baseline import BadBaseline, read_baseline

        try:
            self.settings = nearest_config(self.config.rootpath)
            ini = self.config.getini("redzone_baseline")
            file = (
                self.config.getoption("redzone_baseline")
                or (ini and str(self.config.rootpath / ini))
                or self.settings.baseline
            )
            self.baseline = read_baseline(file) if file else None
        except (BadConfig, BadBaseline) as error:
            raise pytest.UsageError(f"redzone: {error}") from None

    # From the beginning to the end of the run

    def pytest_sessionstart(self) -> None:
        self._forget = when_imported("jax", self._begin)

    def _begin(self) -> None:
        try:
            from redzone.runtime.session import Session
            from redzone.runtime.watching import open_session

            self.session = Session(self.mode, prepare=self._prepare, noticed=self._noticed, keeps=self._keeps)
            open_session(self.session)
            self.session.mode = self.here
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    def _prepare(self, report: Report) -> None:
        for access in report.accesses:
            if access.rule and not self.settings.reports(access.rule):
                access.suppressed = True
        if self.baseline is not None:
            self.baseline.silence(report)

    def _keeps(self, report: Report) -> bool:
        """Whether a report, and with it a program and the arrays it closes over, is needed to the end."""
        return bool(self.report_file or report.findings)

    def _noticed(self, report: Report) -> None:
        if report.findings:
            with self._lock:
                self._fresh.append(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        self._forget()
        self._take("")
        if self.session is not None:
            from redzone.runtime.watching import close_session

            close_session(self.session)
            try:
                self._count(self.session)
            except Exception as error:
                self.problem = f"its own report: {type(error).__name__}: {error}"
        if self.problem:
            self.tally.errors.append(self.problem)
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["redzone"] = self.tally.plain()
        yield
        if self.tally.outside and self.mode is Mode.RAISE and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _count(self, session: Session) -> None:
        tally = self.tally
        tally.programs, tally.checked, tally.seconds = session.programs, session.checked, session.seconds
        tally.accesses = session.accesses
        tally.errors += [str(failure) for failure in session.errors]
        if self.baseline is not None:
            tally.known = [list(dataclasses.astuple(mark)) for mark in self.baseline.met]
            tally.checked_places = [list(place) for place in self.baseline.seen]
        if self.report_file:
            from redzone.frontend.unwatched import unwatched
            from redzone.runtime.telling import full_name

            with unwatched():
                reports = [dataclasses.replace(report, name=full_name(report)) for report in session.reports]
                # Only the plainest of values travel between processes.
                tally.reports = json.loads(json.dumps([report.to_json() for report in reports], default=str))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of pytest-xdist has finished."""
        sent = getattr(node, "workeroutput", {}).get("redzone")
        if sent is not None:
            self.tally.add(sent)

    # A test

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> _Phase:
        self._take("")
        self.test = item.nodeid
        self.here, wrong = self._mode_of(item)
        if wrong:
            item.stash[_WRONG] = wrong
        if self.session is not None:
            self.session.mode = self.here
        if self.clears and "jax" in sys.modules:
            sys.modules["jax"].clear_caches()
        try:
            return (yield)
        finally:
            self._take(item.nodeid)
            self.test, self.here = "", self.mode
            if self.session is not None:
                self.session.mode = self.mode

    def _mode_of(self, item: pytest.Item) -> tuple[Mode, str]:
        """The mode of a test, and what is wrong with its marker."""
        marker = item.get_closest_marker("redzone")
        if marker is None:
            return self.mode, ""
        try:
            (word,) = marker.args
            return mode_named(word, f"@pytest.mark.redzone({word!r})"), ""
        except BadMode as error:
            return self.mode, str(error)
        except ValueError:
            return self.mode, "@pytest.mark.redzone takes one mode: report, raise or off"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> _Phase:
        if _WRONG in item.stash:
            pytest.fail(item.stash[_WRONG], pytrace=False)
        try:
            return (yield)
        except BaseException as error:
            self._tell(item, "setup", error)
            raise

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> _Phase:
        return (yield from self._phase(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> _Phase:
        return (yield from self._phase(item, "teardown"))

    def _phase(self, item: pytest.Item, name: str) -> _Phase:
        try:
            result = yield
        except BaseException as error:
            self._tell(item, name, error)
            raise
        # unittest keeps a test's exception to itself until later.
        if self.here is not Mode.RAISE or getattr(item, "_excinfo", None):
            self._tell(item, name)
        else:
            text = self._take(item.nodeid)
            if text:
                pytest.fail(f"redzone: {_WHY}\n\n{text}", pytrace=False)
        return result

    def _tell(self, item: pytest.Item, when: str, error: BaseException | None = None) -> None:
        """Put the findings beside what the test itself has to say."""
        text = self._take(item.nodeid, getattr(error, "report", None))
        if text:
            item.add_report_section(when, "redzone", text)

    def _take(self, test: str, told: Report | None = None) -> str:
        """What was found since the last time, as text; it belongs to this test from now on."""
        with self._lock:
            reports, self._fresh = self._fresh, []
        if not reports:
            return ""
        try:
            from redzone.runtime.telling import each_finding

            self.tally.findings += [(line, text, test) for line, text in each_finding(reports)]
            return "\n\n".join(text for _, text in each_finding(r for r in reports if r is not told))
        except Exception as error:
            # A finding that cannot be shown is one all the same.
            said = f"findings in {', '.join(r.name for r in reports)} cannot be shown: {type(error).__name__}: {error}"
            self.tally.findings.append((said, said, test))
            return said

    # The end

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if hasattr(self.config, "workerinput"):
            return
        tally = self.tally
        write = terminalreporter.write_line
        terminalreporter.section("redzone")
        if self.mode is Mode.REPORT:
            for text in dict.fromkeys(text for _, text, _ in tally.findings):
                write(text)
                write("")
        by_line: dict[str, dict[str, None]] = {}
        for line, _, test in tally.findings:
            by_line.setdefault(line, {})[test or "while tests were collected"] = None
        for line, tests in by_line.items():
            more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
            write(f"{line}  [{next(iter(tests))}{more}]")
        for error in dict.fromkeys(tally.errors):
            write(f"redzone failed on {error} (it was compiled unchecked)")
        for line in self._baseline_words():
            write(line)
        write(self._summary())
        if self.report_file:
            try:
                self._write_report()
            except OSError as error:
                write(f"redzone: {self.report_file} could not be written: {error.strerror or error}")

    def _baseline_words(self) -> list[str]:
        if self.baseline is None:
            return []
        from redzone.report.baseline import Mark

        self.baseline.met |= {Mark(*values) for values in self.tally.known}
        self.baseline.seen |= {(file, function) for file, function in self.tally.checked_places}
        return self.baseline.words()

    def _summary(self) -> str:
        from redzone.report.text import seconds_as_text

        tally = self.tally
        new = "new finding" if self.baseline is not None else "finding"
        counted = len({line for line, _, _ in tally.findings})
        where = f" in {tally.tests} test{'s' * (tally.tests != 1)}" if counted else ""
        return (
            f"{counted} {new}{'s' * (counted != 1)}{where}; {tally.programs} programs compiled, "
            f"{tally.accesses} accesses in {tally.checked} of them; checking took {seconds_as_text(tally.seconds)}"
        )

    def _write_report(self) -> None:
        from redzone.report.json import run_as_json
        from redzone.report.run import Failure, Run

        failures = tuple(Failure("redzone", error) for error in self.tally.errors)
        run = Run((), failures, (), exit_code=int(bool(self.tally.findings)))
        data = {**run_as_json(run), "reports": self.tally.reports}
        Path(self.report_file).write_text(json.dumps(data, indent=2, ensure_ascii=False), "utf-8")


_WHY = "this test compiled array accesses that can leave their arrays, or of which that cannot be excluded"
_WRONG = pytest.StashKey[str]()
