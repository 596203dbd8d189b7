"""The events of a capture: packets of a capture point, TCP streams, and decrypted TLS.

A `Capture` connects the stages: readers of packets, IP and TCP segments, streams, decryption. A capture point can have
several files, which follow each other in time and are read in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain as joined
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import InputError, without_credentials
from kwire_cli.source.files import Pieces, source_name
from kwire_cli.source.growing import GrowingPieces
from kwire_cli.source.packets.files import Packets
from kwire_cli.source.packets.model import ALONE, Origin, Packet
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.packets.tcp import Limits, Streams
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.stores.paths import location, path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from kwire_cli.source.packets.model import Event, Notice
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.source.packets.points import Point


@dataclass(frozen=True, slots=True)
class PointFiles:
    """A capture point to read.

    Attributes:
        others: Whether there are other capture points.
        several: Whether there is more than one file.
        live: An open file or pipe instead of the point's only file.

    """

    point: Point
    others: bool = False
    several: bool = False
    live: Any = None

    @property
    def origin(self) -> Origin:
        """A new origin, which maps packets to files while they are read."""
        point = self.point
        capture = point.name if self.others else None
        files = [location(file) for file in point.files]
        return Origin(files, [0], point=point.name, capture=capture, several=self.several)


BATCH = 256
"""Packets that are processed together. Larger batches amortise the cost per call, until they no longer fit into the
caches of the processor. Lines that complete late are also sorted within a batch."""


class Capture:
    """The events of a capture's TCP connections; iterate once. TLS is decrypted if the file or `key_logs` (paths)
    contain the secrets.

    The source is a file, the files of a capture point, or a capture that grows. `segments`, `streams` and `tls` are the
    stages after the `readers` of the files. `notices` and `summary` are complete after the iteration.

    Attributes:
        origin: Maps packets to files. Packets are numbered over all files.
        count: The number of packets read so far.

    """

    def __init__(
        self,
        source: str | os.PathLike[str] | IO[bytes] | PointFiles | GrowingPieces,
        limits: Limits | None = None,
        *,
        key_logs: Sequence[str] = (),
    ) -> None:
        self._source = source
        self.readers: list[Packets] = []
        self.segments = Segments()
        self.streams = Streams(limits)
        self.tls = Decryption(key_logs, self._secrets)
        self.count = 0
        if isinstance(source, PointFiles):
            self.origin = source.origin
        else:
            (name,) = self.paths
            self.origin = Origin([without_credentials(name)]) if name else ALONE

    @property
    def paths(self) -> tuple[str | None, ...]:
        """The paths of the files, None for a pipe. Names in rows lack the parts of URLs that give access to a store."""
        if isinstance(self._source, PointFiles):
            return self._source.point.files
        return (None if isinstance(self._source, GrowingPieces) else source_name(self._source),)

    @property
    def again(self) -> str | PointFiles | None:
        """The source for a second reading, or None if the capture came through a pipe."""
        if isinstance(self._source, PointFiles):
            return None if self._source.live else self._source
        (name,) = self.paths
        return name if name and path_of(name).is_file() else None

    @property
    def notices(self) -> list[tuple[str | None, Notice]]:
        """Notices about packets that are not read, and about reading that ended early, with the names of the files."""
        noted: list[tuple[str | None, Notice]] = []
        for reader in self.readers:
            noted += [(reader.name, notice) for notice in reader.notices]
        if self.readers and self.segments.other.total() < self.count:  # else `emptiness` names all packets
            reader = self.readers[-1]
            last = self.count - self.origin.befores[-1]
            noted += [(reader.name, notice) for notice in self.segments.notices(last, reader.pieces.passed)]
        return noted

    @property
    def passed(self) -> int:
        """The number of bytes of the file or files that were read so far."""
        return sum(reader.pieces.passed for reader in self.readers)

    @property
    def summary(self) -> dict[str, int]:
        """Packets that are not TCP by kind, and payload bytes that are in no event by reason."""
        return {**self.segments.other, **{f"{kind} bytes": size for kind, size in self.streams.counts.items()}}

    def __iter__(self) -> Iterator[Event]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[Event]]:
        """Yield the events of a batch of packets at a time, which is faster than single events. Raise InputError if a
        file cannot be read, or is not a capture.
        """
        feed = self.streams.feed
        for packets in self._batches():
            self.count += len(packets)
            events: list[Event] = []
            for segment in self.segments(packets):
                events += feed(segment)
            if not packets:
                events += self.streams.flush()
            yield self._without_tls(events)
        yield self._without_tls(self.streams.close())

    def _secrets(self) -> list[Secrets]:
        return [*joined.from_iterable(reader.secrets for reader in self.readers)]

    def _without_tls(self, events: list[Event]) -> list[Event]:
        """Return the events with decrypted data instead of TLS."""
        return self.tls.take(events)

    def _batches(self) -> Iterator[list[Packet]]:
        """Yield the packets in batches of BATCH, or as they arrive if the capture is a pipe. An empty batch means that
        a growing capture has been quiet for a while.
        """
        live = self.again is None
        rest: list[Packet] = []
        fault: InputError | None = None
        try:
            for some in self._packets():
                if not some:
                    yield some
                packets = rest + some if rest else some
                stop = len(packets) if live else len(packets) - len(packets) % BATCH
                for first in range(0, stop, BATCH):
                    yield packets[first : first + BATCH]
                rest = packets[stop:]
        except InputError as error:
            fault = error
        if rest:
            yield rest
        if fault:
            raise fault

    def _packets(self) -> Iterator[list[Packet]]:
        """Yield the packets of all files, numbered over all of them."""
        if not isinstance(self._source, PointFiles):
            return self._read(self._source)
        return self._chain(self._source)

    def _read(self, source: str | os.PathLike[str] | IO[bytes] | GrowingPieces) -> Iterator[list[Packet]]:
        reader = Packets(source if isinstance(source, GrowingPieces) else Pieces(source))
        self.readers.append(reader)
        return reader.batches()

    def _chain(self, source: PointFiles) -> Iterator[list[Packet]]:
        """Yield the packets of files that follow each other, numbered over all of them."""
        befores: Any = self.origin.befores
        before = 0
        for at, file in enumerate(source.point.files):
            befores[at:] = [before]
            first = before
            for batch in self._read(source.live or file):
                before += len(batch)
                yield [tuple.__new__(Packet, (first + packet[0], *packet[1:])) for packet in batch] if first else batch
