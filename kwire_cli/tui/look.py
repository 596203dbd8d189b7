"""One frame or batch as the panes show it: its fields, its bytes, and the cost of each field."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.facts.costs.ledger import GAP_PATH, Row, ledger
from kwire_cli.view.json import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.message.frames import Frame
    from kwire_cli.view.bounded_outline import BoundedOutline, Bytes
    from kwire_cli.view.rows import Row as OutlineRow

TOP = -1
"""The number that stands for the row above the first ones."""
_INDEX = re.compile(r"\[\d+\]")


def frame_costs(frame: Frame) -> list[Row]:
    """Return the costs of size, header and body; their sum is the size of the frame."""
    costs: list[Row] = []
    counted = 0
    for name, part in frame.parts:
        rows = ledger(part)
        counted += part.stop - part.start
        costs += rows if name == "body" else [replace(row, path=f"{name}.{row.path}") for row in rows]
    rest = frame.size - counted
    return [*costs, Row(GAP_PATH, 0, rest, 1)] if rest else costs


def cost_path_of(row: OutlineRow) -> str:
    """Return the path of a row in a ledger."""
    return _INDEX.sub("[]", row.json_path)


@dataclass(frozen=True)
class Look:
    """Rows of an outline by their numbers, and costs. `document` makes the JSON form."""

    outline: BoundedOutline
    costs: list[Row]
    document: Callable[[], Any]
    notes: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> list[OutlineRow]:
        return self.outline.rows

    @cached_property
    def buffers(self) -> list[Bytes]:
        return self.outline.buffers

    @cached_property
    def parents(self) -> list[int]:
        """The number of the row above each row, or TOP."""
        above: list[int] = []
        numbers = []
        for number, row in enumerate(self.rows):
            del above[row.depth :]
            numbers.append(above[-1] if above else TOP)
            above.append(number)
        return numbers

    @cached_property
    def parts(self) -> dict[int, list[int]]:
        """The numbers of the rows directly below each row that has some, and below TOP."""
        below: dict[int, list[int]] = {}
        for number, parent in enumerate(self.parents):
            below.setdefault(parent, []).append(number)
        return below

    @cached_property
    def _places(self) -> list[tuple[int, int, int, int]]:
        return [(self.outline.number(row), *row.place) for row in self.rows]

    def row_at(self, buffer: int, offset: int) -> int | None:
        """Return the number of the innermost row with a byte; None if no row contains it."""
        innermost = None
        for number, (own, start, _, end) in enumerate(self._places):
            if own == buffer and start <= offset < end:
                innermost = number
        return innermost

    def row_of(self, path: str, offset: int) -> int | None:
        """Return the row of an anomaly: the one with its path, else the innermost one at its offset."""
        named = [number for number, row in enumerate(self.rows) if path and row.json_path == path]
        for number in named:
            if self.rows[number].place[0] <= offset <= self.rows[number].place[2]:
                return number
        return named[0] if named else self.row_at(0, offset)

    def next_of(self, cost_path: str, after: int) -> int | None:
        """Return the next row with a path of a ledger, or the first one if none follows `after`."""
        numbers = [number for number, row in enumerate(self.rows) if row.json_path and cost_path_of(row) == cost_path]
        following = [number for number in numbers if number > after]
        return min(following or numbers, default=None)

    def hex_of(self, row: OutlineRow) -> str:
        """Return the bytes of a row in hex, with stars for secrets."""
        return "".join(self.buffers[self.outline.number(row)].cells(row.place[0], row.place[2]))

    def json_of(self, row: OutlineRow) -> str | None:
        """Return the value of a row in JSON; None if it has no value of its own there."""
        document = self.document()
        path = row.json_path
        in_body = isinstance(document, dict) and not path.startswith("header.")
        value = document.get("body", document) if in_body else document
        steps = [step for step in re.split(r"\.|\[(\d+)\]", path) if step]
        if not steps:
            return None
        for step in steps:
            if isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            elif isinstance(value, dict) and step in value:
                value = value[step]
            else:
                return None
        return dumps(value, indent=True)
