"""Write docs/rules.md from the table of codes."""

from __future__ import annotations

from pathlib import Path

from redzone.report.codes import CODES

FAMILIES = {
    "RZ1": "Reads",
    "RZ2": "Writes",
    "RZ3": "Index arithmetic",
    "RZ4": "Kernels",
    "RZ5": "Opaque calls",
    "RZ9": "The checker itself",
}

HEAD = """\
# Rule codes

Written from the table in `src/redzone/report/codes.py` by `make docs`; do not edit here.

A code never changes its meaning. Silence one on a line with `# redzone: ignore[RZ101]`, everywhere with
`ignore = ["RZ101"]` in `[tool.redzone]`; a family is named by its beginning, such as `RZ1`.
"""


def rules_page() -> str:
    """The whole page."""
    parts = [HEAD]
    for prefix, title in FAMILIES.items():
        codes = [code for code in CODES.values() if code.code.startswith(prefix)]
        if codes:
            parts.append(f"## {title}\n")
            parts.append("| code | name | meaning | what to do |\n|---|---|---|---|")
            parts += [f"| `{c.code}` | {c.name} | {c.meaning} | {c.fix} |" for c in codes]
            parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("rules.md").write_text(rules_page())
