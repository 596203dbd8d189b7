"""Batching: records packed as a producer would pack them, under other values of linger.ms and batch.size.

A batch is open until it has waited for linger.ms or the next record does not fit into batch.size, as in Kafka's
producer (org.apache.kafka.clients.producer.internals.RecordAccumulator,
org.apache.kafka.common.record.MemoryRecordsBuilder.hasRoomFor). Sizes are counted: the bytes of a record from the
length of its key on stay as they are, and its size and deltas get the bytes that they need in the new batch. What
compression would make of larger batches is not known: each record is taken to shrink as those of its own batch did.

Times are milliseconds. Records that came in the same millisecond come together even without lingering. A producer also
waits for a broker that is slow to answer; that is left out, so more would be batched than this says.

The query batching adds up the rows of all producers, and finds the pair that would have served.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.answer import MOST_ROWS, Column, Note, Table
from kwire_cli.errors import counted
from kwire_cli.facts.costs.record_sets import MAX_RECORD_OVERHEAD
from kwire_cli.facts.costs.subjects import client_of, time_of
from kwire_cli.questions.traffic import rows_of
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.numbers import ZIGZAG_LONG
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.answer import Block
    from kwire_cli.facts.costs.record_sets import Told
    from kwire_cli.facts.costs.subjects import Message
    from kwire_cli.records.batch import Batch

TRIED = (
    ("client", "VARCHAR"),
    ("linger_ms", "BIGINT"),
    ("batch_size", "BIGINT"),
    ("batches", "BIGINT"),
    ("bytes", "BIGINT"),
    ("wire", "DOUBLE"),
    ("waited", "BIGINT"),
    ("records", "BIGINT"),
    ("partitions", "BIGINT"),
    ("payload", "BIGINT"),
    ("own_time", "BIGINT"),
    ("older", "BIGINT"),
    ("packed", "BOOLEAN"),
)
"""The table of settings tried on the records of producers; a row without a setting is what the producer sent.

`bytes` counts bytes as if nothing were compressed, and `wire` the bytes as they would be on the wire. `waited` is the
total time that records waited, in milliseconds. `partitions` counts those that the producer sent to, for each of its
producer ids. `payload` is the bytes of keys, values and headers. `own_time` counts the records with a time of their
own; the others have the time of their request or batch. `older` counts the records that came in another format than v2,
in which they are written here. `packed` says that some records are compressed.
"""

LINGERS = (0, 5, 10, 20, 50, 100, 500)


BATCH_SIZES = (16384, 32768, 65536, 131072, 262144, 1048576)
"""Values to try; Kafka's defaults are 5 ms (0 before 4.0) and 16384 bytes."""
ESTIMATION_FACTOR = 1.05
"""The factor by which the producer raises its estimate of compressed records (MemoryRecordsBuilder)."""

_HEAD = LAYOUTS["v2"].head.size
_WIDTHS = tuple(len(ZIGZAG_LONG.build((1 << bits) - 1)) for bits in range(64))
"""Bytes of a zig-zag number by the bits of its value."""
_ATTRIBUTES = v2.RECORD.subcons[1].subcon.length


class Setting(NamedTuple):
    """A pair to try: milliseconds and bytes."""

    linger: int
    batch_size: int


class Batches:
    """The batches of a producer under a setting: their number and bytes, and how long their records waited."""

    __slots__ = ("batches", "bytes", "waited", "wire")

    def __init__(self) -> None:
        self.batches = self.bytes = self.waited = 0
        self.wire = 0.0


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
        self.client = client
        self.sent = Batches()
        self.made = {setting: Batches() for setting in settings}
        self.records = self.payload = self.own_time = self.older = 0
        self.packed = False
        self._open: dict[tuple[Any, ...], list[_Open | None]] = {}
        self._latest: dict[tuple[Any, ...], int] = {}

    def add(self, key: tuple[Any, ...], came: int, told: Told, records: Sequence[tuple[int, int]]) -> None:
        """Take the records of a batch, as `_contents` gives them; `came` is the time of those without their own."""
        head = told.batch.head
        states = self._open.setdefault(key, [None] * len(self.made))
        latest = self._latest.get(key, -1)
        for time, content in records:
            own = time >= 0 and not head.timestamp_type
            self.own_time += own
            latest = max(time if own else came, latest)
            self._append(states, latest, content, told.packing)
        self._latest[key] = latest
        self.records += len(records)
        self.older += len(records) * (told.batch.layout is not LAYOUTS["v2"])
        self.payload += told.payload
        self.packed = self.packed or bool(head.codec)
        self.sent.batches += 1
        self.sent.bytes += told.size
        self.sent.wire += told.batch.size

    def _append(self, states: list[_Open | None], now: int, content: int, packing: float) -> None:
        """One record, under each setting."""
        widths = _WIDTHS
        for at, (setting, totals) in enumerate(self.made.items()):
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

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the producer. Open batches are sent when they have waited for linger.ms."""
        for states in self._open.values():
            for at, (setting, totals) in enumerate(self.made.items()):
                if batch := states[at]:
                    _close(totals, batch, setting.linger)
                    states[at] = None
        counts = (self.records, len(self._open), self.payload, self.own_time, self.older, self.packed)
        for pair, made in (((None, None), self.sent), *self.made.items()):
            yield self.client, *pair, made.batches, made.bytes, made.wire, made.waited, *counts


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

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table TRIED."""
        for producer in self._producers.values():
            yield from producer.rows()


def _close(made: Batches, batch: _Open, after: int) -> None:
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


def batching_blocks(rows: Sequence[Mapping[str, Any]], top: int | None) -> Iterator[Block]:
    """Yield the settings tried on the records of all producers, the pair that would have served, and each producer."""
    totals = [row for row in rows if row["is_total"]]
    if not totals:
        yield Note("linger.ms and batch.size tried on 0 records to 0 partitions, by the time of each record")
        return
    total = totals[0]
    own_time = total["records_with_own_time"]
    times = "by the time of each record"
    if own_time < total["records"]:
        times = f"by the times of {own_time} records, and of requests"
    records, partitions = counted(total["records"], "record"), counted(total["partitions"], "partition")
    notes = []
    if total["packed"]:
        notes += ["bytes and saved are without compression"]
        notes += ["wire bytes take each record to shrink as those of its own batch did"]
    if total["records_of_other_formats"]:
        older = counted(total["records_of_other_formats"], "record")
        notes += [
            f"{older} came in another format than v2, in which they are written here: some of what is saved is that"
        ]
    title = f"linger.ms and batch.size tried on {records} to {partitions}, {times}"
    yield Table("batching", _BATCHES, rows_of(_BATCHES, totals), title, note="; ".join(notes))
    best = next((row for row in totals if row["would_have_served"]), None)
    if best:
        pair = f"linger.ms={best['linger_ms']} and batch.size={best['batch_size']}"
        saved = counted(best["saved_bytes"], "byte")
        less = f"{saved} less, and no smaller pair reaches 90 % of what can be saved"
        yield Note(f"{pair} would have served: {less}")
    else:
        yield Note("no pair would have saved anything")
    producers = {row["client"]: {**row, **_NOTHING} for row in rows if not row["is_total"] and row["linger_ms"] is None}
    for row in rows:
        if not row["is_total"] and row["would_have_served"]:
            producers[row["client"]] |= {name: row[name] for name in _NOTHING if name in row} | {
                "batches_then": row["batches"]
            }
    made = rows_of(_PRODUCERS, producers.values())
    more = f"… and {len(made) - top} more" if top is not None and len(made) > top else ""
    yield Table("producers", _PRODUCERS, made[:top], shown=None if top is not None else MOST_ROWS, note=more)


_NOTHING = {"linger_ms": None, "batch_size": None, "batches_then": None, "saved_bytes": 0, "mean_wait_seconds": None}
"""The pair of a producer for which no pair would have saved anything."""
