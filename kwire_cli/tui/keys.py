"""The keys, for the screen and for the documentation, and the line in which the user types."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

if TYPE_CHECKING:
    from textual.app import ComposeResult

KEYS = (
    Binding("1", "view(0)", "Views", key_display="1-6", tooltip="frames or batches, then answers about the file"),
    *[Binding(str(number), f"view({number - 1})", show=False) for number in range(2, 7)],
    Binding("slash", "filter", "Filter", key_display="/", tooltip="filter as kwire decode --filter; empty shows all"),
    Binding("e", "error(1)", "Error", tooltip="next error or anomaly; E: the one before"),
    Binding("E", "error(-1)", "Error before", show=False),
    Binding("r", "partner", "Pair", tooltip="from a request to its response, and back"),
    Binding(
        "s", "sort", "Sort", show=False, tooltip="sort by the next column, largest or latest first; then unsorted again"
    ),
    Binding("F", "follow", "Follow", show=False, tooltip="keep reading a file that grows; again: stop"),
    Binding("f", "full", "All of it", show=False, tooltip="all fields and bytes of a large frame, or the first again"),
    Binding("plus,equals_sign", "resize(1)", "Longer list", show=False, key_display="+", tooltip="-: a shorter list"),
    Binding("minus", "resize(-1)", "Shorter list", show=False),
    Binding("m", "mark", "Mark", show=False, tooltip="mark a frame, or take the mark away"),
    Binding("w", "write", "Write packets", show=False, tooltip="of marked or filtered frames, to a new capture"),
    Binding("x", "copy_hex", "Copy as hex", show=False, tooltip="the field; in the list the whole frame or batch"),
    Binding("y", "copy_json", "Copy as JSON", show=False, tooltip="the frame or batch"),
    Binding("escape", "leave", "Leave", show=False, key_display="Esc", tooltip="leave an answer, the filter, the file"),
)


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
