"""Events of transactions in requests and responses.

Bodies come from tables, so a field of a body is null or has the type of its definition.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import parts
from kwire_cli.analysis.calls import ASKED, calls_query
from kwire_cli.analysis.transactions.model import ABORTED, COMMITTED, NO_PRODUCER, Event
from kwire_cli.errors import few
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.transactions.model import What

    Body = dict[str, Any]

BATCHED = 4
"""The first version of AddPartitionsToTxn that brokers send. It has several transactions (KIP-890)."""
IMPLICIT_PRODUCE = 12
"""The first version of Produce whose partitions the broker adds to the transaction (KIP-890)."""
IMPLICIT_OFFSETS = 5
"""The first version of TxnOffsetCommit whose group the broker adds to the transaction (KIP-890)."""


def _init(call: Call) -> Iterator[Event]:
    given = {**(call.response or {}), "transactionalId": call.request.get("transactionalId")}
    event = _event(call, "initProducerId", given)
    timeout = call.request.get("transactionTimeoutMs")
    event.timeout = None if timeout is None or timeout < 0 else timeout / 1000
    if event.is_ok and event.producer_id >= 0:
        event.about = f"producer id {event.producer_id}, epoch {event.epoch}"
    yield event


def _add_partitions(call: Call) -> Iterator[Event]:
    request = call.request
    if call.version < BATCHED:
        given = {
            "transactionalId": request.get("v3AndBelowTransactionalId"),
            "producerId": request.get("v3AndBelowProducerId"),
            "producerEpoch": request.get("v3AndBelowProducerEpoch"),
            "topics": request.get("v3AndBelowTopics"),
        }
        event = _event(call, "addPartitions", given)
        results = parts(call.response, "resultsByTopicV3AndBelow", "resultsByPartition")
        yield _with_results(event, given, [*results], call)
        return
    results_of: dict[str | None, list[tuple[Body, ...]]] = {}
    for of_transaction, *result in parts(call.response, "resultsByTransaction", "topicResults", "resultsByPartition"):
        results_of.setdefault(of_transaction.get("transactionalId"), []).append(tuple(result))
    for (transaction,) in parts(request, "transactions"):
        event = _event(call, "verifyPartitions" if transaction.get("verifyOnly") else "addPartitions", transaction)
        event.by_broker = True
        if not _error(call.response or {}, "errorCode"):
            event.errors.clear()
        yield _with_results(event, transaction, results_of.get(event.transactional_id, []), call)


def _with_results(event: Event, request: Body, results: list[tuple[Body, ...]], call: Call) -> Event:
    """Set the partitions of an event: the accepted ones, or all if the response has no results for partitions."""
    errors: Counter[str] = Counter()
    added = []
    for topic, result in results:
        if error := _error(result, "partitionErrorCode"):
            errors[error] += 1
        else:
            added.append(f"{call.topic(topic)}-{result.get('partitionIndex')}")
    if results:
        event.errors = errors
        event.is_ok = bool(added)
    event.partitions = dict.fromkeys(added or _partitions(request, "topics", "partitions", call))
    return event


def _offsets(call: Call) -> Iterator[Event]:
    is_commit = call.api == "TxnOffsetCommit"
    event = _event(call, "commitOffsets" if is_commit else "addOffsets", call.request)
    event.implicit = is_commit and call.version >= IMPLICIT_OFFSETS
    if group := call.request.get("groupId"):
        event.groups = (group,)
    offsets = [
        f"{call.topic(topic)}-{partition.get('partitionIndex')} at {partition.get('committedOffset')}"
        for topic, partition in parts(call.request, "topics", "partitions")
    ]
    event.about = few(offsets)
    yield event


def _end(call: Call) -> Iterator[Event]:
    event = _event(call, "endTransaction", call.request)
    event.result = COMMITTED if call.request.get("committed") else ABORTED
    yield event


def _produce(call: Call) -> Iterator[Event]:
    event = _event(call, "produce", call.request)
    event.implicit = call.version >= IMPLICIT_PRODUCE
    for batch in call.batches:
        event.producer_id = batch["producer_id"]
        event.epoch = batch["producer_epoch"]
        event.partitions[f"{batch['topic']}-{batch['partition']}"] = None
        event.written.update(batches=1, records=batch["records"], bytes=batch["size"])
    if not event.partitions:  # a request log, which contains only the sizes of records
        for topic, partition in parts(call.request, "topicData", "partitionData"):
            event.partitions[f"{call.topic(topic)}-{partition.get('index')}"] = None
            event.written.update(batches=1, bytes=max(partition.get("recordsSizeInBytes") or 0, 0))
    yield event


def _markers(call: Call) -> Iterator[Event]:
    failed: dict[int, Counter[str]] = {}
    for marker, _, partition in parts(call.response, "markers", "topics", "partitions"):
        if error := _error(partition, "errorCode"):
            failed.setdefault(_number(marker, "producerId"), Counter())[error] += 1
    for (marker,) in parts(call.request, "markers"):
        event = _event(call, "writeMarkers", marker)
        event.errors = failed.get(event.producer_id, Counter())
        event.by_broker = True
        event.is_ok = call.response is not None and not event.errors
        event.result = COMMITTED if marker.get("transactionResult") else ABORTED
        event.partitions = dict.fromkeys(_partitions(marker, "topics", "partitionIndexes", call))
        yield event


def _partitions(body: Body, topics: str, numbers: str, call: Call) -> list[str]:
    names: list[str] = []
    for (topic,) in parts(body, topics):
        names += [f"{call.topic(topic)}-{number}" for number in topic.get(numbers) or ()]
    return names


def _event(call: Call, what: What, body: Body) -> Event:
    """Return an event of a call. The body, or a part of a body, has the ids of the transaction."""
    errors = Counter(call.errors)
    return Event(
        event=what,
        time=call.asked,
        answered=call.answered,
        transactional_id=body.get("transactionalId") or None,
        producer_id=_number(body, "producerId"),
        epoch=_number(body, "producerEpoch"),
        place=call.request_place,
        client=call.who,
        errors=errors,
        is_ok=call.response is not None and not errors,
    )


def _error(body: Body, field: str) -> str:
    """Return the name of an error code in a part of a body, "" without an error."""
    code = body.get(field)
    return str(catalog().error_name(code) or code) if code else ""


def _number(body: Body, field: str) -> int:
    number: int | None = body.get(field)
    return NO_PRODUCER if number is None else number


EVENTS_OF: dict[str, Callable[[Call], Iterator[Event]]] = {
    "InitProducerId": _init,
    "AddPartitionsToTxn": _add_partitions,
    "AddOffsetsToTxn": _offsets,
    "TxnOffsetCommit": _offsets,
    "EndTxn": _end,
    "Produce": _produce,
    "WriteTxnMarkers": _markers,
}
"""The functions that yield the events in one of the calls of QUERY, by api."""
QUERY = calls_query(EVENTS_OF, "c.api not in ('InitProducerId', 'Produce') or c.transactional_id <> ''", ASKED)
"""The calls about transactions."""
