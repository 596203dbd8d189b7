"""Columns of lines, frames and batches, as tables and filters name them."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING
from kwire_cli.message.decoded import by_span
from kwire_cli.message.frames import HEAD
from kwire_cli.message.record_notes import decoded_record_notes
from kwire_cli.message.roles import error_codes, role_values, roles, topics_in
from kwire_cli.records.batch import PADDING, Batch, base64_text, deep_faults
from kwire_cli.source.kafka.group_names import groups_named, groups_of
from kwire_cli.source.kafka.line_records import anomaly_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from kwire_cli.engine.spans import Spans
    from kwire_cli.filter import Filter, Places, Rows
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.message.roles import RecordsAs, Roles
    from kwire_cli.records.batch import Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

    Hidden = dict[str, frozenset[int]]


# Batches in the records fields of a message, as filters and --fields see them: in JSON form, but for bytes,
# which stay bytes.


def opened_batches(
    where: Roles, raw: Spans, reading: RecordsAs, hidden: frozenset[int], *, deep: bool
) -> list[dict[str, Any]]:
    """Return the batches and gaps in all records fields of a body that are not among the `hidden` spans; with their
    records if `deep`.
    """
    record_sets = [record_set for at, record_set in by_span(where, raw) if at not in hidden]
    items = (
        item
        for record_set in record_sets
        for item in reading.items(raw.data, record_set.topic, record_set.start, record_set.stop)
    )
    return [opened(item, reading.hide, deep=deep) for item in items]


def opened(item: Batch | Gap, hide: Hide | None, *, deep: bool) -> dict[str, Any]:
    """Return a batch or gap. Keys, values and headers of its records are bytes, or text that says that they are
    redacted.
    """
    document = item.to_json(deep=deep, hide=hide)
    for record in document.get("batch", document).get("records") or ():
        for pair in (record, *record["headers"]):
            pair["value"] = _bytes(pair["value"])
        record["key"] = _bytes(record["key"])
    return document


def _bytes(text: str | None) -> bytes | str | None:
    return text if text is None or text.startswith("<") else base64.b64decode(text)


def frame_fields(frame: Frame | None, hidden: Hidden) -> dict[str, Any]:
    """Return the header and body of a frame in JSON form, without the `hidden` spans of each; empty where it has
    none.
    """
    parts = dict(frame.parts) if frame else {}
    return {
        name: parts[name].to_json(hidden=hidden.get(name, frozenset())) if name in parts else {}
        for name in ("header", "body")
    }


# Batches as filters see them.

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch or gap of a segment: its `size`, `kind` (batch, control or gap), `time` (the largest) and `anomaly`.

    All else are fields of its JSON form, with its records if `deep`.
    """

    item: Batch | Gap
    deep: bool
    hide: Hide | None = None
    shown: dict[str, Any] | None = None
    """Its JSON form with some of its records alone, where these are looked at."""

    def column(self, name: str) -> Any:
        """The value of a column; None where there is none."""
        item = self.item
        if name == "size":
            return item.size
        if name == "kind":
            return "gap" if not isinstance(item, Batch) else "control" if item.head.control else "batch"
        if name == "time" and isinstance(item, Batch):
            return None if item.head.max_timestamp < 0 else item.head.max_timestamp * MILLION
        if name == "anomaly":
            return [note.code for note in deep_faults(item, self.hide)] if isinstance(item, Batch) else [item.code]
        return None

    def fields(self) -> dict[str, Any]:
        """Its JSON form, with its records where these are asked for."""
        return {"batch": self.shown or self.item.to_json(deep=self.deep, hide=self.hide)}

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:
        """The batch itself."""
        return [self.shown or opened(self.item, self.hide, deep=deep)]

    def payloads(self) -> list[dict[str, Any]]:
        """None: what records mean stands in them."""
        return []


def record_rows(item: Batch, hide: Hide | None) -> Iterator[BatchRow]:
    """Yield a row for each record of a batch: the batch with this record alone."""
    document = opened(item, hide, deep=True)
    for record in document["records"]:
        yield BatchRow(item, deep=True, hide=hide, shown=document | {"records": [record]})


# Frames without a capture around them, as filters see them.


@dataclass(frozen=True, slots=True)
class FrameRow:
    """A frame without a capture as filters see it: columns, and fields without what `redaction` says is secret.

    A row is no subject: like a `LineRow` or a `BatchRow` it has the columns that --filter names, and hides secrets,
    so that nobody can guess them by it. There are no columns for times, ends and streams.
    """

    frame: Frame
    redaction: Redaction

    def column(self, name: str) -> Any:
        """The value of a column; None where there is none."""
        getter = _FRAME_COLUMNS.get(name)
        return getter(self) if getter else None

    def hidden(self) -> Hidden:
        """The hidden spans of the frame by part."""
        return self.redaction.frame(self.frame)

    def fields(self) -> dict[str, Any]:
        """Header and body in JSON form."""
        return frame_fields(self.frame, self.hidden())

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:
        """The batches in its records fields, with their records if `deep`."""
        body = self.frame.body
        if body is None or body.guess:
            return []
        where, hidden = roles(body.spec, body.entry), self.hidden().get("body", frozenset())
        return opened_batches(where, body.raw, self.redaction.reading(), hidden, deep=deep)

    def payloads(self) -> list[dict[str, Any]]:
        """Return what is decoded of the messages in the row's fields."""
        return self.frame.payloads(self.hidden())

    def header(self, name: str) -> Any:
        """A field of the header, None where it is hidden."""
        return None if self.hides_head or not self.frame.header else self.frame.header.value.get(name)

    @property
    def hides_head(self) -> bool:
        """Return whether the frame is hidden from its first byte on."""
        return HEAD in self.hidden()

    @property
    def shown(self) -> Frame:
        """The frame as its columns show it."""
        return self.frame.shown(self.hidden())

    def roles(self) -> dict[str, list[bytes]]:
        """The values in the body that have a role."""
        body = self.frame.body
        if body is None or body.guess or self.hides_head:
            return {}
        return role_values(roles(body.spec, body.entry), body.raw)


def _topics(row: FrameRow) -> list[str]:
    names, ids = topics_in(row.roles())
    return [*names, *ids]


def _groups(row: FrameRow) -> list[str]:
    body = row.fields().get("body") if row.frame.kind == "request" else None
    return groups_named(row.shown.api_key, body) if isinstance(body, dict) else []


def _errors(row: FrameRow) -> list[str | int]:
    codes = error_codes(row.roles()) if row.frame.kind == "response" else []
    return [row.redaction.catalog.error_name(code) or code for code in codes]


_FRAME_COLUMNS: dict[str, Callable[[FrameRow], Any]] = {
    "frame": lambda row: row.frame.number,
    "kind": lambda row: row.frame.kind,
    "size": lambda row: row.frame.size,
    "apiKey": lambda row: row.shown.api_key,
    "api": lambda row: row.shown.api,
    "apiVersion": lambda row: row.shown.api_version,
    "correlationId": lambda row: row.header("correlationId"),
    "clientId": lambda row: row.header("clientId"),
    "topics": _topics,
    "groups": _groups,
    "error": _errors,
    "anomaly": lambda row: [
        *(anomaly.code for anomaly in row.frame.anomalies),
        *(note.code for note in decoded_record_notes(row.frame.body, row.redaction.reading())),
    ],
}


# Columns of a capture's lines: what tables, filters and --fields name. One function a column; everything else
# is a field path.


def host_of(end: str) -> str:
    """Return an address without its port, and without the brackets of an IPv6 address."""
    return end.rpartition(":")[0].strip("[]")


def _port(end: str) -> int:
    return int(end.rpartition(":")[2])


COLUMNS: dict[str, Callable[[Captured], Any]] = {
    "frame": lambda line: line.number,
    "time": lambda line: line.time,
    "src": lambda line: line.src,
    "dst": lambda line: line.dst,
    "host": lambda line: [host_of(line.src), host_of(line.dst)],
    "port": lambda line: [_port(line.src), _port(line.dst)],
    "stream": lambda line: line.stream,
    "packet": lambda line: line.where.packet,
    "capture": lambda line: line.origin.point,
    "file": lambda line: line.where.file,
    "kind": lambda line: line.kind,
    "size": lambda line: line.seen.size,
    "apiKey": lambda line: line.api_key,
    "api": lambda line: line.api,
    "apiVersion": lambda line: line.api_version,
    "correlationId": lambda line: line.correlation_id,
    "clientId": lambda line: line.client_id,
    "software": lambda line: line.software,
    "broker": lambda line: line.broker,
    "topics": lambda line: line.topics,
    "groups": groups_of,
    "latency": lambda line: line.latency,
    "throttle": lambda line: None if line.throttle is None else line.throttle / 1000,
    "inFlight": lambda line: line.seen.in_flight,
    "error": lambda line: line.errors,
    "requestFrame": lambda line: line.request.number if line.request else None,
    "protocol": lambda line: line.seen.protocol,
    "content": lambda line: [*line.seen.content],
    "reason": lambda line: line.seen.reason,
    "anomaly": lambda line: anomaly_codes(line, deep=True),
}
ALIASES = {"version": "apiVersion", "client": "clientId", "topic": "topics", "group": "groups", "anomalies": "anomaly"}


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line as filters and --fields see it: columns, and fields made only when they are asked for, without what
    `redaction` says is secret.
    """

    line: Captured
    redaction: Redaction | None = None

    def column(self, name: str) -> Any:
        """The value of a column, a list of them, or None."""
        return COLUMNS[ALIASES.get(name, name)](self.line)

    def hidden(self) -> dict[str, frozenset[int]]:
        """The hidden spans of the line by part."""
        return self.redaction.line(self.line) if self.redaction else {}

    def fields(self) -> dict[str, Any]:
        """Header and body in JSON form."""
        return frame_fields(self.line.frame, self.hidden())

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:
        """The batches in its records fields, with their records if `deep`."""
        if not (self.line.seen.size and (read := self.line.read)):
            return []
        reading = self.line.reading(self.redaction.record if self.redaction else None)
        return opened_batches(*read, reading, self.hidden().get("body", frozenset()), deep=deep)

    def payloads(self) -> list[dict[str, Any]]:
        """Return what is decoded of the messages in the row's fields."""
        return self.line.frame.payloads(self.hidden(), self.line.asked) if self.line.frame else []

    def value(self, name: str) -> Any:
        """A column's value, or those of all fields whose path ends in `name`: one alone, several as a list, None for
        none.

        Structures of an array, such as headers of records, are a list where there is one alone too.
        """
        if ALIASES.get(name, name) in COLUMNS:
            return self.column(name)
        language = _language()
        places = _places(name, self.line.connection.catalog)
        values = list(_values(self.fields(), places.path, ())) if places.message else []
        opened = [*language.opened_values(places, self, whole=True)]
        values += [_text(value) for value in language.elements(opened)]
        in_array = any(isinstance(value, list) and any(isinstance(item, dict) for item in value) for value in opened)
        return values[0] if len(values) == 1 and not in_array else values or None


class FilterRow(LineRow):
    """A line as filters compare it: times in nanoseconds since 1970, all else as it is shown."""

    __slots__ = ()

    def column(self, name: str) -> Any:
        """The value of a column, a list of them, or None."""
        return self.line.seen.time if name == "time" else super().column(name)


ANOMALIES = (*MEANING, "LOST", "NOT_RECOGNISED", PADDING)
"""All values of the column `anomaly`: the codes of anomalies and of gaps."""


def filter_of(catalog: Catalog, text: str, rows: Rows = "frames") -> Filter:
    """Return the filter of `rows` that a text says, with the names of a catalogue; FilterError for a name that the rows
    lack.
    """
    compiled: Filter = _language().compile_filter(
        text,
        error_codes={row.name: row.code for row in catalog.errors},
        api_keys={name: api.key for api in catalog.apis for name in (api.name, *api.aliases)},
        anomalies=ANOMALIES,
        fields=catalog.field_names,
        rows=rows,
    )
    return compiled


@lru_cache(maxsize=256)
def _places(name: str, catalog: Catalog) -> Places:
    language = _language()
    places: Places = language.places_of(language.name_of(name) or language.Name(name, 1), catalog.field_names)
    return places


def _language() -> ModuleType:
    """Return the language of filters, which tables of columns alone do not need."""
    from kwire_cli import filter as language  # noqa: PLC0415 - see above

    return language


def _text(value: Any) -> Any:
    """Bytes as text, or as `base64:` and base64 text where they are none; in lists and structures too."""
    if isinstance(value, dict):
        return {key: _text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_text(inner) for inner in value]
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"base64:{base64_text(value)}"


def _values(value: Any, wanted: tuple[str, ...], path: tuple[str, ...]) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(inner, wanted, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, wanted, path)
    elif path[-len(wanted) :] == wanted:
        yield value
