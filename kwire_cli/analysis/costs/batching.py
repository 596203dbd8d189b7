"""Batching: a simulation of the producer's batches under other values of linger.ms and batch.size.

A batch is open until it has waited for linger.ms or the next record does not fit into batch.size, as in Kafka's
producer (org.apache.kafka.clients.producer.internals.RecordAccumulator,
org.apache.kafka.common.record.MemoryRecordsBuilder.hasRoomFor). Only sizes are computed. The bytes of a record from the
length of its key on are unchanged, and its size and deltas get the bytes that they need in the new batch. The
compression ratio of larger batches is unknown, so each record is assumed to compress as well as the batch that it
came in.

Times are milliseconds. Records of the same millisecond share a batch even without lingering. A real producer also
batches records while it waits for a slow broker. The simulation ignores this effect and underestimates batching.

The query batching adds up the rows of all producers, and selects the pair that would have been sufficient.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product, starmap
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
"""The table of settings tried on the records of producers. A row without a setting describes the batches as sent.

`bytes` is the size without compression, and `wire` the compressed size. `waited` is the total time that records waited,
in milliseconds. `partitions` is the number of partitions that the producer sent to, counted per producer id. `payload`
is the size of keys, values and headers. `own_time` is the number of records with a create time. Other records have the
time of their request or batch. `older` is the number of records whose format is not v2. All records are written in
format v2 here. `packed` is true if some records are compressed.
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
    """A pair of linger.ms (in milliseconds) and batch.size (in bytes) to try."""

    linger: int
    batch_size: int


class Batches:
    """The batches of a producer under a setting: their number, their bytes, and the total wait of their records."""

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
    """A producer, with one open batch for each partition and setting."""

    def __init__(self, client: str | None, settings: Sequence[Setting]) -> None:
        self.client = client
        self.sent = Batches()
        self.made = {setting: Batches() for setting in settings}
        self.records = self.payload = self.own_time = self.older = 0
        self.packed = False
        self._open: dict[tuple[Any, ...], list[_Open | None]] = {}
        self._latest: dict[tuple[Any, ...], int] = {}

    def add(self, key: tuple[Any, ...], came: int, told: Told, records: Sequence[tuple[int, int]]) -> None:
        """Add the records of a batch. `records` is the result of `_contents`.

        `came` is the time of records without a create time.
        """
        head = told.batch.head
        states = self._open.setdefault(key, [None] * len(self.made))
        latest = self._latest.get(key, -1)
        for time, content in records:
            has_own_time = time >= 0 and not head.timestamp_type
            self.own_time += has_own_time
            latest = max(time if has_own_time else came, latest)
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
        """Append one record to the open batch of each setting."""
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
    """The simulated producers by client id. Memory grows with producers and partitions, and not with records."""

    def __init__(self, settings: Sequence[Setting] = ()) -> None:
        self.settings = settings or tuple(starmap(Setting, product(LINGERS, BATCH_SIZES)))
        self._producers: dict[str | None, _Producer] = {}

    def add(self, subject: Message | None, topic: str | None, partition: int | None, told: Told) -> None:
        """Add the records of a batch that a producer sent. `subject` is the request, or None for a log segment."""
        head = told.batch.head
        records = list(_contents(told))
        if head.control or not records:  # compaction removed the records, or they cannot be read
            return
        client = client_of(subject) if subject else None
        producer = self._producers.get(client)
        if producer is None:
            producer = self._producers[client] = _Producer(client, self.settings)
        producer.add((topic, partition, head.producer_id), _time_of_batch(subject, told.batch), told, records)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table TRIED."""
        for producer in self._producers.values():
            yield from producer.rows()


def _close(made: Batches, batch: _Open, after: int) -> None:
    """Count a batch as sent, `after` milliseconds after its first record."""
    made.batches += 1
    made.bytes += _HEAD + batch.size
    made.wire += _HEAD + batch.packed
    made.waited += after * batch.count - batch.times


def _time_of_batch(subject: Message | None, batch: Batch) -> int:
    """Return the time at which a batch was sent, in milliseconds. Without a request it is the largest timestamp."""
    if subject is not None and (time := time_of(subject)) is not None:
        return time // 1_000_000
    return max(batch.head.max_timestamp, 0)


def _contents(told: Told) -> Iterator[tuple[int, int]]:
    """Yield the timestamp of each record, and its size in format v2 from the length of the key on."""
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
    rows_by_client = rows_of(_PRODUCERS, producers.values())
    more = f"… and {len(rows_by_client) - top} more" if top is not None and len(rows_by_client) > top else ""
    yield Table("producers", _PRODUCERS, rows_by_client[:top], shown=None if top is not None else MOST_ROWS, note=more)


_NOTHING = {"linger_ms": None, "batch_size": None, "batches_then": None, "saved_bytes": 0, "mean_wait_seconds": None}
"""Default values of a producer for which no setting would have saved bytes."""
