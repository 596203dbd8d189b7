"""Panes of the terminal interface: lists and help."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kwire_cli.view.lines import STYLES, escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.events import Click

    from kwire_cli.tui.look import Listing, Turns
    from kwire_cli.view.lines import Line


# What panes have in common: lines of which only those on the screen are made, with a cursor on one of them.

_PAINTS = {name: Style.parse(text) for name, text in STYLES.items()} | {
    "": Style(),
    "title": Style(bold=True),
    "odd": Style.parse("bold red"),
}


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
    """  # noqa: E501
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
        """The number of lines."""
        raise NotImplementedError

    def line(self, number: int) -> Line:
        """Return the content of a line."""
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
        return (
            strip.apply_style(self.get_component_rich_style("lines--cursor", partial=True))
            if self.marks(number)
            else strip
        )

    def marks(self, number: int) -> bool:
        """Return whether a line is shown as the line with the cursor."""
        return number == self.cursor

    def paint(self, style: str) -> Style:
        """The look of a style of the views."""
        return _PAINTS[style]


# The list of frames or batches, all of them or those that match a filter.

MOST_ROWS = 1024
"""Rows that are kept once they were made."""


LATER = 0.1
"""Seconds until a row is tried again."""
MARK = 2
"""Cells before a row, for the mark of what is odd."""


class ListPane(Lines):
    """Rows of a listing, made while nobody else has the `turn`. `chosen` are the numbers of those that match a filter;
    None for all.
    """

    def __init__(self, listing: Listing, turn: Turns) -> None:
        super().__init__(id="list")
        self.listing, self._turn = listing, turn
        self.chosen: Sequence[int] | None = None
        self.marked: set[int] = set()
        self._rows: dict[tuple[int, int], Line] = {}
        self._has_turn = False

    @property
    def count(self) -> int:
        """The number of entries shown."""
        return len(self.listing) if self.chosen is None else len(self.chosen)

    @property
    def number(self) -> int | None:
        """The number of the one under the cursor."""
        if not self.count:
            return None
        return self.cursor if self.chosen is None else self.chosen[self.cursor]

    def heading(self) -> str:
        """The names of the columns."""
        text = "".join(text for text, _ in self.listing.heading(self.width))
        return " " * MARK + text[self.shift :]

    @property
    def width(self) -> int:
        """Cells that a row has."""
        return self.scrollable_content_region.width - MARK

    def line(self, number: int) -> Line:
        """A row, with a sign for anomalies and one for a mark."""
        which = number if self.chosen is None else self.chosen[number]
        signs = ("!" if self.listing.is_odd(which) else " ") + ("*" if which in self.marked else " ")
        return [(signs, "odd"), *self._row(which)]

    def _row(self, which: int) -> Line:
        """A row, made once; a mark for one that can't be made now, and will be later."""
        key = which, self.width
        row = self._rows.get(key)
        if row is None and self._has_turn:
            if len(self._rows) >= MOST_ROWS:
                self._rows.clear()
            row = self._rows[key] = self.listing.row(which, self.width)
        if row is None:
            self.set_timer(LATER, self.refresh)
            return [("…", "dim")]
        return row

    def forget(self) -> None:
        """Rows may say more now."""
        self._rows.clear()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """All rows of the screen in one turn."""
        with self._turn.attempt() as self._has_turn:
            return super().render_lines(crop)

    def place_of(self, number: int) -> int | None:
        """The line of a frame; None where the filter leaves it out."""
        if self.chosen is None:
            return number if 0 <= number < self.count else None
        at = bisect_left(self.chosen, number)
        return at if at < len(self.chosen) and self.chosen[at] == number else None

    def next_odd(self, way: int) -> int | None:
        """The next line, or the one before where `way` is -1, that is odd."""
        lines = range(self.cursor + 1, self.count) if way > 0 else range(self.cursor - 1, -1, -1)
        odd = self.listing.is_odd
        if self.chosen is None:
            return next((line for line in lines if odd(line)), None)
        return next((line for line in lines if odd(self.chosen[line])), None)


# The help screen: what each key does.

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Everywhere",
        (
            ("Tab, Shift+Tab", "next pane, pane before"),
            ("↑ ↓ PgUp PgDn Home End", "move; j and k too, and the mouse"),
            ("< >", "show more of what is right, or left"),
            ("1 to 6", "the views: frames or batches, then answers to questions about the file"),
            (": or Ctrl+P", "all commands, by the first letters"),
            ("e, E", "next error; error before"),
            ("a, A", "next anomaly, in this frame and then in others; frame with one before"),
            ("r", "from a request to its response, and back"),
            ("/", "filter, as in kwire decode --filter; an empty one shows all again"),
            ("g", "go to a frame by number, to a batch by offset or @position"),
            ("f", "all fields and bytes of what is large, not only the first"),
            ("c", "costs: to their pane, or in place of the bytes where it is narrow"),
            ("+ -", "a longer or shorter list"),
            ("m, w", "mark a frame; write the packets of marked or filtered frames to a capture"),
            ("?, F1", "this help"),
            ("q", "quit"),
        ),
    ),
    (
        "Copy",
        (
            ("x, X", "the field, the whole frame or batch, as hex"),
            ("y, J", "the field, the whole frame or batch, as JSON"),
        ),
    ),
    (
        "Panes",
        (
            ("Answers", "Enter shows the frames of a row, s sorts by the next column, Escape leaves"),
            ("Fields", "← closes, → opens, Space does either; the field's bytes and cost light up"),
            ("Bytes", "← → a byte; its field is selected in the tree"),
            ("Costs", "Enter goes to the next field with this path in the tree"),
        ),
    ),
    (
        "Signs",
        (
            ("!", "this frame or batch has anomalies, this row an error"),
            ("*", "this frame is marked"),
            ("**", "a secret; kwire tui --show-secrets shows it"),
        ),
    ),
)


class HelpLines(Lines):
    """The keys, one a line."""

    def __init__(self) -> None:
        super().__init__(id="help")
        self.border_title = "Help: Escape closes it"
        self._lines: list[Line] = []
        for title, rows in KEYS:
            self._lines += [[], [(title, "title")]] if self._lines else [[(title, "title")]]
            self._lines += [[(f"  {keys:<24}", "number"), (meaning, "")] for keys, meaning in rows]

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self._lines)

    def line(self, number: int) -> Line:
        """One of them."""
        return self._lines[number]

    def on_mount(self) -> None:
        """They can be scrolled at once."""
        self.fit()
        self.focus()


class Help(ModalScreen[None]):
    """Over what was there."""

    CSS = """
    Help { align: center middle; }
    #help { width: 90%; max-width: 100; height: 80%; max-height: 32; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        """The lines."""
        yield HelpLines()
