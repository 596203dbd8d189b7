"""The metadata log by what is in it, where no folder says what a segment is of: its records hold secrets."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from kwire_cli.payload.control import MESSAGES, decode_control
from kwire_cli.payload.records import METADATA_TOPIC, OWN_TOPICS, decode_record
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import read_items
from kwire_cli.spec.catalog import catalog as bundled

if TYPE_CHECKING:
    from kwire_cli.records.model import Record, Source
    from kwire_cli.spec.catalog import Catalog

MOST_BATCHES, MOST_RECORDS = 8, 8
"""Batches that are looked at for one that says something, and records of that one."""


def with_topic(source: Source, start: int = 0) -> Source:
    """The source, with the topic that its records show from `start` on, where it has none of Kafka's own already."""
    if source.topic in OWN_TOPICS:
        return source
    return replace(source, topic=METADATA_TOPIC) if is_metadata_log(source, start) else source


def is_metadata_log(source: Source, start: int = 0) -> bool:
    """Whether the first records are such as only `__cluster_metadata` has: what KRaft writes into its log, or framed metadata, decoded in full."""
    catalog = source.catalog or bundled()
    for item in islice(read_items(source, start), MOST_BATCHES):
        if not isinstance(item, Batch) or not item.crc_valid:
            continue
        records = [*islice(item.records(), MOST_RECORDS)]
        if item.head.control:
            return any(decode_control(catalog, record.key, record.value).number in MESSAGES for record in records)
        if records:
            return all(_is_metadata(catalog, record) for record in records)
    return False


def _is_metadata(catalog: Catalog, record: Record) -> bool:
    if record.key is not None or not record.value:
        return False
    found = decode_record(catalog, METADATA_TOPIC, None, record.value)
    return bool(found and found.value and found.value.body and found.value.body.complete and not found.anomalies)
