"""Files that arrive, and how far they were read."""

from __future__ import annotations

import contextlib
import struct
import time
from base64 import b64decode, b64encode
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from kwire_cli.errors import InputError
from kwire_cli.pipeline.segments import Part as SegmentPart
from kwire_cli.records.reading import source_of
from kwire_cli.records.selection import Selection
from kwire_cli.source.files import named
from kwire_cli.source.logs.files import Segment, segment_at, segments_of
from kwire_cli.source.logs.model import Kind, file_name
from kwire_cli.source.logs.splitting import resumed, whole
from kwire_cli.source.packets.files import captures_of
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.packets.parts import Part, Unpacked, grown, unpacked
from kwire_cli.stores import absolute, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


# How far each file of a stream was read: what Spark keeps as the offset of a batch, in JSON.
#
# Every batch has all of it once, so it is kept short: a file that was read to its end, and did not grow
# since, is 18 bytes in `done`. Files that are gone are left out.

FIRST = 4096
"""Bytes at the beginning of a file that tell it from others."""


SPELLED_OUT = 64
"""Files up to which nothing is shortened."""
_DONE = struct.Struct(">8sIIH")
"""Of a file that is done: what its path and its beginning come to, and how far it was read, in the lower bytes and the
upper."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The position up to which a file was read, and what identifies the file.

    `at` is the position in bytes. `beginning` is a hash of the file's first bytes, as far as they were read. `size`
    is the size of the file at that time. `turn` counts the earlier files with this path. `was` is the key of the
    file's path before it was renamed.
    """

    at: int = 0
    beginning: int = 0
    size: int = 0
    turn: int = 0
    was: str = ""

    def to_json(self) -> dict[str, Any]:
        """Without what says nothing."""
        fields = {name: getattr(self, name) for name in ("at", "beginning", "size", "turn", "was")}
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class Progress:
    """The marks of files by path, and by the key of their paths of those that are `done`; `packets` were in all
    captures up to here.
    """

    files: Mapping[str, Mark] = field(default_factory=dict)
    done: Mapping[bytes, Mark] = field(default_factory=dict)
    packets: int = 0

    def mark(self, path: str) -> Mark | None:
        """Return how far a file was read, or None for a new file."""
        return self.files.get(path) or (self.done.get(key_of(path)) if self.done else None)

    def by_key(self) -> dict[bytes, Mark]:
        """All marks by the keys of their paths."""
        return {**self.done, **{key_of(path): mark for path, mark in self.files.items()}}

    def to_json(self) -> dict[str, Any]:
        """The offset."""
        document: dict[str, Any] = {"files": {path: mark.to_json() for path, mark in self.files.items()}}
        if self.done:
            document["done"] = b64encode(
                b"".join(_DONE.pack(key, mark.beginning, *_halves(mark.at)) for key, mark in sorted(self.done.items()))
            ).decode()
        return document | ({"packets": self.packets} if self.packets else {})

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Progress:
        """The same of JSON."""
        files = {path: Mark(**mark) for path, mark in offset.get("files", {}).items()}
        return cls(files, _done(offset.get("done", "")), offset.get("packets", 0))


def shortened(files: Mapping[str, Mark], unchanged: Iterable[str]) -> tuple[dict[str, Mark], dict[bytes, Mark]]:
    """The marks, where they are many without those that are done: these by key."""
    if len(files) <= SPELLED_OUT:
        return dict(files), {}
    own = {path for path in unchanged if _is_short(files[path])}
    return {path: mark for path, mark in files.items() if path not in own}, {key_of(path): files[path] for path in own}


def _is_short(mark: Mark) -> bool:
    return mark.at == mark.size and not mark.turn and not mark.was and mark.at < 1 << 48


def key_of(path: str) -> bytes:
    """Return the 8-byte key that stands for a path among files that are done."""
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest()


def beginning_of(data: bytes) -> int:
    """Return a 32-bit hash of a file's first bytes. The hash is never 0."""
    return int.from_bytes(blake2b(data, digest_size=4).digest()) | 1


def _halves(number: int) -> tuple[int, int]:
    return number & 0xFFFFFFFF, number >> 32


@lru_cache(maxsize=8)
def _done(text: str) -> dict[bytes, Mark]:
    return {
        key: Mark(low | high << 32, beginning, low | high << 32)
        for key, beginning, low, high in _DONE.iter_unpack(b64decode(text))
    }


# The two kinds of files that arrive: how they are listed, how far each is whole, and the parts that its
# tables read.

T = TypeVar("T")


_KNOWN = 4096
"""Places in captures that are kept in mind."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that is there: its size, when it was written to last, and whether no more will come: then what stands at
    its end is as it is.
    """

    path: str
    size: int
    modified: float
    ended: bool
    kind: Files


class Portion(NamedTuple):
    """The portion that a task reads: a part, as its table knows it.

    For captures it has the number of packets, and the time of the first packet.
    """

    part: Any
    packets: int = 0
    first: int = NO_TIME


class Files(Protocol):
    """A kind of files."""

    def listed(self, paths: Iterable[str]) -> Iterator[Entry]:
        """Yield the files that are there now."""

    def order(self, entry: Entry, mark: Mark) -> tuple[int, str]:
        """Return the key of the order in which files are read: a time in nanoseconds, and the path."""

    def rewritten(self, entry: Entry, mark: Mark) -> bool:
        """Return whether changed content of a file holds nothing new."""

    def advanced(self, entry: Entry, mark: Mark, most: int) -> tuple[int, int]:
        """Return how far a file is whole in about `most` bytes from its mark, and their packet count."""

    def parts(self, path: str, start: int, stop: int, size: int) -> Iterator[Portion]:
        """The parts between two marks of a file, of about `size` bytes."""

    def goes_on(self, path: str) -> bool:
        """Return whether new bytes of a file can be read without the bytes before them."""

    def forget(self, path: str) -> None:
        """Another file has this path now."""


class SegmentFiles:
    """Segments and snapshots in use. One has ended when its folder has a later one."""

    def listed(self, paths: Iterable[str]) -> Iterator[Entry]:
        """As `Files`."""
        folders: dict[str, list[Segment]] = defaultdict(list)
        for path in paths:
            for segment in _there(path, segments_of):
                folders[str(path_of(segment.path).parent)].append(segment)
        for segments in folders.values():
            names = [file_name(path_of(log_file.path).name) for log_file in segments]
            newest: dict[Kind, int] = {}
            for name in names:
                newest[name.kind] = max(newest.get(name.kind, 0), name.base_offset or 0)
            for segment, name in zip(segments, names, strict=True):
                if not name.suffix and (status := _status(segment.path)):
                    ended = name.base_offset is not None and name.base_offset < newest[name.kind]
                    yield Entry(segment.path, *status, ended, self)

    def order(self, entry: Entry, mark: Mark) -> tuple[int, str]:  # noqa: ARG002 - as others have it
        """By partition and offset."""
        return NO_TIME, entry.path

    def rewritten(self, entry: Entry, mark: Mark) -> bool:
        """Return whether a segment has ended and was read to its end.

        Its changed content is then what the cleaner of a broker has left.
        """
        return entry.ended and mark.at == mark.size

    def advanced(self, entry: Entry, mark: Mark, most: int) -> tuple[int, int]:
        """As `Files`; all of it where it has ended and no batch is left."""
        try:
            source = source_of(entry.path)
        except InputError:
            return (entry.size if entry.ended else mark.at), 0
        size = len(source.data)
        if entry.ended and size - mark.at <= most:
            return size, 0
        at = whole(source, resumed(source, mark.at) if entry.ended else mark.at, most)
        return (size if entry.ended and at == mark.at else at), 0

    def parts(self, path: str, start: int, stop: int, size: int) -> Iterator[Portion]:
        """As `Files`."""
        try:
            segment, source = segment_at(Path(path)), source_of(path)
        except InputError:
            yield Portion(SegmentPart(Segment(path, None, None), Selection(), start, stop))
            return
        start = resumed(source, start)
        while start < stop:
            at = whole(source, start, size) if stop - start > size else stop
            end = at if start < at < stop else stop
            yield Portion(SegmentPart(segment, Selection(), start, end))
            start = end

    def goes_on(self, path: str) -> bool:  # noqa: ARG002 - as others have it
        """Batches can."""
        return True

    def forget(self, path: str) -> None:
        """Nothing was kept."""


class CaptureFiles:
    """Captures. One has ended when nobody wrote to it for `patience` seconds."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._onward: OrderedDict[tuple[str, int], Part] = OrderedDict()
        self._firsts: dict[tuple[str, int], int] = {}
        self._packed: dict[str, tuple[Any, Unpacked | None]] = {}

    def listed(self, paths: Iterable[str]) -> Iterator[Entry]:
        """As `Files`."""
        now = time.time()
        for path in paths:
            for capture in _there(path, captures_of):
                if status := _status(capture):
                    yield Entry(capture, *status, now - status[1] > self._patience, self)

    def order(self, entry: Entry, mark: Mark) -> tuple[int, str]:
        """By the time of the first packet."""
        return self._first(entry.path, mark.turn), entry.path

    def rewritten(self, entry: Entry, mark: Mark) -> bool:  # noqa: ARG002 - as others have it
        """It is always a new one."""
        return False

    def _first(self, path: str, turn: int) -> int:
        first_time = self._firsts.get((path, turn), NO_TIME)
        if first_time == NO_TIME:
            with contextlib.suppress(InputError):
                self._firsts[path, turn] = first_time = (self._unpacked(path) or grown(Part(path), 1)).first
        return first_time

    def advanced(self, entry: Entry, mark: Mark, most: int) -> tuple[int, int]:
        """As `Files`; all of it where it has ended, and no packet is left. A packed file is taken as a whole."""
        try:
            if packed := None if mark.at else self._unpacked(entry.path):
                return (entry.size, packed.packets) if packed.whole or entry.ended else (0, 0)
            growth = grown(self._at(entry.path, mark.at), mark.at + most)
        except InputError:
            return (entry.size if entry.ended else mark.at), 0
        self._keep(growth.onward)
        if growth.packets or mark.at < growth.onward.start < entry.size:
            return growth.onward.start, growth.packets
        return (entry.size if entry.ended else mark.at), 0

    def parts(self, path: str, start: int, stop: int, size: int) -> Iterator[Portion]:
        """As `Files`. The last may end in what is no whole packet."""
        try:
            if packed := None if start else self._unpacked(path):
                yield Portion(Part(path), packed.packets, packed.first)
                return
            onward = self._at(path, start)
            while True:
                growth = grown(onward, min(onward.start + size, stop), least=0 if onward.start + size >= stop else 1)
                if growth.onward.start > stop:  # what was given up there has gone on since
                    yield Portion(replace(onward, stop=stop))
                    return
                if growth.onward.start == stop or not growth.packets:
                    yield Portion(replace(growth.part, stop=stop), growth.packets, growth.first)
                    return
                yield Portion(growth.part, growth.packets, growth.first)
                onward = growth.onward
        except InputError:
            yield Portion(Part(path, start, stop))

    def _unpacked(self, path: str) -> Unpacked | None:
        """Return the contents of a packed file, or None for a file that is not packed.

        The file is read again only if it has changed.
        """
        status = _status(path)
        cached = self._packed.get(path)
        if cached is None or cached[0] != status:
            cached = self._packed[path] = status, unpacked(path)
        return cached[1]

    def _at(self, path: str, at: int) -> Part:
        """Return where reading goes on behind the whole packets in the first `at` bytes."""
        if not at:
            return Part(path)
        part = self._onward.get((path, at))
        if part is None:
            part = grown(Part(path), at, least=0).onward
            self._keep(part)
        return part

    def _keep(self, onward: Part) -> None:
        self._onward[onward.file, onward.start] = onward
        self._onward.move_to_end((onward.file, onward.start))
        if len(self._onward) > _KNOWN:
            self._onward.popitem(last=False)

    def goes_on(self, path: str) -> bool:
        """Packets can, but for those of a packed file."""
        try:
            return self._unpacked(path) is None
        except InputError:
            return True

    def forget(self, path: str) -> None:
        """Another file has this path now."""
        self._packed.pop(path, None)
        for key in [key for key in self._onward if key[0] == path]:
            del self._onward[key]


def _there(path: str, found: Callable[[list[str]], list[T]]) -> list[T]:
    """Return what `found` finds of a kind at a path.

    Return an empty list for a glob, or for a folder into which files may yet come. Raises InputError if the path is
    neither and nothing is found.
    """
    try:
        return found([*map(absolute, named(path))])
    except InputError:
        if is_glob(path) or path_of(path).is_dir():
            return []
        raise


def is_glob(path: str) -> bool:
    """Return whether a path is a pattern, which may match files that come later."""
    return any(wildcard in path for wildcard in "*?[")


def _status(path: str) -> tuple[int, float] | None:
    """Size and time of a file; None of one that is gone."""
    try:
        status = path_of(path).stat()
    except (OSError, InputError):
        return None
    return status.st_size, status.st_mtime
