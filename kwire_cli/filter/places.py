"""Places of the values of a name in a filter, and checks of names.

A name may mean a column, a field of a message, or a key of a batch, a record or a payload. Its places are determined
once, when the filter is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from kwire_cli.errors import close_to, did_you_mean
from kwire_cli.facts.columns import BY_NAME
from kwire_cli.filter.model import KINDS_OF_BATCHES, OF_BATCHES, ROOTS, below, values_at
from kwire_cli.structs.composites import UNKNOWN_KEY
from kwire_cli.structs.records.parts import BATCH_KEYS, COMPRESSION, RECORD_KEYS, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.facts.columns import Column
    from kwire_cli.filter.model import Name
    from kwire_cli.spec.field_names import FieldNames


# The place of a value is the message, its batches and records, or the payloads in it.

Rows: TypeAlias = Literal["frames", "batches", "either"]
"""The rows that a filter is applied to. `either`: batches of a command that also shows frames, whose filter may contain
names that only frames have."""


BATCH = (*BATCH_KEYS, "records", "anomalies", "gap")
"""The keys of a batch or gap in JSON."""
RECORD = (*RECORD_KEYS, "decoded", "control")
"""The keys of a record in JSON."""
RECORDS = "records"
PAYLOADS = "payloads"
FRAME_HEADER = (
    "headerVersion",
    "requestApiKey",
    "requestApiVersion",
    "correlationId",
    "clientId",
    "unknownTaggedFields",
)
"""The fields of a frame's header. Any other name after `header.` is a key of record headers."""
_BELOW = frozenset({"headers", "decoded", "control"})
_READ = frozenset({"key", "value"})
"""The parts of a record with decoded data, which a path may continue into."""


_CODECS = tuple(COMPRESSION.names.get(codec) or f"unknown-{codec}" for codec in range(COMPRESSION.mask + 1))
_VALUES: dict[str, tuple[str, ...]] = {
    "compression": _CODECS,
    "timestampType": (*TIMESTAMP_TYPE.names.values(), "NoTimestampType"),
    "gap": ("TRUNCATED", "CORRUPT", "PADDING"),
}
"""All values of those keys of a batch or gap whose values are names."""


class Row(Protocol):
    """A row that a filter is applied to: a frame or a batch. Columns and fields are computed on demand."""

    def column(self, name: str) -> Any:
        """Return the value of a column of `facts.columns`, or None if there is no value."""

    def fields(self) -> Mapping[str, Any]:
        """Return header and body in JSON form."""

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:
        """Return the batches and gaps in the row's records fields in JSON form, with records if `deep`.

        Keys, values and headers are bytes.
        """

    def payloads(self) -> list[dict[str, Any]]:
        """Return the decoded payloads in the row's fields."""


@dataclass(frozen=True, slots=True)
class Places:
    """The places of the values of a name. A name may have several places."""

    path: tuple[str, ...]
    """The path with which the paths of fields of the message and of payloads end."""
    message: bool = True
    records: tuple[str, ...] = ()
    """The path within a batch."""
    header: str | None = None
    """The key of record headers."""
    decoded: str = ""
    """The part of a record, key or value, whose decoded data is the value if it is not an object or a list."""
    payloads: bool = False
    """True if payloads and decoded records of Kafka's own topics may contain the value."""

    @property
    def deep(self) -> bool:
        """Return whether records have to be read, not only their batches."""
        return self.header is not None or self.payloads or self.records[:1] == (RECORDS,)


def places_of(name: Name, fields: FieldNames, *, of_batches: bool = False) -> Places:
    """Return the places of the values of a name. With `of_batches`, rows are batches instead of messages."""
    if name.header is not None:
        return Places(("value",), message=False, header=name.header)
    parts = tuple(name.text.removeprefix(".").split("."))
    if parts[0] == PAYLOADS and len(parts) > 1:
        return Places(parts[1:], message=False, payloads=True)
    if path := _from_batch(parts):
        decoded = path[1] if path[0] == RECORDS and path[1:2] and path[1] in _READ else ""
        if decoded and len(path) > 2:
            path = (RECORDS, "decoded", decoded, "data", *path[2:])
            decoded = ""
        return Places(parts, message=False, records=path, decoded=decoded)
    if len(parts) == 1 and parts[0] in BATCH + RECORD and parts[0] != RECORDS:
        message = not of_batches and fields.in_frames(parts[0])
        decoded = parts[0] if parts[0] in _READ else ""
        records = parts if parts[0] in BATCH else (RECORDS, *parts)
        return Places(parts, message=message, records=records, decoded=decoded)
    if of_batches or parts[0] in ROOTS or all(part in BY_NAME or fields.in_frames(part) for part in parts):
        return Places(parts)
    return Places(parts, payloads=any(part in fields and not fields.in_frames(part) for part in parts))


def _from_batch(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path within a batch of a name with several parts: the parts after `records`, or a path within a
    record. It is empty if the name does not refer to batches.
    """
    if parts[0] in _READ | _BELOW:
        return (RECORDS, *parts) if len(parts) > 1 else ()
    if RECORDS not in parts[:-1]:
        return ()
    tail = parts[parts.index(RECORDS) + 1 :]
    return tail if tail[0] in BATCH else (RECORDS, *tail)


def values_of(column: Column | None, places: Places, rows: Rows) -> tuple[str, ...]:
    """Return all values of a column or field with fixed names as values; empty for other columns and fields.

    A filter of frames may also contain the kinds of batches, so that it works for captures and segments together.
    """
    if column is not None:
        if column.name != "kind":
            return column.values
        return KINDS_OF_BATCHES if rows == "batches" else (*dict.fromkeys((*column.values, *KINDS_OF_BATCHES)),)
    fixed = len(places.records) == 1 and not (places.message or places.payloads)
    return _VALUES.get(places.records[0], ()) if fixed else ()


def values_in(places: Places) -> Callable[[Row], Any]:
    """Return what gives the values of a name in a row."""
    path = places.path
    if places == Places(path):
        return lambda row: values_at(row.fields(), path)
    return lambda row: _values(places, row)


def _values(places: Places, row: Row) -> Iterator[Any]:
    if places.message:
        yield from values_at(row.fields(), places.path)
    yield from opened_values(places, row)


def opened_values(places: Places, row: Row, *, whole: bool = False) -> Iterator[Any]:
    """Return the values of a name in batches, records, headers and payloads; an array as one value if `whole`."""
    batches = row.batches(deep=places.deep) if places.deep or places.records else []
    if places.decoded:
        yield from (_read(record, places.decoded) for record in below(batches, (RECORDS,)))
    elif places.records:
        yield from below(batches, places.records, whole=whole)
    if places.header is not None:
        yield from [
            record_header["value"]
            for record_header in below(batches, (RECORDS, "headers"))
            if record_header["key"] == places.header
        ]
    if places.payloads:
        document = {PAYLOADS: row.payloads(), "decoded": below(batches, (RECORDS, "decoded"))}
        yield from values_at(document, places.path, whole=whole)


def _read(record: Mapping[str, Any], part: str) -> Any:
    """Return the decoded key or value of a record if it is a number or text, otherwise its bytes."""
    data = ((record.get("decoded") or {}).get(part) or {}).get("data")
    return record.get(part) if data is None or isinstance(data, dict | list) else data


BESIDE = frozenset({UNKNOWN_KEY, "tag", "data"})
"""Keys of the JSON form that no definition has: the tagged fields that are unknown."""


_INSIDE = ("path", "type", "version", "data", "key", "value", "coordinatorEpoch", "code", "offset", "detail")
"""Keys inside a batch's JSON form that no definition has: of payloads, control records and anomalies."""


def unknown_part(name: Name, fields: FieldNames, rows: Rows = "frames") -> str | None:
    """Return the reason why a name is neither a column of the rows nor the path of a field; None if the name is one.

    A part that is misspelt selects nothing, and nothing would report it. So each part has to exist somewhere in the
    rows; whether the parts fit together is not examined.
    """
    if name.header is not None:
        is_key = rows == "batches" or not name.header.isalnum() or name.text.endswith(("'", '"'))
        near = "" if is_key else did_you_mean(close_to(name.header, FRAME_HEADER))
        return near and f"no field of a frame's header is called {name.header}{near}"
    parts = tuple(name.text.removeprefix(".").split("."))
    path = _from_batch(parts)
    if fields.any_in_records and len(path) > 2 and path[0] == RECORDS and path[1] in {*_READ, "decoded"}:
        return None
    keys = [*BATCH, *RECORD, *_INSIDE, *BESIDE, PAYLOADS]
    if rows != "batches":
        keys += (*ROOTS, *(BY_NAME if len(parts) == 1 else ()))
    if rows != "frames" and len(parts) == 1:
        keys += sorted(OF_BATCHES)
    is_in_message = rows != "batches" or RECORDS in parts[:-1]
    is_field = fields.__contains__ if is_in_message else fields.in_payloads
    wrong = next((part for part in parts if part not in keys and not is_field(part)), None)
    if wrong is None:
        return None
    near = did_you_mean(close_to(wrong, [*keys, *(fields if is_in_message else fields.of_payloads())]))
    if rows == "batches" and name.text in BY_NAME:
        return f"{wrong} is a column of frames, and batches and records have no such field{near}"
    if rows == "frames":
        return f"no {'column and no ' if len(parts) == 1 else ''}field is called {wrong}{near}"
    return f"no batch or record has a field called {wrong}{near}"


def column_of(name: Name, fields: FieldNames, rows: Rows) -> Column | None:
    """Return the column that a name stands for; None if it is the path of a field.

    Batches have few columns: `topic` is a field of their records, and a column of frames only if no record has such a
    field.
    """
    column = BY_NAME.get(name.text)
    if column is None or rows == "frames" or name.text in OF_BATCHES:
        return column
    return None if rows == "batches" or _in_batches(name.text, fields) else column


def _in_batches(part: str, fields: FieldNames) -> bool:
    """Return whether a key of a batch's JSON form, its records and their payloads included, has this name."""
    return part in BATCH or part in RECORD or part in _INSIDE or part in BESIDE or fields.in_payloads(part)
