"""Each case gets the verdicts on its lines, and no run within its contract contradicts them."""

from __future__ import annotations

import collections
import dataclasses
import importlib
import pkgutil

import jax
import pytest

import redzone
import tests.cases
from tests.cases import CASES
from tests.fuzz.check import examine

for module in pkgutil.iter_modules(tests.cases.__path__):
    if not module.name.startswith("test_"):
        importlib.import_module(f"tests.cases.{module.name}")

pytestmark = pytest.mark.sources


def spec(argument):
    return redzone.Spec(argument.shape, argument.dtype, min=argument.low, max=argument.high)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_verdicts_on_the_lines(case):
    report = redzone.check(case.function, *map(spec, case.arguments))
    expected = case.expected()
    assert expected, "a case without a verdict on any line"
    found = collections.defaultdict(set)
    for access in report.accesses:
        found[access.location.line].add(str(access.verdict))
    assert {line: frozenset(v) for line, v in found.items()} == expected, str(report)


@pytest.mark.parametrize("case", [c for c in CASES if c.requires is not None], ids=lambda c: c.name)
def test_conditions_as_a_person_would_write_them(case):
    report = redzone.check(case.function, *map(spec, case.arguments))
    assert tuple(map(str, report.requires)) == case.requires
    for access in report.accesses:
        if access.verdict == "requires":
            assert access.witness is not None, access.message


@dataclasses.dataclass(frozen=True)
class _Fixed:
    """A case as the fuzz harness takes it."""

    function: object
    arguments: tuple
    seed: int = 0
    related: bool = False

    def inputs(self):
        return []

    def trace(self):
        return jax.make_jaxpr(self.function)(*(a.struct() for a in self.arguments))


@pytest.mark.parametrize("case", [c for c in CASES if c.runs], ids=lambda c: c.name)
def test_no_run_contradicts_it(case):
    outcome = examine(_Fixed(case.function, case.arguments), runs=12)
    assert outcome.failure is None, str(outcome.failure)
