"""Pair the requests and responses of a capture while its lines are read.

`kwire decode --pairs` shows each pair when it is complete. Pending requests are stored by connection. A request that
its connection has given up is paired with None, so that memory is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.source.kafka.captured import Captured

    Pair: TypeAlias = tuple[Captured, Captured | None]

MOST_PENDING = 1 << 14
"""Number of pending requests above which requests that their connection has given up are removed."""


class Pairs:
    """Pairing of the lines of captures. A pair is complete when its response arrives, or can no longer arrive.

    It stores only requests that are pending in their connection, which limits their number.
    """

    def __init__(self) -> None:
        self._pending: dict[tuple[str | None, int], dict[int, Captured]] = {}
        self._count = 0
        self._limit = MOST_PENDING

    def add(self, line: Captured) -> Iterable[Pair]:
        """Return the pairs that are complete with a request or a response."""
        connection = line.origin.capture, line.stream
        if line.kind == "request":
            if not line.wants_response:
                return ((line, None),)
            self._pending.setdefault(connection, {})[id(line)] = line
            self._count += 1
            return self._remove_given_up() if self._count > self._limit else ()
        request = line.request
        if request is None:
            return ()
        self._count -= self._pending.get(connection, {}).pop(id(request), None) is not None
        return ((request, line),)

    def _remove_given_up(self) -> list[Pair]:
        """Remove and return the requests that their connection has given up."""
        pairs: list[Pair] = []
        for pending in self._pending.values():
            pairs += [(pending.pop(key), None) for key in list(pending) if pending[key].seen.given_up]
        self._pending = {connection: pending for connection, pending in self._pending.items() if pending}
        self._count -= len(pairs)
        self._limit = max(MOST_PENDING, 2 * self._count)
        return pairs

    def end(self, connection: tuple[str | None, int] | None = None) -> Iterator[Pair]:
        """Yield the unanswered requests of a connection (its capture and stream), or of all connections."""
        ended = [connection] if connection else list(self._pending)
        for key in ended:
            pending = self._pending.pop(key, {})
            self._count -= len(pending)
            yield from ((request, None) for request in pending.values())
