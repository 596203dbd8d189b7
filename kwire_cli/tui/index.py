"""The lines of a capture as columns of numbers: what it takes to make any of them again when somebody looks at it."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.message.frames import SIZE_BYTES
from kwire_cli.message.headers import heads, request_head
from kwire_cli.message.plain import Headers, Layouts
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.connection import Connection, Seen
from kwire_cli.source.kafka.framing import Cut
from kwire_cli.source.kafka.names import Names
from kwire_cli.tui.kept import Kept

if TYPE_CHECKING:
    from kwire_cli.source.capture.origin import Origin
    from kwire_cli.spec.catalog import Catalog

_KINDS = ("request", "response", "sasl-token", "not-kafka", "gap")
_NO_TIME = -(1 << 63)


class _Stream(NamedTuple):
    """What is known of a connection: the texts of its ends by side, which of them is the client, and its software."""

    ends: tuple[str, str]
    client: int | None
    software: str | None


class _Strange(NamedTuple):
    """What only lines have that are no frames."""

    code: str | None
    protocol: str | None
    content: tuple[str, ...]
    reason: str | None


def response_correlation(catalog: Catalog, data: bytes) -> int | None:
    """The correlation id of a response with its size prefix; None where the bytes end before it does."""
    layout = heads(catalog)[1]
    return int(layout.unpack(data, SIZE_BYTES)[0]) if len(data) >= SIZE_BYTES + layout.size else None


class Index:
    """A line takes some hundred bytes here; those of its frame are in a temporary file.

    `names` are those that the capture tells, as it is read; `origin` is the capture's.
    """

    def __init__(self, catalog: Catalog, origin: Origin) -> None:
        self.catalog, self.names, self.origin = catalog, Names(), origin
        self._layouts, self._headers = Layouts(catalog), Headers(catalog)
        self._kept = Kept()
        self._at, self._length, self._size, self._missing = array("q"), array("q"), array("q"), array("q")
        self._time, self._packet, self._stream = array("q"), array("q"), array("q")
        self._request, self._response = array("q"), array("q")
        self._kind, self._side, self._odd = array("B"), array("B"), array("B")
        self._in_flight, self._session = array("q"), array("q")
        self._streams: dict[int, _Stream] = {}
        self._strange: dict[int, _Strange] = {}
        self._sessions: list[list[str]] = []
        self._session_numbers: dict[int, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, line: Captured) -> None:
        """Keep a line, the next by its number."""
        seen = line.seen
        self._at.append(self._kept.add(bytes(seen.data)))
        self._length.append(len(seen.data))
        self._size.append(seen.size)
        self._missing.append(seen.missing)
        self._time.append(_NO_TIME if seen.time is None else seen.time)
        self._packet.append(seen.packet)
        self._stream.append(line.stream)
        request = line.request.number - 1 if line.request else -1
        self._request.append(request)
        self._response.append(-1)
        self._kind.append(_KINDS.index(seen.kind))
        self._side.append(seen.side)
        self._odd.append(bool(line.anomalies))
        self._in_flight.append(-1 if seen.in_flight is None else seen.in_flight)
        self._session.append(self._session_number(line.session) if line.session else -1)
        if not line.is_frame:
            self._strange[self._count] = _Strange(seen.code, seen.protocol, seen.content, seen.reason)
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

    def _learn_stream(self, line: Captured) -> None:
        known, of = self._streams.get(line.stream), line.connection
        if known is None or known.client != of.client or known.software != of.software:
            ends = (line.dst, line.src) if line.seen.side else (line.src, line.dst)
            self._streams[line.stream] = _Stream(ends, of.client, of.software)

    def is_odd(self, number: int) -> bool:
        """Whether a line has an anomaly."""
        return bool(self._odd[number])

    def request_of(self, number: int) -> int | None:
        """The request of a response, if it was seen."""
        found = self._request[number]
        return None if found < 0 else found

    def response_of(self, number: int) -> int | None:
        """The response of a request, if it was seen."""
        found = self._response[number]
        return None if found < 0 else found

    def line(self, number: int) -> Captured:
        """A line as it was when it was added, with its request."""
        request = self.request_of(number)
        asked = self._line(request, None) if request is not None else None
        return self._line(number, asked)

    def _line(self, number: int, asked: Captured | None) -> Captured:
        stream, side, time = self._streams[self._stream[number]], self._side[number], self._time[number]
        data = self._kept.read(self._at[number], self._length[number])
        cut = Cut("frame", data, self._packet[number], None if time == _NO_TIME else time, self._missing[number])
        kind = _KINDS[self._kind[number]]
        head = request_head(self.catalog, data, SIZE_BYTES, len(data)) if kind == "request" else asked.seen.head if asked else None
        seen = Seen(kind, side, cut, head=head, request=asked.seen if asked else None)
        if head and not cut.missing and (layout := self._layouts.get(kind, head.api_key, head.version)):
            correlation = head.correlation_id if kind == "request" else response_correlation(self.catalog, data)
            if correlation is not None:
                seen.plain = self._headers.plain(layout, data, correlation)
        if strange := self._strange.get(number):
            seen.code, seen.protocol, seen.content, seen.reason = strange
        seen.size = self._size[number]
        seen.in_flight = None if self._in_flight[number] < 0 else self._in_flight[number]
        if asked:
            asked.seen.line = asked
        connection = Connection(self._layouts, broker=None if stream.client is None else 1 - stream.client)
        connection.software = stream.software
        line = Captured(seen, self._stream[number], stream.ends[side], stream.ends[1 - side], connection, self.names, self.origin)
        line.number = number + 1
        session = self._session[number]
        line.session = [] if session < 0 else self._sessions[session]
        return line

    def close(self) -> None:
        """Let go of the file."""
        self._kept.close()
