"""Batches of format v2 as JSON lines, for a whole log: those in which nothing is odd without an object each.

All others are the business of `view.batch_json`. The text is the same; a test holds the two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.reading import sound_batch
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.codec.model import Limits
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.records.model import Hide, Source
    from kwire_cli.records.reading import Reader

_LAYOUT = LAYOUTS["v2"]
_ATTRIBUTES = _LAYOUT.head.names.index("attributes")
_sound = sound_batch(_LAYOUT)
_CODEC, _APPEND_TIME = COMPRESSION.mask, TIMESTAMP_TYPE.mask
_HEAD = (
    '{"position":%%d,"size":%%d,"baseOffset":%%d,"lastOffset":%%d,"magic":2,"crc":%%d,"crcValid":true,"compression":"%s","timestampType":"%s",'
    '"maxTimestamp":%%d,"producerId":%%d,"producerEpoch":%%d,"baseSequence":%%d,"partitionLeaderEpoch":%%d,"isTransactional":%s,"isControl":%s,'
    '"deleteHorizonMs":null,"count":%%d'
)
_RECORDS, _NO_ANOMALIES = b',"records":[', b'],"anomalies":[]}'
_END = _NO_ANOMALIES + b"\n"
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
        base, _, epoch, _, crc, attributes, delta, _, latest, producer, producer_epoch, sequence, count = numbers
        lines.batches += 1
        if attributes in forms:
            form = forms[attributes]
        else:
            form = forms[attributes] = _form(attributes, before, end_of_line, deep=deep)
        if form and delta >= 0 and base < _HIGHEST and plain_topic:
            if not deep:
                ready.append(form % (at, end - at, base, base + delta, crc, latest, producer, producer_epoch, sequence, epoch, count))
                if len(ready) == _AT_ONCE:
                    yield b"".join(ready)
                    ready.clear()
                continue
            if rows := _rows(source.data, at, end, numbers, source.limits, form):
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


def field_text(reading: RecordsAs) -> Callable[[bytes], str]:
    """What makes the JSON of a records field of its bytes: the batches with their records, of a topic whose records are nobody's messages."""
    from kwire_cli.records.opening import source_of  # noqa: PLC0415 - only captures with records need it
    from kwire_cli.records.reading import read_items  # noqa: PLC0415 - as above
    from kwire_cli.view.batch_json import line_pieces  # noqa: PLC0415 - as above

    limits = source_of(b"", limits=reading.limits).limits

    def text(data: bytes) -> str:
        found = quick_field(data, limits)
        if found is None:
            source = source_of(data, catalog=reading.catalog, limits=limits)
            lines = [b"".join(line_pieces(item, label={}, deep=True, hide=reading.hide))[:-1] for item in read_items(source)]
            found = b"[%b]" % b",".join(lines)
        return found.decode()

    return text


def quick_field(data: bytes, limits: Limits) -> bytes | None:
    """The batches in a records field and their records, as a JSON array; None where anything is odd."""
    pieces = [b"["]
    at, stop = 0, len(data)
    while at < stop:
        if (found := _sound(data, at, stop)) is None:
            return None
        end, numbers = found
        form = _form(numbers[_ATTRIBUTES], b"", b"", deep=True)
        rows = _rows(data, at, end, numbers, limits, form) if form else None
        if not rows:
            return None
        if at:
            pieces.append(b",")
        pieces += rows
        pieces.append(_NO_ANOMALIES)
        at = end
    pieces.append(b"]")
    return b"".join(pieces)


def _rows(source: Any, at: int, end: int, numbers: tuple[Any, ...], limits: Limits, form: bytes) -> list[bytes]:
    """The batch in [at, end) with its records as pieces of text, up to the end of the last one; none where there are many or anything is odd."""
    base, _, epoch, _, crc, attributes, delta, base_time, latest, producer, producer_epoch, sequence, count = numbers
    if not 0 < count <= _FEW or delta < 0 or base >= _HIGHEST:
        return []
    data: Any = source[at + _LAYOUT.head.size : end]
    if codec := attributes & _CODEC:
        data, code, _, _ = _decompress()(codec, data, limits)
        if code:
            return []
    else:
        data = bytes(data)
    appended = latest if attributes & _APPEND_TIME else None
    rows: list[bytes]
    rows, upto, right, taken, last = _read()(data, 0, len(data), _FEW, base, base_time, sequence, appended)
    if not right or upto != len(data) or taken != count or last - base > delta:
        return []
    head = form % (at, end - at, base, base + delta, crc, latest, producer, producer_epoch, sequence, epoch, count)
    rows[0] = head + _RECORDS + rows[0][1:]
    return rows


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
