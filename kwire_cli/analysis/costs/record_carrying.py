"""Conversion of records to the JSON of a format's writer. Parts that the format cannot store are dropped and counted.

Formats differ in two tables. `_FORMATS` has the formats of keys that some formats lack. LOSSES has an entry for each
loss: its name, the formats without the loss, and a function that counts the loss in a batch.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.header_forms import header_rows
from kwire_cli.engine.fixed import fixed
from kwire_cli.records.batch import NO_TIMESTAMP_TYPE, base64_text, head_json
from kwire_cli.structs.records import kip98, v2

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cli.analysis.costs.header_forms import HeaderKeys, Headers
    from kwire_cli.records.batch import Batch, Record

WITH_BATCHES = frozenset({"v2", "kip98-draft"})
"""Formats with a header for a batch, in which there may be batches without records."""
_V2 = frozenset({"v2"})
_TIMES = frozenset({"v1", "v2", "kip82-draft", "kip98-draft"})
_HEADERS = frozenset({"v2", "kip82-draft"})
_SHARED = ("producerId", "producerEpoch", "isTransactional", "isControl", "timestampType", "compression")
_OF_PLACE = ("baseOffset", "lastOffset", "baseSequence", "maxTimestamp", "partitionLeaderEpoch", "deleteHorizonMs")
_FORMATS = {
    **dict.fromkeys(("producerId", "producerEpoch", "isTransactional"), WITH_BATCHES),
    **dict.fromkeys(("lastOffset", "baseSequence", "maxTimestamp"), WITH_BATCHES),
    **dict.fromkeys(("isControl", "partitionLeaderEpoch", "deleteHorizonMs"), _V2),
    "timestampType": _TIMES,
}
_KEY = fixed(v2.CONTROL_RECORD_KEY)


def _is_control(batch: Batch, records: Sequence[Record]) -> bool:
    return batch.head.control or any(record.control is not None for record in records)


def _says_more(batch: Batch, records: Sequence[Record]) -> bool:
    return bool(records) and batch.head.last_offset > records[-1].offset


LOSSES: tuple[tuple[str, frozenset[str], Callable[[Batch, list[Record]], int]], ...] = (
    ("batches with a producer id", WITH_BATCHES, lambda batch, _: batch.head.producer_id >= 0),
    ("transactional batches", WITH_BATCHES, lambda batch, _: batch.head.transactional),
    ("control marks of records", WITH_BATCHES, lambda batch, records: len(records) * _is_control(batch, records)),
    ("batches without records", WITH_BATCHES, lambda _, records: not records),
    ("batches that say offsets after their last record", WITH_BATCHES, _says_more),
    ("batches with a leader epoch", _V2, lambda batch, _: batch.head.leader_epoch >= 0),
    ("delete horizons", _V2, lambda batch, _: batch.head.delete_horizon is not None),
    ("batches whose timestamps are LogAppendTime", _TIMES, lambda batch, _: batch.timestamp_type == "LogAppendTime"),
    ("timestamps", _TIMES, lambda _, records: sum(record.timestamp >= 0 for record in records)),
    ("headers", _HEADERS, lambda _, records: sum(len(record.headers) for record in records)),
)


class Fitted(NamedTuple):
    """A batch in a format: the fields that all its batches share, its place, and its records without offsets.

    Records of one batch have the same `group`, even if the format cannot store it. Its first value is the producer id.
    """

    group: tuple[Any, ...]
    head: dict[str, Any]
    place: dict[str, Any]
    rows: list[dict[str, Any]]
    offsets: list[int]
    control: bool


def fitted(form: str, batch: Batch, records: list[Record], keys: HeaderKeys) -> Fitted:
    """Return the parts of a batch and its records that the form can store.

    The losses are counted in `keys.lost` by name.
    """
    for what, formats, number in LOSSES:
        if form not in formats:
            keys.lost[what] += number(batch, records)
    is_control = _is_control(batch, records)
    given = head_json(batch) | {"isControl": is_control}
    if batch.timestamp_type == NO_TIMESTAMP_TYPE:
        given["timestampType"] = None
    rows = []
    for record in records:
        row = {
            "sequence": record.sequence,
            "key": base64_text(record.key),
            "value": base64_text(record.value),
            "headers": _headers(form, record.headers, keys),
        }
        if form in _TIMES:
            row["timestamp"] = record.timestamp
        if is_control and form in WITH_BATCHES:
            row |= _control(form, record, keys.lost)
        rows.append(row)
    group = (given["producerId"], given["producerEpoch"], given["isTransactional"], batch.timestamp_type)
    offsets = [record.offset for record in records]
    return Fitted(group, _known(form, given, _SHARED), _known(form, given, _OF_PLACE), rows, offsets, is_control)


def _known(form: str, given: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: given[key] for key in keys if form in _FORMATS.get(key, (form,))}


def data_of(row: Mapping[str, Any]) -> int:
    """Return the bytes of key, value and headers' values of a record for a writer."""
    parts = [row["key"], row["value"]]
    parts += [header["value"] for header in row["headers"]]
    return sum(len(base64.b64decode(part or "")) for part in parts)


def _headers(form: str, headers: Headers, keys: HeaderKeys) -> list[dict[str, Any]]:
    """Return the headers that the form can store."""
    if not headers or form not in _HEADERS:
        return []
    if form == "v2":
        return header_rows(keys.named(headers))
    keys.lost["header names, as numbers instead"] += sum(isinstance(key, str) for key, _ in headers)
    return header_rows(keys.numbered(headers).items())


def _control(form: str, record: Record, lost: Counter[str]) -> dict[str, Any]:
    """Return a control record in the form. The KIP-98 draft swaps the numbers of COMMIT and ABORT."""
    number = record.control
    if number is None and record.key is not None and len(record.key) >= _KEY.size:
        number = _KEY.unpack(record.key)[1]
        name = v2.CONTROL_TYPES.get(number)
    else:
        name = kip98.CONTROL_TYPES.get(-1 if number is None else number)
    if form == "v2":
        fields = {"version": 0, "type": _SHIPPED[name]} if record.control is not None and name else None
        return {"key": base64_text(v2.CONTROL_RECORD_KEY.build(fields))} if fields else {}
    control: dict[str, Any] = {"control": {"type": name}}
    if name not in _DRAFT:
        lost["control records of types that it has not"] += 1
        return control
    key = kip98.CONTROL_MESSAGE_KEY.build({"version": 0, "controlMessageType": _DRAFT[name]})
    return control | {"key": base64_text(key)}


_SHIPPED = {name: number for number, name in v2.CONTROL_TYPES.items()}
_DRAFT = {name: number for number, name in kip98.CONTROL_TYPES.items()}
