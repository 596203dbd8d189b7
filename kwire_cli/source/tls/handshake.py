"""Handshake messages, put together from records; what the hellos say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from construct import ConstructError

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.network import tls

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_HELLO = 1 << 16
"""Bytes of a hello that is read. Of no other message more than its type is kept."""
_HEADER = fixed(tls.MESSAGE)
_READ = frozenset((tls.CLIENT_HELLO, tls.SERVER_HELLO))


class Message(NamedTuple):
    """A handshake message; `body` is that of a hello, None of others and of one that is too long."""

    type: int
    body: bytes | None


class Messages:
    """The messages of one direction, from the texts of its handshake records."""

    __slots__ = ("_kept", "_rest", "_skip", "_type")

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """What comes next begins a message."""
        self._kept = bytearray()
        self._type: int | None = None
        self._rest = 0
        self._skip = False

    def feed(self, text: bytes) -> Iterator[Message]:
        """The messages that are whole with this text."""
        at = 0
        while True:
            if self._type is None:
                taken = text[at : at + _HEADER.size - len(self._kept)]
                self._kept += taken
                at += len(taken)
                if len(self._kept) < _HEADER.size:
                    return
                self._type, length = _HEADER.unpack(self._kept)
                self._rest = int.from_bytes(length)
                self._skip = self._type not in _READ or self._rest > LONGEST_HELLO
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
    """What a ClientHello says that matters here."""

    random: bytes
    session_id: bytes
    early_data: bool


class ServerHello(NamedTuple):
    """What a ServerHello says that matters here. `preshared`: it goes on with a session, as TLS 1.3 does."""

    random: bytes
    session_id: bytes
    version: int
    suite: int
    compressed: bool
    preshared: bool

    @property
    def retries(self) -> bool:
        """Whether it asks for another ClientHello."""
        return self.random == tls.HELLO_RETRY


def client_hello(body: bytes) -> ClientHello | None:
    """A ClientHello; None for what is none."""
    found = _parsed(tls.CLIENT_HELLO_BODY, body)
    return found and ClientHello(found.random, found.session_id, tls.EARLY_DATA in _extensions(found))


def server_hello(body: bytes) -> ServerHello | None:
    """A ServerHello; None for what is none."""
    found = _parsed(tls.SERVER_HELLO_BODY, body)
    if found is None:
        return None
    extensions = _extensions(found)
    selected = extensions.get(tls.SUPPORTED_VERSIONS)
    version = found.legacy_version if selected is None else _parsed(tls.SELECTED_VERSION, selected)
    compressed, preshared = found.compression_method != 0, tls.PRE_SHARED_KEY in extensions
    return None if version is None else ServerHello(found.random, found.session_id, version, found.cipher_suite, compressed, preshared)


def _parsed(layout: Any, data: bytes) -> Any:
    try:
        return layout.parse(data)
    except ConstructError:
        return None


def _extensions(hello: Any) -> dict[int, bytes]:
    return {each.type: each.data for each in hello.extensions or ()}


def alert_name(text: bytes) -> str:
    """What an alert is called."""
    found = _parsed(tls.ALERT_BODY, text)
    return "alert" if found is None else f"alert {tls.ALERTS.get(found.description, found.description)}"
