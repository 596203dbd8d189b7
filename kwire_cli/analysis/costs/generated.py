"""Generated values for messages and records, as examples whose size can be computed.

A message is generated field by field. The name of a field determines its value: an id follows from the position of its
array element, and other fields get the value that they usually have. The result is the same in every run, so that
prices can be compared between runs.
"""

from __future__ import annotations

import base64
import random
import re
import uuid
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError, did_you_mean
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import items, source_of
from kwire_cli.records.writing import write_each
from kwire_cli.spec.model import INTEGER_RANGES, default_value, inside
from kwire_cli.structs.numbers import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.spec.model import FieldSpec, MessageSpec


USUAL = {"brokers": 3, "replicas": 3, "topics": 1, "partitions": 1}
"""The roles of arrays, which are names in --make, with the default number of elements."""
ROLES = f"{', '.join(USUAL)} and paths of fields"


MOST_ELEMENTS = 1 << 20
"""Maximum number of elements of a generated message. More elements are refused."""
MOST_BYTES = 64 << 20
"""Maximum number of bytes in strings of a requested size. More bytes are refused."""
_REPLICAS = frozenset({"replicas", "isr", "replicaNodes", "isrNodes", "brokerIds", "newIsr"})
_PARTITION_ID = frozenset({"partitionIndex", "partition", "partitionId"})
_BROKER_ID = frozenset({"nodeId", "brokerId"})
_SIZED = frozenset({"string", "bytes", "records"})
_NUMBERS = (
    (r"error[cC]ode$|[eE]rrorCode$|^throttleTimeMs$", 0),
    (r"[eE]poch$", 5),
    (r"[tT]imestamp(Ms)?$|TimeMs$", 1_700_000_000_000),
    (r"[oO]ffset$|^highWatermark$", 1_000_000),
    (r"Ms$", 30_000),
    (r"^minBytes$", 1),
    (r"Bytes$", 1 << 20),
    (r"^port$", 9092),
    (r"^producerId$", 1000),
    (r"^acks$", -1),
    (r"^numPartitions$|^replicationFactor$", 3),
    (r"^max(Supported)?Version", 9),
)
"""The usual values of integer fields, by a pattern of the name. The first match counts.

A field that matches no pattern has its default. A field with a default keeps it, unless it is an epoch.
"""
_TEXTS = {
    "host": "broker-{broker}.example.com",
    "rack": "rack-{broker}",
    "clusterId": "MkU3OEVBNTcwNTJENDM2Qg",
    "groupId": "group-{n}",
    "memberId": "consumer-group-{n}-1-0b7e6e5c-4f0b-4e8d-9c5e-5a4b3c2d1e0f",
    "clientId": "client-{n}",
}


class Place(NamedTuple):
    """A field whose number of elements or bytes can be chosen: an array, string, bytes, records or nullable struct.

    `role` is the key of USUAL of an array, or None.
    """

    path: str
    field: FieldSpec
    role: str | None


def places_of(spec: MessageSpec, version: int) -> dict[str, Place]:
    """Return the fields of a message at a version that can have any number of elements or bytes, by path."""
    places: dict[str, Place] = {}

    def walk(fields: Sequence[FieldSpec], above: str) -> None:
        for field in fields:
            path = above + field.json_name
            if version not in field.versions:
                continue
            if field.is_array or field.struct_name or field.type in _SIZED:
                places[path] = Place(path, field, _role(spec, field, version))
            if field.struct_name:
                walk(spec.struct_fields(field), inside(path, field))

    walk(spec.fields, "")
    return places


def counts_for(spec: MessageSpec, version: int, roles: Mapping[str, int], paths: Mapping[str, int]) -> dict[str, int]:
    """Return the number of elements of each array of a message, and of bytes of each string in `paths`.

    Raises InputError if a field does not exist, if no array has one of the roles, or if the message would be too large.
    """
    places = places_of(spec, version)
    _check(spec, version, places, roles, paths)
    counts: dict[str, int] = {}
    for path, place in places.items():
        if path in paths:
            counts[path] = paths[path]
        elif place.role and place.role in roles:
            counts[path] = roles[place.role]
        elif place.field.is_array and not _is_tagged(place.field, version):
            counts[path] = USUAL[place.role] if place.role else int(not _is_rare(place.field))
    _check_size(places, counts)
    return counts


def generate(spec: MessageSpec, version: int, counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the values of a message at a version in JSON form. `counts` is the result of `counts_for`.

    A tagged field is left out unless it, or a field in it, has a count.
    """
    return _Generator(spec, version, counts).struct(spec.fields, "", {})


class _Generator:
    """Generates the values of one message.

    The argument `at` of the methods contains the indexes of the array elements around a field. The key is the role of
    the array. The index in the innermost array is `n`.
    """

    def __init__(self, spec: MessageSpec, version: int, counts: Mapping[str, int]) -> None:
        self.spec = spec
        self.version = version
        self.counts = counts
        self.roles = {path: place.role for path, place in places_of(spec, version).items()}
        brokers = [counts.get(path, 0) for path, role in self.roles.items() if role == "brokers"]
        self.brokers = max(brokers, default=0) or USUAL["brokers"]

    def struct(self, fields: Sequence[FieldSpec], above: str, at: dict[str, int]) -> dict[str, Any]:
        """Return the fields of a struct. `above` is the beginning of their paths."""
        out = {}
        for field in fields:
            path = above + field.json_name
            is_counted = path in self.counts or self.has_counts(field, path)
            if self.version in field.versions and (is_counted or not _is_tagged(field, self.version)):
                out[field.json_name] = self.field(field, path, at)
        return out

    def has_counts(self, field: FieldSpec, path: str) -> bool:
        """Return whether a field in a struct or array of structs has a count."""
        return any(counted.startswith(inside(path, field)) for counted in self.counts)

    def field(self, field: FieldSpec, path: str, at: dict[str, int]) -> Any:
        """Return the value of a field."""
        if field.is_array:
            role = self.roles[path]
            indexes = [{"n": n, role: n} if role else {"n": n} for n in range(self.counts.get(path, 0))]
            return [self.one(field, path, at | index) for index in indexes]
        size = self.counts.get(path, 0)
        if field.struct_name and self.version in field.nullable_versions and field.default == "null":
            return self.one(field, path, at) if size or self.has_counts(field, path) else None
        if path in self.counts and not field.struct_name:
            return "x" * size if field.type == "string" else base64.b64encode(bytes(size)).decode("ascii")
        return self.one(field, path, at)

    def one(self, field: FieldSpec, path: str, at: dict[str, int]) -> Any:
        """Return the value of a field that is not an array, or of an element of an array."""
        if field.struct_name:
            return self.struct(self.spec.struct_fields(field), inside(path, field), at)
        n = at.get("n", 0)
        kind = field.element_type
        if kind in INTEGER_RANGES:
            return self.number(field, at)
        if kind == "string":
            return self.text(field, at)
        if kind == "uuid":
            place = ".".join(f"{role}{number}" for role, number in at.items())
            return uuid_text(uuid.uuid5(uuid.NAMESPACE_OID, f"{field.json_name}.{place}").bytes)
        if kind == "bytes":
            return None if field.default == "null" else base64.b64encode(bytes([n % 256] * 16)).decode("ascii")
        if kind == "records":
            return None if self.version in field.nullable_versions else ""
        return default_value(replace(field, type=kind, default=None) if field.is_array else field)

    def number(self, field: FieldSpec, at: dict[str, int]) -> int:
        """Return an integer by the name of its field.

        An id follows from the position of its array element. Other fields get their usual value, or their default if
        no usual value is known.
        """
        name = field.json_name
        low, high = INTEGER_RANGES[field.element_type]
        if field.is_array and field.entity_type != "brokerId":
            return at["n"] % (high + 1)
        if name in _PARTITION_ID or (name == "index" and "partitions" in at):
            return at.get("partitions", 0)
        if (field.entity_type == "brokerId" and name != "replicaId") or name in _BROKER_ID:
            if "brokers" in at:
                return at["brokers"] + 1
            return (at.get("partitions", 0) + (at["n"] if field.is_array else 0)) % self.brokers + 1
        if name == "apiKey":
            return at.get("n", 0)
        usual = next((number for pattern, number in _NUMBERS if re.search(pattern, name)), None)
        if usual is not None and low <= usual <= high and (field.default is None or name[-5:].lower() == "epoch"):
            return usual
        return int(default_value(field)) if not field.is_array else 0

    def text(self, field: FieldSpec, at: dict[str, int]) -> str | None:
        """Return a string by the name of its field. A nullable field with an unknown name is null."""
        n = at.get("n", 0)
        if field.entity_type == "topicName" or field.json_name in {"topic", "topicName"}:
            return f"topic-{at.get('topics', 0)}"
        if field.json_name in _TEXTS:
            return _TEXTS[field.json_name].format(n=n, broker=at.get("brokers", 0) + 1)
        if self.version in field.nullable_versions and not field.is_array:
            return None
        return f"{field.json_name}-{n}" if field.default is None or field.is_array else field.default


def _is_tagged(field: FieldSpec, version: int) -> bool:
    return field.tag is not None and version in field.tagged_versions


def _is_rare(field: FieldSpec) -> bool:
    """Return whether an array is empty most of the time.

    Such arrays are replicas that are offline or moving, and topics that a session forgets.
    """
    is_other_replica = field.entity_type == "brokerId" and field.json_name not in _REPLICAS
    return field.json_name.startswith("forgotten") or is_other_replica


def _role(spec: MessageSpec, field: FieldSpec, version: int) -> str | None:
    """Return the key of USUAL of an array. Return None for other fields and arrays."""
    if not field.is_array or _is_rare(field):
        return None
    name = field.json_name
    if field.entity_type == "brokerId":
        return "replicas"
    if field.element_type == "string":
        return "topics" if field.entity_type == "topicName" and name != "sourceTopics" else None
    subs = {sub.json_name: sub for sub in spec.struct_fields(field) if version in sub.versions}
    if "host" in subs and subs.keys() & _BROKER_ID:
        return "brokers"
    if subs.keys() & _PARTITION_ID:
        return "partitions"
    if any(sub.entity_type == "topicName" or sub.json_name in {"topicId", "topicName"} for sub in subs.values()):
        return "topics"
    return "partitions" if name.lower().startswith("partition") else None


def _check_size(places: Mapping[str, Place], counts: Mapping[str, int]) -> None:
    totals = {True: 0, False: 0}
    for path in counts:
        total = 1
        for above, number in counts.items():
            total *= number if path == above or path.startswith(f"{above}[].") else 1
        totals[places[path].field.type in _SIZED] += total
    for is_sized, what, most in ((False, "elements", MOST_ELEMENTS), (True, "bytes", MOST_BYTES)):
        if totals[is_sized] > most:
            raise InputError(f"{totals[is_sized]} {what} are too many: at most {most} are generated")


def _check(
    spec: MessageSpec, version: int, places: Mapping[str, Place], roles: Mapping[str, int], paths: Mapping[str, int]
) -> None:
    known = {place.role for place in places.values()}
    for role in roles:
        if role not in known:
            arrays = ", ".join(path for path, place in places.items() if place.field.is_array)
            takes = arrays or "none: it has no arrays"
            raise InputError(f"{spec.name} {version} has no array of {role}; --make PATH=N takes {takes}")
    for path in paths:
        if path not in places:
            close = did_you_mean(get_close_matches(path, places, n=3, cutoff=0.4))
            raise InputError(
                f"--make takes {ROLES}, and {spec.name} {version} has no array, string or bytes field {path!a}{close}"
            )


# Generated records of requested sizes, for prices without an input.

FIRST_TIMESTAMP = 1_760_000_000_000


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
_PIECE = 1000
"""Maximum number of records that are generated and written at once."""
_PIECE_BYTES = 16 << 20
"""Maximum number of bytes that are generated at once, unless a single record is larger."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Number and sizes of the records to generate. Their timestamps are one millisecond apart.

    Sizes are in bytes, None for null. Each record has one header of `header_size` bytes for each name in
    `header_names`.
    """

    records: int
    key_size: int | None
    value_size: int | None
    header_names: tuple[str, ...] = ()
    header_size: int = 0


def generated(wanted: Wanted) -> Iterator[Batch]:
    """Yield batches of format v2 with these records."""
    source = random.Random(wanted.records)  # noqa: S311 - example data, the same in every run
    size = (wanted.key_size or 0) + (wanted.value_size or 0) + len(wanted.header_names) * wanted.header_size
    piece = max(1, min(_PIECE, _PIECE_BYTES // max(size, 1)))
    for first in range(0, wanted.records, piece):
        rows = [_row(source, wanted, number) for number in range(first, min(first + piece, wanted.records))]
        for data in write_each([{"baseOffset": first, "records": rows}]):
            yield from (item for item in items(source_of(data)) if isinstance(item, Batch))


def _row(source: random.Random, wanted: Wanted, number: int) -> dict[str, Any]:
    return {
        "timestamp": FIRST_TIMESTAMP + number,
        "key": _text(source, wanted.key_size),
        "value": _text(source, wanted.value_size),
        "headers": [{"key": name, "value": _text(source, wanted.header_size)} for name in wanted.header_names],
    }


def _text(source: random.Random, size: int | None) -> dict[str, str] | None:
    return None if size is None else {"text": "".join(source.choices(_LETTERS, k=size))}
