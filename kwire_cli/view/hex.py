"""Annotated hex of messages and batches, and lines of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.engine.values import Form
from kwire_cli.message.roles import RecordsAs
from kwire_cli.records.batch import Batch
from kwire_cli.structs.lengths import redacted
from kwire_cli.view import tree as tree_view
from kwire_cli.view.lines import Line, anomaly_lines, plain, printable
from kwire_cli.view.outline import batch_of, body_part, frame_rows, item_row
from kwire_cli.view.rows import NOUNS, Buffer, Extent, Field, Title, leaves, value_segments
from kwire_cli.view.tree import frame_title, message_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.rows import Row


# The annotated hex view: offset, bytes, ASCII, and what they are. Bytes and meaning of a field have the same
# colour.

WIDTH = 16
"""Bytes in a row, which take 47 cells in hex."""
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
    for row in frame_rows(Extent(catalog, reading), frame, hidden):
        if row.kind == "gap":
            yield from _gap(row, "gap: not part of any field", rows)
        else:
            yield from _fields(row.below(), "header." if row.name == "header" else "", rows)
    yield from anomaly_lines(frame.anomalies)


def message_lines(
    catalog: Catalog, decoded: Decoded, hidden: frozenset[int], *, rows: int | None, reading: RecordsAs | None = None
) -> Iterator[Line]:
    """A body byte by byte; `reading` as in `frame_lines`."""
    yield message_title(decoded)
    yield from _fields(body_part(Extent(catalog, reading), "body", decoded, hidden).rows(), "", rows)
    yield from anomaly_lines(decoded.anomalies)


def _gap(row: Row, text: str, rows: int | None) -> Iterator[Line]:
    start, _, end = row.place
    yield from byte_rows(row.buffer.data, start, end, [(text, "warning")], "warning", rows, masked_from=row.secret)


def _fields(outline: Iterable[Row], prefix: str, rows: int | None) -> Iterator[Line]:
    """The fields of a part; paths begin with `prefix`."""
    colour = 0
    for row in leaves(outline):
        start, value, end = row.place
        if isinstance(row, Title):
            if row.kind == "gap":
                yield from _gap(row, "gap: not decoded" if end > start else "the bytes end here", rows)
            else:
                yield from _packed(row, rows)
        elif row.records or row.item.whole:
            style = f"leaf{colour % COLOURS}"
            colour += 1
            note: Line = [(prefix + row.path, style), *_note(row)]
            end = value if row.records else end
            yield from byte_rows(row.part.buffer.data, start, end, note, style, rows, masked_from=row.secret)
            if row.records:
                yield from _record_set(row, rows)


def _record_set(row: Field, rows: int | None) -> Iterator[Line]:
    """The batches in a field of records, and the gaps between."""
    for item in row.below():
        yield from _item(item, rows)
        if batch := batch_of(item.subject):
            yield from anomaly_lines(batch.anomalies)


def _note(row: Field) -> Line:
    """Return the value of a field, or what it counts."""
    part, item, kind = row.part, row.item, row.kind
    if row.records:
        return [(f" = {row.records.text} of records", row.line[0][1])]
    if item.span not in part.hidden:
        if kind in NOUNS:
            return [(f" {NOUNS[kind]} = ", "dim"), (plain(row.line), "number")]
        if kind == "tag-header":
            return [(f" {plain(row.line)}", "dim")]
        if kind == "records":
            return [(" = ", "dim"), *value_segments(item, part.tree, part.extent.catalog, part.message, Form())]
    return [(" = ", "dim"), *row.line]


def byte_rows(
    data: bytes, start: int, end: int, note: Line, style: str, rows: int | None, *, masked_from: int | None
) -> Iterator[Line]:
    """The bytes [start, end) in rows, the note on the first; bytes from `masked_from` on are not shown."""
    for number, at in enumerate(range(start, max(end, start + 1), WIDTH)):
        if rows is not None and number == rows and end - at > WIDTH:
            yield [(" " * 10, "dim"), (f"… {end - at} more bytes", "dim")]
            return
        raw = bytes(data[at : min(at + WIDTH, end)])
        cells, text = raw.hex(" "), printable(raw)
        if masked_from is not None and masked_from < at + len(raw):
            visible = max(masked_from - at, 0)
            masked = len(raw) - visible
            cells = " ".join([f"{byte:02x}" for byte in raw[:visible]] + ["**"] * masked)
            text = text[:visible] + "*" * masked
        line: Line = [(f"{at:08x}  ", "dim"), (f"{cells:<47}", style), (f"  {text:<16}", style)]
        if number == 0:
            line += (("  ", "dim"), *note)
        yield line


# Batches byte by byte: their header, their records; those that are compressed a second time as what they become.


def batch_hex_lines(
    catalog: Catalog, item: Batch | Gap, hide: Hide | None, *, deep: bool, rows: int | None
) -> Iterator[Line]:
    """A batch or gap; with `deep` compressed records are shown as what they become too, with offsets of their own."""
    batch = batch_of(item)
    extent = Extent(catalog, RecordsAs(catalog, hide=hide), deep=deep)
    buffer = Buffer("", batch.source.data if batch else b"", item.position, item.end)
    yield from _item(item_row(extent, item, buffer, None), rows, gaps=False)
    if batch:
        yield from anomaly_lines(batch.anomalies if deep else batch.notes)


def _item(row: Row, rows: int | None, *, gaps: bool = True) -> Iterator[Line]:
    """A batch or gap without its anomalies; the bytes of a gap are shown with `gaps`."""
    item: Batch | Gap = row.subject
    size = f", {item.size} bytes"
    if isinstance(item, Batch):
        span = f"offsets {item.head.base_offset} to {item.head.last_offset}"
        yield [(f"batch at {item.position}: ", "dim"), (span, "title"), (size, "dim")]
    else:
        yield [(f"at {item.position}: ", "dim"), (f"gap: {item.code}", "warning"), (size, "dim")]
    if batch_of(item):
        yield from _fields(row.below(), "", rows)
    elif gaps:
        yield from _gap(row, "gap: not part of any field", rows)


def _packed(row: Title, rows: int | None) -> Iterator[Line]:
    """Show the records, or messages, that the codec of a batch packed."""
    yield [("decompressed: ", "dim"), (f"{row.buffer.stop} bytes", "number")]
    if row.subject:
        yield from _fields(row.below(), "", rows)
        return
    for item in row.below():
        yield from _item(item, rows)


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
