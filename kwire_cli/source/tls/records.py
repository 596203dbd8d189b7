"""One direction's bytes cut at the headers of TLS records, and where records are found again behind a loss. No keys here.

Rules
- Lost bytes inside a record cost that record alone: its end is known from its header.
- Where they may hold a record's end, a record is next looked for at all that reads as a header; who has the keys says whether it is one.
- What can be no header where one has to stand ends the direction (`broken`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.network import tls

_HEADER = fixed(tls.RECORD)
_TYPES = range(tls.CHANGE_CIPHER_SPEC, tls.HEARTBEAT + 1)
_MAYBE = re.compile(rb"[\x14-\x18]\x03[\x00-\x04]")
"""How a header begins."""
_BEGINNING = 3
"""Bytes of that."""


class Record(NamedTuple):
    """A record; `header` and `data` are its bytes."""

    type: int
    version: int
    header: bytes
    data: bytes

    @property
    def size(self) -> int:
        """All its bytes."""
        return len(self.header) + len(self.data)


class Lost(NamedTuple):
    """Bytes between two records, some of which are missing; `records` is how many they are, None where nobody knows."""

    size: int
    records: int | None


def reads_as_record(data: bytes | bytearray) -> bool:
    """Whether bytes begin as a record does, and another one after it, as far as they are there."""
    at = 0
    for _ in range(2):
        if len(data) - at < _HEADER.size:
            return at > 0
        header = _header(data, at)
        if header is None:
            return False
        at = header.end
    return True


def begins_data(data: bytes) -> bool:
    """Whether bytes that begin as a record does begin one of application data, as no connection does."""
    return bool(_HEADER.unpack(data, 0)[0] == tls.APPLICATION_DATA) if len(data) >= _HEADER.size else False


class _Header(NamedTuple):
    type: int
    version: int
    end: int


def _header(data: bytes | bytearray, at: int) -> _Header | None:
    """The header that stands at `at`, and where its record ends; None for what is no header."""
    kind, version, length = _HEADER.unpack(data, at)
    if kind not in _TYPES or version not in tls.VERSIONS or not 0 < length <= tls.MAX_RECORD:
        return None
    return tuple.__new__(_Header, (kind, version, at + _HEADER.size + length))


class Records:
    """The records of one direction: `feed` it bytes and losses (`lose`) in order, and take what `next` gives after each, until that is None.

    `searching` says that framing is lost: then what `next` gives may be a record, and `found` or `passed` has to be called. `broken` says that there
    are no records any more. `position` counts the bytes before what `next` gives next.
    """

    __slots__ = ("_at", "_buffer", "_lost", "_rest", "broken", "position", "searching")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0  # bytes of the buffer that are used
        self._rest = 0  # bytes that still come of a record that lacks some
        self._lost = 0  # bytes since the last record that was whole, where some of them are lost
        self.searching = self.broken = False
        self.position = 0

    @property
    def left(self) -> int:
        """Bytes that are in nothing that was given."""
        return self._lost + len(self._buffer) - self._at

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        del self._buffer[: self._at]
        self._at = 0
        if self._rest:
            rest, data = data[: self._rest], data[self._rest :]
            self._give_up(len(rest))
            self._rest -= len(rest)
        self._buffer += data

    def lose(self, count: int) -> None:
        """The next bytes are lost."""
        held = len(self._buffer) - self._at
        if held >= _HEADER.size and not self.searching and not self._rest and (header := _header(self._buffer, self._at)):
            self._rest = header.end - len(self._buffer)
        self.searching = self.searching or count > self._rest
        self._rest = 0 if self.searching else self._rest - count
        self._give_up(held + count)
        self._at = len(self._buffer)

    def _give_up(self, count: int) -> None:
        self._lost += count
        self.position += count

    def next(self) -> Record | Lost | None:
        """The next record, or what was lost before it; None while neither is whole."""
        if self._rest or self.broken:
            return None
        if self.searching:
            return self._look()
        if self._lost:
            return self._taken_lost(1)
        if len(self._buffer) - self._at < _HEADER.size:
            return None
        header = _header(self._buffer, self._at)
        self.broken = header is None
        if header is None or header.end > len(self._buffer):
            return None
        record = self._record(header)
        self._advance(header.end - self._at)
        return record

    def found(self) -> Lost:
        """What was given is a record, behind these bytes."""
        if header := _header(self._buffer, self._at):
            self._advance(header.end - self._at)
        self.searching = False
        return self._taken_lost(None)

    def passed(self) -> None:
        """What was given is none."""
        self._pass(1)

    def _look(self) -> Record | None:
        """What reads as a record, and has come whole."""
        while True:
            match = _MAYBE.search(self._buffer, self._at)
            self._pass((match.start() if match else max(len(self._buffer) - _BEGINNING + 1, self._at)) - self._at)
            if not match or len(self._buffer) - self._at < _HEADER.size:
                return None
            if header := _header(self._buffer, self._at):
                return self._record(header) if header.end <= len(self._buffer) else None
            self._pass(1)

    def _record(self, header: _Header) -> Record:
        start = self._at + _HEADER.size
        return Record(header.type, header.version, bytes(self._buffer[self._at : start]), bytes(self._buffer[start : header.end]))

    def _taken_lost(self, records: int | None) -> Lost:
        lost, self._lost = Lost(self._lost, records), 0
        return lost

    def _pass(self, count: int) -> None:
        self._advance(count)
        self._lost += count

    def _advance(self, count: int) -> None:
        self._at += count
        self.position += count
