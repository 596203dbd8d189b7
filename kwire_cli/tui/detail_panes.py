"""Panes of one frame or batch: bytes, fields, costs."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType

from kwire_cli.tui.panes import Lines
from kwire_cli.view.bounded_outline import MASK
from kwire_cli.view.lines import printable

if TYPE_CHECKING:
    from kwire_cli.facts.costs.ledger import Row
    from kwire_cli.tui.look import Look
    from kwire_cli.view.bounded_outline import Bytes
    from kwire_cli.view.lines import Line
    from kwire_cli.view.rows import Row as OutlineRow


# The bytes of a frame or batch in hex and as text, with those of a field lit up.

_PAINTS = {
    "value": Style.parse("bold reverse"),
    "prefix": Style.parse("bold underline"),
    "here": Style.parse("bold black on bright_yellow"),
}
"""Bytes of the field's value, of its length, count or marker, and the byte under the cursor."""


class BytesPane(Lines):
    """Lines are rows of bytes of one buffer; the cursor is on one of the bytes, at an index of the buffer's data."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "byte before", show=False),
        Binding("right", "step(1)", "next byte", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="bytes")
        self.seen: Look | None = None
        self.buffer = 0
        self.at = 0
        self.lit = (0, 0, 0)

    @property
    def _bytes(self) -> Bytes | None:
        return self.seen.buffers[self.buffer] if self.seen and self.seen.buffers else None

    @property
    def row(self) -> int:
        """Bytes in a line: as many as have room."""
        width = self.scrollable_content_region.width - self._digits - 2
        return next((many for many in (32, 16, 8, 4) if 4 * many + 1 <= width), 2)

    @property
    def _digits(self) -> int:
        return max(4, len(f"{self._bytes.end:x}")) if self._bytes else 4

    @property
    def count(self) -> int:
        """The number of lines that the bytes take."""
        return -(-len(self._bytes.data) // self.row) if self._bytes else 0

    @property
    def offset_at(self) -> int:
        """The offset of the byte under the cursor."""
        return self._bytes.at + self.at if self._bytes else 0

    def show(self, look: Look | None) -> None:
        """Another frame or batch."""
        self.seen, self.buffer, self.at, self.lit = look, 0, 0, (0, 0, 0)
        self._retitle()
        self.fit()
        self.put(0)

    def _retitle(self) -> None:
        buffer = self._bytes
        cut = (
            f", the first {len(buffer.data):,} of {buffer.size:,}" if buffer and len(buffer.data) < buffer.size else ""
        )
        self.border_title = f"Bytes of {buffer.name}{cut}" if buffer and (self.buffer or cut) else "Bytes"

    def light(self, row: OutlineRow, *, follow: bool = True) -> None:
        """Light up the bytes of a field; with `follow` the cursor goes to the first of them."""
        if not self.seen or not self._bytes:
            return
        number = self.seen.outline.number(row)
        if number != self.buffer:
            self.buffer = number
            self._retitle()
            self.fit()
        buffer = self._bytes
        self.lit = start, value, end = row.place
        if follow:
            self.at = max(0, min((value if end > value else start) - buffer.at, len(buffer.data) - 1))
            self.put(self.at // self.row)
        self.refresh()

    def on_resize(self) -> None:
        """Lines have another number of bytes."""
        self.fit()
        self.put(self.at // self.row)

    def line(self, number: int) -> Line:
        """Offset, hex digits, text."""
        buffer, row = self._bytes, self.row
        assert buffer  # noqa: S101 - for the type checker: without it there are no lines
        first = number * row
        last = min(first + row, len(buffer.data))
        cells = buffer.cells(buffer.at + first, buffer.at + last)
        styles = [self._style(buffer.at + i, i) for i in range(first, last)]
        line: Line = [(f"{buffer.at + first:0{self._digits}x}  ", "dim")]
        for i, (cell, style) in enumerate(zip(cells, styles, strict=True)):
            joined = i + 1 < len(styles) and styles[i + 1] == style and style in {"value", "prefix"}
            line += [(cell, style), (" ", style if joined else "")]
        line.append(("   " * (row - len(cells)) + " ", ""))
        text = printable(buffer.data[first:last])
        line += [("*" if cell == MASK else char, style) for cell, char, style in zip(cells, text, styles, strict=True)]
        return line

    def _style(self, offset: int, index: int) -> str:
        start, value, end = self.lit
        if index == self.at and self.has_focus:
            return "here"
        if not start <= offset < end:
            return ""
        return "prefix" if offset < value else "value"

    def paint(self, style: str) -> Style:
        """Return the look of a style. Highlighted bytes look the same everywhere."""
        return _PAINTS.get(style) or super().paint(style)

    def marks(self, number: int) -> bool:  # noqa: ARG002 - as in other panes
        """The byte is marked, not its line."""
        return False

    def move(self, number: int) -> None:
        """To another line, in the same column."""
        self._to(max(0, min(number, self.count - 1)) * self.row + self.at % self.row)

    def action_step(self, by: int) -> None:
        """So many bytes on."""
        self._to(self.at + by)

    def _to(self, index: int) -> None:
        if not self._bytes:
            return
        before = self.at
        self.at = max(0, min(index, len(self._bytes.data) - 1))
        self.put(self.at // self.row)
        if self.at != before:
            self.post_message(self.Moved(self))

    def clicked(self, column: int, number: int) -> None:
        """A byte was clicked, as digits or as text."""
        column -= self._digits + 2
        hex_width = 3 * self.row + 1
        cell = column // 3 if column < hex_width - 1 else column - hex_width
        if 0 <= cell < self.row:
            self._to(number * self.row + cell)


# What the fields of a frame or batch cost, the dearest first.

BAR = 10
"""Cells of a bar that is all of the bytes."""


WIDE = 50
"""Cells of a line from which on there is room for bars."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


class CostsPane(Lines):
    """A line for each field: all of its bytes, those of lengths, counts and markers among them, and their share."""

    def __init__(self) -> None:
        super().__init__(id="costs")
        self.rows: list[Row] = []
        self.total = 0

    @property
    def count(self) -> int:
        """The number of fields."""
        return len(self.rows)

    def show(self, look: Look | None) -> None:
        """Another frame or batch."""
        self.rows = sorted(look.costs if look else (), key=lambda row: -(row.prefix_bytes + row.value_bytes))
        self.total = sum(row.prefix_bytes + row.value_bytes for row in self.rows)
        prefixes = sum(row.prefix_bytes for row in self.rows)
        self.border_title = f"Costs: {self.total:,} bytes, {prefixes:,} of them prefixes" if self.rows else "Costs"
        self.fit()
        self.put(0)

    @property
    def path(self) -> str | None:
        """The field under the cursor."""
        return self.rows[self.cursor].path if self.rows else None

    def select(self, path: str) -> None:
        """Put the cursor on a field, where it has a line."""
        for number, row in enumerate(self.rows):
            if row.path == path:
                self.put(number)
                return

    def line(self, number: int) -> Line:
        """Bytes, share, bar, prefix bytes, path."""
        row = self.rows[number]
        size = row.prefix_bytes + row.value_bytes
        share = size / max(self.total, 1)
        eighths = round(share * BAR * 8)
        bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        bar_text = f"{bar:<{BAR}} " if self.scrollable_content_region.width >= WIDE else ""
        prefix = (
            f" +{row.prefix_bytes} prefix"
            if row.prefix_bytes and row.value_bytes
            else " prefix"
            if row.prefix_bytes
            else ""
        )
        times = f" in {row.count}" if row.count > 1 else ""
        return [
            (f"{size:>7,}", "number"),
            (f" {share:>6.1%} ", "dim"),
            (bar_text, "meaning"),
            (row.path, "name"),
            (times, "dim"),
            (prefix, "dim"),
        ]


# The fields of a frame or batch as a tree that opens and closes.

OPEN_ALL = 400
"""Fields up to which all are open at first."""


OPEN_DEPTH = 2
"""The depth to which a longer tree is open at first."""


class FieldsPane(Lines):
    """Lines are those rows of a look that are within open ones."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "close", "close", show=False),
        Binding("right", "open", "open", show=False),
        Binding("space,enter", "fold", "open or close", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="fields")
        self.seen: Look | None = None
        self._folded: set[int] = set()
        self._shown: list[int] = []

    @property
    def count(self) -> int:
        """The number of visible rows."""
        return len(self._shown)

    def show(self, look: Look | None) -> None:
        """Another frame or batch."""
        self.seen, self.cursor, self.shift = look, 0, 0
        rows = look.rows if look else []
        small = len(rows) <= OPEN_ALL
        self._folded = (
            set()
            if small or not look
            else {i for i, row in enumerate(rows) if row.depth >= OPEN_DEPTH and look.has_parts[i]}
        )
        self._list()
        self.put(0)

    def _list(self) -> None:
        numbers: list[int] = []
        below: int | None = None
        for number, row in enumerate(self.seen.rows if self.seen else ()):
            if below is not None and row.depth > below:
                continue
            below = row.depth if number in self._folded else None
            numbers.append(number)
        self._shown = numbers
        self.fit()

    @property
    def number(self) -> int | None:
        """The number of the row under the cursor."""
        return self._shown[self.cursor] if self._shown else None

    @property
    def row(self) -> OutlineRow | None:
        """The row under the cursor."""
        return self.seen.rows[self._shown[self.cursor]] if self.seen and self._shown else None

    def select(self, number: int) -> None:
        """Put the cursor on a row, and open what it is in."""
        if not self.seen:
            return
        above = self.seen.parents[number]
        closed = False
        while above >= 0:
            closed = closed or above in self._folded
            self._folded.discard(above)
            above = self.seen.parents[above]
        if closed:
            self._list()
        self.put(bisect_left(self._shown, number))

    def line(self, number: int) -> Line:
        """A row of the outline, indented by its depth."""
        assert self.seen  # noqa: S101 - for the type checker: without it there are no lines
        which = self._shown[number]
        row = self.seen.rows[which]
        value = [piece for piece in row.line if piece[0]]
        sign = ("▸ " if which in self._folded else "▾ ") if self.seen.has_parts[which] else "  "
        name = "dim" if row.name.startswith("(") else "name"
        between = ": " if value and not self.seen.has_parts[which] else "  " if value else ""
        return [("  " * row.depth + sign, "dim"), (row.name, name), (between, "dim"), *value]

    def action_close(self) -> None:
        """Close a row, or go to the one that it is in."""
        number = self.number
        if self.seen is None or number is None:
            return
        if self.seen.has_parts[number] and number not in self._folded:
            self._folded.add(number)
            self._list()
        elif (above := self.seen.parents[number]) >= 0:
            self.move(bisect_left(self._shown, above))

    def action_open(self) -> None:
        """Open a row, or go into it."""
        number = self.number
        if self.seen is None or number is None or not self.seen.has_parts[number]:
            return
        if number in self._folded:
            self._folded.discard(number)
            self._list()
        else:
            self.move(self.cursor + 1)

    def action_fold(self) -> None:
        """Open or close a row."""
        number = self.number
        if self.seen is None or number is None or not self.seen.has_parts[number]:
            return
        self._folded ^= {number}
        self._list()

    def clicked(self, column: int, number: int) -> None:
        """A click on the sign opens and closes."""
        self.move(number)
        row = self.row
        if row and 2 * row.depth <= column < 2 * row.depth + 2:
            self.action_fold()
