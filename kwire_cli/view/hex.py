"""The annotated hex view of messages, batches and lines of a capture: offset, bytes, ASCII, and the field.

The rows of the outline are walked in the order of their bytes, so each byte is printed once. The bytes and the note of
a field have the same colour, and neighbouring fields have different ones. Batches show their header and their records;
decompressed records follow with separate offsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.engine.values import Form
from kwire_cli.message.redaction import note_of_guess
from kwire_cli.message.roles import RecordsAs
from kwire_cli.records.batch import Batch, deep_anomalies
from kwire_cli.view.lines import Line, anomaly_lines, plain, printable, without_control
from kwire_cli.view.outline import batch_of, body_part, frame_rows, item_row
from kwire_cli.view.rows import NOUNS, Buffer, Extent, Field, Title, leaves, value_segments
from kwire_cli.view.tree import frame_title, message_title
from kwire_cli.view.widths import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.rows import Row


COLOURS = 6
_NARROWER = ((112, 16), (76, 8))
"""Minimum widths of the terminal, each with the bytes of a row. A narrower terminal has rows of four bytes."""


@dataclass(frozen=True, slots=True)
class HexForm:
    """The layout of bytes: maximum `rows` of a field, and cells of the terminal (`room`). None means no limit."""

    rows: int | None = None
    room: int | None = None

    @property
    def width(self) -> int:
        """The number of bytes of a row."""
        if self.room is None:
            return 16
        for least, width in _NARROWER:
            if self.room >= least:
                return width
        return 4


def frame_lines(
    catalog: Catalog,
    frame: Frame,
    hidden: dict[str, frozenset[int]],
    *,
    form: HexForm,
    asked: Frame | None = None,
    reading: RecordsAs | None = None,
) -> Iterator[Line]:
    """Yield a frame byte by byte. Bytes outside its parts are a gap.

    With `reading`, records are split into fields. `asked` is the request if the frame is a response.
    """
    frame = frame.shown(hidden)
    yield frame_title(frame, labelled=frame.logged)
    if note := note_of_guess(frame, hidden):
        yield [(note, "warning")]
    for row in frame_rows(Extent(catalog, reading), frame, hidden, asked=asked):
        if row.kind == "gap":
            yield from _gap(row, "gap: not part of any field", form)
        else:
            yield from _fields(row.below(), "header." if row.name == "header" else "", form)
    yield from anomaly_lines(frame.anomalies)


def message_lines(
    catalog: Catalog, decoded: Decoded, hidden: frozenset[int], *, form: HexForm, reading: RecordsAs | None = None
) -> Iterator[Line]:
    """Yield a body byte by byte. `reading` is as in `frame_lines`."""
    yield message_title(decoded)
    yield from _fields(body_part(Extent(catalog, reading), "body", decoded, hidden).rows(), "", form)
    yield from anomaly_lines(decoded.anomalies)


def _gap(row: Row, text: str, form: HexForm) -> Iterator[Line]:
    start, _, end = row.place
    yield from byte_rows(row.buffer.data, start, end, [(text, "warning")], "warning", form, masked_from=row.secret)


def _fields(outline: Iterable[Row], prefix: str, form: HexForm) -> Iterator[Line]:
    """Yield the fields of a part. Paths start with `prefix`."""
    colour = 0
    for row in leaves(outline):
        start, value, end = row.place
        if isinstance(row, Title):
            if row.kind == "gap":
                yield from _gap(row, "gap: not decoded" if end > start else "the bytes end here", form)
            else:
                yield from _packed(row, form)
        elif row.records or row.item.whole:
            style = f"leaf{colour % COLOURS}"
            colour += 1
            note: Line = [(prefix + row.path, style), *_note(row)]
            if about := row.about:
                note.append((f"  {about}", "dim"))
            end = value if row.records else end
            yield from byte_rows(row.part.buffer.data, start, end, note, style, form, masked_from=row.secret)
            if row.records:
                yield from _record_set(row, form)


def _record_set(row: Field, form: HexForm) -> Iterator[Line]:
    """Yield the batches in a records field, and the gaps between them."""
    for item in row.below():
        yield from _item(item, form)
        if batch := batch_of(item.subject):
            yield from anomaly_lines(deep_anomalies(batch, row.part.extent.hide))


def _note(row: Field) -> Line:
    """Return the value of a field, or the number and noun of a count."""
    part = row.part
    item = row.item
    kind = row.kind
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
    data: bytes, start: int, end: int, note: Line, style: str, form: HexForm, *, masked_from: int | None
) -> Iterator[Line]:
    """Yield the bytes [start, end) in rows, with the note to the right. Bytes from `masked_from` on are masked."""
    width = form.width
    blank = 10 + 3 * width - 1 + 2 + width + 2
    notes = [note] if form.room is None else [*fold(without_control(note), max(form.room - blank, 1), "  ")]
    notes.reverse()
    for number, at in enumerate(range(start, max(end, start + 1), width)):
        if form.rows is not None and number == form.rows and end - at > width:
            yield [(" " * 10, "dim"), (f"{f'… {end - at} more bytes':<{blank - 10}}", "dim"), *(notes and notes.pop())]
            break
        raw = bytes(data[at : min(at + width, end)])
        cells = raw.hex(" ")
        text = printable(raw)
        if masked_from is not None and masked_from < at + len(raw):
            visible = max(masked_from - at, 0)
            masked = len(raw) - visible
            cells = " ".join([f"{byte:02x}" for byte in raw[:visible]] + ["**"] * masked)
            text = text[:visible] + "*" * masked
        line: Line = [(f"{at:08x}  ", "dim"), (f"{cells:<{3 * width - 1}}", style), (f"  {text:<{width}}", style)]
        if notes:
            line += (("  ", "dim"), *notes.pop())
        yield line
    while notes:
        yield [(" " * blank, "dim"), *notes.pop()]


def batch_hex_lines(
    catalog: Catalog, item: Batch | Gap, hide: Hide | None, *, deep: bool, form: HexForm
) -> Iterator[Line]:
    """Yield a batch or gap byte by byte. With `deep`, decompressed records follow, with separate offsets."""
    batch = batch_of(item)
    extent = Extent(catalog, RecordsAs(catalog, hide=hide), deep=deep)
    buffer = Buffer("", batch.data if batch else b"", item.position, item.end)
    yield from _item(item_row(extent, item, buffer, None), form, gaps=False)
    if batch:
        yield from anomaly_lines(deep_anomalies(batch, hide) if deep else batch.notes)


def _item(row: Row, form: HexForm, *, gaps: bool = True) -> Iterator[Line]:
    """Yield a batch or gap without its anomalies. The bytes of a gap are shown only with `gaps`."""
    item: Batch | Gap = row.subject
    size = f", {item.size} bytes"
    if isinstance(item, Batch):
        span = f"offsets {item.head.base_offset} to {item.head.last_offset}"
        yield [(f"batch at {item.position}: ", "dim"), (span, "title"), (size, "dim")]
    else:
        yield [(f"at {item.position}: ", "dim"), (f"gap: {item.code}", "warning"), (size, "dim")]
    if batch_of(item):
        yield from _fields(row.below(), "", form)
    elif gaps:
        yield from _gap(row, "gap: not part of any field", form)


def _packed(row: Title, form: HexForm) -> Iterator[Line]:
    """Yield the decompressed records or messages of a batch."""
    yield [("decompressed: ", "dim"), (f"{row.buffer.stop} bytes", "number")]
    if row.subject:
        yield from _fields(row.below(), "", form)
        return
    for item in row.below():
        yield from _item(item, form)
