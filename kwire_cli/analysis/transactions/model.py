"""Transactions and their events.

Requests, records of `__transaction_state`, and batches and markers in the logs of partitions have a common event type.
Both classes are rows of a table.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Literal

from kwire_cli.analysis.call import Evidence, between, later
from kwire_cli.analysis.rows import COUNTS, FLAG, ID, NAMES, NUMBER, PLACE, PLACES, SECONDS, TEXT, TIME, Row
from kwire_cli.errors import counted, few

COMMITTED = "committed"
ABORTED = "aborted"
OPEN = "open"
UNKNOWN = "unknown"
"""The result of an open transaction if the input lacks the requests and records of the coordinator."""
MOST_EVENTS = 1 << 16
"""Maximum number of events, and of parts of transactions in logs, which take about 40 MB. Others are only counted."""
MOST_PLACES = 4
"""Maximum number of events of a transaction whose places are stored."""
NO_PRODUCER = -1

What = Literal[
    "initProducerId",
    "addPartitions",
    "verifyPartitions",
    "addOffsets",
    "commitOffsets",
    "produce",
    "endTransaction",
    "writeMarkers",
    "state",
    "records",
    "marker",
]
"""Kinds of events.

`verifyPartitions` is a broker that asks the coordinator whether a partition is in a transaction (KIP-890). `state` is
a record of `__transaction_state`; `records` and `marker` are the batches and the marker in a partition's log.
"""
REPEATED = frozenset({"addPartitions", "verifyPartitions", "produce", "commitOffsets", "addOffsets"})
"""Kinds of events that are merged if they follow each other."""


@dataclass(slots=True, kw_only=True)
class OfProducer(Row):
    """A row about a producer."""

    ordinal: Annotated[int, NUMBER, "the order of rows"] = 0
    transactional_id: Annotated[str | None, TEXT, "null if no input names it"] = None
    producer_id: Annotated[int, ID, "null if unknown"] = NO_PRODUCER
    epoch: Annotated[int, ID, "the epoch of the producer"] = NO_PRODUCER

    @property
    def name(self) -> Annotated[str, TEXT, "the transactional id, or `producer` and its id"]:
        """The transactional id, or the producer id if it is not known."""
        return self.transactional_id or f"producer {self.producer_id}"


@dataclass(slots=True, kw_only=True)
class Event(OfProducer):
    """An event of a transaction, or several requests of the same kind that follow each other.

    `partitions` contains the partitions of the event, such as `orders-0`. In a record of the coordinator, `about` is
    the state and `began` the start of the transaction. `implicit` is true if a broker adds the partitions of a Produce,
    or the group of a TxnOffsetCommit, to the transaction itself (KIP-890). `by_broker` is true if a broker sent the
    request.
    """

    event: Annotated[What, TEXT, "`initProducerId`, `addPartitions`, `produce`, `state`, `records`, …"]
    time: Annotated[float | None, TIME, "when the first request was complete, or the record was written"]
    answered: Annotated[float | None, TIME, "when the last response was complete"] = None
    count: Annotated[int, NUMBER, "the requests that the event stands for"] = 1
    is_ok: Annotated[bool, FLAG, "whether a part of the request had no error"] = True
    client: Annotated[str | None, TEXT, "the client; null in logs"] = None
    place: Annotated[Evidence, PLACE, "the frame, line or offset"]
    errors: Annotated[Counter[str], COUNTS, "the errors and how often each was answered"] = field(
        default_factory=Counter
    )
    written: Counter[str] = field(default_factory=Counter)
    """The batches, records and bytes."""
    partitions: dict[str, None] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    result: str = OPEN
    about: str = ""
    implicit: bool = False
    timeout: float | None = None
    began: float | None = None
    by_broker: bool = False

    @property
    def detail(self) -> Annotated[str, TEXT, "what the event is about"]:
        """The group, state, partitions and records of the event in a few words."""
        marker = "COMMIT" if self.result == COMMITTED else "ABORT"
        partitions = few([*self.partitions] if self.event == "state" else sorted(self.partitions))
        if self.event == "marker":
            return f"{partitions}: {marker}"
        if self.event == "writeMarkers":
            return f"{marker} to {partitions}"
        if self.event == "endTransaction":
            return "commit" if self.result == COMMITTED else "abort"
        subject = f"group {few(self.groups)}" if self.groups else ""
        written = ""
        if self.written["records"] or self.event == "records":
            batches = counted(self.written["batches"], "batch", "batches")
            written = f"{counted(self.written['records'], 'record')} in {batches}"
        text = ": ".join(filter(None, (subject, self.about, partitions, written)))
        return f"{text}, added by the broker" if self.implicit and self.event == "produce" else text

    def repeats(self, other: Event) -> bool:
        """Return whether another event has the same kind and producer. Such events can be counted as one."""
        return self.event in REPEATED and self._kind == other._kind

    @property
    def _kind(self) -> tuple[object, ...]:
        producer = self.transactional_id, self.producer_id, self.epoch
        return self.event, producer, self.client, self.is_ok, bool(self.errors)

    def extend(self, other: Event) -> None:
        """Merge a later event that repeats this one."""
        self.count += other.count
        self.answered = later(self.answered, other.answered)
        self.errors.update(other.errors)
        self.groups = tuple(dict.fromkeys((*self.groups, *other.groups)))
        self.implicit = self.implicit or other.implicit
        self.partitions |= other.partitions
        self.written.update(other.written)

    def begin(self, began: float | None, *, is_in_logs: bool = False) -> Transaction:
        """Return a transaction of the producer."""
        return Transaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            epoch=self.epoch,
            began=began,
            is_in_logs=is_in_logs,
        )


@dataclass(slots=True, kw_only=True)
class Transaction(OfProducer):
    """A transaction. `decided` determines the order of a producer's transactions.

    `added` contains the partitions in the requests to the coordinator and in its records.
    """

    began: Annotated[float | None, TIME, "null if the transaction began before the input"]
    ended: Annotated[float | None, TIME, "when the client got the answer to its end"] = None
    decided: Annotated[float | None, TIME, "when the end was requested or written"] = None
    timeout_s: Annotated[float | None, SECONDS, "transaction.timeout.ms in seconds"] = None
    result: Annotated[str, TEXT, "`committed`, `aborted`, `open`, or `unknown` without the coordinator's side"] = OPEN
    ended_by: Annotated[
        str | None, TEXT, "`client`, `coordinator` (a timeout or an operator) or `initProducerId` (another instance)"
    ] = None
    partitions: Annotated[set[str], NAMES, "the partitions, such as `orders-0`"] = field(default_factory=set)
    added: Annotated[set[str], NAMES, "the partitions that were added at the coordinator"] = field(default_factory=set)
    marked: Annotated[set[str], NAMES, "the partitions whose marker was seen"] = field(default_factory=set)
    is_from_beginning: Annotated[bool, FLAG, "whether the producer's InitProducerId was seen"] = False
    is_in_logs: Annotated[bool, FLAG, "whether logs show the transaction, not traffic"] = False
    groups: Annotated[dict[str, None], NAMES, "the groups whose offsets are in the transaction"] = field(
        default_factory=dict
    )
    written: Annotated[Counter[str], COUNTS, "the `batches`, `records` and `bytes` written"] = field(
        default_factory=Counter
    )
    errors: Annotated[Counter[str], COUNTS, "the errors and how often each was answered"] = field(
        default_factory=Counter
    )
    clients: Annotated[dict[str, None], NAMES, "the clients"] = field(default_factory=dict)
    places: Annotated[list[Evidence], PLACES, "the first events"] = field(default_factory=list)

    @property
    def duration_s(self) -> Annotated[float | None, SECONDS, "the seconds from begin to end"]:
        """Seconds from start to end."""
        return None if self.began is None or self.ended is None else max(between(self.began, self.ended), 0.0)

    @property
    def order(self) -> tuple[float, float, str, int]:
        """The sort key of transactions: start and end."""
        decided = float("inf") if self.decided is None else self.decided
        begin = min(decided, 1e18) if self.began is None else self.began
        return begin, decided, self.name, self.epoch

    def keep(self, event: Event) -> None:
        """Update the producer, the client, the errors and the places from an event."""
        self.transactional_id = self.transactional_id or event.transactional_id
        if self.producer_id == NO_PRODUCER:
            self.producer_id = event.producer_id
            self.epoch = event.epoch
        if event.client and not event.by_broker:
            self.clients[event.client] = None
        self.errors.update(event.errors)
        if len(self.places) < MOST_PLACES:
            self.places.append(event.place)

    def close(self, result: str, decided: float | None, ended: float | None, by: str | None = None) -> None:
        """End the transaction, unless it has ended already."""
        if self.result == OPEN:
            self.result = result
            self.decided = decided
            self.ended = ended
            self.ended_by = by


@dataclass(slots=True, kw_only=True)
class LogProblem(OfProducer):
    """Damage in the log of a partition, or a rule for producers that a batch breaks."""

    topic_partition: Annotated[str, TEXT, "the partition"]
    code: Annotated[str, TEXT, "`CRC_MISMATCH`, `TRUNCATED`, `SEQUENCE_GAP`, `PRODUCER_RESTARTED`, …"]
    text: Annotated[str, TEXT, "what is wrong"] = ""
    missing: Annotated[int, NUMBER, "the sequences that a gap leaves out"] = 0
    size: Annotated[int, NUMBER, "the bytes that are no batch"] = 0
    place: Annotated[Evidence, PLACE, "the batch, or the bytes; its `position` is an offset, or a place in the file"]


@dataclass(slots=True, kw_only=True)
class OpenInLog(OfProducer):
    """An open transaction in the log of a partition."""

    topic_partition: Annotated[str, TEXT, "the partition"]
    first_offset: Annotated[int, NUMBER, "the first offset of the transaction: the last stable offset"]
    end_offset: Annotated[int, NUMBER, "the end of the log"]
    since: Annotated[float | None, TIME, "the time of the first record"]
    open_s: Annotated[float, SECONDS, "the seconds from this record to the newest one of the log"]
    coordinator: Annotated[str | None, TEXT, "the state of the transactional id in `__transaction_state`"]
    is_hanging: Annotated[
        bool | None, FLAG, "whether the coordinator does not know of the transaction; null if that is not clear"
    ]
    place: Annotated[Evidence, PLACE, "the first record"]
