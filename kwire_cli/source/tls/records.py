"""TLS records and handshake messages."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from construct import ConstructError

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs import network

if TYPE_CHECKING:
    from collections.abc import Iterator


# One direction's bytes cut at the headers of TLS records, and where records are found again behind a loss. No
# keys here.
#
# Rules - Lost bytes inside a record cost that record alone: its end is known from its header. - Where they
# may hold a record's end, a record is next looked for at all that reads as a header; who has the keys says
# whether it is one. - What can be no header where one has to stand ends the direction (`broken`).

_HEADER = fixed(network.RECORD)


_TYPES = range(network.CHANGE_CIPHER_SPEC, network.HEARTBEAT + 1)
_MAYBE = re.compile(rb"[\x14-\x18]\x03[\x00-\x04]")
"""The beginning of a header."""
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
    """Return whether bytes begin as a TLS record does, and go on with another one as far as they go."""
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
    """Return whether the record that these bytes begin is application data, with which no connection begins."""
    return bool(_HEADER.unpack(data, 0)[0] == network.APPLICATION_DATA) if len(data) >= _HEADER.size else False


class _Header(NamedTuple):
    type: int
    version: int
    end: int


def _header(data: bytes | bytearray, at: int) -> _Header | None:
    """The header that stands at `at`, and where its record ends; None for what is no header."""
    kind, version, length = _HEADER.unpack(data, at)
    if kind not in _TYPES or version not in network.VERSIONS or not 0 < length <= network.MAX_RECORD:
        return None
    return tuple.__new__(_Header, (kind, version, at + _HEADER.size + length))


class Records:
    """The records of one direction: `feed` it bytes and losses (`lose`) in order, and take what `next` gives after
    each, until that is None.

    `searching` says that framing is lost: then what `next` gives may be a record, and `found` or `passed` has to be
    called. `broken` says that there are no records any more. `position` counts the bytes before what `next` gives next.
    """

    __slots__ = ("_at", "_buffer", "_lost", "_rest", "broken", "position", "searching")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0  # bytes of the buffer that are used
        self._rest = 0  # bytes that still come of a record that lacks some
        self._lost = 0  # bytes since the last record that was whole, where some of them are lost
        self.searching = False
        self.broken = False
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
        if (
            held >= _HEADER.size
            and not self.searching
            and not self._rest
            and (header := _header(self._buffer, self._at))
        ):
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
        """Accept what `next` gave as a record, and return the lost bytes before the record."""
        if header := _header(self._buffer, self._at):
            self._advance(header.end - self._at)
        self.searching = False
        return self._taken_lost(None)

    def passed(self) -> None:
        """Reject what `next` gave as no record, and go on with the search one byte further."""
        self._pass(1)

    def _look(self) -> Record | None:
        """Return the next bytes that read as a record, or None while the record is not complete."""
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
        return Record(
            header.type, header.version, bytes(self._buffer[self._at : start]), bytes(self._buffer[start : header.end])
        )

    def _taken_lost(self, records: int | None) -> Lost:
        lost, self._lost = Lost(self._lost, records), 0
        return lost

    def _pass(self, count: int) -> None:
        self._advance(count)
        self._lost += count

    def _advance(self, count: int) -> None:
        self._at += count
        self.position += count


# Handshake messages, put together from records; what the hellos say.

LONGEST_READ = 1 << 16
"""Bytes of a hello, or of certificates, that are read. Of no other message more than its type is kept."""


_HANDSHAKE_HEADER = fixed(network.MESSAGE)
_READ = frozenset((network.CLIENT_HELLO, network.SERVER_HELLO, network.CERTIFICATE))


class Message(NamedTuple):
    """A handshake message; `body` is that of a hello or of certificates, None of others and of one that is too long."""

    type: int
    body: bytes | None


class Messages:
    """The messages of one direction, from the texts of its handshake records."""

    __slots__ = ("_kept", "_rest", "_skip", "_type")

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget the message so far: the next bytes begin a message."""
        self._kept = bytearray()
        self._type: int | None = None
        self._rest = 0
        self._skip = False

    def feed(self, text: bytes) -> Iterator[Message]:
        """The messages that are whole with this text."""
        at = 0
        while True:
            if self._type is None:
                taken = text[at : at + _HANDSHAKE_HEADER.size - len(self._kept)]
                self._kept += taken
                at += len(taken)
                if len(self._kept) < _HANDSHAKE_HEADER.size:
                    return
                self._type, length = _HANDSHAKE_HEADER.unpack(self._kept)
                self._rest = int.from_bytes(length)
                self._skip = self._type not in _READ or self._rest > LONGEST_READ
                self._kept.clear()
            taken = text[at : at + self._rest]
            at += len(taken)
            self._rest -= len(taken)
            if not self._skip:
                self._kept += taken
            if self._rest:
                return
            message = Message(self._type, None if self._skip else bytes(self._kept))
            self.restart()
            yield message


class ClientHello(NamedTuple):
    """The fields of a ClientHello that decryption needs."""

    random: bytes
    session_id: bytes
    early_data: bool


class ServerHello(NamedTuple):
    """The fields of a ServerHello that decryption needs.

    `preshared`: the ServerHello resumes a session in the way of TLS 1.3.
    """

    random: bytes
    session_id: bytes
    version: int
    suite: int
    compressed: bool
    preshared: bool

    @property
    def retries(self) -> bool:
        """Return whether the server asks for another ClientHello."""
        return self.random == network.HELLO_RETRY


def client_hello(body: bytes) -> ClientHello | None:
    """A ClientHello; None for what is none."""
    hello = _parsed(network.CLIENT_HELLO_BODY, body)
    return hello and ClientHello(hello.random, hello.session_id, network.EARLY_DATA in _extensions(hello))


def server_hello(body: bytes) -> ServerHello | None:
    """A ServerHello; None for what is none."""
    hello = _parsed(network.SERVER_HELLO_BODY, body)
    if hello is None:
        return None
    extensions = _extensions(hello)
    selected = extensions.get(network.SUPPORTED_VERSIONS)
    version = hello.legacy_version if selected is None else _parsed(network.SELECTED_VERSION, selected)
    compressed = hello.compression_method != 0
    preshared = network.PRE_SHARED_KEY in extensions
    return (
        None
        if version is None
        else ServerHello(hello.random, hello.session_id, version, hello.cipher_suite, compressed, preshared)
    )


def _parsed(layout: Any, data: bytes) -> Any:
    try:
        return layout.parse(data)
    except ConstructError:
        return None


def _extensions(hello: Any) -> dict[int, bytes]:
    return {extension.type: extension.data for extension in hello.extensions or ()}


def message_name(message: Message, *, is_1_3: bool = False) -> str:
    """Return the name of a handshake message; of a certificate also the times between which it is valid."""
    name = network.MESSAGES.get(message.type, f"handshake message {message.type}")
    if message.type != network.CERTIFICATE or message.body is None:
        return name
    parsed = _parsed(network.FIRST_CERTIFICATE_1_3 if is_1_3 else network.FIRST_CERTIFICATE, message.body)
    return " ".join(filter(None, (name, _validity(parsed.first) if parsed else "")))


def _validity(certificate: bytes) -> str:
    """Return between which times a certificate is valid; nothing if it cannot be read, or cryptography is missing."""
    if find_spec("cryptography") is None:
        return ""
    from cryptography import x509  # noqa: PLC0415 - few captures have a certificate that can be read

    try:
        read = x509.load_der_x509_certificate(certificate)
        first = read.not_valid_before_utc
        last = read.not_valid_after_utc
    except (ValueError, x509.InvalidVersion):
        return ""
    return f"valid from {first:%Y-%m-%dT%H:%M:%SZ} to {last:%Y-%m-%dT%H:%M:%SZ}"


def alert_name(text: bytes) -> str:
    """Return the name of an alert, or `alert` alone if its body cannot be parsed."""
    alert = _parsed(network.ALERT_BODY, text)
    return "alert" if alert is None else f"alert {network.ALERTS.get(alert.description, alert.description)}"
