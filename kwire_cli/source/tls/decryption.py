"""TLS taken out of a capture's streams: events in, events out. A stream that is no TLS goes through as it is.

What does that is imported when there is a key log: most captures have none.
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
    """The events of a capture with what TLS streams say in place of their bytes, as far as a key log has their keys.

    `paths` are key logs; `blocks` gives the secrets that the capture file has had so far. Without both nothing is done
    at all.

    Raises:
        InputError: A key log cannot be read or is none, or there is one and the package that decrypts is not installed.

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
        """The key log, which is empty if there is none."""
        if self._keys is None:
            self._open(())
        assert self._keys  # noqa: S101 - for the type checker
        return self._keys

    @property
    def streams(self) -> dict[int, Stream]:
        """The streams that are TLS, or may be, by connection."""
        return self._streams

    def go_on(self, streams: dict[int, Stream]) -> None:
        """Take the streams of another one, whose `keys` were these."""
        self._streams = streams
        if streams:
            _ = self.keys

    def holds(self, connection: int) -> bool:
        """Return whether a connection's bytes are not, or may not be, the data said in the connection."""
        return connection in self._streams

    def take(self, events: list[Event]) -> list[Event]:
        """These events, with those of TLS in their places."""
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
    """Key logs as the secrets blocks of a capture file, for who reads captures elsewhere. InputError as
    `Decryption`.
    """
    if not paths:
        return ()
    Decryption(paths)
    return tuple(Secrets(TLS_KEY_LOG, Path(path).read_bytes()) for path in paths)


def _installed() -> bool:
    return find_spec("cryptography") is not None
