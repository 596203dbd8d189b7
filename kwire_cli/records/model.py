"""What a record set consists of: records, and the bytes that are no batch; what reading it needs to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kwire_cli.codec.model import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.engine.tree import Tree
    from kwire_cli.payload.records import RecordPayload
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.cut import CutBatch
    from kwire_cli.records.layouts import Layout
    from kwire_cli.spec.catalog import Catalog

TRUNCATED, CORRUPT, PADDING = "TRUNCATED", "CORRUPT", "PADDING"


class Hide(Protocol):
    """The secrets in records (`message.redaction.RecordRedaction`)."""

    def __call__(self, payload: RecordPayload) -> Mapping[str, frozenset[int]]:
        """Return the numbers of the spans to redact in the "key" and the "value" of a payload."""

    def record(self, batch: Batch, payload: RecordPayload | None) -> Mapping[str, frozenset[int]]:
        """Return the same for a record of a batch; "headers" is among the names where its headers are secret too."""

    def gap(self, topic: str | None) -> bool:
        """Return whether bytes of a topic that cannot be read may be a secret."""

    def batch(self, batch: Batch) -> bool:
        """Return whether a record of a batch holds a secret."""

    def spans(self, tree: Tree) -> frozenset[int]:
        """Return the spans of a batch with secrets that are hidden."""


class Record(NamedTuple):
    """One record. Absent numbers are -1; `headers` are pairs of a name (a number in the KIP-82 draft) and bytes or None.

    `key_at` and `value_at` are where these bytes begin in the area that the record was read from (`Area`), -1 where that is not known.
    """

    offset: int
    timestamp: int
    sequence: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str | int, bytes | None], ...]
    key_at: int = -1
    value_at: int = -1
    control: int | None = None
    """The number of a control message, where it is not the batch that says so (KIP-98 draft)."""


class Area(NamedTuple):
    """The bytes that hold records: a copy of those of a batch, or what they decompress to.

    `origin` is where they stand in the input; of decompressed ones it is where the compressed bytes begin, and places in them count for themselves.
    """

    data: bytes
    origin: int
    compressed: bool

    def place(self, at: int) -> tuple[int, str]:
        """The offset of an anomaly at `at` of these bytes, and what has to be said about it."""
        return (self.origin, f" (byte {at} of the decompressed records)") if self.compressed else (self.origin + at, "")


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of the input that are no batch. `code` is TRUNCATED for a batch that is cut, PADDING for zeros up to the end, else CORRUPT.

    `batch` is what can be read of a cut one; None where these bytes are no beginning of a batch.
    """

    position: int
    size: int
    code: str
    batch: CutBatch | None = field(default=None, compare=False, repr=False)

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.position + self.size

    def to_json(self, *, deep: bool = True, hide: Hide | None = None) -> dict[str, Any]:
        """`{"position","size","gap"}`, with `"batch"` where a batch was cut."""
        shown = {"position": self.position, "size": self.size, "gap": self.code}
        return shown | {"batch": self.batch.to_json(deep=deep, hide=hide)} if self.batch else shown


@dataclass(frozen=True, slots=True)
class Source:
    """A record set and how it is read: the bytes, the layouts by magic byte, what payloads are decoded with and how much may be decompressed."""

    data: memoryview
    layouts: Mapping[int, Layout]
    catalog: Catalog | None = None
    topic: str | None = None
    limits: Limits = field(default_factory=Limits)
    hide: Hide | None = None
    """What of its records `to_json` of batches leaves out unless it is told."""
