"""A run as JUnit XML: each checked function a suite, each distinct access a test."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from redzone.report.model import Access, Report, Verdict
from redzone.report.rows import Row, rows_of, short_aval
from redzone.report.run import Run
from redzone.report.text import excerpt_as_text

#: What XML 1.0 cannot hold, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def run_as_junit(run: Run) -> str:
    """Unsafe and unknown accesses fail, suppressed ones are skipped, what could not be checked is an error."""
    root = ET.Element("testsuites", name="redzone")
    for report in run.reports:
        root.append(_suite(report, run))
    if run.failures:
        suite = ET.SubElement(root, "testsuite", name="could not be checked")
        for failed in run.failures:
            case = ET.SubElement(suite, "testcase", name=_clean(failed.name), classname=_clean(failed.name), time="0")
            error = ET.SubElement(case, "error", type="CannotCheck", message=_clean(failed.reason.splitlines()[0]))
            error.text = _clean(failed.reason)
        _count(suite)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.6f}")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _suite(report: Report, run: Run) -> ET.Element:
    spent = sum(seconds for stage, seconds in report.timings.items() if stage != "trace")
    suite = ET.Element("testsuite", name=_clean(report.name))
    rows = rows_of(report.accesses)
    for row in rows:
        suite.append(_case(row, report, run))
    if not rows:
        ET.SubElement(
            suite, "testcase", name="nothing is accessed at computed positions", classname=_clean(report.name), time="0"
        )
    _count(suite)
    suite.set("time", f"{spent:.6f}")
    if run.created:
        suite.set("timestamp", run.created.removesuffix("+00:00"))
    return suite


def _case(row: Row, report: Report, run: Run) -> ET.Element:
    access = row.access
    place = f"{run.relative(access.location.file)}:{access.location.line}" if access.location.file else "<unknown>"
    times = f" ×{row.count}" if row.count > 1 else ""
    name = f"{access.effect} {short_aval(access)} at {place} ({access.primitive}){times}"
    case = ET.Element("testcase", name=_clean(name), classname=_clean(report.name), time="0")
    if access.location.file:
        case.set("file", _clean(run.relative(access.location.file)))
        case.set("line", str(access.location.line))
    if access.suppressed:
        ET.SubElement(case, "skipped", message=_clean(f"{access.rule} {access.verdict}, suppressed"))
    elif access.is_finding:
        message = f"{access.rule} {access.verdict}: {access.message}"
        failure = ET.SubElement(case, "failure", type=access.rule or str(access.verdict), message=_clean(message))
        failure.text = _clean(excerpt_as_text(row, report))
    elif access.verdict is not Verdict.SAFE:
        ET.SubElement(case, "system-out").text = _clean(_told(access))
    return case


def _told(access: Access) -> str:
    return "\n".join([f"{access.verdict}: {access.message}", *(f"requires {c}" for c in access.requires)])


def _count(suite: ET.Element) -> None:
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in suite)))
    suite.set("tests", str(len(suite)))
    suite.set("time", "0")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
