"""The requests of a connection without a response, in order.

A response belongs to the oldest request with its correlation id. The requests before that one are given up, because
their responses are in bytes that the capture lacks. Beyond the limits the oldest are given up too. The api and version
of a request that was given up are remembered by its correlation id, so that a late response is decoded by them and not
guessed. The cost of a response does not depend on the number of pending requests.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.message.encode import RequestHead

MAX_PENDING = 10_000
MAX_BYTES = 64 << 20
MAX_BYTES_UNHEARD = 1 << 20
"""Maximum size of all pending requests while the broker has sent no bytes."""
MAX_REMEMBERED = 1 << 16
"""Maximum number of requests that were given up. The oldest are dropped."""

LIMIT = "limit"
UNANSWERED = "unanswered"
"""Why a connection no longer waits for the response of a request: too many are pending, or a response can no
longer arrive."""


class Request(Protocol):
    """A request of a connection (`connection.Seen`)."""

    head: RequestHead | None
    data: bytes
    line: Any
    given_up: str | None


R = TypeVar("R", bound=Request)


class GivenUp(NamedTuple):
    """The api and version of a request that was given up, and why."""

    head: RequestHead
    why: str


@dataclass(slots=True, eq=False, repr=False)
class Pending(Generic[R]):
    """The pending requests, and the requests that were given up."""

    _requests: deque[R] | None = None
    _bytes: int = 0
    _ids: dict[int | None, int] | None = None
    _given_up: OrderedDict[int, GivenUp] | None = None

    def __len__(self) -> int:
        return len(self._requests) if self._requests else 0

    def __iter__(self) -> Iterator[R]:
        return iter(self._requests or ())

    def __contains__(self, correlation_id: int) -> bool:
        return self._ids is not None and correlation_id in self._ids

    @property
    def last(self) -> R | None:
        """The newest request."""
        return self._requests[-1] if self._requests else None

    @property
    def all_known(self) -> bool:
        """Return whether the capture has the header of each request."""
        return self._ids is None or None not in self._ids

    def add(self, request: R, *, heard: bool) -> None:
        """Wait for the response of a request. `heard` is true if the broker has sent any bytes."""
        if self._requests is None or self._ids is None:
            self._requests = deque()
            self._ids = {}
        self._requests.append(request)
        self._bytes += len(request.data)
        number = request.head.correlation_id if request.head else None
        self._ids[number] = self._ids.get(number, 0) + 1
        self.pop_given_up(number)  # the id is used again
        limit = MAX_BYTES if heard else MAX_BYTES_UNHEARD
        while len(self._requests) > 1 and (len(self._requests) > MAX_PENDING or self._bytes > limit):
            self._forget(self._next(), LIMIT)

    def pop(self, correlation_id: int | None) -> R | None:
        """Return the request that a response with this id answers, or None. The requests before it are given up."""
        if correlation_id is None or self._ids is None or correlation_id not in self._ids:
            return None
        while True:
            request = self._next()
            if request.head and request.head.correlation_id == correlation_id:
                return request
            self._forget(request, UNANSWERED)

    def pop_given_up(self, correlation_id: int | None) -> GivenUp | None:
        """Return the request with this id that was given up, or None if no such request is remembered."""
        if correlation_id is None or self._given_up is None:
            return None
        return self._given_up.pop(correlation_id, None)

    def clear(self) -> None:
        """Drop all pending requests."""
        self._requests = None
        self._bytes = 0
        self._ids = None

    def give_up_all(self) -> None:
        """Give up all pending requests, and forget the earlier ones."""
        while self._requests:
            self._forget(self._next(), UNANSWERED)
        self._given_up = None

    def _next(self) -> R:
        assert self._requests and self._ids  # noqa: S101, PT018 - for the type checker
        request = self._requests.popleft()
        self._bytes -= len(request.data)
        number = request.head.correlation_id if request.head else None
        if self._ids[number] == 1:
            del self._ids[number]
        else:
            self._ids[number] -= 1
        if not self._requests:
            self.clear()  # releases memory, because most connections have no pending request most of the time
        return request

    def _forget(self, request: R, why: str) -> None:
        (request if request.line is None else request.line.seen).given_up = why
        request.line = None  # avoids a reference cycle
        if request.head:
            if self._given_up is None:
                self._given_up = OrderedDict()
            self._given_up[request.head.correlation_id] = GivenUp(request.head, why)
            self._given_up.move_to_end(request.head.correlation_id)
            if len(self._given_up) > MAX_REMEMBERED:
                self._given_up.popitem(last=False)
