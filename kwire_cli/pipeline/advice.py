"""Advice on encodings and tags from captures, segments and request logs: what `kwire advise` sees is seen in tasks, and priced in tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.advice.drawn import Plans, Prices, priced
from kwire_cli.cost.advice.messages import Message, in_batches, in_exchanges, in_lines, place_of
from kwire_cli.cost.advice.observed import Observed
from kwire_cli.cost.advice.seen import Seen
from kwire_cli.errors import InputError
from kwire_cli.payload.records import OWN_TOPICS
from kwire_cli.pipeline.captures import Captures
from kwire_cli.pipeline.folding import Faults, FileFault, folded
from kwire_cli.pipeline.kinds import CAPTURES, REQUEST_LOGS, SEGMENTS, numbered
from kwire_cli.pipeline.request_logs import found_in, place_of as place_in
from kwire_cli.records.opening import items, source_of
from kwire_cli.source.logs.segments import Segment, segments_of
from kwire_cli.source.request_log.bodies import Bodies, LeftOut
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.parts import LogPart, parts_of
from kwire_cli.stores import location, mapped, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.codec.model import Limits
    from kwire_cli.pipeline.line_columns import Line
    from kwire_cli.source.capture.points import Naming
    from kwire_cli.spec.catalog import Catalog

    Unit = tuple[int, Segment | LogPart]
    """The number of an input, and what of it a task reads."""
    Fold = Callable[[Iterator[Message]], Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """By which definitions messages are read, which are wanted (all where it is None), and what may be decompressed."""

    catalog: Catalog
    names: frozenset[str] | None = None
    limits: Limits | None = None

    def of(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Those of some messages."""
        return (message for message in messages if self.names is None or message.name in self.names)


@dataclass
class Looked:
    """What was made of messages, which has `merge`; what could not be read, and which bodies of request logs could not be written."""

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

    A capture point is where its first file is. Request logs beside captures are `left_out`: their exchanges may be those of the captures.

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
            Captures(spark, [*captures], port=port, catalog=wanted.catalog, key_logs=key_logs, naming=naming, note=note) if captures else None
        )
        self._units: list[Unit] = [(segments[each.path], each) for each in (segments_of(segments) if segments else ()) if each.topic in OWN_TOPICS]
        numbers = {location(path): number for path, number in captures.items()}
        self._places = [place_of(min(numbers[file] for file in point.files)) for point in self._captures.plan.points] if self._captures else []
        first = 1 + max((*segments.values(), *captures.values()), default=0)
        self._units += [(number, part) for number, log in enumerate(logs, first) for part in parts_of(log)]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(sizes(self._others)) + (self._captures.size if self._captures else 0)

    def seen(self) -> Looked:
        """What there is to see in them (`Seen`), and what could not be looked at."""
        total = self._folded(partial(_see, self._wanted.catalog), Seen())
        if self._captures:
            total.faults.add(*self._captures.unread())
        return total

    def priced(self, plans: Plans) -> Prices:
        """What they cost under plans."""
        found: Prices = self._folded(partial(priced, self._wanted.catalog, plans), Prices()).made
        return found

    def _folded(self, fold: Fold, start: Any) -> Looked:
        total = Looked(start)
        for each in folded(self._spark, self._units, partial(_of_units, fold, self._wanted), Looked.merge):
            total.merge(each)
        if self._captures:
            for each in self._captures.folded(partial(_of_lines, fold, self._wanted, self._places), Looked.merge, learnt=False):
                total.merge(each)
        return total


def _see(catalog: Catalog, messages: Iterable[Message]) -> Seen:
    observed = Observed(catalog)
    for message in messages:
        observed.add(message)
    return observed.seen()


def _of_lines(fold: Fold, wanted: Wanted, places: Sequence[int], lines: Iterable[Line]) -> Looked:
    return Looked(fold(wanted.of(in_lines((line.captured for line in lines), places))))


def _of_units(fold: Fold, wanted: Wanted, units: Iterable[Unit]) -> Looked:
    looked = Looked()
    looked.made = fold(wanted.of(message for number, unit in units for message in _in_unit(unit, place_of(number), wanted, looked)))
    return looked


def _in_unit(unit: Segment | LogPart, place: int, wanted: Wanted, looked: Looked) -> Iterator[Message]:
    if isinstance(unit, LogPart):
        exchanges = (found for found in found_in(unit, wanted.catalog, looked.faults) if isinstance(found, Exchange))
        for found in in_exchanges(exchanges, Bodies(wanted.catalog), place):
            if isinstance(found, Message):
                yield found
            else:
                looked.left_out.add(place_in(unit, found), found)
        return
    try:
        source = source_of(mapped(unit.path), topic=unit.topic, catalog=wanted.catalog, limits=wanted.limits)
    except InputError as error:
        looked.faults.add(FileFault(unit.path, error.reason))
        return
    yield from in_batches(items(source), place)
