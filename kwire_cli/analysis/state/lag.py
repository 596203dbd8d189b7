"""Lag of committed offsets, and open transactions: what the logs beside Kafka's own topics say of the rows of a state.

Lag counts the offsets from a committed one to the end of the log, as kafka-consumer-groups does. An open transaction is
hanging if its coordinator does not count the partition among those of the transaction (KIP-664), so that no timeout
will ever end it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.coordinators import SETTLED
from kwire_cli.analysis.state.beside import coordinator_beside, partitions_beside
from kwire_cli.answer import Column, Fact, Facts, Note, Table
from kwire_cli.engine.values import instant
from kwire_cli.errors import counted, few
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.state.beside import Beside
    from kwire_cli.analysis.state.ends import Ends
    from kwire_cli.analysis.state.topics import Folded
    from kwire_cli.answer import Block
    from kwire_cli.records.codecs import Limits
    from kwire_cli.records.producers import Transaction
    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.spec.catalog import Catalog

    Row = dict[str, Any]

BELOW, BEYOND = "BELOW_LOG_START", "BEYOND_LOG_END"
"""Reasons why a fetch at a committed offset gets OFFSET_OUT_OF_RANGE."""
HANGING, OPEN, UNKNOWN = "hanging", "open", "unknown"
"""Verdicts about an open transaction."""
_MEANINGS = {
    HANGING: "hanging: its coordinator does not count the partition among those of the transaction, so no timeout ends "
    "it; kafka-transactions.sh abort --topic TOPIC --partition N --start-offset FIRST does",
    OPEN: "",
    UNKNOWN: f"unknown: the partition of {TRANSACTION_STATE} that would know it is not here, or was copied earlier",
}
_PLAUSIBLE = 366 * 86_400_000
"""Milliseconds from the newest record of a coordinator up to which times of producers are believed: some count time in
other units, and their records would be years ahead."""
_MOST_NOTES = 10
_ENDED = frozenset({"Empty", "CompleteCommit", "CompleteAbort", "Dead"})
"""States of a transactional id without a transaction that is open or about to end."""

OPEN_TRANSACTIONS = (
    Column("topic"),
    Column("partition", "id"),
    Column("verdict", level="warning"),
    Column("producerId", "id"),
    Column("producerEpoch", "id", title="epoch", keep=5),
    Column("firstOffset", "id"),
    Column("ageSeconds", "duration", title="age", unit="s", digits=0, keep=3),
    Column("since", "instant", keep=4),
    Column("transactionalId", keep=1),
    Column("coordinator", keep=2),
    Column("behind", "count", keep=6),
)
"""Transactions without a marker in the logs. `behind` counts the offsets that readers of committed records miss."""


def logs_beside(
    catalog: Catalog,
    files: Iterable[LogFile],
    topics: Sequence[tuple[str, Sequence[Folded]]],
    *,
    limits: Limits | None,
) -> Logs | None:
    """Return the logs beside the files of folded topics; None if no topic says anything about other logs.

    The state of `__transaction_state` is folded if it is beside the files and not among the topics.
    """
    by_topic = dict(topics)
    if not {CONSUMER_OFFSETS, TRANSACTION_STATE} & by_topic.keys():
        return None
    beside = partitions_beside(files)
    coordinator = coordinator_beside(catalog, beside, by_topic.get(TRANSACTION_STATE, ()), limits)
    count = _count(by_topic.get(CLUSTER_METADATA, ()))
    return Logs(beside, coordinator, by_topic.get(CONSUMER_OFFSETS, ()), count)


def _count(parts: Sequence[Folded]) -> int | None:
    """Return the number of partitions of `__transaction_state` by the metadata of the cluster, None if unknown."""
    for part in parts:
        for row in part.rows(hide=None)["topics"]:
            if row["name"] == TRANSACTION_STATE:
                return int(row["partitions"])
    return None


@dataclass
class Logs:
    """The logs beside the topics of a state, and what they say of it.

    `coordinator` is the state of the partitions of `__transaction_state`. `complete` is whether these are all of its
    partitions.
    """

    beside: Beside
    coordinator: Sequence[Folded]
    consumers: Sequence[Folded] = ()
    partitions_of_coordinator: int | None = None
    notes: list[str] = field(default_factory=list)
    as_of: int = -1
    used: set[tuple[str, int]] = field(default_factory=set)
    """Partitions whose ends are among the rows."""

    def __post_init__(self) -> None:
        """Find the newest time: of records of coordinators, and of other logs if it is plausible."""
        own = max((part.passed.newest for part in (*self.coordinator, *self.consumers)), default=-1)
        times = [ends.newest for _, ends in self.beside.all_ends() if ends.newest <= own + _PLAUSIBLE]
        self.as_of = max([own, *times])

    @property
    def complete(self) -> bool:
        """Return whether all partitions of `__transaction_state` are here, so that they know each transactional id."""
        numbers = {part.partition for part in self.coordinator}
        count = self.partitions_of_coordinator
        if count is None:
            # One alone may be what somebody copied. Of more, those of a broker that lacks some have holes.
            count = len(numbers) if len(numbers) > 1 else 0
        return count > 0 and numbers >= set(range(count))

    def age(self, time: int | None) -> float | None:
        """Return the seconds from a time in milliseconds to the newest time, None if the time is unknown."""
        return None if time is None or time < 0 else max(self.as_of - time, 0) / 1000

    # Committed offsets.

    def add_lag(self, rows: Mapping[str, list[Row]]) -> bool:
        """Add the ends of logs to rows of committed offsets, and totals to those of groups.

        Return False if the log of no committed offset is here: then rows stay as they are.
        """
        offsets = rows["offsets"]
        ends = {(row["topic"], row["partition"]): self.beside.ends(row["topic"], row["partition"]) for row in offsets}
        unknown = sorted(named for named, log in ends.items() if log is None)
        if unknown:
            what = "no lag" if len(unknown) == len(ends) else "no lag of some offsets"
            self.notes.append(f"{what}: the logs of {_some(unknown)} are not beside {CONSUMER_OFFSETS}")
        if len(unknown) == len(ends):
            return False
        self.used.update(ends)
        totals: dict[tuple[str, int | None], Row] = {}
        replicas: set[tuple[Any, ...]] = set()
        for row in offsets:
            log = ends[row["topic"], row["partition"]]
            row.update(_of_offset(row["offset"], log), ageSeconds=self.age(row["commitTimestamp"]))
            of_group = row["group"], row.get("logPartition")
            total = totals.setdefault(of_group, dict.fromkeys(_TOTALS, 0))
            if (*of_group, row["topic"], row["partition"]) in replicas:
                continue
            replicas.add((*of_group, row["topic"], row["partition"]))
            total["lag"] += row["lag"] or 0
            total["outOfRange"] += row["outOfRange"] is not None
            total["lagUnknown"] += log is None
        for group in rows["groups"]:
            total = totals.get((group["group"], group.get("logPartition")), dict.fromkeys(_TOTALS))
            if total["lagUnknown"] and total["lagUnknown"] == group["offsets"]:
                total["lag"] = None
            group.update(total)
        return True

    # Open transactions.

    def open_transactions(self) -> Table | None:
        """Return the table of transactions that are open in the logs, None if no other log is here."""
        if not any(topic not in {CONSUMER_OFFSETS, TRANSACTION_STATE} for topic, _ in self.beside.folders):
            self.notes.append("no open transactions: there are no logs of other topics beside these of coordinators")
            return None
        rows = []
        coordinator = self._by_producer()
        incomplete = []
        for (topic, number), ends in self.beside.all_ends():
            if not ends.complete:
                incomplete.append((topic, number))
            for transaction in ends.open:
                self.used.add((topic, number))
                row = {"topic": topic, "partition": number, "behind": ends.limit - transaction.first_offset}
                row |= self._of_transaction(transaction, ends, f"{topic}-{number}", coordinator)
                rows.append(row)
        if incomplete:
            what = "transactions that began before the last segment are not known without a producer snapshot"
            self.notes.append(f"{what}: {_some(incomplete)}")
        order = (HANGING, UNKNOWN, OPEN)
        rows.sort(key=lambda row: order.index(row["verdict"]))  # those of one verdict stay by topic and partition
        cells = [tuple(row.get(column.name) for column in OPEN_TRANSACTIONS) for row in rows]
        notes = [_MEANINGS[verdict] for verdict in order if any(row["verdict"] == verdict for row in rows)]
        note = ". ".join(note for note in notes if note)
        return Table("openTransactions", OPEN_TRANSACTIONS, cells, title="open transactions", note=note)

    def _by_producer(self) -> dict[int, list[tuple[Folded, Row]]]:
        """Return the rows of transactional ids by each producer id that they have, had last or get next."""
        out: dict[int, list[tuple[Folded, Row]]] = {}
        for part in self.coordinator:
            for row in part.rows(hide=None)["transactions"]:
                ids = (row.get(name, -1) for name in ("producerId", "previousProducerId", "nextProducerId"))
                for producer_id in {number for number in ids if number >= 0}:
                    out.setdefault(producer_id, []).append((part, row))
        return out

    def _of_transaction(
        self, transaction: Transaction, ends: Ends, name: str, coordinator: dict[int, list[tuple[Folded, Row]]]
    ) -> Row:
        entries = coordinator.get(transaction.producer_id, [])
        part, entry = max(entries, key=lambda pair: pair[1]["transactionLastUpdateTimestampMs"], default=(None, None))
        settled = (self.age(transaction.last_time) or 0) >= SETTLED
        if entry and entry["state"] not in _ENDED and name in entry["partitions"]:
            verdict = OPEN
        elif part is not None and entry is not None:
            # Files of a running broker are copied one after the other. The coordinator has to have been heard after
            # the transaction began, and the log after the last word of the coordinator.
            began = transaction.since if transaction.since >= 0 else transaction.last_time
            in_order = part.passed.newest >= began and ends.newest >= entry["transactionLastUpdateTimestampMs"]
            verdict = HANGING if in_order or settled else UNKNOWN
        else:
            verdict = HANGING if self.complete and settled else UNKNOWN
        return {
            "verdict": verdict,
            "producerId": transaction.producer_id,
            "producerEpoch": transaction.epoch,
            "firstOffset": transaction.first_offset,
            "since": None if transaction.since < 0 else instant(transaction.since),
            "ageSeconds": self.age(transaction.since),
            "transactionalId": entry["transactionalId"] if entry else None,
            "coordinator": entry["state"] if entry else None,
        }

    def blocks(self) -> Iterator[Block]:
        """Yield what stands below the tables: the time that ages count up to, and notes."""
        if self.used and self.as_of >= 0:
            yield Facts([Fact("agesAsOf", instant(self.as_of), "instant", title="ages as of")])
        notes = list(self.notes)
        for topic, number in sorted(self.used):
            ends = self.beside.ends(topic, number)
            notes += (f"{topic}-{number}: {note}" for note in (ends.notes if ends else ()))
        notes += (f"{topic}-{number}: {reason}" for (topic, number), reason in sorted(self.beside.unreadable.items()))
        yield from (Note(note, "warning") for note in notes[:_MOST_NOTES])
        if len(notes) > _MOST_NOTES:
            more = counted(len(notes) - _MOST_NOTES, "note")
            yield Note(f"{more} more; kwire dump --verify names all faults", "warning")


_TOTALS = ("lag", "outOfRange", "lagUnknown")


def _of_offset(offset: int, log: Ends | None) -> Row:
    if log is None:
        names = ("lag", "outOfRange", "logStartOffset", "lastStableOffset", "highWatermark", "logEndOffset")
        return dict.fromkeys(names)
    return {
        "lag": max(log.limit - offset, 0),
        "outOfRange": BELOW if offset < log.start else BEYOND if offset > log.end else None,
        "logStartOffset": log.start,
        "lastStableOffset": log.last_stable,
        "highWatermark": log.high_watermark,
        "logEndOffset": log.end,
    }


def _some(partitions: Sequence[tuple[str, int]]) -> str:
    return few([f"{topic}-{number}" for topic, number in partitions])
