"""Source lines in the style of modern compilers: the expression underlined, and what is the matter beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from redzone.report.place import Location, Span

_GUTTER = "blue"
#: What stands before a mark that is moved into view.
_KEPT = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Label:
    """A part of a line, and what to say about it."""

    start: int
    end: int
    text: str
    style: str
    mark: str = "^"


@dataclasses.dataclass(frozen=True, slots=True)
class Excerpt:
    """A source line between two empty ones, with labels below it; fits any width."""

    line: int
    text: str
    labels: tuple[Label, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.lines(options.max_width)

    def lines(self, width: int) -> Iterator[Text]:
        """The lines of the excerpt, none wider than `width`."""
        gutter = " " * len(str(self.line))
        room = max(20, width - len(gutter) - 3)
        text, labels = self._in_view(room)
        yield Text(f"{gutter} |", style=_GUTTER)
        source = Text(f"{self.line} | ", style=_GUTTER, no_wrap=True, overflow="ellipsis")
        yield source.append(text, style="default not bold")
        for line in _below(text, labels, room):
            yield Text(f"{gutter} | ", style=_GUTTER, no_wrap=True, overflow="ellipsis").append_text(line)
        if not labels:
            yield Text(f"{gutter} |", style=_GUTTER)

    def _in_view(self, room: int) -> tuple[str, tuple[Label, ...]]:
        """The line without its indentation, and without its beginning where the marks would lie outside."""
        cut = len(self.text) - len(self.text.lstrip())
        text = self.text.replace("\t", " ")
        first = min((label.start for label in self.labels), default=cut)
        last = max((label.end for label in self.labels), default=cut)
        begin = ""
        if cell_len(text[cut:last]) > room and first - cut > _KEPT:
            begin, cut = "…", first - _KEPT
        moved = len(begin) - cut
        length = len(begin) + len(text) - cut
        shifted = (
            dataclasses.replace(label, start=max(0, label.start + moved), end=min(length, label.end + moved))
            for label in self.labels
        )
        return begin + text[cut:].rstrip(), tuple(label for label in shifted if label.start < label.end)


def _below(text: str, labels: tuple[Label, ...], room: int) -> Iterator[Text]:
    """The line of marks with the last label beside it, then the other labels, each under its mark."""
    if not labels:
        return
    marks = Text()
    ordered = sorted(labels, key=lambda label: label.start)
    for label in ordered:
        marks.append(" " * (_column(text, label.start) - marks.cell_len))
        marks.append(label.mark * max(1, _column(text, label.end) - marks.cell_len), style=label.style)
    last = ordered[-1]
    beside = marks.cell_len + 1 + cell_len(last.text) <= room
    if beside and last.text:
        marks.append(f" {last.text}", style=last.style)
    yield marks
    waiting = [label for label in (ordered[:-1] if beside else ordered) if label.text]
    if len(waiting) > 1 or (waiting and beside):
        yield _bars(text, waiting)
    while waiting:
        label = waiting.pop()
        line = _bars(text, waiting)
        # A label that would not fit under its mark starts further left.
        column = max(line.cell_len + 1 if waiting else 0, min(_column(text, label.start), room - cell_len(label.text)))
        yield line.append(" " * (column - line.cell_len)).append(label.text, style=label.style)


def _bars(text: str, labels: list[Label]) -> Text:
    line = Text()
    for label in labels:
        line.append(" " * (_column(text, label.start) - line.cell_len)).append("|", style=label.style)
    return line


def _column(text: str, characters: int) -> int:
    return cell_len(text[:characters])


def on_line(span: Span | None, line: int, text: str) -> tuple[int, int] | None:
    """The part of a span that lies on one line, in characters of its text."""
    if span is None or not span.line <= line <= span.end_line:
        return None
    start = span.column if span.line == line else len(text) - len(text.lstrip())
    end = span.end_column if span.end_line == line else len(text.rstrip())
    return (start, end) if 0 <= start < end <= len(text) else None


def array_on_line(place: Location, index: Span | None, line: int, text: str) -> tuple[int, int] | None:
    """The name of the array in `array[index]` or `array.at[index]`, where it stands on the same line."""
    if place.span is None or index is None or not place.span.line == index.line == line:
        return None
    start, end = place.span.column, index.column
    before = text[start:end]
    if "(" in before or not before.rstrip().endswith("["):
        return None
    name = before.rstrip()[:-1].rstrip().removesuffix(".at")
    return (start, start + len(name)) if name.strip() else None
