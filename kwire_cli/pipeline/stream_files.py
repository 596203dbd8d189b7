"""The kinds of files that arrive: how they are listed, how far each is whole, and the parts that its tables read."""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake.units import log_point
from kwire_cli.pipeline.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, found, of_kind
from kwire_cli.pipeline.segments import Part as SegmentPart
from kwire_cli.records.reading import source_of
from kwire_cli.records.selection import Selection
from kwire_cli.source.files import Naming, named
from kwire_cli.source.logs.files import Segment, segment_at
from kwire_cli.source.logs.model import Kind, file_name
from kwire_cli.source.logs.splitting import resumed, whole
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.packets.parts import Part, Unpacked, grown, unpacked
from kwire_cli.source.request_log.reading import LogPart, is_packed
from kwire_cli.stores import absolute, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.pipeline.stream_progress import Mark

_WINDOW = 1 << 20
"""Bytes of the end of a request log in which a line is looked for at once."""
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


class IndexFolder(NamedTuple):
    """A folder whose indexes and checkpoints a task reads."""

    folder: str
    start: int
    stop: int


class Files:
    """A kind of files, in some `paths` of the stream or in all. One that nobody wrote to for `patience` seconds has
    ended.
    """

    says_the_last = False
    """True for files that are written anew again and again: what they said before does not count."""

    def __init__(self, patience: float = 0, paths: Sequence[str] | None = None) -> None:
        self._patience, self._paths = patience, paths

    def found(self, paths: list[str]) -> list[str]:
        """Return the files of this kind that paths name. InputError if there are none."""
        raise NotImplementedError

    def listed(self, paths: Iterable[str]) -> Iterator[Entry]:
        """Yield the files that are there now."""
        now = time.time()
        for path in paths if self._paths is None else self._paths:
            for file in _there(path, self.found):
                if status := _status(file):
                    yield Entry(file, *status, now - status[1] > self._patience, self)

    def point(self, path: str) -> str:
        """Return the capture point of a file."""
        return log_point(path)

    def order(self, entry: Entry, mark: Mark) -> tuple[int, str]:  # noqa: ARG002 - captures have it
        """Return the key of the order in which files are read: a time in nanoseconds, and the path."""
        return NO_TIME, entry.path

    def rewritten(self, entry: Entry, mark: Mark) -> bool:  # noqa: ARG002 - segments have it
        """Return whether changed content of a file holds nothing new."""
        return False

    def advanced(self, entry: Entry, mark: Mark, most: int) -> tuple[int, int]:
        """Return how far a file is whole in about `most` bytes from its mark, and their packet count."""
        raise NotImplementedError

    def parts(self, path: str, start: int, stop: int, size: int) -> Iterator[Portion]:
        """Yield the parts between two marks of a file, of about `size` bytes."""
        raise NotImplementedError

    def goes_on(self, path: str) -> bool:  # noqa: ARG002 - some have it
        """Return whether new bytes of a file can be read without the bytes before them."""
        return True

    def forget(self, path: str) -> None:
        """Another file has this path now."""


class SegmentFiles(Files):
    """Segments and snapshots in use. One has ended when its folder has a later one."""

    def listed(self, paths: Iterable[str]) -> Iterator[Entry]:
        """As `Files`."""
        folders: dict[str, list[Segment]] = defaultdict(list)
        for path in paths if self._paths is None else self._paths:
            for file in _there(path, lambda names: of_kind(found(names, SEGMENTS), SEGMENTS)):
                folders[str(path_of(file).parent)].append(segment_at(path_of(file)))
        for segments in folders.values():
            names = [file_name(path_of(log_file.path).name) for log_file in segments]
            newest: dict[Kind, int] = {}
            for name in names:
                newest[name.kind] = max(newest.get(name.kind, 0), name.base_offset or 0)
            for segment, name in zip(segments, names, strict=True):
                if not name.suffix and (status := _status(segment.path)):
                    ended = name.base_offset is not None and name.base_offset < newest[name.kind]
                    yield Entry(segment.path, *status, ended, self)

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
        size = source.size
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


class IndexFiles(Files):
    """Indexes and checkpoints: they are read as a whole when they have ended, and again when they have changed."""

    says_the_last = True

    def found(self, paths: list[str]) -> list[str]:
        """As `Files`."""
        return of_kind(found(paths, INDEXES), INDEXES)

    def advanced(self, entry: Entry, mark: Mark, most: int) -> tuple[int, int]:  # noqa: ARG002 - as others have it
        """As `Files`."""
        return (entry.size if entry.ended else mark.at), 0

    def parts(self, path: str, start: int, stop: int, size: int) -> Iterator[Portion]:  # noqa: ARG002 - as others have it
        """Yield the folder: all of its indexes are read together."""
        yield Portion(IndexFolder(str(path_of(path).parent), start, stop))

    def goes_on(self, path: str) -> bool:  # noqa: ARG002 - as others have it
        """They do not."""
        return False


class RequestLogFiles(Files):
    """Request logs of brokers. Packed ones are read when they have ended."""

    def found(self, paths: list[str]) -> list[str]:
        """As `Files`."""
        return of_kind(found(paths, REQUEST_LOGS), REQUEST_LOGS)

    def advanced(self, entry: Entry, mark: Mark, most: int) -> tuple[int, int]:
        """As `Files`: up to the end of a line."""
        if entry.ended and (entry.size - mark.at <= most or not self.goes_on(entry.path)):
            return entry.size, 0
        return (min(_last_line(entry, mark.at), mark.at + most) if self.goes_on(entry.path) else mark.at), 0

    def parts(self, path: str, start: int, stop: int, size: int) -> Iterator[Portion]:
        """As `Files`."""
        if not self.goes_on(path):
            yield Portion(LogPart(path))
            return
        for at in range(start, stop, size):
            yield Portion(LogPart(path, at, min(at + size, stop)))

    def goes_on(self, path: str) -> bool:
        """Lines can be read without those before them, but for those of a packed file."""
        try:
            return not is_packed(path)
        except InputError:
            return True


def _last_line(entry: Entry, start: int) -> int:
    """Return the place behind the last line that is whole."""
    with contextlib.suppress(OSError, InputError), path_of(entry.path).open("rb") as file:
        stop = entry.size
        while stop > start:
            at = max(stop - _WINDOW, start)
            file.seek(at)
            if (newline := file.read(stop - at).rfind(b"\n")) >= 0:
                return at + newline + 1
            stop = at
    return start


class CaptureFiles(Files):
    """Captures."""

    def __init__(self, patience: float, naming: Naming | None = None, paths: Sequence[str] | None = None) -> None:
        super().__init__(patience, paths)
        self._naming = naming or Naming()
        self._onward: OrderedDict[tuple[str, int], Part] = OrderedDict()
        self._firsts: dict[tuple[str, int], int] = {}
        self._packed: dict[str, tuple[Any, Unpacked | None]] = {}

    def found(self, paths: list[str]) -> list[str]:
        """As `Files`."""
        return of_kind(found(paths, CAPTURES), CAPTURES)

    def point(self, path: str) -> str:
        """As `Files`."""
        return self._naming.name(path)

    def order(self, entry: Entry, mark: Mark) -> tuple[int, str]:
        """By the time of the first packet."""
        return self._first(entry.path, mark.turn), entry.path

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


def _there(path: str, found: Callable[[list[str]], list[str]]) -> list[str]:
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
