"""Frames and messages in a page: what its list says of each, and the outline of its fields and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.message.frames import PAYLOADS, hidden_below
from kwire_cli.message.inside import Forwarded
from kwire_cli.message.record_fields import holds_records
from kwire_cli.message.secrets import OUTSIDE
from kwire_cli.view.html.batches import add_field
from kwire_cli.view.html.fields import Part, gaps
from kwire_cli.view.html.inside import NOTHING, Within
from kwire_cli.view.lines import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.records.model import Hide
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.html.outline import Outline

    Hidden = Mapping[str, frozenset[int]]

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
    """The fields and bytes of a frame, and its anomalies behind its `own`; `hidden` and `asked` as in `Frame.to_json`."""
    buffer = outline.buffer(f"frame {frame.number}", frame.data, frame.start, frame.stop)
    within = Within(catalog)
    if frame.body and PAYLOADS not in hidden and (found := frame.inside(asked)):
        starts = {span.path: span.value for span in frame.body.spans}
        spans = {each.path: hidden_below(each.path, hidden).get("body", NOTHING) for each in found}
        within.payloads([each for each in found if not isinstance(each, Forwarded)], starts, frame.data, 0, spans)
        for each in found:
            if isinstance(each, Forwarded):
                within.forwarded(each.frame, starts[each.path], hidden_below(each.path, hidden))
    for name, part in frame.parts:
        place = (buffer, part.start, part.start, part.stop)
        version = f"{part.message} version {part.version}" if name != "size" else ""
        outline.node(0, f"({name})" if name == "body" else name, "", place, [(version, "dim")])
        _part(catalog, part, hidden.get(name, NOTHING), reading, buffer, within).add(outline, 1)
    for low, high in gaps(((part.start, part.stop) for _, part in frame.parts), frame.start, frame.stop):
        outline.node(0, "(not part of any field)", "gap", (buffer, low, low, high), [(counted(high - low, "byte"), "warning")])
        if OUTSIDE in hidden:
            outline.mask(buffer, low, high)
    return outline.to_json([*own, *frame.shown(hidden).anomalies])


def message_entry(catalog: Catalog, decoded: Decoded, hidden: frozenset[int], reading: RecordsAs | None, outline: Outline) -> dict[str, Any]:
    """The fields and bytes of a body alone."""
    buffer = outline.buffer(decoded.message, decoded.data, decoded.start, decoded.stop)
    _part(catalog, decoded, hidden, reading, buffer, Within(catalog)).add(outline, 0)
    return outline.to_json(decoded.anomalies)


def _part(catalog: Catalog, body: Decoded, hidden: frozenset[int], reading: RecordsAs | None, buffer: int, within: Within) -> Part:
    records = None
    if reading and holds_records(body.entry):

        def records(outline: Outline, place: Any, depth: int, topic: str | None) -> None:
            add_field(catalog, reading, body.data, outline, place, depth, topic)

    return Part(catalog, body, hidden, buffer, below=within.found, records=records)


def frame_row(frame: Frame) -> dict[str, Any]:
    """A frame of an input without times."""
    shown = {"number": frame.number, "title": _title(frame.api, frame.api_key, frame.kind), "kind": frame.kind, "size": frame.size}
    shown |= {"version": frame.api_version} if frame.api_version is not None else {}
    shown |= {"note": frame.label} if frame.label else {}
    return shown | ({"guess": True} if frame.guess else {})


def message_row(decoded: Decoded, number: int) -> dict[str, Any]:
    """A body alone."""
    return {"number": number, "title": decoded.message, "version": decoded.version, "size": decoded.stop - decoded.start, "kind": "message"}


def line_row(line: Captured) -> dict[str, Any]:
    """A line of a capture: what is not known is left out."""
    seen = line.seen
    shown: dict[str, Any] = {"number": line.number, "kind": line.kind, "size": seen.size, "stream": line.stream, "src": line.src, "dst": line.dst}
    if line.time is not None and seen.time is not None:
        shown |= {"time": line.time, "at": seen.time / 1e9}
    if line.code or not line.is_frame:
        content = f": {', '.join(seen.content)}" if seen.content else ""
        titles = {"sasl-token": "SASL token", "not-kafka": f"not Kafka: {seen.protocol or 'unknown'}{content}"}
        return shown | {"title": titles.get(line.kind, f"gap: {line.code}")} | ({"note": seen.reason} if seen.reason else {})
    shown["title"] = _title(line.api, line.api_key, line.kind)
    shown |= {"version": line.api_version} if line.api_version is not None else {}
    if line.client_id:
        shown["client"] = escaped(line.client_id)
    if topics := line.topics:
        shown["topics"] = [escaped(topic) for topic in topics[:MOST_TOPICS]]
    if errors := line.errors:
        shown["errors"] = [str(error) for error in dict.fromkeys(errors)]
    if line.request:
        shown["request"] = line.request.number
        if (latency := line.latency) is not None:
            shown["latency"] = latency
    return shown | ({"guess": True} if line.guess else {})


def line_entry(catalog: Catalog, line: Captured, hidden: dict[str, frozenset[int]], hide: Hide | None, outline: Outline) -> dict[str, Any]:
    """The fields and bytes of a line of a capture; of what is no frame only that it is odd, if so."""
    code = line.code
    own = [Anomaly(code, "", 0, MEANING.get(code, ""))] if code else []
    if line.frame:
        return frame_entry(catalog, line.frame, hidden, line.reading(hide), outline, asked=line.asked, own=own)
    return outline.to_json(own)


def _title(api: str | None, key: int | None, kind: str) -> str:
    return f"{api or ('unknown' if key is None else f'api key {key}')} {kind}" if kind != "unknown" else "not recognised"
