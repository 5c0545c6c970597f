"""The report as JSON: versioned, complete, and made of plain values only."""

from __future__ import annotations

import json

import jax
import numpy as np
from jax import export

import redzone
from redzone.report.json import plain, report_as_json
from redzone.report.model import DimBounds, Lint, Location, Loss, Suppression, Witness
from tests.report.samples import access, report, requires, unsafe


def test_everything_survives_a_round_trip() -> None:
    comment = Suppression(Location("m.py", 3, "", "x"), ("RZ101",), True)
    whole = report(unsafe(), requires(), access(), unmodelled={"fft": 1}, suppressions=(comment,))
    parsed = json.loads(json.dumps(whole.to_json()))
    assert parsed == whole.to_json()
    assert parsed["schema"] == 1
    assert parsed["ok"] is False
    assert parsed["counts"]["unsafe"] == 1
    first = parsed["accesses"][0]
    assert first["verdict"] == "unsafe" and first["rule"] == "RZ101"
    assert first["location"] == {
        "file": "/project/model.py",
        "line": 12,
        "function": "lookup",
        "text": "return table[row]",
        "span": None,
        "index": None,
    }
    assert first["bounds"] == [{"dim": 0, "lo": 0, "hi": 16, "min": 0, "max": 15}]
    assert first["witness"] == {"index": [16], "path": "iteration 3", "shown": "position = 160"}
    assert first["pattern"] == {"kind": "contiguous", "strides": [], "bytes": 64, "low": 0, "high": 63}
    assert parsed["requires"][0]["text"] == "0 ≤ indices ≤ 15"
    assert parsed["suppressions"][0]["used"] is True
    assert parsed["unmodelled"] == {"fft": 1}


def test_causes_list_their_accesses() -> None:
    parsed = json.loads(
        json.dumps(report(requires(), requires(), origins=("x: argument 1", "i: argument 2")).to_json())
    )
    (cause,) = parsed["causes"]
    assert cause["text"] == "0 ≤ indices ≤ 15" and cause["origin"] == "i: argument 2"
    assert cause["accesses"] == [{"file": "/project/model.py", "line": 12, "count": 2, "rule": "RZ102"}]
    assert (cause["condition"]["min"], cause["condition"]["max"]) == (0, 15)


def test_the_witness_of_a_condition_is_searched_for_when_asked() -> None:
    shown = report(requires(_witness=lambda: Witness((), (16,), "", "indices=16")))
    assert shown.to_json()["accesses"][0]["witness"] is None
    assert shown.to_json(witnesses=True)["accesses"][0]["witness"]["index"] == [16]


def test_lints_and_losses() -> None:
    place = Location("m.py", 3, "f", "x")
    lint, loss = Lint("RZ304", "message", "fix", place), Loss("add", place, ("n",), "redzone.assume(i, min=0, max=1)")
    parsed = json.loads(json.dumps(report(unsafe(_lints=(lint,), _loss=loss)).to_json()))
    (told,) = parsed["lints"]
    assert told == parsed["accesses"][0]["lints"][0]
    assert told["code"] == "RZ304" and told["location"]["line"] == 3 and told["suppressed"] is False
    assert parsed["accesses"][0]["loss"]["arguments"] == ["n"]


def test_symbolic_sizes_become_text() -> None:
    (n,) = export.symbolic_shape("n")
    whole = report_as_json(report(unsafe(shape=(n, 3), _bounds=(DimBounds(0, 0, n, 0, n - 1),))))
    json.dumps(whole)
    assert whole["accesses"][0]["shape"] == ["n", 3]
    assert whole["accesses"][0]["bounds"][0]["max"] == "n - 1"


def test_plain_values() -> None:
    assert plain(np.int64(3)) == 3 and type(plain(np.int64(3))) is int
    assert plain(np.bool_(True)) is True
    assert plain(2**64) == str(2**64)
    assert plain(float("nan")) == "nan"
    assert plain(np.arange(3)) == [0, 1, 2]
    assert plain({1: (2, None)}) == {"1": [2, None]}
    assert plain(object).startswith("<class")


def test_a_dimension_that_numpy_counted() -> None:
    whole = report_as_json(report(unsafe(_bounds=(DimBounds(np.int64(1), np.int64(0), 3, 0, 3),))))
    assert json.loads(json.dumps(whole))["accesses"][0]["bounds"][0]["dim"] == 1


def test_positions_that_came_as_numpys_numbers() -> None:
    def picks(x: jax.Array, i: jax.Array) -> jax.Array:
        zero = np.int64(0)
        numbers = jax.lax.GatherDimensionNumbers((), collapsed_slice_dims=(zero,), start_index_map=(zero,))
        return jax.lax.gather(x, i[:, None], numbers, (np.int64(1),), mode="promise_in_bounds")

    found = redzone.check(picks, redzone.Spec((9,), "float32"), redzone.Spec((4,), "int32", min=0, max=9))
    (bounds,) = json.loads(json.dumps(found.to_json()))["accesses"][0]["bounds"]
    assert bounds == {"dim": 0, "lo": 0, "hi": 9, "min": 0, "max": 8}
