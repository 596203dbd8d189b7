"""The outline of one frame or batch with a limited number of rows, and the bytes that they point into.

The page and the terminal interface show one entry at a time and cannot hold a batch with millions of fields. The
outline is walked depth first until `MOST_NODES` rows are collected, and buffers are cut after `MOST_BYTES`. Secret
bytes of buffers are overwritten with zeros here, and not by each view.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.errors import counted
from kwire_cli.message.record_notes import UNPLACED, is_decompressed, placed_record_notes
from kwire_cli.records.batch import PADDING, Batch, deep_anomalies
from kwire_cli.view.outline import batch_rows, frame_buffer, frame_rows, item_row
from kwire_cli.view.rows import NOTHING, Buffer, Extent, Field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Hide, Source
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.rows import Row

    Hidden = dict[str, frozenset[int]]

MOST_NODES = 20_000
"""Maximum number of rows of one frame or batch, unless `full` is set."""
MOST_BYTES = 256 << 10
"""Maximum number of bytes of a buffer, unless `full` is set."""
MOST_WALKED = 8 << 20
"""Maximum number of bytes of a batch that are decoded to fields, unless `full` is set."""
MASK = "**"


@dataclass(frozen=True, slots=True)
class Bytes:
    """The first bytes of a buffer: bytes of the input, or decompressed bytes.

    `data` contains the first of `size` bytes, starting at offset `at`. `masked` are ranges of `data` with secrets, in
    order. `data` has zeros there.
    """

    name: str
    at: int
    size: int
    data: bytes
    masked: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """The offset at which the bytes in `data` end."""
        return self.at + len(self.data)

    def cells(self, start: int, end: int) -> list[str]:
        """Return two hex digits, or stars, for each of the bytes [start, end) that `data` contains."""
        low = max(start - self.at, 0)
        high = min(end - self.at, len(self.data))
        return [MASK if self.is_masked(i) else f"{self.data[i]:02x}" for i in range(low, high)]

    def is_masked(self, index: int) -> bool:
        """Return whether the byte at this index of the data must not be shown."""
        at = bisect_right(self.masked, (index, len(self.data) + 1)) - 1
        return at >= 0 and index < self.masked[at][1]


class BoundedOutline:
    """The first rows of an outline.

    `left_out` counts the other rows; it is a lower bound, as the fields of omitted elements are not counted. The
    `buffers` do not contain secret bytes. If rows are left out, a buffer ends after the last completely walked field:
    the bytes after it may contain secrets whose place is unknown.
    """

    def __init__(
        self, rows: Iterable[Row], buffer: Buffer | None, anomalies: Iterable[Anomaly] = (), *, full: bool = False
    ) -> None:
        self.full = full
        self.anomalies = list(anomalies)
        self.rows: list[Row] = []
        self.left_out = 0
        self._numbers: dict[Buffer, int] = {}
        self._masked: list[list[tuple[int, int]]] = []
        self._reached: list[int] = []
        if buffer:
            self._number(buffer)
        self._collect(rows)

    def _collect(self, rows: Iterable[Row]) -> None:
        still_open: list[tuple[Row | None, Iterator[Row]]] = [(None, iter(rows))]
        while still_open:
            above, siblings = still_open[-1]
            row = next(siblings, None)
            if row is None:
                still_open.pop()
                if above is not None:
                    self._reach(above)
            elif self.full or len(self.rows) < MOST_NODES:
                self.rows.append(row)
                number = self._number(row.buffer)
                if row.secret is not None:
                    self._masked[number].append((row.secret, row.place[2]))
                still_open.append((row, iter(row.below())))
            else:
                self.left_out += 1
                if row.name.startswith("["):  # the array may have many more elements
                    still_open.pop()

    def _number(self, buffer: Buffer) -> int:
        if buffer not in self._numbers:
            self._numbers[buffer] = len(self._numbers)
            self._masked.append([])
            self._reached.append(buffer.start)
        return self._numbers[buffer]

    def _reach(self, row: Row) -> None:
        """Record that all bytes up to the end of a row were walked, and that their secrets are masked."""
        if isinstance(row, Field) and row.kind and not self.left_out:
            number = self._numbers[row.buffer]
            self._reached[number] = max(self._reached[number], row.place[2])

    def number(self, row: Row) -> int:
        """Return the number of the buffer that a row points into."""
        return self._numbers[row.buffer]

    @property
    def buffers(self) -> list[Bytes]:
        """The bytes that rows point into."""
        return [self._bytes(buffer, number) for buffer, number in self._numbers.items()]

    def _bytes(self, buffer: Buffer, number: int) -> Bytes:
        start = buffer.start
        stop = self._reached[number] if self.left_out else buffer.stop
        data = bytearray(buffer.data[start : stop if self.full else min(stop, start + MOST_BYTES)])
        masked: list[tuple[int, int]] = []
        for secret_start, secret_end in sorted(self._masked[number]):
            low = max(secret_start - start, 0)
            high = min(secret_end - start, len(data))
            if low >= high:
                continue
            data[low:high] = bytes(high - low)
            if masked and low <= masked[-1][1]:
                previous_low, previous_high = masked.pop()
                low = previous_low
                high = max(previous_high, high)
            masked.append((low, high))
        return Bytes(buffer.name, start, buffer.stop - start, bytes(data), tuple(masked))


def _extent(catalog: Catalog, reading: RecordsAs | None, *, full: bool) -> Extent:
    return Extent(catalog, reading, full=full, messages="within", most=None if full else MOST_WALKED)


def of_frame(
    catalog: Catalog,
    frame: Frame,
    hidden: Hidden,
    reading: RecordsAs | None,
    *,
    full: bool,
    asked: Frame | None = None,
    own: Iterable[Anomaly] = (),
) -> BoundedOutline:
    """Return the outline of a frame. Its anomalies follow its `own`. `hidden` and `asked` are as in `Frame.to_json`."""
    buffer = frame_buffer(frame)
    rows = frame_rows(_extent(catalog, reading, full=full), frame, hidden, asked=asked, buffer=buffer)
    in_records = _in_records(frame.body, reading, hidden.get("body", NOTHING))
    return BoundedOutline(rows, buffer, [*own, *frame.shown(hidden).anomalies, *in_records], full=full)


def _in_records(body: Decoded | None, reading: RecordsAs | None, hidden: frozenset[int]) -> list[Anomaly]:
    """Return the anomalies of the batches and records in a body."""
    return placed_record_notes(body, reading, hidden) if reading else []


def of_line(catalog: Catalog, line: Captured, hidden: Hidden, hide: Hide | None, *, full: bool) -> BoundedOutline:
    """Return the outline of a line of a capture. A line without a frame has no rows, only its anomaly."""
    own = [Anomaly(line.code, "", 0, MEANING.get(line.code, ""))] if line.code else []
    if not line.frame:
        return BoundedOutline((), None, own)
    return of_frame(catalog, line.frame, hidden, line.reading(hide), full=full, asked=line.asked, own=own)


def of_item(catalog: Catalog, item: Batch | Gap, source: Source, reading: RecordsAs, *, full: bool) -> BoundedOutline:
    """Return the outline of a batch or gap of a segment."""
    extent = _extent(catalog, reading, full=full)
    name = f"{'batch' if isinstance(item, Batch) else 'gap'} at {item.position}"
    stop = item.end if full or isinstance(item, Batch) else min(item.end, item.position + MOST_BYTES)
    buffer = Buffer(name, source.view(item.position, stop), item.position, item.end)
    if isinstance(item, Batch):
        return BoundedOutline(batch_rows(extent, item, buffer), buffer, _batch_anomalies(item, reading), full=full)
    row = item_row(extent, item, buffer, source.topic, name="(no batch)", json_path=None)
    return BoundedOutline([row], buffer, _gap_anomalies(item, reading), full=full)


def _gap_anomalies(gap: Gap, reading: RecordsAs) -> list[Anomaly]:
    if gap.batch:
        return _batch_anomalies(gap.batch, reading)
    if gap.code == PADDING:
        return []
    return [Anomaly(gap.code, "", gap.position, f"{counted(gap.size, 'byte')} that are no batch")]


def _batch_anomalies(batch: Batch, reading: RecordsAs) -> list[Anomaly]:
    """Return the anomalies of a batch of a segment and of its records."""
    return [
        note._replace(offset=UNPLACED) if is_decompressed(batch, note) else note
        for note in deep_anomalies(batch, reading.hide)
    ]
