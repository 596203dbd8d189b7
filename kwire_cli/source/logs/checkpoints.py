"""Text checkpoints: a version, the number of rows, and the rows.

Sources: org.apache.kafka.server.common.CheckpointFile, LeaderEpochCheckpointFile, OffsetCheckpointFile; LogCleanerManager for the cleaner's.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, NamedTuple

from kwire_cli.engine.codes import Anomaly
from kwire_cli.source.logs.model import ENTRIES, GAP, HEAD, Contents, Piece, joined
from kwire_cli.source.logs.names import Kind
from kwire_cli.structs.logs import CHECKPOINT_VERSION, LEADER_EPOCH_ROW, OFFSET_ROW
from kwire_cli.structs.numbers import RANGES

_NUMBER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


class LeaderEpoch(NamedTuple):
    """The leader of `epoch` wrote from `start_offset` on."""

    at: int
    epoch: int
    start_offset: int

    def to_json(self) -> dict[str, Any]:
        """`{"at","epoch","startOffset"}`."""
        return {"at": self.at, "epoch": self.epoch, "startOffset": self.start_offset}


class PartitionOffset(NamedTuple):
    """An offset of a partition: its high watermark, recovery point, log start or first uncleaned offset, by the kind of file."""

    at: int
    topic: str
    partition: int
    offset: int

    def to_json(self) -> dict[str, Any]:
        """`{"at","topic","partition","offset"}`."""
        return {"at": self.at, "topic": self.topic, "partition": self.partition, "offset": self.offset}


class Line(NamedTuple):
    """A line of a file: where it is, with its line end, and its text without."""

    at: int
    size: int
    text: str


def lines(data: bytes) -> list[Line]:
    """The lines as Java's BufferedReader parts them; what is no UTF-8 reads U+FFFD, as there."""
    out, at = [], 0
    for raw in data.splitlines(keepends=True):
        out.append(Line(at, len(raw), raw.decode("utf-8", "replace").rstrip("\r\n")))
        at += len(raw)
    return out


def leader_epochs(data: bytes) -> Contents[LeaderEpoch]:
    """The rows of a `leader-epoch-checkpoint`. Never raises."""
    reading = _Rows(data, LEADER_EPOCH_ROW)
    entries = [LeaderEpoch(at, *values) for at, values in reading.rows]
    for i, (before, entry) in enumerate(pairwise(entries), 1):
        if entry.epoch <= before.epoch or entry.start_offset < before.start_offset:
            what = f"epoch {entry.epoch} from {entry.start_offset} after epoch {before.epoch} from {before.start_offset}"
            reading.notes.append(Anomaly("ENTRY_ORDER", f"[{i}]", entry.at, what))
    return Contents(Kind.LEADER_EPOCHS, len(data), tuple(entries), joined(reading.pieces), tuple(reading.notes), reading.head)


def offset_checkpoint(data: bytes, kind: Kind = Kind.REPLICATION_OFFSETS) -> Contents[PartitionOffset]:
    """The rows of a checkpoint of offsets by partition; `kind` is one of OFFSET_CHECKPOINTS. Never raises."""
    reading = _Rows(data, OFFSET_ROW)
    entries = [PartitionOffset(at, *values) for at, values in reading.rows]
    seen: set[tuple[str, int]] = set()
    for i, entry in enumerate(entries):
        if (entry.topic, entry.partition) in seen:
            reading.notes.append(Anomaly("ENTRY_DUPLICATE", f"[{i}]", entry.at, f"{entry.topic}-{entry.partition} occurred before"))
        seen.add((entry.topic, entry.partition))
    return Contents(kind, len(data), tuple(entries), joined(reading.pieces), tuple(reading.notes), reading.head)


class _Rows:
    """`rows` with their positions and values, `pieces`, `notes`, and the `head`: version and count, None where they are no numbers."""

    def __init__(self, data: bytes, columns: dict[str, str]) -> None:
        self.columns = columns
        self.rows: list[tuple[int, list[Any]]] = []
        self.pieces: list[Piece] = []
        self.notes: list[Anomaly] = []
        self.head: dict[str, int | None] = {"version": None, "count": None}
        self._found = lines(data)
        if not data:
            return  # CheckpointFile makes an empty file first, and reads no rows from it
        self._head("version")
        self._head("count")
        for number, line in enumerate(self._found[2:], 3):
            self._row(number, line)
        version, count = self.head["version"], self.head["count"]
        if version not in {None, CHECKPOINT_VERSION}:
            self.notes.append(Anomaly("UNKNOWN_VERSION", "version", 0, f"version {version}; Kafka reads {CHECKPOINT_VERSION} only"))
        if count is not None and count != len(self.rows):
            self.notes.append(Anomaly("ROW_COUNT_MISMATCH", "count", self._found[1].at, f"{count} rows are said to follow, {len(self.rows)} do"))

    def _head(self, name: str) -> None:
        number = list(self.head).index(name)
        if number >= len(self._found):
            end = self._found[-1].at + self._found[-1].size
            self.notes.append(Anomaly("TRUNCATED", name, end, f"the file ends before its {name}"))
            return
        line = self._found[number]
        self.head[name] = _number(line.text.strip(), "int32")
        if self.head[name] is None:
            self._odd(number + 1, line, f"the {name} is not a number")
        else:
            self.pieces.append(Piece(HEAD, line.at, line.size))

    def _row(self, number: int, line: Line) -> None:
        words = line.text.split()
        if len(words) != len(self.columns):
            self._odd(number, line, f"{len(words)} words where {' '.join(self.columns)} should stand")
            return
        values = [_number(word, kind) if kind in RANGES else word for word, kind in zip(words, self.columns.values(), strict=True)]
        if None in values:
            name = list(self.columns)[values.index(None)]
            self._odd(number, line, f"the {name} is no {self.columns[name]}")
            return
        self.rows.append((line.at, values))
        self.pieces.append(Piece(ENTRIES, line.at, line.size))

    def _odd(self, number: int, line: Line, why: str) -> None:
        self.notes.append(Anomaly("INVALID_TEXT", f"line {number}", line.at, why))
        self.pieces.append(Piece(GAP, line.at, line.size, "INVALID_TEXT"))


def _number(word: str, kind: str) -> int | None:
    if not _NUMBER.fullmatch(word):
        return None
    low, high = RANGES[kind]
    value = int(word)
    return value if low <= value <= high else None
