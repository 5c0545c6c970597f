"""Put the last measurements of guarded programs into docs/guard.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.guarded.table import summary, table  # noqa: E402

BEGIN = "<!-- guarded: written by `make bench`, do not edit -->"
END = "<!-- end of guarded -->"


def main() -> int:
    page = Path(__file__).with_name("guard.md")
    parts = []
    for file in sorted((ROOT / "bench" / "results").glob("guarded-*.json")):
        found = json.loads(file.read_text())
        title = f"### {found['device']}"
        where = f"{found['date']}, JAX {found['jax']}, Python {found['python']}, data ×{found['scale']}."
        parts.append(f"{title}\n\n{where}\n\n{table(found['rows'])}\n\n{summary(found['rows'])}")
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN!r} … {END!r}")
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
