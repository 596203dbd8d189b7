"""Rules of tagged fields (Kafka's FieldSpec, StructSpec, MessageDataGenerator; KIP-482 and its draft)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.spec.scalars import stated
from kwire_cli.spec.versions import MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.spec.findings import Report
    from kwire_cli.spec.reading import Definition, Item

_MAX_TAG = 2**31 - 1
"""KIP-482: a tag is a 31-bit number."""


def tag_rules(definition: Definition) -> None:
    """Report what is wrong with tagged fields, and with the tags of each struct."""
    report = definition.report
    groups = [definition.items, *(struct.items for struct in definition.structs)]
    for item in definition.walk():
        _keys(item, report)
        if item.spec.tag is not None:
            _tagged(item, definition)
        groups.append(item.items)
    for group in groups:
        _numbers(group, report)


def _keys(item: Item, report: Report) -> None:
    field, spot = item.spec, item.spot
    has_versions = stated(item.keys, "taggedVersions")
    if field.tag is None:
        if has_versions:
            report.add("TAGGED_VERSIONS_WITHOUT_TAG", "taggedVersions needs a tag", spot.key("taggedVersions"))
        if item.optional:
            report.add("DRAFT_TAG_MISSING", "a field in optionalFields has a tag", spot)
        return
    if not 0 <= field.tag <= _MAX_TAG:
        report.add("TAG_RANGE", f"{field.tag} is not from 0 to {_MAX_TAG}", spot.key("tag"))
    if not has_versions:
        report.add("TAG_WITHOUT_TAGGED_VERSIONS", "a tag needs taggedVersions", spot.key("tag"))
    elif not stated(item.keys, "versions"):
        report.add("KIP482_VERSIONS_MISSING", "KIP-482 requires versions where taggedVersions appears", spot.key("taggedVersions"))
    if not item.optional:
        report.add("DRAFT_TAG_OUTSIDE", "the draft has tagged fields in optionalFields", spot.key("tag"))


def _tagged(item: Item, definition: Definition) -> None:
    field, report, spot = item.spec, definition.report, item.spot.key("taggedVersions")
    tagged = field.tagged_versions
    if field.map_key:
        report.add("TAG_MAP_KEY", "a tagged field cannot be a mapKey", item.spot.key("mapKey"))
    if field.is_array:
        report.add("DRAFT_TAGGED_ARRAY", "the draft forbids tagged arrays", item.spot.key("type"))
    if field.type == "records":
        report.add("TAGGED_RECORDS", "records cannot be tagged", item.spot.key("type"))
    if tagged and tagged.high != MAX:
        report.add("TAGGED_VERSIONS_CLOSED", "taggedVersions is not open-ended", spot)
    if not field.versions.covers(tagged):
        report.add("TAGGED_NOT_IN_VERSIONS", f"{tagged} is not within the field's {field.versions}", spot)
    flexible = definition.spec.flexible_versions if field.flexible_versions is None else field.flexible_versions
    if not flexible.covers(tagged):
        report.add("TAGGED_NOT_FLEXIBLE", f"{tagged} is not within the flexible versions, {flexible}", spot)
    both = field.nullable_versions & tagged
    if both and both != tagged:
        report.add("TAGGED_PARTLY_NULLABLE", "a tagged field is nullable in all its tagged versions or in none", item.spot.key("nullableVersions"))


def _numbers(items: Sequence[Item], report: Report) -> None:
    seen: set[int] = set()
    for item in items:
        tag = item.spec.tag
        if tag is None:
            continue
        if tag in seen:
            report.add("TAG_DUPLICATE", f"another field here has the tag {tag}", item.spot.key("tag"))
        seen.add(tag)
    for item in items:
        if item.spec.tag is not None and item.spec.tag >= len(seen):
            report.add("TAG_NOT_CONTIGUOUS", f"{len(seen)} tags run from 0 to {len(seen) - 1}, but this is {item.spec.tag}", item.spot.key("tag"))
