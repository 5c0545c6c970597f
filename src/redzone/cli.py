"""The `redzone` command."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redzone import __version__, twins
from redzone.commands.baseline import baseline as baseline_command
from redzone.commands.explain import explain
from redzone.commands.explaining import Explaining
from redzone.commands.options import reporting
from redzone.commands.report import report as report_command
from redzone.commands.run import run as run_command
from redzone.frontend.config import BadConfig, Config, check_codes, nearest_config
from redzone.report.codes import CODES

if TYPE_CHECKING:
    from redzone.frontend.targets import Failed, Target
    from redzone.report.baseline import Baseline
    from redzone.report.model import Report, Suppression
    from redzone.report.run import Run

CLEAN, FINDINGS, COULD_NOT_CHECK = 0, 1, 2


def _say_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        # Looked up only now: it reads every source that was compiled.
        click.echo(f"redzone {__version__}{', compiled' if twins.in_use() else ''}")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_say_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Does every array access of a JAX program stay inside its buffer?"""


main.add_command(baseline_command)
main.add_command(report_command)
main.add_command(run_command)
main.add_command(explain)


@main.command()
def rules() -> None:
    """List the rule codes."""
    for code in CODES.values():
        click.echo(f"{code.code} {code.name}\n    {code.meaning}\n    fix: {code.fix}")


@main.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--arg", "arg_texts", multiple=True, metavar="SPEC", help="An argument: 'i32[10] min=0 max=9'.")
@click.option("--dim", "dims", multiple=True, metavar="CONSTRAINT", help="On named dimensions: 'n >= 8'.")
@reporting
@click.option("--explain", "explains", is_flag=True, help="Say where the checks' time went, against JAX's own.")
@click.option("--trace", type=click.Path(dir_okay=False, path_type=Path), help="Write a trace for Perfetto.")
def check(
    targets: tuple[str, ...],
    arg_texts: tuple[str, ...],
    dims: tuple[str, ...],
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
    explains: bool,
    trace: Path | None,
) -> None:
    """Check functions: pkg.module:function (with --arg), files, or folders.

    In files and folders every function is checked that says its shapes, by @redzone.example(...) or by
    jaxtyping annotations. Exit codes: 0 clean, 1 findings, 2 something could not be checked.
    """
    config = configured(
        format=shown_as, strict=strict, exit_zero=exit_zero, select=select, ignore=ignore, baseline=baseline
    )
    files = {"html": html, "json": json_file, "sarif": sarif, "junit": junit}
    wanted = {name: file for name, file in files.items() if file}
    explaining = Explaining(explains, trace)
    outcome = Outcome(config, witness, output, wanted, baseline=known_findings(config), explaining=explaining)
    check_all(targets, arg_texts, dims, outcome)
    outcome.finish()
    outcome.explaining.finish()
    sys.exit(outcome.exit_code())


def configured(select: str | None = None, ignore: str | None = None, **given: Any) -> Config:
    """The project's settings under those of the command line; ends the command where they cannot be followed."""
    try:
        given["select"] = _codes(select, "--select")
        given["ignore"] = _codes(ignore, "--ignore")
        config = nearest_config(Path.cwd())
    except BadConfig as error:
        click.echo(f"redzone: {error}", err=True)
        sys.exit(COULD_NOT_CHECK)
    return replace(config, **{key: value for key, value in given.items() if value is not None})


def known_findings(config: Config) -> Baseline | None:
    """The baseline of a configuration; ends the command where it cannot be read."""
    if not config.baseline:
        return None
    from redzone.report.baseline import BadBaseline, read_baseline

    try:
        return read_baseline(config.baseline)
    except BadBaseline as error:
        click.echo(f"redzone: {error}", err=True)
        sys.exit(COULD_NOT_CHECK)


@dataclass(slots=True)
class Outcome:
    """What all the checks of one command came to, shown as it comes in."""

    config: Config
    witnesses: bool = False
    """Whether inputs that break the conditions are searched for and shown."""
    output: str | None = None
    """The file to write to, instead of showing anything."""
    files: dict[str, str] = field(default_factory=dict)
    """By format: further files to write."""
    reports: list[Report] = field(default_factory=list)
    failures: list[Failed] = field(default_factory=list)
    baseline: Baseline | None = None
    explaining: Explaining = field(default_factory=Explaining)

    def report(self, report: Report, shown: bool = True) -> None:
        """Take in a report; one that is not shown is counted, and is in the files."""
        for access in report.accesses:
            if access.rule and not self.config.reports(access.rule):
                access.suppressed = True
            access.keep_lints(self.config.reports)
        if self.baseline is not None:
            self.baseline.silence(report)
        self.reports.append(report)
        self.explaining.heard(report)
        if self.output or not shown:
            self.explaining.tell(err=True)
            return
        if self.config.format == "text":
            # Comments that silence nothing are told once, when every function had its chance to use them.
            from redzone.report.terminal import show_report

            show_report(replace(report, suppressions=()), self.witnesses)
        elif self.config.format == "concise":
            from redzone.report.concise import report_as_concise

            text = report_as_concise(report)
            if text:
                click.echo(text)
        if self.config.format != "json":
            self.explaining.tell(err=self.config.format != "text")

    def failure(self, failed: Failed) -> None:
        self.failures.append(failed)
        if self.config.format in ("text", "concise") or self.output:
            click.echo(f"{failed.name}: could not be checked\n  {_indented(failed.reason)}", err=True)

    def unused(self) -> tuple[Suppression, ...]:
        from redzone.report.suppress import unused

        if not self.config.reports("RZ902"):
            return ()
        return unused(s for report in self.reports for s in report.suppressions)

    def finish(self) -> None:
        """Show what could not be shown on the way, and write the files."""
        from redzone.commands.writing import write

        for format, file in self.files.items():
            write(self.run(), format, file)
        if self.output:
            write(self.run(), self.config.format, self.output)
        elif self.config.format == "text":
            from redzone.report.terminal import show_rest

            show_rest(self.run())
        elif self.config.format == "concise":
            from redzone.report.concise import suppression_as_concise

            for suppression in self.unused():
                click.echo(suppression_as_concise(suppression))
        else:
            from redzone.report.formats import rendered

            click.echo(rendered(self.config.format, self.run()), nl=False)
        for line in self.baseline.words() if self.baseline is not None else ():
            click.echo(f"redzone: {line}", err=True)

    def run(self) -> Run:
        """Everything that was checked, for the formats that show it at once."""
        from redzone.report.run import Failure, Run

        failures = tuple(Failure(failed.name, failed.reason) for failed in self.failures)
        told = self.explaining.as_json()
        return Run(
            tuple(self.reports), failures, self.unused(), self.exit_code(), witnesses=self.witnesses, explanations=told
        )

    def exit_code(self) -> int:
        if self.failures:
            return COULD_NOT_CHECK
        found = any(not report.ok for report in self.reports)
        if self.config.strict:
            found = (
                found
                or bool(self.unused())
                or any(report.lints for report in self.reports)
                or any(
                    access.requires and not access.suppressed for report in self.reports for access in report.accesses
                )
            )
        return FINDINGS if found and not self.config.exit_zero else CLEAN


def check_all(targets: tuple[str, ...], arg_texts: tuple[str, ...], dims: tuple[str, ...], outcome: Outcome) -> None:
    """Check every function that the targets name."""
    for item in _prepared(targets, arg_texts, dims, outcome.config):
        _check_one(item, outcome)


def _prepared(
    texts: tuple[str, ...], arg_texts: tuple[str, ...], dims: tuple[str, ...], config: Config
) -> Iterator[Target | Failed]:
    from redzone.frontend.targets import Failed, targets_in

    if (arg_texts or dims) and len(texts) > 1:
        option = "--arg" if arg_texts else "--dim"
        yield Failed(" ".join(texts), f"{option} belongs to one function: give a single target with it")
        return
    seen: set[str] = set()
    for text in texts:
        for item in targets_in(text, arg_texts, config.exclude, dims):
            if item.name not in seen:  # a folder and a file in it may both be named
                seen.add(item.name)
                yield item


def _check_one(item: Target | Failed, outcome: Outcome) -> None:
    from redzone.frontend.failures import explained
    from redzone.frontend.targets import Failed
    from redzone.frontend.trace import CannotCheck

    if isinstance(item, Failed):
        outcome.failure(item)
        return
    import redzone

    try:
        with _progress(f"checking {item.name}"):
            report = redzone.check(item.fn, *item.args, **item.kwargs)
    except CannotCheck as error:
        reason = str(error) if error.__cause__ is None else explained(error.__cause__)
        outcome.failure(Failed(item.name, reason))
        return
    except Exception as error:
        # One function that trips the checker itself must not hide the verdicts of the others.
        outcome.failure(Failed(item.name, explained(error)))
        return
    report.name = item.name
    outcome.report(report)


@contextlib.contextmanager
def _progress(what: str) -> Iterator[None]:
    """A spinner with the time gone by, on a terminal; nothing at all in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        yield


def _codes(text: str | None, option: str) -> tuple[str, ...] | None:
    if text is None:
        return None
    codes = tuple(code.strip() for code in text.split(",") if code.strip())
    check_codes(codes, option)
    return codes


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
