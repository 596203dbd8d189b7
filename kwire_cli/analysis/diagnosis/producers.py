"""Producers that are fenced, out of sequence, send again what they sent, or do not wait for an answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Any, ClassVar

from kwire_cli.analysis.call import parts
from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.sent import Sent, sender_of
from kwire_cli.analysis.diagnosis.sequences import LogSequences
from kwire_cli.analysis.diagnosis.tallies import Book, merge_all
from kwire_cli.analysis.transactions.traffic import events_of, whole
from kwire_cli.errors import counted, few
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.model import Severity
    from kwire_cli.analysis.subjects import LogItem

FENCED = FindingKind(
    "FENCED_PRODUCER",
    "error",
    "A producer is fenced: another one took its transactional id, or its transaction timed out.",
    "InitProducerId raises the epoch of a transactional id, and so does the timeout of a transaction. Brokers refuse "
    "requests with an older epoch. A fenced producer cannot continue.",
    "Give each instance of an application its own transactional.id. If there is only one instance, keep its "
    "transactions shorter than transaction.timeout.ms.",
    ("KIP-98", "KIP-588"),
    rank=16,
)
SEQUENCE = FindingKind(
    "SEQUENCE_GAP",
    "error",
    "Records of an idempotent producer are missing in a partition.",
    "Each batch of an idempotent producer has the sequence number of its first record. The broker refuses a batch "
    "that does not follow the last batch in its log. If the broker acknowledged the missing batch before, it has lost "
    "it: by an unclean leader election, or by a crash when no other broker had a copy.",
    "Look for a broker that stopped, and for unclean leader elections. Use acks=all, min.insync.replicas=2 and "
    "unclean.leader.election.enable=false. Compare the records with their source.",
    ("KIP-98", "KIP-360"),
    rank=13,
)
DUPLICATE = FindingKind(
    "DUPLICATE_BATCH",
    "info",
    "A producer sends batches again.",
    "A batch came again with the same producer id, epoch and sequence: its first answer was late, was lost, or had an "
    "error that passes. Brokers write such a batch once.",
    "Look at the latency and the errors of these brokers. request.timeout.ms may be too short.",
    ("KIP-98",),
    rank=60,
)
ACKS_0 = FindingKind(
    "ACKS_0",
    "info",
    "A producer does not wait for answers.",
    "With acks=0 the broker sends no answer. The producer does not learn that a record was refused or lost, and "
    "cannot be idempotent.",
    "Set acks=all unless lost records do not matter.",
    ("KIP-679",),
    rank=62,
)
FENCES = frozenset({"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"})
UNORDERED = frozenset({"OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID"})
TRANSACTIONAL = frozenset({"InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"})
MANY_RETRIES, RETRY_SHARE = 20, 0.05
"""Repeated batches, and their share, from which on they are a warning: some of them follow any lost connection."""


@dataclass
class _Trouble:
    """Events of one kind about one subject."""

    count: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    clients: set[str] = field(default_factory=set)
    evidence: Bounded = field(default_factory=Bounded)

    def merge(self, its: _Trouble) -> None:
        self.count += its.count
        self.errors.update(its.errors)
        self.clients |= its.clients
        self.evidence.merge(its.evidence)


class Producers(Rule):
    """Sequences, epochs and acks of producers."""

    KINDS = (SEQUENCE, FENCED, DUPLICATE, ACKS_0)
    apis: ClassVar[frozenset[str]] = TRANSACTIONAL | {"Produce"}

    def __init__(self) -> None:
        self._sent = Sent()
        self._unordered: Book[tuple[str, str], _Trouble] = Book(_Trouble)
        self._repeated: Book[tuple[str, str], _Trouble] = Book(_Trouble)
        self._unanswered: Book[str, _Trouble] = Book(_Trouble)
        self._fenced: Book[str, _Trouble] = Book(_Trouble)
        self._instances: Book[str, dict[str, None]] = Book(dict)
        """Clients that initialised a transactional id."""
        self._logs = LogSequences()

    def call(self, call: Call) -> None:
        """Take a call of a producer."""
        errors = call.errors
        if call.api == "Produce":
            if not call.has_response and call.field("acks") == 0:
                self._add(self._unanswered, call.who, call, sorted(call.topics)[:3])
            self._produce(call, bool(errors))
        elif call.api == "InitProducerId" and call.has_response and not errors:
            name = call.request.get("transactionalId")
            if isinstance(name, str) and name:
                self._instances[name][f"{call.who} at {call.client}"] = None
        if FENCES.intersection(errors):
            for event in events_of(call):
                fences = FENCES & event.errors.keys()
                if fences:
                    name = event.transactional_id or f"producer {event.producer_id}"
                    clients = () if event.by_broker else (event.client,)
                    trouble = self._add(self._fenced, name, call, clients)
                    whose = " (asked by the broker)" if event.by_broker else ""
                    trouble.errors.update({f"{call.api} {error}{whose}": event.errors[error] for error in fences})
            if call.api == "Produce" and not call.field("transactionalId"):
                self._add(self._fenced, f"client {call.who}", call, (call.who,)).errors.update(map(str, errors))

    def _produce(self, call: Call, failed: bool) -> None:  # noqa: FBT001 - a part of the above
        codes = _codes(call) if failed else {}
        for topic, partition, batch in call.batches():
            head = batch.head
            if head.producer_id < 0 or head.base_sequence < 0 or not batch.crc_valid:
                continue
            sender = sender_of(call, topic, partition, head)
            error = codes.get((topic, partition), "")
            refused = error in UNORDERED
            acknowledged = not error and call.has_response
            if self._sent.add(call, sender, batch, refused=refused, acknowledged=acknowledged):
                self._add(self._repeated, (call.who, sender.place), call, (), of_request=True)
            if refused:
                self._add(self._unordered, (call.who, sender.place), call, (call.who,)).errors[error] += 1
        for (topic, partition), error in codes.items():
            if error in UNORDERED and not call.batches():  # a request log has no batches
                self._add(self._unordered, (call.who, f"{topic}-{partition}"), call, (call.who,)).errors[error] += 1

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a log."""
        self._logs.add(item)

    @staticmethod
    def _add(troubles: Book[Any, _Trouble], key: Any, call: Call, names: Any, *, of_request: bool = False) -> _Trouble:
        trouble = troubles[key]
        trouble.count += 1
        trouble.clients.update(names)
        trouble.evidence.append(call.evidence(of_request=of_request))
        return trouble

    def merge(self, other: Producers) -> None:
        merge_all(self._unordered, other._unordered)
        merge_all(self._repeated, other._repeated)
        merge_all(self._unanswered, other._unanswered)
        merge_all(self._fenced, other._fenced)
        self._sent.merge(other._sent)
        for name, clients in other._instances.items():
            self._instances[name].update(clients)
        self._logs.merge(other._logs)

    def findings(self) -> Iterator[Finding]:
        refusals = self._sent.refusals()
        for (who, partition), trouble in self._unordered.items():
            errors = ", ".join(f"{count} {error}" for error, count in sorted(trouble.errors.items()))
            text = f"{partition} refused {counted(trouble.count, 'batch', 'batches')}: {errors}"
            if refusal := refusals.get((who, partition)):
                text += f"; {refusal}"
            yield Finding(SEQUENCE, f"client {who}", text, trouble.evidence, trouble.count)
        for place in self._logs.faults():
            kind = DUPLICATE if place.is_duplicate else SEQUENCE
            severity: Severity | None = "warning" if place.is_duplicate or place.is_restart else None
            yield Finding(kind, f"partition {place.partition}", place.text, place.evidence, place.records, severity)
        for name, trouble in self._fenced.items():
            yield self._fence(name, trouble)
        yield from self._retries()
        for who, trouble in self._unanswered.items():
            topics = ", ".join(sorted(trouble.clients)[:3])
            text = f"{counted(trouble.count, 'Produce request')} with acks=0" + (f" to {topics}" if topics else "")
            yield Finding(ACKS_0, f"client {who}", text, trouble.evidence, trouble.count)

    def _fence(self, name: str, trouble: _Trouble) -> Finding:
        errors = ", ".join(f"{count} {error}" for error, count in sorted(trouble.errors.items()))
        text = f"{few(sorted(trouble.clients))} got {errors}" if trouble.clients else errors
        instances = [*self._instances.get(name, ())]
        if len(instances) > 1:
            text += f"; {len(instances)} clients initialised it: {few(sorted(instances))}"
        elif name in self._instances:
            text += "; only one client initialised it"
        is_transactional = not name.startswith(("producer ", "client "))
        subject = f"transactional id {name}" if is_transactional else name
        command = f"transactions --transactional-id {quote(name)}" if is_transactional else ""
        return Finding(FENCED, subject, text, trouble.evidence, trouble.count, None, command)

    def _retries(self) -> Iterator[Finding]:
        by_client: dict[str, tuple[_Trouble, list[str]]] = {}
        totals = self._sent.batches()
        repeated: Book[tuple[str, str], _Trouble] = Book(_Trouble)
        merge_all(repeated, self._repeated)
        for who, partition, place in self._sent.repeats():
            trouble = repeated[who, partition]
            trouble.count += 1
            trouble.evidence.append(place)
        for (who, partition), trouble in sorted(repeated.items()):
            whole_, partitions = by_client.setdefault(who, (_Trouble(), []))
            whole_.merge(trouble)
            partitions.append(partition)
        for who, (trouble, partitions) in by_client.items():
            text = f"{trouble.count} of {counted(totals[who], 'batch', 'batches')} came again, to {few(partitions)}"
            many = trouble.count >= MANY_RETRIES and trouble.count >= RETRY_SHARE * totals[who]
            yield Finding(
                DUPLICATE, f"client {who}", text, trouble.evidence, trouble.count, "warning" if many else None
            )


def _codes(call: Call) -> dict[tuple[str, int], str]:
    """Return the errors of a Produce response by topic and partition."""
    codes: dict[tuple[str, int], str] = {}
    for topic, partition in parts(call.response, "responses", "partitionResponses"):
        code = whole(partition.get("errorCode"))
        if code != 0:
            codes[call.topic(topic), whole(partition.get("index"))] = str(catalog().error_name(code) or code)
    return codes
