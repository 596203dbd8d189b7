"""Readers of the small files of a log directory, and `read_log_file` for any of its files without record batches.

Checkpoints are text: a version, a number of rows, and the rows. Other files contain properties or JSON. All readers
accept damaged files: deviations become anomalies and gaps, so that the readable part can be examined.

The formats are defined by org.apache.kafka.server.common.CheckpointFile, LeaderEpochCheckpointFile,
OffsetCheckpointFile, LogCleanerManager, java.util.Properties, org.apache.kafka.metadata.properties.MetaProperties,
PartitionMetadataFile, FileQuorumStateStore and CleanShutdownFileHandler.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from kwire_cli.engine.codes import Anomaly
from kwire_cli.errors import EncodeError, InputError, counted
from kwire_cli.message.decoded import build
from kwire_cli.source.logs.indexes import offset_index, producer_snapshot, time_index, transaction_index
from kwire_cli.source.logs.model import (
    BATCH_KINDS,
    COMMENT,
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
from kwire_cli.spec.catalog import catalog
from kwire_cli.stores.paths import path_of
from kwire_cli.structs.logs import CHECKPOINT_VERSION, LEADER_EPOCH_ROW, OFFSET_ROW, QUORUM_STATE_VERSION_KEY
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


_META_KEYS = {"0": {"version"}, "1": {"version", "cluster.id", "node.id"}}
"""Required keys by version. Version 0 was written with ZooKeeper (initially without a cluster id), 1 with KRaft."""


_METADATA_PAIR = re.compile(r"(?P<key>[^:]+):\s+(?P<value>\S+)\s*")
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")


class Property(NamedTuple):
    """A name with its value: a string, or any JSON value."""

    at: int
    name: str
    value: Any


def meta_properties(data: bytes) -> Contents[Property]:
    """Return the properties of a `meta.properties`, in the form in which java.util.Properties writes them: a comment or
    a property a line, with a backslash before special characters. Never raises.
    """
    entries = []
    pieces = []
    notes = []
    for number, line in enumerate(lines(data), 1):
        text = line.text.strip()
        key, equals, value = text.partition("=")
        if equals and text[0] not in "#!":
            entries.append(Property(line.at, _unescaped(key), _unescaped(value)))
            pieces.append(Piece(ENTRIES, line.at, line.size))
        elif not text or text[0] in "#!":
            pieces.append(Piece(COMMENT, line.at, line.size))
        else:
            notes.append(Anomaly("INVALID_TEXT", f"line {number}", line.at, "not a name and a value"))
            pieces.append(Piece(GAP, line.at, line.size, "INVALID_TEXT"))
    values = {entry.name: entry.value for entry in entries}
    notes += _duplicates(entries)
    version = values.get("version")
    if version is not None and version not in _META_KEYS:
        notes.append(
            Anomaly(
                "UNKNOWN_VERSION",
                "version",
                _at(entries, "version"),
                f"version {version}; Kafka has {' and '.join(_META_KEYS)}",
            )
        )
    notes += [
        Anomaly("INVALID_TEXT", name, len(data), f"no {name}, which Kafka asks for")
        for name in sorted(_META_KEYS.get(version or "0", {"version"}) - set(values))
    ]
    return Contents(Kind.META_PROPERTIES, len(data), tuple(entries), joined(pieces), tuple(notes))


def partition_metadata(data: bytes) -> Contents[Property]:
    """Return the version and the topic id of a `partition.metadata`. Never raises."""
    entries = []
    pieces = []
    notes = []
    for number, line in enumerate(lines(data), 1):
        match = _METADATA_PAIR.fullmatch(line.text)
        if match:
            entries.append(Property(line.at, match["key"], match["value"]))
            pieces.append(Piece(ENTRIES, line.at, line.size))
        else:
            notes.append(Anomaly("INVALID_TEXT", f"line {number}", line.at, "not a name, a colon, a space and a value"))
            pieces.append(Piece(GAP, line.at, line.size, "INVALID_TEXT"))
    values = {entry.name: entry.value for entry in entries}
    if values.get("version", "0") != "0":
        notes.append(
            Anomaly("UNKNOWN_VERSION", "version", _at(entries, "version"), f"version {values['version']}; Kafka has 0")
        )
    notes += [
        Anomaly("INVALID_TEXT", name, len(data), f"no {name}, which Kafka asks for")
        for name in ("version", "topic_id")
        if name not in values
    ]
    if "topic_id" in values and not _TOPIC_ID.fullmatch(values["topic_id"]):
        notes.append(
            Anomaly(
                "INVALID_TEXT", "topic_id", _at(entries, "topic_id"), "a topic id is 22 characters of url-safe base64"
            )
        )
    notes += _duplicates(entries)
    return Contents(Kind.PARTITION_METADATA, len(data), tuple(entries), joined(pieces), tuple(notes))


def quorum_state(data: bytes) -> Contents[Property]:
    """Return the fields of a `quorum-state`: `data_version`, and the fields of QuorumStateData in that version. Never
    raises.
    """
    value, notes = _json_object(data)
    if value is None:
        return _unparsed(Kind.QUORUM_STATE, data, notes)
    version = value.get(QUORUM_STATE_VERSION_KEY)
    spec = catalog().message("QuorumStateData")
    if isinstance(version, bool) or not isinstance(version, int) or version not in spec.valid_versions:
        what = f"{QUORUM_STATE_VERSION_KEY} is {json.dumps(version)[:40]}; Kafka has {spec.valid_versions}"
        notes.append(Anomaly("UNKNOWN_VERSION", QUORUM_STATE_VERSION_KEY, 0, what))
    else:
        try:
            build(spec, {key: part for key, part in value.items() if key != QUORUM_STATE_VERSION_KEY}, version)
        except EncodeError as error:
            notes.append(Anomaly("INVALID_TEXT", error.path, 0, error.reason))
    return _object(Kind.QUORUM_STATE, data, value, notes)


def clean_shutdown(data: bytes) -> Contents[Property]:
    """Return the contents of a `.kafka_cleanshutdown`. Never raises.

    The file is empty in older versions, and otherwise JSON with `version` and `brokerEpoch`.
    """
    if not data:
        return Contents(Kind.CLEAN_SHUTDOWN, 0, (), ())
    value, notes = _json_object(data)
    if value is None:
        return _unparsed(Kind.CLEAN_SHUTDOWN, data, notes)
    return _object(Kind.CLEAN_SHUTDOWN, data, value, notes)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text.strip())


def _json_object(data: bytes) -> tuple[dict[str, Any] | None, list[Anomaly]]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        at = len(error.doc[: error.pos].encode())
        return None, [Anomaly("INVALID_TEXT", "", at, f"no JSON: {error.msg}")]
    if not isinstance(value, dict):
        return None, [Anomaly("INVALID_TEXT", "", 0, "no JSON object")]
    return value, []


def _object(kind: Kind, data: bytes, value: dict[str, Any], notes: list[Anomaly]) -> Contents[Property]:
    # JSON text is one piece, because positions of its fields are not useful.
    entries = tuple(Property(0, name, part) for name, part in value.items())
    return Contents(kind, len(data), entries, joined([Piece(ENTRIES, 0, len(data))]), tuple(notes))


def _unparsed(kind: Kind, data: bytes, notes: list[Anomaly]) -> Contents[Property]:
    return Contents(kind, len(data), (), joined([Piece(GAP, 0, len(data), "INVALID_TEXT")]), tuple(notes))


def _duplicates(entries: list[Property]) -> list[Anomaly]:
    names: set[str] = set()
    notes = []
    for entry in entries:
        if entry.name in names:
            notes.append(
                Anomaly("ENTRY_DUPLICATE", entry.name[:80], entry.at, "the name occurred before; the last one counts")
            )
        names.add(entry.name)
    return notes


def _at(entries: list[Property], name: str) -> int:
    return max(entry.at for entry in entries if entry.name == name)


_WITH_OFFSET: dict[Kind, Callable[[bytes, int | None], Contents[Any]]] = {
    Kind.INDEX: offset_index,
    Kind.TIME_INDEX: time_index,
    Kind.TRANSACTION_INDEX: transaction_index,
    Kind.PRODUCER_SNAPSHOT: producer_snapshot,
}


_PLAIN: dict[Kind, Callable[[bytes], Contents[Any]]] = {
    Kind.LEADER_EPOCHS: leader_epochs,
    Kind.META_PROPERTIES: meta_properties,
    Kind.PARTITION_METADATA: partition_metadata,
    Kind.QUORUM_STATE: quorum_state,
    Kind.CLEAN_SHUTDOWN: clean_shutdown,
}
READABLE = frozenset({*_WITH_OFFSET, *_PLAIN, *OFFSET_CHECKPOINTS})
"""The kinds that `read_log_file` reads. LOG and CHECKPOINT contain record batches and have other readers."""
TEXTS = READABLE - frozenset(_WITH_OFFSET)
"""Kinds of text files: checkpoints, properties, JSON."""


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
    if name.kind in _PLAIN:
        return _PLAIN[name.kind](data)
    if name.kind in OFFSET_CHECKPOINTS:
        return offset_checkpoint(data, name.kind)
    raise InputError(f"a file of kind {name.kind} is not read here")
