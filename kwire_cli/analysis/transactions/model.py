"""Events of transactions, and transactions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from kwire_cli.analysis.call import Evidence, between, instant, later

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMITTED, ABORTED, OPEN, UNKNOWN = "committed", "aborted", "open", "unknown"
"""Results of transactions. It is unknown where the coordinator's side is not in the input."""
MOST_EVENTS = 1 << 16
"""Events, and parts of transactions in logs, that are kept: some 40 MB of them. Others are counted."""
MOST_PLACES = 4
"""Events of a transaction whose places are kept."""
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
a record of `__transaction_state`; `records` and `marker` are those of a partition's log.
"""


Written = Counter[str]
"""Counts of the batches, records and bytes of a partition."""


@dataclass(slots=True)
class Event:
    """An event of a transaction in traffic or in a log, or some requests of the same kind that follow each other.

    `time` is when the first request was complete, `answered` when the last response was; both are seconds since 1970.
    `partitions` are those that the event is about, such as `orders-0`. `implicit` says that a broker adds the
    partitions of a Produce or the group of a TxnOffsetCommit to the transaction by itself (KIP-890). `ok` says that
    there was a response without an error for a part of the request at least. `by_broker` says that a broker sent the
    request.
    """

    what: What
    time: float | None
    answered: float | None
    transactional_id: str | None
    producer_id: int
    epoch: int
    place: Evidence
    client: str = ""
    partitions: dict[str, Written] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    result: str = ""
    errors: Counter[str] = field(default_factory=Counter)
    detail: str = ""
    implicit: bool = False
    ok: bool = True
    count: int = 1
    timeout: float | None = None
    by_broker: bool = False

    def repeats(self, other: Event) -> bool:
        """Return whether another event is of the same kind and producer, so that both can count as one."""
        return (
            self.what == other.what
            and self.what in {"addPartitions", "verifyPartitions", "produce", "commitOffsets", "addOffsets"}
            and (self.transactional_id, self.producer_id, self.epoch) == (
                other.transactional_id, other.producer_id, other.epoch
            )
            and self.client == other.client
            and self.ok == other.ok
            and bool(self.errors) == bool(other.errors)
        )  # fmt: skip

    def extend(self, other: Event) -> None:
        """Take in a later event that repeats this one."""
        self.count += other.count
        self.answered = later(self.answered, other.answered)
        self.errors.update(other.errors)
        self.groups = tuple(dict.fromkeys((*self.groups, *other.groups)))
        self.implicit = self.implicit or other.implicit
        for name, written in other.partitions.items():
            self.partitions.setdefault(name, Written()).update(written)


class StateRecord(NamedTuple):
    """A record of `__transaction_state`: the state of a transactional id from then on; times are in seconds.

    `start` is when the transaction began, None without one.
    """

    offset: int
    time: float | None
    transactional_id: str
    producer_id: int
    epoch: int
    state: str
    partitions: tuple[str, ...]
    start: float | None
    timeout: float | None
    file: str

    @property
    def result(self) -> str:
        """The result of its transaction: open until it is decided."""
        if self.state.endswith("Commit"):
            return COMMITTED
        return ABORTED if self.state.endswith("Abort") else OPEN


@dataclass(slots=True)
class Piece:
    """The part of a transaction in the log of one partition: its records, and the marker that ends it.

    Offsets are -1 and times None without records or without a marker. Times are seconds.
    """

    producer_id: int
    epoch: int
    file: str
    first: int = -1
    begin: float | None = None
    written: Written = field(default_factory=Written)
    marker: int = -1
    marker_epoch: int = -1
    marked: float | None = None
    result: str = ""

    @property
    def at(self) -> int:
        """The first offset."""
        return self.first if self.first >= 0 else self.marker

    @property
    def place(self) -> Evidence:
        """The place of its first record."""
        return Evidence("records", instant(self.begin), file=self.file, offset=self.first)

    @property
    def end(self) -> Evidence:
        """The place of its marker, or of its first record if it has none."""
        if not self.result:
            return self.place
        return Evidence("marker", instant(self.marked), file=self.file, offset=self.marker)

    def extend(self, later: Piece) -> None:
        """Add the part that follows in the log."""
        self.first = self.first if self.first >= 0 else later.first
        self.begin = self.begin if self.begin is not None else later.begin
        self.written.update(later.written)
        self.result = later.result
        self.marker = later.marker
        self.marked = later.marked
        self.marker_epoch = later.marker_epoch


@dataclass(slots=True)
class Transaction:
    """A transaction. Its fields and properties have the names of the columns in `transactions/tables`.

    `began` is None if it began before the input. `decided` is the time of the request for its end, or of the record,
    which orders transactions of one producer; `ended` is the time of the answer to the client. `ended_by` is `client`,
    `coordinator` (a timeout or an operator) or `initProducerId` (another or a new instance).
    """

    transactional_id: str | None
    producer_id: int
    epoch: int
    began: float | None
    decided: float | None = None
    ended: float | None = None
    result: str = OPEN
    written: dict[str, Written] = field(default_factory=dict)
    """Counts by partition."""
    groups: dict[str, None] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    clients: dict[str, None] = field(default_factory=dict)
    ended_by: str = ""
    timeout_s: float | None = None
    added: set[str] = field(default_factory=set)
    """Partitions that the coordinator knows."""
    marked: set[str] = field(default_factory=set)
    """Partitions whose marker was seen."""
    is_from_beginning: bool = False
    """Whether the input has the producer's InitProducerId, and so all of its requests to the coordinator."""
    coordinated: bool = True
    """Whether the input has requests to the coordinator."""
    places: list[Evidence] = field(default_factory=list)

    @property
    def partitions(self) -> list[str]:
        """The partitions."""
        return sorted(self.written)

    @property
    def duration_s(self) -> float | None:
        """Seconds from begin to end."""
        return None if self.began is None or self.ended is None else max(between(self.began, self.ended), 0.0)

    def close(self, result: str, decided: float | None, ended: float | None, by: str) -> None:
        """End the transaction, unless that is so already."""
        if self.result == OPEN:
            self.result, self.decided, self.ended, self.ended_by = result, decided, ended, by

    def write(self, partition: str, counts: Mapping[str, int] = MappingProxyType({})) -> None:
        """Take a partition, and counts of what was written to it."""
        self.written.setdefault(partition, Written()).update(counts)

    def show(self, place: Evidence) -> None:
        """Keep the place of an event, unless there are enough."""
        if len(self.places) < MOST_PLACES:
            self.places.append(place)

    @property
    def name(self) -> str:
        """The transactional id, or the producer id if it is not known."""
        return self.transactional_id or f"producer {self.producer_id}"


def total(partitions: Mapping[str, Written]) -> Written:
    """Return the counts of all partitions together."""
    return sum(partitions.values(), Written())
