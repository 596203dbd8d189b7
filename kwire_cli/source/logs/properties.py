"""Small files of names and values: `meta.properties`, `partition.metadata`, `quorum-state`, `.kafka_cleanshutdown`.

Sources: java.util.Properties, org.apache.kafka.metadata.properties.MetaProperties, PartitionMetadataFile, FileQuorumStateStore,
CleanShutdownFileHandler.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from kwire_cli.engine.codes import Anomaly
from kwire_cli.errors import EncodeError
from kwire_cli.message.encode import build
from kwire_cli.source.logs.checkpoints import lines
from kwire_cli.source.logs.model import COMMENT, ENTRIES, GAP, Contents, Piece, joined
from kwire_cli.source.logs.names import Kind
from kwire_cli.spec.catalog import catalog
from kwire_cli.structs.logs import QUORUM_STATE_VERSION_KEY

_META_KEYS = {"0": {"version"}, "1": {"version", "cluster.id", "node.id"}}
"""What must be there by version: 0 was written with ZooKeeper (and before that without a cluster id), 1 is KRaft's."""

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|u|.|$)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "": ""}
_SPACE = " \t\f"
_PAIR = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*(?:[=:][ \t\f]*)?(?P<value>.*)", re.DOTALL)
_METADATA_PAIR = re.compile(r"(?P<key>[^:]+):\s+(?P<value>\S+)\s*")
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")


class Property(NamedTuple):
    """A name and its value: text, and of JSON any."""

    at: int
    name: str
    value: Any

    def to_json(self) -> dict[str, Any]:
        """`{"at","name","value"}`."""
        return {"at": self.at, "name": self.name, "value": self.value}


def meta_properties(data: bytes) -> Contents[Property]:
    """The properties of a `meta.properties`, as Java reads them: ISO 8859-1, comments, escapes, continued lines. Never raises."""
    entries, pieces, notes = [], [], []
    for at, size, text in _logical_lines(data):
        if not text or text[0] in "#!":
            pieces.append(Piece(COMMENT, at, size))
            continue
        found = _PAIR.fullmatch(text)
        key, value = (_unescaped(found[part]) if found else None for part in ("key", "value"))
        if key is None or value is None:
            notes.append(Anomaly("INVALID_TEXT", "", at, "a malformed \\uxxxx escape"))
            pieces.append(Piece(GAP, at, size, "INVALID_TEXT"))
            continue
        entries.append(Property(at, key, value))
        pieces.append(Piece(ENTRIES, at, size))
    values = {entry.name: entry.value for entry in entries}
    notes += _duplicates(entries)
    version = values.get("version")
    if version is not None and version not in _META_KEYS:
        notes.append(Anomaly("UNKNOWN_VERSION", "version", _at(entries, "version"), f"version {version}; Kafka has {' and '.join(_META_KEYS)}"))
    notes += [
        Anomaly("INVALID_TEXT", name, len(data), f"no {name}, which Kafka asks for")
        for name in sorted(_META_KEYS.get(version or "0", {"version"}) - set(values))
    ]
    return Contents(Kind.META_PROPERTIES, len(data), tuple(entries), joined(pieces), tuple(notes))


def partition_metadata(data: bytes) -> Contents[Property]:
    """The version and the topic id of a `partition.metadata`. Never raises."""
    entries, pieces, notes = [], [], []
    for number, line in enumerate(lines(data), 1):
        found = _METADATA_PAIR.fullmatch(line.text)
        if found:
            entries.append(Property(line.at, found["key"], found["value"]))
            pieces.append(Piece(ENTRIES, line.at, line.size))
        else:
            notes.append(Anomaly("INVALID_TEXT", f"line {number}", line.at, "not a name, a colon, a space and a value"))
            pieces.append(Piece(GAP, line.at, line.size, "INVALID_TEXT"))
    values = {entry.name: entry.value for entry in entries}
    if values.get("version", "0") != "0":
        notes.append(Anomaly("UNKNOWN_VERSION", "version", _at(entries, "version"), f"version {values['version']}; Kafka has 0"))
    notes += [Anomaly("INVALID_TEXT", name, len(data), f"no {name}, which Kafka asks for") for name in ("version", "topic_id") if name not in values]
    if "topic_id" in values and not _TOPIC_ID.fullmatch(values["topic_id"]):
        notes.append(Anomaly("INVALID_TEXT", "topic_id", _at(entries, "topic_id"), "a topic id is 22 characters of url-safe base64"))
    notes += _duplicates(entries)
    return Contents(Kind.PARTITION_METADATA, len(data), tuple(entries), joined(pieces), tuple(notes))


def quorum_state(data: bytes) -> Contents[Property]:
    """The fields of a `quorum-state`: those of QuorumStateData in the version that `data_version` says, and that one itself. Never raises."""
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
    """What a `.kafka_cleanshutdown` says: nothing in older versions, then JSON with `version` and `brokerEpoch`. Never raises."""
    if not data:
        return Contents(Kind.CLEAN_SHUTDOWN, 0, (), ())
    value, notes = _json_object(data)
    return _unparsed(Kind.CLEAN_SHUTDOWN, data, notes) if value is None else _object(Kind.CLEAN_SHUTDOWN, data, value, notes)


def _logical_lines(data: bytes) -> list[tuple[int, int, str]]:
    """Position, size and text of each line with those that continue it: a backslash at the end, unless escaped itself, joins the next line to it."""
    out: list[tuple[int, int, str]] = []
    continues = False
    at = 0
    for raw in data.splitlines(keepends=True):
        text = raw.decode("iso-8859-1").rstrip("\r\n").lstrip(_SPACE)
        comment = not continues and text[:1] in {"#", "!"}
        if continues:
            start, size, before = out.pop()
            out.append((start, size + len(raw), before[:-1] + text))
        else:
            out.append((at, len(raw), text))
        continues = not comment and (len(text) - len(text.rstrip("\\"))) % 2 == 1
        at += len(raw)
    if continues:  # a backslash at the very end joins nothing
        start, size, before = out.pop()
        out.append((start, size, before[:-1]))
    return out


def _unescaped(text: str) -> str | None:
    """The text that is meant; None where a backslash and u are not followed by four hex digits."""
    if any(part == "u" for part in _ESCAPE.findall(text)):
        return None

    def meant(found: re.Match[str]) -> str:
        part = found[1]
        return chr(int(part[1:], 16)) if len(part) > 1 else _ESCAPED.get(part, part)

    # Two escapes may be one character; one of such a pair alone is none.
    return _ESCAPE.sub(meant, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _json_object(data: bytes) -> tuple[dict[str, Any] | None, list[Anomaly]]:
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate is no text
    except UnicodeDecodeError as error:
        return None, [Anomaly("INVALID_TEXT", "", error.start, "no UTF-8")]
    except json.JSONDecodeError as error:
        return None, [Anomaly("INVALID_TEXT", "", len(text[: error.pos].encode()), f"no JSON: {error.msg}")]
    except (ValueError, RecursionError):
        return None, [Anomaly("INVALID_TEXT", "", 0, "no JSON that could be read: numbers, characters or depth beyond what it has")]
    if not isinstance(value, dict):
        return None, [Anomaly("INVALID_TEXT", "", 0, "no JSON object")]
    return value, []


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _object(kind: Kind, data: bytes, value: dict[str, Any], notes: list[Anomaly]) -> Contents[Property]:
    # JSON text is one piece: where in it a field stands is of no use to anybody.
    entries = tuple(Property(0, name, part) for name, part in value.items())
    return Contents(kind, len(data), entries, joined([Piece(ENTRIES, 0, len(data))]), tuple(notes))


def _unparsed(kind: Kind, data: bytes, notes: list[Anomaly]) -> Contents[Property]:
    return Contents(kind, len(data), (), joined([Piece(GAP, 0, len(data), "INVALID_TEXT")]), tuple(notes))


def _duplicates(entries: list[Property]) -> list[Anomaly]:
    seen: set[str] = set()
    notes = []
    for entry in entries:
        if entry.name in seen:
            notes.append(Anomaly("ENTRY_DUPLICATE", entry.name[:80], entry.at, "the name occurred before; the last one counts"))
        seen.add(entry.name)
    return notes


def _at(entries: list[Property], name: str) -> int:
    return max(entry.at for entry in entries if entry.name == name)
