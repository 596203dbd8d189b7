"""Frames and batches on a page: their rows in the list, and the JSON form of their outlines."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from kwire_cli.message.guess import describe_candidates
from kwire_cli.message.redaction import note_of_guess
from kwire_cli.records.batch import Batch
from kwire_cli.view.lines import escaped, moment
from kwire_cli.view.outline import batch_title

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Hidden
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.view.bounded_outline import BoundedOutline

CLASSES = {
    "number": "n",
    "text": "t",
    "bytes": "b",
    "null": "z",
    "meaning": "m",
    "dim": "d",
    "warning": "w",
    "secret": "s",
    "title": "h",
    "name": "k",
}
"""Classes of the style sheet by the names of styles."""
MOST_TOPICS = 20
"""Topics of a frame that the list names."""


def entry(outline: BoundedOutline) -> dict[str, Any]:
    """`{"nodes","buffers","anomalies"}`, and "leftOut" where that is not all.

    A node is a list: depth, name, kind, number of the buffer, start, value, end, then text and class of each piece of
    its line. The bytes of a buffer are base64 text, masked ones zero.
    """
    nodes = []
    for row in outline.rows:
        node: list[Any] = [row.depth, row.name, row.kind, outline.number(row), *row.place]
        for text, style in row.line:
            if text:
                node += (text, CLASSES.get(style, ""))
        nodes.append(node)
    buffers = [
        {
            "name": buffer.name,
            "at": buffer.at,
            "size": buffer.size,
            "data": base64.b64encode(buffer.data).decode("ascii"),
            "masked": buffer.masked,
        }
        for buffer in outline.buffers
    ]
    document = {"buffers": buffers, "nodes": nodes, "anomalies": [note._asdict() for note in outline.anomalies]}
    return document | ({"leftOut": outline.left_out} if outline.left_out else {})


def row(item: Batch | Gap) -> dict[str, Any]:
    """A batch in the list: what is not there is left out."""
    document: dict[str, Any] = {"position": item.position, "size": item.size}
    if not isinstance(item, Batch):
        return document | {"title": f"gap: {item.code}", "kind": "gap"}
    head = item.head
    document |= {
        "title": batch_title(item),
        "kind": "control" if head.control else "batch",
        "offset": head.base_offset,
        "last": head.last_offset,
    }
    if head.records_count is not None:
        document["count"] = head.records_count
    if (when := moment(head.max_timestamp)) is not None:
        document |= {"time": when, "at": head.max_timestamp / 1000}
    if head.producer_id != -1:
        document["producer"] = f"{head.producer_id}/{head.producer_epoch}"
    return document


def frame_row(frame: Frame, hidden: Hidden) -> dict[str, Any]:
    """A frame of an input without times."""
    document = {
        "number": frame.number,
        "title": _title(frame.api, frame.api_key, frame.kind),
        "kind": frame.kind,
        "size": frame.size,
    }
    document |= {"version": frame.api_version} if frame.api_version is not None else {}
    others = describe_candidates(frame.candidates)
    notes = [frame.label, others and f"it could also be {others}", note_of_guess(frame, hidden)]
    if note := "; ".join(filter(None, notes)):
        document["note"] = note
    return document | ({"guess": True} if frame.guess else {})


def message_row(decoded: Decoded, number: int) -> dict[str, Any]:
    """A body alone."""
    return {
        "number": number,
        "title": decoded.message,
        "version": decoded.version,
        "size": decoded.stop - decoded.start,
        "kind": "message",
    }


def line_row(line: Captured) -> dict[str, Any]:
    """A line of a capture: what is not known is left out."""
    event = line.seen
    document: dict[str, Any] = {
        "number": line.number,
        "kind": line.kind,
        "size": event.size,
        "stream": line.stream,
        "src": line.src,
        "dst": line.dst,
    }
    if line.time is not None and event.time is not None:
        document |= {"time": line.time, "at": event.time / 1e9}
    if line.code or not line.is_frame:
        content = f": {', '.join(event.content)}" if event.content else ""
        titles = {"sasl-token": "SASL token", "not-kafka": f"not Kafka: {event.protocol or 'unknown'}{content}"}
        return (
            document
            | {"title": titles.get(line.kind, f"gap: {line.code}")}
            | ({"note": event.reason} if event.reason else {})
        )
    document["title"] = _title(line.api, line.api_key, line.kind)
    document |= {"version": line.api_version} if line.api_version is not None else {}
    if line.client_id:
        document["client"] = escaped(line.client_id)
    if topics := line.topics:
        document["topics"] = [escaped(topic) for topic in topics[:MOST_TOPICS]]
    if errors := line.errors:
        document["errors"] = [str(error) for error in dict.fromkeys(errors)]
    if line.request:
        document["request"] = line.request.number
        if (latency := line.latency) is not None:
            document["latency"] = latency
    return document | ({"guess": True} if line.guess else {})


def _title(api: str | None, key: int | None, kind: str) -> str:
    return (
        f"{api or ('unknown' if key is None else f'api key {key}')} {kind}" if kind != "unknown" else "not recognised"
    )
