"""Panes of one frame or batch: its fields and its bytes.

Fields are Textual's tree; nodes are added when the row that contains them is opened. Anomalies precede the fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Tree

from kwire_cli.tui.look import TOP
from kwire_cli.tui.panes import Lines, styled
from kwire_cli.view.bounded_outline import MASK
from kwire_cli.view.lines import printable

if TYPE_CHECKING:
    from textual.widgets.tree import TreeNode

    from kwire_cli.tui.look import Look
    from kwire_cli.view.bounded_outline import Bytes
    from kwire_cli.view.lines import Line
    from kwire_cli.view.rows import Row

OPEN_ALL = 400
"""Number of fields up to which all are open at first."""
OPEN_DEPTH = 2
"""The depth down to which a longer tree is open at first."""


class BytesPane(Lines):
    """Lines of bytes of one buffer, in which the bytes of a field are highlighted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "scroll_up", "up", show=False),
        Binding("j", "scroll_down", "down", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="bytes")
        self.seen: Look | None = None
        self.buffer = 0
        self.lit = (0, 0, 0)

    @property
    def _bytes(self) -> Bytes | None:
        return self.seen.buffers[self.buffer] if self.seen and self.seen.buffers else None

    @property
    def row(self) -> int:
        width = self.scrollable_content_region.width - self._digits - 2
        return max((count for count in (32, 16, 8, 4) if 4 * count + 1 <= width), default=2)

    @property
    def _digits(self) -> int:
        return max(4, len(f"{self._bytes.end:x}")) if self._bytes else 4

    @property
    def count(self) -> int:
        return -(-len(self._bytes.data) // self.row) if self._bytes else 0

    def show(self, look: Look | None) -> None:
        self.seen = look
        self.lit = (0, 0, 0)
        self.border_subtitle = ""
        self._show_buffer(0)

    def _show_buffer(self, number: int) -> None:
        self.buffer = number
        buffer = self._bytes
        self.border_title = "Bytes"
        if buffer and (number or len(buffer.data) < buffer.size):
            cut = f", the first {len(buffer.data):,} of {buffer.size:,}" if len(buffer.data) < buffer.size else ""
            self.border_title = f"Bytes of {buffer.name}{cut}"
        self.fit()
        self.reveal(0)

    def light(self, row: Row) -> None:
        """Highlight the bytes of a field and scroll to them. Show what they cost."""
        if not self.seen or not self._bytes:
            return
        number = self.seen.outline.number(row)
        if number != self.buffer:
            self._show_buffer(number)
        buffer = self._bytes
        start, value, end = row.place
        self.lit = row.place
        prefix = f", {value - start:,} of them prefix" if value > start else ""
        self.border_subtitle = f"{end - start:,} of {buffer.size:,} bytes{prefix}"
        self.reveal(max(0, min((value if end > value else start) - buffer.at, len(buffer.data) - 1)) // self.row)

    def line(self, number: int) -> Line:
        buffer = self._bytes
        assert buffer  # noqa: S101 - for the type checker: without it there are no lines
        first = buffer.at + number * self.row
        last = min(first + self.row, buffer.end)
        cells = buffer.cells(first, last)
        styles = [self._style(offset) for offset in range(first, last)]
        line: Line = [(f"{first:0{self._digits}x}  ", "dim")]
        for i, (cell, style) in enumerate(zip(cells, styles, strict=True)):
            is_joined = i + 1 < len(styles) and styles[i + 1] == style
            line += [(cell, style), (" ", style if is_joined else "")]
        line.append(("   " * (self.row - len(cells)) + " ", ""))
        text = printable(buffer.data[first - buffer.at : last - buffer.at])
        line += [("*" if cell == MASK else char, style) for cell, char, style in zip(cells, text, styles, strict=True)]
        return line

    def _style(self, offset: int) -> str:
        start, value, end = self.lit
        if not start <= offset < end:
            return ""
        return "lit prefix" if offset < value else "lit"


class FieldsPane(Tree[int | None]):
    """The anomalies and the rows of a look; a node has the number of its row."""

    ICON_NODE = "▸ "
    ICON_NODE_EXPANDED = "▾ "
    DEFAULT_CSS = """
    FieldsPane { background: $background; padding: 0; overflow-x: hidden; }
    FieldsPane > .tree--cursor, FieldsPane:focus > .tree--cursor { color: $foreground; text-style: underline; }
    FieldsPane:focus > .tree--cursor { background: $background; text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "cursor_up", "up", show=False),
        Binding("j", "cursor_down", "down", show=False),
    ]

    def __init__(self) -> None:
        super().__init__("", data=TOP, id="fields")
        self.show_root = False
        self.show_guides = False
        self.guide_depth = 2
        self.seen: Look | None = None
        self._filled: set[int] = set()

    def show(self, look: Look | None) -> None:
        self.seen = look
        self.clear()
        self._filled.clear()
        for note in look.outline.anomalies if look else ():
            text = f"! {' '.join(filter(None, (note.code, note.path)))}: {note.detail or 'no bytes of it are there'}"
            self.root.add_leaf(styled([(text, "warning")]), look.row_of(note.path, note.offset) if look else None)
        self._fill(self.root)
        self.root.expand()
        self.scroll_home(animate=False)
        self.cursor_line = 0

    def _fill(self, node: TreeNode[int | None]) -> None:
        """Add the rows below a row, unless they were added before."""
        if self.seen is None or node.data is None or node.data in self._filled:
            return
        self._filled.add(node.data)
        is_small = len(self.seen.rows) <= OPEN_ALL
        for number in self.seen.parts.get(node.data, ()):
            has_parts = number in self.seen.parts
            child = node.add(styled(self._line(number)), number, allow_expand=has_parts)
            if has_parts and (is_small or self.seen.rows[number].depth < OPEN_DEPTH):
                self._fill(child)
                child.expand()

    def _line(self, number: int) -> Line:
        assert self.seen  # noqa: S101 - for the type checker
        row = self.seen.rows[number]
        value = [piece for piece in row.line if piece[0]]
        name = "dim" if row.name.startswith("(") else "name"
        if number in self.seen.parts:
            return [(row.name, name), ("  " if value else "", ""), *value]
        return [("  ", ""), (row.name, name), (": " if value else "", "dim"), *value]

    @property
    def row(self) -> Row | None:
        number = self.cursor_node.data if self.cursor_node else None
        return self.seen.rows[number] if self.seen and number is not None else None

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[int | None]) -> None:
        self._fill(event.node)
