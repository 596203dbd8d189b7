"""Batching: records packed as a producer's accumulator would pack them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.answer import MOST_ROWS, Column, Note, Table
from kwire_cli.errors import counted
from kwire_cli.facts.costs.record_sets import MAX_RECORD_OVERHEAD
from kwire_cli.facts.costs.subjects import client_of, time_of
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.numbers import ZIGZAG_LONG
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.answer import Block, Row
    from kwire_cli.facts.costs.record_sets import Told
    from kwire_cli.facts.costs.subjects import Message
    from kwire_cli.records.batch import Batch


# What came of other values of linger.ms and batch.size: batches, bytes and waiting under each pair, and the
# pair that would have served.

MOST = 0.9
"""Of the saving that the best pair reaches, what a smaller one has to reach to be the one that would have served."""


class Setting(NamedTuple):
    """A pair to try: milliseconds and bytes."""

    linger: int
    batch_size: int


@dataclass(slots=True)
class Made:
    """Result of a setting.

    `bytes` counts bytes as if nothing were compressed, and `wire` the bytes as they would be on the wire. `waited` is
    the total time that records waited, in milliseconds.
    """

    batches: int = 0
    bytes: int = 0
    wire: float = 0.0
    waited: int = 0


@dataclass(slots=True)
class Tried:
    """Batches that a producer sent, and those it would have sent under each setting.

    `client` is the producer's client id, None for all producers together. `partitions` counts the partitions that the
    producer sent to, for each of its producer ids. `payload` is the bytes of keys, values and headers, which are the
    same for any batches. `by_record` counts the records with a time of their own. The other records have the time of
    their request or batch. `older` counts the records that came in another format than v2, in which they are written
    here. `packed` says that some records are compressed.
    """

    client: str | None
    made: dict[Setting, Made]
    sent: Made = field(default_factory=Made)
    records: int = 0
    partitions: int = 0
    payload: int = 0
    by_record: int = 0
    older: int = 0
    packed: bool = False

    def saved(self, made: Made) -> int:
        """Bytes less than what was sent, without compression."""
        return self.sent.bytes - made.bytes

    @property
    def best(self) -> Setting | None:
        """The smallest pair that reaches most of the saving; None where none saves anything."""
        most = max((self.saved(totals) for totals in self.made.values()), default=0)
        if most <= 0:
            return None
        return min(setting for setting, totals in self.made.items() if self.saved(totals) >= MOST * most)

    def merge(self, other: Tried) -> None:
        """Add another producer."""
        for mine, theirs in (
            (self.sent, other.sent),
            *((totals, other.made[setting]) for setting, totals in self.made.items()),
        ):
            mine.batches += theirs.batches
            mine.bytes += theirs.bytes
            mine.wire += theirs.wire
            mine.waited += theirs.waited
        self.records += other.records
        self.partitions += other.partitions
        self.payload += other.payload
        self.by_record += other.by_record
        self.older += other.older
        self.packed = self.packed or other.packed


@dataclass(frozen=True, slots=True)
class Outcome:
    """All producers together, and each of them, those that sent the most first."""

    total: Tried
    producers: list[Tried]


# The batches that a producer would have made with other values of linger.ms and batch.size, tried on the
# records that were sent and when each came.
#
# A batch is open until it has waited for linger.ms or the next record does not fit into batch.size, as in
# Kafka's producer (org.apache.kafka.clients.producer.internals.RecordAccumulator,
# org.apache.kafka.common.record.MemoryRecordsBuilder.hasRoomFor). Sizes are counted: of each record what
# stands from the length of its key on stays as it is, and its size and deltas get the bytes that they need in
# the new batch. What compression would make of larger batches is not known: each record is taken to shrink as
# those of its own batch did.
#
# Times are milliseconds. Records that came in the same millisecond come together even without lingering, and
# a broker that is slow to answer, for which a producer waits too, is left out: more would be batched than
# this says.

LINGERS = (0, 5, 10, 20, 50, 100, 500)


BATCH_SIZES = (16384, 32768, 65536, 131072, 262144, 1048576)
"""Values to try; Kafka's defaults are 5 ms (0 before 4.0) and 16384 bytes."""
ESTIMATION_FACTOR = 1.05
"""The factor by which the producer raises its estimate of compressed records (MemoryRecordsBuilder)."""

_HEAD = LAYOUTS["v2"].head.size
_WIDTHS = tuple(len(ZIGZAG_LONG.build((1 << bits) - 1)) for bits in range(64))
"""Bytes of a zig-zag number by the bits of its value."""
_ATTRIBUTES = v2.RECORD.subcons[1].subcon.length


@dataclass(slots=True)
class _Open:
    """The batch of a producer that is open under one setting."""

    begun: int
    count: int
    size: int
    packed: float
    room: int
    times: int


class _Producer:
    """A producer, with a batch for every partition and setting."""

    def __init__(self, client: str | None, settings: Sequence[Setting]) -> None:
        self.tried = Tried(client, {setting: Made() for setting in settings})
        self._open: dict[tuple[Any, ...], list[_Open | None]] = {}
        self._latest: dict[tuple[Any, ...], int] = {}

    def add(self, key: tuple[Any, ...], came: int, told: Told, records: Sequence[tuple[int, int]]) -> None:
        """Take the records of a batch, as `_contents` gives them; `came` is when those did that do not say it
        themselves.
        """
        tried, head = self.tried, told.batch.head
        states = self._open.get(key)
        if states is None:
            states = self._open[key] = [None] * len(tried.made)
            tried.partitions += 1
        latest = self._latest.get(key, -1)
        for time, content in records:
            own = time >= 0 and not head.timestamp_type
            tried.by_record += own
            tried.records += 1
            latest = max(time if own else came, latest)
            self._append(states, latest, content, told.packing)
        self._latest[key] = latest
        tried.older += len(records) * (told.batch.layout is not LAYOUTS["v2"])
        tried.payload += told.payload
        tried.packed = tried.packed or bool(head.codec)
        tried.sent.batches += 1
        tried.sent.bytes += told.size
        tried.sent.wire += told.batch.size

    def _append(self, states: list[_Open | None], now: int, content: int, packing: float) -> None:
        """One record, under each setting."""
        widths = _WIDTHS
        for at, (setting, totals) in enumerate(self.tried.made.items()):
            batch = states[at]
            if batch is not None:
                waited = now - batch.begun
                if waited < setting.linger or not waited:
                    body = _ATTRIBUTES + widths[waited.bit_length()] + widths[batch.count.bit_length()] + content
                    size = widths[body.bit_length()] + body
                    if (
                        _HEAD + (batch.packed * ESTIMATION_FACTOR if packing != 1 else batch.packed) + size
                        <= batch.room
                    ):
                        batch.count += 1
                        batch.size += size
                        batch.packed += size * packing
                        batch.times += waited
                        continue
                    _close(totals, batch, waited)
                else:
                    _close(totals, batch, setting.linger)
            body = _ATTRIBUTES + 2 * widths[0] + content
            size = widths[body.bit_length()] + body
            states[at] = _Open(
                now, 1, size, size * packing, max(setting.batch_size, content + _HEAD + MAX_RECORD_OVERHEAD), 0
            )

    def end(self) -> Tried:
        """Return the result. Open batches are sent when they have waited for `linger`."""
        for states in self._open.values():
            for at, (setting, totals) in enumerate(self.tried.made.items()):
                batch = states[at]
                if batch is not None:
                    _close(totals, batch, setting.linger)
                    states[at] = None
        return self.tried


class Accumulators:
    """The producers that were seen, by client id: each has settings of its own. Memory grows with these and their
    partitions, not with records.
    """

    def __init__(self, settings: Sequence[Setting] = ()) -> None:
        self.settings = settings or tuple(Setting(linger, size) for linger in LINGERS for size in BATCH_SIZES)
        self._producers: dict[str | None, _Producer] = {}

    def add(self, subject: Message | None, topic: str | None, partition: int | None, told: Told) -> None:
        """Take the records of a batch that a producer sent; `subject` is the request, None for what is in a segment."""
        head, records = told.batch.head, [*_contents(told)]
        if head.control or not records:  # emptied by compaction, or not to be read
            return
        client = client_of(subject) if subject else None
        producer = self._producers.get(client)
        if producer is None:
            producer = self._producers[client] = _Producer(client, self.settings)
        producer.add((topic, partition, head.producer_id), _came(subject, told.batch), told, records)

    def outcome(self) -> Outcome:
        """Return the results of all settings."""
        producers = sorted(
            (producer.end() for producer in self._producers.values()), key=lambda tried: -tried.sent.bytes
        )
        total = Tried(None, {setting: Made() for setting in self.settings})
        for tried in producers:
            total.merge(tried)
        return Outcome(total, producers)

    def blocks(self, top: int | None) -> Iterator[Block]:
        """Yield what an Answer says of all settings."""
        return batching_blocks(self.outcome(), top)


def _close(made: Made, batch: _Open, after: int) -> None:
    """A batch is sent, so many milliseconds after its first record."""
    made.batches += 1
    made.bytes += _HEAD + batch.size
    made.wire += _HEAD + batch.packed
    made.waited += after * batch.count - batch.times


def _came(subject: Message | None, batch: Batch) -> int:
    """When a batch was sent, or appended, as well as it is known."""
    if subject is not None and (time := time_of(subject)) is not None:
        return time // 1_000_000
    return max(batch.head.max_timestamp, 0)


def _contents(told: Told) -> Iterator[tuple[int, int]]:
    """The time of each record and the bytes from the length of its key to its end, in format v2."""
    base = told.batch.head.base_timestamp
    if told.rows is not None:
        for delta, content in told.rows:
            yield base + delta, content
        return
    for record in told.batch.records():
        parts = [record.key, record.value]
        for name, value in record.headers:
            parts += [str(name).encode(), value]
        content = sum(_WIDTHS[len(part).bit_length()] + len(part) if part is not None else _WIDTHS[0] for part in parts)
        yield record.timestamp, content + _WIDTHS[len(record.headers).bit_length()]


# What came of it, as blocks of an answer.

_BATCHES = (
    Column("lingerMs", "count", "linger.ms", absent="as sent"),
    Column("batchSize", "bytes", "batch.size"),
    Column("batches", "count"),
    Column("recordsPerBatch", "number", "records/batch", keep=4, digits=1),
    Column("overheadPerRecord", "number", "overhead/record", keep=3, digits=2),
    Column("bytes", "bytes"),
    Column("overheadBytes", "bytes", wide=True),
    Column("savedBytes", "bytes", "saved"),
    Column("meanWaitSeconds", "duration", "mean wait", keep=1, digits=1),
    Column("wireBytes", "bytes", "wire bytes", keep=5),
    Column("wireIsEstimated", "flag", wide=True),
    Column("wouldHaveServed", "flag", wide=True),
    Column("bar", "bar", " ", keep=6),
)
_PRODUCERS = (
    Column("client", "text", "producer", absent="(none)"),
    Column("partitions", "count", keep=4),
    Column("records", "count", keep=2),
    Column("recordsWithOwnTime", "count", wide=True),
    Column("recordsOfOtherFormats", "count", wide=True),
    Column("batches", "count"),
    Column("lingerMs", "count", "linger.ms"),
    Column("batchSize", "bytes", "batch.size"),
    Column("batchesThen", "count", "batches then", keep=3),
    Column("savedBytes", "bytes", "saved"),
    Column("meanWaitSeconds", "duration", "mean wait", keep=1, digits=1),
)


def batching_blocks(outcome: Outcome, top: int | None) -> Iterator[Block]:
    """Yield the settings tried on the records of all producers, the pair that would have served, and each producer."""
    total = outcome.total
    records, partitions = counted(total.records, "record"), counted(total.partitions, "partition")
    times = (
        "by the time of each record"
        if total.by_record == total.records
        else f"by the times of {total.by_record} records, and of requests"
    )
    title = f"linger.ms and batch.size tried on {records} to {partitions}, {times}"
    notes = []
    if total.packed:
        notes += ["bytes and saved are without compression"]
        notes += ["wire bytes take each record to shrink as those of its own batch did"]
    if total.older:
        came = f"{counted(total.older, 'record')} came in another format than v2, in which they are written here"
        notes += [f"{came}: some of what is saved is that"]
    if not total.records:
        yield Note(title)
        return
    rows = [_as_sent(total), *(_tried(total, setting, made) for setting, made in _different(total))]
    yield Table("batching", _BATCHES, rows, title, note="; ".join(notes))
    if total.best:
        pair = f"linger.ms={total.best.linger} and batch.size={total.best.batch_size}"
        saved = counted(total.saved(total.made[total.best]), "byte")
        less = f"{saved} less, and no smaller pair reaches 90 % of what can be saved"
        yield Note(f"{pair} would have served: {less}")
    else:
        yield Note("no pair would have saved anything")
    producers = [_producer(tried) for tried in outcome.producers]
    more = f"… and {len(producers) - top} more" if top is not None and len(producers) > top else ""
    yield Table("producers", _PRODUCERS, producers[:top], shown=None if top is not None else MOST_ROWS, note=more)


def _different(tried: Tried) -> Iterator[tuple[Setting, Made]]:
    """Yield the pairs but for those that make of the records what a smaller batch.size makes too."""
    before: tuple[int, Made] | None = None
    for setting, made in tried.made.items():
        if before is None or before != (setting.linger, made):
            yield setting, made
        before = setting.linger, made


def _as_sent(tried: Tried) -> Row:
    sent = tried.sent
    return (None, None, *_numbers(tried, sent, None, None), round(sent.wire), False, False, sent.batches)


def _tried(tried: Tried, setting: Setting, made: Made) -> Row:
    waited = round(made.waited / tried.records / 1000, 6)
    numbers = _numbers(tried, made, tried.saved(made), waited)
    return (*setting, *numbers, round(made.wire), tried.packed, setting == tried.best, made.batches)


def _numbers(tried: Tried, made: Made, saved: int | None, waited: float | None) -> Row:
    overhead = made.bytes - tried.payload
    per_batch = round(tried.records / made.batches, 3) if made.batches else None
    return made.batches, per_batch, round(overhead / tried.records, 3), made.bytes, overhead, saved, waited


def _producer(tried: Tried) -> Row:
    """Return the pair that would have served a producer, which has settings of its own."""
    row = (tried.client, tried.partitions, tried.records, tried.by_record, tried.older, tried.sent.batches)
    if tried.best is None:
        return (*row, None, None, None, 0, None)
    made = tried.made[tried.best]
    return (*row, *tried.best, made.batches, tried.saved(made), round(made.waited / tried.records / 1000, 6))
