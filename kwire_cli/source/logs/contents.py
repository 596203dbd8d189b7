"""Readers of the checkpoints of a log directory, and `read_log_file` for any of its files without record batches.

Checkpoints are text: a version, a number of rows, and the rows. The readers accept damaged files: deviations become
anomalies and gaps, so that the readable part can be examined. Properties and JSON, such as meta.properties, are not
read: any editor shows them.

The formats are defined by org.apache.kafka.server.common.CheckpointFile, LeaderEpochCheckpointFile,
OffsetCheckpointFile and LogCleanerManager.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.codes import Anomaly
from kwire_cli.errors import InputError, counted
from kwire_cli.source.logs.indexes import offset_index, producer_snapshot, time_index, transaction_index
from kwire_cli.source.logs.model import (
    BATCH_KINDS,
    ENTRIES,
    GAP,
    HEAD,
    OFFSET_CHECKPOINTS,
    Contents,
    FileName,
    Kind,
    Piece,
    file_name,
    joined,
)
from kwire_cli.stores.paths import path_of
from kwire_cli.structs.logs import CHECKPOINT_VERSION, LEADER_EPOCH_ROW, OFFSET_ROW
from kwire_cli.structs.numbers import RANGES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable


_NUMBER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


class LeaderEpoch(NamedTuple):
    """A leader epoch and the first offset that its leader wrote."""

    at: int
    epoch: int
    start_offset: int


class PartitionOffset(NamedTuple):
    """An offset of a partition. The kind of the file decides whether it is its high watermark, recovery point, log
    start or first uncleaned offset.
    """

    at: int
    topic: str
    partition: int
    offset: int


class Line(NamedTuple):
    """A line of a file: its position, its size including the line end, and its text without it."""

    at: int
    size: int
    text: str


def lines(data: bytes) -> list[Line]:
    """Return the lines as Java's BufferedReader splits them. Invalid UTF-8 becomes U+FFFD, as in Java."""
    out = []
    at = 0
    for raw in data.splitlines(keepends=True):
        out.append(Line(at, len(raw), raw.decode("utf-8", "replace").rstrip("\r\n")))
        at += len(raw)
    return out


def leader_epochs(data: bytes) -> Contents[LeaderEpoch]:
    """Return the rows of a `leader-epoch-checkpoint`. Never raises."""
    reading = _Rows(data, LEADER_EPOCH_ROW)
    entries = [LeaderEpoch(at, *values) for at, values in reading.rows]
    for i, (before, entry) in enumerate(pairwise(entries), 1):
        if entry.epoch <= before.epoch or entry.start_offset < before.start_offset:
            order = (
                f"epoch {entry.epoch} from {entry.start_offset} after epoch {before.epoch} from {before.start_offset}"
            )
            reading.notes.append(Anomaly("ENTRY_ORDER", f"[{i}]", entry.at, order))
    return Contents(
        Kind.LEADER_EPOCHS, len(data), tuple(entries), joined(reading.pieces), tuple(reading.notes), reading.head
    )


def offset_checkpoint(data: bytes, kind: Kind = Kind.REPLICATION_OFFSETS) -> Contents[PartitionOffset]:
    """Return the rows of a checkpoint of offsets by partition. `kind` is one of OFFSET_CHECKPOINTS. Never raises."""
    reading = _Rows(data, OFFSET_ROW)
    entries = [PartitionOffset(at, *values) for at, values in reading.rows]
    partitions: set[tuple[str, int]] = set()
    for i, entry in enumerate(entries):
        if (entry.topic, entry.partition) in partitions:
            reading.notes.append(
                Anomaly("ENTRY_DUPLICATE", f"[{i}]", entry.at, f"{entry.topic}-{entry.partition} occurred before")
            )
        partitions.add((entry.topic, entry.partition))
    return Contents(kind, len(data), tuple(entries), joined(reading.pieces), tuple(reading.notes), reading.head)


class _Rows:
    """The rows of a checkpoint with positions and values, its pieces and anomalies, and its head: version and count.

    A value of the head is None if it is not a number.
    """

    def __init__(self, data: bytes, columns: dict[str, str]) -> None:
        self.columns = columns
        self.rows: list[tuple[int, list[Any]]] = []
        self.pieces: list[Piece] = []
        self.notes: list[Anomaly] = []
        self.head: dict[str, int | None] = {"version": None, "count": None}
        self._lines = lines(data)
        if not data:
            return  # CheckpointFile creates an empty file first, and reads no rows from it
        self._head("version")
        self._head("count")
        for number, line in enumerate(self._lines[2:], 3):
            self._row(number, line)
        version = self.head["version"]
        count = self.head["count"]
        if version not in {None, CHECKPOINT_VERSION}:
            self.notes.append(
                Anomaly("UNKNOWN_VERSION", "version", 0, f"version {version}; Kafka reads {CHECKPOINT_VERSION} only")
            )
        if count is not None and count != len(self.rows):
            self.notes.append(
                Anomaly(
                    "ROW_COUNT_MISMATCH",
                    "count",
                    self._lines[1].at,
                    f"the file says that {counted(count, 'row')} follow, and has {len(self.rows)}",
                )
            )

    def _head(self, name: str) -> None:
        number = list(self.head).index(name)
        if number >= len(self._lines):
            end = self._lines[-1].at + self._lines[-1].size
            self.notes.append(Anomaly("TRUNCATED", name, end, f"the file ends before its {name}"))
            return
        line = self._lines[number]
        self.head[name] = _number(line.text.strip(), "int32")
        if self.head[name] is None:
            self._add_gap(number + 1, line, f"the {name} is not a number")
        else:
            self.pieces.append(Piece(HEAD, line.at, line.size))

    def _row(self, number: int, line: Line) -> None:
        words = line.text.split()
        if len(words) != len(self.columns):
            self._add_gap(number, line, f"{counted(len(words), 'word')} where {' '.join(self.columns)} should stand")
            return
        values = [
            _number(word, kind) if kind in RANGES else word
            for word, kind in zip(words, self.columns.values(), strict=True)
        ]
        if None in values:
            name = list(self.columns)[values.index(None)]
            self._add_gap(number, line, f"the {name} is no {self.columns[name]}")
            return
        self.rows.append((line.at, values))
        self.pieces.append(Piece(ENTRIES, line.at, line.size))

    def _add_gap(self, number: int, line: Line, why: str) -> None:
        self.notes.append(Anomaly("INVALID_TEXT", f"line {number}", line.at, why))
        self.pieces.append(Piece(GAP, line.at, line.size, "INVALID_TEXT"))


def _number(word: str, kind: str) -> int | None:
    if not _NUMBER.fullmatch(word):
        return None
    low, high = RANGES[kind]
    value = int(word)
    return value if low <= value <= high else None


_WITH_OFFSET: dict[Kind, Callable[[bytes, int | None], Contents[Any]]] = {
    Kind.INDEX: offset_index,
    Kind.TIME_INDEX: time_index,
    Kind.TRANSACTION_INDEX: transaction_index,
    Kind.PRODUCER_SNAPSHOT: producer_snapshot,
}


TEXTS = frozenset({Kind.LEADER_EPOCHS, *OFFSET_CHECKPOINTS})
"""Kinds of checkpoints, which are text files."""
READABLE = frozenset({*_WITH_OFFSET, *TEXTS})
"""The kinds that `read_log_file` reads. LOG and CHECKPOINT contain record batches and have other readers."""


def read_log_file(path: str | os.PathLike[str]) -> Contents[Any]:
    """Return the contents of a file. Its kind and base offset are taken from its name.

    Raises InputError if the file cannot be read, or if its kind is not in READABLE.
    """
    file = path_of(path)
    name = file_name(file.name)
    if name.kind not in READABLE:
        segment = f"a segment has to be named as Kafka does, {0:020}.log"
        content = "record batches" if name.kind in BATCH_KINDS else f"no index, snapshot or checkpoint; {segment}"
        raise InputError(f"by its name it holds {content}", file=str(file))
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from None
    return read_contents(data, name)


def read_contents(data: bytes, name: FileName) -> Contents[Any]:
    """Return the contents of a file with this name. Never raises for any bytes.

    Raises:
        InputError: The kind of the name is not in READABLE.

    """
    if name.kind in _WITH_OFFSET:
        return _WITH_OFFSET[name.kind](data, name.base_offset)
    if name.kind is Kind.LEADER_EPOCHS:
        return leader_epochs(data)
    if name.kind in OFFSET_CHECKPOINTS:
        return offset_checkpoint(data, name.kind)
    raise InputError(f"a file of kind {name.kind} is not read here")
