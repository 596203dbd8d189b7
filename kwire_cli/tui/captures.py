"""The lines of a capture, which is read once from start to end, or followed while it grows.

The bytes of a line and its other facts are written to a temporary file. A line is made again from them when it is
shown. Only its position there stays in memory, and the numbers by which lines are searched and sorted.
"""

from __future__ import annotations

import json
from array import array
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.filter.rows import FrameRow
from kwire_cli.message.encode import correlation_id, request_head
from kwire_cli.message.frames import SIZE_BYTES
from kwire_cli.message.known_layout import Headers, Layouts
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.kafka.captured import Captured, Names
from kwire_cli.source.kafka.connection import Connection, Seen
from kwire_cli.source.kafka.framing import Cut
from kwire_cli.source.kafka.line_records import is_anomalous
from kwire_cli.source.packets.writing import copy_packets
from kwire_cli.tui.look import Look
from kwire_cli.view.anomaly_counts import AnomalyCounts
from kwire_cli.view.bounded_outline import of_line
from kwire_cli.view.frame_table import COLUMNS, cells

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from kwire_cli.message.redaction import Redaction
    from kwire_cli.records.selection import RowFilter

PIECE = 1 << 20
"""Bytes of lines that stay in memory; if there are more, all are in a file."""
NO_TIME = -(1 << 63)
NO_LINE = -1
OF_SEEN = (
    *("kind", "side", "packet", "time", "missing", "size", "in_flight", "delayed"),
    *("code", "protocol", "content", "reason"),
)
"""The attributes of a `Seen` that are kept; all others follow from its bytes."""


class Captures:
    """The lines of a capture. Names of topics and brokers are learnt while it is read.

    `filter_of` compiles a filter. The methods are those of all listings: `read` and `write_packets` yield the share of
    the file that was read, and `look` returns the fields and bytes of an entry, with `full` all of them.
    """

    what = ("frame", "frames")
    """The singular and plural of the noun for the entries."""
    columns = COLUMNS
    sorts = ("time", "size", "latency")
    """The names by which `sort_value` sorts."""

    def __init__(self, redaction: Redaction, filter_of: Callable[[str], RowFilter], opened: CaptureInput) -> None:
        self.redaction = redaction
        self.filter_of = filter_of
        self.notes: list[str] = []
        """Notes on the file, complete once it was read."""
        self._opened = opened
        self._size = max(opened.size, 1)
        # Opening the capture here reports a file that cannot be read before the screen is used.
        self._origin = opened.capture.origin
        self._names = Names()
        self._layouts = Layouts(redaction.catalog)
        self._headers = Headers(redaction.catalog)
        self._file: IO[bytes] = BytesIO()
        self._ends = array("q", [0])
        self._facts_sizes = array("q")
        self._sizes = array("q")
        self._times = array("q")
        self._requests = array("q")
        self._responses = array("q")
        self._failed = array("B")
        self._sessions: list[list[str]] = [[]]
        self._session_numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._failed)

    def read(self) -> Iterator[float]:
        self._file = SpooledTemporaryFile(PIECE, prefix="kwire-")  # noqa: SIM115 - it is closed by close
        capture = self._opened.capture
        for line in self._opened.lines(self._names):
            self._add(line)
            yield capture.passed / self._size
        self.notes = [
            f"after packet {notice.packet}, byte {notice.position}: {notice.text}" for _, notice in capture.notices
        ]

    def _add(self, line: Captured) -> None:
        seen = line.seen
        own = [getattr(seen, name) for name in OF_SEEN]
        facts = [line.stream, line.src, line.dst, line.connection.client, line.connection.key, line.software]
        text = json.dumps([own, facts, self._session_number(line.session)]).encode()
        self._file.seek(self._ends[-1])
        self._file.write(text)
        self._file.write(seen.data)
        request = line.request.number - 1 if line.request else NO_LINE
        if request != NO_LINE:
            self._responses[request] = len(self)
        self._ends.append(self._file.tell())
        self._facts_sizes.append(len(text))
        self._sizes.append(seen.size)
        self._times.append(NO_TIME if seen.time is None else seen.time)
        self._requests.append(request)
        self._responses.append(NO_LINE)
        self._failed.append(bool(line.errors) or is_anomalous(line))

    def _session_number(self, session: list[str]) -> int:
        """Return the number of a list of topics, which belongs to many lines and is not written for each of them."""
        if not session:
            return 0
        number = self._session_numbers.setdefault(id(session), len(self._sessions))
        if number == len(self._sessions):
            self._sessions.append(session)
        return number

    def line(self, number: int) -> Captured:
        """Return a line as it was read, with its request."""
        request = self._requests[number]
        return self._line(number, None if request == NO_LINE else self._line(request, None))

    def _line(self, number: int, request: Captured | None) -> Captured:
        start = self._ends[number]
        self._file.seek(start)
        own, facts, session = json.loads(self._file.read(self._facts_sizes[number]))
        data = self._file.read(self._ends[number + 1] - start - self._facts_sizes[number])
        stream, src, dst, client, key, software = facts
        seen = Seen("", 0, Cut("frame", data, 0, None, 0))
        for name, value in zip(OF_SEEN, own, strict=True):
            setattr(seen, name, value)
        if request:
            seen.request = request.seen
            seen.head = request.seen.head
            request.seen.line = request
        if seen.kind == "request":
            seen.head = request_head(data, SIZE_BYTES, len(data))
        self._find_layout(seen)
        connection = Connection(self._layouts, client=client, key=key)
        line = Captured(seen, stream, src, dst, connection, self._names, self._origin)
        line.number = number + 1
        line.software = software
        line.session = self._sessions[session]
        return line

    def _find_layout(self, seen: Seen) -> None:
        head = seen.head
        layout = self._layouts.get(seen.kind, head.api_key, head.version) if head and not seen.missing else None
        if head is None or layout is None:
            return
        correlation: int | None = head.correlation_id
        if seen.kind == "response":
            correlation = correlation_id("response", seen.data, SIZE_BYTES)
        if correlation is not None:
            seen.plain = self._headers.plain(layout, seen.data, correlation)

    def look(self, number: int, *, full: bool) -> Look:
        line = self.line(number)
        hidden = self.redaction.line(line)
        hide = self.redaction.record
        outline = of_line(self.redaction.catalog, line, hidden, hide, full=full)
        document = partial(line.to_json, records="decoded", hidden=hidden, hide=hide)
        return Look(outline, _title(line), document, line.seen.reason or "")

    def matcher(self, text: str) -> Callable[[int], bool]:
        """Return a function that reports whether an entry matches a filter. FilterError if the text is not a filter."""
        matches = self.filter_of(text).matches
        return lambda number: matches(FrameRow(self.line(number), self.redaction))

    def cells(self, number: int) -> list[str]:
        return cells(FrameRow(self.line(number)), self.columns, AnomalyCounts("frame"))

    def sort_value(self, column: str) -> Callable[[int], int]:
        if column == "latency":
            return self._latency
        return (self._times if column == "time" else self._sizes).__getitem__

    def _latency(self, number: int) -> int:
        request = self._requests[number]
        if request == NO_LINE or NO_TIME in (self._times[number], self._times[request]):
            return NO_TIME
        return self._times[number] - self._times[request]

    def is_error(self, number: int) -> bool:
        """Return whether an entry has an error or an anomaly, or is one."""
        return bool(self._failed[number])

    def partner(self, number: int) -> int | None:
        """Return the response of a request or the request of a response; None if it is unknown."""
        found = max(self._requests[number], self._responses[number])
        return None if found == NO_LINE else found

    def write_packets(self, numbers: Sequence[int], name: str) -> Iterator[float]:
        opened = self._opened
        again = CaptureInput(opened.recognised, replace(opened.how, packets=True, follow=None), opened.caller)
        wanted = set(numbers)
        found: dict[str, set[int]] = {}
        for line in again.lines():
            for file, packet in line.packets if line.number - 1 in wanted else ():
                if file is not None and packet is not None:
                    found.setdefault(file, set()).add(packet)
            yield again.capture.passed / self._size
        _write_capture(Path(name), found)

    def close(self) -> None:
        self._file.close()


def _title(line: Captured) -> str:
    if line.code or not line.is_frame:
        content = f": {', '.join(line.seen.content)}" if line.seen.content else ""
        titles = {"sasl-token": "SASL token", "not-kafka": f"not Kafka: {line.seen.protocol or 'unknown'}{content}"}
        what = titles.get(line.kind, f"gap: {line.code}")
    else:
        what = f"{line.api or f'api key {line.api_key}'} {line.kind}"
        what += "" if line.api_version is None else f" version {line.api_version}"
    return f"frame {line.number}: {what}, {line.src} to {line.dst}"


def _write_capture(path: Path, chosen: Mapping[str, Container[int]]) -> None:
    """Write packets, chosen by number from each capture, to a new file: pcap if its name ends so, else pcapng."""
    if path.exists():
        raise InputError("this file exists; choose another name")
    with path.open("xb") as file:

        def write(data: bytes) -> None:
            file.write(data)

        copy_packets(chosen, "pcap" if path.suffix == ".pcap" else "pcapng", write)
