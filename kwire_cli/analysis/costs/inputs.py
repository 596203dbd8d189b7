"""The messages and batches in the subjects of inputs: lines of captures, frames, bodies, and items of logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.message.decoded import Decoded, record_sets
from kwire_cli.message.frames import Frame
from kwire_cli.message.roles import RecordsAs, roles
from kwire_cli.records.batch import Batch, has_payloads, payload_of
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.log_inputs import LogItem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.values import Body
    from kwire_cli.spec.catalog import Catalog


NO_MESSAGE = "this holds no message that is certain: for a response outside a capture give --api and --message-version"


def frame_of(subject: Any) -> Frame | None:
    """Return the frame of a line, or a frame itself. Return None for a guess."""
    frame = subject.frame if isinstance(subject, Captured) else subject
    return frame if isinstance(frame, Frame) and not frame.guess else None


def body_of(subject: Any) -> Decoded | None:
    """Return the body of a line, of a frame, or itself. Return None if it is not known as a request or response."""
    if isinstance(subject, Decoded):
        return subject
    frame = frame_of(subject)
    return frame.body if frame else None


def certain_bodies(subject: Any) -> Iterator[Body]:
    """Yield the body of a subject, or the keys and values of the records of an internal topic, unless it is a guess."""
    if not isinstance(subject, LogItem):
        if body := body_of(subject):
            yield body
        return
    batch = subject.item
    if isinstance(batch, Batch) and has_payloads(batch):
        for record in batch.records():
            payload = payload_of(batch, record)
            if payload and payload.record:
                parts = payload.record.key, payload.record.value
                yield from (part.body for part in parts if part and part.body)


class PartitionBatch(NamedTuple):
    """A batch and the name of its partition."""

    partition: str
    batch: Batch


def batches_of(subject: Any, catalog: Catalog) -> Iterator[PartitionBatch]:
    """Yield the batch of a log, or the batches in the records of a message."""
    if isinstance(subject, LogItem):
        if isinstance(subject.item, Batch):
            yield PartitionBatch(subject.name, subject.item)
    elif isinstance(subject, Captured):
        if subject.seen.size and (read := subject.read):
            yield from _in_body(subject.api, *read, subject.reading())
    elif body := body_of(subject):
        yield from _in_body(body.message, roles(body.spec, body.entry), body.raw, RecordsAs(catalog))


def _in_body(api: str | None, where: Any, raw: Any, reading: RecordsAs) -> Iterator[PartitionBatch]:
    """Yield the batches in a body. The api is part of the partition name: one capture may produce and fetch a batch."""
    for record_set in record_sets(where, raw):
        partition = f"{api} {reading.topic(record_set.topic)}-{record_set.partition}"
        for item in reading.items(raw.data, record_set.topic, record_set.start, record_set.stop):
            if isinstance(item, Batch):
                yield PartitionBatch(partition, item)
