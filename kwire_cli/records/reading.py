"""Batches read from bytes and files, and bytes recognised as batches.

A batch is accepted if its size, magic and checksum are valid. Otherwise the next valid batch is searched, and the bytes
before it are a gap, because the batches after a damaged place are still readable.
"""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.records.batch import CORRUPT, PADDING, TRUNCATED, Batch, Source
from kwire_cli.records.codecs import Limits
from kwire_cli.records.formats import AUTO
from kwire_cli.records.gaps import MOST_CUT, CutBatch, Gap, cut_batch, is_header
from kwire_cli.records.kafka_topics import MESSAGES, OWN_TOPICS, decode_control, decode_record
from kwire_cli.records.layouts import FRAME, MAGIC_AT, OVERHEAD, SIZE_AT, layouts_of
from kwire_cli.spec.catalog import catalog as bundled
from kwire_cli.spec.kafka import CLUSTER_METADATA
from kwire_cli.stores.opening import BLOCK, FileBytes
from kwire_cli.structs.records import v0
from kwire_cli.structs.records.parts import COMPRESSION, LEGACY_COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.records.batch import Record
    from kwire_cli.records.layouts import Layout
    from kwire_cli.spec.catalog import Catalog

    Item = Batch | Gap


# From bytes to batches: the start of each batch, its checksum, and the place to resume after bytes outside any batch.
#
# One pass over a view of the bytes does all of this in constant memory. The work is proportional to the input even for
# hostile sizes: bytes that are hashed repeatedly count against a limit.

_BLOCK = 1 << 20


MAGIC_V2 = 2
_FREE = 64 << 20
"""Bytes that may be hashed beyond those that an honest log needs: each once, or twice where all checksums are wrong."""
_LONGEST = 16 << 20
"""Maximum size of a batch that is loaded as a whole before its checksum is compared."""
_NO_BYTES = b"\0" * _BLOCK


class Frame(NamedTuple):
    """The place of a possible batch, by the size and the magic byte at its beginning."""

    start: int
    end: int
    layout: Layout


def read_items(source: Source, start: int = 0, stop: int | None = None) -> Iterator[Item]:
    """Yield the batches in [start, stop) of the source and the gaps between them. Together they cover these bytes once
    and in order.
    """
    return Reader(source, start, stop).items()


def record_set(source: Source) -> Sequence[Item]:
    """Return the batches and gaps of a small record set, such as in a request: usually one valid batch of v2."""
    size = source.size
    v2 = source.layouts.get(MAGIC_V2)
    sound = sound_batch(v2)(source.view(), 0, size) if v2 else None
    if v2 and sound and sound[0] == size:
        return (Batch(source, 0, size, v2, crc_valid=True),)
    return [*read_items(source)]


@cache
def sound_batch(layout: Layout) -> Callable[[Any, int, int], tuple[int, tuple[Any, ...]] | None]:
    """Return a function that finds a batch of one format with a valid checksum at an offset in bytes.

    The function returns the end of the batch and the numbers of its header, or None.
    """
    unpack = layout.head.unpack
    checksum = layout.checksum
    crc_from = layout.crc_from
    least = layout.least
    own_magic = layout.magic
    size, magic, crc = (layout.head.names.index(name) for name in ("batchLength", "magic", "crc"))

    def find_valid(data: Any, at: int, stop: int) -> tuple[int, tuple[Any, ...]] | None:
        try:
            numbers = unpack(data, at)
        except struct.error:
            return None
        end = at + OVERHEAD + numbers[size]
        if (
            numbers[size] < least
            or numbers[magic] != own_magic
            or end > stop
            or checksum(data[at + crc_from : end]) != numbers[crc]
        ):
            return None
        return end, numbers

    return find_valid


class Reader:
    """Reads the batches in [start, stop) of a source once: first with `plain` if possible, then with `items`."""

    def __init__(self, source: Source, start: int = 0, stop: int | None = None) -> None:
        self.source = source
        self.layouts = source.layouts
        self.start = start
        self.stop = source.size if stop is None else stop
        self.view, self.first, self.last = source.window(start, start)  # the window, and its valid bytes
        self.at = start
        self.hashed = 0
        self.known = (-1, False)  # where a frame begins whose checksum was compared already, and whether it is right

    def plain(self, layout: Layout) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
        """Yield consecutive batches of one format with valid checksums: their start, their end, and the numbers of
        their headers.

        It costs a fraction of `items`, and stops before any other bytes. `items` then continues there.
        """
        if self.layouts.get(layout.magic) is not layout:
            return
        at = self.at
        find_valid = sound_batch(layout)
        view = self.view
        stop = min(self.stop, self.last)
        while at < self.stop:
            batch = find_valid(view, at, stop)
            if batch is None:
                if not self.moved_on(at):
                    return
                view = self.view
                stop = min(self.stop, self.last)
                continue
            end, numbers = batch
            self.hashed += end - at
            self.at = end
            yield at, end, numbers
            at = end

    def items(self) -> Iterator[Item]:
        """Yield the batches and gaps from the current position."""
        at = self.at
        stop = self.stop
        while at < stop:
            self.load(at, min(at + FRAME.size, stop))
            frame = self.frame(at)
            if frame is None or frame.end > stop or self.too_much(frame, at):
                next_at = self.find(at + 1, stop)
                cut = (frame is not None and frame.end > stop) or stop - at < FRAME.size
            else:
                right = self.compared(frame)
                next_at = None if right or self.right_at(frame.end) else self.find(at + 1, frame.end)
                if next_at is None:
                    yield Batch(self.source, at, frame.end - at, frame.layout, right)
                    at = frame.end
                    continue
                cut = False
            end = stop if next_at is None else next_at
            zeros = end - at >= FRAME.size and self.zeros(at, end) == end
            code = CORRUPT
            if zeros and next_at is None:
                code = PADDING
            elif cut and next_at is None:
                code = TRUNCATED
            yield Gap(at, end - at, code, self.cut(frame, end) if frame and code == TRUNCATED else None)
            at = end

    def cut(self, frame: Frame, end: int) -> CutBatch | None:
        """Return the readable part of a batch whose bytes end at `end`, or None if its header is implausible."""
        return cut_batch(self.source, frame.start, end, frame.layout)

    def load(self, start: int, stop: int) -> None:
        """Make the bytes [start, stop) valid in the view."""
        if not self.first <= start <= stop <= self.last:
            self.view, self.first, self.last = self.source.window(start, stop)

    def bytes(self, start: int, stop: int) -> memoryview:
        """Return the bytes in [start, stop), from the view if it contains them. The window does not move."""
        if self.first <= start <= stop <= self.last:
            return self.view[start:stop]
        return self.source.read(start, stop)

    def moved_on(self, at: int) -> bool:
        """Load the batch that begins at `at`. Return whether its end was outside of the window."""
        last = self.last
        if last >= self.stop:
            return False
        self.load(at, min(at + FRAME.size, self.stop))
        frame = self.frame(at)
        if frame is not None and frame.end <= min(self.stop, at + _LONGEST):
            self.load(at, frame.end)
        return self.last > last

    def frame(self, at: int) -> Frame | None:
        """Return the frame of the batch that may begin here, or None if no batch can begin here.

        The frame may end beyond the bytes.
        """
        if at + FRAME.size > self.stop:
            return None
        _, size, magic = FRAME.unpack(self.bytes(at, at + FRAME.size), 0)
        layout = self.layouts.get(magic)
        return Frame(at, at + OVERHEAD + size, layout) if layout and size >= layout.least else None

    def too_much(self, frame: Frame, passed: int) -> bool:
        """Return whether hashing this frame too would cost more than the bytes passed so far justify."""
        honest = 2 * (passed - self.start)
        return self.hashed > honest and self.hashed + frame.end - frame.start > _FREE + 2 * honest

    def right(self, frame: Frame, passed: int) -> bool:
        """Return whether the checksum of a frame is valid. Return False if too much was hashed already."""
        if self.known[0] != frame.start and self.too_much(frame, passed):
            return False
        return self.compared(frame)

    def compared(self, frame: Frame) -> bool:
        """Return whether the checksum of a frame is valid, regardless of the cost of hashing."""
        if self.known[0] == frame.start:
            return self.known[1]
        layout = frame.layout
        self.hashed += frame.end - frame.start
        head = self.bytes(frame.start, frame.start + layout.crc_from)
        checksum = 0
        for at in range(frame.start + layout.crc_from, frame.end, BLOCK):
            checksum = layout.checksum(self.bytes(at, min(at + BLOCK, frame.end)), checksum)
        right: bool = checksum == layout.crc.unpack(head, 0)[0]
        self.known = frame.start, right
        return right

    def right_at(self, at: int) -> bool:
        """Return whether a batch with a valid checksum begins here."""
        frame = self.frame(at)
        return frame is not None and frame.end <= self.stop and self.right(frame, at)

    def find(self, at: int, until: int) -> int | None:
        """Return where the first batch with a valid checksum in [at, until) begins, or None."""
        # A batch may begin with an offset of 0, but not with a size of 0.
        at = max(at, self.zeros(at, until) - (OVERHEAD - 1))
        largest = (self.stop - at) >> 24
        pattern = _beginnings(min(max(largest, 0), 127), frozenset(self.layouts))
        end = min(self.stop, until - 1 + FRAME.size)
        while end - at >= FRAME.size:
            block_end = min(at + BLOCK, end)
            self.load(at, block_end)
            for match in pattern.finditer(self.view, at, block_end):
                begin = match.start()
                frame = self.frame(begin)
                if frame and frame.end <= self.stop and self.right(frame, begin):
                    return begin
            at = block_end - FRAME.size + 1
        return None

    def zeros(self, at: int, end: int) -> int:
        """Return where the run of zeros that begins at `at` ends."""
        while at < end:
            block = self.bytes(at, min(at + _BLOCK, end))
            if block != _NO_BYTES[: len(block)]:
                return at + len(block) - len(bytes(block).lstrip(b"\0"))
            at += len(block)
        return end


@cache
def _beginnings(largest: int, magics: frozenset[int]) -> re.Pattern[bytes]:
    """Return the pattern of the bytes where a batch may begin.

    The size of the batch has at most `largest` as its highest byte and is not 0. The magic byte is one of `magics`.
    """
    size = MAGIC_AT - SIZE_AT
    offset = rb"[\x00-\x7f].{%d}" % (SIZE_AT - 1)
    magic = rb"[%b]" % b"".join(rb"\x%02x" % byte for byte in sorted(magics))
    return re.compile(rb"(?s:(?=%b(?!\x00{4})[\x00-\x%02x].{%d}%b))" % (offset, largest, size - 1, magic))


# Record sets in files and in memory, opened for reading. Files are read in blocks.


def source_of(
    data: Any,
    *,
    form: str = AUTO,
    topic: str | None = None,
    catalog: Catalog | None = None,
    limits: Limits | None = None,
) -> Source:
    """Open a record set: bytes-like, or the path of a file.

    Raise InputError for an unknown format or unreadable data.
    """
    layouts = layouts_of(form)
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        data = FileBytes(data)
    content = data if isinstance(data, FileBytes) else _view(data)
    return Source(content, layouts, catalog, topic, limits or Limits())


def _view(data: Any) -> memoryview:
    try:
        return memoryview(data).cast("B")
    except TypeError as error:
        raise InputError(
            f"records are read from a path, or from bytes, bytearray or a contiguous memoryview: {error}"
        ) from None


def items(source: Source) -> Iterator[Batch | Gap]:
    """Return all batches and gaps of a source."""
    return read_items(source)


# The topic of a record set: as specified, from its folder, or recognised from the records of the metadata log, which
# contain secrets.

MAX_BATCHES = 8
"""Maximum number of batches to examine for the topic."""
MOST_RECORDS = 8
"""Maximum number of records to examine in a batch."""


def recognised_source(
    data: Any,
    *,
    given: str | None = None,
    folder: str | None = None,
    form: str = AUTO,
    catalog: Catalog | None = None,
    limits: Limits | None = None,
    start: int = 0,
) -> Source:
    """Return a record set with its topic: `given`, else recognised from its records from `start` on, else the topic of
    its `folder`.
    """
    source = source_of(data, form=form, topic=given or folder, catalog=catalog, limits=limits)
    if given or source.topic in OWN_TOPICS:
        return source
    return replace(source, topic=CLUSTER_METADATA) if is_metadata_log(source, start) else source


def is_metadata_log(source: Source, start: int = 0) -> bool:
    """Return whether the first records have types that only `__cluster_metadata` contains.

    These are framed metadata records, decoded in full, or the records that KRaft writes into its log. Metadata after
    the records of KRaft need not be decoded, since a newer release has other types. Metadata records have no key.
    """
    by_kraft = False
    catalog = source.catalog or bundled()
    for item in islice(read_items(source, start), MAX_BATCHES):
        if not isinstance(item, Batch) or not item.crc_valid:
            continue
        records = [*islice(item.records(), MOST_RECORDS)]
        if item.head.control:
            by_kraft = by_kraft or any(
                decode_control(catalog, record.key, record.value).number in MESSAGES for record in records
            )
            if not by_kraft:
                return False
        elif records:
            return all(record.key is None if by_kraft else _is_metadata(catalog, record) for record in records)
    return by_kraft


def _is_metadata(catalog: Catalog, record: Record) -> bool:
    if record.key is not None or not record.value:
        return False
    payload = decode_record(catalog, CLUSTER_METADATA, None, record.value)
    return bool(
        payload and payload.value and payload.value.body and payload.value.body.complete and not payload.anomalies
    )


# Recognising record batches by their first bytes: by a valid checksum, or, if a batch is cut or damaged, by a plausible
# header.

_MAX_CUT_KEY = 1 << 7
"""Maximum bytes of a truncated key. With a larger length, the bytes are probably not a batch."""


_LENGTH = v0.NULLABLE_BYTES.prefix
"""The length before the key and the value of a message of format v0 or v1."""


class Beginning(NamedTuple):
    """The batch at the start of some bytes. `valid` is set if its checksum is correct, `whole` if none of its bytes are
    missing.

    It is `sure` unless it is a message of format v0 that ends before its lengths, which could be compared with its
    size.
    """

    layout: Layout
    size: int
    whole: bool
    valid: bool
    sure: bool

    @property
    def why(self) -> str:
        """The reason why the bytes are recognised as a batch, as text for users."""
        what = f"a record batch of format {self.layout.name} begins here"
        if self.valid:
            return f"{what}, and its checksum is valid"
        return (
            f"{what} by its header, but "
            f"{'its checksum is wrong' if self.whole else f'it ends before its {self.size} bytes do'}"
        )


def beginning(data: Any) -> Beginning | None:
    """Return the batch at the start of the bytes, complete or cut, or None if there is no batch. Drafts are not tried.

    Of formats v0 and v1, the header has to be whole. Of a header of format v2, the bytes up to the magic byte suffice.
    """
    reader = Reader(source_of(data))
    frame = reader.frame(0)
    if frame is None or (frame.layout.is_message and reader.stop < frame.layout.head.size):
        return None
    whole = frame.end <= reader.stop
    valid = whole and reader.right(frame, 0)
    if valid:
        return Beginning(frame.layout, frame.end, whole, valid, sure=True)
    if not whole and frame.end > MOST_CUT:
        return None
    fits = _fits(frame, reader)
    return None if fits is False else Beginning(frame.layout, frame.end, whole, valid, sure=fits is True)


def _fits(frame: Frame, reader: Reader) -> bool | None:
    """Return whether the header of a batch has only values that brokers and clients write.

    Return None if the header is too incomplete to rule out a coincidence.
    """
    layout = frame.layout
    view = reader.view
    said = CutBatch(reader.source, 0, len(view), layout, crc_valid=None).fields()  # type: ignore[arg-type]
    attributes = said.get("attributes", 0)
    codecs = LEGACY_COMPRESSION if layout.is_message else COMPRESSION
    if attributes & ~layout.known_bits or codecs.read(attributes) not in codecs.names or not is_header(said):
        return False
    if layout.is_message:
        return _lengths_fit(frame, view)
    return True


def _lengths_fit(frame: Frame, view: memoryview) -> bool | None:
    """Return whether the lengths of key and value add up to the size of a message.

    Return None if the message is of format v0 and its lengths are incomplete.
    """
    at = frame.start + frame.layout.head.size
    for last in (False, True):
        if at + _LENGTH.length > len(view):
            return True if "timestamp" in frame.layout.head.names else None
        length = int.from_bytes(view[at : at + _LENGTH.length], signed=True)
        if not last and length > max(_MAX_CUT_KEY, len(view) - at):
            return False
        at += _LENGTH.length + max(length, 0)
        if length < -1 or (at != frame.end if last else at + _LENGTH.length > frame.end):
            return False
    return True
