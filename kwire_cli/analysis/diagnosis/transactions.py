"""Transactions that hang, last long, are aborted, or wait for the one before."""

from __future__ import annotations

from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kwire_cli.analysis.call import Evidence, between, instant, parts
from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule
from kwire_cli.analysis.transactions.model import ABORTED, OPEN, UNKNOWN
from kwire_cli.analysis.transactions.traffic import APIS, whole
from kwire_cli.analysis.transactions.transactions import Transactions
from kwire_cli.errors import counted, few
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.model import Severity
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.analysis.transactions.model import Event, HeldBack, Transaction
    from kwire_cli.source.kafka.traffic import TcpConnection

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
MOST_READERS = 1 << 14
"""Connections of readers whose fetch sessions are kept; beyond that the oldest ones are forgotten."""
MOST_HELD = 1 << 12


class _Run(NamedTuple):
    """Requests in a row that were refused with CONCURRENT_TRANSACTIONS."""

    requests: int
    first: float | None
    last: float | None
    places: list[Evidence]


@dataclass
class _Held:
    """Fetch responses of a partition with the same last stable offset behind the high watermark."""

    high: int
    first: float | None
    last: float | None
    responses: int = 0
    clients: set[str] = field(default_factory=set)
    evidence: Bounded = field(default_factory=Bounded)

    @property
    def seconds(self) -> float:
        return between(self.first, self.last)


class TransactionTrouble(Rule):
    """Transactions of traffic and logs, and what readers of committed records get."""

    KINDS = (HANGING, WAITING, OPEN_, LONG, ABORTED_)
    apis: ClassVar[frozenset[str]] = APIS | {"Fetch"}

    def __init__(self) -> None:
        self._transactions = Transactions()
        self._held: dict[tuple[str, int], _Held] = {}
        self._readers: dict[Hashable, dict[str, int]] = {}
        """Partitions where the reader of a connection is held back, each with its last stable offset: responses of
        fetch sessions do not repeat these.
        """

    def call(self, call: Call) -> None:
        """Take a call of a producer or a reader."""
        if call.api == "Fetch":
            self._fetch(call)
        elif call.api != "Produce" or call.field("transactionalId") is not None:
            self._transactions.call(call)

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a log."""
        self._transactions.add(item)

    def _fetch(self, call: Call) -> None:
        response = call.response
        if response is None or call.request.get("isolationLevel") != 1:
            return
        waits = self._readers.get(call.connection)
        if waits:
            self._forget(waits, call)
        at_hand = dict(waits) if waits and call.request.get("sessionId") else {}
        seen: Evidence | None = None
        for topic, partition in parts(response, "responses", "partitions"):
            index, high = whole(partition.get("partitionIndex")), whole(partition.get("highWatermark"))
            stable = whole(partition.get("lastStableOffset"))
            name = f"{call.topic(topic)}-{index}"
            at_hand.pop(name, None)
            if waits:
                waits.pop(name, None)
            if 0 <= stable < high and index >= 0:
                waits = self._keep_reader(call.connection) if waits is None else waits
                at_hand[name] = waits[name] = stable
                seen = seen or call.evidence()
                self._hold((name, stable), high, call.answered, seen)
        for place in at_hand.items():
            if (held := self._held.get(place)) is not None:
                held.last = call.answered if call.answered is not None else held.last
                held.responses += 1
                held.clients.add(call.who)

    def _keep_reader(self, connection: Hashable) -> dict[str, int]:
        """Return a new entry for the partitions at which a connection waits. Beyond a bound the oldest is forgotten."""
        waits = self._readers[connection] = {}
        if len(self._readers) > MOST_READERS:
            del self._readers[next(iter(self._readers))]
        return waits

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended: its fetch session is over."""
        self._readers.pop((connection.capture, connection.stream), None)

    @staticmethod
    def _forget(waits: dict[str, int], call: Call) -> None:
        """Forget the partitions that a request takes out of its fetch session, all of them if it begins a session."""
        epoch = call.request.get("sessionEpoch")
        if isinstance(epoch, int) and epoch <= 0:
            waits.clear()
        for (topic,) in parts(call.request, "forgottenTopicsData"):
            numbers = topic.get("partitions")
            for number in numbers if isinstance(numbers, list) else ():
                waits.pop(f"{call.topic(topic)}-{number}", None)

    def _hold(self, place: tuple[str, int], high: int, answered: float | None, seen: Evidence) -> None:
        held = self._held.get(place)
        if held is None:
            if not self._has_room():
                return
            held = self._held[place] = _Held(high, answered, answered)
        held.high = max(held.high, high)
        held.evidence.append(seen)

    def _has_room(self) -> bool:
        """Return whether one more place can be kept: those that were not held back for long give way."""
        if len(self._held) >= MOST_HELD:
            self._held = {key: own for key, own in self._held.items() if own.seconds >= HELD_SECONDS}
        return len(self._held) < MOST_HELD

    def findings(self) -> Iterator[Finding]:
        events, _, _, transactions, rows = self._transactions.found()
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
        held = [*self._of_readers(transactions, named)]
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
        self, transactions: Sequence[Transaction], named: set[tuple[str, int]]
    ) -> Iterator[tuple[Finding, str | None]]:
        """Yield a finding for a partition whose readers of committed records get nothing more, and who holds it."""
        for (partition, stable), held in self._held.items():
            if (partition, stable) in named or held.seconds < HELD_SECONDS or held.responses < HELD_RESPONSES:
                continue
            open_ = [own for own in transactions if own.result in {OPEN, UNKNOWN} and partition in own.partitions]
            strange = [own for own in open_ if own.from_beginning and partition not in own.added]
            holders = strange or open_
            is_hanging = bool(strange) or held.seconds >= MAX_TIMEOUT
            text = (
                f"for {duration(held.seconds)} {counted(held.responses, 'Fetch response')} to "
                f"{few(sorted(held.clients))} had the last stable offset {stable}, "
                f"{counted(held.high - stable, 'offset')} behind the high watermark {held.high}"
            )
            if holders:
                own = holders[0]
                text += f"; {own.name} (producer {own.producer_id}, epoch {own.epoch}) wrote to the partition"
                text += " and did not add it to a transaction" if strange else " and has not ended its transaction"
            places = [*(place for own in holders for place in own.places), *held.evidence]
            holder = holders[0].transactional_id if holders else None
            command = f"transactions --transactional-id {quote(holder)}" if holder else "transactions --open"
            kind = HANGING if is_hanging else LONG
            yield Finding(kind, f"partition {partition}", text, places, held.seconds, None, command), holder


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
