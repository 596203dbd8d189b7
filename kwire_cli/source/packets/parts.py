"""Parts of captures that tasks can read independently, with their packets as columns.

The position of a packet is only known after the packet before it, so `outline` hops from header to header once, and
cuts the file into parts. A part knows how many packets precede it, and which earlier bytes describe how packets are
read (`lead`). Compressed files are one part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kwire_cli.engine.compiled import octets
from kwire_cli.errors import InputError
from kwire_cli.source.files import GZIP, ZSTD, Pieces
from kwire_cli.source.packets.files import MAGIC_SIZE, format_of
from kwire_cli.source.packets.model import NO_TIME, Notice
from kwire_cli.source.packets.packet_columns import PacketColumns, PcapColumns, PcapngColumns
from kwire_cli.source.packets.pcap import HEADER_SIZE, MAX_BLOCK
from kwire_cli.stores.opening import FileBytes

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt

    from kwire_cli.source.packets.packet_columns import Columns
    from kwire_cli.source.packets.pcap import Secrets

    Octets = npt.NDArray[np.uint8]


PART_SIZE = 128 << 20
"""Approximate size of a part in bytes."""


CHUNK = 1 << 17
"""Packets that are read at once. Memory is proportional to this number."""
BUFFER = 32 << 20
"""Uncompressed bytes that are read at once."""
MAX_LEADS = 256
"""Maximum number of earlier pieces that a part needs. A file whose next part would need more is not cut further."""


@dataclass(frozen=True)
class Part:
    """The packets in the bytes [start, stop) of a file, or in the whole file if `stop` is None.

    Attributes:
        lead: The earlier bytes that are needed to read the packets.
        packets: The number of packets before the part.

    """

    file: str
    start: int = 0
    stop: int | None = None
    lead: tuple[tuple[int, int], ...] = ()
    packets: int = 0


@dataclass(frozen=True)
class Outline:
    """The parts of a file, its number of packets, and the times of its first and its latest packet.

    The number of packets is None if the file is compressed. `secrets` are the decryption secrets in the file.
    """

    parts: tuple[Part, ...]
    packets: int | None
    first: int
    latest: int
    secrets: tuple[Secrets, ...] = ()


def outline(path: str | os.PathLike[str], size: int = PART_SIZE) -> Outline:
    """Return the outline of a capture, cut into parts of about `size` bytes.

    Raises InputError if the file cannot be read, or is not a capture.
    """
    reader = PartReader(Part(str(path)), size=size)
    parts: list[Part] = []
    part = reader.part
    following: Part | None = None
    first = NO_TIME
    latest = NO_TIME
    for _, packets in reader.chunks():
        if following:
            parts.append(replace(part, stop=following.start))
            part = following
        first = int(packets.time[0]) if first == NO_TIME else first
        latest = max(latest, int(packets.time.max()))
        columns = reader.columns
        following = None
        if reader.position - part.start > size - reader.buffer and len(columns.lead) <= MAX_LEADS:
            following = Part(part.file, reader.position, None, tuple(columns.lead), columns.number)
    secrets = tuple(reader.columns.secrets)
    count = reader.columns.number
    if reader.packed:
        return Outline((reader.part,), None if count else 0, first, latest, secrets)
    return Outline((*parts, replace(part, stop=reader.size)), count, first, latest, secrets)


class PartReader:
    """Reads the packets of a part in chunks of at most `most`, with the bytes that contain them.

    Attributes:
        buffer: Bytes of the file that are read at once.
        packed: Whether positions of packets are not positions of the file, because it is compressed.
        notices: Why reading ended early.
        size: The size of the file in bytes.
        position: The position after the packets so far.
        columns: The reader of the packets. It exists once chunks were read.
        is_near: Whether bytes at a position can be read again cheaply. Not so for compressed files and remote stores.

    """

    columns: Columns

    def __init__(self, part: Part, most: int = CHUNK, size: int = PART_SIZE) -> None:
        self.part = part
        self.most = most
        self.buffer = min(size, BUFFER)
        self.notices: list[Notice] = []
        self.packed = False
        self.is_near = True
        self.size = 0
        self.position = 0

    def chunks(self) -> Iterator[tuple[Octets, PacketColumns]]:
        """Yield the chunks; call once. Raise InputError if the file cannot be read, or is not a capture."""
        file = FileBytes(self.part.file)
        data = octets(file.read(0, HEADER_SIZE))
        self.packed = data.tobytes().startswith((GZIP, ZSTD))
        self.size = file.size
        self.is_near = file.is_local and not self.packed
        return self._unpacked() if self.packed else self._plain(file, data)

    def _plain(self, file: FileBytes, data: Octets) -> Iterator[tuple[Octets, PacketColumns]]:
        part = self.part
        reader, at = begin(data, part.file, part.lead, part.packets, lambda *place: octets(file.view(*place)))
        self.columns = reader
        at = max(at, part.start)
        stop = file.size if part.stop is None else min(part.stop, file.size)
        first = at
        upto = min(at + self.buffer, stop)
        while True:
            data = octets(file.view(at, upto))
            packets, after = reader.read(data, at, upto, self.most)
            if after > at:
                at = after
            elif upto < stop:
                upto = min(max(at + self.buffer, upto + MAX_BLOCK * (at == first)), stop)
                first = at
            else:
                break
            self.position = at
            if len(packets):
                yield data, packets
        if at < stop:
            reader.report_rest(octets(file.view(at, at + MAX_BLOCK + 1)), at, stop)
        self.notices += reader.notices

    def _unpacked(self) -> Iterator[tuple[Octets, PacketColumns]]:
        """Yield the chunks of a compressed file, one buffer at a time."""
        pieces = Pieces(self.part.file)
        reader: Columns | None = None
        rest = b""
        gone = 0
        for buffer in _buffers(pieces):
            data = octets(rest + buffer)
            at = 0
            if reader is None:
                reader, at = begin(data, self.part.file, ())
                self.columns = reader
            while True:
                packets, after = reader.read(data, at, len(data), self.most)
                if after == at:
                    break
                at = after
                if len(packets):
                    yield data, packets
            self._add_notices(reader, gone)
            rest = data[at:].tobytes()
            gone += at
            if len(rest) > BUFFER:
                break
        if reader is None:
            raise InputError(pieces.fault or "the input is empty", file=self.part.file)
        if rest:
            reader.report_rest(octets(rest), 0, len(rest))
            self._add_notices(reader, gone)
        if pieces.fault:
            self.notices.append(Notice(pieces.fault, gone + len(rest), reader.number))

    def _add_notices(self, reader: Columns, gone: int) -> None:
        """Add the new notices of a buffer's reader. `gone` bytes of the file precede the buffer."""
        self.notices += [
            notice._replace(position=notice.position + gone) for notice in reader.notices[len(self.notices) :]
        ]


def _buffers(pieces: Pieces) -> Iterator[bytes]:
    """Yield consecutive pieces joined to about BUFFER bytes."""
    joined: list[bytes] = []
    size = 0
    for piece in pieces:
        joined.append(piece)
        size += len(piece)
        if size >= BUFFER:
            yield b"".join(joined)
            joined = []
            size = 0
    if joined:
        yield b"".join(joined)


def begin(
    data: Octets,
    file: str,
    lead: tuple[tuple[int, int], ...],
    packets: int = 0,
    view: Callable[[int, int], Octets] | None = None,
) -> tuple[Columns, int]:
    """Return a reader for a file's packets that has read the `lead` bytes, and the position of the first packet.

    `view` returns bytes that are not in `data`.
    """
    if format_of(data[:MAGIC_SIZE].tobytes(), file) == "pcap":
        if len(data) < HEADER_SIZE:
            raise InputError(
                f"the file ends in the middle of the file's header: {len(data)} of at least {HEADER_SIZE} bytes",
                file=file,
            )
        return PcapColumns(data[:HEADER_SIZE].tobytes(), packets), HEADER_SIZE
    reader = PcapngColumns()
    for lead_start, end in lead:
        reader.read(view(lead_start, end) if view else data, lead_start, end, 1)
    reader.number = packets
    return reader, 0
