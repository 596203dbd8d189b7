"""Decryption of TLS in the streams of a capture: events in, events out. Streams of other protocols pass unchanged.

The modules that decrypt are imported only if there is a key log, because most captures have no key log, and the package
cryptography is optional.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.packets.model import Event, Start
from kwire_cli.source.packets.pcap import Secrets
from kwire_cli.structs.network import TLS_KEY_LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.source.tls.keylog import KeyLog
    from kwire_cli.source.tls.session import Session
    from kwire_cli.source.tls.stream import Stream


class Decryption:
    """Replaces the bytes of TLS streams by their decrypted data, for all secrets that a key log contains.

    `paths` are key logs. `blocks` returns the secrets in the capture file so far. Without both, events pass unchanged.

    Raises:
        InputError: A key log cannot be read or is malformed, or the package for decryption is not installed.

    """

    def __init__(self, paths: Sequence[str] = (), blocks: Callable[[], Sequence[Secrets]] = tuple) -> None:
        self._blocks = blocks
        self._keys: KeyLog | None = None
        self._streams: dict[int, Stream] = {}
        if paths:
            if not _installed():
                raise InputError(
                    "decrypting TLS needs the package cryptography: pip install 'kwire[tls]'", file=paths[0]
                )
            self._open(paths)

    def _open(self, paths: Sequence[str]) -> None:
        from kwire_cli.source.tls.keylog import KeyLog  # noqa: PLC0415 - see the module

        self._keys = KeyLog(paths, self._blocks)

    @property
    def keys(self) -> KeyLog:
        """The key log. It is empty if neither a path nor a block was given."""
        if self._keys is None:
            self._open(())
        assert self._keys  # noqa: S101 - for the type checker
        return self._keys

    @property
    def streams(self) -> dict[int, Stream]:
        """The streams that are TLS, or may be, by connection."""
        return self._streams

    def go_on(self, streams: dict[int, Stream]) -> None:
        """Continue with the streams of another instance that had the same key logs."""
        self._streams = streams
        if streams:
            _ = self.keys

    def holds(self, connection: int) -> bool:
        """Return whether a connection is TLS or may be, so that its bytes may differ from the decrypted data."""
        return connection in self._streams

    def take(self, events: list[Event]) -> list[Event]:
        """Return the events, with decrypted data instead of TLS."""
        if self._keys is None:
            if not self._blocks():
                return events
            self._open(())
        from kwire_cli.source.tls.stream import Stream  # noqa: PLC0415 - see the module

        out: list[Event] = []
        streams = self._streams
        for event in events:
            stream = streams.get(event[0])
            if stream is None:
                out.append(event)
                if type(event) is Start:
                    streams[event.connection] = Stream(event, self._session)
                continue
            out += stream.take(event)
            if stream.done:
                del streams[event[0]]
        return out

    def _session(self, connection: int) -> Session | None:
        """Return a session that decrypts a connection, or None if the package cryptography is not installed."""
        if not _installed():
            return None
        from kwire_cli.source.tls.session import Session  # noqa: PLC0415 - it needs the extra kwire[tls]

        return Session(connection, self.keys)


def blocks_of(paths: Sequence[str]) -> tuple[Secrets, ...]:
    """Return key logs as secrets blocks of a capture file, for readers in other processes. Raise InputError as
    `Decryption` does.
    """
    if not paths:
        return ()
    Decryption(paths)
    return tuple(Secrets(TLS_KEY_LOG, Path(path).read_bytes()) for path in paths)


def _installed() -> bool:
    return find_spec("cryptography") is not None
