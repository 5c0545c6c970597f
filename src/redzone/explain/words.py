"""Numbers as a person reads them, and columns that line up."""

from __future__ import annotations

from collections.abc import Sequence


def seconds_as_text(seconds: float) -> str:
    """A duration in the unit a person would pick."""
    size = abs(seconds)
    if size >= 100:
        return f"{seconds:.0f} s"
    if size >= 1:
        return f"{seconds:.2f} s"
    if size >= 1e-3:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.0f} µs"


def share_as_text(part: float, whole: float) -> str:
    """A part of a whole in percent, with as many digits as say something."""
    if whole <= 0:
        return "–"
    percent = 100 * part / whole
    if percent and percent < 0.01:
        return "< 0.01 %"
    return f"{percent:.0f} %" if percent >= 99.5 else f"{percent:.1f} %" if percent >= 1 else f"{percent:.2g} %"


def bytes_as_text(size: float) -> str:
    """A number of bytes in thousands."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def counted(number: int, one: str, many: str = "") -> str:
    """A number and its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def columns(rows: Sequence[Sequence[str]], left: int = 1, indent: str = "  ") -> list[str]:
    """Rows as lines with their cells aligned: the first `left` to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


def folded(text: str, width: int = 80, indent: str = "", first: str | None = None) -> list[str]:
    """A paragraph in lines; `first` starts the first of them, `indent` the others."""
    import textwrap

    return textwrap.wrap(text, width, initial_indent=indent if first is None else first, subsequent_indent=indent)
