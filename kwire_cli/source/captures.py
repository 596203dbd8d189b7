"""Events read from captures: packets by capture point, TCP streams, TLS taken out."""

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
from kwire_cli.source.packets.model import ALONE, NO_TIME, FileRow, InRow, Merged, Origin, Packet
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


# The packets of a capture point: of rotated files one file after the other, of files that overlap in time
# merged by time.

POINT_BATCH = 256
"""Packets that are merged at once."""


SMALL = 1 << 20
"""Bytes up to which a file among others that overlap with it is read whole, so that few files are open at a time."""


@dataclass(frozen=True, slots=True)
class PointFiles:
    """A capture point to be read. `others` says that there are more points, `several` that there is more than one file.

    `index` counts points from 0. `live` is an open file or pipe in place of the point's only file.
    """

    point: Point
    others: bool = False
    several: bool = False
    index: int = 0
    live: Any = None

    @property
    def origin(self) -> Origin:
        """The origin that tells where packets are while they are read."""
        point = self.point
        named: dict[str, Any] = {
            "capture": point.name if self.others else None,
            "several": self.several,
            "index": self.index,
        }
        rows = [FileRow([location(file.path) for file in chain], [0]) for chain in point.chains]
        return InRow(rows[0], point.name, **named) if len(rows) == 1 else Merged(rows, point.name, **named)


class PointPackets:
    """The packets of a capture point, numbered over all of its files; iterate once over `batches`.

    `name` is the point's, `origin` says in which file a packet is.
    """

    def __init__(self, files: PointFiles) -> None:
        self.files = files
        self.origin = files.origin
        self.name = files.point.name
        self._readers: list[Packets] = []

    @property
    def passed(self) -> int:
        """The bytes of all files that were read so far."""
        return sum(reader.passed for reader in self._readers)

    @property
    def notices(self) -> list[Notice]:
        """The notices about what ended the reading of files early."""
        return [notice for reader in self._readers for notice in reader.notices]

    @property
    def remarks(self) -> list[str]:
        """The remarks that apply to all packets, each once."""
        return [*dict.fromkeys(remark for reader in self._readers for remark in reader.remarks)]

    @property
    def noted(self) -> list[tuple[str | None, Notice]]:
        """The same, with the names of the files."""
        return [(reader.name, notice) for reader in self._readers for notice in reader.notices]

    @property
    def secrets(self) -> list[Secrets]:
        """The decryption secrets in the files so far."""
        return [secret for reader in self._readers for secret in reader.secrets]

    def batches(self) -> Iterator[list[Packet]]:
        """The packets, many at a time. InputError for a file that cannot be read, or is no capture file."""
        if isinstance(self.origin, Merged):
            yield from self._merged(self.origin)
        elif isinstance(self.origin, InRow):
            yield from self._chain(self.files.point.chains[0], self.origin.row)

    def _chain(self, chain: Chain, row: FileRow) -> Iterator[list[Packet]]:
        """The packets of files that follow each other, numbered over them."""
        befores: Any = row.befores
        before = 0
        for number, file in enumerate(chain):
            befores[number:] = [before]
            reader = files_packets(self.files.live or file.path)
            self._readers.append(reader)
            (size,) = sizes([file.path]) if self.files.live is None else (0,)
            packet_batches = reader.batches()
            if isinstance(self.origin, Merged) and size < SMALL:
                packet_batches = iter([[*joined.from_iterable(packet_batches)]])
            first = before
            for batch in packet_batches:
                before += len(batch)
                yield [tuple.__new__(Packet, (first + packet[0], *packet[1:])) for packet in batch] if first else batch

    def _merged(self, origin: Merged) -> Iterator[list[Packet]]:
        """The packets of several chains by the latest time so far of each."""
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
                count, out = count + len(out), []
        yield _numbered(origin, count, out)


def _numbered(origin: Merged, before: int, some: list[tuple[int, Packet]]) -> list[Packet]:
    """Return the packets with numbers over all files, of which the origin is told."""
    start = before + 1
    for row, group in groupby(some, key=lambda each: each[0]):
        numbers = [packet.number for _, packet in group]
        origin.add(start, row, range(numbers[0], numbers[-1] + 1))
        start += len(numbers)
    return [tuple.__new__(Packet, (number, *packet[1:])) for number, (_, packet) in enumerate(some, before + 1)]


# A capture from file to events: the steps together, and what they have to say beside the events.

BATCH = 256
"""Packets whose events are made together. What is done at once to many things of a kind is done faster; too many of
them leave the fast caches.

Lines that come late find their place among those of a batch.
"""


class Capture:
    """The events of a capture's TCP connections; iterate once. Of TLS, what was said in it, where the file or
    `key_logs` (paths) have the keys.

    The source is a file, the files of a capture point, or packets of a capture that grows.

    `packets`, `segments`, `streams` and `tls` are the steps, with what each knows; `notices`, `secrets` and `summary`
    fill while the capture is read.
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
        """The packets that were read so far."""

    @property
    def name(self) -> str | None:
        """The file's path, if it has one."""
        return self.packets.name

    @property
    def again(self) -> str | PointFiles | None:
        """The source from which to read the capture once more, or None if it came through a pipe."""
        if isinstance(self.packets, PointPackets):
            return None if self.packets.files.live else self.packets.files
        if isinstance(self.packets, GrowingPackets):
            return None
        return self.name if self.name and path_of(self.name).is_file() else None

    @property
    def notices(self) -> list[Notice]:
        """The notices about what ended the reading early or was skipped."""
        return self.packets.notices

    @property
    def remarks(self) -> list[str]:
        """The remarks that apply to all packets."""
        return self.packets.remarks

    @property
    def noted(self) -> list[tuple[str | None, Notice]]:
        """The same, with the names of the files, if the capture has several."""
        if isinstance(self.packets, PointPackets):
            return self.packets.noted
        return [(self.name, notice) for notice in self.packets.notices]

    @property
    def secrets(self) -> list[Secrets]:
        """The decryption secrets in the file."""
        return self.packets.secrets

    @property
    def passed(self) -> int:
        """The bytes of the file, or of the files of a capture point, that were read so far."""
        return self.packets.passed

    @property
    def summary(self) -> dict[str, int]:
        """Packets that are not TCP, by kind; datagrams whose fragments are not all there; bytes of payload that are in
        no event, by reason.
        """
        fragments = {
            "incomplete datagrams": self.segments.fragments.incomplete,
            "differing fragments": self.segments.fragments.differing,
        }
        sizes = {f"{kind} bytes": size for kind, size in self.streams.counts.items()}
        other = self.segments.other - Counter({FRAGMENT: self.segments.fragments.joined})
        return {kind: count for kind, count in (other | fragments | sizes).items() if count}

    def waiting_since(self) -> int | None:
        """The lowest packet whose bytes are in no event yet; None where all are."""
        return self.streams.waiting_since()

    def __iter__(self) -> Iterator[Event]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[Event]]:
        """The events of a few packets at a time, of those that have been read already: that takes less time than one by
        one.
        """
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
        self.segments.close()
        yield self._without_tls(self.streams.close())

    def _without_tls(self, events: list[Event]) -> list[Event]:
        """Return the events, those of decrypted TLS with its content."""
        return self.tls.take(events)

    def _packets(self) -> Iterator[list[Packet]]:
        """Yield the packets, BATCH at a time whatever the pieces and files that they come in; those of a pipe as they
        come. An empty list says that a capture that grows has been quiet for a while.
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
