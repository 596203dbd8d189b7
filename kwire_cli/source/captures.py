"""The events of a capture: packets of a capture point, TCP streams, and decrypted TLS.

A `Capture` connects the stages: readers of packets, IP and TCP segments, streams, decryption. A capture point can have
several files. Rotated files follow each other in time and are read in order. Files that overlap in time are merged by
time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain as joined
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.files import Pieces, source_name
from kwire_cli.source.growing import GrowingPieces
from kwire_cli.source.packets.files import Packets
from kwire_cli.source.packets.headers import FRAGMENT
from kwire_cli.source.packets.model import ALONE, NO_TIME, FileRow, Origin, Packet
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.packets.tcp import Limits, Streams
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.stores.paths import location, path_of, sizes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from kwire_cli.source.packets.model import Event, Notice
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.source.packets.points import Point


SMALL = 1 << 20
"""Size up to which a file that overlaps with others is read completely, so that few files are open at a time."""


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
        chains = [FileRow([location(file.path) for file in chain], [0]) for chain in point.chains]
        return Origin(chains, point.name, capture=capture, several=self.several)


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
            self.origin = ALONE if isinstance(source, GrowingPieces) else Origin([FileRow([source_name(source)], [0])])

    @property
    def again(self) -> str | PointFiles | None:
        """The source for a second reading, or None if the capture came through a pipe."""
        if isinstance(self._source, PointFiles):
            return None if self._source.live else self._source
        name = None if isinstance(self._source, GrowingPieces) else source_name(self._source)
        return name if name and path_of(name).is_file() else None

    @property
    def notices(self) -> list[tuple[str | None, Notice]]:
        """Notices about skipped data, and about reading that ended early, with the names of the files."""
        noted: list[tuple[str | None, Notice]] = []
        for reader in self.readers:
            noted += [(reader.name, notice) for notice in reader.notices]
        return noted

    @property
    def passed(self) -> int:
        """The number of bytes of the file or files that were read so far."""
        return sum(reader.pieces.passed for reader in self.readers)

    @property
    def summary(self) -> dict[str, int]:
        """Packets that are not TCP by kind, incomplete datagrams, and payload bytes that are in no event by reason."""
        fragments = {
            "incomplete datagrams": self.segments.fragments.incomplete,
            "differing fragments": self.segments.fragments.differing,
        }
        sizes = {f"{kind} bytes": size for kind, size in self.streams.counts.items()}
        other = self.segments.other - Counter({FRAGMENT: self.segments.fragments.joined})
        return {kind: count for kind, count in (other | fragments | sizes).items() if count}

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
            if self.origin.is_merged and packets:
                self.origin.forget(self.streams.waiting_since() or packets[0].number)
        self.segments.fragments.close()
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
        return self._merged(self._source) if self.origin.is_merged else self._chain(self._source, 0)

    def _read(self, source: str | os.PathLike[str] | IO[bytes] | GrowingPieces) -> Iterator[list[Packet]]:
        reader = Packets(source if isinstance(source, GrowingPieces) else Pieces(source))
        self.readers.append(reader)
        return reader.batches()

    def _chain(self, files: PointFiles, number: int) -> Iterator[list[Packet]]:
        """Yield the packets of files that follow each other, numbered over all of them."""
        befores: Any = self.origin.chains[number].befores
        before = 0
        for at, file in enumerate(files.point.chains[number]):
            befores[at:] = [before]
            batches = self._read(files.live or file.path)
            if self.origin.is_merged and sizes([file.path])[0] < SMALL:
                batches = iter([list(joined.from_iterable(batches))])
            first = before
            for batch in batches:
                before += len(batch)
                yield [tuple.__new__(Packet, (first + packet[0], *packet[1:])) for packet in batch] if first else batch

    def _merged(self, files: PointFiles) -> Iterator[list[Packet]]:
        """Yield the packets of several chains, merged by the latest time so far of each chain."""
        chains = sorted((chain[0].first, number) for number, chain in enumerate(files.point.chains))
        held: list[tuple[int, int, Packet]] = []
        rest: dict[int, Iterator[Packet]] = {}

        def more(number: int, moment: int) -> None:
            if (packet := next(rest[number], None)) is not None:
                time = packet.time
                heappush(held, (moment if time is None or time < moment else time, number, packet))

        out: list[Packet] = []
        while held or chains:
            while chains and (not held or chains[0][0] <= held[0][0]):
                _, number = chains.pop(0)
                rest[number] = joined.from_iterable(self._chain(files, number))
                more(number, NO_TIME)
            if held:
                moment, number, packet = heappop(held)
                self.origin.add(number, (packet.number,))
                out.append(tuple.__new__(Packet, (self.origin.count, *packet[1:])))
                more(number, moment)
            if len(out) == BATCH:
                yield out
                out = []
        if out:
            yield out
