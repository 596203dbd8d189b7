"""Rules of a field by itself (Kafka's FieldSpec, FieldType, EntityType)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.spec.defaults import has_leading_zero, parse_default
from kwire_cli.spec.model import FIXED_TYPES, PRIMITIVE_TYPES
from kwire_cli.spec.scalars import stated
from kwire_cli.spec.versions import NONE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.spec.findings import Report
    from kwire_cli.spec.model import FieldSpec
    from kwire_cli.spec.reading import Definition, Item

ENTITY_TYPES = {
    "unknown": None,
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}


def field_rules(definition: Definition) -> None:
    """Report what is wrong with fields taken by themselves, and with names that two share."""
    report = definition.report
    for item in definition.walk():
        _presence(item, report)
        _type(item, report)
        _default(item, report)
        _flexible(item, definition)
        _distinct_names(item.items, report)
    _distinct_names(definition.items, report)
    for struct in definition.structs:
        _distinct_names(struct.items, report)
    for item in definition.items:
        if item.spec.map_key:
            report.add("MAP_KEY_TOP_LEVEL", "a field of the message itself cannot be a mapKey", item.spot.key("mapKey"))


def _presence(item: Item, report: Report) -> None:
    field = item.spec
    if not field.name:
        report.add("FIELD_NAME_MISSING", "the field has no name", item.spot)
    elif not (field.name.isascii() and field.name.isalnum() and field.name[0].isalpha()):
        report.add("FIELD_NAME_INVALID", f"{field.name!a} is not letters and digits, a letter first", item.spot.key("name"))
    if not any(stated(item.keys, key) for key in ("versions", "taggedVersions", "tag")):
        report.add("FIELD_VERSIONS_MISSING", "the field has no versions", item.spot)
    for key, versions in (("versions", field.versions), ("nullableVersions", field.nullable_versions), ("taggedVersions", field.tagged_versions)):
        if not versions and versions != NONE and key in item.keys:
            report.add("VERSIONS_REVERSED", "this range runs backwards and is taken as none", item.spot.key(key))


def _type(item: Item, report: Report) -> None:
    field, spot = item.spec, item.spot
    element = field.element_type
    if not field.type:
        report.add("FIELD_TYPE_MISSING", "the field has no type", spot)
    elif field.is_array and (not element or element.startswith("[]")):
        report.add("FIELD_TYPE_ARRAY", "an array has elements of one type, which cannot be an array", spot.key("type"))
    elif element not in PRIMITIVE_TYPES and not (field.struct_name and element.isascii() and element.isalnum()):
        report.add("FIELD_TYPE_UNKNOWN", f"{element!a} is neither a type nor the name of a struct", spot.key("type"))
    if field.nullable_versions and field.type in FIXED_TYPES:
        report.add("NULLABLE_TYPE", f"the type {field.type} cannot be null", spot.key("nullableVersions"))
    if item.items and not field.struct_name:
        report.add("SUBFIELDS_ON_NON_STRUCT", f"the type {field.type} has no sub-fields", spot.key("fields"))
    if field.zero_copy and field.type != "bytes":
        report.add("ZERO_COPY_TYPE", "only bytes can be zeroCopy", spot.key("zeroCopy"))
    if field.zero_copy and field.tag is not None:
        report.add("ZERO_COPY_TAGGED", "a tagged field cannot be zeroCopy", spot.key("zeroCopy"))
    if field.entity_type is not None:
        _entity_type(field, item, report)


def _entity_type(field: FieldSpec, item: Item, report: Report) -> None:
    spot = item.spot.key("entityType")
    if field.entity_type not in ENTITY_TYPES:
        report.add("ENTITY_TYPE_UNKNOWN", f"{field.entity_type!a} is none of {', '.join(ENTITY_TYPES)}", spot)
        return
    expected = ENTITY_TYPES[field.entity_type]
    if expected and expected != field.element_type:
        report.add("ENTITY_TYPE_MISMATCH", f"{field.entity_type} is a {expected}, not {field.element_type}", spot)


def _default(item: Item, report: Report) -> None:
    field, spot = item.spec, item.spot.key("default")
    if not field.default:
        return
    try:
        value = parse_default(field)
    except ValueError as error:
        report.add("DEFAULT_INVALID", str(error), spot)
        return
    if value is None and not field.nullable_versions.covers(field.versions):
        report.add("DEFAULT_NULL_NOT_NULLABLE", "the field is not nullable in all its versions", spot)
    if isinstance(value, int) and has_leading_zero(field.default):
        report.add("DEFAULT_OCTAL", f"Kafka's generated code takes {field.default} for an octal number", spot)


def _flexible(item: Item, definition: Definition) -> None:
    flexible, spot = item.spec.flexible_versions, item.spot.key("flexibleVersions")
    if flexible is None:
        return
    if item.spec.type not in {"string", "bytes"}:
        definition.report.add("FIELD_FLEXIBLE_TYPE", "only string and bytes have flexibleVersions of their own", spot)
    if not definition.spec.flexible_versions.covers(flexible):
        definition.report.add("FIELD_FLEXIBLE_NOT_SUBSET", f"{flexible} is not within the message's {definition.spec.flexible_versions}", spot)


def _distinct_names(items: Iterable[Item], report: Report) -> None:
    seen: set[str] = set()
    for item in items:
        name = item.spec.json_name
        if name and name in seen:
            report.add("FIELD_NAME_DUPLICATE", f"another field here is called {item.spec.name!a}", item.spot)
        seen.add(name)
