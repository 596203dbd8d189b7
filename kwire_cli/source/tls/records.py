"""TLS records and handshake messages of one direction. Decryption is done elsewhere, by `session`.

`Records` cuts bytes at record headers, and continues after lost bytes:

- Bytes that are lost inside a record damage only that record, because its end is known from its header.
- If lost bytes can contain the end of a record, each later byte sequence that reads as a header is a candidate. The
  session has the keys, and decides whether the candidate is a record.
- If the bytes at the position of a header cannot be a header, the direction is `broken`.

`Messages` reassembles handshake messages from the plaintext of records. Only hellos and certificates are parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from construct import ConstructError

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs import network

if TYPE_CHECKING:
    from collections.abc import Iterator


_HEADER = fixed(network.RECORD)


_TYPES = range(network.CHANGE_CIPHER_SPEC, network.HEARTBEAT + 1)
_MAYBE = re.compile(rb"[\x14-\x18]\x03[\x00-\x04]")
"""Matches the start of a header: type and version."""
_BEGINNING = 3
"""Length of that match."""


class Record(NamedTuple):
    """A TLS record with the bytes of its header and its payload."""

    type: int
    version: int
    header: bytes
    data: bytes

    @property
    def size(self) -> int:
        """The size of header and payload."""
        return len(self.header) + len(self.data)


class Lost(NamedTuple):
    """Bytes between two records, some of them lost."""

    size: int


def reads_as_record(data: bytes | bytearray) -> bool:
    """Return whether bytes begin with a TLS record, and continue with a second one if they are long enough."""
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
    """Return whether bytes begin a record of application data, which cannot be the first record of a connection."""
    return bool(_HEADER.unpack(data, 0)[0] == network.APPLICATION_DATA) if len(data) >= _HEADER.size else False


class _Header(NamedTuple):
    type: int
    version: int
    end: int


def _header(data: bytes | bytearray, at: int) -> _Header | None:
    """Return the header at `at` with the end of its record, or None if the bytes there are not a header."""
    kind, version, length = _HEADER.unpack(data, at)
    if kind not in _TYPES or version not in network.VERSIONS or not 0 < length <= network.MAX_RECORD:
        return None
    return tuple.__new__(_Header, (kind, version, at + _HEADER.size + length))


@dataclass(slots=True, eq=False, repr=False)
class Records:
    """Cuts the bytes of one direction into records. Call `feed` or `lose` with bytes and losses in order, and then
    `next` until it returns None.

    Attributes:
        searching: Whether framing is lost. The records that `next` returns are then candidates, which the caller must
            accept with `found` or reject with `passed`.
        broken: Whether no more records can be found.
        position: The number of bytes before the next record.

    """

    _buffer: bytearray = field(default_factory=bytearray)
    _at: int = 0  # consumed bytes of the buffer
    _rest: int = 0  # bytes of a damaged record that follow the lost ones
    _lost: int = 0  # bytes since the last complete record, if some of them are lost
    searching: bool = False
    broken: bool = False
    position: int = 0

    @property
    def left(self) -> int:
        """The number of bytes that no result contains yet."""
        return self._lost + len(self._buffer) - self._at

    def feed(self, data: bytes) -> None:
        """Add the next bytes."""
        del self._buffer[: self._at]
        self._at = 0
        if self._rest:
            rest = data[: self._rest]
            data = data[self._rest :]
            self._give_up(len(rest))
            self._rest -= len(rest)
        self._buffer += data

    def lose(self, count: int) -> None:
        """Record the loss of the next `count` bytes."""
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
        """Return the next record or the loss before it. Return None while neither is complete."""
        if self._rest or self.broken:
            return None
        if self.searching:
            return self._find_candidate()
        if self._lost:
            return self._pop_lost()
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
        """Accept the candidate of `next` as a record. Return the lost bytes before it."""
        if header := _header(self._buffer, self._at):
            self._advance(header.end - self._at)
        self.searching = False
        return self._pop_lost()

    def passed(self) -> None:
        """Reject the candidate of `next`, and continue the search at the next byte."""
        self._skip_bytes(1)

    def _find_candidate(self) -> Record | None:
        """Return the next bytes that read as a record, or None while the record is not complete."""
        while True:
            match = _MAYBE.search(self._buffer, self._at)
            self._skip_bytes((match.start() if match else max(len(self._buffer) - _BEGINNING + 1, self._at)) - self._at)
            if not match or len(self._buffer) - self._at < _HEADER.size:
                return None
            if header := _header(self._buffer, self._at):
                return self._record(header) if header.end <= len(self._buffer) else None
            self._skip_bytes(1)

    def _record(self, header: _Header) -> Record:
        start = self._at + _HEADER.size
        return Record(
            header.type, header.version, bytes(self._buffer[self._at : start]), bytes(self._buffer[start : header.end])
        )

    def _pop_lost(self) -> Lost:
        lost = Lost(self._lost)
        self._lost = 0
        return lost

    def _skip_bytes(self, count: int) -> None:
        self._advance(count)
        self._lost += count

    def _advance(self, count: int) -> None:
        self._at += count
        self.position += count


MAX_READ = 1 << 16
"""Maximum size of hellos and certificates that are parsed. Of larger and other messages only the type is used."""


_HANDSHAKE_HEADER = fixed(network.MESSAGE)
_READ = frozenset((network.CLIENT_HELLO, network.SERVER_HELLO, network.CERTIFICATE))


class Message(NamedTuple):
    """A handshake message. `body` is None unless the message is a hello or certificates of at most MAX_READ
    bytes.
    """

    type: int
    body: bytes | None


@dataclass(slots=True, eq=False, repr=False)
class Messages:
    """Reassembles the handshake messages of one direction from the plaintext of records."""

    _buffer: bytearray = field(default_factory=bytearray)
    _type: int | None = None
    _rest: int = 0
    _skip: bool = False

    def restart(self) -> None:
        """Drop the incomplete message: the next bytes begin a message."""
        self._buffer = bytearray()
        self._type = None
        self._rest = 0
        self._skip = False

    def feed(self, text: bytes) -> Iterator[Message]:
        """Yield the messages that are complete with this plaintext."""
        at = 0
        while True:
            if self._type is None:
                taken = text[at : at + _HANDSHAKE_HEADER.size - len(self._buffer)]
                self._buffer += taken
                at += len(taken)
                if len(self._buffer) < _HANDSHAKE_HEADER.size:
                    return
                self._type, length = _HANDSHAKE_HEADER.unpack(self._buffer)
                self._rest = int.from_bytes(length)
                self._skip = self._type not in _READ or self._rest > MAX_READ
                self._buffer.clear()
            taken = text[at : at + self._rest]
            at += len(taken)
            self._rest -= len(taken)
            if not self._skip:
                self._buffer += taken
            if self._rest:
                return
            message = Message(self._type, None if self._skip else bytes(self._buffer))
            self.restart()
            yield message


class ClientHello(NamedTuple):
    """The fields of a ClientHello that decryption needs."""

    random: bytes
    session_id: bytes


class ServerHello(NamedTuple):
    """The fields of a ServerHello that decryption needs.

    `preshared` is true if it resumes a session with a TLS 1.3 pre-shared key.
    """

    random: bytes
    session_id: bytes
    version: int
    suite: int
    compressed: bool
    preshared: bool

    @property
    def retries(self) -> bool:
        """Return whether this is a HelloRetryRequest, after which the client sends another ClientHello."""
        return self.random == network.HELLO_RETRY


def client_hello(body: bytes) -> ClientHello | None:
    """Parse a ClientHello. Return None if it is malformed."""
    hello = _parsed(network.CLIENT_HELLO_BODY, body)
    return hello and ClientHello(hello.random, hello.session_id)


def server_hello(body: bytes) -> ServerHello | None:
    """Parse a ServerHello. Return None if it is malformed."""
    hello = _parsed(network.SERVER_HELLO_BODY, body)
    if hello is None:
        return None
    extensions = _extensions(hello)
    selected = extensions.get(network.SUPPORTED_VERSIONS)
    version = hello.legacy_version if selected is None else _parsed(network.SELECTED_VERSION, selected)
    compressed = hello.compression_method != 0
    preshared = network.PRE_SHARED_KEY in extensions
    if version is None:
        return None
    return ServerHello(hello.random, hello.session_id, version, hello.cipher_suite, compressed, preshared)


def _parsed(layout: Any, data: bytes) -> Any:
    try:
        return layout.parse(data)
    except ConstructError:
        return None


def _extensions(hello: Any) -> dict[int, bytes]:
    return {extension.type: extension.data for extension in hello.extensions or ()}


def message_name(message: Message, *, is_1_3: bool = False) -> str:
    """Return the name of a handshake message. For a certificate, the name includes its period of validity."""
    name = network.MESSAGES.get(message.type, f"handshake message {message.type}")
    if message.type != network.CERTIFICATE or message.body is None:
        return name
    parsed = _parsed(network.FIRST_CERTIFICATE_1_3 if is_1_3 else network.FIRST_CERTIFICATE, message.body)
    return " ".join(filter(None, (name, _validity(parsed.first) if parsed else "")))


def _validity(certificate: bytes) -> str:
    """Return the period of validity of a certificate. Empty if it is malformed, or cryptography is not installed."""
    if find_spec("cryptography") is None:
        return ""
    from cryptography import x509  # noqa: PLC0415 - few captures contain a readable certificate

    try:
        read = x509.load_der_x509_certificate(certificate)
        first = read.not_valid_before_utc
        last = read.not_valid_after_utc
    except (ValueError, x509.InvalidVersion):
        return ""
    return f"valid from {first:%Y-%m-%dT%H:%M:%SZ} to {last:%Y-%m-%dT%H:%M:%SZ}"


def alert_name(text: bytes) -> str:
    """Return the name of an alert, or `alert` if its body cannot be parsed."""
    alert = _parsed(network.ALERT_BODY, text)
    return "alert" if alert is None else f"alert {network.ALERTS.get(alert.description, alert.description)}"
