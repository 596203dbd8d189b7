"""Rows that a filter chooses among, and their values: frames (`FrameRow`) and batches (`BatchRow`).

A frame has the columns of `facts.columns`, and any other name is the path of a field in its header, its body, or the
batches in it. Columns and fields are read only if they are requested. Secrets are hidden in fields, so that a filter
cannot be used to guess them.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import close_to, did_you_mean
from kwire_cli.facts.columns import BY_NAME, COLUMNS
from kwire_cli.filter.compile import compile_filter, name_of
from kwire_cli.filter.model import FilterError, Name, elements
from kwire_cli.filter.places import opened_values, places_of
from kwire_cli.message.decoded import by_span
from kwire_cli.records.batch import PADDING, Batch, base64_text, deep_faults
from kwire_cli.source.kafka.captured import time_text
from kwire_cli.source.opening import RowChoice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.engine.spans import Spans
    from kwire_cli.filter.compile import Filter
    from kwire_cli.filter.places import Places, Rows
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.message.roles import RecordsAs, Roles
    from kwire_cli.records.batch import Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

MILLISECOND = 1000
"""Microseconds."""
ANOMALIES = (*MEANING, "LOST", "NOT_RECOGNISED", PADDING)
"""All codes of anomalies and of gaps."""


# Batches in the records fields of a message, in JSON form. Bytes stay bytes.


def opened_batches(
    where: Roles, raw: Spans, reading: RecordsAs, hidden: frozenset[int], *, deep: bool
) -> list[dict[str, Any]]:
    """Return the batches and gaps in all records fields of a body except the `hidden` spans, with records if `deep`."""
    record_sets = [record_set for at, record_set in by_span(where, raw) if at not in hidden]
    documents: list[dict[str, Any]] = []
    for record_set in record_sets:
        items = reading.items(raw.data, record_set.topic, record_set.start, record_set.stop)
        documents += [opened(item, reading.hide, deep=deep) for item in items]
    return documents


def opened(item: Batch | Gap, hide: Hide | None, *, deep: bool) -> dict[str, Any]:
    """Return a batch or gap. Keys, values and headers of its records are bytes, or the text of redacted bytes."""
    document = item.to_json(deep=deep, hide=hide)
    for record in document.get("batch", document).get("records") or ():
        for pair in (record, *record["headers"]):
            pair["value"] = _bytes(pair["value"])
        record["key"] = _bytes(record["key"])
    return document


def _bytes(text: str | None) -> bytes | str | None:
    return text if text is None or text.startswith("<") else base64.b64decode(text)


# Batches of a log.


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch or gap of a segment: its `size`, `kind` (batch, control or gap), `time` (the largest) and
    `all_anomalies`.

    All else are fields of its JSON form, with its records if `deep`.
    """

    item: Batch | Gap
    deep: bool
    hide: Hide | None = None
    shown: dict[str, Any] | None = None
    """The JSON form with some of the records, if the row is only about these."""

    def column(self, name: str) -> Any:
        """Return the value of a column; None if batches do not have the column."""
        item = self.item
        if name == "size":
            return item.size
        if name == "kind":
            if not isinstance(item, Batch):
                return "gap"
            return "control" if item.head.control else "batch"
        if name == "time" and isinstance(item, Batch):
            return None if item.head.max_timestamp < 0 else item.head.max_timestamp * MILLISECOND
        if name == "all_anomalies":
            return [note.code for note in deep_faults(item, self.hide)] if isinstance(item, Batch) else [item.code]
        return None

    def fields(self) -> dict[str, Any]:
        """Return the JSON form, with the records if the filter needs them."""
        return {"batch": self.shown or self.item.to_json(deep=self.deep, hide=self.hide)}

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:
        """Return the batch."""
        return [self.shown or opened(self.item, self.hide, deep=deep)]

    def payloads(self) -> list[dict[str, Any]]:
        """Return nothing: decoded records are part of the batch."""
        return []


def record_rows(item: Batch, hide: Hide | None) -> Iterator[BatchRow]:
    """Yield a row for each record of a batch: the batch with only this record."""
    document = opened(item, hide, deep=True)
    for record in document["records"]:
        yield BatchRow(item, deep=True, hide=hide, shown=document | {"records": [record]})


# Rows of frames in a lake.

IN_LAKES = frozenset(column.name for column in COLUMNS) - {"all_anomalies", "stages_us"}
"""The columns that choose rows of a lake. A lake has no anomalies of records next to a frame."""


@dataclass(frozen=True, slots=True)
class LakeRow:
    """The columns of a frame in a lake by name. It has no fields."""

    values: Mapping[str, Any]

    def column(self, name: str) -> Any:
        """Return the value of a column."""
        return self.values[name]

    def fields(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:  # noqa: ARG002 - a row has this method
        """Return nothing."""
        return []

    def payloads(self) -> list[dict[str, Any]]:
        """Return nothing."""
        return []


def lake_choice(catalog: Catalog, text: str) -> RowChoice:
    """Parse a filter of rows of a lake. Raise FilterError for a name that is not a column of frames there."""
    compiled = filter_of(catalog, text)
    columns: set[str] = set()
    for name in compiled.names:
        column = BY_NAME.get(name.text)
        if column is None or column.name not in IN_LAKES:
            hint = did_you_mean(close_to(name.text, IN_LAKES)) or ": api, client_id, topics, capture_point and others"
            reason = f"a filter of a lake takes no {name.text}, only columns of frames{hint}"
            raise FilterError(reason, text=text, column=name.column)
        columns.add(column.name)
    if "api" in columns:
        columns.add("api_key")
    return RowChoice(frozenset(columns), lambda values: compiled.matches(LakeRow(values)))


# Frames.

_GETTERS = {column.name: column.of_line for column in COLUMNS}


@dataclass(frozen=True, slots=True)
class FrameRow:
    """A line of a capture, without the secrets that `redaction` finds."""

    line: Captured
    redaction: Redaction | None = None

    def column(self, name: str) -> Any:
        """Return the value of a column."""
        return _GETTERS[name](self.line)

    def hidden(self) -> dict[str, frozenset[int]]:
        """Return the spans of secrets by part."""
        return self.line.hidden(self.redaction) if self.redaction else {}

    def fields(self) -> dict[str, Any]:
        """Return the header and the body in JSON form; empty for a line without."""
        parts = dict(self.line.frame.parts) if self.line.frame else {}
        hidden = self.hidden()
        return {
            name: parts[name].to_json(hidden=hidden.get(name, frozenset())) if name in parts else {}
            for name in ("header", "body")
        }

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:
        """Return the batches in the records fields, with their records if `deep`."""
        if not (self.line.seen.size and (read := self.line.read)):
            return []
        reading = self.line.reading(self.redaction.record if self.redaction else None)
        return opened_batches(*read, reading, self.hidden().get("body", frozenset()), deep=deep)

    def payloads(self) -> list[dict[str, Any]]:
        """Return the decoded messages in the fields."""
        return self.line.frame.payloads(self.hidden(), self.line.asked) if self.line.frame else []

    def shown(self, name: str) -> Any:
        """Return the value of a column as text, number or list: a time in ISO 8601.

        A name that is not a column means all fields whose path ends in the name: one value, a list of several, or
        None. Structures of an array, such as headers of records, are a list even if there is one.
        """
        if column := BY_NAME.get(name):
            value = column.of_line(self.line)
            return time_text(value * 1000) if column.type == "time" and value is not None else value
        places = _places(name, self.line.connection.catalog)
        values = list(_values(self.fields(), places.path, ())) if places.message else []
        opened = [*opened_values(places, self, whole=True)]
        values += [_text(value) for value in elements(opened)]
        in_array = any(_has_structures(value) for value in opened)
        return values[0] if len(values) == 1 and not in_array else values or None


def _has_structures(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def filter_of(catalog: Catalog, text: str, rows: Rows = "frames") -> Filter:
    """Parse a filter of `rows`, with the names of a catalogue. Raise FilterError for a name that the rows lack."""
    api_keys: dict[str, int] = {}
    for api in catalog.apis:
        api_keys.update(dict.fromkeys((api.name, *api.aliases), api.key))
    return compile_filter(
        text,
        error_codes={row.name: row.code for row in catalog.errors},
        api_keys=api_keys,
        anomalies=ANOMALIES,
        fields=catalog.field_names,
        rows=rows,
    )


@lru_cache(maxsize=256)
def _places(name: str, catalog: Catalog) -> Places:
    return places_of(name_of(name) or Name(name, 1), catalog.field_names)


def _text(value: Any) -> Any:
    """Return bytes as text, or as `base64:` and base64 if they are not UTF-8; in lists and structures too."""
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
