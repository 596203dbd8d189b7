"""A TCP stream that may be TLS.

Its events are buffered until the first bytes of a direction show whether it is TLS. A TLS stream is then decrypted by a
session, or its bytes are reported with the reason why it cannot be decrypted. Another stream passes unchanged. A PROXY
header of a load balancer can precede TLS, and is passed on separately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.first_bytes import beginning, undecided
from kwire_cli.source.packets.model import Data, End, Event, Gap, Start
from kwire_cli.source.tls.records import begins_data, reads_as_record
from kwire_cli.source.tls.scheduler import Place, Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.source.tls.session import Session

PROTOCOL = "tls"
NOT_INSTALLED = "decrypting it needs the package cryptography: pip install 'kwire[tls]'"
MID_CONNECTION = "the capture begins in the middle of the connection"
MOST_HELD = 1 << 16
"""Maximum number of bytes that are buffered while the protocol is unknown. Beyond it the stream passes unchanged."""


class Stream:
    """A stream that may be TLS. `done` is true when its events need no further processing.

    The first events are buffered until the first bytes of a direction identify the protocol.
    """

    def __init__(self, start: Start, session: Callable[[int], Session | None]) -> None:
        self.done = False
        self._number = start.connection
        self._opened = start.opened
        self._new_session = session
        self._session: Session | None = None
        self._reason: str | None = None  # why a TLS stream has no session
        self._tls_events = Turns(start.connection)
        self._buffered: list[Data | Gap] = []
        self._first: list[bytes | None] = [b"", b""]  # first bytes of each direction; None if they are lost

    def take(self, event: Event) -> Sequence[Event]:
        """Return the events that replace an event of this stream."""
        if isinstance(event, End):
            self.done = True
            return [*self._release(), *(self._session or self._tls_events).end(), event]
        if not isinstance(event, Data | Gap):
            return [event]
        if self._session or self._reason:
            return self._process_tls(event)
        self._buffered.append(event)
        return self._detect(event)

    def _process_tls(self, event: Data | Gap) -> Sequence[Event]:
        session = self._session
        if isinstance(event, Data):
            if session:
                return session.feed(event.direction, event.data, event.time, event.packet)
            place = Place(event.time, event.packet)
            return self._tls_events.add(event.direction, len(event.data), place, reason=self._reason)
        if session:
            return session.lose(event.direction, event.size, event.time, event.packet)
        return [*self._tls_events.end(), event]

    def _detect(self, event: Data | Gap) -> Sequence[Event]:
        """Decide the protocol, if the first bytes of the direction are complete."""
        side = event.direction
        before = self._first[side]
        if isinstance(event, Gap) or before is None:
            self._first[side] = None if isinstance(event, Gap) and not before else before
            return self._release_if_full()
        first = before + event.data
        self._first[side] = first
        if not self._opened and reads_as_record(first):
            return self._start_session(first)
        if undecided(first):
            return self._release_if_full()
        opening = beginning(first)
        if opening and opening.protocol == PROTOCOL:
            return self._start_session(first)
        if opening and opening.prefix:
            return self._split_prefix(side, opening.prefix)
        return self._release()

    def _start_session(self, first: bytes) -> list[Event]:
        if begins_data(first):
            self._reason = MID_CONNECTION
        else:
            self._session = self._new_session(self._number)
            self._reason = None if self._session else NOT_INSTALLED
        events: list[Event] = []
        for event in self._pop_buffered():
            events += self._process_tls(event)
        return events

    def _split_prefix(self, side: int, size: int) -> list[Event]:
        """Return the header of a load balancer as it is, and process the bytes after it as a new stream."""
        buffered = self._pop_buffered()
        out: list[Event] = []
        self._first[side] = b""
        for event in buffered:
            taken = min(size, len(event.data)) if isinstance(event, Data) and event.direction == side else 0
            if isinstance(event, Data) and taken:
                size -= taken
                out.append(event._replace(data=event.data[:taken]))
                event = event._replace(data=event.data[taken:])  # noqa: PLW2901 - the rest of it
            if isinstance(event, Gap) or event.data:
                out += self.take(event)
        return out

    def _release_if_full(self) -> list[Event]:
        size = sum(len(event.data) for event in self._buffered if isinstance(event, Data))
        return self._release() if size > MOST_HELD else []

    def _release(self) -> list[Event]:
        """Return the buffered events unchanged. The stream is not TLS, or has ended."""
        self.done = self.done or not (self._session or self._reason)
        return list(self._pop_buffered())

    def _pop_buffered(self) -> list[Data | Gap]:
        buffered = self._buffered
        self._buffered = []
        return buffered
