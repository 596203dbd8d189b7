"""Packet captures and brokers' request logs as inputs, and the capture points among the inputs of a command."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.captures import Capture, PointFiles
from kwire_cli.source.growing import Following
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.kinds import Kind, Recognised, begins_as
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.packets.points import Point, Timed, apart_notes, points_of
from kwire_cli.source.reading import Caller, Opened, Reading
from kwire_cli.source.request_log.reading import LineFault, RequestLog
from kwire_cli.stores import exists, path_of, sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.source.kafka.captured import Captured, Names
    from kwire_cli.source.request_log.exchange import Exchange

EACH = 256
"""Lines after which the caller is told how much was read."""


class CapturePoints:
    """The capture points among arguments: files that go together are one input.

    `together` is how many files go with another one, and `labelled` says that lines name their file. No file is looked
    at if there is one argument only.
    """

    def __init__(self, arguments: Sequence[str], how: Reading, caller: Caller) -> None:
        self._sources: dict[str, PointFiles] = {}
        self._taken: set[str] = set()
        self._live = self.together = 0
        self.labelled, self._count = False, 0
        names = dict.fromkeys(arguments)
        files = [name for name in names if _is_file(name)]
        paths = [path for path in files if begins_as(path) is Kind.CAPTURE]
        live = sum(name == "-" or (name not in files and exists(name)) for name in names)
        if not paths or len(paths) + live < 2:
            return
        points = points_of(paths, how.naming)
        self._count, self.together, self.labelled = len(points), len(paths) - len(points), True
        for note in apart_notes(point.name for point in points if point.apart):
            caller.note(note)
        for index, point in enumerate(points):
            for path in point.files:
                self._sources[str(path_of(path))] = PointFiles(
                    point, others=len(points) + live > 1, several=len(paths) + live > 1, index=index
                )

    def begin(self) -> None:
        """Take no file as taken."""
        self._taken.clear()

    def take(self, recognised: Recognised) -> Any:
        """Return what to read for a capture; None if the files of its point were taken before."""
        source = recognised.source
        if isinstance(source, str) and (path := str(path_of(source))) in self._sources:
            point_files = self._sources[path]
            taken = path in self._taken
            self._taken.update(str(path_of(file)) for file in point_files.point.files)
            return None if taken else point_files
        if not self._sources or isinstance(source, str):
            return source
        self._live += 1
        name = recognised.label
        point = Point(name, ((Timed(name, NO_TIME, NO_TIME),),))
        return PointFiles(point, others=True, several=True, index=self._count + self._live, live=source)


def _is_file(path: str) -> bool:
    try:
        return path_of(path).is_file()
    except (OSError, ValueError):
        return False


class CaptureInput(Opened):
    """A packet capture: a file, a pipe, or the files of a capture point."""

    def __init__(self, recognised: Recognised, how: Reading, caller: Caller, source: Any = None) -> None:
        super().__init__(recognised, how, caller)
        source = recognised.source if source is None else source
        point = source.point if isinstance(source, PointFiles) else None
        self.point = None if point is None else point.name
        """The name of the capture point, if there are several captures."""
        self.files: tuple[str, ...] = ()
        """The files that are read; none for a pipe."""
        if point is not None:
            self.files = () if source.live else point.files
        elif isinstance(source, str) and _is_file(source):
            self.files = (source,)
        self._source, self._noted = source, False

    @cached_property
    def capture(self) -> Capture | Following:
        """The packets and streams of the capture. Opening a pipe waits for the program that writes it."""
        how, follow = self.how, self.how.follow
        if follow is None:
            return Capture(self._source, key_logs=how.key_logs)
        return Following(
            self._source,
            wait=self.caller.idle,
            stop=follow.stop,
            note=self._note,
            limits=follow.limits,
            key_logs=how.key_logs,
            keep=follow.keep,
        )

    @property
    def name(self) -> str | None:
        """The name of the capture point or of the file, or `standard input`."""
        return self.point or super().name

    @property
    def is_whole(self) -> bool:
        """Return whether all of the capture is there, so that it can be read again."""
        return isinstance(self.capture, Capture) and self.capture.again is not None

    def subjects(self) -> Iterator[Captured]:
        """Yield the lines of the capture. Tell the caller in the end what ended the reading of files early."""
        size = sum(sizes(self.files)) if self.is_whole else 0
        try:
            for number, line in enumerate(self.lines()):
                if size and not number % EACH and isinstance(self.capture, Capture):
                    self.caller.progress(self.label, self.capture.passed, size)
                yield line
        finally:
            self.caller.done()
        self.note_faults()

    def lines(self, names: Names | None = None) -> Iterator[Captured]:
        """Yield the lines without telling the caller; `names` are those of topics that are known beforehand."""
        capture, port = self.capture, self.how.port
        if isinstance(capture, Following):
            return traffic(self.how.catalog, capture, port=port)
        again = partial(Capture, capture.again, key_logs=self.how.key_logs) if capture.again else None
        since = capture.waiting_since
        return traffic(self.how.catalog, capture, port=port, waiting_since=since, again=again, names=names)

    def note_faults(self) -> None:
        """Tell the caller, once, what ended the reading of files early, and what should be known of all packets."""
        if self._noted:
            return
        self._noted, capture = True, self.capture
        for remark in capture.remarks:
            self._note(remark)
        noted = capture.noted if isinstance(capture, Capture) else [(None, notice) for notice in capture.notices]
        several = isinstance(capture, Capture) and capture.origin.several
        for file, notice in noted:
            at = f"after packet {notice.packet}, byte {notice.position}: {notice.text}"
            self.caller.note(f"{file if several and file else self.label}: {at}")
        if self.how.verbose and capture.summary:
            counts = ", ".join(f"{count} {kind}" for kind, count in capture.summary.items())
            self._note(f"besides: {counts}")

    def _note(self, text: str) -> None:
        self.caller.idle()
        self.caller.note(f"{self.label}: {text}")


class RequestLogInput(Opened):
    """A broker's request log."""

    def subjects(self) -> Iterator[Exchange | LineFault]:
        """Yield the logged requests, and the faults of lines. Tell the caller of faults in the end.

        InputError if the log holds no request that can be read.
        """
        source = self.recognised.source
        log = RequestLog(source, self.how.catalog)
        size = sum(sizes([source])) if isinstance(source, str) and _is_file(source) else 0
        fault: LineFault | None = None
        try:
            for number, entry in enumerate(log):
                if size and not number % EACH:
                    self.caller.progress(self.label, log.passed, size)
                if isinstance(entry, LineFault):
                    fault = fault or entry
                yield entry
        finally:
            self.caller.done()
        if fault:
            more = f", and {log.faults - 1} more" if log.faults > 1 else ""
            self.caller.note(f"{self.label}:{fault.line}: {fault.code}: {fault.detail}{more}")
        if not log.exchanges:
            raise InputError("holds no readable logged request", file=self.label)
