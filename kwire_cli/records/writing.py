"""Record sets written from JSON, with payloads of Kafka's own topics.

The input is the output of `kwire dump` or `to_json` of a batch, or a part of it; docs/model.md lists all keys. Items
are written one at a time, by the function of their format in `write_batches`. Omitted numbers are derived, so that a
handwritten item can be short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.errors import EncodeError
from kwire_cli.records.building import Given, given
from kwire_cli.records.formats import AUTO, RECORD_FORMATS
from kwire_cli.records.layouts import layouts_of
from kwire_cli.records.payload_writing import Payloads
from kwire_cli.records.write_batches import write_draft98, write_legacy, write_v2
from kwire_cli.structs.numbers import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.records.layouts import Layout
    from kwire_cli.spec.catalog import Catalog

WRITERS = {"v2": write_v2, "legacy": write_legacy, "draft98": write_draft98}
"""The functions that write a batch, by the kind of its format."""
_WITHOUT_MEANING = {"position", "size", "count", "anomalies", "gap", "file", "topic", "partition"}
"""Keys of a batch that follow from its place or from its contents."""


ITEM_KEYS = _WITHOUT_MEANING | {
    "baseOffset", "lastOffset", "magic", "crc", "crcValid", "compression", "compressionLevel", "timestampType",
    "maxTimestamp", "producerId",
    "producerEpoch", "baseSequence", "partitionLeaderEpoch", "isTransactional", "isControl", "deleteHorizonMs",
    "innerOffsets", "records", "fields",
}  # fmt: skip
_CHECKSUM = {"crc", "crcValid"}
_GAP_KEYS = _WITHOUT_MEANING | {"data", "batch"}
_DEFAULT_MAGIC = 2
_NO_WAY_BACK = "a gap needs its bytes to be encoded: give them, or skip gaps (kwire encode --as-records --without-gaps)"


def write(items: Any, *, form: str = AUTO, topic: str | None = None, catalog: Catalog | None = None) -> bytes:
    """Encode a record set.

    Args:
        items: Objects in the form of `Batch.to_json` and `Gap.to_json`. A gap needs its bytes as `data`. Most keys of a
            batch may be left out: offsets count up, missing numbers are -1, and sizes, counts and checksums are
            computed.
        form: "auto" takes the format of each item from its `magic`, 2 by default; a name of `records.formats` applies
            to all items.
        topic: The internal topic whose schema encodes `decoded` keys and values.
        catalog: The definitions for control records and `decoded` payloads, the bundled definitions by default.

    Raises:
        EncodeError: Something does not fit; the path is such as `[0].records[2].key`.
        InputError: There is no such format.

    """
    if isinstance(items, str | bytes | dict) or not hasattr(items, "__iter__"):
        raise EncodeError(f"a record set takes a list of items, not {shown(items)}", value=items)
    return b"".join(write_each(items, form=form, topic=topic, catalog=catalog))


def write_each(
    items: Iterable[Any], *, form: str = AUTO, topic: str | None = None, catalog: Catalog | None = None
) -> Iterator[bytes]:
    """Encode a record set, and yield the bytes of each item as soon as it is read."""
    layouts = layouts_of(form)
    payloads: dict[str | None, Payloads] = {None: Payloads(topic, catalog)}
    offset = 0
    for number, value in enumerate(items):
        item = given(value, f"[{number}]")
        if "gap" in item.value:
            yield _gap(item)
            continue
        item.only(ITEM_KEYS)
        own = None if topic else item.text("topic")
        if own not in payloads:
            payloads[own] = Payloads(own, catalog)
        layout = _layout_of(item, layouts)
        if "records" not in item.value:
            raise item.refuse("records", "it is missing; dump with --deep to have the records of a batch")
        try:
            write = WRITERS[RECORD_FORMATS[layout.name].kind]
            data, last = write(item, layout, payloads[own], offset)
        except RecursionError:
            raise EncodeError("it nests too deeply", path=item.path) from None
        offset = min(last + 1, (1 << 63) - 1)
        yield data


def without_gaps(items: Iterable[Any]) -> Iterator[Any]:
    """Return the items without gaps: the readable part of damaged bytes. Offsets do not change."""
    return (item for item in items if not (isinstance(item, dict) and "gap" in item))


def with_new_checksums(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items without their checksums, so that correct ones are computed in place of wrong ones."""
    for item in items:
        yield {key: value for key, value in item.items() if key not in _CHECKSUM} if isinstance(item, dict) else item


def _layout_of(item: Given, layouts: Mapping[int, Layout]) -> Layout:
    magic = item.number("magic", "int8", _DEFAULT_MAGIC if _DEFAULT_MAGIC in layouts else next(iter(layouts)))
    if magic not in layouts:
        raise item.refuse("magic", f"it is {' or '.join(str(supported) for supported in layouts)}, not {magic}")
    return layouts[magic]


def _gap(item: Given) -> bytes:
    item.only(_GAP_KEYS)
    data = item.bytes("data")
    if data is None:
        raise item.refuse("data", _NO_WAY_BACK)
    return data
