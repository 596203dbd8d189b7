"""Traffic: the frames of a capture, numbered, paired, named. What `kwire decode CAPTURE` shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.source.capture.events import Data, End, Gap, Start
from kwire_cli.source.kafka.connection import Connection, Seen
from kwire_cli.source.kafka.names import Names, error_codes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.message.frames import Frame
    from kwire_cli.source.capture.events import Event
    from kwire_cli.spec.catalog import Catalog

WAITING = frozenset({"Fetch", "ShareFetch", "JoinGroup", "SyncGroup", "FetchSnapshot"})
"""Apis whose answer a broker holds back on purpose; their latency says nothing about how fast it is."""


@dataclass(frozen=True)
class Captured:
    """One line of a capture: a frame, a SASL token, another protocol's bytes, or a gap. Times are nanoseconds since 1970.

    `request` is a response's request. `topics` are the names (ids where no name is known) of what it is about.
    """

    catalog: Catalog
    seen: Seen
    number: int
    stream: int
    src: str
    dst: str
    request: Captured | None
    frame: Frame | None
    topics: list[str]

    @property
    def kind(self) -> str:
        """request, response, sasl-token, not-kafka or gap."""
        return self.seen.kind

    @property
    def time(self) -> str | None:
        """When its last byte arrived, in ISO 8601 with microseconds, UTC."""
        return time_text(self.seen.time)

    @property
    def latency(self) -> float | None:
        """Seconds from request to response."""
        if self.request is None or self.seen.time is None or self.request.seen.time is None:
            return None
        return (self.seen.time - self.request.seen.time) / 1e9

    @cached_property
    def errors(self) -> list[str]:
        """The names of the error codes in a response, numbers where no name is known."""
        if self.frame is None or self.frame.body is None or self.frame.body.guess or self.kind != "response":
            return []
        return [self.catalog.error_name(code) or str(code) for code in error_codes(self.frame.body)]

    def to_json(self, *, records: str = "base64", lossless: bool = False, hidden: dict[str, frozenset[int]] | None = None) -> dict[str, Any]:
        """The line as in JSON lines; what only frames have is left out of the others."""
        place: dict[str, Any] = {"time": self.time, "src": self.src, "dst": self.dst, "stream": self.stream, "packet": self.seen.packet}
        if self.frame is None:
            out = {"frame": self.number, **place, "kind": self.kind, "size": self.seen.size}
            if self.kind == "gap":
                out["code"] = self.seen.code
            if self.kind == "not-kafka":
                out["protocol"] = self.seen.protocol
            return out
        document = self.frame.to_json(records=records, lossless=lossless, hidden=hidden)
        out = {"frame": self.number, **place} | {key: value for key, value in document.items() if key != "frame"}
        if self.request:
            out["requestFrame"] = self.request.number
        if self.latency is not None:
            out["latency"] = self.latency
        return out | ({"topics": self.topics} if self.topics else {})


def time_text(time: int | None) -> str | None:
    """Nanoseconds since 1970 as ISO 8601 with microseconds; a time outside what a date can be is left out."""
    if time is None:
        return None
    try:
        moment = datetime.fromtimestamp(time // 1_000_000_000, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time % 1_000_000_000 // 1000:06d}Z"


def traffic(catalog: Catalog, events: Iterable[Event], *, port: int | None = None) -> Iterator[Captured]:
    """The lines of a capture in the order in which their last bytes arrived. `port` is the broker's, where it is known."""
    watch = _Watch(catalog, port)
    for event in events:
        yield from watch.take(event)
    yield from watch.close()


@dataclass(frozen=True, slots=True)
class _Ends:
    texts: tuple[str, str]
    broker: int | None


class _Watch:
    """The open connections, and what is known of names."""

    def __init__(self, catalog: Catalog, port: int | None) -> None:
        self.catalog, self.port = catalog, port
        self.names = Names()
        self.number = 0
        self.connections: dict[int, tuple[Connection, _Ends]] = {}

    def take(self, event: Event) -> Iterator[Captured]:
        if isinstance(event, Data):
            connection, ends = self.connections[event.connection]
            for seen in connection.feed(event.direction, event.data, event.packet, event.time):
                yield self._captured(seen, event.connection, connection, ends)
        elif isinstance(event, Start):
            ports = (event.source.port, event.destination.port)
            broker = ports.index(self.port) if self.port in ports else None
            ends = _Ends((str(event.source), str(event.destination)), broker)
            opened = 0 if event.opened else None
            connection = Connection(self.catalog, from_start=event.opened, client=opened, broker=broker)
            self.connections[event.connection] = connection, ends
        elif isinstance(event, Gap):
            connection, ends = self.connections[event.connection]
            for seen in connection.lose(event.direction, event.size, event.packet, event.time):
                yield self._captured(seen, event.connection, connection, ends)
        elif isinstance(event, End):
            yield from self._end(event.connection)

    def _end(self, stream: int) -> Iterator[Captured]:
        connection, ends = self.connections.pop(stream)
        for seen in connection.end():
            yield self._captured(seen, stream, connection, ends)

    def close(self) -> Iterator[Captured]:
        for stream in list(self.connections):
            yield from self._end(stream)

    def _captured(self, seen: Seen, stream: int, connection: Connection, ends: _Ends) -> Captured:
        self.number += 1
        seen.number = self.number
        src, dst = ends.texts[seen.side], ends.texts[1 - seen.side]
        frame = self._frame(connection, seen) if seen.kind in {"request", "response"} else None
        request = seen.request.line if seen.request else None
        topics: list[str] = []
        if frame:
            broker = ends.texts[1 - connection.client] if connection.client is not None else dst
            self.names.learn(frame, stream, broker, request.frame if request else None)
            topics = self.names.topics_of(frame, broker)
            if not topics and request and frame.api_key == 1:
                topics = request.topics
        line = Captured(self.catalog, seen, self.number, stream, src, dst, request, frame, topics)
        if seen.kind == "request":
            seen.line = line
        return line

    def _frame(self, connection: Connection, seen: Seen) -> Frame:
        frame = connection.frame(seen)
        if frame.number != seen.number:  # it was decoded before it had one
            frame = replace(frame, number=seen.number)
        if not seen.missing:
            return frame
        have = len(seen.data)
        cut = Anomaly("TRUNCATED", "", have, f"have {have} of {have + seen.missing} bytes: {MEANING['TRUNCATED']}")
        return replace(frame, notes=(cut, *(note for note in frame.notes if note.code != "FRAME_SIZE_MISMATCH")))
