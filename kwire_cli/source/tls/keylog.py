"""Key logs in the format of NSS (draft-ietf-tls-keylogfile): lines of a label, a client random and a secret.

The sources are files, which may grow while they are read, and the secrets blocks of a pcapng file. New data is read
only if a secret is not found. Secrets are never printed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.structs.network import TLS_KEY_LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.source.packets.pcap import Secrets

MASTER = "CLIENT_RANDOM"
"""The label of a master secret of TLS 1.2."""
HANDSHAKE = ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET")
TRAFFIC = ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")
"""Labels of the traffic secrets of client and server."""
_WANTED = "|".join((MASTER, *HANDSHAKE, *TRAFFIC))
_LINE = re.compile(
    rb"^[ \t]*(%s)[ \t]+([0-9a-f]{64})[ \t]+([0-9a-f]{64}|[0-9a-f]{96})[ \t]*\r?$" % _WANTED.encode(),
    re.IGNORECASE | re.MULTILINE,
)
_ANY_LINE = re.compile(rb"[A-Z0-9_]+[ \t]+[0-9a-f]+[ \t]+[0-9a-f]+", re.IGNORECASE)
_PIECE = 1 << 20
_MAX_LINE = 256
"""Size that no line of a key log reaches."""


class KeyLog:
    """The secrets of key logs: files by path, and the secrets blocks of a capture so far.

    Raises:
        InputError: A file cannot be read, or is not a key log.

    """

    def __init__(self, paths: Sequence[str] = (), blocks: Callable[[], Sequence[Secrets]] = tuple) -> None:
        self._known: dict[tuple[str, bytes], bytes] = {}
        self._blocks = blocks
        self._taken = 0
        self._files = dict.fromkeys(paths, 0)  # the number of bytes read from each file
        for path in paths:
            self._read(path)

    def find(self, label: str, random: bytes) -> bytes | None:
        """Return the secret of this label for a client random. If it is unknown, read the new data of all sources
        first. Return None if no source contains it.
        """
        secret = self._known.get((label, random))
        if secret is None and self._read_new():
            secret = self._known.get((label, random))
        return secret

    def _read_new(self) -> bool:
        before = len(self._known)
        blocks = self._blocks()
        for block in blocks[self._taken :]:
            if block.type == TLS_KEY_LOG:
                self._add(block.data)
        self._taken = len(blocks)
        for path in self._files:
            if _size(path) > self._files[path]:
                self._read(path)
        return len(self._known) > before

    def _read(self, path: str) -> None:
        """Read the lines after those that were read before. The last line of a file may have no newline."""
        try:
            with Path(path).open("rb") as file:
                if before := self._files[path]:
                    file.seek(before)
                rest = b""
                while piece := file.read(_PIECE):
                    if not self._files[path] and not rest and not _begins_log(piece):
                        text = (
                            "is not a TLS key log: its lines are a label such as CLIENT_RANDOM, a client random, and a "
                            "secret, in hex"
                        )
                        raise InputError(text, file=path)
                    lines, end, rest = (rest + piece).rpartition(b"\n")
                    self._add(lines)
                    self._files[path] += len(lines) + len(end)
                    if len(rest) > _PIECE:
                        raise InputError("is not a TLS key log: a line of it does not end", file=path)
                self._add(rest)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=path) from None

    def _add(self, text: bytes) -> None:
        for label, random, secret in _LINE.findall(text):
            self._known[label.decode().upper(), bytes.fromhex(random.decode())] = bytes.fromhex(secret.decode())


def _begins_log(start: bytes) -> bool:
    """Return whether the first line with content, if any, has the form of a line in a key log.

    The label can be unknown. A short incomplete line is not judged.
    """
    whole, end, last = start.rpartition(b"\n")
    text = whole + end + last if len(last) >= _MAX_LINE else whole
    lines = (line for line in map(bytes.strip, text.splitlines()) if line and not line.startswith(b"#"))
    first = next(lines, None)
    return first is None or _ANY_LINE.match(first) is not None


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
