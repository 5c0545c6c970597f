"""The rule codes: stable, in families, and each with something to do about it."""

from __future__ import annotations

import re

from redzone.report.codes import CODES


def test_codes_are_well_formed() -> None:
    for key, code in CODES.items():
        assert key == code.code
        assert re.fullmatch(r"RZ[123459]\d\d", key)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code.name)
        assert code.meaning.endswith(".") and code.fix.endswith(".")


def test_names_are_distinct() -> None:
    assert len({code.name for code in CODES.values()}) == len(CODES)
