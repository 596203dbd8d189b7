"""Events of transactions in requests and responses."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import parts
from kwire_cli.analysis.calls import ASKED, calls_query
from kwire_cli.analysis.transactions.model import ABORTED, COMMITTED, NO_PRODUCER, Event, Written
from kwire_cli.errors import few
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.transactions.model import What

IMPLICIT_PRODUCE = 12
"""The first version of Produce whose partitions a broker adds to the transaction by itself (KIP-890)."""
IMPLICIT_OFFSETS = 5
"""The first version of TxnOffsetCommit whose group a broker adds to the transaction by itself (KIP-890)."""


def events_of(call: Call) -> Iterator[Event]:
    """Yield the events of transactions in a call; nothing for a call that is not about a transaction."""
    read = _READERS.get(call.api)
    if read is not None:
        yield from read(call)


def _init(call: Call) -> Iterator[Event]:
    event = _event(call, "initProducerId", {**(call.response or {}), **_named(call)})
    if event.transactional_id is None:
        return
    timeout = whole(call.request.get("transactionTimeoutMs"))
    event.timeout = None if timeout < 0 else timeout / 1000
    if event.ok and event.producer_id >= 0:
        event.detail = f"producer id {event.producer_id}, epoch {event.epoch}"
    yield event


def _add_partitions(call: Call) -> Iterator[Event]:
    request, response = call.request, call.response
    old = {
        "transactionalId": request.get("v3AndBelowTransactionalId"),
        "producerId": request.get("v3AndBelowProducerId"),
        "producerEpoch": request.get("v3AndBelowProducerEpoch"),
    }
    if text(old["transactionalId"]) is not None or request.get("v3AndBelowTopics") is not None:
        event = _event(call, "addPartitions", old)
        results = parts(response, "resultsByTopicV3AndBelow", "resultsByPartition")
        yield _with_results(event, request, "v3AndBelowTopics", [pair[-2:] for pair in results], call)
        return
    of_each: dict[str | None, list[Any]] = {}
    for transaction, topic, partition in parts(response, "resultsByTransaction", "topicResults", "resultsByPartition"):
        of_each.setdefault(text(transaction.get("transactionalId")), []).append((topic, partition))
    for (transaction,) in parts(request, "transactions"):
        event = _event(
            call, "verifyPartitions" if transaction.get("verifyOnly") is True else "addPartitions", transaction
        )
        event.by_broker = True
        if not _error(response, "errorCode"):
            event.errors.clear()
        yield _with_results(event, transaction, "topics", of_each.get(event.transactional_id, []), call)


def _with_results(event: Event, request: dict[str, Any], topics: str, results: list[Any], call: Call) -> Event:
    """Give an event its partitions: those that were added, or all of them if no part of the response says so."""
    wanted: dict[str, None] = {}
    for (topic,) in parts(request, topics):
        for number in topic.get("partitions") or ():
            wanted[f"{call.topic(topic)}-{number}"] = None
    failed: Counter[str] = Counter()
    added: dict[str, None] = {}
    for topic, partition in results:
        if error := _error(partition, "partitionErrorCode"):
            failed[error] += 1
        else:
            added[f"{call.topic(topic)}-{partition.get('partitionIndex')}"] = None
    if results:
        event.errors, event.ok = failed, bool(added)
    event.partitions = {name: Written() for name in (added or wanted if results else wanted)}
    return event


def _add_offsets(call: Call) -> Iterator[Event]:
    event = _event(call, "addOffsets", call.request)
    event.groups = _group(call)
    yield event


def _commit_offsets(call: Call) -> Iterator[Event]:
    event = _event(call, "commitOffsets", call.request)
    event.groups = _group(call)
    event.implicit = call.version >= IMPLICIT_OFFSETS
    offsets = [
        f"{call.topic(topic)}-{partition.get('partitionIndex')} at {partition.get('committedOffset')}"
        for topic, partition in parts(call.request, "topics", "partitions")
    ]
    event.detail = few(offsets)
    yield event


def _end(call: Call) -> Iterator[Event]:
    event = _event(call, "endTransaction", call.request)
    event.result = COMMITTED if call.request.get("committed") is True else ABORTED
    yield event


def _produce(call: Call) -> Iterator[Event]:
    event = _event(call, "produce", _named(call))
    if event.transactional_id is None:
        return
    event.implicit = call.version >= IMPLICIT_PRODUCE
    for batch in call.batches:
        event.producer_id, event.epoch = batch["producer_id"], batch["producer_epoch"]
        written = event.partitions.setdefault(f"{batch['topic']}-{batch['partition']}", Written())
        written.update(batches=1, records=batch["records"], bytes=batch["size"])
    if not event.partitions:  # a request log, which has the sizes of records alone
        for topic, partition in parts(call.request, "topicData", "partitionData"):
            size = max(whole(partition.get("recordsSizeInBytes")), 0)
            event.partitions[f"{call.topic(topic)}-{partition.get('index')}"] = Written(batches=1, bytes=size)
    yield event


def _markers(call: Call) -> Iterator[Event]:
    failed: dict[int, Counter[str]] = {}
    for marker, _, partition in parts(call.response, "markers", "topics", "partitions"):
        if error := _error(partition, "errorCode"):
            failed.setdefault(whole(marker.get("producerId")), Counter())[error] += 1
    for (marker,) in parts(call.request, "markers"):
        event = _event(call, "writeMarkers", marker)
        event.errors, event.by_broker = failed.get(event.producer_id, Counter()), True
        event.ok = call.response is not None and not event.errors
        event.result = COMMITTED if marker.get("transactionResult") is True else ABORTED
        for (topic,) in parts(marker, "topics"):
            for number in topic.get("partitionIndexes") or ():
                event.partitions[f"{call.topic(topic)}-{number}"] = Written()
        yield event


def _event(call: Call, what: What, ids: dict[str, Any]) -> Event:
    """Return an event of a call. `ids` has the ids of the transaction: a body, or a part of it."""
    errors = Counter(call.errors)
    return Event(
        what,
        call.asked,
        call.answered,
        text(ids.get("transactionalId")),
        whole(ids.get("producerId")),
        whole(ids.get("producerEpoch")),
        call.request_place,
        call.who,
        errors=errors,
        ok=call.response is not None and not errors,
    )


def _named(call: Call) -> dict[str, Any]:
    return {"transactionalId": call.request.get("transactionalId")}


def _group(call: Call) -> tuple[str, ...]:
    group = text(call.request.get("groupId"))
    return () if group is None else (group,)


def _error(of: dict[str, Any] | None, field: str) -> str:
    """Return the name of an error code in a part of a body; "" for none."""
    code = (of or {}).get(field)
    return str(catalog().error_name(code) or code) if code else ""


def text(value: Any) -> str | None:
    """Return a value that is text and not empty, None for any other."""
    return value if isinstance(value, str) and value else None


def whole(value: Any) -> int:
    """Return a value that is a whole number, -1 for any other."""
    return value if type(value) is int else NO_PRODUCER


_READERS: dict[str, Callable[[Call], Iterator[Event]]] = {
    "InitProducerId": _init,
    "AddPartitionsToTxn": _add_partitions,
    "AddOffsetsToTxn": _add_offsets,
    "TxnOffsetCommit": _commit_offsets,
    "EndTxn": _end,
    "Produce": _produce,
    "WriteTxnMarkers": _markers,
}
APIS = frozenset(_READERS)
"""The apis whose calls are about transactions."""
QUERY = calls_query(APIS, "c.api <> 'Produce' or c.transactional_id is not null", ASKED)
"""The calls about transactions."""
