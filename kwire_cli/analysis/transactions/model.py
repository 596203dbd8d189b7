"""Transactions and their events.

Requests, records of `__transaction_state`, and batches and markers in the logs of partitions have a common event type.
Fields and properties of events and transactions have the names of the columns in `transactions/tables`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kwire_cli.analysis.call import between, later
from kwire_cli.errors import counted, few

if TYPE_CHECKING:
    from kwire_cli.analysis.call import Evidence

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


@dataclass(slots=True)
class Event:
    """An event of a transaction, or several requests of the same kind that follow each other.

    `time` is the time of the first complete request, and `answered` the time of the last complete response, in seconds
    since 1970. `partitions` contains the partitions of the event, such as `orders-0`, and `written` counts the batches,
    records and bytes that were written to them. In a record of the coordinator, `about` is the state and `began` the
    start of the transaction. `implicit` is true if a broker adds the partitions of a Produce, or the group of a
    TxnOffsetCommit, to the transaction itself (KIP-890). `is_ok` is true if there was a response without an error for
    at least a part of the request. `by_broker` is true if a broker sent the request.
    """

    event: What
    time: float | None
    answered: float | None
    transactional_id: str | None
    producer_id: int
    epoch: int
    place: Evidence
    client: str | None = None
    partitions: dict[str, None] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)
    groups: tuple[str, ...] = ()
    result: str = OPEN
    errors: Counter[str] = field(default_factory=Counter)
    about: str = ""
    implicit: bool = False
    is_ok: bool = True
    count: int = 1
    timeout: float | None = None
    began: float | None = None
    by_broker: bool = False

    @property
    def name(self) -> str:
        """The transactional id, or the producer id if it is not known."""
        return self.transactional_id or f"producer {self.producer_id}"

    @property
    def detail(self) -> str:
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


@dataclass(slots=True)
class Transaction:
    """A transaction.

    `began` is None if the transaction began before the input. `decided` is the time of the request or record that ends
    the transaction, and determines the order of a producer's transactions. `ended` is the time of the response to the
    client. `ended_by` is `client`, `coordinator` (a timeout or an operator) or `initProducerId` (another or a new
    instance).
    """

    transactional_id: str | None
    producer_id: int
    epoch: int
    began: float | None
    is_in_logs: bool = False
    decided: float | None = None
    ended: float | None = None
    result: str = OPEN
    partitions: set[str] = field(default_factory=set)
    written: Counter[str] = field(default_factory=Counter)
    """The batches, records and bytes."""
    groups: dict[str, None] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    clients: dict[str, None] = field(default_factory=dict)
    ended_by: str | None = None
    timeout_s: float | None = None
    added: set[str] = field(default_factory=set)
    """Partitions in the requests to the coordinator and in its records."""
    marked: set[str] = field(default_factory=set)
    """Partitions with a marker in the input."""
    is_from_beginning: bool = False
    """Whether the input contains the producer's InitProducerId, and therefore all its requests to the coordinator."""
    places: list[Evidence] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The transactional id, or the producer id if it is not known."""
        return self.transactional_id or f"producer {self.producer_id}"

    @property
    def duration_s(self) -> float | None:
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
