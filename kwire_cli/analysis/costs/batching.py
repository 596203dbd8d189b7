"""Batching: records packed as a producer's accumulator would pack them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.record_sets import MAX_RECORD_OVERHEAD
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.numbers import ZIGZAG_LONG
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.costs.record_sets import Told
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

    def to_json(self, *, settings: bool = True) -> dict[str, Any]:
        """All numbers; without `settings` those of the best pair alone."""
        out: dict[str, Any] = {
            "records": self.records,
            "partitions": self.partitions,
            "recordsWithOwnTime": self.by_record,
        }
        out["recordsOfOtherFormats"] = self.older
        out["sent"] = self._numbers(self.sent)
        if settings:
            out["settings"] = [self._pair(setting) for setting in self.made]
        return out | {"wouldHaveServed": self.best and self._pair(self.best)}

    def _pair(self, setting: Setting) -> dict[str, Any]:
        totals = self.made[setting]
        out = {
            "linger.ms": setting.linger,
            "batch.size": setting.batch_size,
            **self._numbers(totals),
            "savedBytes": self.saved(totals),
        }
        return out | {"meanWaitSeconds": round(totals.waited / self.records / 1000, 6) if self.records else None}

    def _numbers(self, made: Made) -> dict[str, Any]:
        out: dict[str, Any] = {"batches": made.batches, "bytes": made.bytes, "overheadBytes": made.bytes - self.payload}
        return out | {"wireBytes": round(made.wire), "wireIsEstimated": self.packed and made is not self.sent}


@dataclass(frozen=True, slots=True)
class Outcome:
    """All producers together, and each of them, those that sent the most first."""

    total: Tried
    producers: list[Tried]

    def to_json(self) -> dict[str, Any]:
        """All numbers of all together, and of each producer the pair that would have served."""
        rows = [{"client": tried.client, **tried.to_json(settings=False)} for tried in self.producers]
        return {**self.total.to_json(), "producers": rows}


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
"""What the producer takes compressed records to be larger than its estimate (MemoryRecordsBuilder)."""

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

    def add(self, subject: Any, topic: str | None, partition: int | None, told: Told) -> None:
        """Take the records of a batch that a producer sent; `subject` is the request, None for what is in a segment."""
        head, records = told.batch.head, [*_contents(told)]
        if head.control or not records:  # emptied by compaction, or not to be read
            return
        client = subject.client_id if subject else None
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


def _close(made: Made, batch: _Open, after: int) -> None:
    """A batch is sent, so many milliseconds after its first record."""
    made.batches += 1
    made.bytes += _HEAD + batch.size
    made.wire += _HEAD + batch.packed
    made.waited += after * batch.count - batch.times


def _came(subject: Any, batch: Batch) -> int:
    """When a batch was sent, or appended, as well as it is known."""
    if subject is not None and getattr(subject.seen, "time", None) is not None:
        return int(subject.seen.time // 1_000_000)
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
