"""Assembly of transactions from the coordinator's records and the logs of partitions.

The records of a transactional id contain the times at which its transactions began and were decided. A part of a
transaction in the log of a partition belongs to the last transaction that was decided before its marker. Without the
coordinator's records, parts of a producer form one transaction if all records were written before all markers.
"""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING

from kwire_cli.analysis.transactions.logs import REMOVED
from kwire_cli.analysis.transactions.model import NO_PRODUCER, OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire_cli.analysis.transactions.logs import Piece
    from kwire_cli.analysis.transactions.model import Event, Transaction

SLACK = 0.002
"""Maximum difference of equal times in two logs, in seconds. The times of records are in milliseconds."""
_order = attrgetter("order")
MOST_LOOKED_AT = 64
"""Number of transactions of a producer that are searched for the transaction of a part."""


def transactions_in_logs(records: Iterable[Event], pieces: Iterable[Piece]) -> list[Transaction]:
    """Return the transactions, sorted by start time. `records` must be in the order of their offsets."""
    by_name: defaultdict[str, tuple[list[Event], list[Piece]]] = defaultdict(lambda: ([], []))
    for record in records:
        by_name[record.name][0].append(record)
    for piece in pieces:
        by_name[piece.events[0].name][1].append(piece)
    transactions: list[Transaction] = []
    for own_records, own_pieces in by_name.values():
        transactions += _with_pieces(sorted(_of_records(own_records), key=_order), own_pieces)
    return sorted(transactions, key=_order)


def _of_records(records: Iterable[Event]) -> list[Transaction]:
    """Return the transactions of one transactional id from its records in the order of the log."""
    transactions: list[Transaction] = []
    current: Transaction | None = None
    for record in records:
        if record.about in {"Empty", "Dead", REMOVED}:
            current = None
            continue
        if current is None or (record.about == "Ongoing" and current.result != OPEN):
            current = record.begin(record.began, is_in_logs=True)
            current.timeout_s = record.timeout
            current.keep(record)
            transactions.append(current)
        current.partitions.update(record.partitions)
        current.added.update(record.partitions)
        if record.result != OPEN:
            current.close(record.result, record.time, record.time)
        if record.about.startswith("Complete"):
            current = None
    return transactions


def _with_pieces(timeline: list[Transaction], pieces: Sequence[Piece]) -> list[Transaction]:
    """Return the transactions of a producer with their parts in the logs of partitions."""
    additional: list[Transaction] = []
    counted: set[tuple[int, str]] = set()
    """Transactions with their partitions: copies of a log may begin at different offsets."""
    stop = 0
    """Number of transactions that had started before the end of a piece."""
    for piece in sorted(pieces, key=_by_end):
        first = piece.events[0]
        began = piece.records.time if piece.records else None
        ended = piece.marker.time if piece.marker else None
        while ended is not None and stop < len(timeline) and (timeline[stop].began or 0.0) <= ended + SLACK:
            stop += 1
        last = len(timeline) if ended is None else stop
        transaction = _of_timeline(timeline[max(last - MOST_LOOKED_AT, 0) : last], piece)
        if transaction is None or piece.partition in transaction.marked:
            transaction = _find_same_transaction(additional, piece)
        if transaction is None:
            transaction = first.begin(began, is_in_logs=True)
            additional.append(transaction)
        if began is not None and additional and transaction is additional[-1]:
            transaction.began = began if transaction.began is None else min(transaction.began, began)
        transaction.partitions.add(piece.partition)
        if piece.records and (id(transaction), piece.partition) not in counted:
            counted.add((id(transaction), piece.partition))
            transaction.written.update(piece.records.written)
        transaction.keep(piece.marker or first)
        if piece.marker:
            transaction.marked.add(piece.partition)
            transaction.close(piece.marker.result, piece.marker.time, piece.marker.time)
    return [*timeline, *additional]


def _by_end(piece: Piece) -> tuple[float, float, str, int]:
    end, began = (_instant(event) for event in (piece.marker, piece.records))
    return end if piece.marker else float("inf"), began, piece.partition, piece.key[2]


def _instant(event: Event | None) -> float:
    return -1.0 if event is None or event.time is None else event.time


def _of_timeline(timeline: Sequence[Transaction], piece: Piece) -> Transaction | None:
    """Return the transaction of a part among the coordinator's transactions, or None if there is no such transaction.

    It is the last transaction of the epoch that was decided before the time of the marker. A part without a marker
    belongs to the open transaction.
    """
    began = piece.records.time if piece.records else None
    # The epoch of a marker may be the next one (KIP-890).
    epoch = piece.records.epoch if piece.records else NO_PRODUCER
    ended = piece.marker.time if piece.marker else None
    for own in reversed(timeline):
        if NO_PRODUCER not in {own.epoch, epoch} and own.epoch != epoch:
            continue
        if ended is None:
            is_later = own.decided is not None and began is not None and own.decided > began + SLACK
            return own if own.result == OPEN or is_later else None
        if own.decided is None or own.decided <= ended + SLACK:
            # A transaction that ended before the records of the part were written is another one.
            return own if began is None or own.decided is None or own.decided >= began - SLACK else None
    return None


def _find_same_transaction(additional: Sequence[Transaction], piece: Piece) -> Transaction | None:
    """Return the transaction of other partitions that a part belongs to.

    The records of the part were written before the markers of the transaction.
    """
    last = additional[-1] if additional else None
    result = piece.marker.result if piece.marker else OPEN
    first = piece.events[0]
    if last is None or last.epoch != first.epoch or last.result != result or piece.partition in last.partitions:
        return None
    if last.decided is not None and piece.records and first.time is not None and first.time > last.decided + SLACK:
        return None
    return last
