"""Panes of one frame or batch: its bytes, its fields and their costs.

Fields are Textual's tree; nodes are added when the row that contains them is opened. Costs are its list of options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Tree

from kwire_cli.tui.look import TOP
from kwire_cli.tui.panes import Lines, styled
from kwire_cli.view.bounded_outline import MASK
from kwire_cli.view.lines import printable

if TYPE_CHECKING:
    from textual.widgets.tree import TreeNode

    from kwire_cli.facts.costs.ledger import Row
    from kwire_cli.tui.look import Look
    from kwire_cli.view.bounded_outline import Bytes
    from kwire_cli.view.lines import Line
    from kwire_cli.view.rows import Row as OutlineRow

_STYLES = {
    "value": Style.parse("bold reverse"),
    "prefix": Style.parse("bold underline"),
    "here": Style.parse("bold black on bright_yellow"),
}
"""Bytes of the field's value, of its length, count or marker, and the byte under the cursor."""
OPEN_ALL = 400
"""Number of fields up to which all are open at first."""
OPEN_DEPTH = 2
"""The depth down to which a longer tree is open at first."""


class BytesPane(Lines):
    """Lines of bytes of one buffer. The cursor is on one of the bytes, at an index of the buffer's data."""

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
        width = self.scrollable_content_region.width - self._digits - 2
        return max((count for count in (32, 16, 8, 4) if 4 * count + 1 <= width), default=2)

    @property
    def _digits(self) -> int:
        return max(4, len(f"{self._bytes.end:x}")) if self._bytes else 4

    @property
    def count(self) -> int:
        return -(-len(self._bytes.data) // self.row) if self._bytes else 0

    @property
    def offset_at(self) -> int:
        return self._bytes.at + self.at if self._bytes else 0

    def show(self, look: Look | None) -> None:
        self.seen = look
        self.at = 0
        self.lit = (0, 0, 0)
        self._show_buffer(0)
        self.put(0)

    def _show_buffer(self, number: int) -> None:
        self.buffer = number
        buffer = self._bytes
        self.border_title = "Bytes"
        if buffer and (number or len(buffer.data) < buffer.size):
            cut = f", the first {len(buffer.data):,} of {buffer.size:,}" if len(buffer.data) < buffer.size else ""
            self.border_title = f"Bytes of {buffer.name}{cut}"
        self.fit()

    def light(self, row: OutlineRow, *, follow: bool = True) -> None:
        """Highlight the bytes of a field; with `follow` the cursor moves to the first of them."""
        if not self.seen or not self._bytes:
            return
        number = self.seen.outline.number(row)
        if number != self.buffer:
            self._show_buffer(number)
        buffer = self._bytes
        start, value, end = row.place
        self.lit = row.place
        if follow:
            self.at = max(0, min((value if end > value else start) - buffer.at, len(buffer.data) - 1))
            self.put(self.at // self.row)
        self.refresh()

    def on_resize(self) -> None:
        self.fit()
        self.put(self.at // self.row)

    def line(self, number: int) -> Line:
        buffer = self._bytes
        assert buffer  # noqa: S101 - for the type checker: without it there are no lines
        first = number * self.row
        last = min(first + self.row, len(buffer.data))
        cells = buffer.cells(buffer.at + first, buffer.at + last)
        styles = [self._style(buffer.at + i, i) for i in range(first, last)]
        line: Line = [(f"{buffer.at + first:0{self._digits}x}  ", "dim")]
        for i, (cell, style) in enumerate(zip(cells, styles, strict=True)):
            is_joined = i + 1 < len(styles) and styles[i + 1] == style and style in {"value", "prefix"}
            line += [(cell, style), (" ", style if is_joined else "")]
        line.append(("   " * (self.row - len(cells)) + " ", ""))
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
        return _STYLES.get(style) or super().paint(style)

    def has_mark(self, number: int) -> bool:  # noqa: ARG002 - the byte is marked, not its line
        return False

    def move(self, number: int) -> None:
        self._to(max(0, min(number, self.count - 1)) * self.row + self.at % self.row)

    def action_step(self, by: int) -> None:
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
        cell = column - self._digits - 2
        text_start = 3 * self.row + 1
        index = cell // 3 if cell < text_start - 1 else cell - text_start
        if 0 <= index < self.row:
            self._to(number * self.row + index)


class FieldsPane(Tree[int]):
    """The rows of a look; a node has the number of its row."""

    ICON_NODE = "▸ "
    ICON_NODE_EXPANDED = "▾ "
    COMPONENT_CLASSES: ClassVar[set[str]] = set()
    DEFAULT_CSS = """
    FieldsPane { background: $background; padding: 0; overflow-x: hidden; }
    FieldsPane > .tree--cursor, FieldsPane:focus > .tree--cursor { color: $foreground; text-style: underline; }
    FieldsPane:focus > .tree--cursor { background: $background; text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "cursor_up", "up", show=False),
        Binding("j", "cursor_down", "down", show=False),
        Binding("enter", "toggle_node", "open or close", show=False),
        Binding("left", "close", "close", show=False),
        Binding("right", "open", "open", show=False),
        Binding("less_than_sign", "scroll_left", "move left", show=False),
        Binding("greater_than_sign", "scroll_right", "move right", show=False),
    ]

    def __init__(self) -> None:
        super().__init__("", data=TOP, id="fields")
        self.show_root = False
        self.auto_expand = False
        self.show_guides = False
        self.guide_depth = 2
        self.seen: Look | None = None
        self._node_of: dict[int, TreeNode[int]] = {}

    def show(self, look: Look | None) -> None:
        self.seen = look
        self.clear()
        self._node_of = {TOP: self.root}
        self._open(self.root)
        self.scroll_home(animate=False)
        self.cursor_line = 0

    def _open(self, node: TreeNode[int]) -> None:
        self._fill(node)
        node.expand()

    def _fill(self, node: TreeNode[int]) -> None:
        if self.seen is None or node.data is None or node.children:
            return
        is_small = len(self.seen.rows) <= OPEN_ALL
        for number in self.seen.parts.get(node.data, ()):
            has_parts = number in self.seen.parts
            child = node.add(styled(self._line(number)), number, allow_expand=has_parts)
            self._node_of[number] = child
            if has_parts and (is_small or self.seen.rows[number].depth < OPEN_DEPTH):
                self._open(child)

    def _line(self, number: int) -> Line:
        assert self.seen  # noqa: S101 - for the type checker
        row = self.seen.rows[number]
        value = [piece for piece in row.line if piece[0]]
        name = "dim" if row.name.startswith("(") else "name"
        if number in self.seen.parts:
            return [(row.name, name), ("  " if value else "", ""), *value]
        return [("  ", ""), (row.name, name), (": " if value else "", "dim"), *value]

    @property
    def number(self) -> int | None:
        return self.cursor_node.data if self.cursor_node else None

    @property
    def row(self) -> OutlineRow | None:
        return self.seen.rows[self.number] if self.seen and self.number is not None else None

    def select(self, number: int) -> None:
        """Put the cursor on a row, and open the rows that contain it."""
        if self.seen is None:
            return
        above = [number]
        while above[-1] != TOP:
            above.append(self.seen.parents[above[-1]])
        for each in reversed(above[1:]):
            self._open(self._node_of[each])
        if self.last_line >= 0:  # which numbers the lines again
            self.move_cursor(self._node_of[number])

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[int]) -> None:
        self._fill(event.node)

    def action_close(self) -> None:
        """Close a row, or go to the row that contains it."""
        node = self.cursor_node
        if node and node.is_expanded:
            node.collapse()
        elif node and node.parent and node.parent is not self.root:
            self.move_cursor(node.parent)

    def action_open(self) -> None:
        """Open a row, or go into it."""
        node = self.cursor_node
        if node and node.is_expanded:
            self.action_cursor_down()
        elif node and node.allow_expand:
            self._open(node)


class CostsPane(OptionList):
    """One option for each field: its bytes, including lengths, counts and markers, and their share."""

    DEFAULT_CSS = """
    CostsPane { background: $background; padding: 0; text-wrap: nowrap; text-overflow: ellipsis; }
    CostsPane > .option-list--option { padding: 0; }
    CostsPane > .option-list--option-highlighted { text-style: underline; }
    CostsPane:focus > .option-list--option-highlighted { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "cursor_up", "up", show=False),
        Binding("j", "cursor_down", "down", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="costs", markup=False)
        self.rows: list[Row] = []

    def show(self, look: Look | None) -> None:
        self.rows = sorted(look.costs if look else (), key=lambda row: -(row.prefix_bytes + row.value_bytes))
        total = sum(row.prefix_bytes + row.value_bytes for row in self.rows)
        prefixes = sum(row.prefix_bytes for row in self.rows)
        self.border_title = f"Costs: {total:,} bytes, {prefixes:,} of them prefixes" if self.rows else "Costs"
        self.clear_options()
        self.add_options([styled(_line(row, total)) for row in self.rows])

    @property
    def path(self) -> str | None:
        return None if self.highlighted is None else self.rows[self.highlighted].path

    def select(self, path: str) -> None:
        """Put the cursor on a field, if it has costs."""
        for number, row in enumerate(self.rows):
            if row.path == path:
                self.highlighted = number
                return


def _line(row: Row, total: int) -> Line:
    size = row.prefix_bytes + row.value_bytes
    share = size / max(total, 1)
    prefix = " prefix" if row.prefix_bytes else ""
    if row.prefix_bytes and row.value_bytes:
        prefix = f" +{row.prefix_bytes} prefix"
    return [
        (f"{size:>7,}", "number"),
        (f" {share:>6.1%} ", "dim"),
        (row.path, "name"),
        (f" in {row.count}" if row.count > 1 else "", "dim"),
        (prefix, "dim"),
    ]
