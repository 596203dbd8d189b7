"""Batches and records as rows of a table and of csv.

Both formats have a row for each batch or gap, or with records a row for each record. Cells of the table are short text
for display. Cells of csv are complete values, with columns that do not change between versions of Kafka, for programs.
"""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from itertools import chain
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.values import instant
from kwire_cli.errors import counted
from kwire_cli.records.batch import TRUNCATED, Batch, base64_text, head_json, headers_of, record_json
from kwire_cli.structs.records.parts import BATCH_KEYS, RECORD_KEYS
from kwire_cli.view.meanings import moment
from kwire_cli.view.tables import text_of
from kwire_cli.view.widths import Column, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Hide, Record
    from kwire_cli.records.gaps import Gap

    Numbered = Sequence[tuple[int, Record]]


_ANOMALY = Column("anomaly", width=7, least=12, cut="end", style="warning")
_BATCH_COLUMNS = (
    Column("position", width=10, right=True),
    Column("size", "size B", keep=2, width=8, right=True),
    Column("baseOffset", width=10, right=True),
    Column("lastOffset", keep=4, width=10, right=True),
    Column("count", keep=1, width=6, right=True),
    Column("magic", keep=6, width=5, right=True),
    Column("compression", "codec", keep=1, width=6),
    Column("maxTimestamp", width=24, least=19, cut="short"),
    Column("producerId", keep=5, width=10, right=True),
    Column("flags", width=5, least=12, cut="end"),
    _ANOMALY,
)
_RECORD_COLUMNS = (
    Column("offset", width=10, right=True),
    Column("timestamp", width=24, least=19, cut="short"),
    Column("keySize", "key B", keep=3, width=7, right=True),
    Column("valueSize", "value B", keep=3, width=9, right=True),
    Column("key", width=20, least=8, cut="end"),
    Column("value", width=30, least=14, cut="end"),
    Column("headers", keep=1, width=7, least=10, cut="end"),
    _ANOMALY,
)
_TABLE_TEXT = 60
CSV_BATCH = (*("deleteHorizon" if key == "deleteHorizonMs" else key for key in BATCH_KEYS), "gap")
CSV_RECORD = ("position", *RECORD_KEYS, "decoded", "gap")


def flags_of(batch: Batch) -> str:
    """Return the flags of a batch for a cell: transactional, control."""
    head = batch.head
    flags = [name for name, on in (("transactional", head.transactional), ("control", head.control)) if on]
    return ", ".join(flags)


def time_text(milliseconds: int) -> str:
    """Return a timestamp for a cell. Return an empty string if the record has no timestamp."""
    return moment(milliseconds) or ("" if milliseconds == -1 else str(milliseconds))


def compact(document: Any) -> str:
    """Return a JSON value for a cell."""
    return text_of(json.dumps(document, ensure_ascii=False, separators=(",", ":")))


def text_in(data: bytes, *, is_cut: bool = False) -> str | None:
    """Return bytes as a string if they are UTF-8 and contain no control characters except tabs and line ends.

    Return None for other bytes. If `is_cut` is set, the bytes may end within a character, which is dropped.
    """
    try:
        text = getincrementaldecoder("utf-8")().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() or all(char.isprintable() or char in "\n\r\t" for char in text) else None


def table_columns(*, deep: bool) -> tuple[Column, ...]:
    """Return the columns of a table of batches, or of records."""
    return _RECORD_COLUMNS if deep else _BATCH_COLUMNS


def batch_row(item: Batch | Gap) -> tuple[str, ...]:
    """Return a batch or gap as a row of the table."""
    row: dict[str, Any] = {"position": item.position, "size": item.size}
    if batch := _readable_batch(item):
        row |= head_json(batch) | {"maxTimestamp": time_text(batch.head.max_timestamp), "flags": flags_of(batch)}
    row["anomaly"] = ", ".join(codes_of(item)) if isinstance(item, Batch) else f"gap: {item.code}"
    return tuple(text_of(row.get(column.name)) for column in _BATCH_COLUMNS)


def codes_of(batch: Batch) -> list[str]:
    """Return the codes of the anomalies of a batch. Anomalies of its records are left out."""
    return [*dict.fromkeys(note.code for note in batch.notes)]


def gap_row(gap: Gap) -> tuple[str, ...]:
    """Return a gap as a row of a table of records."""
    anomaly = f"gap at {gap.position}: {gap.code}, {counted(gap.size, 'byte')}"
    return tuple(anomaly if column.name == "anomaly" else "" for column in _RECORD_COLUMNS)


def record_rows(
    batch: Batch, records: Numbered, notes: Iterable[Anomaly], hide: Hide | None
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each record, then one for the anomalies of the batch that belong to no record."""
    codes: dict[str, list[str]] = {}
    for note in notes:
        codes.setdefault(note.path.partition("]")[0], []).append(note.code)
    for number, record in records:
        anomalies = ", ".join(dict.fromkeys(codes.pop(f"records[{number}", ())))
        yield record_row(batch, record, hide, anomalies)
    others = dict.fromkeys([*codes_of(batch), *chain.from_iterable(codes.values())])
    if others:
        row = {"anomaly": f"batch at {batch.position}: {', '.join(others)}"}
        yield tuple(row.get(column.name, "") for column in _RECORD_COLUMNS)


def record_row(batch: Batch, record: Record, hide: Hide | None, anomalies: str = "") -> tuple[str, ...]:
    """Return a record as a row of the table. `anomalies` contains the codes of its anomalies."""
    document = record_json(batch, record, 0, [], hide)
    key = _secret(document["key"]) or _cell(record.key)
    value = _secret(document["value"]) or _cell(record.value)
    if decoded := document.get("decoded"):
        key = _part(decoded.get("key"), key)
        value = _part(decoded.get("value"), value)
    elif "control" in document:
        key = None
        value = compact(document["control"])
    headers = ", ".join(
        [f"{name}={'null' if data is None else _cell(data)}" for name, data in headers_of(batch, record, hide)]
    )
    row = {**document, "timestamp": time_text(record.timestamp), "key": key, "value": value, "headers": headers}
    row["anomaly"] = anomalies
    return tuple(cut(text_of(row.get(column.name)), _TABLE_TEXT, "end") for column in _RECORD_COLUMNS)


def _part(decoded: dict[str, Any] | None, plain: str | None) -> str | None:
    """Return a decoded key or value for a cell: its data, after its type if the type has a name."""
    data = decoded.get("data") if decoded else None
    if decoded and "format" in decoded and data is not None and not isinstance(data, dict):
        return data if isinstance(data, str) else compact(data)
    if not decoded or not isinstance(data, dict):
        return plain
    kind = decoded.get("type") or ""
    return f"{kind} {compact(decoded['data'])}".strip() if not kind.isdigit() else compact(decoded["data"])


def _readable_batch(item: Batch | Gap) -> Batch | None:
    """Return the batch itself, or the truncated batch in a gap if its header is complete."""
    if isinstance(item, Batch):
        return item
    return item.batch if item.batch and item.batch.has_head else None


def batch_cells(item: Batch | Gap) -> list[Any]:
    """Return the cells of a batch or gap for the columns CSV_BATCH."""
    batch = _readable_batch(item)
    row: dict[str, Any] = {}
    if batch:
        horizon = batch.head.delete_horizon
        row = head_json(batch) | {"maxTimestamp": instant(batch.head.max_timestamp)}
        row["deleteHorizon"] = None if horizon is None else instant(horizon)
    if not isinstance(item, Batch):
        row |= {"position": item.position, "size": item.size, "gap": item.code}
    return [row.get(name) for name in CSV_BATCH]


def gap_cells(gap: Gap) -> list[Any]:
    """Return the cells of a gap for the columns CSV_RECORD."""
    return [gap.position, *[None] * (len(CSV_RECORD) - 2), gap.code]


def record_cells(batch: Batch, record: Record, hide: Hide | None) -> list[Any]:
    """Return the cells of a record for CSV_RECORD: text, `base64:` and base64 of other bytes, structures as JSON."""
    return [compact(cell) if isinstance(cell, dict | list) else cell for cell in record_values(batch, record, hide)]


def record_values(batch: Batch, record: Record, hide: Hide | None) -> list[Any]:
    """Return the values of a record for CSV_RECORD. Structures are not converted to JSON text."""
    document = record_json(batch, record, 0, [], hide)
    payload = document.get("decoded") or document.get("control")
    headers = [{"key": name, "value": _cell(data)} for name, data in headers_of(batch, record, hide)]
    cells = {
        **document,
        "gap": TRUNCATED if batch.is_cut else None,
        "position": batch.position,
        "timestamp": instant(record.timestamp),
        "key": _secret(document["key"]) or _cell(record.key),
        "value": _secret(document["value"]) or _cell(record.value),
        "headers": headers or None,
        "decoded": payload or None,
    }
    return [cells.get(name) for name in CSV_RECORD]


def _secret(shown: str | None) -> str | None:
    return shown if shown and shown.startswith("<") else None


def _cell(data: bytes | None) -> str | None:
    if data is None:
        return None
    text = text_in(data)
    if text is not None:
        return text
    return f"base64:{base64_text(data)}"
