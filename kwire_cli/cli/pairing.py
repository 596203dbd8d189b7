"""Pairs: the requests and responses of a capture put together as its lines come, without tables.

`kwire decode --pairs` shows each pair when it is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.source.kafka.captured import Captured

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
