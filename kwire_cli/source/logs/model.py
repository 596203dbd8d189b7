"""Files of a log directory by their names, and their model."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.fixed import Fixed


# What a file or a folder of a log directory is, by its name.
#
# Sources are org.apache.kafka.storage.internals.log.LogFileUtils, UnifiedLog and LocalLog (names of folders),
# org.apache.kafka.snapshot.Snapshots.


class Kind(enum.StrEnum):
    """Kinds of files. LOG and CHECKPOINT (a KRaft snapshot) hold record batches."""

    LOG = "log"
    INDEX = "index"
    TIME_INDEX = "timeindex"
    TRANSACTION_INDEX = "txnindex"
    PRODUCER_SNAPSHOT = "snapshot"
    CHECKPOINT = "checkpoint"
    LEADER_EPOCHS = "leader-epoch-checkpoint"
    REPLICATION_OFFSETS = "replication-offset-checkpoint"
    RECOVERY_POINTS = "recovery-point-offset-checkpoint"
    LOG_START_OFFSETS = "log-start-offset-checkpoint"
    CLEANER_OFFSETS = "cleaner-offset-checkpoint"
    QUORUM_STATE = "quorum-state"
    PARTITION_METADATA = "partition.metadata"
    META_PROPERTIES = "meta.properties"
    CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
    LOCK = ".lock"
    OTHER = "other"


BATCH_KINDS = frozenset({Kind.LOG, Kind.CHECKPOINT})
OFFSET_CHECKPOINTS = frozenset(
    {Kind.REPLICATION_OFFSETS, Kind.RECOVERY_POINTS, Kind.LOG_START_OFFSETS, Kind.CLEANER_OFFSETS}
)
SEGMENT_KINDS = (Kind.LOG, Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX, Kind.PRODUCER_SNAPSHOT, Kind.CHECKPOINT)
"""Kinds of files whose names have an offset, in the order in which they are listed."""

_BY_NAME = {kind.value: kind for kind in Kind if kind not in SEGMENT_KINDS and kind is not Kind.OTHER}
_SURE = frozenset(_BY_NAME.values())
_STATES = "deleted|swap|cleaned|tmp|part"
_UNFINISHED = frozenset({"cleaned", "tmp", "part"})
# What stands before the offset, if anything, is of somebody who copied the file. Files of the remote index cache have
# an id behind the offset, and unfinished snapshots of KRaft a number.
_SEGMENT = re.compile(
    rf"(?:.*\D)?(?P<base>[0-9]{{20}})(?:-(?P<epoch>[0-9]{{10}})(?:-[0-9]+)?|_(?P<id>[\w-]{{22}}))?"
    rf"\.(?P<kind>{'|'.join(SEGMENT_KINDS)})(?P<suffix>(?:\.(?:{_STATES}))*)",
    re.DOTALL,
)
_WITHOUT_OFFSET = re.compile(rf".+\.(?P<kind>{'|'.join(SEGMENT_KINDS)})(?P<suffix>(?:\.(?:{_STATES}))*)", re.DOTALL)
_SUFFIXED = re.compile(rf"(?P<name>.+?)(?P<suffix>(?:\.(?:{_STATES}))*)", re.DOTALL)
_FOLDER = re.compile(
    r"(?P<topic>[A-Za-z0-9._-]{1,249})-(?P<partition>[0-9]{1,10})(?:\.(?P<id>[A-Za-z0-9_-]+)-(?P<state>"
    r"delete|future|stray))?"
)

_FOLDER_ID = re.compile(r"[0-9a-f]{32}")
"""Of folders that are to be deleted, or are of another directory's: a random UUID without its dashes."""

_LAST_OFFSET = (1 << 63) - 1
_LAST_PARTITION = (1 << 31) - 1


class FileName(NamedTuple):
    """The meaning of a file's name.

    `base_offset` is the first offset of the segment. For a producer snapshot and a KRaft snapshot, it is the offset
    after the last one that the snapshot covers. It is None if the name has no offset. `epoch` is the epoch of a KRaft
    snapshot. `suffix` is `deleted`, `swap`, `cleaned`, `tmp` or `part`, or several of these with dots between. It is
    empty for a file in use.
    """

    kind: Kind
    base_offset: int | None = None
    epoch: int | None = None
    suffix: str = ""

    @property
    def is_sure(self) -> bool:
        """Return whether only Kafka gives files such names. What is in them tells no more."""
        return self.base_offset is not None or self.kind in _SURE

    @property
    def is_unfinished(self) -> bool:
        """Return whether the file is one in the making, which may end anywhere if its broker stops."""
        return not _UNFINISHED.isdisjoint(self.suffix.split("."))


class FolderName(NamedTuple):
    """The partition that a folder is of. `state` is `delete`, `future` or `stray`, empty for one in use; `id` then
    stands behind the dot.
    """

    topic: str
    partition: int
    state: str = ""
    id: str = ""


@lru_cache(maxsize=1 << 10)
def file_name(name: str) -> FileName:
    """Return the meaning of a file's name (without folders). The kind of a file not of Kafka is Kind.OTHER."""
    if match := _SEGMENT.fullmatch(name):
        base, epoch = int(match["base"]), match["epoch"]
        return FileName(
            Kind(match["kind"]),
            base if base <= _LAST_OFFSET else None,
            int(epoch) if epoch else None,
            match["suffix"].lstrip("."),
        )
    if (match := _SUFFIXED.fullmatch(name)) and match["name"] in _BY_NAME:
        return FileName(_BY_NAME[match["name"]], suffix=match["suffix"].lstrip("."))
    if match := _WITHOUT_OFFSET.fullmatch(name):
        return FileName(Kind(match["kind"]), suffix=match["suffix"].lstrip("."))
    return FileName(Kind.OTHER)


def folder_name(name: str) -> FolderName | None:
    """The partition of a folder with this name (without its parents); None where the name is not of a partition's
    folder.
    """
    match = _FOLDER.fullmatch(name)
    if not match or int(match["partition"]) > _LAST_PARTITION:
        return None
    return FolderName(match["topic"], int(match["partition"]), match["state"] or "", match["id"] or "")


def other_file_name(name: str, other: Callable[[str], str]) -> str:
    """The name of a file with `other` of all that is not what Kafka itself names files."""
    if match := _SEGMENT.fullmatch(name):
        before = name[: match.start("base")]
        start = match.start("base")
        if match["id"]:
            name = name.replace(match["id"], other(match["id"]))
        return (f"{other(before[:-1])}-" if before else "") + name[start:]
    if file_name(name).kind is Kind.OTHER:
        return other(name)
    match = _WITHOUT_OFFSET.fullmatch(name)
    return other(name[: match.start("kind") - 1]) + name[match.start("kind") - 1 :] if match else name


def other_folder_name(name: str, other: Callable[[str], str]) -> str:
    """The name of a folder with `other` of the topic, or of all of it where it is not of a partition's folder."""
    folder = folder_name(name)
    if folder is None:
        return other(name)
    partition = name[len(folder.topic) :].partition(".")[0]
    kept = folder.id if _FOLDER_ID.fullmatch(folder.id) else other(folder.id)
    return other(folder.topic) + partition + (f".{kept}-{folder.state}" if folder.state else "")


# What a reader makes of a file: entries with their positions, what is odd, and what each byte is for.

HEAD = "head"
ENTRIES = "entries"
COMMENT = "comment"
PADDING = "padding"
GAP = "gap"
"""Kinds of pieces: what stands before the entries, the entries, comments, zeros of a preallocated file, and what has no
meaning."""


class Entry(Protocol):
    """An entry of a file: `at` is its position in the file, in bytes."""

    @property
    def at(self) -> int:
        """The position in the file."""

    def to_json(self) -> dict[str, Any]:
        """The entry in Kafka's words, beginning with `at`."""


E_co = TypeVar("E_co", bound=Entry, covariant=True)


class Piece(NamedTuple):
    """`size` bytes from `position` on. A gap has the code of the anomaly that made it one."""

    kind: str
    position: int
    size: int
    code: str = ""


class Table(Sequence[E_co]):
    """Entries of a fixed size, read when they are asked for: an index of a broker has more than a million."""

    def __init__(
        self, data: memoryview, layout: Fixed, make: Callable[[int, tuple[Any, ...]], E_co], start: int = 0
    ) -> None:
        self._data = data
        self._layout = layout
        self._make = make
        self._start = start

    def __len__(self) -> int:
        return len(self._data) // self._layout.size

    @overload
    def __getitem__(self, index: int) -> E_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[E_co]: ...
    def __getitem__(self, index: int | slice) -> E_co | list[E_co]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index] * self._layout.size
        return self._make(self._start + at, self._layout.unpack(self._data, at))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The numbers of the entries alone, as they stand in the file."""
        return self._layout.iter_unpack(self._data)

    def __iter__(self) -> Iterator[E_co]:
        at = self._start
        size = self._layout.size
        make = self._make
        for row in self._layout.iter_unpack(self._data):
            yield make(at, row)
            at += size


@dataclass(frozen=True, eq=False)
class Contents(Generic[E_co]):
    """A file that was read.

    Attributes:
        kind: What the file is.
        size: Its bytes.
        entries: What it says, in its order.
        pieces: What its bytes are for; they cover the file once and in order.
        anomalies: What a correct writer would not have written; offsets are positions in the file.
        head: What stands before the entries: versions, CRCs, counts. In Kafka's words.

    """

    kind: Kind
    size: int
    entries: Sequence[E_co]
    pieces: tuple[Piece, ...]
    anomalies: tuple[Anomaly, ...] = ()
    head: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[dict[str, Any]]:
        """The entries in JSON form and, as `{"position","size","gap"}`, padding and gaps, in the order of the file."""
        rest = [piece for piece in self.pieces if piece.kind in {PADDING, GAP}]
        for entry in self.entries:
            while rest and rest[0].position < entry.at:
                yield _gap(rest.pop(0))
            yield entry.to_json()
        yield from (_gap(piece) for piece in rest)

    def to_json(self) -> dict[str, Any]:
        """`{"type","size", what the head says, "entries","gaps","anomalies"}`."""
        return {
            "type": self.kind.value,
            "size": self.size,
            **self.head,
            "entries": [entry.to_json() for entry in self.entries],
            "gaps": [_gap(piece) for piece in self.pieces if piece.kind in {PADDING, GAP}],
            "anomalies": [anomaly._asdict() for anomaly in self.anomalies],
        }


def _gap(piece: Piece) -> dict[str, Any]:
    return {"position": piece.position, "size": piece.size, "gap": piece.code or piece.kind.upper()}


def joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Neighbours of one kind and code as one piece, without those that have no bytes."""
    out: list[Piece] = []
    for piece in pieces:
        if not piece.size:
            continue
        if out and (out[-1].kind, out[-1].code) == (piece.kind, piece.code):
            out[-1] = out[-1]._replace(size=out[-1].size + piece.size)
        else:
            out.append(piece)
    return tuple(out)
