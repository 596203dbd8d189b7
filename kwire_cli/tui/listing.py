"""What a list in the terminal shows: frames or batches by number, from 0.

One thread reads the file, and another one finds the entries that match a filter, among those that were read. The screen
asks for the rows that it shows and for the entry under the cursor.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.tui.captures import Captures
from kwire_cli.tui.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.answer import Answer
    from kwire_cli.source.reading import Follow

Listing = Captures | Segments
"""The entries of a file."""


class Search:
    """The numbers of the entries that match a filter, among those that were read."""

    def __init__(self, listing: Listing, text: str) -> None:
        self.text = text
        self.numbers = array("q")
        self._matches = listing.matcher(text)
        self._listing = listing
        self._examined = 0

    @property
    def is_behind(self) -> bool:
        return self._examined < len(self._listing)

    def steps(self) -> Iterator[float]:
        """Examine the other entries; yield the share that was examined."""
        while self.is_behind:
            if self._matches(self._examined):
                self.numbers.append(self._examined)
            self._examined += 1
            yield self._examined / len(self._listing)


class View(NamedTuple):
    """A question about the file: the name of its view, and the function that asks it.

    The function reads the file until it ends or the other function, its argument, returns True.
    """

    name: str
    ask: Callable[[Callable[[], bool]], Answer]


class OpenedFile(NamedTuple):
    """A file: its entries, and the questions that can be asked about it."""

    listing: Listing
    views: Sequence[View] = ()


Opener = Callable[[str, "Follow | None"], OpenedFile]
"""Opens a file, followed or not; InputError if that is not possible."""


class FolderFile(NamedTuple):
    """A file in the list of a folder."""

    path: str
    name: str
    kind: str
    size: int
