"""The bytes of a capture that grows, or of a pipe, as `tail -f` reads them.

The end of a file is read repeatedly, because new bytes may follow. If no bytes come for a while, the streams
decide without further packets, so the last lines of a quiet connection are shown.
"""

from __future__ import annotations

import os
import select
import stat
import time
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.files import GZIP, PIECE, ZSTD, source_name
from kwire_cli.stores.paths import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POLL = 0.1
"""Seconds between two reads of a file that does not grow."""
QUIET = 0.5
"""Seconds without new bytes before an empty batch."""


class GrowingPieces:
    """The bytes of a file that grows, or of a pipe, as they arrive; iterate once. None means that no bytes have
    arrived for a while.

    Reading ends if the writers of a pipe have closed it (`ended`), or if `stop` returns true. `wait` is called before
    each wait for more bytes, and `sleep` waits if the source is a file. `opening` are the first bytes of a pipe, if
    they were read before.

    Raises:
        InputError: The source cannot be opened or read.

    """

    passed = 0
    """The progress of a capture that grows is unknown."""
    fault = None

    def __init__(
        self,
        source: Any,
        *,
        wait: Callable[[], None],
        stop: Callable[[], bool],
        opening: bytes = b"",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = source_name(source)
        self.ended = False
        self._wait = wait
        self._stop = stop
        self._sleep_for = sleep
        self._opening = opening
        self._is_path = not hasattr(source, "read")
        try:
            self._file: IO[bytes] = path_of(source).open("rb", buffering=0) if self._is_path else source
        except OSError as error:
            raise self._unreadable(error) from None
        # A file without a descriptor, in memory, has all its bytes.
        self._descriptor = _descriptor(self._file)
        self._pipe = self._descriptor is None or not stat.S_ISREG(os.fstat(self._descriptor).st_mode)

    def __iter__(self) -> Iterator[bytes | None]:
        first = b""
        for piece in self._pieces():
            first = first or piece or b""
            if first.startswith((GZIP, ZSTD)):
                raise InputError(
                    "a packed file cannot be followed; unpack it into a pipe: "
                    "gunzip -c or zstd -dc FILE | kwire decode --follow -",
                    file=self.name,
                )
            yield piece

    def _pieces(self) -> Iterator[bytes | None]:
        since: float | None = time.monotonic()
        if self._opening:
            yield self._opening
        try:
            while not self._stop():
                piece = self._read()
                if piece:
                    since = time.monotonic()
                    yield piece
                    continue
                if piece is not None and self._pipe:
                    self.ended = True
                    return
                if since is not None and time.monotonic() - since >= QUIET:
                    since = None
                    yield None
                self._wait()
                self._sleep()
        except OSError as error:
            raise self._unreadable(error) from None
        finally:
            if self._is_path:
                self._file.close()

    def _unreadable(self, error: OSError) -> InputError:
        return InputError(f"cannot be read: {error.strerror or error}", file=self.name)

    def _read(self) -> bytes | None:
        """Return the bytes that have arrived: None if a pipe has no bytes yet, no bytes at the end of a file."""
        if self._descriptor is None:
            return self._file.read(PIECE)
        if self._pipe and not select.select([self._descriptor], [], [], 0)[0]:
            return None
        piece = os.read(self._descriptor, PIECE)
        if not piece and not self._pipe and os.fstat(self._descriptor).st_size < os.lseek(self._descriptor, 0, 1):
            raise InputError("the file became shorter while it was followed", file=self.name)
        return piece

    def _sleep(self) -> None:
        if self._pipe and self._descriptor is not None:
            select.select([self._descriptor], [], [], POLL)
        else:
            self._sleep_for(POLL)


def _descriptor(file: IO[bytes]) -> int | None:
    try:
        return file.fileno()
    except (AttributeError, OSError):
        return None
