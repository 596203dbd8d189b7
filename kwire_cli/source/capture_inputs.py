"""Packet captures as inputs, and the capture points among the inputs of a command.

Files of one capture point are one input, so `CapturePoints` groups the arguments before they are read. A
`CaptureInput` yields the lines of a file, a pipe or a capture point, and reports progress and faults to the caller.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError, counted
from kwire_cli.source.captures import Capture, PointFiles
from kwire_cli.source.carriers import CarriedCapture
from kwire_cli.source.growing import GrowingPieces
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.kinds import Kind
from kwire_cli.source.logs.files import files_in
from kwire_cli.source.logs.model import BATCH_KINDS
from kwire_cli.source.packets.files import captures_in
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.packets.points import Point, Timed, apart_notes, points_of
from kwire_cli.source.reading import Caller, Opened, Reading
from kwire_cli.source.recognition import begins_as, is_lake
from kwire_cli.stores.opening import tree
from kwire_cli.stores.paths import exists, is_file, is_folder, path_of, sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.source.kafka.captured import Names
    from kwire_cli.source.packets.model import Notice
    from kwire_cli.source.recognition import Recognised

EACH = 256
"""Lines between reports of progress to the caller."""


class CaptureInput(Opened):
    """A packet capture: a file, a pipe, or the files of a capture point."""

    def __init__(self, recognised: Recognised, how: Reading, caller: Caller, source: Any = None) -> None:
        super().__init__(recognised, how, caller)
        source = recognised.source if source is None else source
        point = source.point if isinstance(source, PointFiles) else None
        self.point = None if point is None else point.name
        """The name of the capture point, if there are several captures."""
        self.files: tuple[str, ...] = ()
        """The files that are read. Empty for a pipe."""
        if point is not None:
            self.files = () if source.live else point.files
        elif isinstance(source, str) and is_file(source):
            self.files = (source,)
        self.source = source
        self._noted = False
        self.other_notices: list[tuple[str | None, Notice]] | None = None
        """Notices with the names of their files, if another reader than `subjects` read the capture; else None."""

    @cached_property
    def capture(self) -> Capture:
        """The packets and streams of the capture. Opening a pipe waits for the program that writes it."""
        how = self.how
        follow = self.how.follow
        if follow is None:
            capture = CarriedCapture if how.packets else Capture
            return capture(self.source, key_logs=how.key_logs)
        pieces = GrowingPieces(
            self.source, wait=self.caller.idle, stop=follow.stop, opening=follow.opening, sleep=follow.sleep
        )
        return Capture(pieces, follow.limits, key_logs=how.key_logs)

    @property
    def name(self) -> str | None:
        """The name of the capture point or of the file, or `standard input`."""
        return self.point or super().name

    @property
    def is_whole(self) -> bool:
        """Return whether the capture is complete, so that it can be read again."""
        return self.capture.again is not None

    @property
    def emptiness(self) -> str:
        """Why a capture has no lines: it has no packets, or none with TCP. Empty if it has some, or is followed."""
        if self.how.follow:
            return ""
        count = self.capture.count
        other = self.capture.segments.other
        if count and other.total() >= count:
            kinds = ", ".join(f"{number} {kind}" for kind, number in other.most_common())
            return f"no TCP that kwire reads in {counted(count, 'packet')}: {kinds}"
        if count:
            return ""
        return "no whole packet in this capture" if self.capture.notices else "no packets: this capture is empty"

    @property
    def notices(self) -> list[tuple[str | None, Notice]]:
        """Notices about files whose reading ended early, with the names of the files."""
        return self.capture.notices if self.other_notices is None else self.other_notices

    @property
    def size(self) -> int:
        """The total size of all files in bytes; 0 for a pipe."""
        return sum(sizes(self.files))

    def subjects(self) -> Iterator[Any]:
        """Yield the lines of the capture (`Captured`), and its connections (`TcpConnection`) if `how` requests them.

        After the last line, report notices to the caller.
        """
        size = self.size
        lines = self.lines()
        capture = self.capture
        try:
            for line in lines:
                yield line
                yield from islice(lines, EACH)
                if not self.how.follow:
                    self.caller.progress(self.label, capture.passed, size)
                if self.caller.stopped:
                    return
        finally:
            self.caller.done()
        self.note_faults()

    def lines(self, names: Names | None = None) -> Iterator[Any]:
        """Yield the subjects without reports to the caller. `names` are topic names that are known beforehand."""
        capture = self.capture
        how = self.how
        again = partial(Capture, capture.again, key_logs=how.key_logs) if capture.again else None
        since = _nothing_waits if how.follow else capture.streams.waiting_since
        lines = traffic(
            how.catalog,
            capture,
            port=how.port,
            waiting_since=since,
            again=again,
            names=names,
            connections=how.connections,
        )
        return capture.with_packets(lines) if isinstance(capture, CarriedCapture) else lines

    def note_faults(self) -> None:
        """Report notices to the caller, at the first call only."""
        if self._noted:
            return
        self._noted = True
        capture = self.capture
        several = capture.origin.several
        for file, notice in self.notices:
            at = f"after packet {notice.packet}, byte {notice.position}: {notice.text}"
            self.caller.note(f"{file if several and file else self.label}: {at}")
        if self.how.verbose and capture.summary:
            counts = ", ".join(f"{count} {kind}" for kind, count in capture.summary.items())
            self._note(f"besides: {counts}")

    def _note(self, text: str) -> None:
        self.caller.idle()
        self.caller.note(f"{self.label}: {text}")


def _nothing_waits() -> None:
    """Return None: the lines of a growing capture are shown without delay."""


class CapturePoints:
    """The capture points among arguments. All files of a point are one input.

    `together` is the number of files beyond one per point. `labelled` is true if lines name their file. If there is
    only one argument, no file is examined.
    """

    def __init__(self, arguments: Sequence[str], how: Reading, caller: Caller) -> None:
        self.sources: dict[str, PointFiles] = {}
        self._taken: set[str] = set()
        self.together = 0
        self.labelled = False
        names = dict.fromkeys(arguments)
        files = [name for name in names if is_file(name)]
        paths = [path for path in files if begins_as(path) is Kind.CAPTURE]
        # Whether standard input is a capture is decided when it is read.
        live = sum(name not in files and (name == "-" or exists(name)) for name in names)
        if not paths or len(paths) + live < 2:
            return
        points = points_of(paths, how.naming)
        self.together = len(paths) - len(points)
        self.labelled = True
        for note in apart_notes(point.name for point in points if point.apart):
            caller.note(note)
        for point in points:
            point_files = PointFiles(point, others=len(points) + live > 1, several=len(paths) + live > 1)
            for path in point.files:
                self.sources[str(path_of(path))] = point_files

    def begin(self) -> None:
        """Start a new iteration over the inputs."""
        self._taken.clear()

    def take(self, recognised: Recognised) -> Any:
        """Return the source to read for a capture, or None if its point was returned before."""
        source = recognised.source
        if isinstance(source, str) and (path := str(path_of(source))) in self.sources:
            point_files = self.sources[path]
            taken = path in self._taken
            self._taken.update(str(path_of(file)) for file in point_files.point.files)
            return None if taken else point_files
        if not self.sources or isinstance(source, str):
            return source
        name = recognised.label
        point = Point(name, (Timed(name, NO_TIME, NO_TIME),))
        return PointFiles(point, others=True, several=True, live=source)


def with_captures(arguments: Iterable[str], caller: Caller) -> Iterator[tuple[str, bool]]:
    """Yield each argument, with whether it is a file of a folder. A folder that contains captures, and no log of a
    partition, is replaced by its captures.
    """

    def report(folder: str, examined: int, count: int) -> None:
        caller.progress(folder, examined, count, "files")

    for argument in arguments:
        captures: list[str] = []
        folder = path_of(argument) if argument != "-" and is_folder(argument) else None
        if folder is not None and not is_lake(folder) and not any(files_in(folder, BATCH_KINDS)):
            with suppress(InputError):  # the folder cannot be read
                captures = captures_in(tree(folder), report)
        if captures:
            yield from ((capture, True) for capture in captures)
        else:
            yield argument, False
