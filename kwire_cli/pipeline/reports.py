"""Reports of `kwire scan`, computed on Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.advice import Plans, Prices, priced
from kwire_cli.analysis.costs.advice_probes import Observed
from kwire_cli.analysis.costs.advice_values import Message, Seen, in_batches, in_exchanges, in_lines, place_of
from kwire_cli.analysis.costs.tallies import Tallies
from kwire_cli.analysis.verify import Checked, Fault, parts_to_verify, verify_part
from kwire_cli.errors import InputError
from kwire_cli.pipeline.captures import Captures
from kwire_cli.pipeline.model import CAPTURES, REQUEST_LOGS, SEGMENTS, by_kind, numbered
from kwire_cli.pipeline.parts import Faults, FileFault, folded
from kwire_cli.pipeline.request_logs import found_in, parts_of_all, place_of as place_in
from kwire_cli.records.kafka_topics import OWN_TOPICS
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.logs.files import Segment, segments_of
from kwire_cli.source.request_log.exchange import Bodies, Exchange, LeftOut
from kwire_cli.source.request_log.reading import LogPart, parts_of
from kwire_cli.stores import absolute, location, mapped, path_of, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.analysis.fold import Fold, Traffic
    from kwire_cli.pipeline.line_columns import Line
    from kwire_cli.records.codecs import Limits
    from kwire_cli.source.files import Naming
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.stores import Place

    Unit = tuple[int, Segment | LogPart]
    """The number of an input, and what of it a task reads."""
    Advised = Callable[[Iterator[Message]], Any]
    Found = tuple[int, list[Fault], Checked]


# Advice on encodings and tags from captures, segments and request logs: what `kwire advise` sees is seen in
# tasks, and priced in tasks.


@dataclass(frozen=True, slots=True)
class Wanted:
    """By which definitions messages are read, which are wanted (all where it is None), and what may be decompressed."""

    catalog: Catalog
    names: frozenset[str] | None = None
    limits: Limits | None = None

    def of(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Return the messages that are wanted."""
        return (message for message in messages if self.names is None or message.name in self.names)


@dataclass
class Looked:
    """The result of reading messages.

    `made` is what was made of the messages, and has `merge`. `faults` are the things that could not be read.
    `left_out` are the bodies of request logs that could not be written.
    """

    made: Any = None
    faults: Faults = field(default_factory=Faults)
    left_out: LeftOut = field(default_factory=LeftOut)

    def merge(self, other: Looked) -> None:
        """Add what comes later."""
        self.made.merge(other.made)
        self.faults.merge(other.faults)
        self.left_out.merge(other.left_out)


class Messages:
    """The messages in files, folders and globs: segments and captures as they were given, then request logs.

    A capture point is where its first file is. Request logs beside captures are `left_out`: their exchanges may be
    those of the captures.

    Segments of topics that are not Kafka's own hold none, and are not read.

    Raises:
        InputError: There is nothing of a name, or no segment, capture or request log in all of them.

    """

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        wanted: Wanted,
        port: int | None = None,
        key_logs: Sequence[str] = (),
        naming: Naming | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spark, self._wanted = spark, wanted
        segments, captures, given_logs = numbered(paths, SEGMENTS, CAPTURES, REQUEST_LOGS)
        self.left_out = [*given_logs] if captures else []
        logs = [] if captures else [*given_logs]
        self.files, self._others = len(segments) + len(captures) + len(logs), [*segments, *logs]
        self._captures = (
            Captures(spark, [*captures], port=port, catalog=wanted.catalog, key_logs=key_logs, naming=naming, note=note)
            if captures
            else None
        )
        self._units: list[Unit] = [
            (segments[segment.path], segment)
            for segment in (segments_of(segments) if segments else ())
            if segment.topic in OWN_TOPICS
        ]
        numbers = {location(path): number for path, number in captures.items()}
        self._places = (
            [place_of(min(numbers[file] for file in point.files)) for point in self._captures.plan.points]
            if self._captures
            else []
        )
        first = 1 + max((*segments.values(), *captures.values()), default=0)
        self._units += [(number, part) for number, log in enumerate(logs, first) for part in parts_of(log)]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(sizes(self._others)) + (self._captures.size if self._captures else 0)

    def seen(self) -> Looked:
        """Return what there is to see in the messages (`Seen`), and what could not be read."""
        total = self._folded(partial(_see, self._wanted.catalog), Seen())
        if self._captures:
            total.faults.add(*self._captures.unread())
        return total

    def priced(self, plans: Plans) -> Prices:
        """Return the prices of the messages under plans."""
        prices: Prices = self._folded(partial(priced, self._wanted.catalog, plans), Prices()).made
        return prices

    def _folded(self, fold: Advised, start: Any) -> Looked:
        total = Looked(start)
        for looked in folded(self._spark, self._units, partial(_of_units, fold, self._wanted), Looked.merge):
            total.merge(looked)
        if self._captures:
            for looked in self._captures.folded(
                partial(_advice_of_lines, fold, self._wanted, self._places), Looked.merge, learnt=False
            ):
                total.merge(looked)
        return total


def _see(catalog: Catalog, messages: Iterable[Message]) -> Seen:
    observed = Observed(catalog)
    for message in messages:
        observed.add(message)
    return observed.seen()


def _advice_of_lines(fold: Advised, wanted: Wanted, places: Sequence[int], lines: Iterable[Line]) -> Looked:
    return Looked(fold(wanted.of(in_lines((line.captured for line in lines), places))))


def _of_units(fold: Advised, wanted: Wanted, units: Iterable[Unit]) -> Looked:
    looked = Looked()
    looked.made = fold(
        wanted.of(message for number, unit in units for message in _in_unit(unit, place_of(number), wanted, looked))
    )
    return looked


def _in_unit(unit: Segment | LogPart, place: int, wanted: Wanted, looked: Looked) -> Iterator[Message]:
    if isinstance(unit, LogPart):
        exchanges = (item for item in found_in(unit, wanted.catalog, looked.faults) if isinstance(item, Exchange))
        for item in in_exchanges(exchanges, Bodies(wanted.catalog), place):
            if isinstance(item, Message):
                yield item
            else:
                looked.left_out.add(place_in(unit, item), item)
        return
    try:
        source = source_of(mapped(unit.path), topic=unit.topic, catalog=wanted.catalog, limits=wanted.limits)
    except InputError as error:
        looked.faults.add(FileFault(unit.path, error.reason))
        return
    yield from in_batches(items(source), place)


# Packet captures and brokers' request logs: what is counted of their exchanges in tasks, as the commands for
# one machine count it.


@dataclass
class Counted:
    """A fold, and how much was read for it."""

    fold: Fold[Traffic]
    files: list[str] = field(default_factory=list)
    size: int = 0
    lines: int = 0
    faults: Faults = field(default_factory=Faults)

    def merge(self, other: Counted) -> None:
        """Count what another one has, which comes later."""
        self.fold.merge(other.fold)
        self.files += other.files
        self.size += other.size
        self.lines += other.lines
        self.faults.merge(other.faults)


def count(
    spark: SparkSession,
    paths: Sequence[str],
    make: Callable[[], Fold[Traffic]],
    catalog: Catalog,
    *,
    port: int | None = None,
    key_logs: Sequence[str] = (),
    naming: Naming | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> list[Counted]:
    """Count the exchanges in files, folders and globs: those in request logs and those in captures, each if there are
    such files.

    A capture and a broker's log may show the same exchanges, so the two are not added. Both are read by the definitions
    of a catalogue.

    `naming` and `note` are as for `Captures`.

    Raises:
        InputError: There is nothing of a name, or neither a capture nor a request log in all of them.

    """
    captures, logs = by_kind(paths, CAPTURES, REQUEST_LOGS)
    out = []
    if logs:
        logged = Counted(make(), logs, sum(sizes(logs)))
        for some in folded(spark, parts_of_all(logs), partial(_of_logs, make, catalog), Counted.merge):
            logged.merge(some)
        out.append(logged)
    if captures:
        source = Captures(spark, captures, port=port, catalog=catalog, key_logs=key_logs, naming=naming, note=note)
        captured = Counted(make(), captures, source.size)
        for some in source.folded(partial(_of_lines, make), Counted.merge):
            captured.merge(some)
        captured.faults.add(*source.unread())
        out.append(captured)
    return out


def _of_lines(make: Callable[[], Fold[Traffic]], lines: Iterable[Line]) -> Counted:
    """Return the fold of one task over captures."""
    counted = Counted(make())
    for line in lines:
        counted.lines += 1
        counted.fold.add(line.captured)
    return counted


def _of_logs(make: Callable[[], Fold[Traffic]], catalog: Catalog, parts: Iterable[LogPart]) -> Counted:
    """Return the fold of one task over request logs."""
    counted = Counted(make())
    for part in parts:
        for entry in found_in(part, catalog, counted.faults):
            counted.lines += 1
            counted.fold.add(entry)
    return counted


# Where the bytes of captures and segments go, counted in tasks as `kwire overhead` counts them.


@dataclass
class Spent:
    """The counted bytes, and the things that could not be read.

    `file_bytes` are the bytes of the captures, whatever is in them.
    """

    bytes: Tallies
    file_bytes: int = 0
    faults: Faults = field(default_factory=Faults)

    def merge(self, other: Spent) -> None:
        """Count what another one has, which comes later."""
        self.bytes.merge(other.bytes)
        self.file_bytes += other.file_bytes
        self.faults.merge(other.faults)


def spent(
    spark: SparkSession,
    captures: Sequence[str],
    segments: Sequence[str],
    dimensions: Sequence[str],
    catalog: Catalog,
    *,
    port: int | None = None,
    key_logs: Sequence[str] = (),
    limits: Limits | None = None,
    naming: Naming | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Spent:
    """The bytes of captures, connection by connection, and of segments, file by file, by these dimensions (of
    dimensions.OF_MESSAGE).

    Both are read by the definitions of a catalogue. `naming` and `note` are as for `Captures`.
    """
    total = Spent(Tallies(catalog, dimensions))
    for some in (
        folded(spark, segments_of(segments), partial(_of_segments, catalog, dimensions, limits), Spent.merge)
        if segments
        else ()
    ):
        total.merge(some)
    if captures:
        source = Captures(spark, captures, port=port, catalog=catalog, key_logs=key_logs, naming=naming, note=note)
        for some in source.folded(partial(_overhead_of_lines, catalog, dimensions, limits), Spent.merge):
            total.merge(some)
        total.file_bytes = source.size
        total.faults.add(*source.unread())
    return total


def _overhead_of_lines(
    catalog: Catalog, dimensions: Sequence[str], limits: Limits | None, lines: Iterable[Line]
) -> Spent:
    """Return the counts of one task over captures.

    Their files and connections are those of the table `frames`.
    """

    def packet(_: Any) -> dict[str, Any]:
        """Return the name of the line that is being counted: its file, and its packet in that file."""
        return line.captured.where._asdict()

    tallies = Tallies(catalog, dimensions, limits=limits, named=packet)
    for line in lines:
        tallies.file, line.captured.stream = line.captured.where.file, line.stream
        tallies.add(line.captured)
    return Spent(tallies)


def _of_segments(
    catalog: Catalog, dimensions: Sequence[str], limits: Limits | None, segments: Iterable[Segment]
) -> Spent:
    """Return the counts of one task over segments. A segment that cannot be read is a fault."""
    tallies, faults = Tallies(catalog, dimensions, limits=limits), Faults()
    for segment in segments:
        try:
            data = mapped(segment.path)
        except InputError as error:
            faults.add(FileFault(segment.path, error.reason))
            continue
        tallies.file = location(segment.path)
        for _ in tallies.records(data, segment.topic, segment.partition, "auto"):
            pass
    return Spent(tallies, faults=faults)


# Partitions verified in tasks, each by itself, as `verify_path` does one after the other.


def verified(
    spark: SparkSession, paths: Sequence[str], checked: Checked, *, deep: bool = False
) -> Iterator[tuple[str, Iterator[Fault]]]:
    """Each path with its faults, in the order of `verify_path`; `checked` counts as they are taken.

    Raises:
        InputError: A folder cannot be read. A file that can't be is a fault, UNREADABLE.

    """
    units = [(number, part) for number, path in enumerate(paths) for part in parts_to_verify(absolute(path))]

    def verify(some: Iterable[tuple[int, Place]]) -> list[Found]:
        return [(number, *_faults(part, deep=deep)) for number, part in some]

    verdicts = [verdict for some in folded(spark, units, verify, list.extend) for verdict in some]
    for number, path in enumerate(paths):
        yield path, _as_given(_taken([verdict for verdict in verdicts if verdict[0] == number], checked), path)


def _as_given(faults: Iterator[Fault], path: str) -> Iterator[Fault]:
    """Yield the faults with the names of files as they follow from the path that was given, which tasks have by its
    absolute path.
    """
    long, short = absolute(path), str(path_of(path))
    for fault in faults:
        yield fault._replace(file=short + fault.file.removeprefix(long)) if fault.file.startswith(long) else fault


def _faults(part: Place, *, deep: bool) -> tuple[list[Fault], Checked]:
    own, faults = Checked(), []
    try:
        for fault in verify_part(part, deep=deep, checked=own):
            faults.append(fault)  # noqa: PERF402 - those before an error count
    except InputError as error:
        faults.append(Fault("UNREADABLE", str(part), None, None, error.reason))
    return faults, own


def _taken(found: list[Found], checked: Checked) -> Iterator[Fault]:
    for _, faults, own in found:
        checked.add(own)
        yield from faults
