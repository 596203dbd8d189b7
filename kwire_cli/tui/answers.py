"""The views of answers: a list of their rows, and below it all columns of the row under the cursor.

A thread answers a question when its view is first shown; later the same answer is shown.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.worker import get_current_worker

from kwire_cli.errors import KwireError
from kwire_cli.tui.answer_rows import Shown, detail_lines, frames_of
from kwire_cli.tui.panes import MARK, Lines

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kwire_cli.tui.answer_rows import Listed
    from kwire_cli.tui.look import View
    from kwire_cli.view.lines import Line
    from kwire_cli.view.widths import Layout


class AnswerPane(Lines):
    """The lines of an answer, with the cursor on one of them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "sort", show=False),
        Binding("enter", "open", "frames", show=False),
    ]

    class Opened(Message):
        """The user wants to see the frames of a row."""

        def __init__(self, frames: list[int]) -> None:
            super().__init__()
            self.frames = frames

    def __init__(self) -> None:
        super().__init__(id="answer")
        self.shown = Shown()
        self._layouts: dict[int, Layout] = {}
        self._width = 0

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self.shown.entries)

    def show(self, shown: Shown) -> None:
        """Show another answer, with the cursor on its first row."""
        self.shown = shown
        self._layouts.clear()
        self.fit()
        first = next((at for at, entry in enumerate(shown.entries) if entry.row is not None), 0)
        self.put(first)
        if first <= self.scrollable_content_region.height // 2:
            self.scroll_to(y=0, animate=False, force=True)

    @property
    def row(self) -> tuple[Listed, int] | None:
        """The table and the number of the row under the cursor."""
        if not self.count:
            return None
        entry = self.shown.entries[self.cursor]
        if entry.table is None or entry.row is None:
            return None
        return entry.table, entry.table.order[entry.row]

    def line(self, number: int) -> Line:
        """Return a line of the list, with a sign for errors."""
        entry = self.shown.entries[number]
        if entry.table is None:
            return entry.text
        columns = self._layout(entry.table)
        if entry.row is None:
            return [(" " * MARK, ""), *columns.heading()]
        row = entry.table.order[entry.row]
        return [("! " if entry.table.is_error(row) else "  ", "odd"), *columns.row(entry.table.cells(row))]

    def _layout(self, table: Listed) -> Layout:
        width = max(self.scrollable_content_region.width - MARK, 1)
        if width != self._width:
            self._layouts.clear()
            self._width = width
        if id(table) not in self._layouts:
            self._layouts[id(table)] = table.layout(width)
        return self._layouts[id(table)]

    def to_error(self, way: int) -> None:
        """Go to the next row with an error, or to the one before."""
        numbers = range(self.cursor + 1, self.count) if way > 0 else range(self.cursor - 1, -1, -1)
        for number in numbers:
            entry = self.shown.entries[number]
            if entry.table is not None and entry.row is not None and entry.table.is_error(entry.table.order[entry.row]):
                self.move(number)
                return
        self.notify(f"no row with an error {'below' if way > 0 else 'above'}", markup=False)

    def action_open(self) -> None:
        """Show the frames that the row under the cursor names."""
        if frames := frames_of(*self.row) if self.row else []:
            self.post_message(self.Opened(frames))
        else:
            self.notify("this row names no frame", severity="warning", markup=False)

    def action_sort(self) -> None:
        """Sort the table under the cursor by its next column."""
        table = self.shown.entries[self.cursor].table if self.count else None
        if table is None:
            return
        heading = table.sort()
        self.notify(f"sorted by {heading}" if heading else "in the order of the answer", markup=False)
        self.refresh()
        self.post_message(self.Moved(self))


class DetailPane(Lines):
    """All columns of one row of an answer, as lines of text."""

    def __init__(self) -> None:
        super().__init__(id="detail")
        self.border_title = "Row"
        self._row: tuple[Listed, int] | None = None
        self._lines: list[Line] = []

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self._lines)

    def line(self, number: int) -> Line:
        """Return a line of the text."""
        return self._lines[number]

    def show(self, row: tuple[Listed, int] | None) -> None:
        """Show another row."""
        self._row = row
        self.on_resize()
        self.put(0)

    def on_resize(self) -> None:
        """Fold the texts to another width."""
        width = max(self.scrollable_content_region.width, 20)
        self._lines = [] if self._row is None else list(detail_lines(*self._row, width))
        self.fit()


class AnswerView(Vertical):
    """The answer to one of several questions."""

    def __init__(self) -> None:
        super().__init__(id="answers")
        self.pane = AnswerPane()
        self.detail = DetailPane()
        self._answers: dict[str, Shown] = {}
        self._shown = ""

    def compose(self) -> ComposeResult:
        """Yield the list and the detail."""
        yield self.pane
        yield self.detail

    def show(self, view: View) -> None:
        """Show the answer to a question, and ask it if that was not done yet."""
        self._shown = view.name
        if view.name not in self._answers:
            self._answers[view.name] = Shown.text("reading ...")
            self.run_worker(partial(self._fetch, view), thread=True, group="ask")
        self._show()
        self.pane.focus()

    def _fetch(self, view: View) -> None:
        worker = get_current_worker()
        try:
            shown = Shown.of(view.ask(lambda: worker.is_cancelled))
        except (KwireError, OSError) as error:
            shown = Shown.text(str(error))
        if not worker.is_cancelled:
            self._answers[view.name] = shown
            self.app.call_from_thread(self._show)

    def _show(self) -> None:
        self.pane.show(self._answers[self._shown])
        self.detail.show(self.pane.row)

    @on(Lines.Moved)
    def moved(self, event: Lines.Moved) -> None:
        """Show the detail of another row."""
        if event.pane is self.pane:
            self.detail.show(self.pane.row)
