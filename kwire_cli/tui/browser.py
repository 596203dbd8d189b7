"""One file: a list of frames or batches with the panes of one of them, and the answers to questions.

View 1 is the list; the fields and bytes of the entry under the cursor follow it. The other views are answers.
Reading, filters and copies of packets are steps in threads (`_start`). A timer shows their progress, and starts the
filter again when there are new entries.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import SystemCommand
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Footer, Static, Tree
from textual.worker import get_current_worker

from kwire_cli.errors import KwireError, counted
from kwire_cli.source.reading import Follow
from kwire_cli.stores.paths import location
from kwire_cli.tui.answers import AnswerView
from kwire_cli.tui.detail_panes import BytesPane, FieldsPane
from kwire_cli.tui.keys import KEYS, Prompt
from kwire_cli.tui.listing import Search
from kwire_cli.tui.panes import ListPane
from kwire_cli.tui.turns import Turns
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from kwire_cli.tui.listing import Opener
    from kwire_cli.tui.look import Look

SEPARATOR = "  ·  "
MIN_NAME = 16
"""Cells of the input's name that are always shown; of a longer name the end."""
SETTLED = 0.03
"""Seconds until the entry under the cursor is shown, so that a key that is held down is not delayed."""
LIST_ROWS = 4
"""Parts of the screen that the list has at first."""
ALL_ROWS = 12
"""Parts of the screen for the list and the panes together."""
REFRESH = 0.1
"""Seconds between two looks at the progress."""
READING = "reading"
LOOKING = "looking"
WRITING = "writing"


class Browser(Screen[None]):
    """A file, which `open_file` opens. `follows` keeps reading it as it grows. FilterError for a wrong filter."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-middle")]  # noqa: RUF012 - as textual declares it
    CSS = """
    #state, #heading { height: 1; padding: 0 1; }
    #state { background: $panel; }
    #list { height: 4fr; min-height: 5; }
    #below { height: 8fr; }
    #list, #answer, #detail, #fields, #bytes { border: round $surface-lighten-3; scrollbar-size-vertical: 1; }
    #list:focus, #answer:focus, #detail:focus, #fields:focus, #bytes:focus { border: heavy $accent; }
    #fields { width: 1fr; height: 1fr; max-height: 100%; scrollbar-size-horizontal: 0; }
    #bytes { width: 79; }
    Browser.-narrow #bytes { width: 42; }
    #answers { height: 1fr; display: none; }
    Browser.answers #answers { display: block; }
    Browser.answers #heading, Browser.answers #list, Browser.answers #below { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = list(KEYS)

    def __init__(self, source: str, open_file: Opener, filter_text: str = "", *, follows: bool = False) -> None:
        super().__init__()
        self.source = source
        self.follows = follows
        self.is_following = follows
        self.turns = Turns()
        follow = Follow(stop=lambda: not self.is_following, sleep=self.turns.sleep) if follows else None
        self._open_file = open_file
        self.listing, self.views = open_file(source, follow)
        self.search = Search(self.listing, filter_text) if filter_text else None
        self.sorted_by = ""
        self.view = 0
        self.shares: dict[str, float] = {}
        self.full = False
        self.seen: Look | None = None
        self.seen_number: int | None = None
        self._failed: set[str] = set()
        self._settling: Any = None
        self._list_rows = LIST_ROWS
        self.state = Static(id="state", markup=False)
        self.heading = Static(id="heading", markup=False)
        self.rows = ListPane(self.listing, self.turns, follows=follows)
        self.fields = FieldsPane()
        self.bytes = BytesPane()
        self.answers = AnswerView(follows=follows)

    def compose(self) -> ComposeResult:
        yield self.state
        yield self.heading
        yield self.rows
        yield self.answers
        with Horizontal(id="below"):
            yield self.fields
            yield self.bytes
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.rows.border_title = self._titles()
        self.rows.focus()
        self._start(READING, self.listing.read(), self._on_read)
        self._arrange()
        self.set_interval(REFRESH, self.update_state)

    def on_unmount(self) -> None:
        self.is_following = False
        with self.turns.lock:
            self.turns.is_over = True
            self.listing.close()

    def _say(self, text: str, title: str = "", severity: Any = "information") -> None:
        self.notify(escaped(text), title=escaped(title), severity=severity, markup=False)

    # Work in threads

    def _start(self, name: str, steps: Iterator[float], done: Callable[[], None]) -> None:
        self.shares[name] = 0.0
        self._failed.discard(name)
        self.run_worker(partial(self._run, name, steps, done), thread=True, group=name, exclusive=True)

    def _run(self, name: str, steps: Iterator[float], done: Callable[[], None]) -> None:
        """Take all steps in turns, then call `done` in the thread of the screen. Report errors such as a full disk.

        A step must not wait for the screen: the screen may be waiting for the lock of the step.
        """
        worker = get_current_worker()
        try:
            while not worker.is_cancelled and (share := self.turns.take(steps)) is not None:
                self.shares[name] = share
        except (KwireError, OSError) as error:
            self._failed.add(name)
            done = partial(self._say, str(error), f"{name} ends here", "error")
        if not worker.is_cancelled:
            self.shares.pop(name, None)
            self.app.call_from_thread(done)

    def _on_read(self) -> None:
        self.rows.forget_rows()
        for note in self.listing.notes:
            self._say(note, "The file", "warning")
        self.update_state()

    @property
    def filter_text(self) -> str:
        return self.search.text if self.search else ""

    def apply_filter(self, text: str) -> None:
        """Show the entries that match a filter; all of them if it is empty."""
        self.workers.cancel_group(self, LOOKING)
        self.shares.pop(LOOKING, None)
        self._failed.discard(LOOKING)
        try:
            self.search = Search(self.listing, text) if text else None
        except KwireError as error:
            self.search = None
            self._say(str(error), "No filter", "error")
        self._arrange()

    def _numbers(self) -> Sequence[int]:
        return self.search.numbers if self.search else range(len(self.listing))

    def _arrange(self) -> None:
        """Show the entries that match in their order, with the cursor on the same entry."""
        number = self.rows.number
        self.rows.chosen = self.search.numbers if self.search else None
        if self.sorted_by:
            value = self.listing.sort_value(self.sorted_by)
            self.rows.chosen = sorted(self._numbers(), key=lambda number: -value(number))
        self.rows.fit()
        self.rows.put((None if number is None else self.rows.place_of(number)) or 0)
        self.update_state()

    def update_state(self) -> None:
        """Show the number of entries and the progress, and the entry under the cursor. Called now and then."""
        if self.search and self.search.is_behind and LOOKING not in self.shares and LOOKING not in self._failed:
            self._start(LOOKING, self.search.steps(), self.update_state)
        is_busy = self.shares and not self.follows
        if self.sorted_by and not is_busy and len(self._numbers()) > self.rows.count:
            self._arrange()
        self.rows.fit()
        parts = [counted(len(self.listing), *self.listing.what)]
        if self.search:
            parts.append(f"{self.rows.count:,} match {escaped(self.search.text)}")
        if self.sorted_by:
            parts.append(f"by {self.sorted_by}")
        if self.follows and READING in self.shares:
            parts.append("following")
        parts += [f"{name} {share:.0%}" for name, share in self.shares.items() if name != READING or not self.follows]
        room = max(self.size.width - cell_len(SEPARATOR.join(["", *parts])) - 2, MIN_NAME)
        name = escaped(location(self.source))
        if cell_len(name) > room:
            name = f"…{name[1 - room :]}"
        self.state.update(Text(SEPARATOR.join([name, *parts]), no_wrap=True, overflow="ellipsis"))
        self.heading.update(Text(escaped(self.rows.heading()), style="dim", no_wrap=True, overflow="crop"))
        if self.rows.number != self.seen_number and self._settling is None:
            self._settle()

    # The entry under the cursor

    def _settle(self) -> None:
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(SETTLED, self._look)

    def _look(self) -> None:
        self._settling = None
        self.seen_number = self.rows.number
        if self.seen_number is None:
            self._show(None)
        else:
            self.run_worker(partial(self._make_look, self.seen_number), thread=True, group="look", exclusive=True)

    def _make_look(self, number: int) -> None:
        try:
            with self.turns.lock:
                if self.turns.is_over:
                    return
                show = partial(self._show, self.listing.look(number, full=self.full))
        except (KwireError, OSError) as error:
            show = partial(self._say, str(error), "this can't be shown", "error")
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(show)

    def _show(self, look: Look | None) -> None:
        self.seen = look
        self.fields.border_title = Text(escaped(look.title)) if look else "Fields"
        notes = [look.note] if look and look.note else []
        if look and look.outline.left_out:
            notes.insert(0, f"{look.outline.left_out:,} fields more: f shows them")
        if look and look.outline.anomalies:
            notes.insert(0, counted(len(look.outline.anomalies), "anomaly", "anomalies"))
        self.fields.border_subtitle = Text(escaped(" · ".join(notes)))
        self.fields.show(look)
        self.bytes.show(look)
        self._light()

    def _light(self) -> None:
        """Highlight the bytes of the field under the cursor."""
        if row := self.fields.row:
            self.bytes.light(row)

    def on_list_pane_moved(self) -> None:
        self._settle()

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[int]) -> None:  # noqa: ARG002 - textual's signature
        self._light()

    # Keys of the list

    def action_filter(self) -> None:
        self.action_view(0)
        example = "api == Fetch and latency > 100ms"
        self._prompt("Filter: Enter applies, Escape leaves", example, self.apply_filter, self.filter_text)

    def _prompt(self, title: str, placeholder: str, use: Callable[[str], None], value: str = "") -> None:
        def on_close(text: str | None) -> None:
            if text is not None:
                use(text)

        self.app.push_screen(Prompt(title, placeholder, value), on_close)

    def action_leave(self) -> None:
        """Leave an answer, else the filter, else the file if it was opened from a folder."""
        if self.view:
            self.action_view(0)
        elif self.search:
            self.apply_filter("")
        elif len(self.app.screen_stack) > 2:
            self.app.pop_screen()

    def go_to(self, number: int) -> None:
        """Put the cursor on an entry. A filter that leaves it out is removed."""
        if self.search and self.rows.place_of(number) is None:
            self._say("the filter is taken away: it leaves this one out")
            self.apply_filter("")
        place = self.rows.place_of(number)
        if place is not None:
            self.rows.move(place)

    def action_partner(self) -> None:
        other = None if self.rows.number is None else self.listing.partner(self.rows.number)
        if other is None:
            self._say("nothing here belongs to this one", severity="warning")
        else:
            self.go_to(other)

    def action_sort(self) -> None:
        if self.view:
            self.answers.sort()
            return
        names = ["", *self.listing.sorts, ""]
        self.sorted_by = names[names.index(self.sorted_by) + 1]
        self._arrange()

    def action_follow(self) -> None:
        """Open the file again and follow it, from its end; or stop."""
        if self.is_following:
            self.is_following = False
            return
        try:
            self.app.switch_screen(Browser(self.source, self._open_file, self.filter_text, follows=True))
        except KwireError as error:
            self._say(str(error), severity="warning")

    def action_error(self, way: int) -> None:
        if self.view:
            self.answers.to_error(way)
        else:
            self._to_error(way)

    def _to_error(self, way: int) -> None:
        line = self.rows.next_of(way, self.listing.is_error)
        if line is None:
            unread = "; the file is still being searched" if {READING, LOOKING} & self.shares.keys() else ""
            self._say(f"no more errors {'below' if way > 0 else 'above'}{unread}")
        else:
            self.rows.move(line)

    # Panes and views

    def action_full(self) -> None:
        self.full = not self.full
        self._say("all fields and bytes are shown" if self.full else "the first fields and bytes are shown")
        self._look()

    def action_resize(self, by: int) -> None:
        self._list_rows = max(1, min(self._list_rows + by, ALL_ROWS - 1))
        self.rows.styles.height = f"{self._list_rows}fr"
        self.query_one("#below").styles.height = f"{ALL_ROWS - self._list_rows}fr"

    def commands(self) -> Iterable[SystemCommand]:
        """Yield the commands of the palette: the views, and what the keys do."""
        for number, name in enumerate(self._names()):
            yield SystemCommand(f"View {name}", f"key {number + 1}", partial(self.action_view, number))
        for binding in KEYS:
            if not binding.action.startswith("view"):
                help_text = f"key {binding.key_display or binding.key}  {binding.tooltip}"
                yield SystemCommand(binding.description, help_text, partial(self.run_action, binding.action))

    def _names(self) -> list[str]:
        return [self.listing.what[1].capitalize(), *(view.name for view in self.views)]

    def _titles(self) -> Text:
        names = [
            Text(f"{number + 1} {name}", "bold" if number == self.view else "dim")
            for number, name in enumerate(self._names())
        ]
        return Text("  ").join(names)

    def action_view(self, number: int) -> None:
        """Show the list (0), or the answer to one of the questions."""
        if number > len(self.views):
            names = self._names()
            self._say(f"the views are 1 to {len(names)}: {', '.join(names)}")
            return
        self.view = number
        self.set_class(number > 0, "answers")
        self.rows.border_title = self.answers.grid.border_title = self._titles()
        if number:
            self.answers.show(self.views[number - 1])
        else:
            self.rows.focus()

    def on_answer_view_opened(self, event: AnswerView.Opened) -> None:
        """Show the frames of a row of an answer: the one, or a filter that finds them."""
        self.action_view(0)
        if len(event.frames) == 1:
            self.go_to(event.frames[0] - 1)
        else:
            self.apply_filter(f"frame in ({', '.join(map(str, event.frames))})")

    # Marks and copies

    def action_mark(self) -> None:
        if self.view == 0 and self.rows.number is not None:
            self.rows.marked ^= {self.rows.number}
            self.rows.action_go(1)

    def action_write(self) -> None:
        """Copy the original packets of the marked frames; without marks, of those that match the filter."""
        numbers = sorted(self.rows.marked or (self._numbers() if self.search else ()))
        if not numbers:
            self._say("mark frames with m, or choose frames with /, first", severity="warning")
            return

        def write(text: str) -> None:
            name = text or "marked.pcapng"
            what = f"the packets of {counted(len(numbers), 'frame')} are written as captured, secrets included"
            self._start(WRITING, self.listing.write_packets(numbers, name), partial(self._say, what, name))

        self._prompt("Write packets to a capture", "marked.pcapng", write)

    def _copy(self, text: str | None, what: str) -> None:
        if not text:
            self._say(f"there is no {what} of this", severity="warning")
            return
        self.app.copy_to_clipboard(text)
        stars = ", stars for what is secret" if "**" in text else ""
        self._say(f"{what}: {counted(len(text), 'character')} copied{stars}")

    def action_copy_hex(self) -> None:
        """Copy the bytes of the field; in the list, those of the whole frame or batch."""
        row = self.fields.row
        if row and self.seen and not self.rows.has_focus:
            self._copy(self.seen.hex_of(row), "hex")
            return
        buffer = self.seen.buffers[0] if self.seen and self.seen.buffers else None
        what = "hex"
        if buffer and len(buffer.data) < buffer.size:
            what = f"hex of the first {len(buffer.data):,} of {buffer.size:,} bytes"
        self._copy("".join(buffer.cells(buffer.at, buffer.end)) if buffer else None, what)

    def action_copy_json(self) -> None:
        with self.turns.lock:
            self._copy(dumps(self.seen.document(), indent=True) if self.seen else None, "JSON")
