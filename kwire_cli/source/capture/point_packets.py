"""The packets of a capture point: of rotated files one file after the other, of files that overlap in time merged by time."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain as joined, groupby
from typing import TYPE_CHECKING, Any

from kwire_cli.source.capture.files import Packets, packets
from kwire_cli.source.capture.model import NO_TIME, Packet
from kwire_cli.source.capture.origin import FileRow, InRow, Merged
from kwire_cli.stores import location, sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.capture.model import Notice
    from kwire_cli.source.capture.origin import Origin
    from kwire_cli.source.capture.pcapng import Secrets
    from kwire_cli.source.capture.points import Chain, Point

BATCH = 256
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
        """Where packets are, to be told while they are read."""
        point = self.point
        named: dict[str, Any] = {"capture": point.name if self.others else None, "several": self.several, "index": self.index}
        rows = [FileRow([location(file.path) for file in chain], [0]) for chain in point.chains]
        return InRow(rows[0], point.name, **named) if len(rows) == 1 else Merged(rows, point.name, **named)


class PointPackets:
    """The packets of a capture point, numbered over all of its files; iterate once over `batches`.

    `name` is the point's, `origin` says in which file a packet is. `passed` counts the bytes of files that were read.
    """

    def __init__(self, files: PointFiles) -> None:
        self.files, self.origin, self.name = files, files.origin, files.point.name
        self.passed = 0
        self._readers: list[Packets] = []

    @property
    def notices(self) -> list[Notice]:
        """What ended the reading of files early."""
        return [notice for reader in self._readers for notice in reader.notices]

    @property
    def remarks(self) -> list[str]:
        """What should be known of all packets, each once."""
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
            reader = packets(self.files.live or file.path)
            self._readers.append(reader)
            (size,) = sizes([file.path]) if self.files.live is None else (0,)
            found = reader.batches()
            if isinstance(self.origin, Merged) and size < SMALL:
                found = iter([[*joined.from_iterable(found)]])
            first = before
            for batch in found:
                before += len(batch)
                yield [tuple.__new__(Packet, (first + packet[0], *packet[1:])) for packet in batch] if first else batch
            self.passed += size

    def _merged(self, origin: Merged) -> Iterator[list[Packet]]:
        """The packets of several chains by the latest time so far of each."""
        chains = sorted((chain[0].first, number) for number, chain in enumerate(self.files.point.chains))
        held: list[tuple[int, int, Packet]] = []
        rest: dict[int, Iterator[Packet]] = {}

        def more(number: int, moment: int) -> None:
            if (packet := next(rest[number], None)) is not None:
                time = packet.time
                heappush(held, (moment if time is None or time < moment else time, number, packet))

        count, out = 0, list[tuple[int, Packet]]()
        while held or chains:
            while chains and (not held or chains[0][0] <= held[0][0]):
                _, number = chains.pop(0)
                rest[number] = joined.from_iterable(self._chain(self.files.point.chains[number], origin.rows[number]))
                more(number, NO_TIME)
            if held:
                moment, number, packet = heappop(held)
                out.append((number, packet))
                more(number, moment)
            if len(out) == BATCH:
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
