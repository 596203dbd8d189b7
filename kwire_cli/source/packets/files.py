"""Capture files, and captures in folders."""

from __future__ import annotations

import re
from itertools import count
from typing import IO, TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.files import OPENING, Pieces, named, unpacked_start
from kwire_cli.source.logs.model import file_name
from kwire_cli.source.packets.model import Notice, Packet
from kwire_cli.source.packets.pcap import PcapngReader, PcapReader, Secrets, pcap_order
from kwire_cli.stores import in_parallel, path_of
from kwire_cli.stores.opening import tree
from kwire_cli.structs.network import SECTION_BLOCK

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.source.packets.text_packets import TextReader
    from kwire_cli.stores import Place
    from kwire_cli.stores.opening import Tree


# Capture files: pcap, pcapng or packets printed as text, by their first bytes, plain or packed, as packets.

MAGIC_SIZE = 4


def is_capture(first_bytes: bytes) -> bool:
    """Return whether a file with this start is a capture, packed or not.

    Give the first 128 KiB of a zstd file. With fewer bytes the result is True, as the file may be a capture.
    """
    start = unpacked_start(first_bytes)
    return start is None or capture_format(start) is not None


def capture_format(start: bytes) -> str | None:
    """`pcap` or `pcapng`, by the first 4 unpacked bytes; None for anything else."""
    if len(start) < MAGIC_SIZE:
        return None
    if int.from_bytes(start[:MAGIC_SIZE]) == SECTION_BLOCK:
        return "pcapng"
    return "pcap" if pcap_order(start) else None


class CaptureReader:
    """The packets of one capture file, without I/O.

    `feed` takes the unpacked bytes in pieces of any size and gives the packets that are whole by then. An empty list
    means that there are not enough bytes yet, unless `stopped`. `close` says that no more bytes will come, and gives
    the packet that only the end completes. `notices` say what ended the reading early, `remarks` what should be known
    of all packets, and `secrets` hold what the file gives for decryption. `format` is `pcap`, `pcapng` or `text` as
    soon as that is known.
    """

    def __init__(self, file: str | None = None) -> None:
        self.format: str | None = None
        self._file = file
        self._first = b""
        self._look_again = MAGIC_SIZE
        self._reader: PcapReader | PcapngReader | TextReader | None = None
        self._text: TextReader | None = None

    @property
    def notices(self) -> list[Notice]:
        """The notices so far for the reader of the file."""
        return self._reader.notices if self._reader else []

    @property
    def remarks(self) -> list[str]:
        """The remarks that apply to all packets."""
        return self._text.remarks if self._text else []

    @property
    def secrets(self) -> list[Secrets]:
        """The decryption secrets of the file, so far."""
        return self._reader.secrets if isinstance(self._reader, PcapngReader) else []

    @property
    def stopped(self) -> bool:
        """Return whether reading lost its place in the file, so that feeding more gives nothing."""
        return self._reader is not None and self._reader.stopped

    def feed(self, data: bytes) -> list[Packet]:
        """The packets that these bytes complete.

        Raises:
            InputError: It is no capture file.

        """
        if self._reader is None:
            data = self._first = self._first + data
            if len(data) < self._look_again:
                return []
            self._reader = self._begin(data, whole=False)
            if self._reader is None:
                self._look_again = 2 * len(data)
                return []
            self._first = b""
        return self._reader.feed(data)

    def close(self) -> list[Packet]:
        """The file has ended: the packet that only its end completes.

        Raises:
            InputError: It was empty, or too short to be told from others.

        """
        packets: list[Packet] = []
        if self._reader is None:
            if len(self._first) < MAGIC_SIZE:
                raise InputError(
                    "neither pcap nor pcapng: it has no 4 bytes" if self._first else "the input is empty",
                    file=self._file,
                )
            packets = self.settle()
        if self._text:
            return packets + self._text.close()
        if self._reader:
            self._reader.close()
        return packets

    def settle(self) -> list[Packet]:
        """Nothing more comes for a while: tell what this is by the bytes that are there. InputError if they are of no
        capture.
        """
        if self._reader is not None or len(self._first) < MAGIC_SIZE:
            return []
        self._reader = self._begin(self._first, whole=True)
        return self._reader.feed(self._first) if self._reader else []

    def _begin(self, start: bytes, *, whole: bool) -> PcapReader | PcapngReader | TextReader | None:
        """The reader of a file that begins so; None until enough has come to tell. InputError if it is no capture."""
        self.format = capture_format(start)
        if self.format is not None:
            return PcapReader() if self.format == "pcap" else PcapngReader()
        from kwire_cli.source.packets.text_packets import TextReader, is_packet_text  # noqa: PLC0415 - start-up counts

        is_text = is_packet_text(start, whole=whole)
        if is_text is False:
            raise InputError(
                f"neither pcap nor pcapng, nor packets as text: it begins with {start[:MAGIC_SIZE].hex(' ')}",
                file=self._file,
            )
        if is_text:
            self.format = "text"
            self._text = TextReader()
        return self._text


class Packets:
    """The packets of a capture file or pipe, in its order; iterate once. `notices` and `secrets` fill while it is
    read.
    """

    def __init__(self, source: str | os.PathLike[str] | IO[bytes]) -> None:
        self._pieces = Pieces(source)
        self._reader = CaptureReader(self._pieces.name)
        self._notices: list[Notice] = []

    @property
    def name(self) -> str | None:
        """The file's path, if it has one."""
        return self._pieces.name

    @property
    def format(self) -> str | None:
        """`pcap`, `pcapng` or `text`, as soon as that is known."""
        return self._reader.format

    @property
    def passed(self) -> int:
        """The bytes of the file that were read so far."""
        return self._pieces.passed

    @property
    def remarks(self) -> list[str]:
        """The remarks that apply to all packets."""
        return self._reader.remarks

    @property
    def notices(self) -> list[Notice]:
        """The notices so far for the reader of the file."""
        return self._reader.notices + self._notices

    @property
    def secrets(self) -> list[Secrets]:
        """The decryption secrets of the file, so far."""
        return self._reader.secrets

    def batches(self) -> Iterator[list[Packet]]:
        """The packets, as many at once as a piece of the file completes.

        Raises:
            InputError: The file cannot be read, or is no capture file.

        """
        packets = 0
        position = 0
        for piece in self._pieces:
            position += len(piece)
            batch = self._reader.feed(piece)
            packets += len(batch)
            if batch:
                yield batch
            if self._reader.stopped:
                return
        if self._pieces.fault:
            if self._reader.format is None:
                raise InputError(self._pieces.fault, file=self.name)
            self._notices.append(Notice(self._pieces.fault, position, packets))
        if batch := self._reader.close():
            yield batch

    def __iter__(self) -> Iterator[Packet]:
        for batch in self.batches():
            yield from batch


def packets(source: str | os.PathLike[str] | IO[bytes]) -> Packets:
    """The packets of a capture: a path, or a binary file object, which need not be seekable. InputError on reading what
    is no capture.
    """
    return Packets(source)


# The captures that paths, folders and globs name.

_LOOKED_AT = 1 << 17
"""Bytes that tell a capture, packed ones too."""


NAME = re.compile(r"\.(pcap|pcapng|cap)\d*(\.(gz|zst))?$", re.IGNORECASE)
"""Names of captures: such files are taken for captures whatever is in them, and broken links too."""


def captures_of(paths: Iterable[str], on_file: Callable[[str, int, int], None] | None = None) -> list[str]:
    """The files that paths and globs name, each once, in the order of their names; of a folder, and of those in it, the
    captures.

    In a folder a capture is what begins as one, or is named as one although it does not. `on_file` is called with the
    folder, how many of its files were examined, and how many there are.

    Raises:
        InputError: There is nothing of that name, or no capture in a folder.

    """
    captures: dict[str, None] = {}
    for path in paths:
        some = [
            capture
            for name in named(path)
            for capture in (captures_in(tree(path_of(name)), on_file) if path_of(name).is_dir() else [name])
        ]
        if not some:
            raise InputError("there is no capture in this folder", file=path)
        captures.update(dict.fromkeys(some))
    return list(captures)


def captures_in(folder: Tree, on_file: Callable[[str, int, int], None] | None = None) -> list[str]:
    """Return the captures below a folder, in the order of their names. `captures_of` describes `on_file`."""
    paths = folder.files()
    examined = count(1)

    def is_one(path: Place) -> bool:
        if on_file:
            on_file(str(folder.root.path), next(examined), len(paths))
        return _is_capture(path)

    return [str(path) for path, found in zip(paths, in_parallel(is_one, paths), strict=True) if found]


def _is_capture(path: Place) -> bool:
    if path.is_dir():
        return False
    if NAME.search(path.name):
        return True
    if not path.is_file() or file_name(path.name).is_sure:
        return False
    try:
        with path.open("rb") as file:
            first = file.read(_LOOKED_AT)
            return bool(first) and (is_capture(first) or _is_printed(first))
    except (InputError, OSError):
        return False


def _is_printed(first: bytes) -> bool:
    """Return whether a file with this start, packed or not, holds packets that were printed as text."""
    from kwire_cli.source.packets.text_packets import is_packet_text  # noqa: PLC0415 - start-up counts

    start = unpacked_start(first, OPENING) or b""
    return bool(is_packet_text(start, whole=len(first) < _LOOKED_AT and len(start) < OPENING))
