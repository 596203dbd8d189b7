"""Measurements of KIP-482: messages are written, and read again to see where the bytes went."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.form_comparison import (
    FLEXIBLE,
    INFLEXIBLE,
    TAGGED,
    Choice,
    Comparison,
    difference_by_kind,
    forms_of,
    highest,
)
from kwire_cli.analysis.costs.forms import Form, price, steps, widths, written_form
from kwire_cli.analysis.costs.generated import counts_for, generate
from kwire_cli.errors import EncodeError
from kwire_cli.message.decoded import decode_spec
from kwire_cli.records.batch import base64_text
from kwire_cli.spec.model import MAX, Versions, changed, fields_by_path
from kwire_cli.spec.rules import check
from kwire_cli.structs.lengths import MAX_STRING, UNKNOWN_KEY, ArrayOf, Sized, TagSection
from kwire_cli.structs.numbers import INTS, UVARINT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec

LARGEST = (1 << 31) - 2
"""Elements or bytes that both forms of a count or length can say: the compact one is the number plus one."""
MOST = {"array": LARGEST, "bytes": LARGEST, "string": MAX_STRING}
LENGTHS = {"arrays": "array", "byte buffers": "bytes", "records": "bytes", "strings": "string"}
"""What has a length or count, as the sums of prices call it."""
FOO = """{
  "apiKey": 9000, "type": "response", "name": "FooResponse", "validVersions": "0-9", "flexibleVersions": "9+",
  "fields": [
    { "name": "UserAgent", "type": "string", "tag": 0, "taggedVersions": "9+" },
    { "name": "Foos", "type": "[]Foo", "versions": "0+", "fields": [
      { "name": "Bar", "type": "string", "tag": 0, "taggedVersions": "9+", "default": "hello world" },
      { "name": "Baz", "type": "int16", "versions": "0+" }
    ]}
  ]
}"""
"""The document's example with what is wrong in its JSON put right."""
FAULTS = (
    ("a stray {", '    { "name": "UserAgent"', '    { { "name": "UserAgent"'),
    ("a missing comma", '"versions": "0+", "fields"', '"versions": "0+" "fields"'),
    ("an ellipsis", '"versions": "0+" }\n', '"versions": "0+" }, ...\n'),
)
"""Each of its faults: what is right, and what is printed."""


class Message(NamedTuple):
    """A message to price, with how many there are of what."""

    name: str
    roles: Mapping[str, int]
    paths: Mapping[str, int]

    @property
    def options(self) -> str:
        """As the command takes them."""
        counts = [f"--{role} {number}" for role, number in self.roles.items()] + [
            f"--count {path}={number}" for path, number in self.paths.items()
        ]
        return " ".join([f"-m {self.name}", *counts])


MESSAGES = (
    Message("MetadataResponse", {"brokers": 2, "partitions": 100, "replicas": 2}, {}),
    Message("MetadataRequest", {"topics": 10}, {}),
    Message("FetchRequest", {"partitions": 100}, {}),
    Message("ProduceResponse", {"partitions": 100}, {}),
    Message("OffsetCommitRequest", {"topics": 10, "partitions": 10}, {}),
    Message("ApiVersionsResponse", {}, {"apiKeys": 60}),
    Message("DescribeConfigsResponse", {}, {"results[].configs": 50}),
    Message("HeartbeatRequest", {}, {}),
)


# Lengths and counts


def prefix(kind: str, length: int, *, flexible: bool) -> int:
    """The bytes of a count or length; its number alone is written, so that it may be as large as it likes."""
    layout: Any = (
        ArrayOf(INTS["int8"], compact=flexible, nullable=True)
        if kind == "array"
        else Sized(kind, compact=flexible, nullable=True)
    )
    return len(layout.prefix.build(length + layout.compact))


def saving(kind: str, length: int) -> int:
    """The bytes that the compact form of a count or length saves."""
    return prefix(kind, length, flexible=False) - prefix(kind, length, flexible=True)


def savings(kind: str) -> list[tuple[int, int, int]]:
    """The ranges of lengths with the same saving: from, to, bytes."""
    return [*steps(0, MOST[kind], lambda length: saving(kind, length))]


def compact_lengths(kind: str) -> tuple[int, ...]:
    """Return the first byte of the compact form for null, for an empty value, and for one element or byte."""
    layout: Any = (
        ArrayOf(INTS["int8"], compact=True, nullable=True)
        if kind == "array"
        else Sized(kind, compact=True, nullable=True)
    )
    one = {"array": [0], "bytes": "AA==", "string": "x"}[kind]
    return tuple(layout.build(value)[0] for value in (None, [] if kind == "array" else "", one))


def varint_bytes() -> tuple[int, int]:
    """The fewest and the most bytes of an unsigned varint."""
    sizes = [size for _, _, size in steps(0, UVARINT.high, lambda number: len(UVARINT.build(number)))]
    return min(sizes), max(sizes)


def longer_unsigned() -> int:
    """Return how many numbers take more bytes as an unsigned varint than as a zig-zag one.

    The numbers are those from 0 to 2147483647.
    """
    count = 0
    for low, high, size in widths("int32", "upacked32"):
        for other_low, other_high, other in widths("int32", "packed32"):
            if low >= 0 and size > other:
                count += max(0, min(high, other_high) - max(low, other_low) + 1)
    return count


# Tags


def tag_header(tag: int, size: int) -> int:
    """The bytes before the data of a tagged field."""
    return len(_section([(tag, bytes(size))])) - 1 - size


def tags_on_the_wire(tags: tuple[int, ...]) -> tuple[int, ...]:
    """The order in which fields of these tags, given in this order, are written."""
    parsed = TagSection(()).parse(_section([(tag, b"") for tag in tags]))
    return tuple(field["tag"] for field in parsed[UNKNOWN_KEY])


def largest_tag() -> int:
    """The greatest tag that can be written, of those about a power of two."""

    def can_be(tag: int) -> bool:
        try:
            return bool(_section([(tag, b"")]))
        except EncodeError:
            return False

    return max(tag for bits in (7, 14, 21, 28, 31, 32) for tag in ((1 << bits) - 1, 1 << bits) if can_be(tag))


def _section(fields: list[tuple[int, bytes]]) -> bytes:
    return bytes(TagSection(()).build({UNKNOWN_KEY: [{"tag": tag, "data": base64_text(data)} for tag, data in fields]}))


def absent_fields(catalog: Catalog) -> int:
    """Return the bytes that both kinds of authorized operations would add to MetadataResponse 10.

    They are tagged and at their defaults. The comparison is with a message without them.
    """
    spec = catalog.message("MetadataResponse")
    tagged = changed(spec, lambda _, field: _as_tagged(field) if field.name.endswith("AuthorizedOperations") else field)
    less = changed(
        spec,
        lambda _, field: (
            replace(field, versions=Versions(0, 0)) if field.name.endswith("AuthorizedOperations") else field
        ),
    )
    value = generate(spec, 10, counts_for(spec, 10, MESSAGES[0].roles, {}))
    return _size(tagged, 10, value) - _size(less, 10, value)


def blank_operations(catalog: Catalog, topics: int) -> int:
    """The bytes of authorized operations that nobody asked for, in version 8 of a response with so many topics."""
    spec = catalog.message("MetadataResponse")
    value = generate(spec, 8, counts_for(spec, 8, {"topics": topics}, {}))
    rows = price(Form("as given", spec, 8), value).rows
    return sum(row.value_bytes for row in rows if row.path.endswith("AuthorizedOperations"))


def kept(catalog: Catalog) -> bool:
    """Return whether bytes with a tag that no definition knows come out as they went in."""
    spec = catalog.message("HeartbeatResponse")
    data = written_form(
        Form("as given", spec, 4), {"throttleTimeMs": 0, "errorCode": 0, UNKNOWN_KEY: [{"tag": 1000, "data": "AAEC"}]}
    )
    decoded = decode_spec(spec, data, 4)
    return not decoded.anomalies and written_form(Form("as given", spec, 4), decoded.value) == data


def tagged_arrays(catalog: Catalog) -> int:
    """Return how many of the shipped tagged fields are arrays of structs."""
    specs = [catalog.message(entry.name) for entry in catalog]
    return sum(
        field.tag is not None and field.is_array and bool(field.struct_name)
        for spec in specs
        for _, field in fields_by_path(spec)
    )


def _as_tagged(field: FieldSpec) -> FieldSpec:
    return replace(field, tag=0, tagged_versions=Versions(0, MAX))


# The example


def violations(rules: str, text: str = FOO) -> tuple[str, ...]:
    """Return the findings of a rule book in the example, by rule and field."""
    return tuple(f"{finding.rule} {finding.path}" for finding in check(text, rules=rules))


def syntax_errors() -> list[tuple[str, str]]:
    """Each fault of the example's JSON put back alone, and the error that it gives."""
    return [(name, check(FOO.replace(right, wrong, 1))[0].message) for name, right, wrong in FAULTS]


def tagged_array_findings(rules: str) -> int:
    """Return how many times a rule book objects to a tagged array."""
    tagged = '"taggedVersions": "9+", ' if rules == "kip482" else ""
    text = FOO.replace(
        '"type": "string", "tag": 0, "taggedVersions": "9+" }',
        f'"type": "[]string", "tag": 0, "versions": "9+", {tagged}"about": "" }}',
        1,
    )
    return sum(finding.rule == "DRAFT_TAGGED_ARRAY" for finding in check(text, rules=rules))


# Messages


class Priced(NamedTuple):
    """A message's bytes: inflexible, flexible, with all fields tagged.

    `lengths` are how many there are of what, and the bytes that compact ones save; `structs` how many structures,
    `sections` the bytes of their tags.
    """

    message: str
    version: int
    inflexible: int
    flexible: int
    tagged: int
    lengths: dict[str, tuple[int, int]]
    structs: int
    sections: int

    @property
    def saved(self) -> int:
        """The bytes that all lengths and counts save."""
        return sum(size for _, size in self.lengths.values())


def priced(catalog: Catalog, message: Message) -> Priced:
    """A message, generated, in these forms."""
    spec, version, value = _values(catalog, message)
    comparison = Comparison(spec.name, version)
    as_given = price(Form("as given", spec, version), value)
    comparison.add(
        as_given, [price(form, value) for form in forms_of(spec, version, Choice(both_ways=True, tagged=True))]
    )
    inflexible, flexible, tagged = (comparison.sums[name] for name in (INFLEXIBLE, FLEXIBLE, TAGGED))
    rows = difference_by_kind(inflexible, flexible)
    lengths = {name: (number, before - after) for name, number, before, after in rows if name in LENGTHS}
    structs, sections = flexible.by_kind["tag sections"]
    return Priced(spec.name, version, inflexible.size, flexible.size, tagged.size, lengths, structs, sections)


def structs_in(value: Any) -> int:
    """Return the number of structures in a message's values."""
    if isinstance(value, dict):
        return 1 + sum(map(structs_in, value.values()))
    return sum(map(structs_in, value)) if isinstance(value, list) else 0


def structs_of(catalog: Catalog, message: Message) -> int:
    """Return the number of structures in a message."""
    return structs_in(_values(catalog, message)[2])


def _values(catalog: Catalog, message: Message) -> tuple[MessageSpec, int, Any]:
    spec = catalog.message(message.name)
    version = highest(spec)
    return spec, version, generate(spec, version, counts_for(spec, version, message.roles, message.paths))


def _size(spec: MessageSpec, version: int, value: Any) -> int:
    return price(Form("as given", spec, version), value).size or 0
