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
    name = text(call.request.get("transactionalId"))
    if name is None:
        return
    response = call.response or {}
    timeout = whole(call.request.get("transactionTimeoutMs"))
    producer, epoch = whole(response.get("producerId")), whole(response.get("producerEpoch"))
    event = _event(call, "initProducerId", name, producer, epoch)
    event.timeout = None if timeout < 0 else timeout / 1000
    event.detail = f"producer id {producer}, epoch {epoch}" if event.ok and producer >= 0 else ""
    yield event


def _add_partitions(call: Call) -> Iterator[Event]:
    request, response = call.request, call.response
    old = text(request.get("v3AndBelowTransactionalId"))
    if old is not None or request.get("v3AndBelowTopics") is not None:
        producer, epoch = whole(request.get("v3AndBelowProducerId")), whole(request.get("v3AndBelowProducerEpoch"))
        event = _event(call, "addPartitions", old, producer, epoch)
        results = parts(response, "resultsByTopicV3AndBelow", "resultsByPartition")
        yield _with_results(event, request, "v3AndBelowTopics", [pair[-2:] for pair in results], call)
        return
    of_each: dict[str | None, list[Any]] = {}
    for transaction, topic, partition in parts(response, "resultsByTransaction", "topicResults", "resultsByPartition"):
        of_each.setdefault(text(transaction.get("transactionalId")), []).append((topic, partition))
    for (transaction,) in parts(request, "transactions"):
        name = text(transaction.get("transactionalId"))
        producer, epoch = whole(transaction.get("producerId")), whole(transaction.get("producerEpoch"))
        what = "verifyPartitions" if transaction.get("verifyOnly") is True else "addPartitions"
        event = _event(call, what, name, producer, epoch)
        event.by_broker = True
        if not _error(response, "errorCode"):
            event.errors.clear()
        yield _with_results(event, transaction, "topics", of_each.get(name, []), call)


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
    event = _of_request(call, "addOffsets")
    event.groups = _group(call)
    yield event


def _commit_offsets(call: Call) -> Iterator[Event]:
    event = _of_request(call, "commitOffsets")
    event.groups = _group(call)
    event.implicit = call.version >= IMPLICIT_OFFSETS
    offsets = [
        f"{call.topic(topic)}-{partition.get('partitionIndex')} at {partition.get('committedOffset')}"
        for topic, partition in parts(call.request, "topics", "partitions")
    ]
    event.detail = few(offsets)
    yield event


def _end(call: Call) -> Iterator[Event]:
    event = _of_request(call, "endTransaction")
    event.result = COMMITTED if call.request.get("committed") is True else ABORTED
    yield event


def _produce(call: Call) -> Iterator[Event]:
    name = text(call.request.get("transactionalId"))
    if name is None:
        return
    event = _event(call, "produce", name, NO_PRODUCER, NO_PRODUCER)
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
        producer, epoch = whole(marker.get("producerId")), whole(marker.get("producerEpoch"))
        event = _event(call, "writeMarkers", None, producer, epoch)
        event.errors, event.by_broker = failed.get(producer, Counter()), True
        event.ok = call.response is not None and not event.errors
        event.result = COMMITTED if marker.get("transactionResult") is True else ABORTED
        for (topic,) in parts(marker, "topics"):
            for number in topic.get("partitionIndexes") or ():
                event.partitions[f"{call.topic(topic)}-{number}"] = Written()
        yield event


def _of_request(call: Call, what: Any) -> Event:
    request = call.request
    name, producer = text(request.get("transactionalId")), whole(request.get("producerId"))
    return _event(call, what, name, producer, whole(request.get("producerEpoch")))


def _event(call: Call, what: Any, name: str | None, producer: int, epoch: int) -> Event:
    errors = Counter(call.errors)
    ok = call.response is not None and not errors
    return Event(
        what, call.asked, call.answered, name, producer, epoch, call.request_place, call.who, errors=errors, ok=ok
    )


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
