"""Captures listed while they are read."""

from __future__ import annotations

import tempfile
import threading
from array import array
from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from kwire_cli.filter.rows import FrameRow
from kwire_cli.message.encode import correlation_id, request_head
from kwire_cli.message.frames import SIZE_BYTES
from kwire_cli.message.known_layout import Headers, Layouts
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.kafka.captured import Captured, Names
from kwire_cli.source.kafka.connection import Connection, Seen
from kwire_cli.source.kafka.framing import Cut
from kwire_cli.source.kafka.line_records import is_anomalous
from kwire_cli.tui.look import Look, Pace, frame_costs
from kwire_cli.view.anomaly_counts import AnomalyCounts
from kwire_cli.view.bounded_outline import of_line
from kwire_cli.view.frame_table import COLUMNS, cells, text_of_names
from kwire_cli.view.widths import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.message.redaction import Redaction
    from kwire_cli.records.selection import RowFilter
    from kwire_cli.source.packets.model import Origin
    from kwire_cli.view.lines import Line

    Matches = Callable[[Any], bool]


# Bytes that are kept out of memory until somebody looks at them.

PIECE = 1 << 20
"""Bytes that wait in memory before they are written."""


class MessageFile:
    """Bytes in a temporary file without a name, once they are many, in the order in which they came: one thread adds,
    others read.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._written = 0

    def add(self, data: bytes) -> int:
        """Keep bytes; where they begin."""
        with self._lock:
            at = self._written + len(self._waiting)
            self._waiting += data
            if len(self._waiting) >= PIECE:
                self._file = self._file or tempfile.TemporaryFile(prefix="kwire-")  # noqa: SIM115 - it is closed by close
                self._file.seek(self._written)
                self._file.write(self._waiting)
                self._written += len(self._waiting)
                self._waiting.clear()
            return at

    def read(self, at: int, size: int) -> bytes:
        """Bytes that were kept."""
        with self._lock:
            if at >= self._written or self._file is None:
                return bytes(self._waiting[at - self._written : at - self._written + size])
            self._file.seek(at)
            return self._file.read(size)

    def close(self) -> None:
        """Give them up."""
        if self._file:
            self._file.close()


# The lines of a capture as columns of numbers: what it takes to make any of them again when somebody looks at
# it.

_KINDS = ("request", "response", "sasl-token", "not-kafka", "gap")


_NO_TIME = -(1 << 63)


class _Stream(NamedTuple):
    """The known facts of a connection: texts of its ends by side, the side of the client, and the key."""

    ends: tuple[str, str]
    client: int | None
    key: int


class _Strange(NamedTuple):
    """The facts that only lines other than frames have."""

    code: str | None
    protocol: str | None
    content: tuple[str, ...]
    reason: str | None


class Index:
    """A line takes some hundred bytes here; those of its frame are in a temporary file.

    `names` are those that the capture tells, as it is read; `origin` is the capture's.
    """

    def __init__(self, layouts: Layouts, origin: Origin) -> None:
        self.catalog, self.names, self.origin = layouts.catalog, Names(), origin
        self._layouts, self._headers = layouts, Headers(layouts.catalog)
        self._file = MessageFile()
        self._at, self._length, self._size, self._missing = array("q"), array("q"), array("q"), array("q")
        self._time, self._packet, self._stream = array("q"), array("q"), array("q")
        self._request, self._response = array("q"), array("q")
        self._kind, self._side, self._odd, self._delayed = array("B"), array("B"), array("B"), array("B")
        self._in_flight, self._session, self._software = array("q"), array("q"), array("q")
        self._streams: dict[int, _Stream] = {}
        self._strange: dict[int, _Strange] = {}
        self._sessions: list[list[str]] = []
        self._session_numbers: dict[int, int] = {}
        self._software_names: list[str | None] = []
        self._software_numbers: dict[str | None, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, line: Captured) -> None:
        """Keep a line, the next by its number."""
        event = line.seen
        self._at.append(self._file.add(bytes(event.data)))
        self._length.append(len(event.data))
        self._size.append(event.size)
        self._missing.append(event.missing)
        self._time.append(_NO_TIME if event.time is None else event.time)
        self._packet.append(event.packet)
        self._stream.append(line.stream)
        request = line.request.number - 1 if line.request else -1
        self._request.append(request)
        self._response.append(-1)
        self._kind.append(_KINDS.index(event.kind))
        self._side.append(event.side)
        self._odd.append(is_anomalous(line))
        self._delayed.append(line.delayed)
        self._in_flight.append(-1 if event.in_flight is None else event.in_flight)
        self._session.append(self._session_number(line.session) if line.session else -1)
        self._software.append(self._software_number(line.software))
        if not line.is_frame:
            self._strange[self._count] = _Strange(event.code, event.protocol, event.content, event.reason)
        self._learn_stream(line)
        if request >= 0:
            self._response[request] = self._count
        self._count += 1

    def _session_number(self, session: list[str]) -> int:
        """Sessions are few, and their lists belong to many lines."""
        number = self._session_numbers.setdefault(id(session), len(self._sessions))
        if number == len(self._sessions):
            self._sessions.append(session)
        return number

    def _software_number(self, software: str | None) -> int:
        number = self._software_numbers.setdefault(software, len(self._software_names))
        if number == len(self._software_names):
            self._software_names.append(software)
        return number

    def _learn_stream(self, line: Captured) -> None:
        stream, of = self._streams.get(line.stream), line.connection
        if stream is None or stream.client != of.client:
            ends = (line.dst, line.src) if line.seen.side else (line.src, line.dst)
            self._streams[line.stream] = _Stream(ends, of.client, of.key)

    def is_odd(self, number: int) -> bool:
        """Return whether a line has an anomaly."""
        return bool(self._odd[number])

    def request_of(self, number: int) -> int | None:
        """The request of a response, if it was seen."""
        request = self._request[number]
        return None if request < 0 else request

    def response_of(self, number: int) -> int | None:
        """The response of a request, if it was seen."""
        response = self._response[number]
        return None if response < 0 else response

    def line(self, number: int) -> Captured:
        """A line as it was when it was added, with its request."""
        request = self.request_of(number)
        request_line = self._line(request, None) if request is not None else None
        return self._line(number, request_line)

    def _line(self, number: int, asked: Captured | None) -> Captured:
        stream, side, time = self._streams[self._stream[number]], self._side[number], self._time[number]
        data = self._file.read(self._at[number], self._length[number])
        cut = Cut("frame", data, self._packet[number], None if time == _NO_TIME else time, self._missing[number])
        kind = _KINDS[self._kind[number]]
        head = request_head(data, SIZE_BYTES, len(data)) if kind == "request" else asked.seen.head if asked else None
        seen = Seen(kind, side, cut, head=head, request=asked.seen if asked else None)
        if head and not cut.missing and (layout := self._layouts.get(kind, head.api_key, head.version)):
            correlation = head.correlation_id if kind == "request" else correlation_id("response", data, SIZE_BYTES)
            if correlation is not None:
                seen.plain = self._headers.plain(layout, data, correlation)
        if strange := self._strange.get(number):
            seen.code, seen.protocol, seen.content, seen.reason = strange
        seen.size = self._size[number]
        seen.in_flight = None if self._in_flight[number] < 0 else self._in_flight[number]
        seen.delayed = bool(self._delayed[number])
        if asked:
            asked.seen.line = asked
        broker = None if stream.client is None else 1 - stream.client
        connection = Connection(self._layouts, broker=broker, key=stream.key)
        line = Captured(
            seen, self._stream[number], stream.ends[side], stream.ends[1 - side], connection, self.names, self.origin
        )
        line.number = number + 1
        line.software = self._software_names[self._software[number]]
        session = self._session[number]
        line.session = [] if session < 0 else self._sessions[session]
        return line

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


# Captures in a list: read once from end to end, a line made again when it is on the screen.

LARGE = 16 << 10
"""Bytes of a frame from which on what its row says is kept."""


MOST_TOPICS = 20
"""Topics that are shown of such a frame."""


class _LargeRow(NamedTuple):
    """The cells of a large frame, made when the frame was read, and its topics, whose names may be known later."""

    made: list[str]
    topics: list[str]

    def cells(self, names: Names) -> list[str]:
        """Return the cells, with the names of topics that are known by now."""
        topics = text_of_names([names.topic(topic) for topic in self.topics])
        return [topics if column.name == "topics" else cell for cell, column in zip(self.made, COLUMNS, strict=True)]


def _cells(line: Captured) -> list[str]:
    return cells(FrameRow(line), COLUMNS, AnomalyCounts("frame"))


class Captures:
    """The lines of a capture. `filter_of` compiles a filter."""

    what = ("frame", "frames")
    number_is = "a frame's number"

    def __init__(self, redaction: Redaction, opened: CaptureInput, filter_of: Callable[[str], RowFilter]) -> None:
        self.catalog, self.redaction = redaction.catalog, redaction
        self.notes: list[str] = []
        self._opened, self._filter_of = opened, filter_of
        origin = opened.capture.origin  # what cannot be read says so at once
        self._index = Index(Layouts(self.catalog), origin)
        self._read = False
        self._size = max(opened.size, 1)
        self._known: dict[int, _LargeRow] = {}

    def __len__(self) -> int:
        return len(self._index)

    def _lines(self, names: Names | None) -> Iterator[tuple[float, Captured]]:
        """Yield the lines, with the share of the file that was read. Note what ended the reading early."""
        opened = self._opened.anew()
        capture = opened.capture
        for line in opened.lines(names):
            yield capture.passed / self._size, line
        self.notes = [
            f"after packet {notice.packet}, byte {notice.position}: {notice.text}" for notice in capture.notices
        ]

    def read(self) -> Iterator[float]:
        """Find the lines. Names of topics are learnt on the way, so that rows get them that were found before."""
        pace = Pace()
        for share, line in self._lines(self._index.names):
            self._index.add(line)
            if line.seen.size >= LARGE:  # which takes long to read again for its row
                self._known[line.number - 1] = _LargeRow(_cells(line), line.topics[:MOST_TOPICS])
            if pace.is_due():
                yield share
        self._read = True

    def select(self, text: str) -> Callable[[], Iterator[tuple[float, list[int]]]]:
        """Return a function that finds the lines that match a filter.

        The function reads the capture again, which is quicker than making each line again.
        """
        return partial(self._select, self._filter_of(text).matches)

    def _select(self, matches: Matches) -> Iterator[tuple[float, list[int]]]:
        names = Names(dict(self._index.names.topics), dict(self._index.names.brokers)) if self._read else None
        numbers: list[int] = []
        pace = Pace()
        for share, line in self._lines(names):
            while line.number > len(self) and not self._read:  # the list must have it before it is shown
                yield share, numbers
                numbers = []
            if line.number > len(self):
                break  # the file has grown since
            if matches(FrameRow(line, self.redaction)):
                numbers.append(line.number - 1)
            if pace.is_due():
                yield share, numbers
                numbers = []
        yield 1.0, numbers

    def packets(self, numbers: Sequence[int], found: dict[str, set[int]]) -> Iterator[float]:
        """Find the packets that carry some frames, by file; yield the share of the capture that was read."""
        opened = self._opened
        again = CaptureInput(opened.recognised, replace(opened.how, packets=True), opened.caller, opened.source)
        wanted = set(numbers)
        pace = Pace()
        for line in again.lines(None):
            for file, packet in line.packets if line.number - 1 in wanted else ():
                if file is not None and packet is not None:
                    found.setdefault(file, set()).add(packet)
            if pace.is_due():
                yield again.capture.passed / self._size
        yield 1.0

    def heading(self, width: int) -> Line:
        """The names of the columns."""
        return layout(COLUMNS, room=width).heading()

    def row(self, number: int, width: int) -> Line:
        """A line as in the table of `kwire decode`."""
        known = self._known.get(number)
        row = _cells(self._index.line(number)) if known is None else known.cells(self._index.names)
        return layout(COLUMNS, room=width).row(row)

    def title(self, number: int) -> str:
        """The frame's number, and what it is."""
        line = self._index.line(number)
        version = "" if line.api_version is None or not line.is_frame else f" version {line.api_version}"
        return f"frame {number + 1}: {_title(line)}{version}, {line.src} to {line.dst}"

    def is_odd(self, number: int) -> bool:
        """Return whether the entry has an anomaly."""
        return self._index.is_odd(number)

    def partner(self, number: int) -> int | None:
        """Its response or its request."""
        request = self._index.request_of(number)
        return self._index.response_of(number) if request is None else request

    def numbered(self, text: str) -> int | None:
        """The frame of this number."""
        return int(text) - 1 if text.isdecimal() and 1 <= int(text) <= len(self) else None

    def look(self, number: int, *, full: bool) -> Look:
        """The frame of a line, with its request where it is a response."""
        line = self._index.line(number)
        hidden, hide = self.redaction.line(line), self.redaction.record
        outline = of_line(self.catalog, line, hidden, hide, full=full)
        costs = frame_costs(line.frame) if line.frame else []
        document = partial(line.to_json, records="decoded", hidden=hidden, hide=hide)
        return Look(outline, costs, document, (line.seen.reason,) if line.seen.reason else ())

    def close(self) -> None:
        """Let go of the bytes."""
        self._index.close()


def _title(line: Captured) -> str:
    """Return what a line is: the api and request or response, or why it is no frame."""
    if line.code or not line.is_frame:
        content = f": {', '.join(line.seen.content)}" if line.seen.content else ""
        titles = {"sasl-token": "SASL token", "not-kafka": f"not Kafka: {line.seen.protocol or 'unknown'}{content}"}
        return titles.get(line.kind, f"gap: {line.code}")
    if line.kind == "unknown":
        return "not recognised"
    return f"{line.api or ('unknown' if line.api_key is None else f'api key {line.api_key}')} {line.kind}"
