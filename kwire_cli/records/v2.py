"""Record format v2: batches and their records, compressed or malformed.

A generated reader decodes records until the first malformed one. The spans and trees of the engine decode the following
records: this is slower, but describes the anomalies. Both return lists of limited size.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from kwire_cli.engine import kernel, program as p
from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.python_source import Sink
from kwire_cli.engine.reader import records_reader
from kwire_cli.engine.spans import CHUNK, Spans, first_state
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies, value
from kwire_cli.records.batch import MOST_NOTES, Area, Head, Record, int64, sequence_after
from kwire_cli.records.compression import decompress
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence

    from kwire_cli.engine.program import Entry, Leaf, Node, Series
    from kwire_cli.engine.python_source import Source
    from kwire_cli.records.batch import Batch


# Records with anomalies are read through a tree: slower than the compiled reader, but with details.

MAX_ODD = 10_000
"""Malformed records that are read of any compressed batch."""
PACKED = 4
"""Compressed bytes for each further malformed record."""


_INDEX = re.compile(r"^(\w+)\[(\d+)\]")


def add_note(notes: MutableSequence[Anomaly], note: Anomaly) -> None:
    """Append an anomaly unless the list is full. The last anomaly of a full list notes that others are omitted."""
    if len(notes) < MOST_NOTES:
        last = "; further anomalies of this batch are not listed" if len(notes) == MOST_NOTES - 1 else ""
        notes.append(note._replace(detail=note.detail + last))


def has_enough(batch: Batch, area: Area, read: int, at: int, notes: MutableSequence[Anomaly]) -> bool:
    """Return whether to skip the rest of a batch's decompressed records.

    The rest is skipped once `read` anomalous records are enough for the batch's size. `notes` then end with
    DECOMPRESSION_LIMIT. Zeros compress a thousand to one, and a few zeros make a record and a line. Without
    compression there are no more records than bytes, so nothing is skipped.
    """
    if not area.compressed or read < max(MAX_ODD, batch.size // PACKED):
        return False
    offset, where = area.place(at)
    detail = (
        f"{read} records in which something is odd have been read; the {len(area.data) - at} bytes that "
        f"follow are not{where}"
    )
    notes[MOST_NOTES - 1 :] = [Anomaly("DECOMPRESSION_LIMIT", "records", offset, detail)]
    return True


def add_odd(
    entry: Entry, spans: Spans, area: Area, before: int, notes: MutableSequence[Anomaly]
) -> Iterator[tuple[dict[str, Any], dict[str, int]]]:
    """Yield the complete elements of a series in JSON form, with the positions of their field values. Add their
    anomalies to `notes`.

    `before` elements stood in earlier spans.
    """
    tree = build(entry, spans)
    for note in anomalies(tree):
        if len(notes) >= MOST_NOTES:
            break
        offset, where = area.place(note.offset)
        path = _INDEX.sub(lambda match: f"{match[1]}[{int(match[2]) + before}]", note.path)
        add_note(notes, Anomaly(note.code, path, offset, note.detail + where))
    for series in tree.root.parts:
        for item in series.each():
            if item.whole and item.index is not None:
                places = {part.node.name: spans.value[part.span] for part in item.each() if part.span >= 0}
                yield value(item, tree), places


def bytes_of(text: str | None) -> bytes | None:
    """Return the bytes of a field from its JSON form."""
    return None if text is None else base64.b64decode(text)


# The bytes that contain the records of a batch: a part of the batch, or its decompressed data.


def area_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Area:
    """Return the bytes after the header of a batch with separate records, decompressed within the source's limits."""
    layout = batch.layout
    start = batch.position + layout.head.size
    packed = batch.data[start : batch.end]
    codec = batch.head.codec
    if not codec:
        return Area(bytes(packed), start, compressed=False)
    data, code, detail, _ = decompress(codec, packed, batch.source.limits)
    if code:
        add_note(notes, Anomaly(code, layout.decl.subcons[-1].name, start, detail))
    return Area(data, start, compressed=True)


# Spans of a long series of elements in chunks of limited size, so that memory does not grow with their number.

SMALL = 256
"""Minimum room for spans in the output, for few bytes."""


def chunks(entry: Entry, data: Any, start: int = 0) -> Iterator[Spans]:
    """Yield the spans of `data` from `start` on, as `engine.spans.walk` does, in chunks that begin with an element.

    `entry` consists of a single series. Flags of a chunk count from its first span. Only the last chunk may have a gap.
    """
    program = entry.program
    stop = len(data)
    first = cast("Series", entry.root.fields[0]).first
    jobs = [entry.pc, start, stop, 0, 0, 0, 0]
    chunk = min(CHUNK, SMALL + (stop - start) // SMALL)
    state = first_state(program, jobs, chunk)
    room = chunk + program.widest
    out_node = [0] * room
    out_value = [0] * room
    out_end = [0] * room
    pairs = [0] * (4 * room)
    node: list[int] = []
    value: list[int] = []
    end: list[int] = []
    flags: dict[int, int] = {}
    begin = start
    gone = 0
    while True:
        status = kernel.run(program.code, program.tables, data, jobs, out_node, out_value, out_end, pairs, state)
        n = state[p.STATE_SPANS]
        for i in range(0, state[p.STATE_FLAGS], 2):
            at = pairs[i] - gone
            flags[at] = flags.get(at, 0) | pairs[i + 1]
        held = len(node)
        node += out_node[:n]
        value += out_value[:n]
        end += out_end[:n]
        if status != kernel.FULL:
            yield Spans(program, data, begin, stop, node, value, end, flags, jobs[4], jobs[6] if jobs[5] else -1)
            return
        cut = len(node) - 1
        while cut > max(held, 1) and node[cut] != first:
            cut -= 1
        if node[cut] != first or cut == 0:  # an element that is longer than a piece
            continue
        mine = {at: bits for at, bits in flags.items() if at < cut}
        yield Spans(program, data, begin, end[cut - 1], node[:cut], value[:cut], end[:cut], mine, end[cut - 1], -1)
        begin = end[cut - 1]
        flags = {at - cut: bits for at, bits in flags.items() if at >= cut} if len(mine) < len(flags) else {}
        gone += cut
        del node[:cut], value[:cut], end[:cut]


# Record batches of format v2 (org.apache.kafka.common.record.DefaultRecordBatch): their header's numbers, and
# their records.

_HEAD = LAYOUTS["v2"].head


_CODEC = COMPRESSION.mask
_TIME = TIMESTAMP_TYPE.mask
_TRANSACTIONAL = v2.TRANSACTIONAL.mask
_CONTROL = v2.CONTROL.mask
_HORIZON = v2.DELETE_HORIZON.mask
_PIECE = 512
"""Records per call of the reader."""


def head_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Head:
    """Return the numbers of the batch's header."""
    (
        base_offset,
        _length,
        leader_epoch,
        _magic,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = _HEAD.unpack(batch.data, batch.position)
    if last_offset_delta < 0:
        notes.append(Anomaly("LAST_OFFSET_MISMATCH", "lastOffsetDelta", batch.position, f"it is {last_offset_delta}"))
    return Head(
        base_offset,
        int64(base_offset + last_offset_delta),
        crc,
        attributes,
        attributes & _CODEC,
        1 if attributes & _TIME else 0,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        leader_epoch,
        bool(attributes & _TRANSACTIONAL),
        bool(attributes & _CONTROL),
        base_timestamp if attributes & _HORIZON else None,
        count,
    )


def pieces_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Iterator[list[Record]]:
    """Yield the records in lists. After the last one, note whether their count and offsets contradict the header."""
    return made_of(batch, notes, _reader(), lambda record: (record,))


def made_of(
    batch: Batch, notes: MutableSequence[Anomaly], read: Callable[..., Any], make: Callable[[Record], Iterable[Any]]
) -> Iterator[list[Any]]:
    """Yield lists of the values that a reader (`reader`) builds from well-formed records, and `make` from the others.

    Otherwise like `pieces_of`.
    """
    head = batch.head
    note_count = len(notes)
    area = area_of(batch, notes)
    partial = len(notes) > note_count
    count = 0
    highest = -1
    base = head.base_offset
    for piece, taken, last in _pieces(batch, area, notes, read, make):
        count += taken
        highest = max(highest, last - base)
        yield piece
    partial = partial or any(note.code == "DECOMPRESSION_LIMIT" for note in notes[-1:])
    if count != head.records_count and not partial and not batch.is_cut:
        detail = f"the batch says that it has {head.records_count} records and holds {count}; Kafka's reader fails here"
        add_note(notes, Anomaly("COUNT_MISMATCH", "recordsCount", batch.position, detail))
    if highest > head.last_offset - head.base_offset >= 0:
        detail = (
            f"a record is {highest} after the base offset, and the last one should be "
            f"{head.last_offset - head.base_offset} after it"
        )
        add_note(notes, Anomaly("LAST_OFFSET_MISMATCH", "lastOffsetDelta", batch.position, detail))


def _pieces(
    batch: Batch,
    area: Area,
    notes: MutableSequence[Anomaly],
    read: Callable[..., Any],
    make: Callable[[Record], Iterable[Any]],
) -> Iterator[tuple[list[Any], int, int]]:
    """Yield the records from the compiled reader until it stops, then from spans and trees. Each list comes with the
    number of its records and the last offset.
    """
    head = batch.head
    at = 0
    stop = len(area.data)
    quick = True
    appended = head.max_timestamp if head.timestamp_type else None
    count = 0
    while at < stop and quick:
        piece, at, quick, taken, last = read(
            area.data, at, stop, _PIECE, head.base_offset, head.base_timestamp, head.base_sequence, appended
        )
        count += taken
        if taken:
            yield piece, taken, last
    if at < stop:
        before = count
        for spans in chunks(records_entry(v2.RECORDS), area.data, at):
            if has_enough(batch, area, count - before, spans.start, notes):
                return
            records = _read_with_tree(spans, head, area, count, notes)
            count += len(records)
            if records:
                values: list[Any] = []
                for record in records:
                    values.extend(make(record))
                yield values, len(records), records[-1].offset


class RecordSink(Sink):
    """A sink of records: bytes as they are, headers as tuples.

    Statements for a record may use the fields of `Record` by their names.
    """

    names = MappingProxyType({name: name for name in ("timestampDelta", "offsetDelta", "key", "value", "headers")})
    empty = "()"

    def __init__(self, space: Mapping[str, Any]) -> None:
        super().__init__()
        self.space = {**super().space, "LOWEST": -(1 << 63), "HIGHEST": (1 << 63) - 1, "int64": int64, **space}

    def keeps(self, node: Node, *, top: bool) -> bool:
        """Return whether a field contributes to the record."""
        return not top or node.name in self.names

    def data(self, _node: Leaf, data: str, _size: str) -> str:
        """Return the bytes."""
        return data

    def array(self, out: Source, name: str) -> None:
        """Make a tuple of the headers."""
        out.add(f"{name} = tuple({name})")

    def only(self, value: str) -> str:
        """Return a tuple of one header."""
        return f"({value},)"

    def struct(self, _out: Source, pairs: Sequence[tuple[Node, str]]) -> str:
        """Return a header."""
        return f"({', '.join(value for _, value in pairs)})"


def reader(then: Sequence[str], sink: RecordSink) -> Callable[..., Any]:
    """Return a reader of well-formed records (`engine.reader`); `then` are the statements for a record."""
    return records_reader(
        records_entry(v2.RECORDS),
        sink,
        ("base_offset", "base_timestamp", "base_sequence", "appended"),
        (
            "timestamp = base_timestamp + timestampDelta if appended is None else appended",
            "offset = base_offset + offsetDelta",
            "if not (LOWEST <= timestamp <= HIGHEST and LOWEST <= offset <= HIGHEST):",
            "    timestamp, offset = int64(timestamp), int64(offset)",
            "sequence = (base_sequence + offsetDelta) & 0x7FFFFFFF if base_sequence >= 0 else -1",
            *then,
        ),
        "offset",
    )


@cache
def _reader() -> Callable[..., Any]:
    then = "add(make(Record, (offset, timestamp, sequence, key, value, headers, key_at, value_at, None)))"
    return reader((then,), RecordSink({"Record": Record}))


def _read_with_tree(spans: Spans, head: Head, area: Area, before: int, notes: MutableSequence[Anomaly]) -> list[Record]:
    """Return the records in spans through a tree, with their anomalies in `notes`. A truncated record is omitted."""
    out = []
    for fields, places in add_odd(records_entry(v2.RECORDS), spans, area, before, notes):
        delta = fields["offsetDelta"]
        timestamp = head.max_timestamp if head.timestamp_type else int64(head.base_timestamp + fields["timestampDelta"])
        headers = tuple((header["key"] or "", bytes_of(header["value"])) for header in fields["headers"] or ())
        offset = int64(head.base_offset + delta)
        sequence = sequence_after(head.base_sequence, delta)
        key, value = bytes_of(fields["key"]), bytes_of(fields["value"])
        out.append(Record(offset, timestamp, sequence, key, value, headers, places["key"], places["value"]))
    return out
