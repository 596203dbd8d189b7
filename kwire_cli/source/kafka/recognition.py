"""Search for the start of a frame in one direction of a connection, after a loss and in mid-stream.

Rules:

- A place can begin a request if a plausible size, api key, version and client id follow. It can begin a response if
  a plausible size precedes the correlation id of a pending request, or if it is the start of a piece of data, because
  senders usually begin to send with a frame.
- While the client is unknown, size prefixes from the start of a piece that end exactly at its last byte decide. A
  request further on in the piece must have a client id, because bytes of responses can look the same.
- A place is confirmed when its frame is complete, and the data end there or another frame of the kind begins. The first
  confirmed place wins.
- If no place is confirmed within MOST_UNSURE bytes or before the next loss, a request with a client id is accepted, and
  a response that has a pending id and is at the start of a piece.
- A place is judged once when it is found, and once more at each point where one of its frames begins or ends. So the
  search never examines a byte twice.
"""

from __future__ import annotations

import re
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Protocol

from kwire_cli.engine.fixed import fixed
from kwire_cli.message.encode import correlation_id
from kwire_cli.message.frames import MAX_SIZE, SIZE_BYTES, says_size
from kwire_cli.source.first_bytes import client_id_length, names_client, reads_as_request
from kwire_cli.structs.headers import REQUEST_START, RESPONSE_START

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.source.kafka.pending import Pending
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.structs.composites import MessageStruct

MOST_UNSURE = 1 << 18
"""Bytes within which a frame must be confirmed."""
MOST_PLACES = 4096
"""Maximum number of places. Beyond it the oldest are dropped."""
BIG = 1 << 20
"""Size above which a frame must look like a frame before the search waits for its end, unless framing was never
lost."""
MAX_SIZE_PREFIX = (1 << 31) - 1
"""The largest value of a size prefix."""
BELIEVABLE = 1 << 10
"""Bytes within which the client id of a request ends."""
LINKS = 16
"""Number of consecutive frames that confirm a place, even if the last one is incomplete."""

_SMALL_NUMBER = rb"\0[\0-\xff]"
_ANY_ID = rb"[\0-\xff]{4}"


def _pattern(decl: MessageStruct, **fields: bytes) -> re.Pattern[bytes]:
    """Return the pattern of the first bytes of a frame, from one pattern per field."""
    return re.compile(rb"(?=" + b"".join(fields[field.name] for field in decl.subcons) + rb")", re.DOTALL)


_REQUEST = _pattern(
    REQUEST_START,
    size=rb"(?!\0\0\0[\0-\x09])[\0-\x06][\0-\xff]{3}",
    requestApiKey=_SMALL_NUMBER,
    requestApiVersion=_SMALL_NUMBER,
    correlationId=_ANY_ID,
    clientIdLength=rb"(?:[\0-\x04][\0-\xff]|\xff\xff)",
)
_RESPONSE = _pattern(RESPONSE_START, size=rb"(?!\0\0\0[\0-\x03])[\0-\x06][\0-\xff]{3}", correlationId=_ANY_ID)
_REQUEST_BYTES = fixed(REQUEST_START).size
_RESPONSE_BYTES = fixed(RESPONSE_START).size


class Owner(Protocol):
    """The connection of a search (`connection.Connection`)."""

    catalog: Catalog
    client: int | None

    @property
    def pending(self) -> Pending[Any]:
        """The requests without a response."""


class Places:
    """Places that can begin a frame, and the buffer sizes at which each can be judged further."""

    __slots__ = ("_alive", "_due")

    def __init__(self) -> None:
        self._due: list[tuple[int, int, int, int]] = []
        self._alive: dict[int, None] = {}  # in the order in which they were found

    def wait(self, at: int, until: int, end: int, links: int) -> None:
        """Judge the place `at` again when the buffer has `until` bytes.

        `end` is the end of its last known frame, 0 if unknown, and `links` the number of frames before that one.
        """
        if at not in self._alive:
            if len(self._alive) >= MOST_PLACES:
                del self._alive[next(iter(self._alive))]
            self._alive[at] = None
        heappush(self._due, (until, at, end, links))
        if len(self._due) > 2 * MOST_PLACES:
            self._due = [entry for entry in self._due if entry[1] in self._alive]
            heapify(self._due)

    def due(self, size: int) -> Iterable[tuple[int, int, int]]:
        """Return the places that can be judged at this buffer size, as place, end and links."""
        places = []
        while self._due and self._due[0][0] <= size:
            _, at, end, links = heappop(self._due)
            if at in self._alive:
                places.append((at, end, links))
        return places

    def drop(self, at: int) -> None:
        """Remove a place that does not begin a frame."""
        self._alive.pop(at, None)

    def oldest(self) -> int | None:
        """Return the first remaining place, or None."""
        return next(iter(self._alive), None)

    def shift(self, count: int) -> None:
        """Account for the removal of the first `count` bytes of the buffer."""
        self._due = [
            (until - count, at - count, end and end - count, links)
            for until, at, end, links in self._due
            if at in self._alive
        ]
        self._alive = {at - count: None for at in self._alive}


class Search:
    """A search for frames of one kind. The subclasses know which places can begin a frame."""

    __slots__ = ("_places", "_scanned")
    _pattern: re.Pattern[bytes]
    _needed: int

    def __init__(self, start: int) -> None:
        self._places = Places()
        self._scanned = start

    def skip(self, count: int) -> None:
        """Account for the removal of the first `count` bytes of the buffer."""
        self._places.shift(count)
        self._scanned = max(self._scanned - count, 0)

    def find(self, buffer: bytearray, *, last: bool) -> int:
        """Return the start of a frame; see `Recogniser.find`."""
        size = len(buffer)
        confirmed = [at for at, end, links in self._places.due(size) if self._judge(buffer, at, end, links)]
        if confirmed:
            return min(confirmed)
        for match in self._pattern.finditer(buffer, self._scanned):
            at = match.start()
            self._scanned = at + 1
            if self._can_begin(buffer, at) and self._judge(buffer, at, 0, 0):
                return at
        self._scanned = max(self._scanned, size - self._needed + 1)
        while (oldest := self._places.oldest()) is not None and (last or size - oldest > MOST_UNSURE):
            if self._accepts(buffer, oldest):
                return oldest
            self._drop(oldest)
        return -1 - (self._scanned if oldest is None else min(oldest, self._scanned))

    def _can_begin(self, buffer: bytearray, at: int) -> bool:
        """Return whether a place that matches the pattern can begin a frame."""
        raise NotImplementedError

    def _judge(self, buffer: bytearray, at: int, end: int, links: int) -> bool:
        """Return whether a place is confirmed, drop the place, or let it wait for more bytes."""
        raise NotImplementedError

    def _accepts(self, buffer: bytearray, at: int) -> bool:
        """Return whether a place begins a frame although it was not confirmed."""
        raise NotImplementedError

    def _drop(self, at: int) -> None:
        self._places.drop(at)


class Requests(Search):
    """The search for requests."""

    __slots__ = ("_catalog",)
    _pattern = _REQUEST
    _needed = _REQUEST_BYTES

    def __init__(self, catalog: Catalog, start: int) -> None:
        super().__init__(start)
        self._catalog = catalog

    def _can_begin(self, buffer: bytearray, at: int) -> bool:  # noqa: ARG002 - the pattern decides
        return True

    def _accepts(self, buffer: bytearray, at: int) -> bool:
        named = at > 0 or (says_size(buffer, 0, len(buffer)) or 0) > BIG
        return reads_as_request(self._catalog, buffer, at) and names_client(self._catalog, buffer, at, needed=named)

    def _judge(self, buffer: bytearray, at: int, end: int, links: int) -> bool:
        size = len(buffer)
        if not end:
            end = at + SIZE_BYTES + (says_size(buffer, at, size) or 0)
            head = min(at + _REQUEST_BYTES + max(client_id_length(buffer, at) or 0, 0), end)
            if end - at > SIZE_BYTES + MAX_SIZE:
                return False
            if size < head:
                self._places.wait(at, head, 0, 0)
                return False
            if not reads_as_request(self._catalog, buffer, at):
                self._places.drop(at)
                return False
        if size == end or (size >= end + _REQUEST_BYTES and reads_as_request(self._catalog, buffer, end)):
            return True
        if size >= end + _REQUEST_BYTES:
            self._places.drop(at)
        else:
            self._places.wait(at, end if size < end else end + _REQUEST_BYTES, end, links)
        return False


class Responses(Search):
    """The search for responses to the requests in `pending`."""

    __slots__ = ("_pending", "_pieces", "_size")
    _pattern = _RESPONSE
    _needed = _RESPONSE_BYTES

    def __init__(self, pending: Pending[Any], start: int) -> None:
        super().__init__(start)
        self._pending = pending
        self._pieces: set[int] = set()
        self._size = -1 if start else 0  # bytes after an invalid size are in the middle of a piece

    def skip(self, count: int) -> None:
        """Account for the removal of the first `count` bytes of the buffer."""
        super().skip(count)
        self._pieces = {at - count for at in self._pieces if at >= count}
        self._size -= count

    def find(self, buffer: bytearray, *, last: bool) -> int:
        """Return the start of a response; see `Recogniser.find`."""
        size = len(buffer)
        if 0 <= self._size < size:
            self._pieces.add(self._size)
            self._places.wait(self._size, self._size + _RESPONSE_BYTES, 0, 0)
        self._size = size
        return super().find(buffer, last=last)

    def may_hold(self, at: int) -> bool:
        """Return whether `at` can be inside a frame that begins at the start of a piece."""
        return any(piece < at for piece in self._pieces)

    def _can_begin(self, buffer: bytearray, at: int) -> bool:
        return at not in self._pieces and self._is_pending(buffer, at)

    def _accepts(self, buffer: bytearray, at: int) -> bool:
        return at in self._pieces and len(buffer) - at >= _RESPONSE_BYTES and self._is_pending(buffer, at)

    def _is_pending(self, buffer: bytearray, at: int) -> bool:
        response_id = correlation_id("response", buffer, at + SIZE_BYTES)
        return response_id is not None and response_id in self._pending

    def _drop(self, at: int) -> None:
        self._places.drop(at)
        self._pieces.discard(at)

    def _judge(self, buffer: bytearray, at: int, end: int, links: int) -> bool:
        size = len(buffer)
        end = end or at
        while end == at or end < size:
            if size - end < _RESPONSE_BYTES:
                self._places.wait(at, end + _RESPONSE_BYTES, end, links)
                return False
            frame_size = says_size(buffer, end, size) or 0
            if not SIZE_BYTES <= frame_size <= MAX_SIZE:
                self._drop(at)
                return False
            if links >= LINKS or (end > at and self._is_pending(buffer, at) and self._is_pending(buffer, end)):
                return True
            end += SIZE_BYTES + frame_size
            links += 1
        if end > size:
            self._places.wait(at, end, end, links)
        return end == size


class Recogniser:
    """The search for frames in one direction of a connection."""

    __slots__ = ("_first", "_owner", "_role", "_searches", "_side")

    def __init__(self, owner: Owner, side: int) -> None:
        self._owner = owner
        self._side = side
        self._role: bool | None = None
        self._first = 0
        self._searches: tuple[Requests, Responses] | None = None  # most connections need none

    def _from_client(self) -> bool | None:
        """Return whether the client is the sender, or None while the client is unknown."""
        return None if self._owner.client is None else self._owner.client == self._side

    def restart(self, at: int) -> None:
        """Start a new search at `at` in the buffer."""
        self._first = at
        self._searches = None

    def skip(self, count: int) -> None:
        """Account for the removal of the first `count` bytes of the buffer."""
        self._first = max(self._first - count, 0)
        for search in self._searches or ():
            search.skip(count)

    def find(self, buffer: bytearray, *, last: bool = False) -> int:
        """Return the start of a frame, or -1 - position if no frame starts before that position.

        `last` is true if no bytes follow the buffer.
        """
        role = self._from_client()
        if role is not self._role:
            self._role = role
            self.restart(self._first)  # the previous search was for frames of either peer
        if self._searches is None:
            self._searches = Requests(self._owner.catalog, self._first), Responses(self._owner.pending, self._first)
        requests, responses = self._searches
        request_at = requests.find(buffer, last=last) if role is not False else -1 - len(buffer)
        if role is True:
            return request_at
        answer = responses.find(buffer, last=last)
        while (
            0 <= request_at != answer
            and not last
            and responses.may_hold(request_at)
            and not names_client(self._owner.catalog, buffer, request_at, needed=True)
        ):
            request_at = requests.find(buffer, last=last)
        return min(request_at, answer) if request_at >= 0 <= answer else max(request_at, answer)

    def believes(self, buffer: bytearray, at: int) -> bool:
        """Return whether a frame with a large size looks like a frame."""
        if self._from_client() is not False and reads_as_request(self._owner.catalog, buffer, at):
            return True
        wanted = correlation_id("response", buffer, at + SIZE_BYTES)
        return self._from_client() is not True and wanted is not None and wanted in self._owner.pending

    def oversize(self, buffer: bytearray, at: int) -> bool | None:
        """Return whether a size over MAX_SIZE begins a request of the client. Return None if more bytes must decide."""
        if self._from_client() is not True or not reads_as_request(
            self._owner.catalog, buffer, at, most=MAX_SIZE_PREFIX
        ):
            return False
        if names_client(self._owner.catalog, buffer, at, needed=True):
            return True
        return None if len(buffer) - at < BELIEVABLE else False
