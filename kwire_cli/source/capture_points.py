"""The capture points among the inputs of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.source.captures import PointFiles
from kwire_cli.source.kinds import Kind, begins_as
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.packets.points import Point, Timed, apart_notes, points_of
from kwire_cli.stores import exists, is_file, path_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.source.kinds import Recognised
    from kwire_cli.source.reading import Caller, Reading


class CapturePoints:
    """The capture points among arguments: files that go together are one input.

    `together` is how many files go with another one, and `labelled` says that lines name their file. No file is looked
    at if there is one argument only.
    """

    def __init__(self, arguments: Sequence[str], how: Reading, caller: Caller, *, waits: bool = False) -> None:
        self._sources: dict[str, PointFiles] = {}
        self._taken: set[str] = set()
        self._live = self.together = 0
        self.labelled, self._count = False, 0
        names = dict.fromkeys(arguments)
        files = [name for name in names if is_file(name)]
        paths = [path for path in files if begins_as(path) is Kind.CAPTURE]
        live = sum(name not in files and name != "-" and exists(name) for name in names)
        if "-" in names and not (waits and begins_as(caller.stdin) is not Kind.CAPTURE):
            live += 1  # what is in standard input is seen when its turn comes
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
