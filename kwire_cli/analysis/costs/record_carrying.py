"""Conversion of records to the JSON of a format's writer. Parts that the format cannot store are dropped and counted.

Formats differ in two tables. `_FORMATS` has the formats of keys that some formats lack. LOSSES has an entry for each
loss: its name, the formats without the loss, and a function that counts the loss in a batch.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.header_forms import named, numbered
from kwire_cli.engine.fixed import fixed
from kwire_cli.records.batch import NO_TIMESTAMP_TYPE, base64_text, head_json
from kwire_cli.structs.records import kip98, v2

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cli.analysis.costs.header_forms import Headers
    from kwire_cli.records.batch import Batch, Record
    from kwire_cli.records.registers import Register

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
_APPENDED = "LogAppendTime"
_KEY = fixed(v2.CONTROL_RECORD_KEY)


class Loss(NamedTuple):
    """A property of records that only `formats` can store, and a function that counts it in a batch."""

    what: str
    formats: frozenset[str]
    number: Callable[[Batch, list[Record]], int]


LOSSES = (
    Loss("batches with a producer id", WITH_BATCHES, lambda batch, _: batch.head.producer_id >= 0),
    Loss("transactional batches", WITH_BATCHES, lambda batch, _: batch.head.transactional),
    Loss(
        "control marks of records",
        WITH_BATCHES,
        lambda batch, records: len(records) if _is_control(batch, records) else 0,
    ),
    Loss("batches without records", WITH_BATCHES, lambda _, records: not records),
    Loss(
        "batches that say offsets after their last record",
        WITH_BATCHES,
        lambda batch, records: bool(records) and batch.head.last_offset > records[-1].offset,
    ),
    Loss("batches with a leader epoch", _V2, lambda batch, _: batch.head.leader_epoch >= 0),
    Loss("delete horizons", _V2, lambda batch, _: batch.head.delete_horizon is not None),
    Loss("batches whose timestamps are LogAppendTime", _TIMES, lambda batch, _: batch.timestamp_type == _APPENDED),
    Loss("timestamps", _TIMES, lambda _, records: sum(record.timestamp >= 0 for record in records)),
    Loss("headers", _HEADERS, lambda _, records: sum(len(record.headers) for record in records)),
)
NAMES = "header names, as numbers instead"
CONTROL_TYPES = "control records of types that it has not"


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


def fitted(form: str, batch: Batch, records: list[Record], register: Register, lost: Counter[str]) -> Fitted:
    """Return the parts of a batch and its records that the form can store.

    The losses are counted in `lost` by name.
    """
    for loss in LOSSES:
        if form not in loss.formats:
            lost[loss.what] += loss.number(batch, records)
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
            "headers": _headers(form, record.headers, register, lost),
        }
        if form in _TIMES:
            row["timestamp"] = record.timestamp
        if is_control and form in WITH_BATCHES:
            row |= _control(form, record, lost)
        rows.append(row)
    head = _known(form, given, _SHARED)
    place = _known(form, given, _OF_PLACE)
    group = (given["producerId"], given["producerEpoch"], given["isTransactional"], batch.timestamp_type)
    offsets = [record.offset for record in records]
    return Fitted(group, head, place, rows, offsets, is_control)


def _known(form: str, given: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: given[key] for key in keys if form in _FORMATS.get(key, (form,))}


def _is_control(batch: Batch, records: list[Record]) -> bool:
    return batch.head.control or any(record.control is not None for record in records)


def data_of(row: Mapping[str, Any]) -> int:
    """Return the bytes of key, value and headers' values of a record for a writer."""
    parts = [row["key"], row["value"]]
    parts += [header["value"] for header in row["headers"]]
    return sum(len(base64.b64decode(part or "")) for part in parts)


def _headers(form: str, headers: Headers, register: Register, lost: Counter[str]) -> list[dict[str, Any]]:
    """Return the headers that the form can store."""
    if not headers or form not in _HEADERS:
        return []
    pairs: list[tuple[Any, bytes | None]]
    if form == "v2":
        pairs = [*named(headers, register)]
    else:
        lost[NAMES] += sum(isinstance(key, str) for key, _ in headers)
        pairs = [*numbered(headers, register, lost).items()]
    return [{"key": key, "value": base64_text(value)} for key, value in pairs]


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
    if name not in _DRAFT:
        lost[CONTROL_TYPES] += 1
        return {"control": {"type": name}}
    return {
        "control": {"type": name},
        "key": base64_text(kip98.CONTROL_MESSAGE_KEY.build({"version": 0, "controlMessageType": _DRAFT[name]})),
    }


_SHIPPED = {name: number for number, name in v2.CONTROL_TYPES.items()}
_DRAFT = {name: number for number, name in kip98.CONTROL_TYPES.items()}
