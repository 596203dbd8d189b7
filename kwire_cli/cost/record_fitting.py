"""Records as a format can carry them, as the JSON that its writer takes; what it can't carry is counted."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cost.header_keys import named, numbered
from kwire_cli.engine.fixed import fixed
from kwire_cli.records.batch import NO_TIMESTAMP_TYPE
from kwire_cli.records.jsonform import base64_text
from kwire_cli.structs.records import kip98, v2

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from kwire_cli.cost.header_keys import Headers, Register
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Record

WITH_BATCHES = frozenset({"v2", "kip98-draft"})
"""Formats with a header for a batch, in which there may be batches without records."""
_WITH_HEADERS = frozenset({"v2", "kip82-draft"})
_KEY = fixed(v2.CONTROL_RECORD_KEY)
_APPENDED = "LogAppendTime"

HEADERS, TIMESTAMPS, APPENDED = "headers", "timestamps", "batches whose timestamps are LogAppendTime"
PRODUCERS, TRANSACTIONS, CONTROLS = "batches with a producer id", "transactional batches", "control marks of records"
EPOCHS, HORIZONS = "batches with a leader epoch", "delete horizons"
TAILS, EMPTY = "batches that say offsets after their last record", "batches without records"
NAMES, CONTROL_TYPES = "header names, as numbers instead", "control records of types that it has not"


class Fitted(NamedTuple):
    """A batch as a format carries it: what each of its batches says (`head`), where it stands (`place`), and its records without offsets.

    `group` is what has to be the same in the records of one batch, the producer's id first, whether or not the format can say it. `data` are the
    bytes of keys, values and headers' values that are left.
    """

    group: tuple[Any, ...]
    head: dict[str, Any]
    place: dict[str, Any]
    rows: list[dict[str, Any]]
    offsets: list[int]
    control: bool
    data: int


def fitted(form: str, batch: Batch, records: list[Record], register: Register, lost: Counter[str]) -> Fitted:
    """What of a batch and its records the form can carry; everything else is added to `lost`, by what it is."""
    head = batch.head
    said: dict[str, Any] = {}
    place: dict[str, Any] = {"baseOffset": head.base_offset}
    control = head.control or any(record.control is not None for record in records)
    timestamped = batch.timestamp_type != NO_TIMESTAMP_TYPE
    if form in WITH_BATCHES:
        said |= {"producerId": head.producer_id, "producerEpoch": head.producer_epoch, "isTransactional": head.transactional}
        place |= {"lastOffset": head.last_offset, "baseSequence": head.base_sequence, "maxTimestamp": head.max_timestamp}
    else:
        lost[PRODUCERS] += head.producer_id >= 0
        lost[TRANSACTIONS] += head.transactional
        lost[CONTROLS] += len(records) if control else 0
        lost[EMPTY] += not records
        lost[TAILS] += bool(records) and head.last_offset > records[-1].offset
    if form == "v2":
        said["isControl"] = control
        place |= {"partitionLeaderEpoch": head.leader_epoch, "deleteHorizonMs": head.delete_horizon}
    else:
        lost[EPOCHS] += head.leader_epoch >= 0
        lost[HORIZONS] += head.delete_horizon is not None
    if form != "v0":
        said["timestampType"] = batch.timestamp_type if timestamped else None
    else:
        lost[APPENDED] += batch.timestamp_type == _APPENDED
        lost[TIMESTAMPS] += sum(record.timestamp >= 0 for record in records)
    rows, data = [], 0
    for record in records:
        row: dict[str, Any] = {
            "sequence": record.sequence,
            "key": base64_text(record.key),
            "value": base64_text(record.value),
            "headers": _headers(form, record.headers, register, lost),
        }
        if form != "v0":
            row["timestamp"] = record.timestamp
        if control and form in WITH_BATCHES:
            row |= _control(form, record, lost)
        rows.append(row)
        data += data_of(row)
    group = (head.producer_id, head.producer_epoch, head.transactional, batch.timestamp_type)
    return Fitted(group, said | {"compression": batch.compression}, place, rows, [record.offset for record in records], control, data)


def data_of(row: Mapping[str, Any]) -> int:
    """The bytes of key, value and headers' values of a record for a writer."""
    return sum(len(base64.b64decode(part or "")) for part in (row["key"], row["value"], *(header["value"] for header in row["headers"])))


def _headers(form: str, headers: Headers, register: Register, lost: Counter[str]) -> list[dict[str, Any]]:
    """The headers that the form can carry."""
    if not headers:
        return []
    if form not in _WITH_HEADERS:
        lost[HEADERS] += len(headers)
        return []
    pairs: list[tuple[Any, bytes | None]]
    if form == "v2":
        pairs = [*named(headers, register)]
    else:
        lost[NAMES] += sum(isinstance(key, str) for key, _ in headers)
        pairs = [*numbered(headers, register, lost).items()]
    return [{"key": key, "value": base64_text(value)} for key, value in pairs]


def _control(form: str, record: Record, lost: Counter[str]) -> dict[str, Any]:
    """A control record as the form marks it: COMMIT and ABORT have each other's number in the KIP-98 draft."""
    number = record.control
    if number is None and record.key is not None and len(record.key) >= _KEY.size:
        number = _KEY.unpack(record.key)[1]
        name = v2.CONTROL_TYPES.get(number)
    else:
        name = kip98.CONTROL_TYPES.get(-1 if number is None else number)
    if form == "v2":
        known = {"version": 0, "type": _SHIPPED[name]} if record.control is not None and name else None
        return {"key": base64_text(v2.CONTROL_RECORD_KEY.build(known))} if known else {}
    if name not in _DRAFT:
        lost[CONTROL_TYPES] += 1
        return {"control": {"type": name}}
    return {"control": {"type": name}, "key": base64_text(kip98.CONTROL_MESSAGE_KEY.build({"version": 0, "controlMessageType": _DRAFT[name]}))}


_SHIPPED = {name: number for number, name in v2.CONTROL_TYPES.items()}
_DRAFT = {name: number for number, name in kip98.CONTROL_TYPES.items()}
