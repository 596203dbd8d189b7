"""The application: panes that show one frame or batch in four ways, and what keys do."""

from __future__ import annotations

import sys
from array import array
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Event, InputEvent
from textual.widgets import Footer, Input, Static
from textual.worker import get_current_worker

from kwire_cli.errors import KwireError, counted
from kwire_cli.tui.detail_panes import BytesPane, CostsPane, FieldsPane
from kwire_cli.tui.look import SWITCH, Turns, cost_path_of
from kwire_cli.tui.panes import Help, Lines, ListPane
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import ComposeResult

    from kwire_cli.tui.look import Listing, Look

SEPARATOR = "  ·  "
LEAST_NAME = 16
"""Columns of the input's name that are shown whatever stands beside it; of a longer one the end."""
SETTLED = 0.03
"""Seconds after which what is under the cursor is looked at: not while a key is held down."""
REFRESH = 0.1
"""Seconds between two looks at how far reading is."""


class Inspector(App[None]):
    """Shows a listing; `name` is what it is of. `filter_text` is a filter to begin with."""

    TITLE = "kwire tui"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-middle"), (180, "-wide")]  # noqa: RUF012 - as textual declares it
    CSS = """
    #state { height: 1; padding: 0 1; background: $panel; }
    #heading { height: 1; padding: 0 1; }
    #list { height: 1fr; min-height: 5; }
    #below { height: 2fr; }
    #fields { width: 1fr; }
    #bytes { width: 79; }
    #costs { width: 1fr; display: none; }
    .-narrow #bytes { width: 42; }
    .-narrow #costs { width: 42; }
    .-wide #costs { display: block; }
    .costs #costs { display: block; }
    .-narrow.costs #bytes, .-middle.costs #bytes { display: none; }
    #prompt { display: none; height: 3; }
    #prompt.open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "help", "Help", key_display="?"),
        Binding("slash", "prompt('filter')", "Filter", key_display="/"),
        Binding("a", "anomaly(1)", "Anomaly"),
        Binding("A", "anomaly(-1)", "Anomaly before", show=False),
        Binding("r", "partner", "Pair"),
        Binding("g", "prompt('number')", "Go to"),
        Binding("c", "costs", "Costs"),
        Binding("x", "copy_hex", "Hex"),
        Binding("y", "copy_json", "JSON"),
        Binding("X", "copy_all_hex", "Copy all as hex", show=False),
        Binding("J", "copy_all_json", "Copy all as JSON", show=False),
        Binding("f", "full", "All of it", show=False),
        Binding("escape", "leave", "Leave", show=False),
        Binding("q,ctrl+c", "quit", "Quit", key_display="q"),
    ]

    def __init__(self, listing: Listing, name: str, filter_text: str = "") -> None:
        super().__init__()
        self.listing, self.source_name = listing, escaped(name)
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
        with Horizontal(id="below"):
            yield self.fields
            yield self.bytes
            yield self.costs
        yield self.prompt
        yield Footer()

    def on_mount(self) -> None:
        """Begin to read."""
        self.rows.border_title = self.listing.what[1].capitalize()
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
        """Ask for a filter or a number."""
        self._prompt_for = what
        prompt = self.prompt
        prompt.placeholder = "api == Fetch and latency > 100ms" if what == "filter" else self.listing.number_is
        prompt.border_title = "Filter: Enter applies, Escape leaves" if what == "filter" else "Go to"
        prompt.value = self.filter_text if what == "filter" else ""
        prompt.add_class("open")
        prompt.focus()

    @on(Input.Submitted)
    def prompted(self, event: Input.Submitted) -> None:
        """The answer."""
        text = event.value.strip()
        self._close_prompt()
        if self._prompt_for == "filter":
            self._start_filter(text)
            return
        number = self.listing.numbered(text)
        if number is None:
            self.notify(f"there is no {text!r} here", severity="warning", markup=False)
        else:
            self._go(number)

    def _close_prompt(self) -> None:
        self.prompt.remove_class("open")
        self.rows.focus()

    def action_leave(self) -> None:
        """Leave the prompt; else show all again."""
        if self.prompt.has_class("open"):
            self._close_prompt()
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
