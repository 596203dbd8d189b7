"""Batches of format v2 as JSON lines, for a whole log: those in which nothing is odd without an object each.

All others are the business of `view.batch_json`. The text is the same; a test holds the two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.model import Hide, Source
    from kwire_cli.records.reading import Reader

_LAYOUT = LAYOUTS["v2"]
_HEAD = (
    '{"position":%%d,"size":%%d,"baseOffset":%%d,"lastOffset":%%d,"magic":2,"crc":%%d,"crcValid":true,"compression":"%s","timestampType":"%s",'
    '"maxTimestamp":%%d,"producerId":%%d,"producerEpoch":%%d,"baseSequence":%%d,"partitionLeaderEpoch":%%d,"isTransactional":%s,"isControl":%s,'
    '"deleteHorizonMs":null,"count":%%d'
)
_RECORDS, _END = b',"records":[', b'],"anomalies":[]}\n'
_AT_ONCE = 64
"""Batches in one piece of text."""
_FEW = 512
"""Records of a batch that are read in one go."""
_HIGHEST = (1 << 63) - (1 << 31)
"""The offsets of a batch that begins below it do not wrap."""


@dataclass(slots=True)
class Lines:
    """What lines look like, as `view.batch_json.line_pieces` takes it; and what came of it: how many batches, and whether any has anomalies."""

    label: dict[str, Any]
    hide: Hide | None
    deep: bool
    batches: int = 0
    odd: bool = False


def quick_lines(source: Source, reader: Reader, lines: Lines) -> Iterator[bytes]:
    """The lines of the batches that `reader.plain` gives, some at a time; where it ends, `reader.items` go on. `lines` is kept up to date."""
    deep = lines.deep
    before = _label(lines.label) if lines.label else b""
    forms: dict[int, bytes | None] = {}
    ready: list[bytes] = []
    end_of_line = b"" if deep else b',"anomalies":[]}\n'
    plain_topic = not deep or _is_plain(source)
    for at, end, numbers in reader.plain(_LAYOUT):
        base, _, epoch, _, crc, attributes, delta, base_time, latest, producer, producer_epoch, sequence, count = numbers
        lines.batches += 1
        if attributes in forms:
            form = forms[attributes]
        else:
            form = forms[attributes] = _form(attributes, before, end_of_line, deep=deep)
        if form and delta >= 0 and base < _HIGHEST and plain_topic:
            head = form % (at, end - at, base, base + delta, crc, latest, producer, producer_epoch, sequence, epoch, count)
            if not deep:
                ready.append(head)
                if len(ready) == _AT_ONCE:
                    yield b"".join(ready)
                    ready.clear()
                continue
            if rows := _rows(source, at, end, attributes, base, delta, base_time, latest, sequence, count):
                rows[0] = head + _RECORDS + rows[0][1:]
                rows.append(_END)
                yield b"".join(rows)
                continue
        yield b"".join(ready)
        ready.clear()
        yield from _long_way(source, at, end, lines)
    yield b"".join(ready)


def _label(label: dict[str, Any]) -> bytes:
    """What stands before the keys of a line, as part of a format."""
    from kwire_cli.view.json import many_dumps  # noqa: PLC0415 - a list of batches of one file needs none of it

    return many_dumps(label)[1:-2].replace(b"%", b"%%") + b","


def _is_plain(source: Source) -> bool:
    """Whether records are nobody's messages, but for those of control batches."""
    from kwire_cli.payload.records import OWN_TOPICS  # noqa: PLC0415 - a list of batches needs none of it

    return source.topic not in OWN_TOPICS


@cache
def _form(attributes: int, before: bytes, after: bytes, *, deep: bool) -> bytes | None:
    """The line of a batch with these attributes up to its records, as a format; None where there is more to say than that."""
    codec = COMPRESSION.names.get(attributes & COMPRESSION.mask)
    if attributes & ~_LAYOUT.known_bits or attributes & v2.DELETE_HORIZON.mask or codec is None or (deep and attributes & v2.CONTROL.mask):
        return None
    transactional, control = (bits.names[bits.read(attributes)] for bits in (v2.TRANSACTIONAL, v2.CONTROL))
    text = _HEAD % (codec, TIMESTAMP_TYPE.names[TIMESTAMP_TYPE.read(attributes)], transactional, control)
    return b"{" + before + text[1:].encode() + after


def _rows(
    source: Source, at: int, end: int, attributes: int, base: int, delta: int, base_time: int, latest: int, sequence: int, count: int
) -> list[bytes]:
    """The records of a batch as text; none where there are many or anything is odd."""
    if not 0 < count <= _FEW:
        return []
    data: Any = source.data[at + _LAYOUT.head.size : end]
    if codec := attributes & COMPRESSION.mask:
        data, code, _, _ = _decompress()(codec, data, source.limits)
        if code:
            return []
    else:
        data = bytes(data)
    appended = latest if attributes & TIMESTAMP_TYPE.mask else None
    rows: list[bytes]
    rows, upto, right, taken, last = _read()(data, 0, len(data), _FEW, base, base_time, sequence, appended)
    return rows if right and upto == len(data) and taken == count and last - base <= delta else []


@cache
def _decompress() -> Any:
    from kwire_cli.codec.compression import decompress  # noqa: PLC0415 - a list of batches needs none of it

    return decompress


@cache
def _read() -> Any:
    from kwire_cli.view.record_text import text_reader  # noqa: PLC0415 - as above

    return text_reader()


def _long_way(source: Source, at: int, end: int, lines: Lines) -> Iterator[bytes]:
    from kwire_cli.records.batch import Batch  # noqa: PLC0415 - few need it
    from kwire_cli.view.batch_json import line_pieces  # noqa: PLC0415 - as above

    notes: list[Anomaly] = []
    batch = Batch(source, at, end - at, _LAYOUT, crc_valid=True)
    yield from line_pieces(batch, label=lines.label, deep=lines.deep, hide=lines.hide, notes=notes)
    lines.odd = lines.odd or bool(notes or batch.notes)
