"""Run a library's own tests twice, plain and under `pytest --redzone=report`, and compare.

python bench/test_suites.py FOLDER:TESTS[,TESTS...]...

FOLDER is an unpacked source distribution that ships its tests, TESTS are paths in it. Prints a table: results of both
runs, whether any test's result differs, findings, and the ratio of CPU times.
"""

from __future__ import annotations

import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    print("| library | tests | results that differ | programs | accesses | findings | redzone | CPU, plain → checked |")
    print("|---|---|---|---|---|---|---|---|")
    different = 0
    for word in sys.argv[1:]:
        folder, _, tests = word.partition(":")
        different += _compare(pathlib.Path(folder), tests.split(","))
    return int(different > 0)


def _compare(folder: pathlib.Path, tests: list[str]) -> int:
    with tempfile.TemporaryDirectory() as made:
        plain, plain_seconds, _ = _run(folder, tests, [], pathlib.Path(made) / "plain.xml")
        report = pathlib.Path(made) / "report.json"
        options = ["--redzone=report", f"--redzone-report={report}"]
        checked, checked_seconds, said = _run(folder, tests, options, pathlib.Path(made) / "checked.xml")
        reports = json.loads(report.read_text())["reports"]
    differ = {name for name in plain.keys() | checked.keys() if plain.get(name) != checked.get(name)}
    counts: Counter[str] = Counter()
    for one in reports:
        counts.update(one["counts"])
    summary = re.search(r"(\d+) findings?.*?; (\d+) programs compiled, .*; checking took (.*)", said)
    assert summary is not None, said[-2000:]
    results = Counter(plain.values())
    print(
        f"| {folder.name} | {', '.join(f'{n} {what}' for what, n in sorted(results.items()))} | {len(differ)} "
        f"| {summary[2]} | {sum(counts.values())} | {summary[1]} | {summary[3]} "
        f"| {plain_seconds:.1f} s → {checked_seconds:.1f} s ({checked_seconds / plain_seconds:.2f}×) |",
        flush=True,
    )
    print(f"{folder.name}: {dict(counts)}", file=sys.stderr)
    for name in sorted(differ):
        print(f"  {name}: {plain.get(name)} → {checked.get(name)}", file=sys.stderr)
    section = said[said.rfind("= redzone =") :]
    print(section, file=sys.stderr)
    return len(differ)


def _run(
    folder: pathlib.Path, tests: list[str], options: list[str], results: pathlib.Path
) -> tuple[dict[str, str], float, str]:
    """The result of each test, the CPU seconds of the run and what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
    if not _has_plugin():
        command += ["-p", "redzone.pytest_plugin"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*command, f"--junitxml={results}", *options, *tests], cwd=folder, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if not results.exists():
        raise SystemExit(done.stdout + done.stderr)
    outcomes = {}
    for case in ElementTree.parse(results).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        name = f"{case.get('classname')}::{case.get('name')}"
        outcomes[name] = {"failure": "failed", "error": "error"}.get(min(kinds), "skipped") if kinds else "passed"
    return outcomes, seconds, done.stdout


def _has_plugin() -> bool:
    from importlib.metadata import entry_points

    return any(entry.name == "redzone" for entry in entry_points(group="pytest11"))


if __name__ == "__main__":
    raise SystemExit(main())
