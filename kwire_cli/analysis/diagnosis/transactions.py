"""Transactions that hang, last long, are aborted, or wait for the one before."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import Evidence, between, instant
from kwire_cli.analysis.calls import calls_in, evidence_of
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.transactions.model import ABORTED, OPEN, UNKNOWN
from kwire_cli.analysis.transactions.traffic import QUERY
from kwire_cli.analysis.transactions.transactions import TransactionState
from kwire_cli.errors import counted, few
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.analysis.transactions.model import Event, HeldBack, Transaction
    from kwire_cli.facts.memory import Tables
    from kwire_cli.questions.rule_files import Severity

HANGING = FindingKind(
    "HANGING_TRANSACTION",
    "error",
    "A transaction never ends, and holds back read_committed consumers of a partition.",
    "The partition has records of a transaction that its coordinator does not know or does not end. The last stable "
    "offset stays at the first of these records: consumers with isolation.level=read_committed get nothing from there "
    "on, and a compacted topic is not cleaned.",
    "Find the transaction with kafka-transactions.sh find-hanging. End it with kafka-transactions.sh abort --topic "
    "TOPIC --partition PARTITION --start-offset OFFSET. Brokers since Kafka 3.6 refuse such records "
    "(transaction.partition.verification.enable), and clients since 4.0 cannot write them.",
    ("KIP-664", "KIP-890"),
    rank=14,
)
OPEN_ = FindingKind(
    "OPEN_TRANSACTION",
    "warning",
    "A transaction is open at the end of the input.",
    "Consumers with read_committed wait at the first record of the transaction. If its producer is gone, the "
    "coordinator aborts the transaction after transaction.timeout.ms.",
    "See whether the producer still works. A later capture or log shows whether the transaction ended.",
    ("KIP-98",),
    rank=32,
)
LONG = FindingKind(
    "LONG_TRANSACTION",
    "warning",
    "A transaction is open for a long time.",
    "Consumers with read_committed get the records of the transaction, and all records behind them, only when it has "
    "ended. After transaction.timeout.ms the coordinator aborts the transaction and fences its producer.",
    "Commit more often (commit.interval.ms of Kafka Streams, the checkpoint interval of Flink). If transactions are "
    "meant to be so long, raise transaction.timeout.ms.",
    ("KIP-98",),
    rank=34,
)
ABORTED_ = FindingKind(
    "ABORTED_TRANSACTIONS",
    "warning",
    "Transactions of a producer are aborted.",
    "A client aborts after an error of its own. InitProducerId aborts a transaction that an earlier instance left "
    "open. The coordinator aborts a transaction that takes longer than transaction.timeout.ms.",
    "Look for the error in the application's log. Single aborts after restarts and scaling are normal.",
    ("KIP-98",),
    rank=36,
)
WAITING = FindingKind(
    "CONCURRENT_TRANSACTIONS_LOOP",
    "warning",
    "A producer has to wait again and again for the end of its previous transaction.",
    "The coordinator has decided the previous transaction, and writes its markers to the leaders of all its "
    "partitions. Until all leaders have the markers, the coordinator answers CONCURRENT_TRANSACTIONS, and the client "
    "asks again.",
    "Look for a partition of the previous transaction whose leader is down, slow, or out of reach for the "
    "coordinator. If transactions are many and small, commit less often.",
    ("KIP-98", "KIP-890"),
    rank=30,
)
WAITS = "CONCURRENT_TRANSACTIONS"
TIMEOUT = 60.0
"""Seconds: transaction.timeout.ms of the Java client by default. What takes longer is long."""
MAX_TIMEOUT = 900.0
"""Seconds: transaction.max.timeout.ms of brokers by default. A coordinator ends what is open for longer."""
HELD_SECONDS = 5.0
"""Seconds without any new committed record from which on readers count as held back: more than usual transactions."""
HELD_RESPONSES = 3
LEAST_WAITS, LEAST_WAIT = 10, 0.5
"""Refused requests in a row, and their seconds, from which on they are a loop: one to three of them are normal."""
LEAST_ABORTED, ABORTED_SHARE = 5, 0.2
"""Aborted transactions of a producer, and their share, from which on they are more than restarts."""
HELD_READERS = """
select * from held_readers
where span_s >= $seconds and responses >= $responses
order by topic_partition, last_stable_offset
"""


class _Run(NamedTuple):
    """Requests in a row that were refused with CONCURRENT_TRANSACTIONS."""

    requests: int
    first: float | None
    last: float | None
    places: list[Evidence]


class TransactionTrouble(Rule):
    """Transactions of traffic and logs, and what readers of committed records get."""

    KINDS = (HANGING, WAITING, OPEN_, LONG, ABORTED_)
    queries = (QUERY, HELD_READERS)

    def __init__(self) -> None:
        self._state = TransactionState()
        self._held: list[dict[str, Any]] = []
        """Partitions whose readers of committed records were held back, as HELD_READERS has them."""

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a log."""
        self._state.log_item(item)

    def ask(self, tables: Tables) -> None:
        """Take the calls about transactions, and the partitions whose readers were held back."""
        for call in calls_in(tables, QUERY):
            self._state.call(call)
        rows = tables.rows(HELD_READERS, {"seconds": HELD_SECONDS, "responses": HELD_RESPONSES})
        self._held = [
            row | {"evidence": [evidence_of(place, is_local=tables.is_local) for place in row["evidence"]]}
            for row in rows
        ]

    def findings(self) -> Iterator[Finding]:
        events, _, _, transactions, rows = self._state.found()
        named: set[tuple[str, int]] = set()
        open_: dict[tuple[int, int], list[HeldBack]] = {}
        for row in rows:
            if _hangs(row):
                named.add((row.partition, row.first_offset))
                yield _of_log([row])
            else:
                open_.setdefault((row.producer_id, row.epoch), []).append(row)
        for of_one in open_.values():
            yield _of_log(of_one)
        held = [*_of_readers(self._held, transactions, named)]
        for finding, _ in held:
            yield finding
        by_name: dict[str, list[Transaction]] = {}
        for transaction in transactions:
            by_name.setdefault(transaction.name, []).append(transaction)
        said = {row.transactional_id for row in rows}
        said |= {holder for _, holder in held}
        until = max((event.answered for event in events if event.answered is not None), default=None)
        for name, own in by_name.items():
            yield from _long(name, own)
            yield from _aborted(name, own)
            if own[0].transactional_id not in said:
                yield from _open(name, own, until)
        yield from _waiting(by_name, events)


def _of_readers(
    held: Sequence[dict[str, Any]], transactions: Sequence[Transaction], named: set[tuple[str, int]]
) -> Iterator[tuple[Finding, str | None]]:
    """Yield a finding for a partition whose readers of committed records get nothing more, and who holds it."""
    for row in held:
        partition, stable, high = row["topic_partition"], row["last_stable_offset"], row["high_watermark"]
        if (partition, stable) in named:
            continue
        open_ = [own for own in transactions if own.result in {OPEN, UNKNOWN} and partition in own.partitions]
        strange = [own for own in open_ if own.from_beginning and partition not in own.added]
        holders = strange or open_
        is_hanging = bool(strange) or row["span_s"] >= MAX_TIMEOUT
        text = (
            f"for {duration(row['span_s'])} {counted(row['responses'], 'Fetch response')} to {few(row['clients'])} "
            f"had the last stable offset {stable}, {counted(high - stable, 'offset')} behind the high watermark {high}"
        )
        if holders:
            own = holders[0]
            text += f"; {own.name} (producer {own.producer_id}, epoch {own.epoch}) wrote to the partition"
            text += " and did not add it to a transaction" if strange else " and has not ended its transaction"
        places = [*(place for own in holders for place in own.places), *row["evidence"]]
        holder = holders[0].transactional_id if holders else None
        command = f"transactions --transactional-id {quote(holder)}" if holder else "transactions --open"
        kind = HANGING if is_hanging else LONG
        yield Finding(kind, f"partition {partition}", text, places, row["span_s"], None, command), holder


def _waiting(by_name: dict[str, list[Transaction]], all_events: Sequence[Event]) -> Iterator[Finding]:
    """Yield a finding for each transactional id that was told to wait too often."""
    own_events: dict[str, list[Event]] = {}
    for event in all_events:
        if event.transactional_id is not None:
            own_events.setdefault(event.transactional_id, []).append(event)
    for name, events in own_events.items():
        runs = [run for run in _runs(events) if run.requests >= LEAST_WAITS and between(*run[1:3]) >= LEAST_WAIT]
        if not runs:
            continue
        longest = max(runs, key=lambda run: between(run.first, run.last))
        count, seconds = sum(run.requests for run in runs), between(longest.first, longest.last)
        before = [
            own for own in by_name.get(name, ())
            if own.decided is not None and longest.first is not None and own.decided <= longest.first
        ]  # fmt: skip
        waits = sorted(before[-1].partitions.keys() - before[-1].marked) if before else []
        text = f"{count} requests were answered with {WAITS}"
        text += f", {longest.requests} of them" if longest.requests < count else ", all"
        text += f" in a row in {duration(seconds)}"
        if waits:
            text += f"; the previous transaction wrote to {few(waits)}"
        command = f"transactions --transactional-id {quote(name)}"
        yield Finding(WAITING, f"transactional id {name}", text, longest.places, count, None, command)


def _hangs(row: HeldBack) -> bool:
    return row.hanging is True or (row.hanging is None and between(row.since, row.until) >= MAX_TIMEOUT)


def _of_log(rows: Sequence[HeldBack]) -> Finding:
    """Return the finding about an open transaction in logs: in one partition if it hangs."""
    row = max(rows, key=lambda row: (between(row.since, row.until), row.behind))
    seconds = between(row.since, row.until)
    who = f"producer {row.producer_id}, epoch {row.epoch}" + (
        f" ({row.transactional_id})" if row.transactional_id else ""
    )
    text = (
        f"{who} has records without a marker from offset {row.first_offset} on, since {instant(row.since)}; "
        f"read_committed consumers stop there, {counted(row.behind, 'offset')} before the end {row.end_offset}"
    )
    if len(rows) > 1:
        text += f"; it also holds back {counted(len(rows) - 1, 'other partition')}"
    if row.coordinator:
        text += f"; __transaction_state has the transactional id as {row.coordinator}"
        text += ", without this partition" if row.hanging else ""
    places = [Evidence("records", instant(one.since), file=one.file, offset=one.first_offset) for one in (row, *rows)]
    kind = HANGING if _hangs(row) else OPEN_
    severity: Severity | None = "info" if kind is OPEN_ and seconds < TIMEOUT else None
    subject = f"partition {row.partition}"
    return Finding(kind, subject, text, [*dict.fromkeys(places)], row.behind, severity, "transactions --open")


def _long(name: str, transactions: Sequence[Transaction]) -> Iterator[Finding]:
    long = [own for own in transactions if own.duration is not None and own.duration >= _limit(own)]
    if long:
        slowest = max(long, key=lambda own: own.duration or 0.0)
        text = f"{counted(len(long), 'transaction')} took up to {duration(slowest.duration or 0.0)}"
        if slowest.timeout is not None:
            text += f" with a transaction.timeout.ms of {slowest.timeout * 1000:.0f}"
        yield _finding(LONG, name, text, long, slowest.duration or 0.0)


def _limit(transaction: Transaction) -> float:
    """Return the seconds from which on a transaction is long."""
    return TIMEOUT if transaction.timeout is None else min(TIMEOUT, 0.8 * transaction.timeout)


def _aborted(name: str, transactions: Sequence[Transaction]) -> Iterator[Finding]:
    aborted = [own for own in transactions if own.result == ABORTED]
    if not aborted:
        return
    late = [own for own in aborted if own.ended_by != "client" and own.timeout and (own.duration or 0) >= own.timeout]
    by = {"client": "by the client", "initProducerId": "by InitProducerId of a new instance"}
    ways: dict[str, int] = {}
    for own in aborted:
        way = "by the coordinator, after its timeout" if own in late else by.get(own.ended_by, "")
        ways[way] = ways.get(way, 0) + 1
    text = f"{len(aborted)} of {counted(len(transactions), 'transaction')} aborted"
    told = [f"{count} {way}" for way, count in ways.items() if way]
    text += f": {', '.join(told)}" if told else ""
    many = len(aborted) >= LEAST_ABORTED and len(aborted) >= ABORTED_SHARE * len(transactions)
    severity: Severity | None = None if many or late else "info"
    yield _finding(ABORTED_, name, text, aborted, len(aborted), severity)


def _open(name: str, transactions: Sequence[Transaction], until: float | None) -> Iterator[Finding]:
    for own in transactions:
        if own.result == OPEN:
            seconds = between(own.begin, until)
            began = f"at {instant(own.begin)}" if own.begin is not None else "at a time that is not known"
            wrote = f", wrote to {few(sorted(own.partitions))}," if own.partitions else ""
            text = f"it began {began}{wrote} and has not ended"
            severity: Severity | None = None if seconds >= _limit(own) else "info"
            yield _finding(OPEN_, name, text, [own], seconds, severity)


def _finding(
    kind: FindingKind, name: str, text: str, of: Sequence[Transaction], weight: float, severity: Severity | None = None
) -> Finding:
    transactional = of[0].transactional_id
    command = f"transactions --transactional-id {quote(transactional)}" if transactional else "transactions"
    places = [place for own in of for place in own.places[:2]]
    subject = f"transactional id {name}" if transactional else name
    return Finding(kind, subject, text, places, weight, severity, command)


def _runs(events: Sequence[Event]) -> Iterator[_Run]:
    """Yield the runs of refused requests of a transactional id from its events in the order of their times."""
    run: _Run | None = None
    for event in events:
        if WAITS in event.errors:
            count, first, _, places = run or _Run(0, event.time, event.time, [])
            run = _Run(count + event.count, first, event.answered, [*places[:4], event.place])
        elif event.ok and run is not None and event.what != "verifyPartitions":
            yield run
            run = None
    if run is not None:
        yield run
