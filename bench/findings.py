"""What redzone says of real libraries: verdicts by library, what decided them, and every `unsafe`.

python bench/findings.py [--corpus FILE] [--write]      --write puts the tables into docs/findings.md

Each access is counted once. Programs of `example`, which are written to show something, are left out.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import warnings
from collections import Counter, defaultdict

from corpora import programs_of

from redzone.api import check_traced
from redzone.frontend.trace import trace
from redzone.report.model import Access, Verdict

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "findings.md"
BEGIN, END = "<!-- findings: written by bench/findings.py, do not edit -->", "<!-- end of findings -->"
LEFT_OUT = ("example", "examples")


def main() -> int:
    options = _arguments()
    warnings.simplefilter("ignore")
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    deciders: Counter[str] = Counter()
    unsafe: list[tuple[str, Access]] = []
    failed: list[str] = []
    programs = broken = 0
    for name, program in programs_of(options.corpus).items():
        library = name.partition("/")[0]
        if library in LEFT_OUT:
            continue
        try:
            fn, args = program.make()
            traced = trace(fn, tuple(args), {})
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}")
            continue
        programs += 1
        for access in check_traced(traced).accesses:
            verdicts[library][str(access.verdict)] += 1
            deciders[f"{access.verdict} by {access.decided_by or 'nothing'}"] += 1
            if access.verdict is Verdict.UNSAFE:
                unsafe.append((name, access))
            broken += access.verdict is Verdict.REQUIRES and access.witness is not None
    text = document(programs, verdicts, deciders, unsafe, failed, broken)
    print(text)
    if options.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
    return 0


def document(
    programs: int,
    verdicts: dict[str, Counter[str]],
    deciders: Counter[str],
    unsafe: list[tuple[str, Access]],
    failed: list[str],
    broken: int,
) -> str:
    """The tables, as Markdown."""
    columns = [str(v) for v in Verdict]
    total = sum(verdicts.values(), Counter[str]())
    count = sum(total.values())
    lines = [
        f"{programs} programs trace, with {count:,} accesses; {total['unknown'] / max(count, 1):.1%} are `unknown`."
    ]
    lines.append(
        f"Of {total['requires']} `requires`, {broken} come with an input that breaks them, and leaves, when asked."
    )
    if failed:
        lines.append(f"{len(failed)} did not trace here: {', '.join(failed)}.")
    lines += ["", "| library | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    for library, found in verdicts.items():
        lines.append(f"| {library} | " + " | ".join(str(found[c] or "") for c in columns) + " |")
    lines.append("| all | " + " | ".join(str(total[c]) for c in columns) + " |")
    lines += ["", "| decided | accesses |", "|---|---:|"]
    lines += [f"| {how} | {n} |" for how, n in deciders.most_common()]
    lines += ["", "Every `unsafe`:", ""]
    lines += [f"- `{name}`: {access.message} (`{access.location.text[:90]}`)" for name, access in unsafe] or ["- none"]
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="", help="a corpus file of its own, instead of this project's")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/findings.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
