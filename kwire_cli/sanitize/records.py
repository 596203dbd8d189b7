"""Record sets, frames and log directories with replaced values.

Every batch and every frame keeps its size, so offsets, indexes and lengths stay valid. Checksums are computed again.
Compressed records are compressed again to exactly the same size.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.codes import faults_among
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies
from kwire_cli.message.decoded import by_span, cut_record_set
from kwire_cli.message.frames import SIZE_BYTES, Forwarded
from kwire_cli.message.roles import roles
from kwire_cli.records.batch import CORRUPT, TRUNCATED, Batch, has_payloads, payload_of
from kwire_cli.records.building import sealed
from kwire_cli.records.compression import decompress
from kwire_cli.records.layouts import FRAME
from kwire_cli.records.reading import Reader, read_items, source_of
from kwire_cli.sanitize.fields import filled
from kwire_cli.sanitize.replacing import (
    BEYOND,
    DIFFERENT,
    NOTHING,
    TOKEN,
    VARINT_BEYOND,
    fitted,
    stays,
)
from kwire_cli.source.kafka.framing import GSSAPI_TAG
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import partition_of, topic_of
from kwire_cli.source.logs.model import BATCH_KINDS, GAP, Kind, file_name, other_file_name, other_folder_name
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Source
    from kwire_cli.records.gaps import Gap
    from kwire_cli.sanitize.fields import Fields, Inner


# Record sets: batches with replaced keys, values and headers. A checksum that was valid is valid again, and every batch
# keeps its size.


def _unread(size: int, notes: Sequence[Anomaly]) -> bytes:
    """Return bytes in place of unreadable records, at which decoding stops for the same reason."""
    if notes and notes[-1].code == "VARINT_TOO_LONG":
        return NOTHING * size
    return VARINT_BEYOND[:size].ljust(size, b"\0")


class RecordSets:
    """Rewrites record sets. `fields` replaces the values and counts the parts that could not be kept."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def __call__(self, data: Any, topic: str | None, magic: int | None = None) -> bytes:
        """Return all batches and gaps of some bytes. `magic` is the magic of the message around them, if any."""
        return b"".join(
            self.items(source_of(data, topic=topic, catalog=self.fields.catalog), different=TOKEN, magic=magic)
        )

    def items(self, source: Source, *, different: int = TOKEN, magic: int | None = None) -> Iterator[bytes]:
        """Yield the same bytes in pieces: batches, and gaps of a bounded size."""
        for item in read_items(source):
            if isinstance(item, Batch):
                yield self._batch(item, different, magic)
            else:
                yield self._gap(source, item)

    def _gap(self, source: Source, gap: Gap) -> bytes:
        """Return the replacement of a gap. The header of a truncated batch is kept, and the rest becomes blank."""
        if gap.code == CORRUPT:
            self.fields.count("bytes that are no batch", gap.size)
            return NOTHING * gap.size
        if gap.code != TRUNCATED:
            return bytes(gap.size)
        batch = gap.batch
        if batch is None:  # the format is unknown or the header is unlikely: only offset and size are kept
            start = bytes(source.read(gap.position, gap.position + min(gap.size, FRAME.size)))
            return start.ljust(gap.size, NOTHING) if len(start) == FRAME.size else bytes(gap.size)
        if batch.has_head and batch.layout.name == "v2" and not batch.head.codec:
            return self._of_batches(batch, TOKEN)
        head = batch.position + min(batch.size, batch.layout.head.size)
        return bytes(source.read(batch.position, head)).ljust(batch.size, b"\0")

    def _batch(self, batch: Batch, different: int, magic: int | None) -> bytes:
        if batch.layout.name == "v2":
            sanitized = self._of_batches(batch, different)
        else:
            sanitized = self._of_messages(batch, different, magic)
        if batch.crc_valid:
            return sealed(sanitized, batch.layout, None)
        # In a batch with a wrong checksum, readers search for other batches. None of the original ones may be visible.
        if Reader(replace(batch.source, content=memoryview(sanitized))).find(1, len(sanitized)) is None:
            return sanitized
        if batch.layout.is_message:
            return self._of_messages(batch, different, batch.layout.magic)
        self.fields.count("compressed batches that are blank", 1)
        return sanitized[: batch.layout.head.size] + NOTHING * (len(sanitized) - batch.layout.head.size)

    def _of_batches(self, batch: Batch, different: int) -> bytes:
        start = batch.position + batch.layout.head.size
        head = bytes(batch.data[batch.position : start])
        packed = bytes(batch.data[start : batch.end])
        codec = batch.head.codec
        if not codec:
            return head + self._records(batch, packed, different)
        data, code, _, _ = decompress(codec, packed, batch.source.limits)
        return head + self._packed(codec, packed, None if code else lambda few: self._records(batch, data, few), 2)

    def _records(self, batch: Batch, data: bytes, different: int) -> bytes:
        """Return the decompressed records of a batch with replaced values."""
        entry = records_entry(v2.RECORDS)
        spans = walk(entry, data)
        inner = self._parts(batch, 0) if has_payloads(batch) else {}
        sanitized = self.fields.rewritten(spans, inner=inner, different=different)
        return (
            sanitized
            if spans.lost < 0
            else sanitized[: spans.used] + _unread(len(sanitized) - spans.used, anomalies(build(entry, spans)))
        )

    def _parts(self, batch: Batch, base: int) -> Inner:
        """Return the replacements of decoded keys and values, by offset."""
        inner: Inner = {}
        for record in batch.records():
            payload = payload_of(batch, record)
            decoded = (payload.control or payload.record) if payload else None
            if decoded:
                for at, part in ((record.key_at, decoded.key), (record.value_at, decoded.value)):
                    if part and at >= 0:
                        inner[base + at] = self.fields.payload(part)
        return inner

    def _of_messages(self, batch: Batch, different: int, magic: int | None) -> bytes:
        """Return a message of v0 or v1 with replaced values, also in the messages that it wraps."""
        layout = batch.layout
        data = bytes(batch.data[batch.position : batch.end])
        spans = walk(records_entry(layout.decl), data)
        codec = COMPRESSION.read(layout.numbers(data, 0)["attributes"])
        inner: Inner = {}
        value = spans.value[-1]
        named = spans.program.leaves[spans.node[-1]].name == "value" if spans.node else False
        if codec and named and value < spans.end[-1]:
            packed = data[value : spans.end[-1]]
            own = min(layout.magic, 1)
            unpacked, code, _, _ = decompress(codec, packed, batch.source.limits, magic=own)
            again = None if code or magic is not None else lambda few: self._wrapped(batch, unpacked, few)
            inner[value] = self._packed(codec, packed, again, own)
        elif has_payloads(batch):
            inner = self._parts(batch, layout.head.size)
        sanitized = self.fields.rewritten(spans, inner=inner, different=different).ljust(len(data), b"\0")
        if spans.lost < 0:
            return sanitized
        return sanitized[: spans.used] + BEYOND[: len(sanitized) - spans.used].ljust(len(sanitized) - spans.used, b"\0")

    def _wrapped(self, batch: Batch, data: bytes, different: int) -> bytes:
        source = source_of(data, topic=batch.source.topic, catalog=batch.source.catalog)
        return b"".join(self.items(source, different=different, magic=batch.layout.magic))

    def _packed(self, codec: int, packed: bytes, again: Any, magic: int) -> bytes:
        """Return the result of `again`, compressed to the size of `packed`.

        If it does not fit, `again` is called with fewer distinct letters. If nothing fits, the result is blank.
        """
        if again is not None:
            for different in DIFFERENT:
                compressed = fitted(codec, again(different), packed, magic=magic)
                if compressed is not None:
                    if different < TOKEN:
                        self.fields.count("compressed batches whose values are not kept apart", 1)
                    return compressed
        self.fields.count("compressed batches that are blank", 1)
        return NOTHING * len(packed)


# Requests, responses and SASL tokens with replaced values, in the same length.

ENDS_EARLY = frozenset({"TRUNCATED", "COUNT_MISMATCH"})
"""The anomalies of a message whose last bytes are missing."""
TOKEN_BYTE = b"x"
"""The byte that replaces all bytes of a SASL token. As the start of a request header it is not a known api."""


class Frames:
    """Rewrites frames. `topic` returns the name of a topic id, if known."""

    def __init__(self, fields: Fields, topic: Callable[[str], str]) -> None:
        self.fields = fields
        self._topic = topic
        self._records = RecordSets(fields)

    def token(self, data: bytes) -> bytes:
        """Return a blank SASL token after its size. Only the mark of GSSAPI is kept."""
        start = SIZE_BYTES + (data[SIZE_BYTES : SIZE_BYTES + 1] == bytes((GSSAPI_TAG,)))
        return data[:start] + TOKEN_BYTE * (len(data) - start)

    def frame(self, frame: Frame, *, cut: bool, asked: Frame | None = None) -> bytes:
        """Return a request or response with replaced values.

        `cut` means that the capture does not contain all of it. `asked` is the request of a response. Of a frame that
        is not identified for sure, only the size is kept: apparent numbers may be the start of a password.
        """
        data = bytes(frame.data[frame.start : frame.stop])
        header = frame.header
        body = frame.body
        at = SIZE_BYTES if frame.prefixed else 0
        # A response in version 0 to a request of an unknown version becomes blank like the request, so both match.
        if (
            frame.guess
            or header is None
            or not header.complete
            or body is None
            or body.guess
            or frame.api_version not in body.spec.valid_versions
        ):
            self.fields.count("frames that are not known", 1)
            return data[:at] + NOTHING * (len(data) - at)
        out = bytearray(data[:at].ljust(len(data), b"\0"))
        sanitized = self.fields.rewritten(header.raw)
        start = header.start - frame.start
        out[start : start + header.raw.used - header.raw.start] = sanitized[: header.raw.used - header.raw.start]
        # After a wrong size, the following bytes look like an endless frame that is malformed in other ways too.
        if any(note.code not in ENDS_EARLY for note in faults_among(body.anomalies)) if cut else not body.complete:
            self.fields.count("frames that could not be decoded", 1)
            sanitized = b""
        else:
            sanitized = self.fields.body(body, self._in_fields(frame, asked))
            if body.raw.lost >= 0:
                sanitized = sanitized[: body.raw.used - body.start] + self._cut_records(body)
        start = body.start - frame.start
        out[start:] = filled(body, sanitized)
        return bytes(out)

    def _cut_records(self, body: Decoded) -> bytes:
        """Return the record set that is cut off after its length, or nothing if the bytes end elsewhere."""
        cut = cut_record_set(roles(body.spec, body.entry), body.raw)
        if cut is None:
            return b""
        topic = self._topic(cut.topic) if cut.topic else None
        return bytes(body.data[body.raw.used : cut.start]) + self._records(
            bytes(body.data[cut.start : cut.stop]), topic
        )

    def _in_fields(self, frame: Frame, asked: Frame | None) -> Callable[[Body], Inner]:
        """Return a function that computes record sets and the message in an Envelope, by offset."""

        def inner_values(body: Body) -> Inner:
            inner: Inner = {}
            for at, record_set in by_span(roles(body.spec, body.entry), body.raw):
                if body.raw.value[at] != record_set.start:
                    continue  # the record set is cut off: see `_cut_records`
                topic = self._topic(record_set.topic) if record_set.topic else None
                inner[body.raw.value[at]] = self._records(bytes(body.data[record_set.start : record_set.stop]), topic)
            for carried in frame.inside(asked):
                if isinstance(carried, Forwarded):
                    inner[carried.frame.start] = self.frame(carried.frame, cut=False)
            return inner

        return inner_values


# Segments and whole log directories. Batches keep their positions, so indexes and producer snapshots stay valid.

NUMBERS_ALONE = frozenset(
    {Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX, Kind.PRODUCER_SNAPSHOT, Kind.LEADER_EPOCHS}
)
"""Kinds of files with numbers only. They are copied if their contents match their names."""


class Task(NamedTuple):
    """A file of a folder, and its relative path in the new folder. `topic` is the topic of its folder. A `left_out`
    file is not written.
    """

    file: Path
    path: str
    kind: Kind
    topic: str | None
    left_out: bool


def tasks(folder: Path, files: Iterable[Path], fields: Fields) -> Iterator[Task]:
    """Yield the tasks for the files below a folder: a partition folder, a log directory, or several log directories.

    All folders are renamed.

    Raises:
        InputError: A file cannot be read.

    """

    def other(name: str) -> str:
        data = os.fsencode(name)
        return name if not name or stays("", "", data) else fields.replacement.letters(data).decode()

    for file in files:
        if not file.is_file():
            continue
        kind = file_name(file.name).kind
        parents = file.relative_to(folder).parts[:-1]
        own = partition_of(file)
        path = "/".join((*(other_folder_name(name, other) for name in parents), other_file_name(file.name, other)))
        yield Task(
            file,
            path,
            kind,
            topic_of(kind, own),
            not (kind in BATCH_KINDS or (kind in NUMBERS_ALONE and _only_numbers(file))),
        )


def _only_numbers(file: Path) -> bool:
    """Return whether all bytes of a file match the kind in its name. Other files may contain anything."""
    contents = read_log_file(file)
    return not contents.anomalies and not any(piece.kind == GAP for piece in contents.pieces)


def rewritten(file: Path, topic: str | None, fields: Fields) -> Iterator[bytes]:
    """Yield the pieces of a segment or snapshot with replaced values.

    Raises:
        InputError: The file cannot be read.

    """
    return RecordSets(fields).items(source_of(file, topic=topic, catalog=fields.catalog))
