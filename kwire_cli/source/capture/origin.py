"""The origin of a capture's packets: its capture point, and in which file each packet is."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT = 1 << 16
"""Packets of merged files whose places are remembered although nothing waits for them."""


class Place(NamedTuple):
    """A file, None if it is not known, and the number of a packet in it."""

    file: str | None
    packet: int | None


class Origin:
    """The capture point of lines. `point` is its name, and `capture` is the same if there are others.

    `several` says that lines are in more than one file; `index` counts points from 0; `file` is
    the only one. Packets are numbered over all files of a point.
    """

    moving = False
    """Whether the place of a packet has to be asked for as long as the packet is new."""

    def __init__(
        self, point: str | None = None, *, capture: str | None = None, several: bool = False, index: int = 0, file: str | None = None
    ) -> None:
        self.point, self.capture, self.several, self.index, self.file = point, capture, several, index, file

    def place(self, packet: int) -> Place:
        """Return the file of a packet and its number there."""
        return Place(self.file, packet)

    def number(self, packet: int) -> int:
        """Return the number of a packet, counted file by file."""
        return packet

    def forget(self, before: int) -> None:
        """Forget what only packets long before this number need."""

    def labels(self, file: str | None) -> dict[str, str | None]:
        """Return what a line in this file says of its origin: nothing if there is one file only."""
        out: dict[str, str | None] = {} if self.capture is None else {"capture": self.capture}
        return out | {"file": file} if self.several or out else out


ALONE = Origin()
"""The origin of lines whose packets are in one file that nobody asks for."""


class FileRow(NamedTuple):
    """Files that follow each other: `befores` are how many packets are before each."""

    files: Sequence[str]
    befores: Sequence[int]
    packets: int = 0

    def place(self, packet: int) -> Place:
        """Return the file of a packet and its number there."""
        at = max(bisect_left(self.befores, packet) - 1, 0)
        return Place(self.files[at], packet - self.befores[at])


class InRow(Origin):
    """The origin of packets in files that follow each other."""

    def __init__(self, row: FileRow, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row = row

    def place(self, packet: int) -> Place:
        """As `Origin`."""
        return self.row.place(packet)


class Merged(Origin):
    """The origin of packets in files that overlap, merged by time. What was merged is told by `add`, and forgotten later."""

    moving = True

    def __init__(self, rows: Sequence[FileRow], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = rows
        self._bases = [0, *accumulate(row.packets for row in rows)]
        self._starts: list[int] = []
        self._which: list[tuple[int, Any]] = []

    def add(self, start: int, row: int, packets: Any) -> None:
        """From the number `start` on packets are these of a row: a range, or an array of numbers."""
        self._starts.append(start)
        self._which.append((row, packets))

    def _at(self, packet: int) -> tuple[int, int]:
        at = max(bisect_right(self._starts, packet) - 1, 0)
        row, packets = self._which[at]
        return row, int(packets[min(max(packet - self._starts[at], 0), len(packets) - 1)])

    def place(self, packet: int) -> Place:
        """As `Origin`."""
        row, own = self._at(packet)
        return self.rows[row].place(own)

    def number(self, packet: int) -> int:
        """As `Origin`: row by row, as nobody counts what lies between them in time."""
        row, own = self._at(packet)
        return self._bases[row] + own

    def forget(self, before: int) -> None:
        """Forget the places of packets long before this number."""
        if (done := bisect_right(self._starts, before - KEPT) - 1) > KEPT >> 4:
            del self._starts[:done], self._which[:done]
