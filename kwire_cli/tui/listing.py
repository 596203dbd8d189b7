"""What a list in the terminal shows: frames or batches by number, from 0.

One thread reads the file, and another one finds the entries that match a filter, among those that were read. The screen
asks for the rows that it shows and for the entry under the cursor.
"""

from __future__ import annotations

from array import array
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kwire_cli.errors import InputError
from kwire_cli.filter.rows import FrameRow
from kwire_cli.source.kafka.line_records import is_anomalous
from kwire_cli.source.kafka.pasted import PastedFrame
from kwire_cli.tui.look import Look, frame_costs
from kwire_cli.tui.turns import Pace
from kwire_cli.view.anomaly_counts import AnomalyCounts
from kwire_cli.view.bounded_outline import of_frame
from kwire_cli.view.frame_table import cells
from kwire_cli.view.tables import text_of
from kwire_cli.view.tree import frame_title
from kwire_cli.view.widths import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.answer import Answer
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.records.selection import RowFilter
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.reading import Follow, Opened


class Listing:
    """The entries of a file, frames unless a subclass has others. `filter_of` compiles a filter."""

    what = ("frame", "frames")
    """The singular and plural of the noun for the entries."""
    number_is = "a frame's number"
    """The argument of `numbered`, in words."""
    columns: Sequence[Column] = ()
    sorts: tuple[str, ...] = ("size",)
    """The names by which `sort_value` sorts."""

    def __init__(self, redaction: Redaction, filter_of: Callable[[str], RowFilter]) -> None:
        self.redaction = redaction
        self.filter_of = filter_of
        self.notes: list[str] = []
        """Notes on the file, complete once it was read."""

    def __len__(self) -> int:
        raise NotImplementedError

    def read(self) -> Iterator[float]:
        """Find all entries. Yield the share of the file that was read."""
        raise NotImplementedError

    def line(self, number: int) -> Captured:
        """Return a frame as a line."""
        raise NotImplementedError

    def look(self, number: int, *, full: bool) -> Look:
        """Return the fields, bytes and costs of an entry; with `full` all of them."""
        raise NotImplementedError

    def title(self, number: int) -> str:
        raise NotImplementedError

    def matcher(self, text: str) -> Callable[[int], bool]:
        """Return a function that reports whether an entry matches a filter. FilterError if the text is not a filter."""
        matches = self.filter_of(text).matches
        return lambda number: matches(FrameRow(self.line(number), self.redaction))

    def cells(self, number: int) -> list[str]:
        """Return an entry as the texts of all columns."""
        return cells(FrameRow(self.line(number)), self.columns, AnomalyCounts("frame"))

    def sort_value(self, column: str) -> Callable[[int], int]:  # noqa: ARG002 - there is one column
        """Return a function that gives the value of an entry in a column of `sorts`."""
        return lambda number: self.line(number).seen.size

    def is_odd(self, number: int) -> bool:
        """Return whether an entry has an anomaly, or is one."""
        return is_anomalous(self.line(number))

    def is_error(self, number: int) -> bool:
        """Return whether an entry is a response with an error."""
        return bool(self.line(number).errors)

    def partner(self, number: int) -> int | None:  # noqa: ARG002 - only captures have pairs
        """Return the response of a request or the request of a response; None if it is unknown."""
        return None

    def numbered(self, text: str) -> int | None:
        """Return the entry that the user means by a number; None if it does not exist."""
        return int(text) - 1 if text.isdecimal() and 1 <= int(text) <= len(self) else None

    def write_packets(
        self,
        numbers: Sequence[int],  # noqa: ARG002 - only captures have packets
        name: str,  # noqa: ARG002 - as above
        written: Callable[[int], None],  # noqa: ARG002 - as above
    ) -> Iterator[float]:
        """Copy the packets of some entries to a new capture; yield the share of the file that was read.

        `written` is called in the end with the number of packets. InputError if the file is not a capture.
        """
        yield 0.0
        raise InputError("only a capture has packets")

    def close(self) -> None:
        """Delete temporary files."""


class Frames(Listing):
    """The frames of a text or of bytes that are not a capture. All of them are in memory."""

    columns = (
        Column("frame", width=6, right=True, style="dim"),
        Column("kind"),
        Column("call", "api", width=32, least=12, cut="call", style="name"),
        Column("size", "size B", width=9, right=True, style="number"),
        Column("faults", "anomalies", least=12, cut="end", style="warning"),
    )

    def __init__(self, redaction: Redaction, filter_of: Callable[[str], RowFilter], opened: Opened) -> None:
        super().__init__(redaction, filter_of)
        self._opened = opened
        self._frames: list[Frame] = []

    def __len__(self) -> int:
        return len(self._frames)

    def read(self) -> Iterator[float]:
        size = sum(len(chunk.data) for chunk in self._opened.recognised.frames.chunks)
        read = 0
        for frame in self._opened.subjects():
            self._frames.append(frame)
            read += frame.size
            yield min(read / max(size, 1), 1.0)

    def line(self, number: int) -> Captured:
        return PastedFrame(self._frames[number], self.redaction)

    def cells(self, number: int) -> list[str]:
        *others, faults = super().cells(number)
        frame = self._frames[number]
        label = f"# {text_of(frame.label)}" if frame.label else ""
        return [*others, "  ".join(text for text in (faults, "guessed" if frame.guess else "", label) if text)]

    def look(self, number: int, *, full: bool) -> Look:
        frame = self._frames[number]
        hidden = self.redaction.frame(frame)
        reading = self.redaction.reading()
        outline = of_frame(self.redaction.catalog, frame, hidden, reading, full=full)
        document = partial(frame.to_json, records="decoded", hidden=hidden, reading=reading)
        return Look(outline, frame_costs(frame), document)

    def title(self, number: int) -> str:
        frame = self._frames[number]
        return "".join(text for text, _ in frame_title(frame.shown(self.redaction.frame(frame))))


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
        pace = Pace()
        while self.is_behind:
            if self._matches(self._examined):
                self.numbers.append(self._examined)
            self._examined += 1
            if pace.is_due():
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


class Opener(Protocol):
    """Opens a file; InputError if that is not possible."""

    def __call__(self, source: str, follow: Follow | None) -> OpenedFile: ...


class FolderFile(NamedTuple):
    """A file in the list of a folder."""

    path: str
    name: str
    kind: str
    size: int
