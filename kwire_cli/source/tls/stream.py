"""One stream of a capture, of which it is not known yet whether it is TLS, or which is."""

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
"""Bytes of a stream that wait for what tells whether it is TLS."""


class Stream:
    """A stream, as long as it is not known to be none of TLS; `done` when its events need no care any more.

    Its first events are held until the first bytes of a side tell. `first` are those of each side, None where they are
    lost.
    """

    def __init__(self, start: Start, session: Callable[[int], Session | None]) -> None:
        self.done = False
        self._number = start.connection
        self._opened = start.opened
        self._new_session = session
        self._session: Session | None = None
        self._reason: str | None = None  # why there is none, although it is TLS
        self._turns = Turns(start.connection)
        self._held: list[Data | Gap] = []
        self._first: list[bytes | None] = [b"", b""]

    def take(self, event: Event) -> Sequence[Event]:
        """Return the events that stand for an event of this stream."""
        if isinstance(event, End):
            self.done = True
            return [*self._let_go(), *(self._session or self._turns).end(), event]
        if not isinstance(event, Data | Gap):
            return [event]
        if self._session or self._reason:
            return self._of_tls(event)
        self._held.append(event)
        return self._look(event)

    def _of_tls(self, event: Data | Gap) -> Sequence[Event]:
        session = self._session
        if isinstance(event, Data):
            if session:
                return session.feed(event.direction, event.data, event.time, event.packet)
            return self._turns.add(
                event.direction, len(event.data), Place(event.time, event.packet), reason=self._reason
            )
        return (
            session.lose(event.direction, event.size, event.kind, event.time, event.packet)
            if session
            else [*self._turns.end(), event]
        )

    def _look(self, event: Data | Gap) -> Sequence[Event]:
        """Decide by the first bytes, where they are there."""
        side = event.direction
        before = self._first[side]
        if isinstance(event, Gap) or before is None:
            self._first[side] = None if isinstance(event, Gap) and not before else before
            return self._let_go_if_many()
        first = self._first[side] = before + event.data
        if not self._opened and reads_as_record(first):
            return self._begin(first)
        if undecided(first):
            return self._let_go_if_many()
        opening = beginning(first)
        if opening and opening.protocol == PROTOCOL:
            return self._begin(first)
        if opening and opening.prefix:
            return self._without_prefix(side, opening.prefix)
        return self._let_go()

    def _begin(self, first: bytes) -> list[Event]:
        """It is TLS."""
        if begins_data(first):
            self._reason = MID_CONNECTION
        else:
            self._session = self._new_session(self._number)
            self._reason = None if self._session else NOT_INSTALLED
        held, self._held = self._held, []
        return [decrypted for event in held for decrypted in self._of_tls(event)]

    def _without_prefix(self, side: int, size: int) -> list[Event]:
        """Pass on the prefix that a load balancer put before the stream, then look at the rest anew."""
        held, self._held = self._held, []
        out: list[Event] = []
        self._first[side] = b""
        for event in held:
            taken = min(size, len(event.data)) if isinstance(event, Data) and event.direction == side else 0
            if isinstance(event, Data) and taken:
                size -= taken
                out.append(event._replace(data=event.data[:taken]))
                event = event._replace(data=event.data[taken:])  # noqa: PLW2901 - the rest of it
            if isinstance(event, Gap) or event.data:
                out += self.take(event)
        return out

    def _let_go_if_many(self) -> list[Event]:
        return (
            self._let_go()
            if sum(len(event.data) for event in self._held if isinstance(event, Data)) > MOST_HELD
            else []
        )

    def _let_go(self) -> list[Event]:
        """It is none of TLS."""
        self.done = self.done or not (self._session or self._reason)
        held, self._held = self._held, []
        return [*held]
