"""Pairs: the requests and responses of a capture put together as its lines come, before there are any tables.

Who draws or shows lines wants each pair when it is complete, and chooses among lines that no table holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from kwire_cli.analysis.call import Call, Evidence, host_of, instant, moment, seconds
from kwire_cli.source.kafka.captured import body_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange

    Pair: TypeAlias = tuple[Captured, Captured | None]

MOST_PENDING = 1 << 14
"""Requests without a response so far. Beyond that those for which their connection waits no more are unanswered."""


class Pairs:
    """Puts the lines of captures together: each pair when its response comes, or when none can come any more.

    It keeps the requests for which connections wait, so their bounds are its own.
    """

    def __init__(self) -> None:
        self._pending: dict[tuple[str | None, int], dict[int, Captured]] = {}
        self._count, self._most = 0, MOST_PENDING

    def add(self, line: Captured) -> Iterable[Pair]:
        """Return the pairs that are complete with a request or a response."""
        connection = line.origin.capture, line.stream
        if line.kind == "request":
            if not line.wants_response:
                return ((line, None),)
            self._pending.setdefault(connection, {})[id(line)] = line
            self._count += 1
            return self._given_up() if self._count > self._most else ()
        request = line.request
        if request is None:
            return ()
        self._count -= self._pending.get(connection, {}).pop(id(request), None) is not None
        return ((request, line),)

    def is_pending(self, line: Captured) -> bool:
        """Return whether a line is a request that waits for its response."""
        return id(line) in self._pending.get((line.origin.capture, line.stream), {})

    def _given_up(self) -> list[Pair]:
        """Return the requests for whose responses no connection waits any more."""
        pairs: list[Pair] = []
        for pending in self._pending.values():
            pairs += [(pending.pop(key), None) for key in [*pending] if pending[key].seen.given_up]
        self._pending = {connection: pending for connection, pending in self._pending.items() if pending}
        self._count -= len(pairs)
        self._most = max(MOST_PENDING, 2 * self._count)
        return pairs

    def end(self, connection: tuple[str | None, int] | None = None) -> Iterator[Pair]:
        """Yield the requests of a connection (its capture and stream), or of all, that were not answered."""
        ended = [connection] if connection else [*self._pending]
        for key in ended:
            pending = self._pending.pop(key, {})
            self._count -= len(pending)
            yield from ((request, None) for request in pending.values())


def call_of_lines(request: Captured, response: Captured | None, *, with_bodies: bool = True) -> Call:
    """Return the call of a request and its response. Without bodies it costs next to nothing."""
    key, version = request.api_key, request.api_version
    api = request.api or f"api {key}"
    throttle = response.field("throttleTimeMs") if response is not None and with_bodies else 0
    return Call(
        api,
        -1 if key is None else key,
        -1 if version is None else version,
        request.client_id or request.src,
        host_of(request.src),
        request.dst,
        request.broker,
        request.stream,
        seconds(request.seen.time),
        None if response is None else seconds(response.seen.time),
        body_of(request) if with_bodies else {},
        None if response is None else body_of(response) if with_bodies else {},
        [str(error) for error in response.errors] if response is not None and with_bodies else [],
        _evidence(request, f"{api} request"),
        None if response is None else _evidence(response, f"{api} response"),
        request.names.topic,
        None if response is None else response.latency,
        throttle if isinstance(throttle, int) else 0,
    )


def _evidence(line: Captured, what: str) -> Evidence:
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


def call_of_exchange(exchange: Exchange, topic_of: Callable[[str], str]) -> Call:
    """Return the call of an exchange, whose log says when the broker was done and how long that took."""
    answered = moment(exchange.time)
    asked = None if answered is None else type(answered)(answered - (exchange.total_ms or 0) / 1000)
    api = exchange.api or f"api {exchange.api_key}"
    client = exchange.client or exchange.connection
    has_response = exchange.response is not None
    return Call(
        api,
        exchange.api_key,
        exchange.api_version,
        exchange.client_id or client,
        host_of(client),
        exchange.broker or exchange.connection,
        None,
        0,
        asked,
        answered,
        exchange.request,
        exchange.response,
        [str(error) for error in exchange.errors],
        Evidence(f"{api} request", instant(asked), line=exchange.line),
        Evidence(f"{api} response", exchange.time, line=exchange.line) if has_response else None,
        topic_of,
        exchange.seconds,
        exchange.stages.get("throttleTimeMs", 0),
    )
