"""The keys, for the screen, for its help and for the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.table import Table
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult

KEYS = (
    Binding("question_mark,f1", "help", "Help", key_display="?", tooltip="this help; F1 too"),
    Binding("1", "view(0)", "Views", key_display="1-6", tooltip="frames or batches, then answers about the file"),
    *[Binding(str(number), f"view({number - 1})", show=False) for number in range(2, 7)],
    Binding("slash", "filter", "Filter", key_display="/", tooltip="filter as kwire decode --filter; empty shows all"),
    Binding("e", "error(1)", "Error", tooltip="next error; E: error before"),
    Binding("E", "error(-1)", "Error before", show=False),
    Binding("a", "anomaly(1)", "Anomaly", tooltip="next anomaly, in this frame and then in others; A: frame before"),
    Binding("A", "anomaly(-1)", "Anomaly before", show=False),
    Binding("r", "partner", "Pair", tooltip="from a request to its response, and back"),
    Binding(
        "s", "sort", "Sort", show=False, tooltip="sort by the next column, largest or latest first; then unsorted again"
    ),
    Binding("F", "follow", "Follow", show=False, tooltip="keep reading a file that grows; again: stop"),
    Binding("g", "number", "Go to", show=False, tooltip="a frame by number, a batch by offset or @position"),
    Binding("f", "full", "All of it", show=False, tooltip="all fields and bytes of a large frame, or the first again"),
    Binding("c", "costs", "Costs pane", show=False, tooltip="costs: their pane, or in place of the bytes"),
    Binding("plus,equals_sign", "resize(1)", "Longer list", show=False, key_display="+", tooltip="-: a shorter list"),
    Binding("minus", "resize(-1)", "Shorter list", show=False),
    Binding("m", "mark", "Mark", show=False, tooltip="mark a frame, or take the mark away"),
    Binding("w", "write", "Write packets", show=False, tooltip="of marked or filtered frames, to a new capture"),
    Binding("x", "copy_hex", "Copy as hex", show=False, tooltip="the field; X: the whole frame or batch"),
    Binding("X", "copy_all_hex", "Copy all as hex", show=False),
    Binding("y", "copy_json", "Copy as JSON", show=False, tooltip="the field; J: the whole frame or batch"),
    Binding("J", "copy_all_json", "Copy all as JSON", show=False),
    Binding("escape", "leave", "Leave", show=False, key_display="Esc", tooltip="leave an answer, the filter, the file"),
)
OTHERS = (
    (":", "Commands", "all commands, by their first letters; Ctrl+P too"),
    ("q", "Quit", "end kwire"),
    ("Tab", "Panes", "next pane; Shift+Tab: pane before"),
    ("↑ ↓ j k", "Move", "PgUp PgDn Home End too, and the mouse"),
    ("< >", "Shift", "show more of the left or the right"),
    ("← →", "Fields", "close and open, as Space does"),
    ("← →", "Bytes", "a byte; its field is selected in the tree"),
    ("Enter", "Answers", "the frames that a row names; t: the next table of the answer"),
    ("Enter", "Costs", "the next field with this path"),
    ("!", "Sign", "a frame or batch with anomalies, a row with an error"),
    ("*", "Sign", "a marked frame"),
    ("**", "Sign", "a secret; kwire tui --show-secrets shows it"),
)


def key_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the key, the name and the meaning of each key and sign."""
    for binding in KEYS:
        if binding.tooltip:
            yield binding.key_display or binding.key, binding.description, binding.tooltip
    yield from OTHERS


class Help(ModalScreen[None]):
    """A table of all keys."""

    CSS = """
    Help { align: center middle; }
    #help { width: 100%; max-width: 100; height: 90%; max-height: 42; border: heavy $accent; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        grid = Table.grid(padding=(0, 2, 0, 0))
        for row in key_rows():
            grid.add_row(*row)
        with VerticalScroll(id="help") as scroll:
            scroll.border_title = "Help: Escape closes it"
            yield Static(grid)


class Prompt(ModalScreen[str | None]):
    """A line of text that the user types; None if the user leaves."""

    CSS = """
    Prompt { align: left bottom; background: transparent; }
    Prompt Input { border: heavy $accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close")]

    def __init__(self, title: str, placeholder: str, value: str = "") -> None:
        super().__init__()
        self.input = Input(value, placeholder)
        self.input.border_title = title

    def compose(self) -> ComposeResult:
        yield self.input

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())
