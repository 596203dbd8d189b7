"""The events of a capture: packets of a capture point, TCP streams, and decrypted TLS.

A `Capture` connects the stages: readers of packets, IP and TCP segments, streams, decryption. A capture point can have
several files. Rotated files follow each other in time and are read in order. Files that overlap in time are merged by
time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain as joined, groupby
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.growing import GrowingPackets
from kwire_cli.source.packets import files
from kwire_cli.source.packets.files import Packets, packets as files_packets
from kwire_cli.source.packets.headers import FRAGMENT
from kwire_cli.source.packets.model import ALONE, NO_TIME, FileRow, InRow, Merged, Origin, Packet, origin_of_chains
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.packets.tcp import Limits, Streams
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.stores import location, path_of, sizes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from kwire_cli.source.packets.model import Event, Notice
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.source.packets.points import Chain, Point


POINT_BATCH = 256
"""Merged packets per batch."""


SMALL = 1 << 20
"""Size up to which a file that overlaps with others is read completely, so that few files are open at a time."""


@dataclass(frozen=True, slots=True)
class PointFiles:
    """A capture point to read.

    Attributes:
        others: Whether there are other capture points.
        several: Whether there is more than one file.
        index: Counts points from 0.
        live: An open file or pipe instead of the point's only file.

    """

    point: Point
    others: bool = False
    several: bool = False
    index: int = 0
    live: Any = None

    @property
    def origin(self) -> Origin:
        """A new origin, which maps packets to files while they are read."""
        point = self.point
        capture = point.name if self.others else None
        rows = [FileRow([location(file.path) for file in chain], [0]) for chain in point.chains]
        return origin_of_chains(rows, point.name, capture=capture, several=self.several, index=self.index)


class PointPackets:
    """Reads the packets of a capture point, numbered over all of its files. Iterate once over `batches`.

    `name` is the name of the point, and `origin` maps packets to files.
    """

    def __init__(self, files: PointFiles) -> None:
        self.files = files
        self.origin = files.origin
        self.name = files.point.name
        self._readers: list[Packets] = []

    @property
    def passed(self) -> int:
        """The number of bytes read so far, over all files."""
        return sum(reader.passed for reader in self._readers)

    @property
    def notices(self) -> list[Notice]:
        """Notices about files whose reading ended early."""
        notices: list[Notice] = []
        for reader in self._readers:
            notices += reader.notices
        return notices

    @property
    def noted(self) -> list[tuple[str | None, Notice]]:
        """The notices with the names of their files."""
        noted: list[tuple[str | None, Notice]] = []
        for reader in self._readers:
            noted += [(reader.name, notice) for notice in reader.notices]
        return noted

    @property
    def secrets(self) -> list[Secrets]:
        """The decryption secrets in the files so far."""
        secrets: list[Secrets] = []
        for reader in self._readers:
            secrets += reader.secrets
        return secrets

    def batches(self) -> Iterator[list[Packet]]:
        """Yield the packets in batches. Raise InputError if a file cannot be read, or is not a capture."""
        if isinstance(self.origin, Merged):
            yield from self._merged(self.origin)
        elif isinstance(self.origin, InRow):
            yield from self._chain(self.files.point.chains[0], self.origin.row)

    def _chain(self, chain: Chain, row: FileRow) -> Iterator[list[Packet]]:
        """Yield the packets of files that follow each other, numbered over all of them."""
        befores: Any = row.befores
        before = 0
        for number, file in enumerate(chain):
            befores[number:] = [before]
            reader = files_packets(self.files.live or file.path)
            self._readers.append(reader)
            (size,) = sizes([file.path]) if self.files.live is None else (0,)
            packet_batches = reader.batches()
            if isinstance(self.origin, Merged) and size < SMALL:
                packet_batches = iter([list(joined.from_iterable(packet_batches))])
            first = before
            for batch in packet_batches:
                before += len(batch)
                yield [tuple.__new__(Packet, (first + packet[0], *packet[1:])) for packet in batch] if first else batch

    def _merged(self, origin: Merged) -> Iterator[list[Packet]]:
        """Yield the packets of several chains, merged by the latest time so far of each chain."""
        chains = sorted((chain[0].first, number) for number, chain in enumerate(self.files.point.chains))
        held: list[tuple[int, int, Packet]] = []
        rest: dict[int, Iterator[Packet]] = {}

        def more(number: int, moment: int) -> None:
            if (packet := next(rest[number], None)) is not None:
                time = packet.time
                heappush(held, (moment if time is None or time < moment else time, number, packet))

        count = 0
        out = list[tuple[int, Packet]]()
        while held or chains:
            while chains and (not held or chains[0][0] <= held[0][0]):
                _, number = chains.pop(0)
                rest[number] = joined.from_iterable(self._chain(self.files.point.chains[number], origin.rows[number]))
                more(number, NO_TIME)
            if held:
                moment, number, packet = heappop(held)
                out.append((number, packet))
                more(number, moment)
            if len(out) == POINT_BATCH:
                yield _numbered(origin, count, out)
                count += len(out)
                out = []
        yield _numbered(origin, count, out)


def _numbered(origin: Merged, before: int, packets: list[tuple[int, Packet]]) -> list[Packet]:
    """Return the packets with numbers over all files, and record the numbers in the origin."""
    start = before + 1
    for row, group in groupby(packets, key=lambda each: each[0]):
        numbers = [packet.number for _, packet in group]
        origin.add(start, row, range(numbers[0], numbers[-1] + 1))
        start += len(numbers)
    return [tuple.__new__(Packet, (number, *packet[1:])) for number, (_, packet) in enumerate(packets, before + 1)]


BATCH = 256
"""Packets that are processed together. Larger batches amortise the cost per call, until they no longer fit into the
caches of the processor. Lines that complete late are also sorted within a batch."""


class Capture:
    """The events of a capture's TCP connections; iterate once. TLS is decrypted if the file or `key_logs` (paths)
    contain the secrets.

    The source is a file, the files of a capture point, or packets of a growing capture. `packets`, `segments`,
    `streams` and `tls` are the stages. `notices`, `secrets` and `summary` are complete after the iteration.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | IO[bytes] | PointFiles | GrowingPackets,
        limits: Limits | None = None,
        *,
        key_logs: Sequence[str] = (),
    ) -> None:
        self.packets: Packets | PointPackets | GrowingPackets
        if isinstance(source, PointFiles):
            self.packets = PointPackets(source)
            self.origin = self.packets.origin
        elif isinstance(source, GrowingPackets):
            self.packets = source
            self.origin = ALONE
        else:
            self.packets = files.packets(source)
            self.origin = Origin(file=self.packets.name)
        self.segments = Segments()
        self.streams = Streams(limits)
        self.tls = Decryption(key_logs, lambda: self.packets.secrets)
        self.count = 0
        """The number of packets read so far."""

    @property
    def name(self) -> str | None:
        """The file's path, if it has one."""
        return self.packets.name

    @property
    def again(self) -> str | PointFiles | None:
        """The source for a second reading, or None if the capture came through a pipe."""
        if isinstance(self.packets, PointPackets):
            return None if self.packets.files.live else self.packets.files
        if isinstance(self.packets, GrowingPackets):
            return None
        return self.name if self.name and path_of(self.name).is_file() else None

    @property
    def notices(self) -> list[Notice]:
        """Notices about skipped data, and about reading that ended early."""
        return self.packets.notices

    @property
    def noted(self) -> list[tuple[str | None, Notice]]:
        """The notices, with the names of the files if the capture has several."""
        if isinstance(self.packets, PointPackets):
            return self.packets.noted
        return [(self.name, notice) for notice in self.packets.notices]

    @property
    def secrets(self) -> list[Secrets]:
        """The decryption secrets in the file."""
        return self.packets.secrets

    @property
    def passed(self) -> int:
        """The number of bytes of the file or files that were read so far."""
        return self.packets.passed

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

    def waiting_since(self) -> int | None:
        """Return the lowest packet whose bytes are in no event yet, or None if all are in events."""
        return self.streams.waiting_since()

    def __iter__(self) -> Iterator[Event]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[Event]]:
        """Yield the events of a batch of packets at a time, which is faster than single events."""
        feed = self.streams.feed
        for packets in self._packets():
            self.count += len(packets)
            events: list[Event] = []
            for segment in self.segments(packets):
                events += feed(segment)
            if not packets:
                events += self.streams.flush()
            yield self._without_tls(events)
            if self.origin.moving:
                self.origin.forget(self.waiting_since() or packets[0].number)
        self.segments.fragments.close()
        yield self._without_tls(self.streams.close())

    def _without_tls(self, events: list[Event]) -> list[Event]:
        """Return the events with decrypted data instead of TLS."""
        return self.tls.take(events)

    def _packets(self) -> Iterator[list[Packet]]:
        """Yield the packets in batches of BATCH, or as they arrive if the capture is a pipe. An empty batch means that
        a growing capture has been quiet for a while.
        """
        live = self.again is None
        rest: list[Packet] = []
        fault: InputError | None = None
        try:
            for some in self.packets.batches():
                if not some and isinstance(self.packets, GrowingPackets):
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
