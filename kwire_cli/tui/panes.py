"""Panes of lines. Only the lines on the screen are made, so a list may have any length.

All text is escaped here, and by `styled` for Textual's own widgets: bytes from a file cannot act on the terminal, and
are never read as markup.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
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
    "lit": Style.parse("bold reverse"),
    "lit prefix": Style.parse("bold underline"),
}
MARK = 2
"""Cells before a row for signs."""
MAX_ROWS = 1024
"""Maximum number of rows that are kept after they were made."""


def styled(line: Line) -> Text:
    """Return a line for Textual's own widgets."""
    return Text.assemble(*[(escaped(text), STYLE_OF[style]) for text, style in line if text])


class Lines(ScrollView, can_focus=True):
    """Lines by number, from 0. A subclass has their number, `count`, and makes each of them, `line`."""

    DEFAULT_CSS = "Lines { scrollbar-size-horizontal: 0; }"

    @property
    def count(self) -> int:
        raise NotImplementedError

    def line(self, number: int) -> Line:
        raise NotImplementedError

    def fit(self) -> None:
        """Take other lines, or more of them."""
        self.virtual_size = Size(max(self.scrollable_content_region.width, 1), self.count)
        self.refresh()

    def on_resize(self) -> None:
        self.fit()

    def reveal(self, number: int) -> None:
        """Scroll to a line."""
        self.scroll_to_region(Region(0, number, 1, 1), animate=False, force=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        number = y + self.scroll_offset.y
        base = self.rich_style
        if number >= self.count:
            return Strip.blank(width, base)
        segments = [Segment(escaped(text), base + STYLE_OF[style]) for text, style in self.line(number) if text]
        return Strip(segments).adjust_cell_length(width, base)


class ListPane(Lines):
    """Rows of a listing. If `follows`, a cursor on the last row stays there when rows are added."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"list--cursor"}
    DEFAULT_CSS = """
    ListPane .list--cursor { text-style: underline; background: $surface-lighten-1; }
    ListPane:focus .list--cursor { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1)", "up", show=False),
        Binding("down,j", "go(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "end(-1)", "first", show=False),
        Binding("end", "end(1)", "last", show=False),
    ]

    class Moved(Message):
        """The user has moved the cursor."""

    def __init__(self, listing: Listing, turns: Turns, *, follows: bool) -> None:
        super().__init__(id="list")
        self.listing = listing
        self.follows = follows
        self.cursor = 0
        self.chosen: Sequence[int] | None = None
        """The numbers of the entries shown, in their order; None for all entries in the order of the file."""
        self.marked: set[int] = set()
        self._turns = turns
        self._cells = lru_cache(MAX_ROWS)(listing.cells)
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

    def put(self, line: int) -> None:
        """Move the cursor and scroll to it, without a message."""
        self.cursor = max(0, min(line, self.count - 1))
        self.reveal(self.cursor)

    def move(self, line: int) -> None:
        """Move the cursor as the user does."""
        before = self.cursor
        self.put(line)
        if self.cursor != before:
            self.post_message(self.Moved())

    def action_go(self, by: int) -> None:
        self.move(self.cursor + by)

    def action_page(self, by: int) -> None:
        self.move(self.cursor + by * max(self.scrollable_content_region.height - 1, 1))

    def action_end(self, way: int) -> None:
        self.move(0 if way < 0 else self.count - 1)

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y + self.scroll_offset.y < self.count:
            self.move(offset.y + self.scroll_offset.y)

    def fit(self) -> None:
        was_last = self.cursor >= self._count_before - 1
        self._count_before = self.count
        super().fit()
        self.cursor = max(0, min(self.cursor, self.count - 1))
        if self.follows and was_last:
            self.put(self.count - 1)

    def heading(self) -> str:
        return " " * MARK + "".join(text for text, _ in self._layout.heading())

    @property
    def _layout(self) -> Layout:
        return layout(self.listing.columns, room=self.scrollable_content_region.width - MARK)

    def line(self, number: int) -> Line:
        which = self._number_at(number)
        signs = ("!" if self.listing.is_error(which) else " ") + ("*" if which in self.marked else " ")
        return [(signs, "warning"), *self._layout.row(self._cells(which))]

    def forget_rows(self) -> None:
        """Make rows again: names that they show are known now."""
        self._cells.cache_clear()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if y + self.scroll_offset.y != self.cursor or not self.count:
            return strip
        return strip.apply_style(self.get_component_rich_style("list--cursor", partial=True))

    def render_lines(self, crop: Region) -> list[Strip]:
        with self._turns.lock:
            return super().render_lines(crop)
