"""Truncated batches, and gaps between batches.

A record set may end inside a batch, for example in a Fetch response, and a damaged log may contain bytes outside any
batch. The readable part of a truncated batch is decoded, because it is often the last write before a crash.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.engine.fixed import rows_of
from kwire_cli.records.batch import CORRUPT, TRUNCATED, Batch, Head
from kwire_cli.records.layouts import FRAME, OVERHEAD, leading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, MutableSequence

    from kwire_cli.records.batch import Hide, Record, Source
    from kwire_cli.records.layouts import Layout


# A batch whose end is missing: the bytes of its header, and its complete records.

_LATEST = 1 << 48
"""Milliseconds since 1970 (in the year 10889) that no timestamp of a real log reaches."""


_MAX_OFFSET = 1 << 48
"""An offset that no partition reaches: a million records each second for nine years."""
MOST_CUT = 100 * 1024 * 1024
"""Maximum size of a truncated batch: the default limit of a broker for requests (socket.request.max.bytes). A larger
size field is treated as corrupt."""
_MAX_EPOCH = 1 << 20
"""Maximum leader epoch. No partition has had as many elections."""


class CutBatch(Batch):
    """The first `size` bytes of a batch of `whole_size` bytes. Its checksum cannot be computed, so `crc_valid` is
    None.
    """

    __slots__ = ()
    crc_valid: bool | None  # type: ignore[assignment]
    is_cut = True

    @property
    def whole_size(self) -> int:
        """The bytes that it should have."""
        return OVERHEAD + int(FRAME.unpack(self.source.read(self.position, self.position + FRAME.size), 0)[1])

    @property
    def has_head(self) -> bool:
        """Return whether the header is complete."""
        return self.size >= self.layout.head.size

    @property
    def head(self) -> Head:
        """The numbers of its header; those after the end of the bytes are 0."""
        if self._head is None:
            if self.has_head:
                super().head  # noqa: B018 - it keeps what it finds
            else:
                data = self._padded_head()
                padded = Batch(replace(self.source, content=memoryview(data)), 0, len(data), self.layout, True)  # noqa: FBT003
                self._head = padded.head
            self._notes[:] = _adapt_to_cut(self._notes)
            detail = f"{self.size} of {self.whole_size} bytes are there; the records end with them"
            self._notes.insert(0, Anomaly(TRUNCATED, "", self.position, detail))
        assert self._head is not None  # noqa: S101 - for the type checker
        return self._head

    def pieces(self, notes: MutableSequence[Anomaly] | None = None) -> Iterator[list[Record]]:
        """Yield its complete records. There are no records if the bytes end in its header."""
        anomalies: list[Anomaly] = []
        try:
            if self.has_head:
                yield from super().pieces(anomalies)
        finally:
            if notes is not None:
                notes += _adapt_to_cut(anomalies)

    def fields(self) -> dict[str, int]:
        """Return the complete fields of its header, by their names in the declaration."""
        rows = [*rows_of(leading(self.layout.decl))]
        ends = accumulate(row.size for row in rows)
        numbers = self.layout.numbers(self._padded_head(), 0)
        return {row.name: numbers[row.name] for row, end in zip(rows, ends, strict=True) if end <= self.size}

    def _padded_head(self) -> bytes:
        size = self.layout.head.size
        return bytes(self.source.read(self.position, min(self.end, self.position + size))).ljust(size, b"\0")

    def to_json(self, *, deep: bool = True, hide: Hide | None = None) -> dict[str, Any]:
        """Return the batch in the form of a complete one, with its full `size`; if its header is cut, only its
        fields.
        """
        if self.has_head:
            return super().to_json(deep=deep, hide=hide) | {"size": self.whole_size}
        _ = self.head
        out: dict[str, Any] = {"position": self.position, "size": self.whole_size, "header": self.fields()}
        if deep:
            out["records"] = []
        return out | {"anomalies": [note._asdict() for note in self.notes]}


def _adapt_to_cut(notes: Iterable[Anomaly]) -> list[Anomaly]:
    """Return the anomalies of a truncated batch. Its count always exceeds its records, and compressed data always ends
    early, so neither is an anomaly in addition to the truncation.
    """
    return [
        note._replace(code=TRUNCATED) if note.code == "DECOMPRESSION_FAILED" else note
        for note in notes
        if note.code != "COUNT_MISMATCH"
    ]


def cut_batch(source: Source, position: int, stop: int, layout: Layout) -> CutBatch | None:
    """Return the batch that begins here and ends beyond `stop`, or None if its header is implausible."""
    batch = CutBatch(source, position, stop - position, layout, crc_valid=None)  # type: ignore[arg-type]
    said = batch.fields()
    # Only the header indicates that it is a batch, and its bytes may belong to a secret.
    likely = batch.whole_size <= MOST_CUT and said.get("recordsCount", 0) >= 0 and is_header(said)
    return batch if likely and not said.get("attributes", 0) & ~layout.known_bits else None


def is_header(said: Mapping[str, int]) -> bool:
    """Return whether the available fields of a header hold values that can occur in a log."""
    deltas = said.get("lastOffsetDelta", 0)
    absent = all(said.get(name, -1) >= -1 for name in ("producerId", "producerEpoch", "baseSequence", "recordsCount"))
    times = all(-1 <= said.get(name, -1) < _LATEST for name in ("timestamp", "baseTimestamp", "maxTimestamp"))
    offsets = 0 <= said.get("offset", said.get("baseOffset", 0)) < _MAX_OFFSET
    epoch = -1 <= said.get("partitionLeaderEpoch", -1) < _MAX_EPOCH
    return offsets and epoch and deltas >= 0 and absent and times and said.get("recordsCount", -1) <= deltas + 1


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of the input outside any batch. `code` is TRUNCATED for a batch that is cut, PADDING for zeros up to the
    end, else CORRUPT.

    `batch` is the readable part of a truncated batch, or None.
    """

    position: int
    size: int
    code: str
    batch: CutBatch | None = field(default=None, compare=False, repr=False)

    @property
    def end(self) -> int:
        """The position just after the last byte."""
        return self.position + self.size

    def as_anomaly(self) -> Anomaly:
        """Return the gap as an anomaly; zeros are bytes without a batch, as a records field of a message has none."""
        code = self.code if self.code in MEANING else CORRUPT
        return Anomaly(code, "", self.position, f"{self.size} bytes: {MEANING[code]}")

    def to_json(self, *, deep: bool = True, hide: Hide | None = None) -> dict[str, Any]:
        """Return `{"position","size","gap"}`, with `"batch"` for a truncated batch."""
        document = {"position": self.position, "size": self.size, "gap": self.code}
        return document | {"batch": self.batch.to_json(deep=deep, hide=hide)} if self.batch else document
