"""Rules of a message's keys, its structs, its fields, their encodings and tags.

Each function checks one subject in a whole definition, and reports violations at their keys. All rules are checked for
every definition; `rules` then selects the violations that the rule book contains.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from kwire_cli.spec.kafka import API_VERSIONS
from kwire_cli.spec.model import (
    FIXED_TYPES,
    MAX,
    MAX_FIELDS,
    MAX_NESTING,
    NONE,
    PRIMITIVE_TYPES,
    Versions,
    is_java_literal,
    joined,
    parse_default,
)
from kwire_cli.spec.reading import ENCODABLE_TYPES, ENCODING_NAMES, ENTITIES, TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire_cli.spec.model import Encoding, FieldSpec
    from kwire_cli.spec.reading import Definition, Item, Struct


# KAFKA-9927's four load errors, for `encoding` and for kwire's `elementEncoding`.


def encoding_rules(definition: Definition) -> None:
    """Report faults of encodings."""
    for item in definition.walk():
        for key, rows, fits in (
            ("encoding", item.spec.encoding, item.spec.type in ENCODABLE_TYPES),
            (
                "elementEncoding",
                item.spec.element_encoding,
                item.spec.is_array and item.spec.element_type in ENCODABLE_TYPES,
            ),
        ):
            if item.json.has(key):
                _encoding(key, rows, item, fits=fits)


def _encoding(key: str, rows: tuple[Encoding, ...], item: Item, *, fits: bool) -> None:
    if not fits:
        array = "an array of " if key == "elementEncoding" else ""
        item.json.add("ENCODING_TYPE", f"{key} needs {array}{', '.join(ENCODABLE_TYPES)}, not {item.spec.type}", key)
    for row in rows:
        if row.name not in ENCODING_NAMES:
            item.json.add("ENCODING_NAME", f"{row.name!a} is none of {', '.join(ENCODING_NAMES)}", key)
    # A range that occurs twice is one key of a parsed object: only the text shows that there were two.
    twice = any(keys[:-1] == (*item.json.spot.keys, key) for keys, _ in item.json.report.duplicates)
    spans = sorted(row.versions for row in rows if row.versions)
    if twice or any(left.high >= right.low for left, right in pairwise(spans)):
        item.json.add("ENCODING_OVERLAP", "two version ranges overlap", key)
    if joined(spans) != (item.spec.versions,):
        text = f"the ranges are together not exactly the field's versions, {item.spec.versions}"
        item.json.add("ENCODING_RANGES", text, key)


# Rules of a field by itself (Kafka's FieldSpec, FieldType, EntityType).

ENTITY_TYPES = dict(zip(ENTITIES, (None, "string", "int64", "string", "string", "int32"), strict=True))


def field_rules(definition: Definition) -> None:
    """Report faults of single fields, and duplicate names."""
    for item in definition.walk():
        _presence(item)
        _type(item)
        _default(item)
        _flexible(item, definition.spec.flexible_versions)
        _distinct_names(item.items)
    _distinct_names(definition.items)
    for struct in definition.structs:
        _distinct_names(struct.items)
    for item in definition.items:
        if item.spec.map_key:
            item.json.add("MAP_KEY_TOP_LEVEL", "a field of the message itself cannot be a mapKey", "mapKey")


def _presence(item: Item) -> None:
    field = item.spec
    if not field.name:
        item.json.add("FIELD_NAME_MISSING", "the field has no name")
    elif not (field.name.isascii() and field.name.isalnum() and field.name[0].isalpha()):
        item.json.add("FIELD_NAME_INVALID", f"{field.name!a} is not letters and digits, a letter first", "name")
    if not item.json.has("versions") and not field.versions:
        item.json.add("FIELD_VERSIONS_MISSING", "the field has no versions")
    for key, versions in (
        ("versions", field.versions),
        ("nullableVersions", field.nullable_versions),
        ("taggedVersions", field.tagged_versions),
    ):
        if not versions and versions != NONE and key in item.json.values:
            item.json.add("VERSIONS_REVERSED", "this range runs backwards and is taken as none", key)


def _type(item: Item) -> None:
    field = item.spec
    element = field.element_type
    if not field.type:
        item.json.add("FIELD_TYPE_MISSING", "the field has no type")
    elif field.is_array and (not element or element.startswith("[]")):
        item.json.add("FIELD_TYPE_ARRAY", "an array has elements of one type, which cannot be an array", "type")
    elif element not in PRIMITIVE_TYPES and not field.struct_name:
        item.json.add("FIELD_TYPE_UNKNOWN", f"{element!a} is neither a type nor the name of a struct", "type")
    elif field.struct_name and not _IDENTIFIER.fullmatch(element):
        item.json.add("STRUCT_NAME_INVALID", f"{element!a} is not {_LETTERS}", "type")
    if field.nullable_versions and field.type in FIXED_TYPES:
        item.json.add("NULLABLE_TYPE", f"the type {field.type} cannot be null", "nullableVersions")
    if item.items and not field.struct_name:
        rule = "SUBFIELDS_IGNORED" if field.is_array else "SUBFIELDS_ON_NON_STRUCT"
        item.json.add(rule, f"the type {field.type} has no sub-fields", "fields")
    if field.zero_copy and field.type != "bytes":
        item.json.add("ZERO_COPY_TYPE", "only bytes can be zeroCopy", "zeroCopy")
    if field.zero_copy and field.tag is not None:
        item.json.add("ZERO_COPY_TAGGED", "a tagged field cannot be zeroCopy", "zeroCopy")
    if field.entity_type is not None:
        _entity_type(field, item)


def _entity_type(field: FieldSpec, item: Item) -> None:
    if field.entity_type not in ENTITY_TYPES:
        item.json.add(
            "ENTITY_TYPE_UNKNOWN", f"{field.entity_type!a} is none of {', '.join(ENTITY_TYPES)}", "entityType"
        )
        return
    expected = ENTITY_TYPES[field.entity_type]
    if expected and expected != field.element_type:
        text = f"{field.entity_type} is a {expected}, not {field.element_type}"
        item.json.add("ENTITY_TYPE_MISMATCH", text, "entityType")


def _default(item: Item) -> None:
    field = item.spec
    if not field.default:
        return
    if field.type == "records" and field.default != "null":
        item.json.add("DEFAULT_IGNORED", f"{field.default!a} is not a default of records", "default")
        return
    try:
        value = parse_default(field)
    except ValueError as error:
        item.json.add("DEFAULT_INVALID", str(error), "default")
        return
    if value is None and field.type != "records" and not field.nullable_versions.covers(field.versions):
        item.json.add("DEFAULT_NULL_NOT_NULLABLE", "the field is not nullable in all its versions", "default")
    if type(value) is int and not is_java_literal(field.default):
        item.json.add("DEFAULT_IN_JAVA", f"{field.default!a} is another number in Java, or does not compile", "default")


def _flexible(item: Item, of_message: Versions) -> None:
    key = "flexibleVersions"
    flexible = item.spec.flexible_versions
    if flexible is None:
        if item.json.values.get(key):
            item.json.add("VERSIONS_SYNTAX", "a blank text is not a version range", key)
        return
    if item.spec.type not in {"string", "bytes"}:
        item.json.add("FIELD_FLEXIBLE_TYPE", "only string and bytes have flexibleVersions of their own", key)
    reversed_range = not flexible and flexible != NONE
    if reversed_range or not of_message.covers(flexible):
        item.json.add("FIELD_FLEXIBLE_NOT_SUBSET", f"{flexible} is not within the message's {of_message}", key)


def _distinct_names(items: Iterable[Item]) -> None:
    names: dict[str, set[str]] = {}
    for item in items:
        same = names.setdefault(item.spec.json_name, set())
        if item.spec.name in same:
            item.json.add("FIELD_NAME_DUPLICATE", f"another field here has the name {item.spec.name!a}")
        elif same:
            item.json.add("FIELD_NAME_CASE", f"another field here has the name {', '.join(sorted(same))!a}")
        same.add(item.spec.name)


# Rules of tagged fields (Kafka's FieldSpec, StructSpec, MessageDataGenerator; KIP-482 and its draft).

_MAX_TAG = 2**31 - 1
"""KIP-482: a tag is a 31-bit number."""


def tag_rules(definition: Definition) -> None:
    """Report faults of tagged fields, and of the tags of each struct."""
    groups = [definition.items, *(struct.items for struct in definition.structs)]
    for item in definition.walk():
        _keys(item)
        if item.spec.tag is not None:
            _tagged(item, definition.spec.flexible_versions)
        elif not item.spec.tagged_versions and item.spec.tagged_versions != NONE:
            item.json.add("TAGGED_NOT_FLEXIBLE", "a range that runs backwards", "taggedVersions")
        groups.append(item.items)
    for group in groups:
        _numbers(group)


def _keys(item: Item) -> None:
    field = item.spec
    has_versions = item.json.has("taggedVersions")
    if field.tag is None:
        if field.tagged_versions:
            item.json.add("TAGGED_VERSIONS_WITHOUT_TAG", "taggedVersions needs a tag", "taggedVersions")
        if item.optional:
            item.json.add("DRAFT_TAG_MISSING", "a field in optionalFields has a tag")
        return
    if not 0 <= field.tag <= _MAX_TAG:
        item.json.add("TAG_RANGE", f"{field.tag} is not from 0 to {_MAX_TAG}", "tag")
    if not has_versions or not field.tagged_versions:
        item.json.add("TAG_WITHOUT_TAGGED_VERSIONS", "a tag needs taggedVersions", "tag")
    elif not item.json.has("versions"):
        item.json.add(
            "KIP482_VERSIONS_MISSING",
            "KIP-482 requires versions where taggedVersions appears",
            "taggedVersions",
        )
    if not item.optional:
        item.json.add("DRAFT_TAG_OUTSIDE", "the draft has tagged fields in optionalFields", "tag")


def _tagged(item: Item, of_message: Versions) -> None:
    field = item.spec
    key = "taggedVersions"
    tagged = field.tagged_versions
    if field.map_key:
        item.json.add("TAG_MAP_KEY", "a tagged field cannot be a mapKey", "mapKey")
    if field.is_array:
        item.json.add("DRAFT_TAGGED_ARRAY", "the draft forbids tagged arrays", "type")
    if tagged and tagged.high != MAX:
        item.json.add("TAGGED_VERSIONS_CLOSED", "taggedVersions is not open-ended", key)
    if not field.versions.covers(tagged):
        item.json.add("TAGGED_NOT_IN_VERSIONS", f"{tagged} is not within the field's {field.versions}", key)
    flexible = of_message if field.flexible_versions is None else field.flexible_versions
    if not flexible.covers(tagged):
        item.json.add("TAGGED_NOT_FLEXIBLE", f"{tagged} is not within the flexible versions, {flexible}", key)
    both = field.nullable_versions & tagged
    if both and both != tagged:
        item.json.add(
            "TAGGED_PARTLY_NULLABLE",
            "a tagged field is nullable in all its tagged versions or in none",
            "nullableVersions",
        )


def _numbers(items: Sequence[Item]) -> None:
    tags: set[int] = set()
    for item in items:
        tag = item.spec.tag
        if tag is None:
            continue
        if tag in tags:
            item.json.add("TAG_DUPLICATE", f"another field here has the tag {tag}", "tag")
        tags.add(tag)
    for item in items:
        if item.spec.tag is not None and item.spec.tag >= len(tags):
            item.json.add(
                "TAG_NOT_CONTIGUOUS",
                f"{len(tags)} tags run from 0 to {len(tags) - 1}, but this is {item.spec.tag}",
                "tag",
            )


# Rules of a message's own keys (Kafka's MessageSpec, HeaderVersions).

LISTENERS = frozenset({"zkBroker", "broker", "controller"})
_KEYED = frozenset({"request", "response", "metadata", "coordinator-key", "coordinator-value"})
_HEADERS = {"request": 3, "response": 1}
"""The newest header version: 3 is KIP-1313's."""
_FLEXIBLE_HEADERS = {"request": 2, "response": 1}
_IDENTIFIER = re.compile("[A-Za-z][A-Za-z0-9_]*")
_LETTERS = "letters, digits and underscores, a letter first"


def message_rules(definition: Definition) -> None:
    """Report faults of the message's own keys."""
    _name_and_type(definition)
    _message_versions(definition)
    _request_keys(definition)
    if definition.json.has("headerVersions"):
        _header_versions(definition)


def _name_and_type(definition: Definition) -> None:
    spec = definition.spec
    if definition.json.values.get("name") is None:
        definition.json.add("NAME_MISSING", "the message has no name")
    elif not _IDENTIFIER.fullmatch(spec.name):
        definition.json.add("MESSAGE_NAME_INVALID", f"{spec.name!a} is not {_LETTERS}", "name")
    elif spec.type in {"request", "response"} and not spec.name.endswith(spec.type.capitalize()):
        definition.json.add(
            f"NAME_{spec.type.upper()}_SUFFIX",
            f"the name of a {spec.type} ends in {spec.type.capitalize()}",
            "name",
        )
    if not spec.type:
        definition.json.add("TYPE_MISSING", "the message has no type")
    elif spec.type not in TYPES:
        definition.json.add("TYPE_UNKNOWN", f"{spec.type!a} is none of {', '.join(TYPES)}", "type")
    if spec.api_key is None and spec.type in _KEYED:
        definition.json.add("API_KEY_MISSING", f"a {spec.type} message has an apiKey")
    elif spec.api_key is not None and not -MAX - 1 <= spec.api_key <= MAX:
        definition.json.add("API_KEY_RANGE", f"{spec.api_key} is not an int16", "apiKey")


def _message_versions(definition: Definition) -> None:
    spec = definition.spec
    if not definition.json.has("validVersions"):
        definition.json.add("VALID_VERSIONS_MISSING", "the message has no validVersions")
    elif spec.valid_versions and spec.valid_versions.high == MAX:
        definition.json.add("VALID_VERSIONS_OPEN", "validVersions has no upper end", "validVersions")
    if definition.json.values.get("flexibleVersions") is None:
        if spec.valid_versions:
            definition.json.add("FLEXIBLE_VERSIONS_MISSING", "the message has no flexibleVersions")
    elif spec.flexible_versions and spec.flexible_versions.high != MAX:
        definition.json.add(
            "FLEXIBLE_VERSIONS_CLOSED", "flexibleVersions is neither none nor open-ended", "flexibleVersions"
        )
    for key, versions in (("validVersions", spec.valid_versions), ("flexibleVersions", spec.flexible_versions)):
        if not versions and versions != NONE:
            definition.json.add("VERSIONS_REVERSED", "this range runs backwards and is taken as none", key)
    if spec.type == "coordinator-key":
        if spec.valid_versions != Versions(0, 0):
            definition.json.add(
                "COORDINATOR_KEY_VERSIONS",
                "a coordinator-key has the version 0 and no other",
                "validVersions",
            )
        if spec.flexible_versions:
            definition.json.add(
                "COORDINATOR_KEY_FLEXIBLE", "a coordinator-key has no flexible versions", "flexibleVersions"
            )


def _request_keys(definition: Definition) -> None:
    spec = definition.spec
    for name in spec.listeners:
        if name not in LISTENERS:
            definition.json.add("LISTENER_UNKNOWN", f"{name!a} is none of {', '.join(sorted(LISTENERS))}", "listeners")
        elif name == "zkBroker":
            definition.json.add("LISTENER_REMOVED", "Kafka has no listener zkBroker since 4.0", "listeners")
    if spec.type == "request":
        return
    if spec.listeners:
        definition.json.add("LISTENERS_ON_NON_REQUEST", "only requests have listeners", "listeners")
    if spec.latest_version_unstable:
        definition.json.add(
            "UNSTABLE_ON_NON_REQUEST",
            "only requests have an unstable latest version",
            "latestVersionUnstable",
        )


def _header_versions(definition: Definition) -> None:
    spec = definition.spec
    at = "headerVersions"
    if spec.type not in _HEADERS or not spec.valid_versions:
        definition.json.add(
            "HEADER_VERSIONS_TYPE", "only requests and responses with valid versions have headerVersions", at
        )
        return
    expected = 0
    before = 0
    for versions, header in spec.header_versions:
        if versions.low != expected:
            definition.json.add("HEADER_VERSIONS_RANGE", f"{versions} does not start at {expected}", at)
        expected = versions.high + 1
        if not 0 <= header <= _HEADERS[spec.type]:
            definition.json.add("HEADER_VERSIONS_VALUE", f"there is no {spec.type} header of version {header}", at)
        if versions.low > spec.valid_versions.high:
            definition.json.add(
                "HEADER_VERSIONS_BEYOND_VALID", f"{versions} starts above the highest valid version", at
            )
        if header < before:
            definition.json.add("HEADER_VERSIONS_DECREASING", f"{header} comes after {before}", at)
        before = header
        _header_kind(definition, versions, header)
    if expected != MAX + 1:
        definition.json.add("HEADER_VERSIONS_RANGE", "the last range must be open-ended", at)


def _header_kind(definition: Definition, versions: Versions, header: int) -> None:
    spec = definition.spec
    at = "headerVersions"
    if (spec.type, spec.api_key) == ("response", API_VERSIONS):
        # KIP-511: a client must be able to read this response in any version that the broker answers with.
        if header:
            definition.json.add(
                "HEADER_VERSIONS_API_VERSIONS", "the response of api key 18 always has header version 0", at
            )
    elif header < _FLEXIBLE_HEADERS[spec.type] and versions & spec.flexible_versions & spec.valid_versions:
        definition.json.add(
            "HEADER_VERSIONS_NOT_FLEXIBLE",
            f"header version {header} is not flexible, but versions in {versions} are",
            at,
        )


# Rules of structs: the place of their description (Kafka's StructRegistry).


def struct_rules(definition: Definition) -> None:
    """Report faults in the description of structs."""
    common = {struct.spec.name: struct for struct in definition.structs}
    _common_structs(definition)
    _inline_structs(definition, common)
    _size(definition, common)


def _common_structs(definition: Definition) -> None:
    names: set[str] = set()
    for struct in definition.structs:
        name = struct.spec.name
        if name and not _IDENTIFIER.fullmatch(name):
            struct.json.add("STRUCT_NAME_INVALID", f"{name!a} is not {_LETTERS}", "name")
        elif not name[:1].isupper():
            struct.json.add("STRUCT_NAME", "a common struct's name starts with a capital letter")
        if not struct.json.has("versions"):
            struct.json.add("STRUCT_VERSIONS_MISSING", "a common struct has versions")
        if name in names:
            struct.json.add("STRUCT_DUPLICATE", f"another struct is called {name!a}", "name")
        names.add(name)


def _inline_structs(definition: Definition, common: dict[str, Struct]) -> None:
    in_common: set[tuple[str | int, ...]] = set()
    for struct in definition.structs:
        for top in struct.items:
            in_common.update(item.json.spot.keys for item in top.walk())
    names: set[str] = set()
    for item in definition.walk_generated():
        name = item.spec.struct_name
        if not name:
            continue
        if item.items and not item.json.has("versions"):
            item.json.add("STRUCT_VERSIONS_MISSING", "a field with sub-fields has versions, even beside taggedVersions")
        if name in common:
            if item.items:
                item.json.add("STRUCT_INLINE_AND_COMMON", f"{name} is a common struct", "fields")
            continue
        if item.json.spot.keys in in_common:
            item.json.add("STRUCT_NOT_COMMON", f"a common struct uses {name}, so that must be common too", "type")
        elif name in names:
            item.json.add(
                "STRUCT_DUPLICATE",
                f"the struct {name} is described or used before; only a common one may be shared",
                "type",
            )
        elif not item.items:
            item.json.add("STRUCT_EMPTY", f"the struct {name} is described nowhere", "type")
        names.add(name)


def _size(definition: Definition, common: dict[str, Struct]) -> None:
    """Report structs that contain themselves, and layouts that are too large written out."""
    counts: dict[str, int] = {}
    heights: dict[str, int] = {}

    def measure(items: Iterable[Item], above: tuple[str, ...], depth: int) -> tuple[int, int]:
        count = 0
        height = 0
        for item in items:
            name = item.spec.struct_name
            inner = 0
            rise = 0
            if depth >= MAX_NESTING:
                item.json.add("STRUCT_TOO_LARGE", f"structs nest deeper than {MAX_NESTING} levels")
            elif name in above:
                item.json.add("STRUCT_RECURSIVE", f"the struct {name} contains itself")
            elif item.items:
                inner, rise = measure(item.items, above, depth + 1)
            elif name in common:
                if name not in counts:
                    counts[name], heights[name] = measure(common[name].items, (*above, name), depth + 1)
                inner = counts[name]
                rise = heights[name]
                if depth + 1 + rise > MAX_NESTING:
                    item.json.add("STRUCT_TOO_LARGE", f"structs nest deeper than {MAX_NESTING} levels")
            count, height = min(count + 1 + inner, MAX_FIELDS + 1), max(height, rise + 1)
        return count, height

    total, _ = measure(definition.items, (), 0)
    for struct in definition.structs:
        if struct.spec.name not in counts:
            total += measure(struct.items, (struct.spec.name,), 1)[0]
    if total > MAX_FIELDS:
        definition.items[0].json.add("STRUCT_TOO_LARGE", f"the layout has more than {MAX_FIELDS} fields")
