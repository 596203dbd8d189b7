"""Names of TLS messages that are not encrypted: the handshake up to the first keys, and alerts.

They are listed for TLS connections without a key log, for example to show why a handshake failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.tls.records import Messages, Record, Records, alert_name, message_name
from kwire_cli.structs import network

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clear:
    """Reads both directions of a connection while the capture has all of its bytes.

    A direction is read until its first application data, or until its bytes are malformed.
    """

    def __init__(self) -> None:
        self._sides: list[_Side | None] = [_Side(), _Side()]

    def feed(self, side: int, data: bytes) -> Iterator[str]:
        """Yield the names of the messages and alerts that are complete with the next bytes of a side."""
        reader = self._sides[side]
        if reader is None:
            return
        yield from reader.feed(data)
        if reader.is_over:
            self._sides[side] = None


class _Side:
    def __init__(self) -> None:
        self._records = Records()
        self._messages = Messages()
        self._has_keys = False
        self.is_over = False

    def feed(self, data: bytes) -> Iterator[str]:
        self._records.feed(data)
        while isinstance(record := self._records.next(), Record):
            if record.type == network.APPLICATION_DATA:
                self.is_over = True
                return
            if record.type == network.CHANGE_CIPHER_SPEC:
                self._has_keys = True
            elif record.type == network.ALERT and len(record.data) == network.ALERT_BODY.sizeof():
                yield alert_name(record.data)
            elif record.type == network.HANDSHAKE and not self._has_keys:
                yield from map(message_name, self._messages.feed(record.data))
        self.is_over = self._records.broken
