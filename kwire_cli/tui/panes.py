"""What panes have in common: lines of which only those on the screen are made, with a cursor on one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kwire_cli.view.lines import STYLES, escaped

if TYPE_CHECKING:
    from textual.events import Click

    from kwire_cli.view.lines import Line

_PAINTS = {name: Style.parse(text) for name, text in STYLES.items()} | {"": Style(), "title": Style(bold=True), "odd": Style.parse("bold red")}
SHIFT = 8
"""Cells that a line is moved by at a time."""


class Lines(ScrollView, can_focus=True):
    """Lines by number, from 0. Those who make one say how many there are, and what each of them is."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--cursor", "lines--here"}
    DEFAULT_CSS = """
    Lines { scrollbar-size-horizontal: 0; scrollbar-size-vertical: 1; border: round $surface-lighten-3; border-title-style: bold; }
    Lines:focus { border: heavy $accent; }
    Lines .lines--cursor { text-style: underline; background: $surface-lighten-1; }
    Lines:focus .lines--cursor { text-style: reverse; }
    Lines .lines--here { text-style: reverse; }
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
            """The pane."""
            return self.pane

    def __init__(self, *, id: str) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self.cursor = 0
        self.shift = 0

    @property
    def count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def line(self, number: int) -> Line:
        """What one of them says."""
        raise NotImplementedError

    def fit(self) -> None:
        """There are other lines, or more of them."""
        self.virtual_size = Size(max(self.scrollable_content_region.width, 1), self.count)
        self.cursor = max(0, min(self.cursor, self.count - 1))
        self.refresh()

    def on_resize(self) -> None:
        """Lines may have another width now."""
        self.fit()

    def put(self, number: int) -> None:
        """Move the cursor without telling anybody, and make it seen."""
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
        """So many lines on."""
        self.move(self.cursor + by)

    def action_page(self, by: int) -> None:
        """So many screens on."""
        self.move(self.cursor + by * max(self.scrollable_content_region.height - 1, 1))

    def action_end(self, way: int) -> None:
        """To the first or the last."""
        self.move(0 if way < 0 else self.count - 1)

    def action_shift(self, by: int) -> None:
        """Show more of what is further right, or left."""
        self.shift = max(0, self.shift + by * SHIFT)
        self.refresh()

    def on_click(self, event: Click) -> None:
        """The mouse is a way to move the cursor."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.y + self.scroll_offset.y < self.count:
            self.clicked(offset.x + self.shift, offset.y + self.scroll_offset.y)

    def clicked(self, column: int, number: int) -> None:  # noqa: ARG002 - for those whose lines have parts
        """A line was clicked, in this column of it."""
        self.move(number)

    def render_line(self, y: int) -> Strip:
        """A line of the screen."""
        width, number = self.scrollable_content_region.width, y + self.scroll_offset.y
        base = self.rich_style
        if number >= self.count:
            return Strip.blank(width, base)
        pieces = self.line(number)
        segments = [Segment(escaped(text), base + self.paint(style)) for text, style in pieces if text]
        strip = Strip(segments).crop_extend(self.shift, self.shift + width, base)
        return strip.apply_style(self.get_component_rich_style("lines--cursor", partial=True)) if self.marks(number) else strip

    def marks(self, number: int) -> bool:
        """Whether a line is to be seen as the one with the cursor."""
        return number == self.cursor

    def paint(self, style: str) -> Style:
        """The look of a style of the views."""
        return _PAINTS[style]
