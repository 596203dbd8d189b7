"""Readers of capture files, and the search for captures in folders.

The first bytes decide the format: pcap or pcapng, uncompressed or compressed. Names do not
matter, except in folders, where a file with the name of a capture is read even if its start is damaged.
"""

from __future__ import annotations

import re
from itertools import count
from typing import IO, TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.files import Pieces, unpacked_start
from kwire_cli.source.logs.model import file_name
from kwire_cli.source.packets.model import Notice, Packet
from kwire_cli.source.packets.pcap import PcapngReader, PcapReader, Secrets, pcap_order
from kwire_cli.stores.paths import in_parallel
from kwire_cli.structs.network import SECTION_BLOCK

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from kwire_cli.source.growing import GrowingPieces
    from kwire_cli.stores.opening import Tree
    from kwire_cli.stores.paths import Place


MAGIC_SIZE = 4


def is_capture(first_bytes: bytes) -> bool:
    """Return whether a file with this start is a capture, compressed or not.

    Pass the first 128 KiB of a zstd file. With fewer bytes the result is True, because the file may be a capture.
    """
    start = unpacked_start(first_bytes)
    return start is None or capture_format(start) is not None


def capture_format(start: bytes) -> str | None:
    """Return `pcap` or `pcapng` from the first 4 decompressed bytes, or None for other formats."""
    if len(start) < MAGIC_SIZE:
        return None
    if int.from_bytes(start[:MAGIC_SIZE]) == SECTION_BLOCK:
        return "pcapng"
    return "pcap" if pcap_order(start) else None


def format_of(start: bytes, file: str | None) -> str:
    """Return `pcap` or `pcapng` from the first 4 decompressed bytes of a file.

    Raises:
        InputError: The file is empty, or not a capture.

    """
    if found := capture_format(start):
        return found
    if not start:
        raise InputError("the input is empty", file=file)
    reason = f"begins with {start[:MAGIC_SIZE].hex(' ')}" if len(start) >= MAGIC_SIZE else f"has no {MAGIC_SIZE} bytes"
    raise InputError(f"neither pcap nor pcapng: it {reason}", file=file)


class Packets:
    """The packets of a capture file, of a pipe, or of a capture that grows, in order; iterate once.

    Attributes:
        name: The file's path, if it has one.
        pieces: The bytes of the file.
        format: `pcap` or `pcapng`; None until it is known.

    """

    def __init__(self, pieces: Pieces | GrowingPieces) -> None:
        self.name = pieces.name
        self.pieces = pieces
        self.format: str | None = None
        self._reader: PcapReader | PcapngReader | None = None
        self._faults: list[Notice] = []

    @property
    def notices(self) -> list[Notice]:
        """Notices so far, about skipped data and reading that ended early."""
        return [*self._reader.notices, *self._faults] if self._reader else []

    @property
    def secrets(self) -> list[Secrets]:
        """The decryption secrets of the file, so far."""
        return self._reader.secrets if isinstance(self._reader, PcapngReader) else []

    def batches(self) -> Iterator[list[Packet]]:
        """Yield the packets in batches, one for each piece of the file that completes any. A batch is empty if a
        capture that grows has been quiet for a while.

        Raises:
            InputError: The file cannot be read, or is not a capture.

        """
        packets = 0
        position = 0
        first = b""
        for piece in self.pieces:
            if piece is None:
                yield []
                continue
            position += len(piece)
            first = b"" if self._reader else first + piece
            if len(first) < MAGIC_SIZE and not self._reader:
                continue
            reader = self._reader or self._begin(first)
            batch = reader.feed(first or piece)
            packets += len(batch)
            if batch:
                yield batch
            if reader.stopped:
                return
        if self.pieces.fault and self._reader is None:
            raise InputError(self.pieces.fault, file=self.name)
        if self.pieces.fault:
            self._faults.append(Notice(self.pieces.fault, position, packets))
        if self.pieces.ended:
            (self._reader or self._begin(first)).close()

    def _begin(self, first: bytes) -> PcapReader | PcapngReader:
        """Return the reader for a file with these first bytes. Raise InputError if they do not begin a capture."""
        self.format = format_of(first, self.name)
        self._reader = PcapReader() if self.format == "pcap" else PcapngReader()
        return self._reader

    def __iter__(self) -> Iterator[Packet]:
        for batch in self.batches():
            yield from batch


def packets(source: str | os.PathLike[str] | IO[bytes]) -> Packets:
    """Return the packets of a capture: a path, or a binary file object, which need not be seekable. Iterating raises
    InputError if it is not a capture.
    """
    return Packets(Pieces(source))


_EXAMINED = 1 << 17
"""First bytes that decide whether a file, compressed or not, is a capture."""


NAME = re.compile(r"\.(pcap|pcapng|cap)\d*(\.(gz|zst))?$", re.IGNORECASE)
"""Matches names of captures. Such files count as captures even if their contents are damaged, or if they are
broken links."""


def captures_in(folder: Tree, on_file: Callable[[str, int, int], None] | None = None) -> list[str]:
    """Return the captures below a folder, ordered by name.

    A file is a capture if its contents or its name identify it as one. `on_file` is called with the folder, the number
    of examined files, and the number of files.
    """
    paths = folder.files()
    examined = count(1)

    def examine(path: Place) -> bool:
        if on_file:
            on_file(str(folder.root.path), next(examined), len(paths))
        return _is_capture(path)

    results = zip(paths, in_parallel(examine, paths), strict=True)
    return [str(path) for path, is_match in results if is_match]


def _is_capture(path: Place) -> bool:
    if path.is_dir():
        return False
    if NAME.search(path.name):
        return True
    if not path.is_file() or file_name(path.name).is_sure:
        return False
    try:
        with path.open("rb") as file:
            first = file.read(_EXAMINED)
            return bool(first) and is_capture(first)
    except (InputError, OSError):
        return False
