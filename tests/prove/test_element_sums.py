"""Numbers have one name only if they are equal wherever they are looked at."""

from __future__ import annotations

import pytest

from redzone.domains.affine import Atom, Linear
from redzone.prove.element_sums import _numbers_name
from redzone.prove.pieces import EVERYWHERE

pytestmark = pytest.mark.sources

a, b = Atom("a", -9, 9), Atom("b", -9, 9)
one, other = Linear(0, {a: 1}), Linear(0, {b: 1})


def upto(number, limit):
    return EVERYWHERE.where(Linear(limit) - number)


def above(number, limit):
    return EVERYWHERE.where(number - limit - 1)


def test_cases_that_exclude_each_other_say_what_a_number_is():
    cases = [(upto(one, 2), one), (above(one, 2), Linear(2))]
    assert _numbers_name(cases) == _numbers_name(cases[::-1]) is not None


def test_other_limits_or_other_values_are_other_numbers():
    names = [
        _numbers_name([(upto(one, limit), value), (above(one, limit), Linear(2))])
        for limit in (2, 3)
        for value in (one, other)
    ]
    assert len(set(names)) == 4


def test_cases_that_may_both_hold_say_nothing():
    assert _numbers_name([(EVERYWHERE, one), (EVERYWHERE, Linear(2))]) is None
    assert _numbers_name([(upto(one, 3), one), (above(one, 2), Linear(2))]) is None
    assert _numbers_name([(upto(one, 2), one), (above(other, 2), Linear(2))]) is None


def test_one_case_is_the_number():
    assert _numbers_name([(EVERYWHERE, one)]) == one.key()
    assert _numbers_name([]) is None
