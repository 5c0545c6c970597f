"""Put the tables of the last `make bench` into docs/performance.md."""

from __future__ import annotations

import sys
from pathlib import Path

BEGIN = "<!-- bench: written by `make bench`, do not edit -->"
END = "<!-- end of bench -->"


def with_tables(page: str, tables: str) -> str:
    """The page with everything between the two marks replaced."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN!r} … {END!r}")
    # The page has its own title; the results' become sections of it.
    tables = "\n".join("#" + line if line.startswith("#") else line for line in tables.strip().splitlines())
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


def main() -> int:
    page = Path(__file__).with_name("performance.md")
    results = page.parents[1] / "bench" / "results" / "latest.md"
    if not results.is_file():
        print(f"{results} is not there: run `make bench` first", file=sys.stderr)
        return 1
    page.write_text(with_tables(page.read_text(), results.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
