"""`redzone run`: a program as Python would run it, with every function it compiles checked."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from redzone.commands.options import reporting

if TYPE_CHECKING:
    from redzone.cli import Outcome
    from redzone.report.model import Report
    from redzone.runtime.mode import Mode
    from redzone.runtime.session import Session


class _Run(click.Command):
    """What comes after the script, or after `-m` and a module, is the script's own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours, rest = self._split(ctx, args)
        return super().parse_args(ctx, [*ours, "--", *rest] if rest else ours)

    def _split(self, ctx: click.Context, args: list[str]) -> tuple[list[str], list[str]]:
        takes_value = {
            name for p in self.get_params(ctx) if isinstance(p, click.Option) and not p.is_flag for name in p.opts
        }
        i = 0
        while i < len(args) and args[i].startswith("-") and args[i] != "-":
            if args[i] == "--":
                return args[:i], args[i + 1 :]
            if args[i].startswith("-m") and not args[i].startswith("--"):
                joined = args[i] != "-m"
                module = [args[i][2:]] if joined else args[i + 1 : i + 2]
                return [*args[:i], "-m", *module], args[i + (1 if joined else 2) :]
            i += 2 if args[i] in takes_value else 1
        return args[:i], args[i:]


@click.command(cls=_Run, options_metavar="[OPTIONS]")
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does.")
@click.option("--mode", metavar="MODE", default="report", show_default=True, help="report, raise or off.")
@reporting
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]...")
def run(
    module: str | None,
    mode: str,
    shown_as: str | None,
    output: str | None,
    html: str | None,
    json_file: str | None,
    sarif: str | None,
    junit: str | None,
    strict: bool | None,
    witness: bool,
    exit_zero: bool | None,
    select: str | None,
    ignore: str | None,
    baseline: str | None,
    words: tuple[str, ...],
) -> None:
    """Run SCRIPT as Python would, check every function it compiles, and report at the end.

    Options go before the script; what follows it is the script's. Exit codes: the script's own if that is not 0,
    else 0 clean, 1 findings, 2 something could not be checked. The environment variable REDZONE wins over --mode.
    """
    from redzone.cli import COULD_NOT_CHECK, Outcome, configured, known_findings
    from redzone.runtime.mode import BadMode, asked
    from redzone.runtime.script import CannotRun, execute, module_named, script_at

    config = configured(
        format=shown_as, strict=strict, exit_zero=exit_zero, select=select, ignore=ignore, baseline=baseline
    )
    files = {"html": html, "json": json_file, "sarif": sarif, "junit": junit}
    wanted = {name: file for name, file in files.items() if file}
    outcome = Outcome(config, witness, output, wanted, baseline=known_findings(config))
    try:
        checks = _Checks(asked(mode), outcome)
        if module is None and not words:
            raise click.UsageError("name a script, or a module with -m")
        script = script_at(words[0]) if module is None else module_named(module)
        arguments = words[1:] if module is None else words
        with checks:
            code = execute(script, arguments)
    except (BadMode, CannotRun) as error:
        click.echo(f"redzone: {error}", err=True)
        sys.exit(COULD_NOT_CHECK)
    with _interruptible():
        checks.tell()
    sys.exit(code or outcome.exit_code())


class _Checks:
    """The session of a run, which begins when the program imports JAX."""

    def __init__(self, mode: Mode, outcome: Outcome) -> None:
        self.mode = mode
        self.outcome = outcome
        self.session: Session | None = None
        self.problem: Exception | None = None

    def __enter__(self) -> None:
        from redzone.frontend.arrival import when_imported
        from redzone.runtime.mode import Mode

        self._forget = when_imported("jax", self._begin) if self.mode is not Mode.OFF else lambda: None

    def _begin(self) -> None:
        try:
            from redzone.runtime.session import Session
            from redzone.runtime.watching import open_session

            self.session = Session(self.mode, prepare=self._prepare)
            open_session(self.session)
        except Exception as error:
            self.problem = error

    def _prepare(self, report: Report) -> None:
        """Before a program is stopped for what is in it: silence what is not wanted."""
        for access in report.accesses:
            if access.rule and not self.outcome.config.reports(access.rule):
                access.suppressed = True
        if self.outcome.baseline is not None:
            self.outcome.baseline.silence(report)

    def __exit__(self, *_: Any) -> None:
        self._forget()
        if self.session is not None:
            from redzone.runtime.watching import close_session

            close_session(self.session)

    def tell(self) -> None:
        """Show the reports, and one line about the whole."""
        from redzone.frontend.targets import Failed
        from redzone.runtime.mode import Mode

        if self.problem is not None:
            self.outcome.failure(Failed("this JAX", f"{type(self.problem).__name__}: {self.problem}"))
        if self.session is None:
            self.outcome.finish()
            if self.mode is not Mode.OFF and self.problem is None:
                click.echo("redzone: nothing was checked: the program did not use JAX", err=True)
            return
        from redzone.frontend.failures import explained
        from redzone.frontend.unwatched import unwatched
        from redzone.runtime.telling import summary

        with unwatched():
            for report, is_news in _told(self.session.reports):
                self.outcome.report(report, is_news or self.outcome.config.format not in ("text", "concise"))
            for failure in self.session.errors:
                self.outcome.failure(Failed(failure.name, explained(failure.error)))
            self.outcome.finish()
        click.echo(summary(self.session), err=True)


def _told(reports: tuple[Report, ...]) -> Iterator[tuple[Report, bool]]:
    """The reports, named by file and function, and whether each says something that those before it have not."""
    from redzone.runtime.telling import full_name

    said: set[object] = set()
    for report in reports:
        report.name = full_name(report)
        told = [a for a in report.accesses if (a.is_finding or a.requires) and not a.suppressed]
        new: set[object] = {(a.rule, a.location, a.message) for a in told}
        new |= {(lint.code, lint.location, lint.message) for lint in report.lints}
        yield report, not new <= said
        said |= new


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """A second Ctrl-C ends the report too."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("redzone: interrupted", err=True)
        sys.exit(130)
