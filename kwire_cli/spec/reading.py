"""Read the JSON of a definition into the model: leniently, noting every problem in a report and going on with the likeliest meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.spec.encodings import read_encoding
from kwire_cli.spec.findings import Report, Spot
from kwire_cli.spec.model import FieldSpec, MessageSpec, StructSpec
from kwire_cli.spec.scalars import boolean, integer, items, text, versions
from kwire_cli.spec.versions import NONE, Versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TYPES = ("request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value")
MESSAGE_KEYS = frozenset({
    "name", "type", "validVersions", "deprecatedVersions", "flexibleVersions", "apiKey", "fields", "commonStructs", "listeners",
    "latestVersionUnstable", "headerVersions", "about", "optionalFields",
})  # fmt: skip
STRUCT_KEYS = frozenset({"name", "versions", "deprecatedVersions", "fields", "about", "optionalFields"})
FIELD_KEYS = frozenset({
    "name", "versions", "fields", "type", "mapKey", "nullableVersions", "default", "ignorable", "entityType", "about",
    "taggedVersions", "flexibleVersions", "tag", "zeroCopy", "encoding", "elementEncoding", "optionalFields",
})  # fmt: skip


class Item(NamedTuple):
    """A field as read: the model's field, the JSON object it came from, where that lies, and the sub-fields likewise."""

    spec: FieldSpec
    keys: Mapping[str, Any]
    spot: Spot
    items: tuple[Item, ...] = ()
    optional: bool = False
    """Whether it stood under `optionalFields`, the key of KIP-482's earlier draft."""

    def walk(self) -> Iterator[Item]:
        """Yield this field and every one below it."""
        yield self
        for item in self.items:
            yield from item.walk()


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
        for item in (*self.items, *(item for struct in self.structs for item in struct.items)):
            yield from item.walk()


def read_definition(value: object, report: Report) -> Definition | None:
    """Read parsed JSON as a definition; None where it is no JSON object."""
    top = Spot()
    if not isinstance(value, dict):
        report.add("NOT_AN_OBJECT", "a definition is a JSON object", top)
        return None
    _unknown_keys(value, MESSAGE_KEYS, top, report)
    valid = versions(value, "validVersions", top, report)
    flexible = versions(value, "flexibleVersions", top, report) or NONE
    fields = _fields(value, flexible, top, report)
    structs = tuple(_struct(keys, flexible, spot, report) for keys, spot in items(value, "commonStructs", top, report))
    spec = MessageSpec(
        name=text(value, "name", top, report) or "",
        type=text(value, "type", top, report) or "",
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
    _unknown_keys(keys, STRUCT_KEYS, spot, report)
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
    optional = [_field(field, flexible, at, report, optional=True) for field, at in items(keys, "optionalFields", spot, report)]
    return (*plain, *optional)


def _field(keys: Mapping[str, Any], flexible: Versions, spot: Spot, report: Report, *, optional: bool = False) -> Item:
    _unknown_keys(keys, FIELD_KEYS, spot, report)
    subfields = _fields(keys, flexible, spot, report) if "fields" in keys or "optionalFields" in keys else ()
    tag = integer(keys, "tag", spot, report)
    present = versions(keys, "versions", spot, report)
    tagged = versions(keys, "taggedVersions", spot, report)
    if tagged is None:
        # KIP-482: a tag alone stands for all flexible versions of the message (of the field, if it says which it has).
        tagged = NONE if tag is None else flexible if present is None else flexible & present
    if present is None:
        present = tagged
    spec = FieldSpec(
        name=text(keys, "name", spot, report) or "",
        type=text(keys, "type", spot, report) or "",
        versions=present,
        nullable_versions=versions(keys, "nullableVersions", spot, report) or NONE,
        tagged_versions=tagged,
        tag=tag,
        flexible_versions=versions(keys, "flexibleVersions", spot, report),
        default=text(keys, "default", spot, report),
        ignorable=boolean(keys, "ignorable", spot, report),
        map_key=boolean(keys, "mapKey", spot, report),
        zero_copy=boolean(keys, "zeroCopy", spot, report),
        entity_type=text(keys, "entityType", spot, report),
        fields=tuple(item.spec for item in subfields),
        encoding=read_encoding(keys, "encoding", present, spot, report),
        element_encoding=read_encoding(keys, "elementEncoding", present, spot, report),
    )
    return Item(spec, keys, spot, subfields, optional)


def _unknown_keys(keys: Mapping[str, Any], known: frozenset[str], spot: Spot, report: Report) -> None:
    if keys.keys() <= known:
        return
    for key in keys.keys() - known:
        report.add("UNKNOWN_KEY", f"{key!a} is not a key of this grammar", spot.key(key))


def _listeners(keys: Mapping[str, Any], spot: Spot, report: Report) -> tuple[str, ...]:
    value = keys.get("listeners")
    names = value if isinstance(value, list) else [] if value is None else [value]
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
