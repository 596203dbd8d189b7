"""The JSON of a definition read into the model, with every problem noted.

Unreadable keys are reported and skipped, so that one run of `kwire lint` lists all problems. Each part of the result
keeps its place in the JSON for further findings.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.spec.files import Report, Spot
from kwire_cli.spec.model import NONE, Encoding, FieldSpec, MessageSpec, StructSpec, Versions, trim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.spec.files import Finding


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


class JsonObject(NamedTuple):
    """An object of a definition. Each key is read as its type, and unreadable values are reported."""

    values: Mapping[str, Any]
    spot: Spot
    report: Report

    def add(self, rule: str, message: str, key: str = "") -> Finding:
        """Report a violation in the object, or in one of its keys."""
        return self.report.add(rule, message, self.spot.key(key) if key else self.spot)

    def has(self, key: str) -> bool:
        """Return whether a key has a value. To Kafka a blank text and null are the same as an absent key."""
        value = self.values.get(key)
        return value is not None and not (isinstance(value, str) and not trim(value))

    def refuse(self, key: str, takes: str, value: object) -> None:
        """Report a value that is not what a key takes."""
        self.add("KEY_TYPE", f"{key} takes {takes}, not {_kind(value)}", key)

    def text(self, key: str, names: Sequence[str] = ()) -> str | None:
        """Return the text of a key, or one of the names for its index; None if the key is absent or JSON's null."""
        value = _choice(self.values.get(key), names) if names else self.values.get(key)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            return str(value)
        self.refuse(key, "a text", value)
        return None

    def versions(self, key: str) -> Versions | None:
        """Return the version range of a key; None if it is absent, empty or unreadable."""
        value = self.text(key)
        return self.span(value, self.spot.key(key)) if value and trim(value) else None

    def span(self, text: str, spot: Spot) -> Versions | None:
        """Return the version range in a string; None if it is unreadable."""
        try:
            return Versions.parse(text)
        except ValueError as error:
            self.report.add("VERSIONS_SYNTAX", str(error), spot)
            return None

    def integer(self, key: str) -> int | None:
        """Return the integer of a key; None if it is absent or unreadable."""
        value = self.values.get(key)
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
        self.refuse(key, "an integer", value)
        return None

    def boolean(self, key: str) -> bool:
        """Return the truth value of a key; False if it is absent or unreadable."""
        value = self.values.get(key)
        if value is None or isinstance(value, int):
            return bool(value)
        if isinstance(value, str) and trim(value) in _BOOLEANS:
            return _BOOLEANS[trim(value)]
        self.refuse(key, "true or false", value)
        return False

    def items(self, key: str) -> Iterator[JsonObject]:
        """Yield the objects in the list of a key; a single object may stand for a list of one."""
        value = self.values.get(key)
        if value is None:
            return
        single = not isinstance(value, list)
        for index, item in enumerate([value] if single else value):
            if not isinstance(item, dict):
                self.refuse(key, "a list of objects", item)
                continue
            name = item.get("name")
            at = self.spot.item(key, index, name if isinstance(name, str) else "")
            yield JsonObject(item, at._replace(keys=(*self.spot.keys, key)) if single else at, self.report)

    def spans(self, key: str) -> Iterator[tuple[Versions, str]]:
        """Yield the version ranges that are the keys of the object of a key, each with its text."""
        for text in self.values[key]:
            span = self.span(text, self.spot.key(key).key(text))
            if span is not None:
                yield span, text


def _choice(value: Any, names: Sequence[str]) -> Any:
    """Return one of the names for its index, which Jackson accepts, or for its text; any other value as it is."""
    plain = trim(value) if isinstance(value, str) else value
    number = plain if type(plain) is int else None
    if isinstance(plain, str) and plain in _INDEXES:
        number = int(plain)
    return names[number] if number is not None and 0 <= number < len(names) else plain


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else ascii(value)[:40]


# The `encoding` and `elementEncoding` keys: KAFKA-9927's varint encodings of integers, and kwire's extension
# of them to arrays.

OWN_WIDTH = ("fixed", "packed", "upacked")
"""Encodings without a width: they have the width of the field's type."""


ENCODING_NAMES = (
    "fixed16",
    "fixed32",
    "fixed64",
    "packed16",
    "packed32",
    "packed64",
    "upacked16",
    "upacked32",
    "upacked64",
)
"""fixed: big-endian; packed: zig-zag varint; upacked: unsigned varint of the two's complement at the encoding's own
width."""
ENCODABLE_TYPES = ("int16", "int32", "int64")


def sized_encoding(name: str, element_type: str) -> str:
    """Return an encoding with its width: packed is packed16 for int16, and packed32 for types without encodings."""
    if name not in OWN_WIDTH:
        return name
    return f"{name}{element_type.removeprefix('int') if element_type in ENCODABLE_TYPES else 32}"


def encoding_at(field: FieldSpec, version: int) -> str | None:
    """Return the encoding of an integer field in a version, or None for its type's own layout."""
    return _at(field.encoding, version)


def element_encoding_at(field: FieldSpec, version: int) -> str | None:
    """Return the encoding of the elements of an array of integers in a version, or None for their type's own layout."""
    return _at(field.element_encoding, version)


def _encoding(json: JsonObject, key: str, versions: Versions) -> tuple[Encoding, ...]:
    """Return the encodings of a key: a name for all of the field's versions, or an object of version ranges with
    names.
    """
    value = json.values.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        return (Encoding(versions, value),)
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value.values()):
        json.add("KEY_TYPE", f"{key} takes a name, or an object of version ranges with names", key)
        return ()
    return tuple(Encoding(span, value[text]) for span, text in json.spans(key))


def _at(rows: tuple[Encoding, ...], version: int) -> str | None:
    return next((row.name for row in rows if version in row.versions), None)


# Read the JSON of a definition into the model: leniently, noting every problem in a report and going on with
# the likeliest meaning.

ENTITIES = ("unknown", "transactionalId", "producerId", "groupId", "topicName", "brokerId")
TYPES = ("request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value")


class Item(NamedTuple):
    """A field as read: the model's field, its JSON object, and the sub-fields likewise."""

    spec: FieldSpec
    json: JsonObject
    items: tuple[Item, ...] = ()
    optional: bool = False
    """True if it is in `optionalFields`, the key of KIP-482's earlier draft."""

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
    json: JsonObject
    items: tuple[Item, ...]


class Definition(NamedTuple):
    """A message definition as read."""

    spec: MessageSpec
    json: JsonObject
    items: tuple[Item, ...]
    structs: tuple[Struct, ...]

    @property
    def top(self) -> tuple[Item, ...]:
        """The fields of the message and of its common structs."""
        struct_items: list[Item] = []
        for struct in self.structs:
            struct_items += struct.items
        return (*self.items, *struct_items)

    def by_path(self) -> Iterator[tuple[str, Item]]:
        """Yield every field with its path, as `fields_by_path`; the fields of a common struct wherever it is used."""
        common = {struct.spec.name: struct.items for struct in self.structs}
        waiting = [("", item) for item in reversed(self.items)]
        while waiting:
            above, item = waiting.pop()
            path = above + item.spec.json_name
            yield path, item
            inner = item.items or common.get(item.spec.struct_name or "", ())
            waiting += [(f"{path}[]." if item.spec.is_array else f"{path}.", each) for each in reversed(inner)]

    def walk(self) -> Iterator[Item]:
        """Yield every field of the message and of its common structs, at any depth."""
        for item in self.top:
            yield from item.walk()

    def walk_generated(self) -> Iterator[Item]:
        """Yield every field for which Kafka's generator may write a class, at any depth."""
        for item in self.top:
            yield from item.walk_generated()


def read_definition(value: object, report: Report) -> Definition | None:
    """Read parsed JSON as a definition; None if it is not an object."""
    if not isinstance(value, dict):
        report.add("NOT_AN_OBJECT", "a definition is a JSON object", Spot())
        return None
    json = JsonObject(value, Spot(), report)
    valid = json.versions("validVersions")
    flexible = json.versions("flexibleVersions") or NONE
    fields = _fields(json, flexible)
    structs = tuple(_struct(each, flexible) for each in json.items("commonStructs"))
    spec = MessageSpec(
        name=json.text("name") or "",
        type=json.text("type", TYPES) or "",
        valid_versions=valid if valid is not None else NONE,
        flexible_versions=flexible,
        fields=tuple(item.spec for item in fields),
        api_key=json.integer("apiKey"),
        deprecated_versions=json.versions("deprecatedVersions") or NONE,
        common_structs=tuple(struct.spec for struct in structs),
        listeners=_listeners(json),
        latest_version_unstable=json.boolean("latestVersionUnstable"),
        header_versions=_header_versions(json),
        file=report.file,
    )
    return Definition(spec, json, fields, structs)


def _struct(json: JsonObject, flexible: Versions) -> Struct:
    fields = _fields(json, flexible)
    spec = StructSpec(
        name=json.text("name") or "",
        versions=json.versions("versions") or NONE,
        fields=tuple(item.spec for item in fields),
        deprecated_versions=json.versions("deprecatedVersions") or NONE,
    )
    return Struct(spec, json, fields)


def _fields(json: JsonObject, flexible: Versions) -> tuple[Item, ...]:
    plain = [_field(field, flexible) for field in json.items("fields")]
    optional = [_field(field, flexible, optional=True) for field in json.items("optionalFields")]
    return (*plain, *optional)


def _field(json: JsonObject, flexible: Versions, *, optional: bool = False) -> Item:
    items = _fields(json, flexible)
    tag = json.integer("tag")
    present = json.versions("versions")
    tagged = json.versions("taggedVersions")
    if tagged is None:
        # KIP-482: a tag without versions applies to all flexible versions of the message, or of the field if it has
        # any.
        tagged = NONE
        if tag is not None:
            tagged = flexible if present is None else flexible & present
    if present is None:
        present = tagged
    kind = trim(json.text("type") or "")
    spec = FieldSpec(
        name=json.text("name") or "",
        type=f"[]{trim(kind[2:])}" if kind.startswith("[]") else kind,
        versions=present,
        nullable_versions=json.versions("nullableVersions") or NONE,
        tagged_versions=tagged,
        tag=tag,
        flexible_versions=json.versions("flexibleVersions"),
        default=json.text("default"),
        ignorable=json.boolean("ignorable"),
        map_key=json.boolean("mapKey"),
        zero_copy=json.boolean("zeroCopy"),
        entity_type=json.text("entityType", ENTITIES),
        fields=tuple(item.spec for item in items),
        encoding=_encoding(json, "encoding", present),
        element_encoding=_encoding(json, "elementEncoding", present),
        about=json.text("about") or "",
    )
    return Item(spec, json, items, optional)


def _listeners(json: JsonObject) -> tuple[str, ...]:
    value = json.values.get("listeners")
    given = value if isinstance(value, list) else [value]
    if value is None:
        given = []
    names = [_choice(name, ("broker", "controller")) for name in given]
    if not all(isinstance(name, str) for name in names):
        json.add("KEY_TYPE", "listeners is a list of names", "listeners")
    return tuple(name for name in names if isinstance(name, str))


def _header_versions(json: JsonObject) -> tuple[tuple[Versions, int], ...]:
    value = json.values.get("headerVersions")
    if value is None:
        return ()
    if not isinstance(value, dict):
        json.add("KEY_TYPE", "headerVersions is an object of version ranges", "headerVersions")
        return ()
    numbers = JsonObject(value, json.spot.key("headerVersions"), json.report)
    rows = ((span, numbers.integer(text)) for span, text in json.spans("headerVersions"))
    return tuple((span, number) for span, number in rows if number is not None)
