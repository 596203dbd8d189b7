"""The rule for batches that are too small, and for compression that does not reduce the size.

Batches are counted by client and topic. For small batches, other values of linger.ms are simulated at the same time,
so that a finding can name a value that helps. Traffic is in tables, whose query selects only suspicious clients and
topics. Batches of logs are read one by one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import Evidence, between, instant
from kwire_cli.analysis.calls import evidence_of
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.errors import counted
from kwire_cli.facts.batches import unpacked_size
from kwire_cli.message.roles import is_internal
from kwire_cli.questions.sentence import duration
from kwire_cli.records.batch import Batch
from kwire_cli.records.compression import CODECS
from kwire_cli.records.layouts import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.facts.memory import Tables

SMALL = FindingKind(
    "SMALL_BATCHES",
    "warning",
    "A producer sends its records one by one, each in its own batch.",
    "Each batch costs a header of 61 bytes and a share of a request, of a response and of the broker's work. "
    "Compression sees one record at a time.",
    "Set linger.ms of the producer (5 by default since Kafka 4.0, 0 before). Do not flush or wait after each record. "
    "kwire overhead --batching tries other values on these records.",
    ("KIP-1030",),
    rank=50,
)
COMPRESSION = FindingKind(
    "COMPRESSION_NOT_PAYING",
    "info",
    "Compressed batches are not smaller than the records in them.",
    "Compression does not make small batches smaller, nor records that are already compressed or encrypted. Both "
    "sides pay for it with processor time.",
    "Make batches larger (linger.ms), or set compression.type=none for this topic.",
    rank=66,
)
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


@dataclass
class _TopicUse:
    """The batches of a client, or of a log, to a topic.

    `merged` is, for each value of linger.ms, the number of batches that would have been part of the previous batch.
    """

    batches: int = 0
    records: int = 0
    bytes: int = 0
    first: float | None = None
    last: float | None = None
    merged: list[int] = field(default_factory=lambda: [0] * len(LINGERS))
    sampled: int = 0
    packed: int = 0
    unpacked: int = 0
    codecs: set[str] = field(default_factory=set)
    evidence: list[Evidence] = field(default_factory=list)

    def sample(self, packed: int, unpacked: int, codec: str) -> None:
        """Add a compressed batch with its size before and after decompression."""
        self.sampled += 1
        self.packed += packed
        self.unpacked += unpacked
        self.codecs.add(codec)


class Batches(Rule):
    """Sizes of batches by client and topic."""

    KINDS = (SMALL, COMPRESSION)
    queries = (QUERY,)

    def __init__(self) -> None:
        self._uses: defaultdict[tuple[str | None, str], _TopicUse] = defaultdict(_TopicUse)
        self._open: dict[tuple[Any, ...], list[list[float]]] = {}
        """Simulated open batches by producer and partition: for each linger the end time, and the bytes so far."""

    def ask(self, tables: Tables) -> None:
        """Add the batches of the clients and topics for which a finding is possible."""
        for row in tables.each(QUERY):
            time = row["asked_us"] and row["asked_us"] / 1e6
            place = evidence_of(row["place"])
            use = self._uses[row["who"], row["topic"]]
            stream = row["connection"], row["topic"], row["partition"]
            self._add(use, stream, row["records"], row["size"], time, place)
            if row["unpacked_size"] is not None:
                use.sample(row["size"] - HEAD, row["unpacked_size"], CODECS[row["codec"]])

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
        use = self._uses[None, item.topic]
        self._add(use, (item.name, head.producer_id), head.records, batch.size, time, place)
        if use.sampled < SAMPLES and (unpacked := unpacked_size(batch)) is not None:
            use.sample(batch.size - HEAD, unpacked, batch.compression)

    def _add(
        self, use: _TopicUse, stream: tuple[Any, ...], records: int, size: int, time: float | None, place: Evidence
    ) -> None:
        use.batches += 1
        use.records += records
        use.bytes += size
        if use.batches <= LEAST_BATCHES and records <= 1:
            use.evidence.append(place)
        if time is not None:
            use.first = time if use.first is None else min(use.first, time)
            use.last = time if use.last is None else max(use.last, time)
            self._linger(use, stream, time, size)

    def _linger(self, use: _TopicUse, stream: tuple[Any, ...], time: float, size: int) -> None:
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

    def findings(self) -> Iterator[Finding]:
        for (client, topic), use in self._uses.items():
            subject = f"topic {topic}" + (f", client {client}" if client else "")
            yield from _small_batches(subject, use)
            yield from _useless_compression(subject, use)


def _small_batches(subject: str, use: _TopicUse) -> Iterator[Finding]:
    if use.batches < LEAST_BATCHES or use.records >= RECORDS_A_BATCH * use.batches:
        return
    if use.merged[-1] < LEAST_SAVED * use.batches:
        return
    at = next(at for at, merged in enumerate(use.merged) if merged >= LEAST_SAVED * use.batches)
    merged = use.merged[at]
    saved = merged * HEAD
    seconds = between(use.first, use.last)
    text = (
        f"{counted(use.records, 'record')} in {counted(use.batches, 'batch', 'batches')} of "
        f"{use.bytes / use.batches:.0f} bytes in {duration(seconds)}; linger.ms={LINGERS[at]} would have made "
        f"{use.batches - merged} of them, with {100 * saved / use.bytes:.0f} % fewer bytes"
    )
    yield Finding(SMALL, subject, text, use.evidence, saved, None, "overhead --batching")


def _useless_compression(subject: str, use: _TopicUse) -> Iterator[Finding]:
    if use.sampled >= LEAST_SAMPLES and use.packed >= use.unpacked:
        text = (
            f"the records of {use.sampled} batches have {use.packed} bytes with {', '.join(sorted(use.codecs))}, "
            f"and {use.unpacked} bytes without compression"
        )
        yield Finding(COMPRESSION, subject, text, use.evidence[:3], use.packed - use.unpacked)
