"""Frames and segments listed."""

from __future__ import annotations

from array import array
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.facts.costs.ledger import GAP_PATH, Row, rows_of
from kwire_cli.filter.rows import BatchRow, FrameRow
from kwire_cli.message.record_notes import is_anomalous_message
from kwire_cli.records.batch import PADDING, Batch, Source
from kwire_cli.records.gaps import Gap, cut_batch
from kwire_cli.records.reading import read_items
from kwire_cli.source.kafka.line_records import anomaly_codes
from kwire_cli.source.kafka.pasted import PastedFrame
from kwire_cli.tui.look import Look, Pace, frame_costs
from kwire_cli.view.batch_table import batch_row, table_columns
from kwire_cli.view.bounded_outline import of_frame, of_item
from kwire_cli.view.outline import batch_title
from kwire_cli.view.tables import text_of
from kwire_cli.view.tree import frame_title
from kwire_cli.view.widths import Column, layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.records.selection import RowFilter
    from kwire_cli.source.reading import Opened
    from kwire_cli.view.lines import Line

    Matches = Callable[[Any], bool]


# Frames from a text or from bytes in a list.

_COLUMNS = (
    Column("frame", width=6, right=True, style="dim"),
    Column("kind"),
    Column("call", "api", width=32, least=12, cut="call", style="name"),
    Column("size", "size B", width=9, right=True, style="number"),
    Column("anomalies", least=12, cut="end", style="warning"),
)


class Frames:
    """The frames of an input that is no capture; the text was read already, so that it is in memory."""

    what = ("frame", "frames")
    number_is = "a frame's number"

    def __init__(self, redaction: Redaction, opened: Opened, filter_of: Callable[[str], RowFilter]) -> None:
        self.catalog, self.redaction = redaction.catalog, redaction
        self.notes: list[str] = []
        self._opened, self._filter_of = opened, filter_of
        self._frames: list[Frame] = []
        self._read = False

    def __len__(self) -> int:
        return len(self._frames)

    def read(self) -> Iterator[float]:
        """Find the frames."""
        size, read = sum(len(chunk.data) for chunk in self._opened.recognised.frames.chunks), 0
        for frame in self._opened.subjects():
            self._frames.append(frame)
            read += frame.size
            yield min(read / max(size, 1), 1.0)
        self._read = True

    def select(self, text: str) -> Callable[[], Iterator[tuple[float, list[int]]]]:
        """Return a function that finds the frames that match a filter."""
        return partial(self._select, self._filter_of(text).matches)

    def _select(self, matches: Matches) -> Iterator[tuple[float, list[int]]]:
        number = 0
        while number < len(self._frames) or not self._read:
            if number == len(self._frames):
                yield 0.0, []
                continue
            line = PastedFrame(self._frames[number], self.redaction)
            numbers = [number] if matches(FrameRow(line, self.redaction)) else []
            number += 1
            yield number / len(self._frames), numbers

    def heading(self, width: int) -> Line:
        """The names of the columns."""
        return layout(_COLUMNS, room=width).heading()

    def row(self, number: int, width: int) -> Line:
        """A frame in one line."""
        frame = self._shown(number)
        version = "" if frame.api_version is None else f" v{frame.api_version}"
        codes = ", ".join(dict.fromkeys(anomaly_codes(PastedFrame(frame, self.redaction), deep=True)))
        call = f"{frame.api or text_of(frame.api_key)}{version}"
        label = f"# {text_of(frame.label)}" if frame.label else ""
        remarks = "  ".join([text for text in (codes, "guessed" if frame.guess else "", label) if text])
        return layout(_COLUMNS, room=width).row((str(number + 1), frame.kind, call, str(frame.size), remarks))

    def title(self, number: int) -> str:
        """Return the title of a frame."""
        return "".join(text for text, _ in frame_title(self._shown(number)))

    def _shown(self, number: int) -> Frame:
        frame = self._frames[number]
        return frame.shown(self.redaction.frame(frame))

    def is_odd(self, number: int) -> bool:
        """Return whether the entry has an anomaly."""
        return is_anomalous_message(self._frames[number], self.redaction.reading())

    def partner(self, number: int) -> int | None:  # noqa: ARG002 - as above
        """Nothing says which belong together."""
        return None

    def numbered(self, text: str) -> int | None:
        """The frame of this number."""
        return int(text) - 1 if text.isdecimal() and 1 <= int(text) <= len(self) else None

    def look(self, number: int, *, full: bool) -> Look:
        """A frame byte by byte."""
        frame = self._frames[number]
        hidden, reading = self.redaction.frame(frame), self.redaction.reading()
        outline = of_frame(self.catalog, frame, hidden, reading, full=full)
        document = partial(frame.to_json, records="decoded", hidden=hidden, reading=reading)
        return Look(outline, frame_costs(frame), document)

    def packets(self, numbers: Sequence[int], found: dict[str, set[int]]) -> Iterator[float]:  # noqa: ARG002 - as above
        """Raise InputError: only captures have packets."""
        raise InputError("only a capture has packets")

    def close(self) -> None:
        """There is nothing to let go of."""


# Batches of a segment or record set in a list: of a batch only its place is kept.

_CODES = (PADDING, "TRUNCATED", "CORRUPT")


_BATCH, _WRONG = 0, 1
_GAPS = 2


class Segments:
    """The batches of a source, and the gaps between them."""

    what = ("batch", "batches")
    number_is = "an offset, or @ and a position in the file"

    def __init__(self, redaction: Redaction, source: Source, filter_of: Callable[[str], RowFilter]) -> None:
        self.catalog, self.source, self.redaction = redaction.catalog, source, redaction
        self.hide = redaction.record
        self.notes: list[str] = []
        self._filter_of = filter_of
        self._position, self._size = array("q"), array("q")
        self._what, self._magic = array("B"), array("b")
        self._odd = array("B")
        self._count = 0
        self._read = False

    def __len__(self) -> int:
        return self._count

    def read(self) -> Iterator[float]:
        """Find the batches; their records are read once, for what is odd about them."""
        pace = Pace()
        for item in read_items(self.source):
            self._add(item)
            if pace.is_due():
                yield item.position / self.source.size
        self._read = True

    def _add(self, item: Batch | Gap) -> None:
        self._position.append(item.position)
        self._size.append(item.size)
        if isinstance(item, Batch):
            self._what.append(_BATCH if item.crc_valid else _WRONG)
            self._magic.append(item.magic)
            self._odd.append(bool(item.anomalies))
        else:
            self._what.append(_GAPS + _CODES.index(item.code))
            self._magic.append(item.batch.magic if item.batch else -1)
            self._odd.append(item.code != PADDING)
        self._count += 1

    def _item(self, number: int) -> Batch | Gap:
        position, size, what = self._position[number], self._size[number], self._what[number]
        if what >= _GAPS:
            layout = self.source.layouts.get(self._magic[number])
            return Gap(
                position,
                size,
                _CODES[what - _GAPS],
                cut_batch(self.source, position, position + size, layout) if layout else None,
            )
        return Batch(self.source, position, size, self.source.layouts[self._magic[number]], what == _BATCH)

    def select(self, text: str) -> Callable[[], Iterator[tuple[float, list[int]]]]:
        """Return a function that finds the batches that match a filter."""
        return partial(self._select, self._filter_of(text))

    def _select(self, found: RowFilter) -> Iterator[tuple[float, list[int]]]:
        number, pace = 0, Pace()
        some: list[int] = []
        while number < self._count or not self._read:
            if number == self._count:
                yield 0.0, some
                some = []
                continue
            if found.matches(BatchRow(self._item(number), found.deep, self.hide)):
                some.append(number)
            number += 1
            if pace.is_due():
                yield number / self._count, some
                some = []
        yield 1.0, some

    def heading(self, width: int) -> Line:
        """The names of the columns."""
        return layout(table_columns(deep=False), room=width).heading()

    def row(self, number: int, width: int) -> Line:
        """A batch as in the table of `kwire dump`."""
        return layout(table_columns(deep=False), room=width).row(batch_row(self._item(number)))

    def title(self, number: int) -> str:
        """Return the title of a batch or gap, with its position."""
        item = self._item(number)
        return f"at {item.position}: {batch_title(item) if isinstance(item, Batch) else f'gap: {item.code}'}"

    def is_odd(self, number: int) -> bool:
        """Return whether an entry is a batch with an anomaly, or a gap other than padding."""
        return bool(self._odd[number])

    def partner(self, number: int) -> int | None:  # noqa: ARG002 - as above
        """Batches have none."""
        return None

    def numbered(self, text: str) -> int | None:
        """The batch with this offset, or `@` and a position."""
        at = text.startswith("@")
        if not text[at:].isdecimal():
            return None
        wanted = int(text[at:])
        for number in range(self._count):
            item = self._item(number)
            if at and item.position <= wanted < item.position + item.size:
                return number
            if not at and isinstance(item, Batch) and item.head.base_offset <= wanted <= item.head.last_offset:
                return number
        return None

    def look(self, number: int, *, full: bool) -> Look:
        """A batch or gap byte by byte."""
        item = self._item(number)
        batch = item if isinstance(item, Batch) else item.batch
        outline = of_item(self.catalog, item, self.source, self.redaction.reading(), full=full)
        costs = [] if isinstance(item, Batch) else [Row(GAP_PATH, 0, item.size, 1)]
        costs += rows_of(batch.spans()) if batch else []
        return Look(outline, costs, partial(item.to_json, deep=True, hide=self.hide))

    def packets(self, numbers: Sequence[int], found: dict[str, set[int]]) -> Iterator[float]:  # noqa: ARG002 - as above
        """Raise InputError: only captures have packets."""
        raise InputError("only a capture has packets")

    def close(self) -> None:
        """The file is open for as long as somebody has it."""
