"""Batches that are too small, too large, or compressed in vain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from kwire_cli.analysis.call import Evidence, between, earlier, instant, later, parts
from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.tallies import Book, Recent, merge_all
from kwire_cli.analysis.transactions.traffic import whole
from kwire_cli.errors import counted
from kwire_cli.message.roles import is_internal
from kwire_cli.questions.sentence import duration
from kwire_cli.records.batch import Batch
from kwire_cli.records.compression import decompress
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.subjects import LogItem

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
TOO_LARGE = FindingKind(
    "MESSAGE_TOO_LARGE",
    "error",
    "A broker refuses a batch that is larger than its topic allows.",
    "The limit is max.message.bytes of the topic (by default message.max.bytes of the broker). It applies to the "
    "whole batch after compression. The records are not written. The Java client splits a batch of several records "
    "and tries again; a single record fails.",
    "Raise max.message.bytes of the topic, or compress, or lower batch.size or max.request.size of the producer. "
    "Consumers and replicas fetch large batches with the settings they have.",
    ("KIP-126",),
    rank=18,
)
NEAR_LIMIT = FindingKind(
    "RECORDS_NEAR_LIMIT",
    "info",
    "Batches come near the size limit of their topic.",
    "Brokers refuse batches larger than max.message.bytes of the topic.",
    "Raise max.message.bytes before records grow, or keep large values elsewhere.",
    rank=64,
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
"""batch.size of the Java client by default: what lingers is sent when it has as many bytes."""
LEAST_BATCHES = 50
RECORDS_A_BATCH = 1.5
"""Mean records of a batch below which batches count as small."""
LEAST_SAVED = 0.5
"""Batches, as a share, that the longest linger has to save: a producer with few records has small batches anyway."""
DEFAULT_LIMIT = 1_048_588
"""message.max.bytes of brokers by default."""
NEAR = 0.9
SAMPLES, LARGEST_SAMPLE = 32, 8192
"""Compressed batches of a client and topic that are decompressed, and the bytes of the largest such batch."""
LEAST_SAMPLES = 8
MOST_USES = 1 << 14
HEAD = LAYOUTS["v2"].head.size
"""Bytes of a batch in front of its records."""
TOPIC = 2
"""The resource type of topics in DescribeConfigs and IncrementalAlterConfigs."""
CONFIGS = frozenset({"CreateTopics", "DescribeConfigs", "IncrementalAlterConfigs"})
"""Apis that tell configs of topics, or set them."""
SET = 0
"""The operation of IncrementalAlterConfigs that gives a config a value."""
LIMIT = "max.message.bytes"
SIZES = frozenset({"MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})


@dataclass
class _Use:
    """Batches of a client (None for a log) to a topic.

    `merged` counts by value of linger.ms the batches that would have been a part of the batch before.
    """

    batches: int = 0
    records: int = 0
    bytes: int = 0
    largest: int = 0
    first: float | None = None
    last: float | None = None
    merged: list[int] = field(default_factory=lambda: [0] * len(LINGERS))
    sampled: int = 0
    packed: int = 0
    unpacked: int = 0
    codecs: set[str] = field(default_factory=set)
    evidence: Bounded = field(default_factory=Bounded)
    large: Evidence | None = None
    """The place of the largest batch."""

    def merge(self, its: _Use) -> None:
        self.batches += its.batches
        self.records += its.records
        self.bytes += its.bytes
        if its.largest > self.largest:
            self.largest, self.large = its.largest, its.large
        self.first = earlier(self.first, its.first)
        self.last = later(self.last, its.last)
        self.merged = [one + other for one, other in zip(self.merged, its.merged, strict=True)]
        self.sampled += its.sampled
        self.packed += its.packed
        self.unpacked += its.unpacked
        self.codecs |= its.codecs
        self.evidence.merge(its.evidence)


@dataclass
class _Refused:
    count: int = 0
    sizes: list[int] = field(default_factory=list)
    records: set[int] = field(default_factory=set)
    evidence: Bounded = field(default_factory=Bounded)

    def merge(self, its: _Refused) -> None:
        self.count += its.count
        self.sizes = sorted({*self.sizes, *its.sizes})[-3:]
        self.records |= its.records
        self.evidence.merge(its.evidence)


class Batches(Rule):
    """Sizes of batches by client and topic."""

    KINDS = (TOO_LARGE, SMALL, NEAR_LIMIT, COMPRESSION)
    apis: ClassVar[frozenset[str]] = CONFIGS | {"Produce"}

    def __init__(self) -> None:
        self._uses: Book[tuple[str | None, str], _Use] = Book(_Use)
        self._open: Recent[tuple[Any, ...], list[list[float]]] = Recent(MOST_USES)
        """Batches that would still be open, by producer and partition: the end of each linger, and bytes so far."""
        self._refused: Book[tuple[str, str], _Refused] = Book(_Refused)
        self._limits: dict[str, tuple[float, int]] = {}
        """When a limit was told, and what it is, by topic."""

    def call(self, call: Call) -> None:
        """Take a call: batches of Produce, and the limits of topics from what others say of them, or ask for."""
        if call.api in CONFIGS:
            for topic, config in _configs(call):
                self._limit(topic, config, call.answered or call.asked or 0.0)
        else:
            refused = self._refuse(call) if SIZES.intersection(call.errors) else set()
            client, connection, time = call.who, call.connection, call.asked
            for name, number, batch in call.batches():
                if batch.crc_valid and (name, number) not in refused:
                    self._add((client, name), (connection, name, number), batch, time, call)

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a log, whose times are those of its records."""
        batch = item.item
        if not isinstance(batch, Batch) or not batch.crc_valid or item.topic is None or is_internal(item.topic):
            return
        head = batch.head
        if head.control or batch.layout.is_message:
            return
        time = head.first_time / 1000 if head.first_time >= 0 else None
        self._add((None, item.topic), (item.name, head.producer_id), batch, time, item)

    def _limit(self, topic: Any, config: dict[str, Any], time: float) -> None:
        value = config.get("value")
        if isinstance(topic, str) and config.get("name") == LIMIT and isinstance(value, str) and value.isdecimal():
            self._limits[topic] = max(self._limits.get(topic, (0.0, 0)), (time, int(value)))

    def _refuse(self, call: Call) -> set[tuple[str, int]]:
        """Take a Produce response with batches that are too large; return their topics and partitions."""
        places: set[tuple[str, int]] = set()
        for topic, partition in parts(call.response, "responses", "partitionResponses"):
            if catalog().error_name(whole(partition.get("errorCode"))) in SIZES:
                places.add((call.topic(topic), whole(partition.get("index"))))
        sizes = [
            (call.topic(topic), whole(partition.get("index")), whole(partition.get("recordsSizeInBytes")))
            for topic, partition in parts(call.request, "topicData", "partitionData")
        ]
        records = {(topic, number): batch.head.records_count for topic, number, batch in call.batches()}
        for name, number, size in sizes:
            if (name, number) in places:
                refused = self._refused[call.who, name]
                refused.count += 1
                refused.sizes = sorted({*refused.sizes, size})[-3:]
                count = records.get((name, number))
                refused.records |= {count} if count is not None and len(refused.records) < MOST_USES else set()
                refused.evidence.append(call.evidence())
        return places

    def _add(
        self, who: tuple[str | None, str], stream: tuple[Any, ...], batch: Batch, time: float | None, of: Call | LogItem
    ) -> None:
        head = batch.head
        use = self._uses[who]
        use.batches += 1
        count = head.records if head.records_count is None else max(head.records_count, 0)
        use.records += count
        use.bytes += batch.size
        if use.batches <= LEAST_BATCHES and count <= 1 and len(use.evidence) < use.evidence.most:
            use.evidence.append(_place(of, batch))
        if batch.size > use.largest:
            use.largest = batch.size
            use.large = _place(of, batch)
        if time is not None:
            if use.first is None or time < use.first:
                use.first = time
            if use.last is None or time > use.last:
                use.last = time
            self._linger(use, stream, time, batch.size)
        if head.codec and use.sampled < SAMPLES and batch.size <= LARGEST_SAMPLE and not batch.layout.is_message:
            _sample(use, batch, head.codec)

    def _linger(self, use: _Use, stream: tuple[Any, ...], time: float, size: int) -> None:
        """Try the values of linger.ms: what comes before a batch is sent is added to it."""
        open_ = self._open.get(stream)
        if open_ is None:
            self._open.keep(stream, [[time + linger / 1000, size] for linger in LINGERS])
            return
        more, merged = size - HEAD, use.merged
        for at, lingers in enumerate(open_):
            if time < lingers[0] and lingers[1] + more <= BATCH_SIZE:
                lingers[1] += more
                merged[at] += 1
            else:
                lingers[:] = time + LINGERS[at] / 1000, size

    def merge(self, other: Batches) -> None:
        merge_all(self._uses, other._uses)
        merge_all(self._refused, other._refused)
        for topic, limit in other._limits.items():
            self._limits[topic] = max(self._limits.get(topic, limit), limit)

    def findings(self) -> Iterator[Finding]:
        for (who, topic), refused in self._refused.items():
            sizes = " and ".join(map(str, reversed(refused.sizes)))
            text = f"{counted(refused.count, 'batch', 'batches')} refused, of {sizes} bytes"
            if refused.records:
                text += f" with {min(refused.records)}" + (
                    f" to {max(refused.records)} records" if len(refused.records) > 1 else
                    " record" if refused.records == {1} else " records"
                )  # fmt: skip
            if topic in self._limits:
                text += f"; {LIMIT} of the topic is {self._limits[topic][1]}"
            elif (use := self._uses.get((who, topic))) is not None and use.largest:
                text += f"; the largest accepted batch has {use.largest} bytes"
            yield Finding(TOO_LARGE, f"topic {topic}, client {who}", text, refused.evidence, refused.count)
        for (client, topic), use in self._uses.items():
            subject = f"topic {topic}" + (f", client {client}" if client else "")
            yield from _small(subject, use)
            yield from self._near(subject, topic, use)
            yield from _in_vain(subject, use)

    def _near(self, subject: str, topic: str, use: _Use) -> Iterator[Finding]:
        _, limit = self._limits.get(topic, (0.0, DEFAULT_LIMIT))
        if NEAR * limit <= use.largest <= limit:
            what = LIMIT if topic in self._limits else f"the default of {LIMIT}"
            text = f"the largest batch has {use.largest} bytes; {what} is {limit}"
            yield Finding(NEAR_LIMIT, subject, text, [use.large] if use.large else [], use.largest)


def _configs(call: Call) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield what a call tells of the configs of topics, or sets of them, each with the topic's name.

    A broker's answer to CreateTopics has the configs from version 5 on.
    """
    if call.api == "CreateTopics":
        for body in (call.response, None if call.errors else call.request):
            for topic, config in parts(body, "topics", "configs"):
                yield topic.get("name"), config
    elif call.api == "DescribeConfigs":
        for result, config in parts(call.response, "results", "configs"):
            if result.get("resourceType") == TOPIC:
                yield result.get("resourceName"), config
    elif not call.errors:
        for resource, config in parts(call.request, "resources", "configs"):
            if resource.get("resourceType") == TOPIC and config.get("configOperation") == SET:
                yield resource.get("resourceName"), config


def _place(of: Call | LogItem, batch: Batch) -> Evidence:
    if isinstance(of, tuple):
        time = batch.head.first_time
        return Evidence(
            "batch", instant(time / 1000) if time >= 0 else None, file=of.file, offset=batch.head.base_offset
        )
    return of.evidence(of_request=True)


def _sample(use: _Use, batch: Batch, codec: int) -> None:
    """Compare the bytes of a compressed batch with those of the records in it."""
    packed = batch.data[batch.position + HEAD : batch.end]
    unpacked = decompress(codec, packed, batch.source.limits)
    if unpacked.code is None:
        use.sampled += 1
        use.packed += len(packed)
        use.unpacked += len(unpacked.data)
        use.codecs.add(batch.compression)


def _small(subject: str, use: _Use) -> Iterator[Finding]:
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


def _in_vain(subject: str, use: _Use) -> Iterator[Finding]:
    if use.sampled >= LEAST_SAMPLES and use.packed >= use.unpacked:
        text = (
            f"the records of {use.sampled} batches have {use.packed} bytes with {', '.join(sorted(use.codecs))}, "
            f"and {use.unpacked} bytes without compression"
        )
        yield Finding(COMPRESSION, subject, text, use.evidence[:3], use.packed - use.unpacked)
