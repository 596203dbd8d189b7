"""The application: a list of frames or batches with the panes of one of them, and the answers to questions.

View 1 is the list; the fields, bytes and costs of the entry under the cursor follow it. The other views are answers:
each question is asked once, in a thread, when its view is first shown. A row of an answer leads to its frames.
"""

from __future__ import annotations

import sys
from array import array
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Event, InputEvent
from textual.widgets import Footer, Input, Static
from textual.worker import get_current_worker

from kwire_cli.errors import KwireError, counted
from kwire_cli.tui.answers import AnswerPane, AnswerView
from kwire_cli.tui.detail_panes import BytesPane, CostsPane, FieldsPane
from kwire_cli.tui.look import SWITCH, Turns, cost_path_of
from kwire_cli.tui.panes import Help, Lines, ListPane
from kwire_cli.tui.written import write_capture
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from textual.app import ComposeResult
    from textual.screen import Screen

    from kwire_cli.tui.look import Listing, Look, View

SEPARATOR = "  ·  "
LEAST_NAME = 16
"""Columns of the input's name that are shown whatever stands beside it; of a longer one the end."""
SETTLED = 0.03
"""Seconds after which what is under the cursor is looked at: not while a key is held down."""
LIST_ROWS, ALL_ROWS = 4, 12
"""Parts of the screen that the list has at first, and parts of list and panes together."""
REFRESH = 0.1
"""Seconds between two looks at how far reading is."""


class Inspector(App[None]):
    """Shows a listing, and answers about it; `name` is the input. `filter_text` is the filter to start with."""

    TITLE = "kwire tui"
    COMMAND_PALETTE_BINDING = "colon"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-middle"), (180, "-wide")]  # noqa: RUF012 - as textual declares it
    CSS = """
    #state { height: 1; padding: 0 1; background: $panel; }
    #heading { height: 1; padding: 0 1; }
    #list { height: 4fr; min-height: 5; }
    #below { height: 8fr; }
    #fields { width: 1fr; }
    #bytes { width: 79; }
    #costs { width: 1fr; display: none; }
    .-narrow #bytes { width: 42; }
    .-narrow #costs { width: 42; }
    .-wide #costs { display: block; }
    .costs #costs { display: block; }
    .-narrow.costs #bytes, .-middle.costs #bytes { display: none; }
    #answers { height: 1fr; display: none; }
    #answer { height: 7fr; min-height: 5; }
    #detail { height: 5fr; }
    .answers #answers { display: block; }
    .answers #heading, .answers #list, .answers #below { display: none; }
    #prompt { display: none; height: 3; }
    #prompt.open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "help", "Help", key_display="?"),
        *[Binding(str(number), f"view({number - 1})", "Views", number == 1, "1-6") for number in range(1, 7)],
        Binding("slash", "prompt('filter')", "Filter", key_display="/"),
        Binding("colon", "command_palette", "Commands", key_display=":"),
        Binding("e", "error(1)", "Error"),
        Binding("E", "error(-1)", "Error before", show=False),
        Binding("a", "anomaly(1)", "Anomaly"),
        Binding("A", "anomaly(-1)", "Anomaly before", show=False),
        Binding("r", "partner", "Pair"),
        Binding("g", "prompt('number')", "Go to", show=False),
        Binding("c", "costs", "Costs pane", show=False),
        Binding("m", "mark", "Mark", show=False),
        Binding("w", "write", "Write packets", show=False),
        Binding("plus,equals_sign", "resize(1)", "Longer list", show=False),
        Binding("minus", "resize(-1)", "Shorter list", show=False),
        Binding("x", "copy_hex", "Copy as hex", show=False),
        Binding("y", "copy_json", "Copy as JSON", show=False),
        Binding("X", "copy_all_hex", "Copy all as hex", show=False),
        Binding("J", "copy_all_json", "Copy all as JSON", show=False),
        Binding("f", "full", "All of it", show=False),
        Binding("escape", "leave", "Leave", show=False),
        Binding("q,ctrl+c", "quit", "Quit", key_display="q"),
    ]

    def __init__(self, listing: Listing, name: str, filter_text: str = "", views: Sequence[View] = ()) -> None:
        super().__init__()
        self.listing, self.source_name = listing, escaped(name)
        self.views = views
        self.view = 0
        self.answers = AnswerView()
        self._list_rows = LIST_ROWS
        self._errors: array[int] | None = None
        self._wanted_error = 0
        self.filter_text = filter_text
        self.share: float | None = 0.0
        self.filter_share: float | None = None
        self.full = False
        self.seen: Look | None = None
        self.seen_number: int | None = None
        self.anomaly = -1
        self.wanted_anomaly = False
        self._turn, self._switch = Turns(), sys.getswitchinterval()
        self._settling: Any = None
        self.state, self.heading = Static(id="state", markup=False), Static(id="heading", markup=False)
        self.rows, self.fields, self.bytes, self.costs = (
            ListPane(listing, self._turn),
            FieldsPane(),
            BytesPane(),
            CostsPane(),
        )
        self.prompt = Input(id="prompt")
        self._prompt_for = ""

    def compose(self) -> ComposeResult:
        """The panes."""
        yield self.state
        yield self.heading
        yield self.rows
        yield self.answers
        with Horizontal(id="below"):
            yield self.fields
            yield self.bytes
            yield self.costs
        yield self.prompt
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin to read."""
        self.rows.border_title = self._titles()
        self.fields.border_title, self.bytes.border_title, self.costs.border_title = "Fields", "Bytes", "Costs"
        self.rows.focus()
        sys.setswitchinterval(SWITCH)
        self.run_worker(self._read, thread=True, group="read", exit_on_error=True)
        if self.filter_text:
            self._start_filter(self.filter_text)
        self.set_interval(REFRESH, self._tell)
        self._tell()

    def on_unmount(self) -> None:
        """Leave Python as it was."""
        sys.setswitchinterval(self._switch)

    async def on_event(self, event: Event) -> None:
        """Keys and the mouse come first, work beside the screen has its turn later."""
        if isinstance(event, InputEvent):
            self._turn.ask()
        await super().on_event(event)

    # Reading, beside the screen

    def _turns(self, steps: Iterator[Any]) -> Iterator[Any]:
        """Yield what the steps give, one turn at a time, until the worker is stopped.

        No step runs while the screen makes anything of the bytes.
        """
        worker = get_current_worker()
        while not worker.is_cancelled:
            step = self._turn.step(steps)
            if step is None:
                return
            yield step

    def _read(self) -> None:
        with self._told("reading ends here"):
            for share in self._turns(self.listing.read()):
                self.share = share
        self.share = None
        if not get_current_worker().is_cancelled:
            self.call_from_thread(self._read_all)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Say what went wrong in a thread, rather than end for it: a file that has gone, a full disk."""
        try:
            yield
        except (KwireError, OSError) as error:
            if not get_current_worker().is_cancelled:
                self.call_from_thread(self.notify, escaped(str(error)), title=what, severity="error", markup=False)

    def _read_all(self) -> None:
        self.rows.forget()
        for note in self.listing.notes:
            self.notify(escaped(note), title="The file", severity="warning", markup=False)
        self._tell()

    def _start_filter(self, text: str) -> None:
        self.workers.cancel_group(self, "filter")
        self.filter_text, self.filter_share = text, None
        if not text:
            self._choose(None)
            return
        try:
            select = self.listing.select(text)
        except KwireError as error:
            self.filter_text = ""
            self.notify(str(error), title="No filter", severity="error", markup=False)
            return
        self.filter_share = 0.0
        chosen = array("q")
        self._choose(chosen)
        self.run_worker(partial(self._filter, select, chosen), thread=True, group="filter", exclusive=True)

    def _filter(self, select: Callable[[], Iterator[tuple[float, list[int]]]], chosen: array[int]) -> None:
        with self._told("looking ends here"):
            for share, numbers in self._turns(select()):
                chosen.extend(numbers)
                self.filter_share = share
        if not get_current_worker().is_cancelled:
            self.filter_share = None
            self.call_from_thread(self._tell)

    def _choose(self, chosen: array[int] | None) -> None:
        """Show some of the list, with the cursor where it was if that is among them."""
        number = self.rows.number
        self.rows.chosen = chosen
        self.rows.fit()
        place = None if number is None else self.rows.place_of(number)
        self.rows.put(place or 0)
        self._tell()

    def _tell(self) -> None:
        """Show the number of entries and how far reading is. Called now and then."""
        self.rows.fit()
        many = counted(len(self.listing), *self.listing.what)
        parts = [many]
        if self.filter_text:
            parts.append(f"{self.rows.count:,} match {escaped(self.filter_text)}")
        if self.filter_share is not None:
            parts.append(f"looking {self.filter_share:.0%}")
        if self.share is not None:
            parts.append(f"reading {self.share:.0%}")
        room = max(self.size.width - cell_len(SEPARATOR.join(["", *parts])) - 2, LEAST_NAME)
        name = self.source_name if cell_len(self.source_name) <= room else f"…{self.source_name[1 - room :]}"
        self.state.update(Text(SEPARATOR.join([name, *parts]), no_wrap=True, overflow="ellipsis"))
        self.heading.update(Text(escaped(self.rows.heading()), style="dim", no_wrap=True, overflow="crop"))
        if self.rows.number != self.seen_number and self._settling is None:
            self._settle()

    # What is looked at

    def _settle(self) -> None:
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(SETTLED, self._look)

    def _look(self) -> None:
        self._settling = None
        number = self.rows.number
        self.seen_number = number
        if number is None:
            self._show(None, None)
        else:
            self.run_worker(partial(self._make_look, number), thread=True, group="look", exclusive=True)

    def _make_look(self, number: int) -> None:
        look = title = None
        with self._told("this can't be shown"), self._turn:
            if get_current_worker().is_cancelled:
                return
            look, title = self.listing.look(number, full=self.full), self.listing.title(number)
        if not get_current_worker().is_cancelled:
            self.call_from_thread(self._show, look, title)

    def _show(self, look: Look | None, title: str | None) -> None:
        self.seen, self.anomaly = look, -1
        self.fields.border_title = Text(escaped(title)) if title else "Fields"
        odd = (
            f"{counted(len(look.outline.anomalies), 'anomaly', 'anomalies')}" if look and look.outline.anomalies else ""
        )
        left_out = look.outline.left_out if look else 0
        left = f"{left_out:,} fields more: f shows them" if left_out else ""
        notes = look.notes if look else ()
        self.fields.border_subtitle = Text(escaped(" · ".join(part for part in (odd, left, *notes) if part)))
        for pane in (self.fields, self.bytes, self.costs):
            pane.show(look)
        if self.wanted_anomaly:
            self.wanted_anomaly = False
            self.action_anomaly(1)
        else:
            self._light()

    def _light(self, *, follow: bool = True) -> None:
        """Bytes and cost of the field under the cursor."""
        if row := self.fields.row:
            self.bytes.light(row, follow=follow)
            self.costs.select(cost_path_of(row))

    @on(Lines.Moved)
    def moved(self, event: Lines.Moved) -> None:
        """Panes follow one another."""
        if event.pane is self.rows:
            self._settle()
        elif event.pane is self.fields:
            self._light()
        elif event.pane is self.bytes and self.seen:
            number = self.seen.row_at(self.bytes.buffer, self.bytes.offset_at)
            if number is not None:
                self.fields.select(number)
                self._light(follow=False)

    # Keys

    def action_help(self) -> None:
        """Show the help screen with what each key does."""
        self.push_screen(Help())

    def action_prompt(self, what: str) -> None:
        """Ask for a filter, a number, or the name of a file."""
        title, placeholder, value = {
            "filter": ("Filter: Enter applies, Escape leaves", "api == Fetch and latency > 100ms", self.filter_text),
            "number": ("Go to", self.listing.number_is, ""),
            "write": ("Write packets to a capture", "marked.pcapng", ""),
        }[what]
        if what != "write":
            self.action_view(0)
        self._prompt_for = what
        self.prompt.border_title = title
        self.prompt.placeholder = placeholder
        self.prompt.value = value
        self.prompt.add_class("open")
        self.prompt.focus()

    @on(Input.Submitted)
    def prompted(self, event: Input.Submitted) -> None:
        """Do what the prompt was opened for."""
        text = event.value.strip()
        self._close_prompt()
        if self._prompt_for == "filter":
            self._start_filter(text)
        elif self._prompt_for == "write":
            self.run_worker(partial(self._write, text or self.prompt.placeholder), thread=True, group="write")
        elif (number := self.listing.numbered(text)) is None:
            self.notify(f"there is no {text!r} here", severity="warning", markup=False)
        else:
            self._go(number)

    def _close_prompt(self) -> None:
        self.prompt.remove_class("open")
        self.rows.focus()

    def action_leave(self) -> None:
        """Leave the prompt or an answer; else show all again."""
        if self.prompt.has_class("open"):
            self._close_prompt()
        elif self.view:
            self.action_view(0)
        elif self.filter_text:
            self._start_filter("")

    def _go(self, number: int) -> bool:
        """Put the cursor on a frame, whether the filter has it or not."""
        place = self.rows.place_of(number)
        if place is None and self.filter_text:
            self.notify("the filter is taken away: it leaves this one out", markup=False)
            self._start_filter("")
            place = self.rows.place_of(number)
        if place is None:
            return False
        self.rows.move(place)
        return True

    def action_partner(self) -> None:
        """To the response of a request, or back."""
        number = self.rows.number
        other = None if number is None else self.listing.partner(number)
        if other is None:
            self.notify("nothing here belongs to this one", severity="warning", markup=False)
        else:
            self._go(other)

    def action_anomaly(self, way: int) -> None:
        """To the next anomaly: in what is looked at, then in what follows."""
        anomalies = self.seen.outline.anomalies if self.seen else []
        if way > 0 and self.anomaly + 1 < len(anomalies) and self.seen and self.seen_number == self.rows.number:
            self.anomaly += 1
            anomaly = anomalies[self.anomaly]
            number = self.seen.row_of(anomaly.path, anomaly.offset)
            if number is not None:
                self.fields.select(number)
                self._light()
            where = f" {anomaly.path}" if anomaly.path else ""
            self.notify(
                escaped(anomaly.detail) or "no bytes of it are there",
                title=escaped(f"{anomaly.code}{where}"),
                severity="warning",
                markup=False,
            )
            return
        line = self.rows.next_odd(way)
        if line is None:
            unread = "; the file is still being read" if self.share is not None else ""
            self.notify(f"no more anomalies {'below' if way > 0 else 'above'}{unread}", markup=False)
            return
        self.wanted_anomaly = True
        self.rows.move(line)

    def action_costs(self) -> None:
        """To the costs and back."""
        if self.screen.has_class("-wide"):
            (self.rows if self.costs.has_focus else self.costs).focus()
            return
        visible = not self.screen.has_class("costs")
        self.screen.set_class(visible, "costs")
        (self.costs if visible else self.rows).focus()

    def on_key(self, event: Any) -> None:
        """Enter on a cost goes to its field."""
        if event.key == "enter" and self.costs.has_focus and self.seen and self.costs.path:
            number = self.seen.next_of(self.costs.path, -1 if self.fields.number is None else self.fields.number)
            if number is not None:
                self.fields.select(number)
                self._light()

    def action_full(self) -> None:
        """All fields and bytes, or the first of them again."""
        self.full = not self.full
        self.notify(
            "all fields and bytes are shown" if self.full else "the first fields and bytes are shown", markup=False
        )
        self._look()

    def action_resize(self, by: int) -> None:
        """Give the list of frames more or fewer rows of the screen."""
        self._list_rows = max(1, min(self._list_rows + by, ALL_ROWS - 1))
        self.rows.styles.height = f"{self._list_rows}fr"
        self.query_one("#below").styles.height = f"{ALL_ROWS - self._list_rows}fr"

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:  # noqa: ARG002 - textual's signature
        """Yield the commands of the palette: all views, and what other keys do."""
        for number, name in enumerate(self._names()):
            yield SystemCommand(f"View {name}", f"key {number + 1}", partial(self.action_view, number))
        for binding in self.BINDINGS:
            if isinstance(binding, Binding) and not binding.action.startswith(("view", "command_palette", "leave")):
                run = partial(self.run_action, binding.action)
                yield SystemCommand(binding.description, f"key {binding.key_display or binding.key}", run)

    # Answers

    def _names(self) -> list[str]:
        return [self.listing.what[1].capitalize(), *(view.name for view in self.views)]

    def _titles(self) -> Text:
        """Return the names of the views for the border of the list; the view on the screen is bold."""
        names = [
            Text(f"{number} {name}", "bold" if number - 1 == self.view else "dim")
            for number, name in enumerate(self._names(), 1)
        ]
        return Text("  ").join(names) if self.views else Text(self._names()[0], "bold")

    def action_view(self, number: int) -> None:
        """Show the list (0), or the answer to one of the questions."""
        if number > len(self.views):
            names = self._names()
            self.notify(f"the views are 1 to {len(names)}: {', '.join(names)}", markup=False)
            return
        self.view = number
        self.screen.set_class(number > 0, "answers")
        self.rows.border_title = self.answers.pane.border_title = self._titles()
        if number:
            self.answers.show(self.views[number - 1])
        else:
            self.rows.focus()

    @on(AnswerPane.Opened)
    def opened(self, event: AnswerPane.Opened) -> None:
        """Show the frames of a row of an answer: the one, or a filter that finds them."""
        self.action_view(0)
        if len(event.frames) == 1:
            self._go(event.frames[0] - 1)
        else:
            self._start_filter(f"frame in ({', '.join(map(str, event.frames))})")

    # Errors

    def action_error(self, way: int) -> None:
        """Go to the next response with an error, or to the one before; in an answer, to the next row with one."""
        if self.view:
            self.answers.pane.to_error(way)
            return
        self._wanted_error = way
        if self._errors is not None:
            self._to_error()
            return
        self._errors = array("q")
        self.run_worker(self._find_errors, thread=True, group="errors")

    def _find_errors(self) -> None:
        assert self._errors is not None  # noqa: S101 - for the type checker: the key made it
        with self._told("looking for errors ends here"):
            for _, numbers in self._turns(self.listing.select("error")()):
                self._errors.extend(numbers)
        if not get_current_worker().is_cancelled:
            self.call_from_thread(self._to_error)

    def _to_error(self) -> None:
        number = -1 if self.rows.number is None else self.rows.number
        errors = [] if self._errors is None else self._errors
        found = [each for each in errors if (each > number if self._wanted_error > 0 else each < number)]
        if found:
            self._go(found[0] if self._wanted_error > 0 else found[-1])
        else:
            way = "below" if self._wanted_error > 0 else "above"
            self.notify(f"no error {way}, of {counted(len(errors), 'error')}", markup=False)

    # Marks

    def action_mark(self) -> None:
        """Mark the frame under the cursor, or take the mark away, and go to the next one."""
        if self.view == 0 and self.rows.number is not None:
            self.rows.marked ^= {self.rows.number}
            self.rows.action_go(1)

    def action_write(self) -> None:
        """Ask for the file to which the packets of the marked frames are written."""
        if self._to_write():
            self.action_prompt("write")
        else:
            self.notify("mark frames with m, or choose frames with /, first", severity="warning", markup=False)

    def _to_write(self) -> list[int]:
        return sorted(self.rows.marked or self.rows.chosen or ())

    def _write(self, name: str) -> None:
        """Copy the original packets of the marked frames; without marks, of those that match the filter."""
        chosen: dict[str, set[int]] = {}
        with self._told(f"{name} was not written"):
            for _ in self._turns(self.listing.packets(self._to_write(), chosen)):
                pass
            if not get_current_worker().is_cancelled:
                write_capture(name, chosen)
                packets = counted(sum(map(len, chosen.values())), "packet")
                said = f"{packets} written as captured, secrets included"
                self.call_from_thread(self.notify, said, title=escaped(name), markup=False)

    # Copies

    def _copy(self, text: str | None, what: str) -> None:
        if not text:
            self.notify(f"there is no {what} of this", severity="warning", markup=False)
            return
        self.copy_to_clipboard(text)
        stars = ", stars for what is secret" if "**" in text else ""
        self.notify(f"{what}: {counted(len(text), 'character')} copied{stars}", markup=False)

    def action_copy_hex(self) -> None:
        """The bytes of the field."""
        row = self.fields.row
        self._copy(self.seen.hex_of(row) if self.seen and row else None, "hex")

    def action_copy_all_hex(self) -> None:
        """All bytes, or the first of them where the others are not there."""
        buffer = self.seen.buffers[0] if self.seen and self.seen.buffers else None
        cut = (
            f"hex of the first {len(buffer.data):,} of {buffer.size:,} bytes"
            if buffer and len(buffer.data) < buffer.size
            else "hex"
        )
        self._copy("".join(buffer.cells(buffer.at, buffer.end)) if buffer else None, cut)

    def action_copy_json(self) -> None:
        """Copy the value of the field; in the list, and for a field such as a size, all of it."""
        row = None if self.rows.has_focus else self.fields.row
        with self._turn:
            text = self.seen.json_of(row) if self.seen and row else None
        if text:
            self._copy(text, "JSON")
        else:
            self.action_copy_all_json()

    def action_copy_all_json(self) -> None:
        """All of it."""
        with self._turn:
            text = dumps(self.seen.document(), indent=True) if self.seen else None
        self._copy(text, "JSON")
