"""Messages in a temporary file, to be read several times.

The file has no name, and its index is in memory. Equal messages that are near each other are read once, with their
number, because captures repeat small messages.
"""

from __future__ import annotations

from array import array
from collections import Counter
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.costs.messages import Message

IN_MEMORY = 64 << 20
"""Bytes of messages up to which there is no file."""
AT_ONCE = 16 << 20
"""Bytes of messages among which equal ones are found."""


class MessageFile:
    """Messages in a temporary file without a name, or in memory while they are few."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - goes with this object
        self._kinds: dict[tuple[str, int], int] = {}
        self._sizes = array("Q")

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self._sizes) // 2

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def add(self, message: Message) -> None:
        """Add a message."""
        spans = message.spans
        kind = self._kinds.setdefault((message.name, message.version), len(self._kinds))
        self._file.write(spans.data[spans.start : spans.stop])
        self._sizes.extend((kind, spans.stop - spans.start))

    def size(self, first: int, last: int) -> int:
        """Return the bytes of the messages from `first` up to `last`."""
        return sum(self._sizes[2 * first + 1 : 2 * last : 2])

    def read(self, first: int, last: int) -> Iterator[tuple[str, int, bytes, int]]:
        """Yield the messages from `first` up to `last`: name, version, bytes, and how often the message came."""
        self._file.seek(self.size(0, first))
        kinds = [*self._kinds]
        room = AT_ONCE
        times = Counter[tuple[int, bytes]]()
        for at in range(2 * first, 2 * last, 2):
            kind, size = self._sizes[at : at + 2]
            times[kind, self._file.read(size)] += 1
            room -= size
            if room < 0:
                yield from ((*kinds[kind], data, number) for (kind, data), number in times.items())
                room = AT_ONCE
                times.clear()
        yield from ((*kinds[kind], data, number) for (kind, data), number in times.items())
