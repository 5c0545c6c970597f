"""The JSON keeps its schema, and the schema names every field."""

from __future__ import annotations

import copy
import importlib.resources
import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import jsonschema
import pytest

import redzone
from redzone.report.json import SCHEMA, run_as_json
from tests.report.samples import full_run, report, unsafe

PAGE = Path(__file__).parents[2] / "docs" / "json.md"


def schema() -> dict[str, Any]:
    text = (importlib.resources.files("redzone.report") / "schema.json").read_text("utf-8")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def closed(part: Any) -> Any:
    """The schema with nothing allowed that it does not name."""
    if isinstance(part, list):
        return [closed(item) for item in part]
    if not isinstance(part, dict):
        return part
    inner = {key: closed(value) for key, value in part.items()}
    if "properties" in part and "additionalProperties" not in part:
        inner["additionalProperties"] = False
    return inner


def faults(data: Any, kind: str, strict: bool = True) -> list[str]:
    whole = closed(schema()) if strict else schema()
    del whole["anyOf"]
    whole["$ref"] = f"#/$defs/{kind}"
    return [f"{e.json_path}: {e.message}" for e in jsonschema.Draft202012Validator(whole).iter_errors(data)]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["$defs"]["run"]["properties"]["schema"] == {"const": SCHEMA}


def test_a_run_keeps_it() -> None:
    assert faults(run_as_json(full_run(witnesses=True)), "run") == []


def test_a_report_keeps_it() -> None:
    assert faults(report(unsafe()).to_json(), "report") == []


def test_checked_functions_keep_it() -> None:
    def f(x, i, t):  # type: ignore[no-untyped-def]
        return x.at[i].set(0.0), x[jnp.cumsum(i)], x[(t * 16).astype(int)], x[jnp.clip(i, 0, 8)]

    n = redzone.Spec(("n",), "float32")
    for size in (jnp.zeros(8), n):
        assert faults(redzone.check(f, size, jnp.zeros(3, int), jnp.zeros(3)).to_json(witnesses=True), "report") == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d.pop("equations"), "'equations' is a required property"),
        (lambda d: d["accesses"][0].update(verdict="fine"), "'fine' is not one of"),
        (lambda d: d["accesses"][0]["location"].update(line="3"), "'3' is not of type 'integer'"),
        (lambda d: d["accesses"][0].update(more=1), "Additional properties are not allowed"),
        (lambda d: d.update(schema=2), "1 was expected"),
    ],
)
def test_what_does_not_keep_it_is_told(change: Any, told: str) -> None:
    data = copy.deepcopy(report(unsafe()).to_json())
    change(data)
    assert any(told in fault for fault in faults(data, "report"))


def test_new_fields_may_come() -> None:
    data = report(unsafe()).to_json()
    data["later"] = 1
    assert faults(data, "report", strict=False) == []


def test_the_page_names_every_field() -> None:
    page = PAGE.read_text()
    for name, part in schema()["$defs"].items():
        for field in part.get("properties", {}):
            assert f"`{field}`" in page, f"{name}.{field} is not on docs/json.md"
