"""Transactions put together from the events of traffic, the coordinator's records and the logs of partitions."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from kwire_cli.analysis.call import Evidence, instant
from kwire_cli.analysis.transactions.logs import REMOVED
from kwire_cli.analysis.transactions.model import ABORTED, NO_PRODUCER, OPEN, UNKNOWN, Transaction
from kwire_cli.spec.kafka import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire_cli.analysis.transactions.model import Event, Piece, StateRecord

Identity = str | int
"""A transactional id, or a producer id where no transactional id is known."""
SLACK = 0.002
"""Seconds by which times of two sources differ though they mean the same: those of logs have milliseconds."""
BEGINS = frozenset({"addPartitions", "addOffsets", "produce", "commitOffsets"})
COORDINATED = frozenset({"initProducerId", "addPartitions", "addOffsets", "endTransaction", "writeMarkers"})
"""Events in what the coordinator is told, or tells."""
WAITS = "CONCURRENT_TRANSACTIONS"
"""The error of a coordinator that still ends the transaction before."""
FENCES = frozenset({"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"})
MOST_LOOKED_AT = 64
"""Transactions of a producer that are looked at for the one that a record or a marker belongs to."""
MOST_UNMARKED = 4
"""Transactions of a producer whose markers may be pending: more than one only where traffic was lost."""


def transactions_of(
    events: Iterable[Event],
    records: Iterable[StateRecord],
    pieces: Mapping[int, Sequence[tuple[str, Piece]]],
    names: Mapping[int, str],
) -> list[Transaction]:
    """Return all transactions, by the time of their begin.

    `events` are in the order of their times, `records` by their offsets; `names` are transactional ids by producer id.
    """
    by_identity: dict[Identity, list[Event]] = {}
    for event in events:
        by_identity.setdefault(_identity(event.transactional_id, event.producer_id, names), []).append(event)
    timelines = {identity: _of_events(own) for identity, own in by_identity.items()}
    by_name: dict[str, list[StateRecord]] = {}
    for record in records:
        by_name.setdefault(record.transactional_id, []).append(record)
    for name, own_records in by_name.items():
        timelines[name] = _together(timelines.get(name, []), _of_records(own_records))
    for producer, own_pieces in pieces.items():
        identity = names.get(producer, producer)
        timelines[identity] = _with_logs(timelines.get(identity, []), own_pieces, names.get(producer))
    for identity, timeline in timelines.items():
        for transaction in timeline:
            transaction.transactional_id = identity if isinstance(identity, str) else None
            if transaction.result == OPEN and not transaction.coordinated:
                transaction.result = UNKNOWN
    everything = [transaction for timeline in timelines.values() for transaction in timeline]
    return sorted(everything, key=_order)


def _identity(name: str | None, producer: int, names: Mapping[int, str]) -> Identity:
    return name if name is not None else names.get(producer, producer)


def _order(transaction: Transaction) -> tuple[float, float, str, int]:
    decided = transaction.decided if transaction.decided is not None else float("inf")
    begin = transaction.began if transaction.began is not None else min(decided, 1e18)
    return begin, decided, transaction.name, transaction.epoch


# From traffic


def _of_events(events: Iterable[Event]) -> list[Transaction]:
    """Return the transactions of one producer from its events in the order of time."""
    timeline = _Timeline()
    coordinated = False
    for event in events:
        timeline.take(event)
        coordinated = coordinated or event.what in COORDINATED
    for transaction in timeline.transactions:
        transaction.coordinated = coordinated
    return timeline.transactions


class _Timeline:
    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.current: Transaction | None = None
        self.from_beginning = False
        self.newest = NO_PRODUCER, NO_PRODUCER
        """The producer id and the epoch of the newest instance."""
        self.timeout: float | None = None
        self.aborting: float | None = None
        self.before: list[Event] = []  # that failed, and belong to the transaction that begins next

    def take(self, event: Event) -> None:
        if event.what == "initProducerId":
            self._init(event)
        elif event.what == "endTransaction":
            self._end(event)
        elif event.what == "writeMarkers":
            self._markers(event)
        elif event.what in BEGINS:
            self._part(event)
        elif self.current is not None:
            _keep(self.current, event)

    def _init(self, event: Event) -> None:
        if not event.ok:
            if self.current is not None:
                self.current.errors.update(event.errors)
                if self.aborting is None and WAITS in event.errors:
                    self.aborting = event.time  # the coordinator aborts, and the client asks again
            return
        if self.current is not None:
            decided = event.time if self.aborting is None else self.aborting
            self.current.close(ABORTED, decided, event.answered, "initProducerId")
            self.current = None
        self.aborting = None
        self.newest = event.producer_id, event.epoch
        self.from_beginning, self.timeout = True, event.timeout

    def _part(self, event: Event) -> None:
        if self._is_old(event):
            self._keep_old(event)
            return
        if not event.ok and self.current is None:
            self.before.append(event)
            return
        transaction = self.current or self._begin(event)
        _keep(transaction, event)
        if event.what == "addPartitions" or event.implicit:
            transaction.added.update(event.partitions)
        if event.ok or event.what == "produce":
            for name, written in event.partitions.items():
                transaction.write(name, written)
            transaction.groups.update(dict.fromkeys(event.groups))

    def _is_old(self, event: Event) -> bool:
        """Return whether an event is of an older epoch, and so of an instance that was fenced."""
        producer, epoch = self.newest
        if event.epoch == NO_PRODUCER or event.producer_id != producer:
            return False
        return event.epoch < epoch or (event.epoch == epoch and bool(FENCES & event.errors.keys()))

    def _keep_old(self, event: Event) -> None:
        """Count an event of an older epoch with the transaction of that epoch."""
        for own in reversed(self.transactions):
            if own.epoch <= event.epoch:
                _keep(own, event)
                return

    def _begin(self, event: Event) -> Transaction:
        transaction = Transaction(event.transactional_id, event.producer_id, event.epoch, event.time)
        transaction.is_from_beginning, transaction.timeout_s = self.from_beginning, self.timeout
        for failed in self.before:
            transaction.errors.update(failed.errors)
        self.before.clear()
        if event.producer_id != NO_PRODUCER:
            self.newest = event.producer_id, event.epoch
        self.transactions.append(transaction)
        self.current = transaction
        return transaction

    def _end(self, event: Event) -> None:
        transaction = self.current
        if self._is_old(event):
            self._keep_old(event)
            return
        if not event.ok:
            if owner := transaction or (self.transactions[-1] if self.transactions else None):
                _keep(owner, event)
            return
        if transaction is None:
            last = self.transactions[-1] if self.transactions else None
            if last is not None and last.ended_by == "coordinator" and last.result == event.result:
                _keep(last, event)  # an operator wrote a marker before
                last.ended_by, last.decided, last.ended = "client", event.time, event.answered
                last.marked.clear()
                return
            if last is not None or self.from_beginning:
                return  # sent again, or of a transaction without records
            transaction = self._begin(event)
            transaction.began = None
        _keep(transaction, event)
        transaction.close(event.result, event.time, event.answered, "client")
        self.current = None

    def _markers(self, event: Event) -> None:
        # The epoch does not tell which one is meant: since KIP-890 a marker has the next epoch.
        ended = (own for own in self.transactions[-MOST_UNMARKED:] if own.result == event.result)
        transaction = next((own for own in ended if _waits_for(own, event)), self.current)
        if transaction is None:
            transaction = self._begin(event)
            transaction.began = None
        _keep(transaction, event)
        if event.ok:
            transaction.marked.update(event.partitions)
        for name in event.partitions:
            transaction.write(name)
        transaction.close(event.result, event.time, event.answered, "coordinator")
        if transaction is self.current:
            self.current = None


def _waits_for(transaction: Transaction, event: Event) -> bool:
    """Return whether a transaction that has ended waits for the markers of an event."""
    if transaction.marked & event.partitions.keys():
        return False
    return transaction.ended_by == "coordinator" or any(
        name in transaction.written or (transaction.groups and name.startswith(CONSUMER_OFFSETS))
        for name in event.partitions
    )


def _keep(transaction: Transaction, event: Event) -> None:
    transaction.transactional_id = transaction.transactional_id or event.transactional_id
    if transaction.producer_id == NO_PRODUCER:
        transaction.producer_id, transaction.epoch = event.producer_id, event.epoch
    if event.client and not event.by_broker:
        transaction.clients[event.client] = None
    transaction.errors.update(event.errors)
    transaction.show(event.place)


# From the coordinator's records


def _of_records(records: Iterable[StateRecord]) -> list[Transaction]:
    """Return the transactions of one transactional id from its records in the order of the log."""
    transactions: list[Transaction] = []
    current: Transaction | None = None
    for record in records:
        if record.state in {"Empty", "Dead", REMOVED}:
            current = None
            continue
        start = record.start if record.start is not None else record.time
        if current is None or (record.state == "Ongoing" and current.result != OPEN):
            current = Transaction(record.transactional_id, record.producer_id, record.epoch, start)
            current.timeout_s = record.timeout
            place = Evidence(f"{record.state} record", instant(record.time), file=record.file, offset=record.offset)
            current.show(place)
            transactions.append(current)
            if record.start is None:
                current.began = None
        for name in record.partitions:
            current.write(name)
            current.added.add(name)
        if record.result != OPEN:
            current.close(record.result, record.time, record.time, "")
        if record.state.startswith("Complete"):
            current = None
    return transactions


def _together(timeline: list[Transaction], others: list[Transaction]) -> list[Transaction]:
    """Return the transactions of one transactional id by traffic and by the coordinator's records."""
    additional = []
    ended = _Ended(timeline)
    for other in others:
        own = ended.match(other.decided, other.epoch, other.began)
        if own is None:
            additional.append(other)
            continue
        own.added |= other.added
        for name in other.written:
            own.write(name)
        own.timeout_s = own.timeout_s if own.timeout_s is not None else other.timeout_s
        if own.result == OPEN and other.result != OPEN:
            own.close(other.result, other.decided, other.ended, "coordinator")
    return sorted([*timeline, *additional], key=_order)


class _Ended:
    """The transactions of one producer by the time of their begin, to find the one that ended at a time."""

    def __init__(self, timeline: Sequence[Transaction]) -> None:
        self._timeline = timeline
        self._begins: list[float] = []
        last = float("-inf")
        for own in timeline:
            last = max(last, own.began if own.began is not None else last)
            self._begins.append(last)

    def match(self, decided: float | None, epoch: int, begin: float | None) -> Transaction | None:
        """Return the transaction that ended at a time, None if there is no such transaction.

        It is the last one of the epoch (-1 for any) that had begun, and whose end was asked for by then. One that has
        not ended is that which is open.
        """
        stop = len(self._timeline) if decided is None else bisect_right(self._begins, decided + SLACK)
        for own in reversed(self._timeline[max(stop - MOST_LOOKED_AT, 0) : stop]):
            if NO_PRODUCER not in {own.epoch, epoch} and own.epoch != epoch:
                continue
            if decided is None:
                is_same = own.result == OPEN or (
                    own.decided is not None and begin is not None and own.decided > begin + SLACK
                )
                return own if is_same else None
            if own.decided is None or own.decided <= decided + SLACK:
                # A transaction that ended before another one began is not that one.
                return own if begin is None or own.decided is None or own.decided >= begin - SLACK else None
        return None


# From the logs of partitions


def _with_logs(timeline: list[Transaction], pieces: Sequence[tuple[str, Piece]], name: str | None) -> list[Transaction]:
    """Return the transactions of a producer with what the logs of partitions have of them."""
    by_logs: list[Transaction] = []
    ended = _Ended(timeline)
    for partition, piece in sorted(pieces, key=_by_end):
        epoch = piece.epoch if piece.first >= 0 else NO_PRODUCER  # that of a marker may be the next one (KIP-890)
        own = ended.match(piece.marked, epoch, piece.begin)
        if own is not None and partition in own.marked:
            own = None
        if own is None:
            own = _joined(by_logs, partition, piece)
        if own is None:
            own = Transaction(name, piece.producer_id, piece.epoch, piece.begin)
            by_logs.append(own)
        if piece.begin is not None and by_logs and own is by_logs[-1]:
            own.began = piece.begin if own.began is None else min(own.began, piece.begin)
        own.write(partition)
        if not own.written[partition]["batches"]:  # else traffic counted them already
            own.write(partition, piece.written)
        own.show(piece.end)
        if piece.result:
            own.marked.add(partition)
            own.close(piece.result, piece.marked, piece.marked, "")
    return sorted([*timeline, *by_logs], key=_order)


def _by_end(pair: tuple[str, Piece]) -> tuple[float, float, str, int]:
    partition, piece = pair
    end = float("inf") if not piece.result else piece.marked if piece.marked is not None else -1.0
    return end, piece.begin if piece.begin is not None else -1.0, partition, piece.at


def _joined(by_logs: Sequence[Transaction], partition: str, piece: Piece) -> Transaction | None:
    """Return the transaction of other partitions that a piece belongs to: its records came before their markers."""
    last = by_logs[-1] if by_logs else None
    if last is None or last.epoch != piece.epoch or last.result != (piece.result or OPEN) or partition in last.written:
        return None
    if last.decided is not None and piece.begin is not None and piece.begin > last.decided + SLACK:
        return None
    return last
