"""Batches and frames on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.message.frames import PAYLOADS, Forwarded, hidden_below
from kwire_cli.message.roles import holds_records
from kwire_cli.message.secrets import OUTSIDE
from kwire_cli.records.batch import PADDING, Batch, has_payloads, payload_of
from kwire_cli.records.v2 import area_of
from kwire_cli.structs.records import v2
from kwire_cli.view.hex import declared_part
from kwire_cli.view.html.outline import NOTHING, Part, Place, Within, gaps
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import counted, escaped, moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Area, Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.html.outline import Below, Outline

    Hidden = Mapping[str, frozenset[int]]


# Batches in an outline: header and records by their bytes, compressed ones as what they become, and what
# records of Kafka's own topics mean.

MOST_WALKED = 8 << 20
"""Bytes of a batch whose fields are looked for where not all of it is asked for."""


def entry(catalog: Catalog, item: Batch, hide: Hide | None, outline: Outline) -> dict[str, Any]:
    """Return a page's entry for a batch of a segment."""
    buffer = outline.buffer(f"batch at {item.position}", item.source.data, item.position, item.end)
    add(catalog, item, hide, outline, 0, buffer)
    return outline.to_json(item.anomalies)


def gap_entry(
    catalog: Catalog, item: Gap, data: Any, hide: Hide | None, topic: str | None, outline: Outline
) -> dict[str, Any]:
    """Return a page's entry for bytes that are no batch, and for a cut batch.

    Bytes that may be secret are not shown.
    """
    buffer = outline.buffer(f"gap at {item.position}", data, item.position, item.end)
    _add_gap(catalog, item, hide, topic, outline, "(no batch)", 0, buffer)
    if item.batch:
        return outline.to_json(item.batch.anomalies)
    return outline.to_json(
        []
        if item.code == PADDING
        else [Anomaly(item.code, "", item.position, f"{counted(item.size, 'byte')} that are no batch")]
    )


def _add_gap(
    catalog: Catalog,
    item: Gap,
    hide: Hide | None,
    topic: str | None,
    outline: Outline,
    name: str,
    depth: int,
    buffer: int,
) -> None:
    """A gap, and the batch in it whose end is missing."""
    place = (buffer, item.position, item.position, item.end)
    outline.node(depth, name, "gap", place, [(f"{item.code}, {counted(item.size, 'byte')}", "warning")])
    if hide is not None and hide.gap(topic):
        outline.mask(buffer, item.position, item.end)
    if item.batch:
        add(catalog, item.batch, hide, outline, depth + 1, buffer)


def add(catalog: Catalog, item: Batch, hide: Hide | None, outline: Outline, depth: int, buffer: int) -> None:
    """The fields of a batch, in a buffer with the offsets of its source."""
    stop = item.end if outline.full else min(item.end, item.position + MOST_WALKED)
    part = declared_part(item.layout.decl, item.source.data, item.position, stop)
    secret = hide is not None and hide.batch(item)
    hidden = hide.spans(part.tree) if hide and secret else frozenset()
    area = (
        area_of(item, [])
        if item.layout.name == "v2" and item.size >= item.layout.head.size and (item.head.codec or has_payloads(item))
        else None
    )
    unsure = secret and not item.crc_valid  # what a damaged one says is not known to be what it says it is
    below = {} if unsure or area is None or area.compressed else _meanings(catalog, item, area, hide)
    Part(catalog, part, hidden, buffer, below=below).add(outline, depth)
    if area and area.compressed and outline.has_room:
        inner = declared_part(
            v2.RECORDS, area.data, 0, len(area.data) if outline.full else min(len(area.data), MOST_WALKED)
        )
        number = outline.buffer(f"decompressed records of the batch at {item.position}", area.data, 0, len(area.data))
        size = counted(len(area.data), "byte")
        outline.node(
            depth, "(decompressed)", "", (number, 0, 0, len(area.data)), [(f"{size} by {item.compression}", "dim")]
        )
        hidden = hide.spans(inner.tree) if hide and secret else frozenset()
        Part(catalog, inner, hidden, number, below={} if unsure else _meanings(catalog, item, area, hide)).add(
            outline, depth + 1
        )


def add_field(
    catalog: Catalog, reading: RecordsAs, data: Any, outline: Outline, place: Place, depth: int, topic: str | None
) -> None:
    """The batches in a records field of a message."""
    for number, item in enumerate(reading.items(data, topic, place.value, place.end)):
        if not outline.has_room:
            outline.left_out += 1
            return
        if isinstance(item, Batch):
            row = (place.buffer, item.position, item.position, item.end)
            outline.node(depth, f"[{number}]", "", row, [(title(item), "dim")])
            add(catalog, item, reading.hide, outline, depth + 1, place.buffer)
        else:
            _add_gap(
                catalog, item, reading.hide, topic and reading.topic(topic), outline, f"[{number}]", depth, place.buffer
            )


def title(item: Batch) -> str:
    """A batch in a few words."""
    head = item.head
    offsets = (
        f"offset {head.base_offset}"
        if head.base_offset == head.last_offset
        else f"offsets {head.base_offset} to {head.last_offset}"
    )
    what = (
        "control batch"
        if head.control
        else "batch"
        if not item.layout.is_message
        else "wrapper message"
        if head.codec
        else "message"
    )
    packed = f", {item.compression}" if head.codec else ""
    return f"{what}, {offsets}{packed}, {item.layout.name}"


def row(item: Batch | Gap) -> dict[str, Any]:
    """A batch in the list: what is not there is left out."""
    document: dict[str, Any] = {"position": item.position, "size": item.size}
    if not isinstance(item, Batch):
        return document | {"title": f"gap: {item.code}", "kind": "gap"}
    head = item.head
    document |= {
        "title": title(item),
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


def _meanings(catalog: Catalog, item: Batch, area: Area, hide: Hide | None) -> Mapping[tuple[int, int], Below]:
    """Return the meanings of keys and values of Kafka's own records, by the offsets at which they stand."""
    if not has_payloads(item):
        return {}
    origin = 0 if area.compressed else area.origin
    within = Within(catalog)
    for record in item.records():
        payload = payload_of(item, record)
        if not payload:
            continue
        if payload.record:
            hidden = hide.record(item, payload.record) if hide else {}
            starts = {"key": origin + record.key_at, "value": origin + record.value_at}
            within.payloads(
                payload.record.payloads,
                {name: at for name, at in starts.items() if at >= origin},
                area.data,
                origin,
                hidden,
            )
        elif payload.control and record.key_at >= 0:
            at = origin + record.key_at
            within.text((at, at + len(record.key or b"")), "(control)", dumps(payload.control.to_json(), indent=False))
    return within.found


# Frames and messages in a page: what its list says of each, and the outline of its fields and bytes.

MOST_TOPICS = 20
"""Topics of a frame that the list names."""


def frame_entry(
    catalog: Catalog,
    frame: Frame,
    hidden: dict[str, frozenset[int]],
    reading: RecordsAs | None,
    outline: Outline,
    *,
    asked: Frame | None = None,
    own: Sequence[Anomaly] = (),
) -> dict[str, Any]:
    """The fields and bytes of a frame, and its anomalies behind its `own`; `hidden` and `asked` as in
    `Frame.to_json`.
    """
    buffer = outline.buffer(f"frame {frame.number}", frame.data, frame.start, frame.stop)
    within = Within(catalog)
    if frame.body and PAYLOADS not in hidden and (payloads := frame.inside(asked)):
        starts = {span.path: span.value for span in frame.body.spans}
        spans = {payload.path: hidden_below(payload.path, hidden).get("body", NOTHING) for payload in payloads}
        within.payloads(
            [payload for payload in payloads if not isinstance(payload, Forwarded)], starts, frame.data, 0, spans
        )
        for payload in payloads:
            if isinstance(payload, Forwarded):
                within.forwarded(payload.frame, starts[payload.path], hidden_below(payload.path, hidden))
    for name, part in frame.parts:
        place = (buffer, part.start, part.start, part.stop)
        version = f"{part.message} version {part.version}" if name != "size" else ""
        outline.node(0, f"({name})" if name == "body" else name, "", place, [(version, "dim")])
        _part(catalog, part, hidden.get(name, NOTHING), reading, buffer, within).add(outline, 1)
    for low, high in gaps(((part.start, part.stop) for _, part in frame.parts), frame.start, frame.stop):
        outline.node(
            0, "(not part of any field)", "gap", (buffer, low, low, high), [(counted(high - low, "byte"), "warning")]
        )
        if OUTSIDE in hidden:
            outline.mask(buffer, low, high)
    return outline.to_json([*own, *frame.shown(hidden).anomalies])


def message_entry(
    catalog: Catalog, decoded: Decoded, hidden: frozenset[int], reading: RecordsAs | None, outline: Outline
) -> dict[str, Any]:
    """The fields and bytes of a body alone."""
    buffer = outline.buffer(decoded.message, decoded.data, decoded.start, decoded.stop)
    _part(catalog, decoded, hidden, reading, buffer, Within(catalog)).add(outline, 0)
    return outline.to_json(decoded.anomalies)


def _part(
    catalog: Catalog, body: Decoded, hidden: frozenset[int], reading: RecordsAs | None, buffer: int, within: Within
) -> Part:
    records = None
    if reading and holds_records(body.entry):

        def records(outline: Outline, place: Any, depth: int, topic: str | None) -> None:
            add_field(catalog, reading, body.data, outline, place, depth, topic)

    return Part(catalog, body, hidden, buffer, below=within.found, records=records)


def frame_row(frame: Frame) -> dict[str, Any]:
    """A frame of an input without times."""
    document = {
        "number": frame.number,
        "title": _title(frame.api, frame.api_key, frame.kind),
        "kind": frame.kind,
        "size": frame.size,
    }
    document |= {"version": frame.api_version} if frame.api_version is not None else {}
    document |= {"note": frame.label} if frame.label else {}
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


def line_entry(
    catalog: Catalog, line: Captured, hidden: dict[str, frozenset[int]], hide: Hide | None, outline: Outline
) -> dict[str, Any]:
    """The fields and bytes of a line of a capture; of what is no frame only that it is odd, if so."""
    code = line.code
    own = [Anomaly(code, "", 0, MEANING.get(code, ""))] if code else []
    if line.frame:
        return frame_entry(catalog, line.frame, hidden, line.reading(hide), outline, asked=line.asked, own=own)
    return outline.to_json(own)


def _title(api: str | None, key: int | None, kind: str) -> str:
    return (
        f"{api or ('unknown' if key is None else f'api key {key}')} {kind}" if kind != "unknown" else "not recognised"
    )
