"""The views of answers: one of their tables, and below it all columns of the row under the cursor.

A thread answers a question when its view is first shown; later the same answer is shown. While a file is followed, the
question is repeated each time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import DataTable, Static
from textual.worker import get_current_worker

from kwire_cli.answer import Answer, Facts, Note, Outline, Table, words
from kwire_cli.errors import KwireError
from kwire_cli.tui.answer_rows import detail_of, frames_of, is_error, shown_columns, sorted_rows, tables_of
from kwire_cli.view.terminal import answer_text

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kwire_cli.answer import Row
    from kwire_cli.tui.listing import View


class AnswerView(Vertical):
    """The answer to one of several questions."""

    DEFAULT_CSS = """
    #summary { height: auto; max-height: 4; padding: 0 1; }
    #answer { height: 7fr; min-height: 5; background: $background; }
    #answer > .datatable--header { background: $background; }
    #detail { height: 5fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "table", "Table", show=False),
        Binding("k", "go(-1)", "up", show=False),
        Binding("j", "go(1)", "down", show=False),
    ]

    class Opened(Message):
        """The user wants to see the frames of a row."""

        def __init__(self, frames: list[int]) -> None:
            super().__init__()
            self.frames = frames

    def __init__(self, *, follows: bool) -> None:
        super().__init__(id="answers")
        self.summary = Static(id="summary", markup=False)
        self.grid: DataTable[Any] = DataTable(id="answer", cursor_type="row")
        self.detail = Static(markup=False)
        self.tables: list[Table] = []
        self.table = 0
        self.sorted_by: int | None = None
        self.order: list[int] = []
        self._follows = follows
        self._answers: dict[str, Answer] = {}
        self._view = ""

    def compose(self) -> ComposeResult:
        yield self.summary
        yield self.grid
        with VerticalScroll(id="detail") as scroll:
            scroll.border_title = "Row"
            yield self.detail

    def show(self, view: View) -> None:
        """Show the answer to a question, and ask it if it was not asked."""
        self._view = view.name
        if self._follows or view.name not in self._answers:
            self._answers[view.name] = Answer("", [Note("reading ...")])
            self.run_worker(partial(self._fetch, view), thread=True, group=view.name, exclusive=True)
        self._show()
        self.grid.focus()

    def _fetch(self, view: View) -> None:
        worker = get_current_worker()
        try:
            answer = view.ask(lambda: worker.is_cancelled)
        except (KwireError, OSError) as error:
            answer = Answer("", [Note(str(error))])
        if not worker.is_cancelled:
            self._answers[view.name] = answer
            self.app.call_from_thread(self._show)

    def _show(self) -> None:
        answer = self._answers[self._view]
        self.tables = tables_of(answer)
        kinds = (Note, Facts) if self.tables else (Note, Facts, Outline)
        texts = [block for block in answer.blocks if isinstance(block, kinds)]
        self.summary.update(Text(answer_text(Answer("", texts), max(self.size.width - 2, 20))))
        self._show_table(0)

    def _show_table(self, number: int) -> None:
        self.table = number
        names = [table.title or words(table.name) for table in self.tables]
        titles = [Text(name, "bold" if at == number else "dim") for at, name in enumerate(names)]
        self.grid.border_subtitle = Text("  ").join([Text("t:"), *titles]) if len(titles) > 1 else ""
        self._fill(None)

    def _fill(self, sorted_by: int | None) -> None:
        """Show the rows of the table, in its order or sorted by a column."""
        self.grid.clear(columns=True)
        self.sorted_by = sorted_by
        self.order = []
        if self.tables:
            table = self.tables[self.table]
            rows = list(table.rows)
            columns = shown_columns(table)
            self.order = list(range(len(rows))) if sorted_by is None else sorted_rows(rows, columns[sorted_by])
            self.grid.add_column("", width=1)
            for column in columns:
                width = max(text.cell_len for text in (column.heading, *column.cells))
                self.grid.add_column(column.heading, width=width)
            for number in self.order:
                sign = Text("!" if is_error(table, rows[number]) else "", "bold red")
                self.grid.add_row(sign, *[column.cells[number] for column in columns])
        self.show_detail()

    @property
    def row(self) -> Row | None:
        return list(self.tables[self.table].rows)[self.order[self.grid.cursor_row]] if self.order else None

    def show_detail(self) -> None:
        width = max(self.size.width - 6, 20)
        self.detail.update(Text(detail_of(self.tables[self.table], self.row, width) if self.row else ""))

    def on_resize(self) -> None:
        self.show_detail()

    def on_data_table_row_highlighted(self) -> None:
        self.show_detail()

    def on_data_table_row_selected(self) -> None:
        if frames := frames_of(self.tables[self.table], self.row) if self.row else []:
            self.post_message(self.Opened(frames))
        else:
            self.notify("this row names no frame", severity="warning", markup=False)

    def action_go(self, by: int) -> None:
        self.grid.move_cursor(row=self.grid.cursor_row + by)

    def action_table(self) -> None:
        if self.tables:
            self._show_table((self.table + 1) % len(self.tables))

    def sort(self) -> None:
        """Sort by the next column; after the last one, rows are in the order of the answer again."""
        columns = shown_columns(self.tables[self.table]) if self.tables else []
        place = 0 if self.sorted_by is None else self.sorted_by + 1
        self._fill(place if place < len(columns) else None)
        text = f"sorted by {columns[place].heading}" if place < len(columns) else "in the order of the answer"
        self.notify(text, markup=False)

    def to_error(self, way: int) -> None:
        table = self.tables[self.table] if self.tables else None
        rows = list(table.rows) if table else []
        for place in range(self.grid.cursor_row + way, len(rows) if way > 0 else -1, way):
            if table and is_error(table, rows[self.order[place]]):
                self.grid.move_cursor(row=place)
                return
        self.notify(f"no row with an error {'below' if way > 0 else 'above'}", markup=False)
