"""Parts of a summary: the course of traffic, what a capture lacks, and what logs hold. All can be merged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.call import LocalTime, moment, nanoseconds
from kwire_cli.analysis.clients import Clients
from kwire_cli.analysis.stats import Stats
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import MAGIC_V2
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.stores import is_file, sizes

if TYPE_CHECKING:
    from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
    from kwire_cli.analysis.diagnosis.model import LogItem
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection
    from kwire_cli.source.reading import Opened
    from kwire_cli.source.request_log.exchange import Exchange

MOST_GROUPS = 10_000
"""Apis and brokers that are counted one by one."""
MOST_SECONDS = 1 << 16
"""Seconds that are counted one by one: 18 hours of traffic. Of longer traffic the busiest half stays at a time."""
MOST_SLOW = 5
"""Calls that are kept as the slowest."""
_SECOND = 1_000_000_000


class Slow(NamedTuple):
    """A call that took long: seconds, the number of the frame or line, and whose call it was."""

    latency: float
    number: int
    api: str
    client: str
    broker: str
    node: int | None
    time: str | None
    capture: str | None


def _by_latency(slow: Slow) -> tuple[float, int, str, str, str, str]:
    """Return the key that sorts calls, the slowest first, in the same way wherever they were read."""
    return -slow.latency, slow.number, slow.time or "", slow.broker, slow.client, slow.api


@dataclass
class Span:
    """The times from the first to the last, in nanoseconds."""

    first: int | None = None
    last: int | None = None

    def add(self, time: int | None) -> None:
        """Take a time in."""
        if time is not None:
            self.first = time if self.first is None or time < self.first else self.first
            self.last = time if self.last is None or time > self.last else self.last

    def merge(self, other: Span) -> None:
        """Take the times of another one in."""
        self.add(other.first)
        self.add(other.last)

    @property
    def seconds(self) -> float | None:
        """How long it is."""
        return None if self.first is None or self.last is None else (self.last - self.first) / _SECOND


@dataclass
class Course:
    """The course of traffic: times, requests and bytes by second, and the slowest calls.

    Calls that a broker holds back on purpose, such as Fetch, are not among the slowest.
    """

    span: Span = field(default_factory=Span)
    seconds: dict[int, list[int]] = field(default_factory=dict)
    slowest: list[Slow] = field(default_factory=list)
    bytes: int = 0
    requests: int = 0
    is_local: bool = False
    """True if times come from a clock whose zone is not known."""

    def add_line(self, line: Captured) -> None:
        """Take in a line of a capture."""
        seen = line.seen
        time, kind = seen.time, seen.kind
        is_request = kind == "request"
        size = seen.size if is_request or kind == "response" else 0
        self.bytes += size
        self.requests += is_request
        if time is not None:
            span = self.span
            if span.last is None or span.first is None or time < span.first:
                span.add(time)
            elif time > span.last:
                span.last = time
            second = time // _SECOND
            row = self.seconds.get(second)
            if row is None:
                row = self._row(second)
            row[0] += is_request
            row[1] += size
        if kind == "response" and not line.delayed and (latency := line.latency) is not None and self._is_slow(latency):
            who = line.client_id or line.dst
            place = line.src, line.broker, line.time, line.origin.capture
            self._add_slow(Slow(latency, line.number, line.api or f"api {line.api_key}", who, *place))

    def add_exchange(self, exchange: Exchange) -> None:
        """Take in an exchange of a request log, whose bytes nobody counted."""
        time = moment(exchange.time)
        self.requests += 1
        if time is not None:
            self.is_local = self.is_local or isinstance(time, LocalTime)
            self.span.add(nanoseconds(time))
            self._row(int(time // 1))[0] += 1
        latency = exchange.seconds
        api = exchange.api or f"api {exchange.api_key}"
        if latency is not None and self._is_slow(latency) and not exchange.delayed:
            who, broker = exchange.client_id or exchange.client or "", exchange.broker or exchange.connection
            self._add_slow(Slow(latency, exchange.line, api, who, broker, None, exchange.time, None))

    def _row(self, second: int) -> list[int]:
        """Return the requests and bytes of a second."""
        if second not in self.seconds and len(self.seconds) >= MOST_SECONDS:
            busiest = sorted(self.seconds.items(), key=lambda item: (-item[1][1], -item[1][0], item[0]))
            self.seconds = dict(busiest[: MOST_SECONDS // 2])
        return self.seconds.setdefault(second, [0, 0])

    def _is_slow(self, latency: float) -> bool:
        return len(self.slowest) < MOST_SLOW or latency >= self.slowest[-1].latency

    def _add_slow(self, slow: Slow) -> None:
        self.slowest = sorted([*self.slowest, slow], key=_by_latency)[:MOST_SLOW]

    def merge(self, other: Course) -> None:
        """Take in the course of other traffic."""
        self.span.merge(other.span)
        self.bytes += other.bytes
        self.requests += other.requests
        self.is_local = self.is_local or other.is_local
        for second, (requests, size) in other.seconds.items():
            row = self._row(second)
            row[0] += requests
            row[1] += size
        for slow in other.slowest:
            self._add_slow(slow)

    def peak(self, column: int) -> tuple[int | None, int]:
        """Return the second with the most requests (column 0) or bytes (1), and how many there were in it."""
        if not self.seconds:
            return None, 0
        second, row = min(self.seconds.items(), key=lambda item: (-item[1][column], item[0]))
        return second, row[column]


@dataclass
class Lacks:
    """Counts of what is missing in a capture: bytes, beginnings of connections, one side of them, keys of TLS.

    `sizes` and `counts` are bytes and places by the code of a gap. Connections count if they carried payload.
    `protocols` are bytes by what was spoken in place of Kafka, and `encrypted` counts pieces of TLS without a key.
    """

    counts: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    headless: int = 0
    one_sided: int = 0
    protocols: Counter[str] = field(default_factory=Counter)
    encrypted: int = 0

    def add_line(self, line: Captured) -> None:
        """Take in a line that is neither a request nor a response."""
        if line.kind == "gap":
            code = line.code or "NOT_RECOGNISED"
            self.counts[code] += 1
            self.sizes[code] += line.seen.size
        elif line.seen.kind == "not-kafka" and not line.seen.content:  # that is the handshake of TLS that was decrypted
            self.protocols[line.seen.protocol or "unknown"] += line.seen.size
            self.encrypted += bool(line.seen.reason)

    def add_connection(self, connection: TcpConnection) -> None:
        """Take in a TCP connection that has ended."""
        if connection.is_unused:
            return
        self.connections += 1
        self.headless += not connection.opened
        self.one_sided += not all(connection.heard)

    def merge(self, other: Lacks) -> None:
        """Take in what other captures lack."""
        self.counts.update(other.counts)
        self.sizes.update(other.sizes)
        self.connections += other.connections
        self.headless += other.headless
        self.one_sided += other.one_sided
        self.protocols.update(other.protocols)
        self.encrypted += other.encrypted


@dataclass
class Partition:
    """The batches of a partition: how many, their records and bytes, offsets and times (milliseconds)."""

    batches: int = 0
    records: int = 0
    bytes: int = 0
    gaps: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    first: int | None = None
    last: int | None = None
    codecs: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)

    def add(self, file: str, item: Batch) -> None:
        """Count a batch."""
        head = item.head
        self.files.add(file)
        self.batches += 1
        self.bytes += item.size
        is_wrapper = item.magic < MAGIC_V2 and item.compression != "none"  # these say no number of records
        self.records += sum(1 for _ in item.records()) if is_wrapper else head.records
        self.codecs[item.compression] += 1
        self.formats[f"v{item.magic}"] += 1
        self._span(head.base_offset, head.last_offset)
        self._time(head.first_time, head.max_timestamp)

    def _span(self, first: int | None, last: int | None) -> None:
        if first is not None:
            self.first_offset = first if self.first_offset is None else min(self.first_offset, first)
        if last is not None:
            self.last_offset = last if self.last_offset is None else max(self.last_offset, last)

    def _time(self, *times: int | None) -> None:
        for time in times:
            if time is not None and time >= 0:
                self.first = time if self.first is None else min(self.first, time)
                self.last = time if self.last is None else max(self.last, time)

    def merge(self, other: Partition) -> None:
        """Count the batches of another part of the partition."""
        self.batches += other.batches
        self.records += other.records
        self.bytes += other.bytes
        self.gaps += other.gaps
        self._span(other.first_offset, other.last_offset)
        self._time(other.first, other.last)
        self.codecs.update(other.codecs)
        self.formats.update(other.formats)
        self.files |= other.files


@dataclass
class Logs:
    """The contents of log directories by partition: pairs of a topic and a partition, or a file alone."""

    partitions: dict[tuple[str, int | None], Partition] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)

    def add(self, entry: LogItem) -> None:
        """Count a batch or the bytes between two."""
        item = entry.item
        is_named = entry.topic is not None and entry.partition is not None
        key = (entry.topic or entry.file, entry.partition if is_named else None)
        partition = self.partitions.setdefault(key, Partition())
        if isinstance(item, Batch):
            partition.add(entry.file, item)
        else:
            partition.files.add(entry.file)
            partition.gaps += 1
            self.gaps[item.code] += 1

    def merge(self, other: Logs) -> None:
        """Count what other logs hold."""
        for key, its in other.partitions.items():
            self.partitions.setdefault(key, Partition()).merge(its)
        self.gaps.update(other.gaps)

    def total(self) -> Partition:
        """Return the counts of all partitions together; its offsets mean nothing."""
        total = Partition()
        for partition in self.partitions.values():
            total.merge(partition)
        return total


class InputFacts(NamedTuple):
    """An input that was read: its name as it was given, its kind, files and bytes, and why its reading ended early."""

    name: str
    kind: str
    files: int = 1
    size: int | None = None
    notices: tuple[str, ...] = ()


def facts_of(opened: Opened) -> InputFacts:
    """Return what is known of an input as a whole, when it was read."""
    if isinstance(opened, CaptureInput):
        notices = tuple(notice.text for notice in opened.capture.notices)
        return InputFacts(opened.label, opened.kind, max(len(opened.files), 1), opened.size or None, notices)
    name = opened.recognised.name
    size = sum(sizes([name])) if name is not None and is_file(name) else None
    return InputFacts(opened.label, opened.kind, 1, size)


def _stats() -> Stats:
    return Stats(groups={"api": {}, "broker": {}}, most=MOST_GROUPS)


@dataclass
class Contents:
    """The contents of inputs: the inputs themselves, what several folds counted, and what is counted here."""

    diagnosis: Diagnosis
    inputs: list[InputFacts] = field(default_factory=list)
    stats: Stats = field(default_factory=_stats)
    clients: Clients = field(default_factory=Clients)
    course: Course = field(default_factory=Course)
    lacks: Lacks = field(default_factory=Lacks)
    logs: Logs = field(default_factory=Logs)
