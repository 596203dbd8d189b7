"""Assembly of transactions from the requests of producers, brokers and coordinators.

Events are assigned to transactions in the order of time, by producer id and epoch. If traffic was lost, several
transactions of a producer may wait for their markers, so previous transactions are searched too.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kwire_cli.analysis.transactions.model import ABORTED, NO_PRODUCER, OPEN, UNKNOWN
from kwire_cli.spec.kafka import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.analysis.transactions.model import Event, Transaction

COORDINATED = frozenset({"initProducerId", "addPartitions", "addOffsets", "endTransaction", "writeMarkers"})
"""Events whose request the coordinator receives or sends."""
WAITS = "CONCURRENT_TRANSACTIONS"
"""The error of a coordinator that has not completed the previous transaction yet."""
FENCES = frozenset({"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"})
NOT_OPEN = FENCES | {"INVALID_PRODUCER_ID_MAPPING", "INVALID_TXN_STATE"}
"""The errors of EndTxn that show that the transaction has ended. INVALID_TXN_STATE may follow a timeout (KIP-890)."""
MOST_UNMARKED = 4
"""Maximum number of transactions of a producer with pending markers. Only lost traffic leaves more than one."""


def transactions_in_traffic(events: Iterable[Event]) -> list[Transaction]:
    """Return the transactions, sorted by start time. `events` must be in the order of their times."""
    timelines: dict[str, _Timeline] = {}
    for event in events:
        timelines.setdefault(event.name, _Timeline()).take(event)
    found: list[Transaction] = []
    for timeline in timelines.values():
        found += timeline.finished()
    return sorted(found, key=lambda transaction: transaction.order)


class _Timeline:
    """Assembles the transactions of one producer from its events in the order of time."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.current: Transaction | None = None
        self.is_from_beginning = False
        self.is_coordinated = False
        self.newest = NO_PRODUCER, NO_PRODUCER
        """The producer id and the epoch of the newest instance."""
        self.timeout: float | None = None
        self.aborting: float | None = None
        self.errors: Counter[str] = Counter()
        """The errors since the last transaction. They are added to the next one."""

    def take(self, event: Event) -> None:
        self.is_coordinated = self.is_coordinated or event.event in COORDINATED
        if event.event == "initProducerId":
            self._init(event)
        elif event.event == "writeMarkers":
            self._markers(event)
        elif event.event == "verifyPartitions":
            if self.current is not None:
                self.current.keep(event)
        elif self._is_old(event):
            self._keep_old(event)
        elif event.event == "endTransaction":
            self._end(event)
        else:
            self._part(event)

    def finished(self) -> list[Transaction]:
        for transaction in self.transactions:
            if transaction.result == OPEN and not self.is_coordinated:
                transaction.result = UNKNOWN
        return self.transactions

    def _init(self, event: Event) -> None:
        if not event.is_ok:
            if self.current is not None:
                self.current.errors.update(event.errors)
                if self.aborting is None and WAITS in event.errors:
                    self.aborting = event.time  # the coordinator aborts, and the client sends the request again
            return
        if self.current is not None:
            decided = event.time if self.aborting is None else self.aborting
            self.current.close(ABORTED, decided, event.answered, "initProducerId")
            self.current = None
        self.aborting = None
        self.newest = event.producer_id, event.epoch
        self.is_from_beginning = True
        self.timeout = event.timeout

    def _part(self, event: Event) -> None:
        if not event.is_ok and self.current is None:
            self.errors.update(event.errors)
            return
        transaction = self.current or self._begin(event, event.time)
        transaction.keep(event)
        if event.event == "addPartitions" or event.implicit:
            transaction.added.update(event.partitions)
        if event.is_ok or event.event == "produce":
            transaction.partitions.update(event.partitions)
            transaction.written.update(event.written)
            transaction.groups.update(dict.fromkeys(event.groups))

    def _is_old(self, event: Event) -> bool:
        """Return whether an event has an older epoch, and so comes from an instance that was fenced."""
        producer, epoch = self.newest
        if event.epoch == NO_PRODUCER or event.producer_id != producer:
            return False
        return event.epoch < epoch or (event.epoch == epoch and bool(FENCES & event.errors.keys()))

    def _keep_old(self, event: Event) -> None:
        """Count an event of an older epoch with the transaction of that epoch, which has ended by now."""
        for own in reversed(self.transactions):
            if own.epoch <= event.epoch:
                own.keep(event)
                if own is self.current and own.epoch == event.epoch:
                    self._abort(event)
                return

    def _abort(self, event: Event) -> None:
        """End the current transaction, which the coordinator has aborted before an event that is refused."""
        transaction = self.current
        self.current = None
        if transaction is None:
            return
        began = transaction.began
        timeout = transaction.timeout_s
        open_s = None if began is None or event.time is None else event.time - began
        is_late = open_s is not None and timeout is not None and open_s >= timeout
        transaction.close(ABORTED, event.time, event.answered, "coordinator" if is_late else None)

    def _begin(self, event: Event, began: float | None) -> Transaction:
        transaction = event.begin(began)
        transaction.is_from_beginning = self.is_from_beginning
        transaction.timeout_s = self.timeout
        transaction.errors.update(self.errors)
        self.errors.clear()
        if event.producer_id != NO_PRODUCER:
            self.newest = event.producer_id, event.epoch
        self.transactions.append(transaction)
        self.current = transaction
        return transaction

    def _end(self, event: Event) -> None:
        last = self.transactions[-1] if self.transactions else None
        if not event.is_ok:
            if last is not None:
                last.keep(event)
            if NOT_OPEN & event.errors.keys():
                self._abort(event)
            return
        if self.current is None and last is not None:
            if last.ended_by == "coordinator" and last.result == event.result:  # an operator wrote a marker earlier
                last.keep(event)
                last.ended_by = "client"
                last.decided = event.time
                last.ended = event.answered
                last.marked.clear()
            return  # else sent again, or the end of a transaction without records
        if self.current is None and self.is_from_beginning:
            return  # the end of a transaction without records
        transaction = self.current or self._begin(event, None)
        transaction.keep(event)
        transaction.close(event.result, event.time, event.answered, "client")
        self.current = None

    def _markers(self, event: Event) -> None:
        # The epoch does not identify the transaction: since KIP-890 a marker has the next epoch.
        ended = (own for own in self.transactions[-MOST_UNMARKED:] if own.result == event.result)
        transaction = next((own for own in ended if _waits_for(own, event)), self.current) or self._begin(event, None)
        transaction.keep(event)
        if event.is_ok:
            transaction.marked.update(event.partitions)
        transaction.partitions.update(event.partitions)
        transaction.close(event.result, event.time, event.answered, "coordinator")
        if transaction is self.current:
            self.current = None


def _waits_for(transaction: Transaction, event: Event) -> bool:
    """Return whether a transaction that has ended waits for the markers of an event."""
    if transaction.marked & event.partitions.keys():
        return False
    return transaction.ended_by == "coordinator" or any(
        name in transaction.partitions or (transaction.groups and name.startswith(CONSUMER_OFFSETS))
        for name in event.partitions
    )
