"""What the benchmark says of its measurements: limits, targets, tables, and the way to JSON and back."""

from __future__ import annotations

import dataclasses

import pytest
import record
import tables
import targets


def measured(name="family/program", trace=1.0, check=0.02, equations=100, **more):
    return record.Record(name, name.partition("/")[0], trace=trace, check=check, equations=equations, **more)


@pytest.mark.parametrize(
    ("trace", "check", "within"),
    [(1.0, 0.1, True), (1.0, 0.101, False), (0.001, 0.010, True), (0.001, 0.011, False), (None, 0.1, None)],
)
def test_a_program_may_take_ten_milliseconds_or_a_tenth_of_its_tracing(trace, check, within):
    assert measured(trace=trace, check=check).is_within_limit is within


def test_a_record_learns_what_was_measured_and_notes_what_went_wrong():
    one = record.Record("family/program", "family")
    one.learn("check", {"check": 0.5, "trace": 2.0, "verdicts": {"safe": 3}, "nobody knows": 1})
    one.learn("compile", {"error": "over 60 s"})
    assert (one.check, one.ratio_to_tracing, one.compile) == (0.5, 0.25, None)
    assert one.notes == {"compile": "over 60 s"}
    assert record.Record(**dataclasses.asdict(one)) == one


def test_the_ratio_of_all_programs_is_of_their_sums():
    long, short = measured(trace=9.0, check=0.09), measured(trace=1.0, check=0.91)
    assert targets.total_ratio([long, short]) == pytest.approx(0.1)
    assert targets.total_ratio([long, measured(trace=None)]) == pytest.approx(0.01), "only what has both"
    assert targets.total_ratio([measured(check=None)]) is None
    assert targets.corpus_target([long]).held is True and targets.corpus_target([short]).held is False


def test_one_program_over_its_limit_breaks_the_promise_of_each():
    kept = targets.each_program_target([measured(), measured(check=0.2)])
    assert (kept.measured, kept.held) == ("1 of 2", False)
    assert targets.each_program_target([measured(), measured()]).held is True
    assert targets.each_program_target([record.Record("a/b", "a")]).held is None, "nothing measured, nothing kept"


def test_time_per_equation_may_not_grow_with_the_program():
    small, large = measured(targets.SMALLEST, check=0.001, equations=1000), measured(targets.LARGEST, equations=10_000)
    for check, held in ((0.011, True), (0.013, False)):
        large.check = check
        (_, slope) = targets.unrolled_targets({small.name: small, large.name: large})
        assert slope.held is held, slope
    assert [t.held for t in targets.unrolled_targets({})] == [None, None]


def test_time_may_not_grow_with_the_arrays():
    points = [{"parameter": n, "check": seconds} for n, seconds in ((10**3, 1.0), (10**6, 1.2), (10**12, 1.3))]
    assert targets.size_target(points[:2]).held is True
    assert targets.size_target(points).held is False
    assert targets.size_target([]).held is None


def test_a_loop_around_the_others_costs_no_more_than_they_did():
    assert targets.nesting_target("for", [{"parameter": 3, "check": 3.0}, {"parameter": 6, "check": 7.0}]).held is True
    assert targets.nesting_target("for", [{"parameter": 3, "check": 3.0}, {"parameter": 6, "check": 9.0}]).held is False


def test_a_table_lines_up():
    text = tables.table(["name", "n"], [["a", "1"], ["longer", "100"]])
    header, rule, first, second = text.splitlines()
    assert len({len(line) for line in (header, rule, first, second)}) == 1
    assert rule.endswith(":|") or rule.rstrip(" |").endswith(":"), "numbers stand to the right"
    assert first.index("1") > header.index("n", 3) - 3 and second.startswith("| longer")


def test_numbers_are_shown_with_their_units():
    assert tables.seconds(0.00123) == "1.23 ms" and tables.seconds(2.5) == "2.50 s" and tables.seconds(None) == ""
    assert tables.size(250_000) == "0.2 MB" and tables.size(2_000) == "2 kB" and tables.size(None) == ""


def test_the_table_of_verdicts_counts_what_was_found():
    one = measured(accesses=3, verdicts={"safe": 2, "unknown": 1}, check=0.2)
    line = next(row for row in tables.verdict_table([one]).splitlines() if row.startswith("| family/program"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:3] == ["100", "3"] and cells[3] == "2" and "over" in cells and "20.0%" in cells
    assert "family" not in tables.verdict_table([record.Record("family/untraced", "family")])
