"""The table `batches`: the batches in Produce requests of captures, by their headers.

Records are not decoded. Only small compressed batches are decompressed, to show what compression costs there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.records.batch import Batch, Source
from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import decompress
from kwire_cli.records.formats import AUTO
from kwire_cli.records.layouts import layouts_of
from kwire_cli.records.reading import record_set
from kwire_cli.source.kafka.line_records import raw_body_of
from kwire_cli.spec.kafka import PRODUCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

BATCHES = (
    ("connection", "BIGINT"),
    ("frame", "BIGINT"),
    ("topic", "VARCHAR"),
    ("partition", "INTEGER"),
    ("records", "BIGINT"),
    ("size", "BIGINT"),
    ("magic", "INTEGER"),
    ("codec", "INTEGER"),
    ("crc", "BIGINT"),
    ("crc_valid", "BOOLEAN"),
    ("producer_id", "BIGINT"),
    ("producer_epoch", "INTEGER"),
    ("base_sequence", "INTEGER"),
    ("last_sequence", "INTEGER"),
    ("is_transactional", "BOOLEAN"),
    ("is_control", "BOOLEAN"),
    ("timestamp_type", "INTEGER"),
    ("first_time_ms", "BIGINT"),
    ("max_time_ms", "BIGINT"),
    ("unpacked_size", "BIGINT"),
)
"""Names and types.

Fields that the format of a batch lacks are -1, false or null. `unpacked_size` is the decompressed size of the records
of a small compressed batch; null for other batches.
"""
LARGEST_UNPACKED = 8192
"""Maximum size of a batch that is decompressed to find its decompressed size. Compression pays for larger batches."""
_LAYOUTS = layouts_of(AUTO)
_LIMITS = Limits()


def batch_rows(line: Captured) -> Iterator[list[Any]]:
    """Yield the batches in a Produce request as rows of BATCHES, without the key."""
    if line.api_key == PRODUCE and line.kind == "request":
        yield from batches_in(raw_body_of(line), line.names.topic, line.connection.catalog)


def batches_in(body: Mapping[str, Any], topic_of: Callable[[str], str], catalog: Catalog) -> Iterator[list[Any]]:
    """Yield the batches in the body of a Produce request, with records as bytes, as rows of BATCHES without the key.

    `topic_of` returns the name of a topic id.
    """
    for topic in _objects(body.get("topicData")):
        name = topic.get("name") or topic_of(topic.get("topicId") or "")
        for partition in _objects(topic.get("partitionData")):
            records = partition.get("records")
            index = partition.get("index")
            if isinstance(records, bytes | memoryview) and isinstance(index, int):
                source = Source(memoryview(records), _LAYOUTS, catalog, name, _LIMITS)
                for item in record_set(source):
                    if isinstance(item, Batch):
                        yield [name, index, *_row(item)]


def unpacked_size(batch: Batch) -> int | None:
    """Return the bytes of the records in a small compressed batch without compression; None for other batches."""
    if not batch.head.codec or batch.size > LARGEST_UNPACKED or batch.layout.is_message:
        return None
    packed = batch.data[batch.position + batch.layout.head.size : batch.end]
    unpacked = decompress(batch.head.codec, packed, batch.source.limits)
    return len(unpacked.data) if unpacked.code is None else None


def _objects(values: Any) -> Iterator[dict[str, Any]]:
    yield from (value for value in values or () if isinstance(value, dict))


def _row(batch: Batch) -> list[Any]:
    head = batch.head
    return [
        head.records,
        batch.size,
        batch.magic,
        head.codec,
        head.crc,
        batch.crc_valid,
        head.producer_id,
        head.producer_epoch,
        head.base_sequence,
        batch.last_sequence,
        head.transactional,
        head.control,
        head.timestamp_type,
        head.first_time,
        head.max_timestamp,
        unpacked_size(batch),
    ]
