"""Batches in the records fields of a message, as filters and --fields see them: in JSON form, but for bytes, which stay bytes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.message.roles import Roles
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap, Hide

    Hidden = dict[str, frozenset[int]]


def opened_batches(where: Roles, raw: Spans, reading: RecordsAs, hidden: frozenset[int], *, deep: bool) -> list[dict[str, Any]]:
    """Return the batches and gaps in all records fields of a body that are not among the `hidden` spans; with their records if `deep`."""
    from kwire_cli.message.record_sets import by_span  # noqa: PLC0415 - few filters look into records

    found = [each for at, each in by_span(where, raw) if at not in hidden]
    items = (item for each in found for item in reading.items(raw.data, each.topic, each.start, each.stop))
    return [opened(item, reading.hide, deep=deep) for item in items]


def opened(item: Batch | Gap, hide: Hide | None, *, deep: bool) -> dict[str, Any]:
    """Return a batch or gap. Keys, values and headers of its records are bytes, or text that says that they are redacted."""
    document = item.to_json(deep=deep, hide=hide)
    for record in document.get("batch", document).get("records") or ():
        for each in (record, *record["headers"]):
            each["value"] = _bytes(each["value"])
        record["key"] = _bytes(record["key"])
    return document


def _bytes(text: str | None) -> bytes | str | None:
    return text if text is None or text.startswith("<") else base64.b64decode(text)


def frame_fields(frame: Frame | None, hidden: Hidden) -> dict[str, Any]:
    """Return the header and body of a frame in JSON form, without the `hidden` spans of each; empty where it has none."""
    parts = dict(frame.parts) if frame else {}
    return {name: parts[name].to_json(hidden=hidden.get(name, frozenset())) if name in parts else {} for name in ("header", "body")}
