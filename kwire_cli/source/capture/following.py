"""A capture that grows, from bytes to events as they come."""

from __future__ import annotations

from collections import Counter
from typing import IO, TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.capture.files import CaptureReader
from kwire_cli.source.capture.reading import unseen
from kwire_cli.source.capture.segments import Segments
from kwire_cli.source.capture.tcp import Limits, Streams
from kwire_cli.source.growing import Growing, Turn
from kwire_cli.source.packing import GZIP, ZSTD
from kwire_cli.source.tls.decryption import Decryption

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.source.capture.events import Event
    from kwire_cli.source.capture.model import Notice, Packet

_TURNS = {
    Turn.SHRUNK: "the file has become shorter: reading it from its beginning",
    Turn.REPLACED: "this is another file now: reading it from its beginning",
}


class Following:
    """The events of a capture that grows, or of a pipe; iterate once. `notices` and `summary` as Capture has them.

    It goes on until a pipe's writers have closed it, the file's order is lost, or `stop` says so; then what still waits is delivered. What only more
    packets would decide is decided when nothing comes for a while. A file in the place of the one before is a capture of its own: the connections
    of the old one end, and `note` is told. `wait` is called when there is nothing to do, `keep` with all bytes as they come.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | IO[bytes],
        *,
        wait: Callable[[], None],
        stop: Callable[[], bool],
        note: Callable[[str], None],
        limits: Limits | None = None,
        key_logs: Sequence[str] = (),
        keep: Callable[[bytes], None] | None = None,
    ) -> None:
        self._growing = Growing(source, wait=wait, stop=stop)
        self._note, self._limits, self._keep = note, limits, keep
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
        """What ended the reading early, or was passed over."""
        return self._notices + self._reader.notices

    @property
    def remarks(self) -> list[str]:
        """What should be known of all packets."""
        return self._reader.remarks

    @property
    def summary(self) -> dict[str, int]:
        """What is in no event."""
        return dict(self._summary + Counter(unseen(self._segments, self._streams)))

    def __iter__(self) -> Iterator[Event]:
        for event in self._events():
            yield from self._tls.take([event])

    def _events(self) -> Iterator[Event]:
        for piece in self._growing:
            if isinstance(piece, bytes):
                if self._keep:
                    self._keep(piece)
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
        self._reader, self._segments, self._streams = CaptureReader(self.name), Segments(), Streams(self._limits, first=connections)

    def _packets(self, piece: bytes) -> list[Packet]:
        if self._reader.format is None and piece.startswith((GZIP, ZSTD)):
            raise InputError(
                "a packed file cannot be followed; unpack it into a pipe: gunzip -c or zstd -dc FILE | kwire decode --follow -", file=self.name
            )
        return self._reader.feed(piece)

    def _end(self) -> Iterator[Event]:
        self._segments.close()
        yield from self._streams.close()
