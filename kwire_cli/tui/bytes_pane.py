"""The bytes of a frame or batch in hex and as text, with those of a field lit up."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType

from kwire_cli.tui.look import MASK
from kwire_cli.tui.panes import Lines
from kwire_cli.view.lines import printable

if TYPE_CHECKING:
    from kwire_cli.tui.look import Buffer, Look, Node
    from kwire_cli.view.lines import Line

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
    def _bytes(self) -> Buffer | None:
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
        """How many lines the bytes take."""
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
        found = self._bytes
        cut = f", the first {len(found.data):,} of {found.size:,}" if found and len(found.data) < found.size else ""
        self.border_title = f"Bytes of {found.name}{cut}" if found and (self.buffer or cut) else "Bytes"

    def light(self, node: Node, *, follow: bool = True) -> None:
        """Light up the bytes of a field; with `follow` the cursor goes to the first of them."""
        if not self._bytes:
            return
        if node.buffer != self.buffer:
            self.buffer = node.buffer
            self._retitle()
            self.fit()
        found = self._bytes
        self.lit = node.start, node.value, node.end
        if follow:
            self.at = max(0, min((node.value if node.end > node.value else node.start) - found.at, len(found.data) - 1))
            self.put(self.at // self.row)
        self.refresh()

    def on_resize(self) -> None:
        """Lines have another number of bytes."""
        self.fit()
        self.put(self.at // self.row)

    def line(self, number: int) -> Line:
        """Offset, hex digits, text."""
        found, row = self._bytes, self.row
        assert found  # noqa: S101 - for the type checker: without it there are no lines
        first = number * row
        last = min(first + row, len(found.data))
        cells = found.cells(found.at + first, found.at + last)
        styles = [self._style(found.at + i, i) for i in range(first, last)]
        line: Line = [(f"{found.at + first:0{self._digits}x}  ", "dim")]
        for i, (cell, style) in enumerate(zip(cells, styles, strict=True)):
            joined = i + 1 < len(styles) and styles[i + 1] == style and style in {"value", "prefix"}
            line += [(cell, style), (" ", style if joined else "")]
        line.append(("   " * (row - len(cells)) + " ", ""))
        text = printable(found.data[first:last])
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
        """What is lit up looks the same everywhere."""
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
