"""The table of batches by client and topic, for rules about small batches and useless compression.

For small batches, other values of linger.ms are simulated at the same time, so that a finding can name a value that
helps. Traffic is in tables, whose query selects only suspicious clients and topics. Batches of logs are read one by
one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from kwire_cli.analysis.call import Evidence, between, instant
from kwire_cli.analysis.calls import ReplayedTables, evidence_of
from kwire_cli.analysis.rows import FLAG, NAMES, NUMBER, PLACES, SECONDS, TEXT, Row
from kwire_cli.facts.batches import unpacked_size
from kwire_cli.message.roles import is_internal
from kwire_cli.records.batch import Batch
from kwire_cli.records.compression import CODECS
from kwire_cli.records.layouts import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.facts.memory import Tables
    from kwire_cli.source.log_inputs import LogItem

LINGERS = (5, 20, 100)
"""Values of linger.ms that are tried, in milliseconds."""
BATCH_SIZE = 16384
"""The default batch.size of the Java client. A batch of this size is sent even if linger.ms has not passed."""
LEAST_BATCHES = 50
RECORDS_A_BATCH = 1.5
"""Batches count as small below this mean number of records."""
LEAST_SAVED = 0.5
"""The minimum share of batches that the longest linger must save. A producer with few records cannot save many."""
LEAST_SAMPLES = 8
"""Minimum number of compressed batches for a finding about compression."""
SAMPLES = 32
"""Maximum number of batches of a topic in logs that are decompressed."""
SHOWN = 3
"""Maximum number of compressed batches in the evidence."""
HEAD = LAYOUTS["v2"].head.size
"""Size of a batch before its records."""
QUERY = f"""
-- One row for each batch that a broker took, of the clients and topics for which a finding is possible.
with sent as (
    select
        b.*, c.request_place as place, epoch_us(c.request_time) as asked_us,
        coalesce(nullif(c.client_id, ''), c.client_address, 'unknown') as who
    from batches b
    join calls c on c.connection = b.connection and c.frame = b.frame
    left join errors e
        on e.connection = c.connection and e.frame = c.response_frame and e.topic = b.topic
        and e.partition = b.partition and e.error in ('MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE')
    where b.crc_valid and e.frame is null
),
uses as (
    select who, topic
    from sent
    group by who, topic
    having (count(*) >= {LEAST_BATCHES} and sum(records) < {RECORDS_A_BATCH} * count(*))
        or (
            count(unpacked_size) >= {LEAST_SAMPLES}
            and sum(size - {HEAD}) filter (where unpacked_size is not null) >= sum(unpacked_size)
        )
)
select
    who, topic, partition, connection, records, size, codec, unpacked_size, asked_us, place
from sent
join uses using (who, topic)
order by asked_us nulls first, place.ordinal
"""  # noqa: S608 - our own numbers


@dataclass(slots=True)
class BatchUse(Row):
    """The batches of a client, or of a log, to a topic.

    `merged` is, for each value of linger.ms, the number of batches that would have been part of the previous batch.
    """

    client: Annotated[str | None, TEXT, "the client; null in logs"]
    topic: Annotated[str, TEXT, "the topic"]
    batches: Annotated[int, NUMBER, "the batches"] = 0
    records: Annotated[int, NUMBER, "their records"] = 0
    size: Annotated[int, NUMBER, "their bytes"] = 0
    sampled: Annotated[int, NUMBER, "the compressed batches that were decompressed"] = 0
    packed: Annotated[int, NUMBER, "the bytes of records in these, compressed"] = 0
    unpacked: Annotated[int, NUMBER, "the bytes of records in these, decompressed"] = 0
    codecs: Annotated[set[str], NAMES, "the codecs of these"] = field(default_factory=set)
    places: Annotated[list[Evidence], PLACES, "the first batches with one record"] = field(default_factory=list)
    packed_places: Annotated[list[Evidence], PLACES, "the first compressed batches not smaller than their records"] = (
        field(default_factory=list)
    )
    first: float | None = None
    last: float | None = None
    merged: list[int] = field(default_factory=lambda: [0] * len(LINGERS))

    def sample(self, packed: int, unpacked: int, codec: str, place: Evidence) -> None:
        """Add a compressed batch with its size after and before compression."""
        if packed >= unpacked and len(self.packed_places) < SHOWN:
            self.packed_places.append(place)
        self.sampled += 1
        self.packed += packed
        self.unpacked += unpacked
        self.codecs.add(codec)

    @property
    def span_s(self) -> Annotated[float, SECONDS, "the seconds from the first batch to the last"]:
        """The seconds from the first batch to the last."""
        return between(self.first, self.last)

    @property
    def linger_ms(
        self,
    ) -> Annotated[int | None, NUMBER, "the linger.ms that small batches need, if one helps"]:
        """The smallest value of linger.ms that merges many of the batches. None if no value does, or none is needed."""
        if self.batches < LEAST_BATCHES or self.records >= RECORDS_A_BATCH * self.batches:
            return None
        helping = (linger for linger, merged in zip(LINGERS, self.merged, strict=True) if merged >= self.least_merged)
        return next(helping, None)

    @property
    def least_merged(self) -> float:
        """The number of batches that a useful linger.ms merges into others."""
        return LEAST_SAVED * self.batches

    @property
    def merged_batches(self) -> Annotated[int | None, NUMBER, "the batches that this linger.ms would have saved"]:
        """The number of batches that this linger.ms merges into others. None without a linger.ms that helps."""
        return None if self.linger_ms is None else self.merged[LINGERS.index(self.linger_ms)]

    @property
    def is_packed_in_vain(self) -> Annotated[bool, FLAG, "whether compressed batches are not smaller than records"]:
        """Whether the compressed batches are not smaller than the records in them."""
        return self.sampled >= LEAST_SAMPLES and self.packed >= self.unpacked


class BatchReplay:
    """The batches of all clients and logs, by topic."""

    dropped = 0

    def __init__(self) -> None:
        self._uses: dict[tuple[str | None, str], BatchUse] = {}
        self._open: dict[tuple[Any, ...], list[list[float]]] = {}
        """Simulated open batches by producer and partition: for each linger the end time, and the bytes so far."""

    def read(self, tables: Tables) -> None:
        """Add the batches of the clients and topics for which a finding is possible."""
        for row in tables.each(QUERY):
            time = row["asked_us"] and row["asked_us"] / 1e6
            place = evidence_of(row["place"])
            use = self._use_of(row["who"], row["topic"])
            stream = row["connection"], row["topic"], row["partition"]
            self._add(use, stream, row["records"], row["size"], time, place)
            if row["unpacked_size"] is not None:
                use.sample(row["size"] - HEAD, row["unpacked_size"], CODECS[row["codec"]], place)

    def log_item(self, item: LogItem) -> None:
        """Add a batch of a log. Its time is the time of its first record."""
        batch = item.item
        if not isinstance(batch, Batch) or not batch.crc_valid or item.topic is None or is_internal(item.topic):
            return
        head = batch.head
        if head.control or batch.layout.is_message:
            return
        time = head.first_time / 1000 if head.first_time >= 0 else None
        place = Evidence("batch", instant(time), file=item.file, offset=head.base_offset)
        use = self._use_of(None, item.topic)
        self._add(use, (item.name, head.producer_id), head.records, batch.size, time, place)
        if use.sampled < SAMPLES and (unpacked := unpacked_size(batch)) is not None:
            use.sample(batch.size - HEAD, unpacked, batch.compression, place)

    def rows(self) -> Iterator[BatchUse]:
        """Yield a row for each client, or log, and topic."""
        yield from self._uses.values()

    def _use_of(self, client: str | None, topic: str) -> BatchUse:
        return self._uses.setdefault((client, topic), BatchUse(client, topic))

    def _add(
        self, use: BatchUse, stream: tuple[Any, ...], records: int, size: int, time: float | None, place: Evidence
    ) -> None:
        use.batches += 1
        use.records += records
        use.size += size
        if use.batches <= LEAST_BATCHES and records <= 1:
            use.places.append(place)
        if time is not None:
            use.first = time if use.first is None else min(use.first, time)
            use.last = time if use.last is None else max(use.last, time)
            self._linger(use, stream, time, size)

    def _linger(self, use: BatchUse, stream: tuple[Any, ...], time: float, size: int) -> None:
        """Simulate the values of linger.ms: a batch is added to the previous one if that would still be open."""
        open_ = self._open.get(stream)
        if open_ is None:
            self._open[stream] = [[time + linger / 1000, size] for linger in LINGERS]
            return
        more = size - HEAD
        for at, lingers in enumerate(open_):
            if time < lingers[0] and lingers[1] + more <= BATCH_SIZE:
                lingers[1] += more
                use.merged[at] += 1
            else:
                lingers[:] = time + LINGERS[at] / 1000, size


REPLAYED = ReplayedTables({"batch_uses": BatchUse}, QUERY, BatchReplay)
