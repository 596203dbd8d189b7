"""Files as inputs: paths and globs, capture points, compressed files, and pipes.

Files are read in pieces of bounded size, so that memory does not grow with the file, and the size of decompressed data
is bounded too. The first bytes decide whether a file is compressed by gzip or zstd.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.stores.paths import location, path_of
from kwire_cli.stores.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.stores.paths import Place


def named(path: str) -> list[str]:
    """Return the path itself if it exists, even if it contains glob characters. Otherwise return the sorted matches of
    the path as a glob. Raise InputError without a match.
    """
    place = path_of(path)
    text = str(place) if "://" in path else path
    names = [text] if place.exists() else _matching(place, text)
    if not names:
        raise InputError("there is no such file or folder", file=path)
    return names


def _matching(place: Place, text: str) -> list[str]:
    if isinstance(place, Stored):
        return place.glob()
    return sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - a glob may have no folder before it


_EXAMPLE = "it takes a regular expression such as broker-\\d+"


@dataclass(frozen=True, slots=True)
class Naming:
    """The rule that determines the capture point of a file. By default it is the file's folder.

    `pattern` is a regular expression: the point is the part of the absolute path that it matches, or its groups.
    """

    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is None:
            return
        try:
            re.compile(self.pattern)
        except re.error as error:
            reason = f"--capture-point {self.pattern!r}: not a regular expression ({error}); {_EXAMPLE}"
            raise InputError(reason) from None

    def name(self, path: str) -> str:
        """Return the name of a file's capture point.

        Raises:
            InputError: The regular expression does not match the path.

        """
        if self.pattern is None:
            return location(path_of(path).parent)
        match = re.search(self.pattern, location(path_of(path).absolute()))
        if match is None:
            raise InputError(f"--capture-point {self.pattern!r} does not match this path; {_EXAMPLE}", file=path)
        return "/".join(group or "" for group in match.groups()) if match.groups() else match[0]

    def key(self, path: str) -> str:
        """Return a key that is equal for all files of a capture point, even if their folder is written differently."""
        if self.pattern is not None:
            return self.name(path)
        folder = str(path_of(path).absolute().parent)
        return folder if "://" in folder else os.path.normpath(folder)


PIECE = 1 << 18


_SLICE = 1 << 14
"""Compressed bytes that are decompressed at once."""
OPENING = 1 << 16
"""First bytes that decide whether a file is a request log, as other lines can precede them."""
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
MAGIC_SIZE = max(len(GZIP), len(ZSTD))


class Pieces:
    """The decompressed bytes of a file in pieces of at most PIECE bytes; iterate once.

    `source` is a path, or a binary file object, which need not be seekable and stays open. `read1` is preferred, so
    that data from a pipe is processed as it arrives. After the iteration, `fault` states why a compressed file, or a
    file that became shorter, was not read completely.
    """

    ended = True
    """Whether no bytes follow after the iteration."""

    def __init__(self, source: str | os.PathLike[str] | IO[bytes]) -> None:
        self.name = source_name(source)
        self.fault: str | None = None
        self.passed = 0
        """The number of bytes read so far, before decompression."""
        self._source = source

    def __iter__(self) -> Iterator[bytes]:
        if hasattr(self._source, "read"):
            yield from self._pieces(self._source)
            return
        try:
            file = path_of(self._source).open("rb", buffering=0)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", file=self.name) from None
        with file:
            had = _size(file)
            yield from self._pieces(file)
            if (left := _size(file)) < had:
                self.fault = f"it became shorter while it was read: it had {had} bytes and ends at byte {left} now"

    def _pieces(self, file: Any) -> Iterator[bytes]:
        pieces = self._raw(file)
        first = b""
        for piece in pieces:
            first += piece
            if len(first) >= MAGIC_SIZE:
                break
        if first.startswith(GZIP):
            yield from self._gzip(first, pieces)
        elif first.startswith(ZSTD):
            yield from self._zstd(first, pieces)
        else:
            if first:
                yield first
            yield from pieces

    def _raw(self, file: Any) -> Iterator[bytes]:
        read = getattr(file, "read1", None) or file.read
        try:
            while data := read(PIECE):
                self.passed += len(data)
                yield data
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", file=self.name) from None

    def _gzip(self, data: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(wbits=31)
        while data:
            if unpacker.eof:
                # Another member may follow; zeros are padding.
                data = data.lstrip(b"\0")
                if not data:
                    data = next(pieces, b"")
                    continue
                unpacker = zlib.decompressobj(wbits=31)
            before = unpacker.copy()
            part = data[:_SLICE]
            try:
                out = unpacker.decompress(part, PIECE)
            except zlib.error as error:
                self.fault = f"the gzip data is damaged ({error})"
                yield from _up_to_damage(before, part)
                return
            if out:
                yield out
            data = (unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail) + data[_SLICE:] or next(
                pieces, b""
            )
        if not unpacker.eof:
            self.fault = "the gzip data ends before its end"

    def _zstd(self, first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
        import zstandard  # noqa: PLC0415 - only for zstd files

        source: Any = _Readable(first, pieces)
        unpacker = zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True)
        try:
            while out := unpacker.read(PIECE):
                yield out
        except zstandard.ZstdError as error:
            self.fault = f"the zstd data is damaged ({error})"


def _size(file: Any) -> int:
    """Return the size of a local regular file; 0 for pipes and files of stores."""
    try:
        status = os.fstat(file.fileno())
    except (OSError, AttributeError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _up_to_damage(unpacker: Any, data: bytes) -> Iterator[bytes]:
    """Yield the decompressed data before the damage.

    Bytes are fed one by one, because zlib returns no output for a piece that contains damage.
    """
    try:
        for byte in data:
            yield unpacker.decompress(bytes((byte,)))
    except zlib.error:
        return


class _Readable:
    """A file object over pieces, for zstandard."""

    def __init__(self, first: bytes, pieces: Iterator[bytes]) -> None:
        self._rest = first
        self._pieces = pieces

    def read(self, size: int) -> bytes:
        data = self._rest or next(self._pieces, b"")
        self._rest = data[size:]
        return data[:size]


def source_name(source: Any) -> str | None:
    """Return the name of a source in errors: its path, or None if a file object has no name."""
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        return name if isinstance(name, str) else None
    return str(source)


def _unfinished(packed: bytes) -> bool:
    """Return whether a zstd frame without output so far continues after these bytes."""
    import zstandard  # noqa: PLC0415 - only for zstd files

    unpacker = zstandard.ZstdDecompressor().decompressobj()
    unpacker.decompress(packed)
    return not unpacker.eof


def unpacked_start(first: bytes, limit: int = 1024) -> bytes | None:
    """Return the decompressed start of a file, at most `limit` bytes, from its first bytes.

    Return None if decompression needs more bytes of the file, and no bytes if the compressed data is damaged.
    Uncompressed bytes are returned unchanged.
    """
    if first.startswith(GZIP):
        unpacker = zlib.decompressobj(wbits=31)
        try:
            return unpacker.decompress(first, limit) or (b"" if unpacker.eof else None)
        except zlib.error:
            return b""
    if first.startswith(ZSTD):
        import zstandard  # noqa: PLC0415 - only for zstd files

        try:
            start = zstandard.ZstdDecompressor().stream_reader(first).read(limit)
            return start or (None if _unfinished(first) else b"")
        except zstandard.ZstdError:
            return b""
    return first


def first_of(source: Any, size: int) -> bytes:
    """Return the first bytes of a path or of an open file, which stay unread. Return no bytes if the source cannot be
    read twice, or cannot be read: the error then comes from its reader.
    """
    if hasattr(source, "read"):
        return _ahead(source, size)
    try:
        path = path_of(source)
        if not path.is_file():  # bytes of a named pipe can be read only once
            return b""
        with path.open("rb") as file:
            return file.read(size)
    except (OSError, ValueError, TypeError):
        return b""


def _ahead(file: Any, size: int) -> bytes:
    """Return the next bytes of an open file, which stay unread. Return no bytes if that is impossible."""
    if hasattr(file, "peek"):
        return bytes(file.peek(size))[:size]
    if not (hasattr(file, "seekable") and file.seekable()):
        return b""
    position = file.tell()
    start = file.read(size)
    file.seek(position)
    return start if isinstance(start, bytes) else b""


class Live:
    """A pipe whose reads return the data that has arrived. `idle` is called before a read that may wait."""

    def __init__(self, file: IO[bytes], idle: Callable[[], None]) -> None:
        self._file = file
        self._idle = idle
        self._read_available: Callable[[int], bytes] = getattr(file, "read1", file.read)
        self._peeked = b""

    def peek(self, size: int) -> bytes:
        """Return the next bytes, which stay unread: fewer than `size` only if the pipe ends."""
        while len(self._peeked) < size and (more := self._read_available(size - len(self._peeked))):
            self._peeked += more
        return self._peeked

    def read1(self, size: int) -> bytes:
        """Return at most `size` bytes, and none at the end."""
        if self._peeked:
            data = self._peeked[:size]
            self._peeked = self._peeked[size:]
            return data
        self._idle()
        return self._read_available(size)

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes, or all remaining bytes if it is negative."""
        if 0 <= size <= len(self._peeked):
            return self.read1(size)
        rest = self._file.read() if size < 0 else self._file.read(size - len(self._peeked))
        data = self._peeked + rest
        self._peeked = b""
        return data
