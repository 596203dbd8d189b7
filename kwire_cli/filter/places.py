"""Where the values of a name are: in the message, in its batches and records, or in the payloads that it carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from kwire_cli.filter.columns import BY_NAME
from kwire_cli.filter.paths import ROOTS, below, values_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.filter.nodes import Name

Rows: TypeAlias = Literal["frames", "batches", "either"]
"""The rows that a filter chooses among. `either`: batches of a command that shows frames too, whose filter may name what frames alone have."""
BATCH = (
    *("position", "size", "baseOffset", "lastOffset", "magic", "crc", "crcValid", "compression", "timestampType", "maxTimestamp"),
    *("producerId", "producerEpoch", "baseSequence", "partitionLeaderEpoch", "isTransactional", "isControl", "deleteHorizonMs", "count"),
    *("records", "anomalies", "gap"),
)
"""The keys of a batch or gap in JSON."""
RECORD = ("offset", "timestamp", "sequence", "keySize", "valueSize", "key", "value", "headers", "decoded", "control")
"""The keys of a record in JSON."""
RECORDS, PAYLOADS = "records", "payloads"
FRAME_HEADER = ("headerVersion", "requestApiKey", "requestApiVersion", "correlationId", "clientId", "unknownTaggedFields")
"""The fields of a frame's header; any other key behind `header.` is that of a record's header."""
_BELOW = frozenset({"headers", "decoded", "control"})


class Fields(Protocol):
    """The names of all fields that there are; going through them may take longer than asking for one."""

    def __contains__(self, name: str, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def in_frames(self, name: str, /) -> bool:
        """Return whether a header, request or response has a field of this name."""

    def in_payloads(self, name: str, /) -> bool:
        """Return whether another definition has a field of this name: a record of Kafka's own topics, or a payload."""

    def of_payloads(self) -> Iterator[str]:
        """Return the names of the fields of these definitions."""


class Opened(Protocol):
    """A row whose fields can be asked for."""

    def fields(self) -> Mapping[str, Any]:
        """Header and body in JSON form."""

    def batches(self, *, deep: bool) -> list[dict[str, Any]]:
        """The batches and gaps in its records fields in JSON form, with their records if `deep`; keys, values and headers are bytes."""

    def payloads(self) -> list[dict[str, Any]]:
        """What is decoded of messages in its fields."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the values of a name are; a name may be in several places."""

    path: tuple[str, ...]
    """Of fields of the message, and of payloads: the path that theirs end with."""
    message: bool = True
    records: tuple[str, ...] = ()
    """The path from a batch."""
    header: str | None = None
    """The key of record headers."""
    payloads: bool = False
    """Whether payloads, and what records of Kafka's own topics mean, may have it."""

    @property
    def deep(self) -> bool:
        """Whether records have to be read, not only the batches that they are in."""
        return self.header is not None or self.payloads or self.records[:1] == (RECORDS,)


def places_of(name: Name, fields: Fields | None, *, of_batches: bool = False) -> Places:
    """Return where the values of a name are. With `of_batches` rows are batches, and not messages that may hold some."""
    if name.header is not None:
        return Places(("value",), message=False, header=name.header)
    parts = tuple(name.text.removeprefix(".").split("."))
    if RECORDS in parts[:-1]:
        tail = parts[parts.index(RECORDS) + 1 :]
        return Places(parts, message=False, records=tail if tail[0] in BATCH else (RECORDS, *tail))
    if parts[0] == PAYLOADS and len(parts) > 1:
        return Places(parts[1:], message=False, payloads=True)
    if parts[0] in _BELOW and len(parts) > 1:
        return Places(parts, message=False, records=(RECORDS, *parts))
    if len(parts) == 1 and parts[0] in BATCH + RECORD and parts[0] != RECORDS:
        message = not of_batches and (fields is None or fields.in_frames(parts[0]))
        return Places(parts, message=message, records=parts if parts[0] in BATCH else (RECORDS, *parts))
    if fields is not None and parts[0] not in ROOTS and not all(part in BY_NAME or fields.in_frames(part) for part in parts):
        return Places(parts, message=True, payloads=any(part in fields and not fields.in_frames(part) for part in parts))
    return Places(parts)


def values_in(places: Places) -> Callable[[Opened], Any]:
    """Return what gives the values of a name in a row."""
    path = places.path
    if places == Places(path):
        return lambda row: values_at(row.fields(), path)
    return lambda row: _values(places, row)


def _values(places: Places, row: Opened) -> Iterator[Any]:
    if places.message:
        yield from values_at(row.fields(), places.path)
    yield from opened_values(places, row)


def opened_values(places: Places, row: Opened, *, whole: bool = False) -> Iterator[Any]:
    """Return the values of a name in batches, records, headers and payloads; an array as one value if `whole`."""
    batches = row.batches(deep=places.deep) if places.deep or places.records else []
    if places.records:
        yield from below(batches, places.records, whole=whole)
    if places.header is not None:
        yield from [each["value"] for each in below(batches, (RECORDS, "headers")) if each["key"] == places.header]
    if places.payloads:
        found = {PAYLOADS: row.payloads(), "decoded": below(batches, (RECORDS, "decoded"))}
        yield from values_at(found, places.path, whole=whole)
