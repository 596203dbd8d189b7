"""Annotated hex of messages and batches, and lines of a capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.program import Leaf
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.spans import Spans, walk
from kwire_cli.engine.tree import Item, Tree, build, places
from kwire_cli.engine.values import Form, leaf_value
from kwire_cli.message.decoded import records_in
from kwire_cli.message.roles import holds_records, roles
from kwire_cli.message.secrets import OUTSIDE
from kwire_cli.records.batch import Batch
from kwire_cli.structs.lengths import Sized, redacted
from kwire_cli.structs.numbers import UVARINT
from kwire_cli.structs.records import v2
from kwire_cli.view import tree as tree_view
from kwire_cli.view.batch_tree import anomaly_lines, byte_segments
from kwire_cli.view.lines import Line, printable
from kwire_cli.view.tree import frame_title, message_title, value_segments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.program import Entry
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog


# The annotated hex view: offset, bytes, ASCII, and what they are. Bytes and meaning of a field have the same
# colour.

WIDTH = 16


COLOURS = 6


def frame_lines(
    catalog: Catalog,
    frame: Frame,
    hidden: dict[str, frozenset[int]],
    *,
    rows: int | None,
    reading: RecordsAs | None = None,
) -> Iterator[Line]:
    """A frame byte by byte; bytes that belong to no part of it are shown as a gap. With `reading` records are shown by
    their fields too.
    """
    frame = frame.shown(hidden)
    yield frame_title(frame, labelled=frame.logged)
    at, secret = frame.start, OUTSIDE in hidden
    for part_name, part in frame.parts:
        if part.start > at:
            yield from _gap(frame.data, at, part.start, rows, secret=secret)
        prefix = "header." if part_name == "header" else ""
        yield from part_lines(catalog, part, hidden.get(part_name, frozenset()), prefix, rows, reading)
        at = part.stop
    if at < frame.stop:
        yield from _gap(frame.data, at, frame.stop, rows, secret=secret)
    yield from anomaly_lines(frame.anomalies)


def message_lines(
    catalog: Catalog, decoded: Decoded, hidden: frozenset[int], *, rows: int | None, reading: RecordsAs | None = None
) -> Iterator[Line]:
    """A body byte by byte; `reading` as in `frame_lines`."""
    yield message_title(decoded)
    yield from part_lines(catalog, decoded, hidden, "", rows, reading)
    yield from anomaly_lines(decoded.anomalies)


def _gap(data: bytes, start: int, end: int, rows: int | None, *, secret: bool) -> Iterator[Line]:
    yield from byte_rows(
        data,
        start,
        end,
        [("gap: not part of any field", "warning")],
        "warning",
        rows,
        masked_from=start if secret else None,
    )


def part_lines(
    catalog: Catalog,
    decoded: Any,
    hidden: frozenset[int],
    prefix: str,
    rows: int | None,
    reading: RecordsAs | None = None,
) -> Iterator[Line]:
    """The leaves of a message, or of whatever else has its tree, spans, bytes and name; paths begin with `prefix`."""
    tree = decoded.tree
    form = Form(hidden=hidden)
    colour = 0
    reading = reading if reading and holds_records(decoded.entry) else None
    topics = roles(decoded.spec, decoded.entry).by_node if reading else {}
    topic: str | None = None
    gap = tree.gap
    for path, item in places(tree.root):
        records = records_in(item, tree) if reading and isinstance(item.node, Leaf) else None
        if reading and records and records.span not in hidden:
            style = f"leaf{colour % COLOURS}"
            colour += 1
            size: Line = [
                (prefix + path, style),
                (f" = {records.text} of records", "warning" if records.is_cut else "number"),
            ]
            yield from byte_rows(decoded.data, item.start, records.start, size, style, rows, masked_from=None)
            secret_gap = reading.hide is not None and reading.hide.gap(reading.topic(topic) if topic else None)
            for entry in reading.items(decoded.data, topic, records.start, records.stop):
                yield from batch_hex_lines(catalog, entry, reading.hide, deep=True, rows=rows)
                if not isinstance(entry, Batch) and not entry.batch:
                    yield from _gap(decoded.data, entry.position, entry.end, rows, secret=secret_gap)
            gap = None if records.is_cut else gap
            continue
        if item.span < 0 or not item.whole:
            continue
        style = f"leaf{colour % COLOURS}"
        colour += 1
        note: Line = [(prefix + path, style), *_note(catalog, item, decoded, form)]
        # A length may be shown, unless it is not sure that it is one.
        secret_from = (
            decoded.raw.value[item.span] if decoded.exact and isinstance(item.leaf.decl, Sized) else item.start
        )
        secret = secret_from if item.span in hidden else None
        if topics.get(item.leaf.id) in {TOPIC, TOPIC_ID}:
            topic = str(leaf_value(item, tree))
        yield from byte_rows(decoded.data, item.start, item.end, note, style, rows, masked_from=secret)
    if gap:
        secret = gap.start if gap.span in hidden else None
        note = [("gap: not decoded" if gap.end > gap.start else "the bytes end here", "warning")]
        yield from byte_rows(decoded.data, gap.start, gap.end, note, "warning", rows, masked_from=secret)


def _note(catalog: Catalog, item: Item, decoded: Decoded, form: Form) -> Line:
    leaf, tree = item.leaf, decoded.tree
    if item.span in form.hidden:
        return [(" = ", "dim"), *value_segments(item, tree, catalog, decoded.message, form)]
    if leaf.kind in {"count", "presence", "tag-count"}:
        names = {"count": "elements", "presence": "presence", "tag-count": "tagged fields"}
        value = leaf_value(item, tree)
        count_text = "null" if leaf.kind == "count" and value < 0 else str(value)
        return [(f" {names[leaf.kind]} = ", "dim"), (count_text, "number")]
    if leaf.kind == "tag-header":
        return [(f" {_tag_header(item, decoded)}", "dim")]
    if leaf.kind == "unknown-tag":
        return [(" = ", "dim"), *byte_segments(bytes(decoded.data[item.start : item.end]))]
    return [(" = ", "dim"), *value_segments(item, tree, catalog, decoded.message, form)]


def _tag_header(item: Item, decoded: Decoded) -> str:
    raw = bytes(decoded.data[item.start : item.end])
    cut = next(i for i, byte in enumerate(raw) if byte < 0x80) + 1
    return f"tag {UVARINT.read(raw[:cut])}, size {UVARINT.read(raw[cut:])}"


def byte_rows(
    data: bytes, start: int, end: int, note: Line, style: str, rows: int | None, *, masked_from: int | None
) -> Iterator[Line]:
    """The bytes [start, end) in rows, the note on the first; bytes from `masked_from` on are not shown."""
    for number, at in enumerate(range(start, max(end, start + 1), WIDTH)):
        if rows is not None and number == rows and end - at > WIDTH:
            yield [(" " * 10, "dim"), (f"… {end - at} more bytes", "dim")]
            return
        raw = bytes(data[at : min(at + WIDTH, end)])
        visible = raw if masked_from is None else raw[: max(masked_from - at, 0)]
        masked = len(raw) - len(visible)
        cells = (
            " ".join([visible.hex(" "), *["**"] * masked])
            if masked and visible
            else visible.hex(" ") or " ".join(["**"] * masked)
        )
        text = printable(visible) + "*" * masked
        line: Line = [(f"{at:08x}  ", "dim"), (f"{cells:<{WIDTH * 3 - 1}}", style), (f"  {text:<{WIDTH}}", style)]
        yield [*line, ("  ", "dim"), *note] if number == 0 else line


# Batches byte by byte: their header, their records; those that are compressed a second time as what they
# become.


@dataclass(frozen=True)
class DeclaredPart:
    """Bytes with a declaration, as views of bytes take them."""

    entry: Entry
    raw: Spans
    tree: Tree
    message: str = "RecordBatch"

    @property
    def data(self) -> Any:
        """All of the data that they are in."""
        return self.raw.data

    @property
    def exact(self) -> bool:
        """Return whether the declaration took all of the bytes."""
        return self.raw.lost < 0 and self.raw.used == self.raw.stop


def declared_part(decl: Any, data: Any, start: int, stop: int) -> DeclaredPart:
    """The bytes [start, stop) by a declaration of `structs.records`."""
    entry = records_entry(decl)
    spans = walk(entry, data, start, stop)
    return DeclaredPart(entry, spans, build(entry, spans))


def batch_hex_lines(
    catalog: Catalog, item: Batch | Gap, hide: Hide | None, *, deep: bool, rows: int | None
) -> Iterator[Line]:
    """A batch or gap; with `deep` compressed records of format v2 are shown as what they become too, with offsets of
    their own.
    """
    if not isinstance(item, Batch):
        yield [(f"at {item.position}: ", "dim"), (f"gap: {item.code}", "warning"), (f", {item.size} bytes", "dim")]
        if item.batch:
            yield from _batch_lines(catalog, item.batch, hide, deep=deep, rows=rows)
        return
    yield [
        (f"batch at {item.position}: ", "dim"),
        (f"offsets {item.head.base_offset} to {item.head.last_offset}", "title"),
        (f", {item.size} bytes", "dim"),
    ]
    yield from _batch_lines(catalog, item, hide, deep=deep, rows=rows)


def _batch_lines(catalog: Catalog, item: Batch, hide: Hide | None, *, deep: bool, rows: int | None) -> Iterator[Line]:
    part = declared_part(item.layout.decl, item.source.data, item.position, item.end)
    redaction = hide if hide and hide.batch(item) else None
    yield from part_lines(catalog, part, redaction.spans(part.tree) if redaction else frozenset(), "", rows)
    notes = item.anomalies if deep else item.notes
    if deep and item.layout.name == "v2" and item.head.codec and item.size >= item.layout.head.size:
        from kwire_cli.records.v2 import area_of  # noqa: PLC0415 - most are not compressed

        area = area_of(item, [])
        yield [("decompressed: ", "dim"), (f"{len(area.data)} bytes", "number")]
        inner = declared_part(v2.RECORDS, area.data, 0, len(area.data))
        yield from part_lines(catalog, inner, redaction.spans(inner.tree) if redaction else frozenset(), "", rows)
    yield from anomaly_lines(notes)


# Lines of a capture for eyes: as trees, as annotated hex, and requests with their responses below them.


def capture_tree_lines(
    catalog: Catalog, line: Captured, hidden: dict[str, frozenset[int]], *, full: bool, hide: Hide | None = None
) -> Iterator[Line]:
    """A line of a capture as a tree."""
    yield _where(line)
    if line.frame:
        yield from _titled(
            line,
            tree_view.frame_lines(catalog, line.frame, hidden, full=full, asked=line.asked, reading=line.reading(hide)),
        )
    else:
        yield _other(line)


def capture_hex_lines(
    catalog: Catalog, line: Captured, hidden: dict[str, frozenset[int]], *, rows: int | None, hide: Hide | None = None
) -> Iterator[Line]:
    """A line of a capture byte by byte; offsets count from the start of the frame."""
    yield _where(line)
    if line.frame:
        yield from _titled(line, frame_lines(catalog, line.frame, hidden, rows=rows, reading=line.reading(hide)))
    else:
        yield _other(line)


def _titled(line: Captured, lines: Iterator[Line]) -> Iterator[Line]:
    """Put the title of a gap in place of the first line, if the bytes are no frame."""
    if line.code:
        next(lines)
        yield _other(line)
    yield from lines


def _where(line: Captured) -> Line:
    file, packet = line.where
    where = f" of {file}" if line.origin.several else ""
    out: Line = [
        (f"{line.time or 'no time'}  {line.src} → {line.dst}  stream {line.stream}, packet {packet}{where}", "dim")
    ]
    if line.request:
        out.append((f"  answers frame {line.request.number}", "dim"))
    if line.latency is not None:
        out.append((f" after {line.latency * 1000:.3f} ms", "number"))
    if line.topics:
        out.append((f"  {', '.join(line.topics)}", "text"))
    return out


def _other(line: Captured) -> Line:
    event = line.seen
    size = f"{event.size} byte{'' if event.size == 1 else 's'}"
    if line.kind == "sasl-token":
        return [(f"frame {line.number}: ", "dim"), ("SASL token", "title"), (f" {redacted(event.size)}", "secret")]
    if line.kind == "not-kafka":
        out: Line = [
            (f"frame {line.number}: ", "dim"),
            (f"not Kafka: {event.protocol or 'unknown'}", "warning"),
            (f", {size}", "dim"),
        ]
        out += [(f": {', '.join(event.content)}", "text")] if event.content else []
        return [*out, (f"; not decrypted: {event.reason}", "warning")] if event.reason else out
    return [(f"frame {line.number}: ", "dim"), (f"gap: {line.code}", "warning"), (f", {size}", "dim")]
