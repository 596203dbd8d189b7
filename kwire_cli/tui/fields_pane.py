"""The fields of a frame or batch as a tree that opens and closes."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from kwire_cli.tui.panes import Lines

if TYPE_CHECKING:
    from kwire_cli.tui.look import Look, Node
    from kwire_cli.view.lines import Line

OPEN_ALL = 400
"""Fields up to which all are open at first."""
OPEN_DEPTH = 2
"""How deep a longer tree is open at first."""


class FieldsPane(Lines):
    """Lines are those nodes of a look that are within open ones."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "close", "close", show=False),
        Binding("right", "open", "open", show=False),
        Binding("space,enter", "fold", "open or close", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="fields")
        self.seen: Look | None = None
        self._folded: set[int] = set()
        self._shown: list[int] = []

    @property
    def count(self) -> int:
        """How many nodes are to be seen."""
        return len(self._shown)

    def show(self, look: Look | None) -> None:
        """Another frame or batch."""
        self.seen, self.cursor, self.shift = look, 0, 0
        nodes = look.nodes if look else []
        small = len(nodes) <= OPEN_ALL
        self._folded = set() if small or not look else {i for i, node in enumerate(nodes) if node.depth >= OPEN_DEPTH and look.has_parts[i]}
        self._list()
        self.put(0)

    def _list(self) -> None:
        found: list[int] = []
        below: int | None = None
        for number, node in enumerate(self.seen.nodes if self.seen else ()):
            if below is not None and node.depth > below:
                continue
            below = node.depth if number in self._folded else None
            found.append(number)
        self._shown = found
        self.fit()

    @property
    def number(self) -> int | None:
        """The number of the node under the cursor."""
        return self._shown[self.cursor] if self._shown else None

    @property
    def node(self) -> Node | None:
        """The node under the cursor."""
        return self.seen.nodes[self._shown[self.cursor]] if self.seen and self._shown else None

    def select(self, number: int) -> None:
        """Put the cursor on a node, and open what it is in."""
        if not self.seen:
            return
        above = self.seen.parents[number]
        closed = False
        while above >= 0:
            closed = closed or above in self._folded
            self._folded.discard(above)
            above = self.seen.parents[above]
        if closed:
            self._list()
        self.put(bisect_left(self._shown, number))

    def line(self, number: int) -> Line:
        """A node, indented by its depth."""
        assert self.seen  # noqa: S101 - for the type checker: without it there are no lines
        which = self._shown[number]
        node = self.seen.nodes[which]
        sign = ("▸ " if which in self._folded else "▾ ") if self.seen.has_parts[which] else "  "
        name = "dim" if node.name.startswith("(") else "name"
        between = ": " if node.shown and not self.seen.has_parts[which] else "  " if node.shown else ""
        return [("  " * node.depth + sign, "dim"), (node.name, name), (between, "dim"), *node.shown]

    def action_close(self) -> None:
        """Close a node, or go to the one that it is in."""
        number = self.number
        if self.seen is None or number is None:
            return
        if self.seen.has_parts[number] and number not in self._folded:
            self._folded.add(number)
            self._list()
        elif (above := self.seen.parents[number]) >= 0:
            self.move(bisect_left(self._shown, above))

    def action_open(self) -> None:
        """Open a node, or go into it."""
        number = self.number
        if self.seen is None or number is None or not self.seen.has_parts[number]:
            return
        if number in self._folded:
            self._folded.discard(number)
            self._list()
        else:
            self.move(self.cursor + 1)

    def action_fold(self) -> None:
        """Open or close a node."""
        number = self.number
        if self.seen is None or number is None or not self.seen.has_parts[number]:
            return
        self._folded ^= {number}
        self._list()

    def clicked(self, column: int, number: int) -> None:
        """A click on the sign opens and closes."""
        self.move(number)
        node = self.node
        if node and 2 * node.depth <= column < 2 * node.depth + 2:
            self.action_fold()
