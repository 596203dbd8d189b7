"""Files that grow, and captures followed while they grow."""

from __future__ import annotations

import contextlib
import enum
import os
import select
import stat
import time
from collections import Counter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.captures import unseen
from kwire_cli.source.files import GZIP, PIECE, ZSTD, source_name
from kwire_cli.source.packets.files import CaptureReader
from kwire_cli.source.packets.model import ALONE
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.packets.tcp import Limits, Streams
from kwire_cli.source.tls.decryption import Decryption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.source.packets.model import Event, Notice, Packet


# A file that grows, or a pipe, in pieces as they come: what `tail -F` does.

POLL = 0.1
"""Seconds between two looks at a file that does not grow."""


QUIET = 0.5
"""Seconds without anything new after which that is told."""


class Turn(enum.Enum):
    """An event between pieces of bytes."""

    QUIET = "nothing has come for a while"
    SHRUNK = "the file has become shorter"
    REPLACED = "another file has taken its place"


class Growing:
    """The bytes of a file that grows, or of a pipe: pieces of bytes and turns; iterate once.

    `source` is a path or a binary file object. It ends where a pipe's writers have closed it (`ended`), or once `stop`
    says so. `opening` are bytes that were read from it before. `wait` is called before each wait for more: the time to
    send out what was made of the bytes so far. After
    SHRUNK and REPLACED the bytes are those of the file from its beginning. A path whose file is gone may get another
    one.

    Raises:
        InputError: It can't be opened or read.

    """

    def __init__(
        self,
        source: str | os.PathLike[str] | IO[bytes],
        *,
        wait: Callable[[], None],
        stop: Callable[[], bool],
        opening: bytes = b"",
    ) -> None:
        self.name = source_name(source)
        self.ended = False
        self._wait, self._stop = wait, stop
        self._opening = opening
        self._path: Path | None = None
        self._file: Any = source
        if not hasattr(source, "read"):
            self._path = Path(source)
            self._file = self._open(self._path)
        # One without a descriptor, in memory, has all its bytes.
        self._descriptor = _descriptor(self._file)
        self._pipe = self._descriptor is None or not stat.S_ISREG(os.fstat(self._descriptor).st_mode)

    def __iter__(self) -> Iterator[bytes | Turn]:
        since: float | None = time.monotonic()
        if self._opening:
            yield self._opening
        try:
            while not self._stop():
                piece = self._read()
                if piece:
                    since = time.monotonic()
                    yield piece
                elif piece is not None and self._pipe:
                    self.ended = True
                    return
                elif turn := self._turn():
                    since = time.monotonic()
                    yield turn
                else:
                    if since is not None and time.monotonic() - since >= QUIET:
                        since = None
                        yield Turn.QUIET
                    self._wait()
                    self._sleep()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", file=self.name) from None
        finally:
            if self._path:
                self._file.close()

    def _open(self, path: Path) -> IO[bytes]:
        try:
            return path.open("rb", buffering=0)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", file=self.name) from None

    def _read(self) -> bytes | None:
        """Return the bytes that have come: None if a pipe has nothing yet, no bytes at the end of a file."""
        if self._descriptor is None:
            piece: bytes = self._file.read(PIECE)
            return piece
        if self._pipe and not select.select([self._descriptor], [], [], 0)[0]:
            return None
        return os.read(self._descriptor, PIECE)

    def _sleep(self) -> None:
        if self._pipe and self._descriptor is not None:
            select.select([self._descriptor], [], [], POLL)
        else:
            time.sleep(POLL)

    def _turn(self) -> Turn | None:
        """At the end of a file: whether to begin anew, and there it is."""
        if self._pipe or self._descriptor is None:
            return None
        here = os.fstat(self._descriptor)
        if self._path:
            with contextlib.suppress(FileNotFoundError):
                there = self._path.stat()
                if (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino):
                    return self._replaced(self._path)
        if here.st_size < os.lseek(self._descriptor, 0, os.SEEK_CUR):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            return Turn.SHRUNK
        return None

    def _replaced(self, path: Path) -> Turn | None:
        """Go over to the new file, unless the old one has got more in the meantime."""
        assert self._descriptor is not None  # noqa: S101 - for the type checker
        if os.lseek(self._descriptor, 0, os.SEEK_CUR) < os.fstat(self._descriptor).st_size:
            return None
        file = self._open(path)
        self._file.close()
        self._file, self._descriptor = file, file.fileno()
        self._pipe = not stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        return Turn.REPLACED


def _descriptor(file: IO[bytes]) -> int | None:
    try:
        return file.fileno()
    except (AttributeError, OSError):
        return None


# A capture that grows, from bytes to events as they come.

_TURNS = {
    Turn.SHRUNK: "the file has become shorter: reading it from its beginning",
    Turn.REPLACED: "this is another file now: reading it from its beginning",
}


class Following:
    """The events of a capture that grows, or of a pipe; iterate once. `notices` and `summary` as Capture has them.

    It goes on until a pipe's writers have closed it, the file's order is lost, or `stop` says so; then what still waits
    is delivered. What only more packets would decide is decided when nothing comes for a while. A file in the place of
    the one before is a capture of its own: the connections of the old one end, and `note` is told. `wait` is called
    when there is nothing to do. `opening` are the first bytes of a pipe, if they were read before.
    """

    origin = ALONE
    passed = 0
    """How much was read is not told of a capture that grows."""

    def __init__(
        self,
        source: str | os.PathLike[str] | IO[bytes],
        *,
        wait: Callable[[], None],
        stop: Callable[[], bool],
        note: Callable[[str], None],
        limits: Limits | None = None,
        key_logs: Sequence[str] = (),
        opening: bytes = b"",
    ) -> None:
        self._growing = Growing(source, wait=wait, stop=stop, opening=opening)
        self._note, self._limits = note, limits
        self._notices: list[Notice] = []
        self._summary: Counter[str] = Counter()
        self._tls = Decryption(key_logs, lambda: self._reader.secrets)
        self._begin(0)

    @property
    def name(self) -> str | None:
        """The file's path, if it has one."""
        return self._growing.name

    @property
    def notices(self) -> list[Notice]:
        """The notices about what ended the reading early or was skipped."""
        return self._notices + self._reader.notices

    @property
    def remarks(self) -> list[str]:
        """The remarks that apply to all packets."""
        return self._reader.remarks

    @property
    def summary(self) -> dict[str, int]:
        """The counts of what is in no event, by kind."""
        return dict(self._summary + Counter(unseen(self._segments, self._streams)))

    def __iter__(self) -> Iterator[Event]:
        for event in self._events():
            yield from self._tls.take([event])

    def _events(self) -> Iterator[Event]:
        for piece in self._growing:
            if isinstance(piece, bytes):
                yield from self._fed(self._packets(piece))
                if self._reader.stopped:
                    break
            elif piece is Turn.QUIET:
                yield from self._fed(self._reader.settle())
                yield from self._streams.flush()
            else:
                yield from self._end()
                self._note(_TURNS[piece])
                self._notices, self._summary = self.notices, Counter(self.summary)
                self._begin(self._streams.opened)
        if self._growing.ended:
            yield from self._fed(self._reader.close())
        yield from self._end()

    def _fed(self, packets: list[Packet]) -> Iterator[Event]:
        for segment in self._segments(packets):
            yield from self._streams.feed(segment)

    def _begin(self, connections: int) -> None:
        self._reader, self._segments, self._streams = (
            CaptureReader(self.name),
            Segments(),
            Streams(self._limits, first=connections),
        )

    def _packets(self, piece: bytes) -> list[Packet]:
        if self._reader.format is None and piece.startswith((GZIP, ZSTD)):
            raise InputError(
                "a packed file cannot be followed; unpack it into a pipe: gunzip -c or zstd -dc FILE | kwire "
                "decode --follow -",
                file=self.name,
            )
        return self._reader.feed(piece)

    def _end(self) -> Iterator[Event]:
        self._segments.close()
        yield from self._streams.close()
