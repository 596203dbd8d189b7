"""The JSON of a definition read into the model, with every problem noted."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.spec.files import Report, Spot
from kwire_cli.spec.model import NONE, Encoding, FieldSpec, MessageSpec, StructSpec, Versions, trim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# The values of a definition's keys, coerced as Kafka's parser (Jackson) coerces them: "0" for 0, "false" for
# false, 1 for "1".

_INDEXES = tuple("0123456789")
_ABSENT = ("", "null")
_BOOLEANS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE", *_ABSENT), False),
}
_NUMBER_DIGITS = 20
"""No number of a definition is longer."""


def stated(keys: Mapping[str, Any], key: str) -> bool:
    """Return whether a key has a value. To Kafka a blank text and null are the same as an absent key."""
    value = keys.get(key)
    return value is not None and not (isinstance(value, str) and not trim(value))


def text(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> str | None:
    """The text under a key; None where it is absent or JSON's null."""
    value = keys.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    report.add("KEY_TYPE", f"{key} takes a text, not {_kind(value)}", spot.key(key))
    return None


def versions(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> Versions | None:
    """The version range under a key; None where it is absent or unreadable. An empty text is the same as an absent one,
    as for Kafka.
    """
    value = text(keys, key, spot, report)
    if not value or not trim(value):
        return None
    try:
        return Versions.parse(value)
    except ValueError as error:
        report.add("VERSIONS_SYNTAX", str(error), spot.key(key))
        return None


def integer(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> int | None:
    """The integer under a key; None where it is absent or none."""
    value = keys.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and isfinite(value):
        return int(value)
    if isinstance(value, str):
        number = trim(value)
        digits = number[1:] if number[:1] in {"+", "-"} else number
        if digits.isdecimal() and len(digits) <= _NUMBER_DIGITS:
            return int(number)
        if number in _ABSENT:
            return None
    report.add("KEY_TYPE", f"{key} takes an integer, not {_kind(value)}", spot.key(key))
    return None


def boolean(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> bool:
    """The truth value under a key; False where it is absent or none."""
    value = keys.get(key)
    if value is None or isinstance(value, int):
        return bool(value)
    if isinstance(value, str) and trim(value) in _BOOLEANS:
        return _BOOLEANS[trim(value)]
    report.add("KEY_TYPE", f"{key} takes true or false, not {_kind(value)}", spot.key(key))
    return False


def choice(value: Any, names: Sequence[str]) -> Any:
    """Return one of the names for its index, which Jackson accepts, or for its text; any other value as it is."""
    if isinstance(value, str):
        value = trim(value)
    number = value if type(value) is int else None
    if isinstance(value, str) and value in _INDEXES:
        number = int(value)
    return names[number] if number is not None and 0 <= number < len(names) else value


def items(keys: Mapping[str, Any], key: str, spot: Spot, report: Report) -> Iterator[tuple[Mapping[str, Any], Spot]]:
    """The objects in the list under a key with their places; a single object may stand for a list of one."""
    value = keys.get(key)
    if value is None:
        return
    single = not isinstance(value, list)
    for index, item in enumerate([value] if single else value):
        if not isinstance(item, dict):
            report.add("KEY_TYPE", f"{key} takes a list of objects, not {_kind(item)}", spot.key(key))
            continue
        name = item.get("name")
        at = spot.item(key, index, name if isinstance(name, str) else "")
        yield item, at._replace(keys=(*spot.keys, key)) if single else at


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else ascii(value)[:40]


# The `encoding` and `elementEncoding` keys: KAFKA-9927's varint encodings of integers, and kwire's extension
# of them to arrays.

OWN_WIDTH = ("fixed", "packed", "upacked")
"""Encodings without a width, where that of the field's type is meant."""


ENCODING_NAMES = tuple(f"{kind}{bits}" for kind in OWN_WIDTH for bits in (16, 32, 64))
"""fixed: big-endian; packed: zig-zag varint; upacked: unsigned varint of the two's complement at the encoding's own
width."""
ENCODABLE_TYPES = ("int16", "int32", "int64")


def encoding_at(field: FieldSpec, version: int) -> str | None:
    """The encoding of an integer field in a version; None where its type's own layout holds."""
    return _at(field.encoding, version)


def element_encoding_at(field: FieldSpec, version: int) -> str | None:
    """The encoding of the elements of an array of integers in a version; None where their type's own layout holds."""
    return _at(field.element_encoding, version)


def read_encoding(
    keys: Mapping[str, Any], key: str, versions: Versions, spot: Spot, report: Report
) -> tuple[Encoding, ...]:
    """The encodings under a key: a name for all of the field's versions, or an object of version ranges with names."""
    value = keys.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        return (Encoding(versions, value),)
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value.values()):
        report.add("KEY_TYPE", f"{key} takes a name, or an object of version ranges with names", spot.key(key))
        return ()
    rows = []
    for span, name in value.items():
        try:
            rows.append(Encoding(Versions.parse(span), name))
        except ValueError as error:
            report.add("VERSIONS_SYNTAX", str(error), spot.key(key).key(span))
    return tuple(rows)


def _at(rows: tuple[Encoding, ...], version: int) -> str | None:
    return next((row.name for row in rows if version in row.versions), None)


# Read the JSON of a definition into the model: leniently, noting every problem in a report and going on with
# the likeliest meaning.

ENTITIES = ("unknown", "transactionalId", "producerId", "groupId", "topicName", "brokerId")
TYPES = ("request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value")


class Item(NamedTuple):
    """A field as read: the model's field, the JSON object it came from, where that lies, and the sub-fields
    likewise.
    """

    spec: FieldSpec
    keys: Mapping[str, Any]
    spot: Spot
    items: tuple[Item, ...] = ()
    optional: bool = False
    """True if it stood under `optionalFields`, the key of KIP-482's earlier draft."""

    def walk(self) -> Iterator[Item]:
        """Yield this field and every one below it."""
        yield self
        for item in self.items:
            yield from item.walk()

    def walk_generated(self) -> Iterator[Item]:
        """Yield this field, and of a struct those below it: Kafka's generator ignores sub-fields of other types."""
        yield self
        for item in self.items if self.spec.struct_name else ():
            yield from item.walk_generated()


class Struct(NamedTuple):
    """A common struct as read."""

    spec: StructSpec
    keys: Mapping[str, Any]
    spot: Spot
    items: tuple[Item, ...]


class Definition(NamedTuple):
    """A message definition as read; `report` holds the problems that reading met."""

    spec: MessageSpec
    keys: Mapping[str, Any]
    items: tuple[Item, ...]
    structs: tuple[Struct, ...]
    report: Report

    def walk(self) -> Iterator[Item]:
        """Every field of the message and of its common structs, at any depth."""
        for item in self._top():
            yield from item.walk()

    def walk_generated(self) -> Iterator[Item]:
        """Every field for which Kafka's generator may write a class, at any depth."""
        for item in self._top():
            yield from item.walk_generated()

    def _top(self) -> Iterator[Item]:
        yield from self.items
        for struct in self.structs:
            yield from struct.items


def read_definition(value: object, report: Report) -> Definition | None:
    """Read parsed JSON as a definition; None where it is no JSON object."""
    top = Spot()
    if not isinstance(value, dict):
        report.add("NOT_AN_OBJECT", "a definition is a JSON object", top)
        return None
    valid = versions(value, "validVersions", top, report)
    flexible = versions(value, "flexibleVersions", top, report) or NONE
    fields = _fields(value, flexible, top, report)
    structs = tuple(_struct(keys, flexible, spot, report) for keys, spot in items(value, "commonStructs", top, report))
    spec = MessageSpec(
        name=text(value, "name", top, report) or "",
        type=text({"type": choice(value.get("type"), TYPES)}, "type", top, report) or "",
        valid_versions=valid if valid is not None else NONE,
        flexible_versions=flexible,
        fields=tuple(item.spec for item in fields),
        api_key=integer(value, "apiKey", top, report),
        deprecated_versions=versions(value, "deprecatedVersions", top, report) or NONE,
        common_structs=tuple(struct.spec for struct in structs),
        listeners=_listeners(value, top, report),
        latest_version_unstable=boolean(value, "latestVersionUnstable", top, report),
        header_versions=_header_versions(value, top, report),
        file=report.file,
    )
    return Definition(spec, value, fields, structs, report)


def _struct(keys: Mapping[str, Any], flexible: Versions, spot: Spot, report: Report) -> Struct:
    fields = _fields(keys, flexible, spot, report)
    spec = StructSpec(
        name=text(keys, "name", spot, report) or "",
        versions=versions(keys, "versions", spot, report) or NONE,
        fields=tuple(item.spec for item in fields),
        deprecated_versions=versions(keys, "deprecatedVersions", spot, report) or NONE,
    )
    return Struct(spec, keys, spot, fields)


def _fields(keys: Mapping[str, Any], flexible: Versions, spot: Spot, report: Report) -> tuple[Item, ...]:
    plain = [_field(field, flexible, at, report) for field, at in items(keys, "fields", spot, report)]
    optional = [
        _field(field, flexible, at, report, optional=True) for field, at in items(keys, "optionalFields", spot, report)
    ]
    return (*plain, *optional)


def _field(keys: Mapping[str, Any], flexible: Versions, spot: Spot, report: Report, *, optional: bool = False) -> Item:
    subfields = _fields(keys, flexible, spot, report) if "fields" in keys or "optionalFields" in keys else ()
    tag = integer(keys, "tag", spot, report)
    present = versions(keys, "versions", spot, report)
    tagged = versions(keys, "taggedVersions", spot, report)
    if tagged is None:
        # KIP-482: a tag alone stands for all flexible versions of the message (of the field, if it says which it has).
        tagged = NONE if tag is None else flexible if present is None else flexible & present
    if present is None:
        present = tagged
    text(keys, "about", spot, report)
    kind = trim(text(keys, "type", spot, report) or "")
    spec = FieldSpec(
        name=text(keys, "name", spot, report) or "",
        type=f"[]{trim(kind[2:])}" if kind.startswith("[]") else kind,
        versions=present,
        nullable_versions=versions(keys, "nullableVersions", spot, report) or NONE,
        tagged_versions=tagged,
        tag=tag,
        flexible_versions=versions(keys, "flexibleVersions", spot, report),
        default=text(keys, "default", spot, report),
        ignorable=boolean(keys, "ignorable", spot, report),
        map_key=boolean(keys, "mapKey", spot, report),
        zero_copy=boolean(keys, "zeroCopy", spot, report),
        entity_type=text({"entityType": choice(keys.get("entityType"), ENTITIES)}, "entityType", spot, report),
        fields=tuple(item.spec for item in subfields),
        encoding=read_encoding(keys, "encoding", present, spot, report),
        element_encoding=read_encoding(keys, "elementEncoding", present, spot, report),
    )
    return Item(spec, keys, spot, subfields, optional)


def _listeners(keys: Mapping[str, Any], spot: Spot, report: Report) -> tuple[str, ...]:
    value = keys.get("listeners")
    given = value if isinstance(value, list) else [] if value is None else [value]
    names = [choice(name, ("broker", "controller")) for name in given]
    if not all(isinstance(name, str) for name in names):
        report.add("KEY_TYPE", "listeners is a list of names", spot.key("listeners"))
    return tuple(name for name in names if isinstance(name, str))


def _header_versions(keys: Mapping[str, Any], spot: Spot, report: Report) -> tuple[tuple[Versions, int], ...]:
    value = keys.get("headerVersions")
    if value is None:
        return ()
    at = spot.key("headerVersions")
    if not isinstance(value, dict):
        report.add("KEY_TYPE", "headerVersions is an object of version ranges", at)
        return ()
    rows = []
    for key in value:
        number = integer(value, key, at, report)
        try:
            span = Versions.parse(key)
        except ValueError as error:
            report.add("VERSIONS_SYNTAX", str(error), at.key(key))
            continue
        if number is not None:
            rows.append((span, number))
    return tuple(rows)
