"""The help screen: what each key does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from kwire_cli.tui.panes import Lines

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kwire_cli.view.lines import Line

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Everywhere",
        (
            ("Tab, Shift+Tab", "next pane, pane before"),
            ("↑ ↓ PgUp PgDn Home End", "move; j and k too, and the mouse"),
            ("< >", "show more of what is right, or left"),
            ("a, A", "next anomaly, in this frame and then in others; frame with one before"),
            ("r", "from a request to its response, and back"),
            ("/", "filter, as in kwire decode --filter; an empty one shows all again"),
            ("g", "go to a frame by number, to a batch by offset or @position"),
            ("f", "all fields and bytes of what is large, not only the first"),
            ("c", "costs: to their pane, or in place of the bytes where it is narrow"),
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
            ("Fields", "← closes, → opens, Space does either; the field's bytes and cost light up"),
            ("Bytes", "← → a byte; its field is selected in the tree"),
            ("Costs", "Enter goes to the next field with this path in the tree"),
        ),
    ),
    (
        "Signs",
        (
            ("!", "this frame or batch has anomalies"),
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
        """How many lines there are."""
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
