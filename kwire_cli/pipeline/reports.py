"""Reports of `kwire scan`: folds that add in tasks what the commands for one machine add one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.advice_folds import NotWritten, Pricing, Seeing
from kwire_cli.analysis.costs.advice_values import Message, in_batches, in_exchanges, in_lines, place_of
from kwire_cli.analysis.state.parts import States, units_of
from kwire_cli.analysis.state.topics import logs_of, read_logs
from kwire_cli.analysis.verify import Part, Verification, Verified, parts_to_verify
from kwire_cli.errors import InputError
from kwire_cli.pipeline.captures import Captures
from kwire_cli.pipeline.model import (
    CAPTURES,
    REQUEST_LOGS,
    SEGMENTS,
    Faults,
    FileFault,
    Reading,
    numbered,
)
from kwire_cli.pipeline.parts import folded
from kwire_cli.pipeline.request_logs import place_of as place_in, read_part
from kwire_cli.records.formats import AUTO
from kwire_cli.records.kafka_topics import OWN_TOPICS
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.files import named as named_paths
from kwire_cli.source.log_inputs import LogFile, log_file
from kwire_cli.source.logs.files import Segment, files_in, segments_of
from kwire_cli.source.logs.model import BATCH_KINDS
from kwire_cli.source.request_log.exchange import Bodies, Exchange
from kwire_cli.source.request_log.reading import LogPart, parts_of
from kwire_cli.stores import FileBytes, absolute, location, path_of, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.analysis.costs.advice import Plans, Prices
    from kwire_cli.analysis.costs.overhead_answer import Overhead
    from kwire_cli.analysis.fold import Merged
    from kwire_cli.spec.catalog import Catalog

    Make = Callable[[], Merged[Any]]
    Read = Callable[[Any, Faults], Iterable[Any]]
    """Yields the subjects in a unit of work, and counts what cannot be read."""


# The frame: what is counted in tasks, over units of work and over the connections of captures.


@dataclass(frozen=True)
class Inputs:
    """Files, folders and globs, and how they are read; `note` takes what has to be said of them."""

    spark: SparkSession
    paths: Sequence[str]
    reading: Reading = field(default_factory=Reading)
    port: int | None = None
    note: Callable[[str], None] = lambda _: None

    @property
    def catalog(self) -> Catalog:
        """The definitions."""
        return self.reading.catalog

    @property
    def names(self) -> list[tuple[str, str]]:
        """The paths as tasks have them, each with the path as it was given."""
        return [(absolute(path), path) for path in self.paths]

    def captures(self, files: Sequence[str]) -> Captures:
        """Return the captures in some files."""
        reading = self.reading
        return Captures(
            self.spark,
            files,
            port=self.port,
            catalog=reading.catalog,
            key_logs=reading.key_logs,
            naming=reading.naming,
            note=self.note,
        )


@dataclass
class Counted:
    """A counter of subjects, and the amounts that were read for it."""

    by: Any
    files: list[str] = field(default_factory=list)
    size: int = 0
    subjects: int = 0
    faults: Faults = field(default_factory=Faults)

    def merge(self, other: Counted) -> None:
        """Count what another one has, which comes later."""
        self.by.merge(other.by)
        self.files += other.files
        self.size += other.size
        self.subjects += other.subjects
        self.faults.merge(other.faults)

    def add(self, subjects: Iterable[Any]) -> None:
        """Count subjects."""
        for subject in subjects:
            self.subjects += 1
            self.by.add(subject)


def over_units(inputs: Inputs, make: Make, units: Sequence[Any], read: Read, files: Sequence[str] = ()) -> Counted:
    """Count the subjects in units of work, which tasks read. An input that cannot be read is a fault."""
    counted = Counted(make(), [*files], sum(sizes(files)))
    for some in folded(inputs.spark, units, partial(_task_of_units, make, read), Counted.merge):
        counted.merge(some)
    return counted


def over_captures(
    make: Make,
    captures: Captures,
    files: Sequence[str],
    read: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    *,
    learnt: bool = True,
) -> Counted:
    """Count the subjects that `read` makes of the lines of captures, connection by connection: by default these.

    `learnt` says that names are needed.
    """
    counted = Counted(make(), [*files], captures.size)
    task = partial(_task_of_lines, make, read)
    for some in captures.folded(task, Counted.merge, learnt=learnt):
        counted.merge(some)
    counted.faults.add(*captures.unread())
    return counted


def _task_of_units(make: Make, read: Read, units: Iterable[Any]) -> Counted:
    counted = Counted(make())
    for unit in units:
        counted.add(read(unit, counted.faults))
    return counted


def _task_of_lines(make: Make, read: Callable[[Iterable[Any]], Iterable[Any]], lines: Iterable[Any]) -> Counted:
    counted = Counted(make())
    counted.add(read(lines))
    return counted


# The state of Kafka's own topics: each partition is folded in a task.


def states(inputs: Inputs) -> tuple[Counted, list[LogFile]]:
    """Fold the partitions of Kafka's own topics, each in a task; return the states, and all files of the logs.

    Raises:
        InputError: There is nothing of a name, or no file is of a topic that has a state.

    """
    paths = [path_of(absolute(name)) for path in inputs.paths for name in named_paths(path)]
    files = [
        log_file(file)
        for path in paths
        for file in ([one.path for one in files_in(path, BATCH_KINDS)] if path.is_dir() else [path])
    ]
    units = units_of(files)
    counted = over_units(
        inputs, States, units, partial(_states, inputs.reading), [one for unit in units for one in unit]
    )
    return counted, files


def _states(reading: Reading, paths: tuple[str, ...], faults: Faults) -> Iterator[Any]:
    try:
        files = [log_file(path_of(path)) for path in paths]
        logs = logs_of(reading.catalog, files, limits=reading.limits)
        for _, parts in read_logs(logs, lambda log: log.folded()):
            yield from parts
    except InputError as error:
        faults.add(FileFault(paths[0], error.reason))


# Bytes of captures and segments.


def overhead(inputs: Inputs, make: Callable[[], Overhead], files: Sequence[str], segments: Sequence[str]) -> Counted:
    """Count the bytes of captures, connection by connection, and of segments, file by file."""
    counted = over_units(inputs, make, segments_of(segments) if segments else [], _segment, segments)
    if files:
        captures = inputs.captures(files)
        counted.merge(over_captures(make, captures, files))
        counted.by.file_bytes = captures.size
    counted.by.only_files = not files
    return counted


def _segment(segment: Segment, faults: Faults) -> Iterator[Any]:
    try:
        FileBytes(segment.path)
    except InputError as error:
        faults.add(FileFault(segment.path, error.reason))
    else:
        yield segment


# Advice: messages of captures, of segments of Kafka's own topics and of request logs are seen in tasks, and priced in
# tasks.


class Messages:
    """The messages in files, folders and globs: segments and captures as they were given, then request logs.

    A capture point is where its first file is. Request logs beside captures are `left_out`: their exchanges may be
    those of the captures. Segments of topics that are not Kafka's own hold no messages, and are not read.

    Raises:
        InputError: There is nothing of a name, or no segment, capture or request log in all of them.

    """

    def __init__(self, inputs: Inputs, names: frozenset[str] | None) -> None:
        self._inputs, self._names = inputs, names
        segments, captures, given_logs = numbered(inputs.paths, SEGMENTS, CAPTURES, REQUEST_LOGS)
        self.left_out = [*given_logs] if captures else []
        logs = [] if captures else [*given_logs]
        self._others, self._files = [*segments, *logs], [*captures]
        self._captures = inputs.captures(self._files) if captures else None
        self._units: list[tuple[int, Segment | LogPart]] = [
            (segments[segment.path], segment)
            for segment in (segments_of(segments) if segments else ())
            if segment.topic in OWN_TOPICS
        ]
        numbers = {location(path): number for path, number in captures.items()}
        points = self._captures.plan.points if self._captures else []
        self._places = [place_of(min(numbers[file] for file in point.files)) for point in points]
        first = 1 + max((*segments.values(), *captures.values()), default=0)
        self._units += [(number, part) for number, log in enumerate(logs, first) for part in parts_of(log)]

    def seen(self) -> Counted:
        """Return what is seen in the messages, by Seeing."""
        return self._counted(partial(Seeing, self._inputs.catalog, self._names))

    def priced(self, plans: Plans) -> Prices:
        """Return the prices of the messages under plans."""
        prices: Prices = self._counted(partial(Pricing, self._inputs.catalog, self._names, plans)).by.prices
        return prices

    def _counted(self, make: Make) -> Counted:
        counted = over_units(self._inputs, make, self._units, partial(_in_unit, self._inputs.reading), self._others)
        if self._captures:
            read = partial(in_lines, places=self._places)
            counted.merge(over_captures(make, self._captures, self._files, read, learnt=False))
        return counted


def _in_unit(
    reading: Reading, numbered_unit: tuple[int, Segment | LogPart], faults: Faults
) -> Iterator[Message | NotWritten]:
    number, unit = numbered_unit
    place, catalog = place_of(number), reading.catalog
    if isinstance(unit, LogPart):
        exchanges = (item for item in read_part(unit, catalog, faults) if isinstance(item, Exchange))
        for item in in_exchanges(exchanges, Bodies(catalog), place):
            yield item if isinstance(item, Message) else NotWritten(place_in(unit, item), item)
        return
    try:
        source = source_of(unit.path, topic=unit.topic, catalog=catalog, limits=reading.limits)
    except InputError as error:
        faults.add(FileFault(unit.path, error.reason))
        return
    yield from in_batches(items(source), place)


# Partitions verified in tasks, each by itself.


def verified(inputs: Inputs, paths: Sequence[str], *, deep: bool = False, form: str = AUTO) -> Verification:
    """Verify the partitions below paths.

    Raises:
        InputError: A folder cannot be read. A file that can't be is a fault, UNREADABLE.

    """
    units = [*parts_to_verify(map(absolute, paths))]
    verification: Verification = over_units(
        inputs, partial(Verification, paths), units, partial(_verified, deep=deep, form=form)
    ).by
    return verification


def _verified(part: Part, _: Faults, *, deep: bool, form: str) -> list[Verified]:
    return [Verified.begin(part, deep=deep, form=form).read()]
