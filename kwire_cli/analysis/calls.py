"""Calls of captures and of request logs: requests and responses put together, in the form of `Call`.

A call of a capture reads its bodies when they are asked for, so an api that nobody asks about costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import Call, Evidence, moment, named_topic, parts, seconds, topic_id_of
from kwire_cli.engine.codes import UNREAD
from kwire_cli.records.batch import Batch, Source
from kwire_cli.records.codecs import Limits
from kwire_cli.records.formats import AUTO
from kwire_cli.records.layouts import layouts_of
from kwire_cli.records.reading import record_set
from kwire_cli.source.kafka.captured import Captured, body_of
from kwire_cli.source.kafka.line_records import raw_body_of
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.spec.kafka import PRODUCE

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

MOST_NAMES = 1 << 16
"""Names of topic ids that are kept of a request log."""
MOST_PENDING = 1 << 14
"""Requests without a response so far. Beyond that those for which their connection waits no more are unanswered."""
_NO_CALLS: dict[int, Any] = {}
_LAYOUTS, _LIMITS = layouts_of(AUTO), Limits()


class CapturedCall(Call):
    """A call of a capture: `line` is its request, `answer` its response. Attributes are as in `Call`."""

    __slots__ = (
        "_batches", "_errors", "_raw", "_request", "_response",
        "answer", "answered", "api", "api_key", "asked", "broker", "client", "client_id", "connection", "has_response",
        "latency", "line", "version", "who",
    )  # fmt: skip

    def __init__(self, line: Captured, answer: Captured | None = None) -> None:
        # All rules ask for these again and again.
        self.line = line
        if plain := line.seen.plain:
            layout = plain.layout
            self.api: str = layout.api
            self.api_key: int = layout.api_key
            self.version: int = layout.version
        else:
            key, version = line.api_key, line.api_version
            self.api = line.api or f"api {key}"
            self.api_key, self.version = -1 if key is None else key, -1 if version is None else version
        self.asked: float | None = seconds(line.seen.time)
        self.client: str = line.src
        self.broker: str = line.dst
        self.client_id: str | None = line.client_id
        self.who: str = self.client_id or line.src
        self.connection: Hashable = (line.origin.capture, line.stream)
        self.answer: Captured | None = None
        self.answered: float | None = None
        self.latency: float | None = None
        self.has_response: bool = False
        if answer is not None:
            self.complete(answer)
        self._batches: list[tuple[str, int, Batch]] | None = None
        self._raw: dict[str, Any] | None = None
        self._errors: list[str | int] | None = None
        self._request: dict[str, Any] | None = None
        self._response: dict[str, Any] | None = None

    def complete(self, answer: Captured) -> None:
        """Add the response."""
        self.answer, self.answered, self.has_response = answer, seconds(answer.seen.time), True
        self.latency = answer.latency

    @property
    def delayed(self) -> bool:
        return self.answer is not None and self.answer.delayed

    @property
    def software(self) -> str | None:
        return self.line.software

    @property
    def node(self) -> int | None:
        return self.line.broker

    @property
    def request(self) -> dict[str, Any]:
        if self._request is None:
            self._request = body_of(self.line)
        return self._request

    @property
    def response(self) -> dict[str, Any] | None:
        if self._response is None and self.answer is not None:
            self._response = body_of(self.answer)
        return self._response

    @property
    def is_read(self) -> bool:
        frame = self.line.frame
        has_body = self.is_sound or (frame is not None and frame.body is not None)
        return has_body and UNREAD.isdisjoint(self.line.anomalies)

    @property
    def is_sound(self) -> bool:
        return self.line.seen.plain is not None

    @property
    def errors(self) -> list[str | int]:
        if self._errors is None:
            self._errors = self.answer.errors if self.answer is not None else []
        return self._errors

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys([*self.line.topics, *(self.answer.topics if self.answer is not None else ())]))

    @property
    def throttle(self) -> float:
        answer = self.answer
        throttle_ms = None if answer is None else answer.field("throttleTimeMs")
        return throttle_ms / 1000 if throttle_ms else 0.0

    @property
    def sizes(self) -> tuple[int, int]:
        return self.line.seen.size, self.answer.seen.size if self.answer is not None else 0

    def topic(self, of: dict[str, Any]) -> str:
        return named_topic(of) or self.line.names.topic(topic_id_of(of))

    def batches(self) -> Sequence[tuple[str, int, Batch]]:
        if self._batches is None:
            self._batches = self._read_batches() if self.api_key == PRODUCE else []
        return self._batches

    def _read_batches(self) -> list[tuple[str, int, Batch]]:
        catalog, batches = self.line.connection.catalog, []
        for topic, partition in parts(self._raw_request(), "topicData", "partitionData"):
            records, index = partition.get("records"), partition.get("index")
            if isinstance(records, bytes | memoryview) and isinstance(index, int):
                name = self.topic(topic)
                source = Source(memoryview(records), _LAYOUTS, catalog, name, _LIMITS)
                batches += [(name, index, item) for item in record_set(source) if isinstance(item, Batch)]
        return batches

    def _raw_request(self) -> dict[str, Any]:
        if self._raw is None:
            self._raw = raw_body_of(self.line)
        return self._raw

    def field(self, name: str) -> Any:
        return (self._raw_request() if self.api_key == PRODUCE else self.request).get(name)

    def evidence(self, *, of_request: bool = False) -> Evidence:
        line = self.line if of_request or self.answer is None else self.answer
        return evidence_of(line, f"{self.api} {'request' if line is self.line else 'response'}")


class LoggedCall(Call):
    """A call of a request log, which tells how long the broker took. Attributes are as in `Call`.

    `named` are the names of topic ids that other lines of the log told.
    """

    __slots__ = ("exchange", "file", "named")

    def __init__(self, exchange: Exchange, file: str | None = None, named: Mapping[str, str] | None = None) -> None:
        self.exchange, self.file, self.named = exchange, file, exchange.named if named is None else named

    @property
    def asked(self) -> float | None:
        answered = self.answered
        return None if answered is None else type(answered)(answered - (self.exchange.total_ms or 0) / 1000)

    @property
    def answered(self) -> float | None:
        return moment(self.exchange.time)

    @property
    def latency(self) -> float | None:
        return self.exchange.seconds

    @property
    def delayed(self) -> bool:
        return self.exchange.delayed

    @property
    def api(self) -> str:
        return self.exchange.api or f"api {self.exchange.api_key}"

    @property
    def api_key(self) -> int:
        return self.exchange.api_key

    @property
    def version(self) -> int:
        return self.exchange.api_version

    @property
    def client_id(self) -> str | None:
        return self.exchange.client_id

    @property
    def software(self) -> str | None:
        return self.exchange.software

    @property
    def client(self) -> str:
        return self.exchange.client or self.exchange.connection

    @property
    def broker(self) -> str:
        return self.exchange.broker or self.exchange.connection

    @property
    def node(self) -> int | None:
        return None

    @property
    def connection(self) -> Hashable:
        return self.exchange.connection

    @property
    def request(self) -> dict[str, Any]:
        return self.exchange.request

    @property
    def response(self) -> dict[str, Any] | None:
        return self.exchange.response

    @property
    def errors(self) -> list[str | int]:
        return self.exchange.errors

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(self.named.get(topic, topic) for topic in self.exchange.topics))

    @property
    def throttle(self) -> float:
        return self.exchange.stages.get("throttleTimeMs", 0) / 1000

    @property
    def sizes(self) -> tuple[int, int]:
        return 0, 0

    def topic(self, of: dict[str, Any]) -> str:
        topic_id = topic_id_of(of)
        return named_topic(of) or self.named.get(topic_id) or self.exchange.named.get(topic_id, topic_id)

    def batches(self) -> Sequence[tuple[str, int, Batch]]:
        return ()

    def field(self, name: str) -> Any:
        return self.request.get(name)

    def evidence(self, *, of_request: bool = False) -> Evidence:
        what = f"{self.api} request" if of_request else self.api
        return Evidence(what, self.exchange.time, file=self.file, line=self.exchange.line)


class Calls:
    """Puts the lines of captures together to calls: each when its response comes, or when none can come any more.

    It keeps the requests for which connections wait, so their bounds are its own.
    """

    def __init__(self) -> None:
        self._pending: dict[tuple[str | None, int], dict[int, CapturedCall]] = {}
        self._named: dict[str, str] = {}
        self._count, self._most = 0, MOST_PENDING

    def of(self, subject: object) -> Iterable[Call]:
        """Return the calls that are complete with a subject: a line of a capture, a TCP connection, an exchange."""
        if isinstance(subject, Captured):
            return self.add(subject)
        if isinstance(subject, Exchange):
            if subject.named and len(self._named) < MOST_NAMES:
                self._named.update(subject.named)
            return (LoggedCall(subject, named=self._named),)
        return self.end((subject.capture, subject.stream)) if isinstance(subject, TcpConnection) else ()

    def add(self, line: Captured) -> Iterable[CapturedCall]:
        """Return the calls that are complete with a request or a response, unless its api is unknown or a guess."""
        return () if line.seen.plain is None and (line.guess or line.api_key is None) else self.pair(line)

    def pair(self, line: Captured) -> Iterable[CapturedCall]:
        """Return the calls that are complete with a request or a response, whatever is known of its api."""
        connection = line.origin.capture, line.stream
        if line.kind == "request":
            call = CapturedCall(line)
            if not line.wants_response:
                return (call,)
            pending = self._pending.get(connection)
            if pending is None:
                pending = self._pending[connection] = {}
            pending[id(line)] = call
            self._count += 1
            return self._given_up() if self._count > self._most else ()
        request = line.request
        if request is None:
            return ()
        asked = self._pending.get(connection, _NO_CALLS).pop(id(request), None)
        self._count -= asked is not None
        call = asked or CapturedCall(request)
        call.complete(line)
        return (call,)

    def is_pending(self, line: Captured) -> bool:
        """Return whether a line is a request whose call is not complete."""
        return id(line) in self._pending.get((line.origin.capture, line.stream), _NO_CALLS)

    def _given_up(self) -> list[CapturedCall]:
        """Return the calls for whose responses no connection waits any more."""
        calls: list[CapturedCall] = []
        for pending in self._pending.values():
            calls += [pending.pop(key) for key in [*pending] if pending[key].line.seen.given_up]
        self._pending = {connection: pending for connection, pending in self._pending.items() if pending}
        self._count -= len(calls)
        self._most = max(MOST_PENDING, 2 * self._count)
        return calls

    def end(self, connection: tuple[str | None, int] | None = None) -> Iterator[CapturedCall]:
        """Yield the calls of a connection (its capture and stream), or of all, that were not answered."""
        ended = [connection] if connection else [*self._pending]
        for key in ended:
            calls = self._pending.pop(key, {})
            self._count -= len(calls)
            yield from calls.values()


def evidence_of(line: Captured, what: str) -> Evidence:
    """Return a line of a capture as evidence."""
    file, packet = line.where
    several = line.origin.several or line.origin.capture is not None
    return Evidence(
        what,
        line.time,
        line.number or None,
        line.stream,
        line.origin.capture,
        file if several else None,
        packet=packet,
    )
