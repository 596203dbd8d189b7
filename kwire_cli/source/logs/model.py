"""Files of a log directory: the parts of their names, and the contents of the files.

Names have the forms of org.apache.kafka.storage.internals.log.LogFileUtils, UnifiedLog and LocalLog (folders), and of
org.apache.kafka.snapshot.Snapshots. A reader of a file returns `Contents`: entries with positions, anomalies, and
pieces that cover each byte, so that every byte of a file is accounted for.
"""

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


class Kind(enum.StrEnum):
    """Kinds of files. LOG and CHECKPOINT (a KRaft snapshot) contain record batches."""

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
"""Kinds of files whose names contain an offset, in the order of listings."""

_BY_NAME = {kind.value: kind for kind in Kind if kind not in SEGMENT_KINDS and kind is not Kind.OTHER}
_SURE = frozenset(_BY_NAME.values())
_STATES = "deleted|swap|cleaned|tmp|part"
# A prefix before the offset was added by a user who copied the file. Files of the remote index cache have an id after
# the offset, and incomplete snapshots of KRaft a number.
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
"""Matches the id of folders to be deleted or moved to another log directory: a random UUID without dashes."""

_LAST_OFFSET = (1 << 63) - 1
_LAST_PARTITION = (1 << 31) - 1


class FileName(NamedTuple):
    """The parts of a file's name.

    Attributes:
        base_offset: The first offset of the segment, or the offset after the last one that a snapshot covers. None if
            the name has no offset.
        epoch: The epoch of a KRaft snapshot.
        suffix: `deleted`, `swap`, `cleaned`, `tmp` or `part`, or several of these with dots between. It is empty for a
            file in use.

    """

    kind: Kind
    base_offset: int | None = None
    epoch: int | None = None
    suffix: str = ""

    @property
    def is_sure(self) -> bool:
        """Return whether only Kafka uses such names, so that the contents of the file need not be examined."""
        return self.base_offset is not None or self.kind in _SURE


class FolderName(NamedTuple):
    """The partition in the name of a folder. `state` is `delete`, `future` or `stray`, and empty for a folder in use.
    `id` precedes a state.
    """

    topic: str
    partition: int
    state: str = ""
    id: str = ""


@lru_cache(maxsize=1 << 10)
def file_name(name: str) -> FileName:
    """Return the parts of a file's name (without folders). The kind of an unknown name is Kind.OTHER."""
    if match := _SEGMENT.fullmatch(name):
        base = int(match["base"])
        epoch = match["epoch"]
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
    """Return the partition in a folder's name (without parents), or None if it is not the name of a partition."""
    match = _FOLDER.fullmatch(name)
    if not match or int(match["partition"]) > _LAST_PARTITION:
        return None
    return FolderName(match["topic"], int(match["partition"]), match["state"] or "", match["id"] or "")


def other_file_name(name: str, other: Callable[[str], str]) -> str:
    """Return a file name in which `other` replaces all parts that Kafka does not define."""
    if match := _SEGMENT.fullmatch(name):
        before = name[: match.start("base")]
        start = match.start("base")
        if match["id"]:
            name = name.replace(match["id"], other(match["id"]))
        return (f"{other(before[:-1])}-" if before else "") + name[start:]
    if file_name(name).kind is Kind.OTHER:
        return other(name)
    match = _WITHOUT_OFFSET.fullmatch(name)
    if match is None:
        return name
    suffix_start = match.start("kind") - 1
    return other(name[:suffix_start]) + name[suffix_start:]


def other_folder_name(name: str, other: Callable[[str], str]) -> str:
    """Return a folder name in which `other` replaces the topic, or everything if it is not the name of a partition."""
    folder = folder_name(name)
    if folder is None:
        return other(name)
    partition = name[len(folder.topic) :].partition(".")[0]
    folder_id = folder.id if _FOLDER_ID.fullmatch(folder.id) else other(folder.id)
    return other(folder.topic) + partition + (f".{folder_id}-{folder.state}" if folder.state else "")


HEAD = "head"
ENTRIES = "entries"
PADDING = "padding"
GAP = "gap"
"""Kinds of pieces: bytes before the entries, entries, zeros of a preallocated file, and bytes without meaning."""


class Entry(Protocol):
    """An entry of a file: a named tuple. `at` is its position in bytes."""

    @property
    def at(self) -> int:
        """The position in the file."""

    def _asdict(self) -> dict[str, Any]: ...


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return an entry with the field names of Kafka, after `at`."""
    return {_json_name(name): value for name, value in entry._asdict().items()}


@lru_cache(maxsize=1 << 6)
def _json_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


E_co = TypeVar("E_co", bound=Entry, covariant=True)


class Piece(NamedTuple):
    """`size` bytes from `position` on. The code of a gap is the code of its anomaly."""

    kind: str
    position: int
    size: int
    code: str = ""


class Table(Sequence[E_co]):
    """Entries of a fixed size, decoded lazily: an index of a broker can have more than a million entries."""

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
        """Return only the fields of the entries, as in the file."""
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
        kind: The kind of the file.
        size: The size in bytes.
        entries: The entries in file order.
        pieces: The meaning of each byte. Pieces are in order and cover the file without overlaps.
        anomalies: Deviations from the output of a correct writer. Offsets are positions in the file.
        head: The fields before the entries (versions, CRCs, counts), with the names of Kafka.

    """

    kind: Kind
    size: int
    entries: Sequence[E_co]
    pieces: tuple[Piece, ...]
    anomalies: tuple[Anomaly, ...] = ()
    head: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the entries as JSON in file order, with padding and gaps as `{"position","size","gap"}`."""
        rest = [piece for piece in self.pieces if piece.kind in {PADDING, GAP}]
        for entry in self.entries:
            while rest and rest[0].position < entry.at:
                yield _gap(rest.pop(0))
            yield entry_json(entry)
        yield from (_gap(piece) for piece in rest)

    def to_json(self) -> dict[str, Any]:
        """Return `{"type","size", the fields of the head, "entries","gaps","anomalies"}`."""
        return {
            "type": self.kind.value,
            "size": self.size,
            **self.head,
            "entries": [entry_json(entry) for entry in self.entries],
            "gaps": [_gap(piece) for piece in self.pieces if piece.kind in {PADDING, GAP}],
            "anomalies": [anomaly._asdict() for anomaly in self.anomalies],
        }


def _gap(piece: Piece) -> dict[str, Any]:
    return {"position": piece.position, "size": piece.size, "gap": piece.code or piece.kind.upper()}


def joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Return pieces with neighbours of one kind and code joined, without empty pieces."""
    out: list[Piece] = []
    for piece in pieces:
        if not piece.size:
            continue
        if out and (out[-1].kind, out[-1].code) == (piece.kind, piece.code):
            out[-1] = out[-1]._replace(size=out[-1].size + piece.size)
        else:
            out.append(piece)
    return tuple(out)
