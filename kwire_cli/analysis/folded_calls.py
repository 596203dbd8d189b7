"""Calls as profiles of clients see them: requests and responses of captures and request logs put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import moment, seconds
from kwire_cli.analysis.pairs import Pairs
from kwire_cli.analysis.subjects import LogItem
from kwire_cli.engine.codes import UNREAD
from kwire_cli.source.kafka.captured import Captured, body_of
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.request_log.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator


class CapturedCall:
    """A call of a capture: `line` is its request, `answer` its response. Bodies are read when they are wanted."""

    def __init__(self, line: Captured, answer: Captured | None) -> None:
        key, version = line.api_key, line.api_version
        self.line, self.answer = line, answer
        self.api: str = line.api or f"api {key}"
        self.api_key: int = -1 if key is None else key
        self.version: int = -1 if version is None else version
        self.client_id: str | None = line.client_id
        self.software: str | None = line.software
        self.connection: Hashable = (line.origin.capture, line.stream)
        self.asked: float | None = seconds(line.seen.time)
        self.answered: float | None = None if answer is None else seconds(answer.seen.time)
        self.latency: float | None = None if answer is None else answer.latency

    @property
    def request(self) -> dict[str, Any]:
        """The body of the request."""
        return body_of(self.line)

    @property
    def response(self) -> dict[str, Any] | None:
        """The body of the response."""
        return None if self.answer is None else body_of(self.answer)

    @property
    def is_read(self) -> bool:
        """Return whether all of the request's body could be read."""
        frame = self.line.frame
        has_body = self.line.seen.plain is not None or (frame is not None and frame.body is not None)
        return has_body and UNREAD.isdisjoint(self.line.anomalies)

    @property
    def errors(self) -> list[str | int]:
        """The names of the error codes in the response, numbers where no name is known."""
        return self.answer.errors if self.answer is not None else []

    @property
    def sizes(self) -> tuple[int, int]:
        """The bytes of request and response."""
        return self.line.seen.size, self.answer.seen.size if self.answer is not None else 0


class LoggedCall:
    """A call of a request log, which tells how long the broker took."""

    is_read = True
    sizes = 0, 0

    def __init__(self, exchange: Exchange) -> None:
        answered = moment(exchange.time)
        self.exchange = exchange
        self.api: str = exchange.api or f"api {exchange.api_key}"
        self.api_key: int = exchange.api_key
        self.version: int = exchange.api_version
        self.client_id: str | None = exchange.client_id
        self.software: str | None = exchange.software
        self.connection: Hashable = exchange.connection
        took = (exchange.total_ms or 0) / 1000
        self.asked: float | None = None if answered is None else type(answered)(answered - took)
        self.answered: float | None = answered
        self.latency: float | None = exchange.seconds
        self.request: dict[str, Any] = exchange.request
        self.response: dict[str, Any] | None = exchange.response
        self.errors: list[str | int] = exchange.errors


Call = CapturedCall | LoggedCall


class CallFold:
    """A fold over calls and items of logs, which a subclass takes."""

    def __init__(self) -> None:
        self._pairs = Pairs()

    def add(self, subject: Any) -> None:
        """Take in a line of a capture, a TCP connection, an exchange of a request log, or a batch of a log."""
        if isinstance(subject, LogItem):
            self.log_item(subject)
        for call in self._calls_of(subject):
            self.call(call)

    def _calls_of(self, subject: Any) -> Iterator[Call]:
        if isinstance(subject, Captured):
            if subject.seen.plain is not None or not (subject.guess or subject.api_key is None):
                yield from (CapturedCall(*pair) for pair in self._pairs.add(subject))
        elif isinstance(subject, Exchange):
            yield LoggedCall(subject)
        elif isinstance(subject, TcpConnection):
            yield from (CapturedCall(*pair) for pair in self._pairs.end((subject.capture, subject.stream)))

    def finish(self) -> None:
        """Take the calls that were not answered."""
        for pair in self._pairs.end():
            self.call(CapturedCall(*pair))

    def call(self, call: Call, /) -> None:
        """Take a request with its response."""

    def log_item(self, item: LogItem, /) -> None:
        """Take a batch of a log directory, or a gap."""
