"""Captures and request logs as inputs of commands."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from kwire_cli.cli.environment import Progress
from kwire_cli.cli.old_options import naming_of
from kwire_cli.errors import InputError
from kwire_cli.stores import path_of, path_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.options import Choosing
    from kwire_cli.filter import Filter, Rows
    from kwire_cli.source.captures import Capture, PointFiles
    from kwire_cli.source.growing import Following
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.source.request_log.reading import LineFault
    from kwire_cli.spec.catalog import Catalog


# The lines of a capture one after the other, with how far it is on standard error where that takes long.

STANDARD_INPUT = "standard input"


class CapturePoints:
    """The capture points of the inputs of a command: by default the folders of files, and what is read live on its own.

    `count` is how many there are, `together` how many files go with another one, and `labelled` says that lines name
    their file. Nothing is looked at if there is one capture only.
    """

    def __init__(
        self, environment: Environment, arguments: Sequence[str], options: dict[str, Any], *, tell: bool = True
    ) -> None:
        self._sources: dict[str, PointFiles] = {}
        self._taken: set[str] = set()
        self._live = self.together = 0
        self.labelled, self.count = False, len(arguments)
        names = dict.fromkeys(arguments)
        if len(names) < 2 and not options["capture_point"] and not options["merge_points"]:
            return
        from kwire_cli.source.kinds import Kind, begins_as

        naming = naming_of(options)
        paths = [path for path in names if _is_file(path) and begins_as(path) is Kind.CAPTURE]
        live = sum(not _is_file(path) and (path == "-" or _exists(path)) for path in names)
        self.count = len(paths)
        if not paths or len(paths) + live < 2:
            return
        from kwire_cli.source.captures import PointFiles
        from kwire_cli.source.packets.points import apart_notes, points_of

        points = points_of(paths, naming)
        self.count, self.together, self.labelled = len(points), len(paths) - len(points), True
        for note in apart_notes(point.name for point in points if point.apart and tell):
            environment.note(f"kwire: {note}")
        several_points = len(points) + live > 1
        for index, point in enumerate(points):
            for path in point.files:
                self._sources[str(path_of(path))] = PointFiles(
                    point, others=several_points, several=len(paths) + live > 1, index=index
                )

    def take(self, source: Any) -> Any:
        """Return what to read for an input that is a capture; None if the files of its point were taken before."""
        if isinstance(source, str) and (path := str(path_of(source))) in self._sources:
            point_files = self._sources[path]
            taken = path in self._taken
            self._taken.update(str(path_of(file)) for file in point_files.point.files)
            return None if taken else point_files
        if not self._sources or isinstance(source, str):
            return source
        from kwire_cli.source.captures import PointFiles
        from kwire_cli.source.packets.model import NO_TIME
        from kwire_cli.source.packets.points import Point, Timed

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
    """The lines of a capture: a file by its path, an open one, or the files of a capture point; InputError where it
    cannot be read.

    `name` is what to call it, else its path; `key_logs` are for what is TLS in it. What ended the reading early is
    noted at the end, unless `notices` are not wanted.
    """
    from kwire_cli.source.captures import Capture, PointFiles
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
        for number, line in enumerate(
            traffic(catalog, capture, port=port, waiting_since=capture.waiting_since, again=again)
        ):
            if file and not number & 255:
                progress.tell(name, file.tell(), size)
            yield line
    if notices:
        note_faults(environment, capture, name)


def _point_lines(
    environment: Environment,
    catalog: Catalog,
    source: PointFiles,
    *,
    port: int | None,
    notices: bool,
    key_logs: Sequence[str],
) -> Iterator[Captured]:
    from kwire_cli.source.captures import Capture
    from kwire_cli.source.kafka.traffic import traffic
    from kwire_cli.stores import sizes

    capture = Capture(source, key_logs=key_logs)
    again = None if source.live else partial(Capture, source, key_logs=key_logs)
    size, progress = sum(sizes(source.point.files)), Progress(environment)
    try:
        for number, line in enumerate(
            traffic(catalog, capture, port=port, waiting_since=capture.waiting_since, again=again)
        ):
            if not number & 255:
                progress.tell(source.point.name, capture.passed, size)
            yield line
    finally:
        progress.done()
    if notices:
        note_faults(environment, capture, source.point.name)


def note_faults(environment: Environment, capture: Capture | Following, name: str) -> None:
    """Note what ended the reading of files early; a file without a name is called `name`."""
    from kwire_cli.source.growing import Following

    for remark in capture.remarks:
        environment.note(f"kwire: {name}: {remark}")
    several = not isinstance(capture, Following) and capture.origin.several
    for file, notice in (
        [(None, notice) for notice in capture.notices] if isinstance(capture, Following) else capture.noted
    ):
        environment.note(
            f"kwire: {file if several and file else name}: after packet {notice.packet}, byte {notice.position}"
            f": {notice.text}"
        )


# Broker request logs among the inputs of a command, and what `kwire decode --stats` does with them.


def is_log(environment: Environment, name: str) -> bool:
    """Return whether a file, or standard input as `-`, is a request log. Waits for its first bytes."""
    from kwire_cli.source.kinds import Kind, begins_as

    return begins_as(environment.stdin if name == "-" else name) is Kind.REQUEST_LOG


def without_logs(environment: Environment, arguments: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]]:
    """The request logs among the inputs, and the others, which may be anything.

    Standard input is looked at where it is the only one: what other inputs give must not wait for it.
    """
    names = arguments or (() if environment.stdin.isatty() else ("-",))
    logs = [name for name in names if (name != "-" or len(names) == 1) and is_log(environment, name)]
    return logs, tuple(name for name in arguments if name not in logs)


def tell_of_logs(environment: Environment, logs: Sequence[str], what: str) -> None:
    """Say what becomes of request logs that are given with captures, which may show the same exchanges."""
    from kwire_cli.source.request_log.lines import beside_captures

    environment.note(f"kwire: {beside_captures(logs, what)}")


def opened(environment: Environment, name: str) -> AbstractContextManager[IO[bytes]]:
    """A file to read, or standard input as `-`, which stays open. InputError where it cannot be read."""
    if name == "-":
        return contextlib.nullcontext(environment.stdin)
    try:
        return path_of(name).open("rb")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=name) from None


def read_log(
    environment: Environment,
    catalog: Catalog,
    name: str,
    progress: Progress,
    *,
    label: str | None = None,
    notices: bool = True,
) -> Iterator[Exchange | LineFault]:
    """Yield the exchanges and the faults of a request log.

    `label` is the name to show, if that is not the file's. Lines that could not be read are noted at the end.
    """
    from kwire_cli.source.request_log.reading import RequestLog

    label = label or ("standard input" if name == "-" else name)
    with opened(environment, name) as file:
        size = path_of(name).stat().st_size if name != "-" else 0
        log = RequestLog(file, catalog)
        first: LineFault | None = None
        for number, entry in enumerate(log, 1):
            if not number & 255:
                progress.tell(label, file.tell() if size else 0, size)
            first = first or (entry if isinstance(entry, tuple) else None)
            yield entry
    if first and notices:
        more = f", and {log.faults - 1} more" if log.faults > 1 else ""
        environment.note(f"kwire: {label}:{first.line}: {first.code}: {first.detail}{more}")
    if not log.exchanges:
        raise InputError("holds no readable logged request", file=label)


class Choice:
    """Which lines of captures are wanted: those that --frames, --stream and --filter choose, and so many of them.

    `seen` counts the lines among which was chosen. Raises FilterError or UsageError for an option that makes no sense.
    """

    def __init__(
        self, options: Choosing, catalog: Catalog, limit: int | None = None, *, show_secrets: bool = False
    ) -> None:
        self.first, self.last = _frame_range(options.frames)
        self.limit, self.seen = limit, 0
        self.chooses = bool(options.filter or options.frames or options.stream)
        self._streams = frozenset(options.stream)
        self._matches = _filter(catalog, {"filter": options.filter, "show_secrets": show_secrets})

    def among(self, lines: Iterable[Captured]) -> Iterator[Captured]:
        """Yield the lines that are wanted, up to the last one that can be: the next one may never come."""
        left, last = self.limit, self.last
        if left == 0:
            return
        if not self.chooses and left is None:
            yield from lines
            return
        for line in lines:
            self.seen += 1
            number = line.number
            if number >= self.first and (not self._streams or line.stream in self._streams) and self._matches(line):
                yield line
                left = None if left is None else left - 1
            if left == 0 or (last is not None and number >= last):
                return


def chosen(lines: Iterator[Captured], catalog: Catalog, options: dict[str, Any]) -> Iterator[Captured]:
    """The lines that --frames, --stream, --filter and --limit leave."""
    first, last = _frame_range(options["frames"])
    streams, left = frozenset(options["stream"]), options["limit"]
    if first == 1 and last is None and left is None and not streams and not options["filter"]:
        yield from lines
        return
    matches = _filter(catalog, options)
    for line in lines:
        if left == 0 or (last is not None and line.number > last):
            return
        if line.number < first or (streams and line.stream not in streams) or not matches(line):
            continue
        yield line
        left = None if left is None else left - 1


def _frame_range(text: str | None) -> tuple[int, int | None]:
    if not text:
        return 1, None
    low, dash, high = text.partition("-")
    try:
        first = int(low) if low else 1
        last = int(high) if high else None if dash else first
    except ValueError:
        raise click.UsageError(f"--frames takes A-B, A-, -B or A, not {text!r}") from None
    if last is not None and last < first:
        raise click.UsageError(f"--frames takes the lower number first, not {text!r}")
    return first, last


def _filter(catalog: Catalog, options: dict[str, Any]) -> Callable[[Captured], bool]:
    """The test of lines that --filter says. It sees secrets as they are shown, so that nobody can guess them by it."""
    if not options["filter"]:
        return lambda _: True
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.columns import FilterRow

    line_filter, redaction = (
        filter_of(catalog, options["filter"]),
        Redaction(catalog, show_secrets=bool(options.get("show_secrets"))),
    )
    return lambda line: line_filter.matches(FilterRow(line, redaction))


def filter_of(catalog: Catalog, text: str, rows: Rows = "frames") -> Filter:
    """Return the filter of `rows` that a text says, with the names of a catalogue; FilterError for a name that the rows
    lack.
    """
    from kwire_cli.filter import compile_filter

    codes = {row.name: row.code for row in catalog.errors}
    keys = {name.lower(): api.key for api in catalog.apis for name in (api.name, *api.aliases)}
    return compile_filter(
        text,
        error_code=lambda name: codes.get(name.upper()),
        api_key=lambda name: keys.get(name.lower()),
        fields=catalog.field_names,
        rows=rows,
    )
