"""The application: a folder and the files that are opened from it, or one file. Each of them is a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from kwire_cli.errors import KwireError, counted
from kwire_cli.stores.paths import location
from kwire_cli.tui.browser import Browser
from kwire_cli.tui.panes import styled
from kwire_cli.view.lines import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import ComposeResult, SystemCommand

    from kwire_cli.tui.listing import FolderFile, Opener


class Inspector(App[None]):
    """Shows a file, or the files of a folder."""

    TITLE = "kwire tui"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("colon,question_mark,f1", "command_palette", "Commands and keys", key_display=":"),
        Binding("q,ctrl+c", "quit", "Quit", key_display="q"),
    ]

    def __init__(self, first: Browser | Folder) -> None:
        super().__init__()
        self.first = first

    def on_mount(self) -> None:
        self.push_screen(self.first)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        return screen.commands() if isinstance(screen, Browser) else ()


class Folder(Screen[None]):
    """The segments, snapshots and captures of a folder. Enter opens one, and Escape returns from it."""

    CSS = """
    #state { height: 1; padding: 0 1; background: $panel; }
    #files { height: 1fr; background: $background; }
    """

    def __init__(
        self, source: str, files: Sequence[FolderFile], open_file: Opener, filter_text: str, *, follows: bool
    ) -> None:
        super().__init__()
        self.source = source
        self.files = files
        self._open_file = open_file
        self._filter_text = filter_text
        self._follows = follows
        self.table: DataTable[Any] = DataTable(id="files", cursor_type="row")

    def compose(self) -> ComposeResult:
        text = f"{escaped(location(self.source))}  ·  {counted(len(self.files), 'file')}"
        yield Static(text, id="state", markup=False)
        yield self.table
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.table.add_columns("file", "kind", "size B")
        for file in self.files:
            size = styled([(f"{file.size:>15,}", "number")])
            self.table.add_row(styled([(file.name, "name")]), file.kind, size)
        self.table.focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        path = self.files[event.cursor_row].path
        try:
            self.app.push_screen(Browser(path, self._open_file, self._filter_text, follows=self._follows))
        except KwireError as error:
            self.notify(escaped(str(error)), severity="error", markup=False)
