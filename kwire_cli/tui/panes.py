"""Panes of lines with a cursor on one of them. Only the lines on the screen are made, so a list may have any length.

All text is escaped here, and by `styled` for Textual's own widgets: bytes from a file cannot act on the terminal, and
are never read as markup.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kwire_cli.view.lines import STYLES, escaped
from kwire_cli.view.widths import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.events import Click

    from kwire_cli.tui.listing import Listing
    from kwire_cli.tui.turns import Turns
    from kwire_cli.view.lines import Line
    from kwire_cli.view.widths import Layout

STYLE_OF = {name: Style.parse(text) for name, text in STYLES.items()} | {
    "": Style(),
    "title": Style(bold=True),
    "odd": Style.parse("bold red"),
}
SHIFT = 8
"""Cells that lines are moved by at a time."""
MARK = 2
"""Cells before a row for signs."""
MAX_ROWS = 1024
"""Maximum number of rows that are kept after they were made."""


def styled(line: Line) -> Text:
    """Return a line for Textual's own widgets."""
    return Text.assemble(*[(escaped(text), STYLE_OF[style]) for text, style in line if text])


class Lines(ScrollView, can_focus=True):
    """Lines by number, from 0. A subclass has their number, `count`, and makes each of them, `line`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--cursor"}
    DEFAULT_CSS = """
    Lines { scrollbar-size-horizontal: 0; }
    Lines .lines--cursor { text-style: underline; background: $surface-lighten-1; }
    Lines:focus .lines--cursor { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1)", "up", show=False),
        Binding("down,j", "go(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "end(-1)", "first", show=False),
        Binding("end", "end(1)", "last", show=False),
        Binding("less_than_sign", "shift(-1)", "move left", show=False),
        Binding("greater_than_sign", "shift(1)", "move right", show=False),
    ]

    class Moved(Message):
        """The user has moved the cursor of a pane."""

        def __init__(self, pane: Lines) -> None:
            super().__init__()
            self.pane = pane

        @property
        def control(self) -> Lines:
            return self.pane

    def __init__(self, *, id: str) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self.cursor = 0
        self.shift = 0

    @property
    def count(self) -> int:
        raise NotImplementedError

    def line(self, number: int) -> Line:
        raise NotImplementedError

    def fit(self) -> None:
        """Take other lines, or more of them."""
        self.virtual_size = Size(max(self.scrollable_content_region.width, 1), self.count)
        self.cursor = max(0, min(self.cursor, self.count - 1))
        self.refresh()

    def on_resize(self) -> None:
        self.fit()

    def put(self, number: int) -> None:
        """Move the cursor and scroll to it, without a message."""
        self.cursor = max(0, min(number, self.count - 1))
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)
        self.refresh()

    def move(self, number: int) -> None:
        """Move the cursor as the user does."""
        before = self.cursor
        self.put(number)
        if self.cursor != before:
            self.post_message(self.Moved(self))

    def action_go(self, by: int) -> None:
        self.move(self.cursor + by)

    def action_page(self, by: int) -> None:
        self.move(self.cursor + by * max(self.scrollable_content_region.height - 1, 1))

    def action_end(self, way: int) -> None:
        self.move(0 if way < 0 else self.count - 1)

    def action_shift(self, by: int) -> None:
        self.shift = max(0, self.shift + by * SHIFT)
        self.refresh()

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y + self.scroll_offset.y < self.count:
            self.clicked(offset.x + self.shift, offset.y + self.scroll_offset.y)

    def clicked(self, column: int, number: int) -> None:  # noqa: ARG002 - for lines that have parts
        self.move(number)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        number = y + self.scroll_offset.y
        base = self.rich_style
        if number >= self.count:
            return Strip.blank(width, base)
        segments = [Segment(escaped(text), base + self.paint(style)) for text, style in self.line(number) if text]
        strip = Strip(segments).crop_extend(self.shift, self.shift + width, base)
        if not self.has_mark(number):
            return strip
        return strip.apply_style(self.get_component_rich_style("lines--cursor", partial=True))

    def has_mark(self, number: int) -> bool:
        """Return whether a line is shown as the line with the cursor."""
        return number == self.cursor

    def paint(self, style: str) -> Style:
        return STYLE_OF[style]


class ListPane(Lines):
    """Rows of a listing. If `follows`, a cursor on the last row stays there when rows are added."""

    def __init__(self, listing: Listing, turns: Turns, *, follows: bool) -> None:
        super().__init__(id="list")
        self.listing = listing
        self.follows = follows
        self.chosen: Sequence[int] | None = None
        """The numbers of the entries shown, in their order; None for all entries in the order of the file."""
        self.marked: set[int] = set()
        self._turns = turns
        self._cells: dict[int, Sequence[str]] = {}
        self._count_before = 0

    @property
    def count(self) -> int:
        return len(self.listing) if self.chosen is None else len(self.chosen)

    @property
    def number(self) -> int | None:
        """The number of the entry under the cursor."""
        return self._number_at(self.cursor) if self.count else None

    def _number_at(self, line: int) -> int:
        return line if self.chosen is None else self.chosen[line]

    def place_of(self, number: int) -> int | None:
        """Return the line of an entry; None if the filter leaves it out."""
        if self.chosen is None:
            return number if 0 <= number < self.count else None
        with suppress(ValueError):
            return self.chosen.index(number)
        return None

    def next_of(self, way: int, is_wanted: Callable[[int], bool]) -> int | None:
        """Return the next line below (`way` 1) or above (-1) whose entry is wanted."""
        lines = range(self.cursor + 1, self.count) if way > 0 else range(self.cursor - 1, -1, -1)
        for line in lines:
            if is_wanted(self._number_at(line)):
                return line
        return None

    def fit(self) -> None:
        was_last = self.cursor >= self._count_before - 1
        self._count_before = self.count
        super().fit()
        if self.follows and was_last:
            self.put(self.count - 1)

    def heading(self) -> str:
        text = "".join(text for text, _ in self._layout.heading())
        return " " * MARK + text[self.shift :]

    @property
    def _layout(self) -> Layout:
        return layout(self.listing.columns, room=self.scrollable_content_region.width - MARK)

    def line(self, number: int) -> Line:
        which = self._number_at(number)
        if which not in self._cells:
            if len(self._cells) >= MAX_ROWS:
                self._cells.clear()
            self._cells[which] = self.listing.cells(which)
        signs = ("!" if self.listing.is_odd(which) else " ") + ("*" if which in self.marked else " ")
        return [(signs, "odd"), *self._layout.row(self._cells[which])]

    def forget_rows(self) -> None:
        """Make rows again: names that they show are known now."""
        self._cells.clear()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        with self._turns:
            return super().render_lines(crop)
