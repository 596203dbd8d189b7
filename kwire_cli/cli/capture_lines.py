"""The lines of a capture one after the other, with how far it is on standard error where that takes long."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.cli.frame_options import naming_of
from kwire_cli.cli.progress import Progress
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.capture.following import Following
    from kwire_cli.source.capture.point_packets import PointFiles
    from kwire_cli.source.capture.reading import Capture
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

STANDARD_INPUT = "standard input"


class CapturePoints:
    """The capture points of the inputs of a command: by default the folders of files, and what is read live on its own.

    `count` is how many there are, `together` how many files go with another one, and `labelled` says that lines name their
    file. Nothing is looked at if there is one capture only.
    """

    def __init__(self, environment: Environment, arguments: Sequence[str], options: dict[str, Any], *, tell: bool = True) -> None:
        self._sources: dict[str, PointFiles] = {}
        self._taken: set[str] = set()
        self._live = self.together = 0
        self.labelled, self.count = False, len(arguments)
        given = dict.fromkeys(arguments)
        if len(given) < 2 and not options["capture_point"] and not options["merge_points"]:
            return
        from kwire_cli.source.kinds import Kind, begins_as

        naming = naming_of(options)
        paths = [path for path in given if _is_file(path) and begins_as(path) is Kind.CAPTURE]
        live = sum(not _is_file(path) and (path == "-" or _exists(path)) for path in given)
        self.count = len(paths)
        if not paths or len(paths) + live < 2:
            return
        from kwire_cli.source.capture.point_packets import PointFiles
        from kwire_cli.source.capture.points import apart_notes, points_of

        points = points_of(paths, naming)
        self.count, self.together, self.labelled = len(points), len(paths) - len(points), True
        for note in apart_notes(point.name for point in points if point.apart and tell):
            environment.note(f"kwire: {note}")
        others = len(points) + live > 1
        for index, point in enumerate(points):
            for path in point.files:
                self._sources[str(path_of(path))] = PointFiles(point, others=others, several=len(paths) + live > 1, index=index)

    def take(self, source: Any) -> Any:
        """Return what to read for an input that is a capture; None if the files of its point were taken before."""
        if isinstance(source, str) and (path := str(path_of(source))) in self._sources:
            found = self._sources[path]
            taken = path in self._taken
            self._taken.update(str(path_of(each)) for each in found.point.files)
            return None if taken else found
        if not self._sources or isinstance(source, str):
            return source
        from kwire_cli.source.capture.model import NO_TIME
        from kwire_cli.source.capture.point_packets import PointFiles
        from kwire_cli.source.capture.points import Point, Timed

        self._live += 1
        name = getattr(source, "name", None)
        name = name if isinstance(name, str) and "<" not in name else STANDARD_INPUT
        point = Point(name, ((Timed(name, NO_TIME, NO_TIME),),))
        return PointFiles(point, others=True, several=True, index=self.count + self._live, live=source)


def name_of(source: Any) -> str | None:
    """Return the name of the capture point that is read; None for a single file or pipe."""
    point = getattr(source, "point", None)
    return None if point is None else str(point.name)


def _is_file(path: str) -> bool:
    try:
        return path_of(path).is_file()
    except (OSError, ValueError):
        return False


def _exists(path: str) -> bool:
    try:
        return path_of(path).exists()
    except (OSError, ValueError):
        return False


def capture_lines(
    environment: Environment,
    catalog: Catalog,
    source: str | IO[bytes] | PointFiles,
    *,
    name: str | None = None,
    port: int | None = None,
    notices: bool = True,
    key_logs: Sequence[str] = (),
) -> Iterator[Captured]:
    """The lines of a capture: a file by its path, an open one, or the files of a capture point; InputError where it cannot be read.

    `name` is what to call it, else its path; `key_logs` are for what is TLS in it. What ended the reading early is noted at the end, unless `notices`
    are not wanted.
    """
    from kwire_cli.cli.segments import path_text
    from kwire_cli.source.capture.point_packets import PointFiles
    from kwire_cli.source.capture.reading import Capture
    from kwire_cli.source.kafka.traffic import traffic

    if isinstance(source, PointFiles):
        yield from _point_lines(environment, catalog, source, port=port, notices=notices, key_logs=key_logs)
        return
    path = path_of(source) if isinstance(source, str) and path_of(source).is_file() else None
    name = name or (path_text(source) if isinstance(source, str) else STANDARD_INPUT)
    with ExitStack() as opened:
        progress = Progress(environment)
        opened.callback(progress.done)
        file = opened.enter_context(path.open("rb")) if path else None
        size = path.stat().st_size if path else 0
        capture = Capture(file or source, key_logs=key_logs)
        again = partial(Capture, path, key_logs=key_logs) if path else None
        for number, line in enumerate(traffic(catalog, capture, port=port, waiting_since=capture.waiting_since, again=again)):
            if file and not number & 255:
                progress.tell(name, file.tell(), size)
            yield line
    if notices:
        note_faults(environment, capture, name)


def _point_lines(
    environment: Environment, catalog: Catalog, source: PointFiles, *, port: int | None, notices: bool, key_logs: Sequence[str]
) -> Iterator[Captured]:
    from kwire_cli.source.capture.reading import Capture
    from kwire_cli.source.kafka.traffic import traffic
    from kwire_cli.stores import sizes

    capture = Capture(source, key_logs=key_logs)
    again = None if source.live else partial(Capture, source, key_logs=key_logs)
    size, progress = sum(sizes(source.point.files)), Progress(environment)
    try:
        for number, line in enumerate(traffic(catalog, capture, port=port, waiting_since=capture.waiting_since, again=again)):
            if not number & 255:
                progress.tell(source.point.name, capture.passed, size)
            yield line
    finally:
        progress.done()
    if notices:
        note_faults(environment, capture, source.point.name)


def note_faults(environment: Environment, capture: Capture | Following, name: str) -> None:
    """Note what ended the reading of files early; a file without a name is called `name`."""
    from kwire_cli.source.capture.following import Following

    for remark in capture.remarks:
        environment.note(f"kwire: {name}: {remark}")
    several = not isinstance(capture, Following) and capture.origin.several
    for file, notice in [(None, notice) for notice in capture.notices] if isinstance(capture, Following) else capture.noted:
        environment.note(f"kwire: {file if several and file else name}: after packet {notice.packet}, byte {notice.position}: {notice.text}")
