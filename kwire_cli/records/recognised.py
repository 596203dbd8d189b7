"""Whose records a record set holds: as given, as its folder says, or, of the metadata log, as its records show, which hold secrets."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from kwire_cli.payload.control import MESSAGES, decode_control
from kwire_cli.payload.records import OWN_TOPICS, decode_record
from kwire_cli.records.batch import Batch
from kwire_cli.records.formats import AUTO
from kwire_cli.records.opening import source_of
from kwire_cli.records.reading import read_items
from kwire_cli.spec.catalog import catalog as bundled
from kwire_cli.spec.kafka import CLUSTER_METADATA

if TYPE_CHECKING:
    from kwire_cli.codec.model import Limits
    from kwire_cli.records.model import Record, Source
    from kwire_cli.spec.catalog import Catalog

MOST_BATCHES, MOST_RECORDS = 8, 8
"""Batches that are looked at for one that says something, and records of that one."""


def recognised_source(
    data: Any,
    *,
    given: str | None = None,
    folder: str | None = None,
    form: str = AUTO,
    catalog: Catalog | None = None,
    limits: Limits | None = None,
    start: int = 0,
) -> Source:
    """A record set with its topic: the one that is `given`, else that of its `folder`, unless its records from `start` on show another."""
    source = source_of(data, form=form, topic=given or folder, catalog=catalog, limits=limits)
    if given or source.topic in OWN_TOPICS:
        return source
    return replace(source, topic=CLUSTER_METADATA) if is_metadata_log(source, start) else source


def is_metadata_log(source: Source, start: int = 0) -> bool:
    """Whether the first records are such as only `__cluster_metadata` has: framed metadata, decoded in full, or what KRaft writes into its log.

    Behind what KRaft writes, metadata need not be decoded: a newer release has other types. Its records have no key.
    """
    by_kraft = False
    catalog = source.catalog or bundled()
    for item in islice(read_items(source, start), MOST_BATCHES):
        if not isinstance(item, Batch) or not item.crc_valid:
            continue
        records = [*islice(item.records(), MOST_RECORDS)]
        if item.head.control:
            by_kraft = by_kraft or any(decode_control(catalog, record.key, record.value).number in MESSAGES for record in records)
            if not by_kraft:
                return False
        elif records:
            return all(record.key is None if by_kraft else _is_metadata(catalog, record) for record in records)
    return by_kraft


def _is_metadata(catalog: Catalog, record: Record) -> bool:
    if record.key is not None or not record.value:
        return False
    found = decode_record(catalog, CLUSTER_METADATA, None, record.value)
    return bool(found and found.value and found.value.body and found.value.body.complete and not found.anomalies)
