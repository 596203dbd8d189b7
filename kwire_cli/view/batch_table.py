"""Batches and records as rows of a table and of csv."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.values import instant
from kwire_cli.records.batch import TRUNCATED, Batch, base64_text, head_json, headers_of, record_json
from kwire_cli.structs.records.parts import BATCH_KEYS, RECORD_KEYS
from kwire_cli.view.lines import Line, moment
from kwire_cli.view.tables import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.records.batch import Hide, Record
    from kwire_cli.records.gaps import Gap

    Numbered = Sequence[tuple[int, Record]]


BATCH_COLUMNS = {
    "position": 10,
    "size": 8,
    "baseOffset": 10,
    "lastOffset": 10,
    "count": 6,
    "magic": 5,
    "compression": 11,
    "maxTimestamp": 24,
    "producerId": 10,
    "flags": 0,
}
RECORD_COLUMNS = {"offset": 10, "timestamp": 24, "keySize": 7, "valueSize": 9, "key": 20, "value": 30, "headers": 0}
_LEFT = frozenset({"compression", "maxTimestamp", "flags", "timestamp", "key", "value", "headers"})
_TABLE_TEXT = 60
CSV_BATCH = (*("deleteHorizon" if key == "deleteHorizonMs" else key for key in BATCH_KEYS), "gap")
CSV_RECORD = ("position", *RECORD_KEYS, "decoded", "gap")


def flags_of(batch: Batch) -> str:
    """Return the flags of a batch for a cell: transactional, control."""
    head = batch.head
    flags = [name for name, on in (("transactional", head.transactional), ("control", head.control)) if on]
    return ", ".join(flags)


def time_text(milliseconds: int) -> str:
    """A timestamp in a cell; nothing where there is none."""
    return moment(milliseconds) or ("" if milliseconds == -1 else str(milliseconds))


def compact(document: Any) -> str:
    """A JSON value in a cell."""
    return text_of(json.dumps(document, ensure_ascii=False, separators=(",", ":")))


def text_in(data: bytes) -> str | None:
    """Bytes as text, where they are UTF-8 that can be read: no control characters but those of lines."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() or all(char.isprintable() or char in "\n\r\t" for char in text) else None


def heading(*, deep: bool) -> Line:
    """The table's first line."""
    columns = RECORD_COLUMNS if deep else BATCH_COLUMNS
    return [("  ".join(_fit(name, name, width) for name, width in columns.items()).rstrip(), "dim")]


def _fit(text: str, name: str, width: int) -> str:
    return f"{text:<{width}}" if name in _LEFT else f"{text:>{width}}"


def batch_row(item: Batch | Gap) -> Line:
    """A batch or gap as a line of the table."""
    if not isinstance(item, Batch) and not (item.batch and item.batch.has_head):
        return gap_row(item)
    batch = item if isinstance(item, Batch) else item.batch
    assert batch is not None  # noqa: S101 - for the type checker
    row = head_json(batch)
    row["maxTimestamp"] = time_text(row["maxTimestamp"])
    odd = f"gap: {item.code}" if not isinstance(item, Batch) else "" if item.crc_valid else "CRC wrong"
    row["flags"] = flags_of(batch)
    cells = "  ".join(_fit(text_of(row[name]), name, width) for name, width in BATCH_COLUMNS.items())
    return [(cells, ""), (f"{' ' if row['flags'] else ''}{odd}", "warning")]


def gap_row(gap: Gap) -> Line:
    """A gap as a line of a table: where it is, and its size."""
    row: dict[str, Any] = {"position": gap.position, "size": gap.size}
    line: Line = [
        (
            "  ".join(_fit(text_of(row.get(name)), name, width) for name, width in list(BATCH_COLUMNS.items())[:2]),
            "number",
        )
    ]
    return [*line, (f"  gap: {gap.code}", "warning")]


def record_row(batch: Batch, record: Record, hide: Hide | None) -> Line:
    """A record as a line of the table."""
    document = record_json(batch, record, 0, [], hide)
    key, value = _secret(document["key"]) or _cell(record.key), _secret(document["value"]) or _cell(record.value)
    if decoded := document.get("decoded"):
        key, value = _part(decoded.get("key"), key), _part(decoded.get("value"), value)
    elif "control" in document:
        key, value = None, compact(document["control"])
    headers = ", ".join(
        [f"{name}={'null' if data is None else _cell(data)}" for name, data in headers_of(batch, record, hide)]
    )
    row = {**document, "timestamp": time_text(record.timestamp), "key": key, "value": value, "headers": headers}
    cells = []
    for name, width in RECORD_COLUMNS.items():
        text = text_of(row[name])
        cells.append(_fit(text if len(text) <= _TABLE_TEXT else f"{text[:_TABLE_TEXT]}…", name, width))
    return [("  ".join(cells), "")]


def _part(decoded: dict[str, Any] | None, plain: str | None) -> str | None:
    """A decoded key or value in a cell: its data, behind its type where that has a name."""
    if not decoded or not isinstance(decoded.get("data"), dict):
        return plain
    kind = decoded.get("type") or ""
    return f"{kind} {compact(decoded['data'])}".strip() if not kind.isdigit() else compact(decoded["data"])


def batch_cells(item: Batch | Gap) -> list[Any]:
    """The cells of CSV_BATCH."""
    batch = item if isinstance(item, Batch) else item.batch if item.batch and item.batch.has_head else None
    row: dict[str, Any] = {}
    if batch:
        horizon = batch.head.delete_horizon
        row = head_json(batch) | {"maxTimestamp": instant(batch.head.max_timestamp)}
        row["deleteHorizon"] = None if horizon is None else instant(horizon)
    if not isinstance(item, Batch):
        row |= {"position": item.position, "size": item.size, "gap": item.code}
    return [row.get(name) for name in CSV_BATCH]


def gap_cells(gap: Gap) -> list[Any]:
    """The cells of CSV_RECORD of a gap."""
    return [gap.position, *[None] * (len(CSV_RECORD) - 2), gap.code]


def record_cells(batch: Batch, record: Record, hide: Hide | None) -> list[Any]:
    """The cells of CSV_RECORD: text as it is, other bytes as `base64:` and base64 text."""
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
        "headers": compact(headers) if headers else None,
        "decoded": compact(payload) if payload else None,
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
