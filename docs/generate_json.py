"""Writes docs/json.md from the schema: python docs/generate_json.py"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCHEMA = HERE.parent / "src" / "redzone" / "report" / "schema.json"

HEAD = """\
# JSON

`redzone check --format json` (or `--json FILE` beside another format) writes one *run*: everything that one command
checked. `report.to_json()` is one *report* of it, as Python values; `report.save("report.json")` writes a run of one.
Every other format can be made from it: [`redzone report FILE.json`](report.md#from-json) does.

`schema` is the version of the format, now 1. It rises when a field goes away or changes its meaning; new fields may
come without, so a reader should pass over what it does not know. The JSON Schema (2020-12) is part of the package:

```python
import importlib.resources
import json

schema = json.loads((importlib.resources.files("redzone.report") / "schema.json").read_text("utf-8"))
print(schema["$defs"]["run"]["properties"]["schema"])
```

```text
{'const': 1}
```

A *number* is a number, or text where it is a symbolic size (`"n - 1"`) or lies beyond 2⁵³, where other readers of JSON
would lose digits. Files are absolute paths; `root` is what to show them from. Lines and columns count from 1, and the
end of a span is the column after its last.
"""
ORDER = (
    "run", "report", "access", "location", "span", "bounds", "condition", "cause", "witness", "loss", "link",
    "pattern", "buffer", "lint", "suppression",
)  # fmt: skip
TITLES = {
    "link": "link of a chain",
    "lint": "lint (warning)",
    "bounds": "bounds of a dimension",
}


def json_page() -> str:
    """The page that documents every field."""
    defs = json.loads(SCHEMA.read_text("utf-8"))["$defs"]
    parts = [HEAD]
    for name in ORDER:
        part = defs[name]
        parts.append(f"## {TITLES.get(name, name).capitalize()}\n")
        if part.get("description"):
            parts.append(f"{part['description']}\n")
        parts.append("| field | type | meaning |\n|---|---|---|")
        parts += [_row(field, value) for field, value in part["properties"].items()]
        parts.append("")
    parts.append("A *term* has `factor`, `element` and `leaf`.")
    return "\n".join(parts) + "\n"


def _row(field: str, value: dict[str, Any]) -> str:
    meaning = value.get("description", "").replace("|", "\\|")
    return f"| `{field}` | {_type(value)} | {meaning} |"


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        return str(value["$ref"].rpartition("/")[2])
    if "anyOf" in value:
        return " or ".join(_type(one) for one in value["anyOf"])
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    kind = value["type"]
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        inner = value["items"]
        fields = inner.get("properties")
        names = f"objects with {', '.join(f'`{name}`' for name in fields)}" if fields else _type(inner)
        return f"array of {names}"
    if kind == "object":
        return f"object of {_type(value['additionalProperties'])}" if "additionalProperties" in value else "object"
    return str(kind)


if __name__ == "__main__":
    (HERE / "json.md").write_text(json_page(), "utf-8")
