"""KIP-482 measured: tagged fields and flexible versions. Messages are written, and read again to see where the bytes
went.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
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
from kwire_cli.analysis.papers.claims import Cell, Figures, Table
from kwire_cli.errors import EncodeError
from kwire_cli.message.decoded import decode_spec
from kwire_cli.message.encode import HEADERS, encode_spec, header_spec, header_version
from kwire_cli.records.batch import base64_text
from kwire_cli.spec.kafka import API_VERSIONS, CONTROLLED_SHUTDOWN, METADATA
from kwire_cli.spec.model import MAX, Versions, changed, fields_by_path
from kwire_cli.spec.rules import DEFAULT_BOOK, check
from kwire_cli.structs.lengths import MAX_STRING, UNKNOWN_KEY, ArrayOf, Sized, TagSection
from kwire_cli.structs.numbers import INTS, UVARINT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec

LARGEST = (1 << 31) - 2
"""Elements or bytes that both forms of a count or length can say: the compact one is the number plus one."""
MOST = {"array": LARGEST, "bytes": LARGEST, "string": MAX_STRING}
SAVED_BY_RULE = {"array": 3, "bytes": 3, "string": 1}
"""The saving of each form, as the document states it."""
LENGTHS = {"arrays": "array", "byte buffers": "bytes", "records": "bytes", "strings": "string"}
"""The names that sums of prices give to values with a length or count."""
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
        """Return the counts as options of the command."""
        counts = [f"--{role} {number}" for role, number in self.roles.items()]
        counts += [f"--count {path}={number}" for path, number in self.paths.items()]
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


def _layout(kind: str, *, flexible: bool) -> Any:
    if kind == "array":
        return ArrayOf(INTS["int8"], compact=flexible, nullable=True)
    return Sized(kind, compact=flexible, nullable=True)


def saving(kind: str, length: int) -> int:
    """Return the bytes that the compact form of a count or length saves. Only its number is written, so that it may
    be of any size.
    """
    sizes = [
        len(layout.prefix.build(length + layout.compact))
        for layout in (_layout(kind, flexible=False), _layout(kind, flexible=True))
    ]
    return sizes[0] - sizes[1]


def savings(kind: str) -> list[tuple[int, int, int]]:
    """Return the ranges of lengths with the same saving: from, to, bytes."""
    return [*steps(0, MOST[kind], lambda length: saving(kind, length))]


def _compact_lengths(kind: str) -> tuple[int, ...]:
    """Return the first byte of the compact form for null, for an empty value, and for one element or byte."""
    values = {"array": (None, [], [0]), "bytes": (None, "", "AA=="), "string": (None, "", "x")}[kind]
    return tuple(_layout(kind, flexible=True).build(value)[0] for value in values)


def _longer_unsigned() -> int:
    """Return how many numbers from 0 on take more bytes as an unsigned varint than as a zig-zag one."""
    pairs = ((a, b) for a in widths("int32", "upacked32") for b in widths("int32", "packed32"))
    return sum(
        max(0, min(high, other_high) - max(low, other_low) + 1)
        for (low, high, size), (other_low, other_high, other) in pairs
        if low >= 0 and size > other
    )


# Tags


def _section(fields: list[tuple[int, bytes]]) -> bytes:
    return bytes(TagSection(()).build({UNKNOWN_KEY: [{"tag": tag, "data": base64_text(data)} for tag, data in fields]}))


def _tags_on_the_wire(tags: tuple[int, ...]) -> tuple[int, ...]:
    """Return the order in which fields of these tags, given in this order, are written."""
    parsed = TagSection(()).parse(_section([(tag, b"") for tag in tags]))
    return tuple(field["tag"] for field in parsed[UNKNOWN_KEY])


def _largest_tag() -> int:
    """Return the greatest tag that can be written, of those about a power of two."""

    def can_be(tag: int) -> bool:
        try:
            return bool(_section([(tag, b"")]))
        except EncodeError:
            return False

    return max(tag for bits in (7, 14, 21, 28, 31, 32) for tag in ((1 << bits) - 1, 1 << bits) if can_be(tag))


def _absent_fields(catalog: Catalog) -> int:
    """Return the bytes that both kinds of authorized operations would add to MetadataResponse 10.

    They are tagged and at their defaults. The comparison is with a message without them.
    """
    spec = catalog.message("MetadataResponse")

    def size(**more: Any) -> int:
        def change(_: str, field: FieldSpec) -> FieldSpec:
            return replace(field, **more) if field.name.endswith("AuthorizedOperations") else field

        return price(Form("as given", changed(spec, change), 10), value).size or 0

    value = generate(spec, 10, counts_for(spec, 10, MESSAGES[0].roles, {}))
    return size(tag=0, tagged_versions=Versions(0, MAX)) - size(versions=Versions(0, 0))


def _blank_operations(catalog: Catalog) -> int:
    """Return the bytes of authorized operations that nobody asked for, in version 8 of a response with 10 topics."""
    spec = catalog.message("MetadataResponse")
    value = generate(spec, 8, counts_for(spec, 8, {"topics": 10}, {}))
    rows = price(Form("as given", spec, 8), value).rows
    return sum(row.value_bytes for row in rows if row.path.endswith("AuthorizedOperations"))


def _keeps_unknown_tags(catalog: Catalog) -> bool:
    """Return whether bytes with a tag that no definition knows come out as they went in."""
    form = Form("as given", catalog.message("HeartbeatResponse"), 4)
    tags = {UNKNOWN_KEY: [{"tag": 1000, "data": "AAEC"}]}
    data = written_form(form, {"throttleTimeMs": 0, "errorCode": 0} | tags)
    decoded = decode_spec(form.spec, data, 4)
    return not decoded.anomalies and written_form(form, decoded.value) == data


def _tagged_arrays(catalog: Catalog) -> int:
    """Return how many of the shipped tagged fields are arrays of structs."""
    fields = (field for entry in catalog for _, field in fields_by_path(catalog.message(entry.name)))
    return sum(field.tag is not None and field.is_array and bool(field.struct_name) for field in fields)


# The example


def violations(rules: str, text: str = FOO) -> tuple[str, ...]:
    """Return the findings of a rule book in the example, by rule and field."""
    return tuple(f"{finding.rule} {finding.path}" for finding in check(text, rules=rules))


def syntax_errors() -> list[tuple[str, str]]:
    """Return each fault of the example's JSON put back alone, and the error that it gives."""
    return [(name, check(FOO.replace(right, wrong, 1))[0].message) for name, right, wrong in FAULTS]


def _refused_arrays(rules: str) -> int:
    """Return how many times a rule book objects to a tagged array."""
    tagged = '"taggedVersions": "9+", ' if rules == "kip482" else ""
    text = FOO.replace(
        '"type": "string", "tag": 0, "taggedVersions": "9+" }',
        f'"type": "[]string", "tag": 0, "versions": "9+", {tagged}"about": "" }}',
        1,
    )
    return sum(rule.startswith("DRAFT_TAGGED_ARRAY ") for rule in violations(rules, text))


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
        """Return the bytes that all lengths and counts save."""
        return sum(size for _, size in self.lengths.values())


def priced(catalog: Catalog, message: Message) -> Priced:
    """Return the bytes of a generated message in these forms."""
    spec, version, value = _values(catalog, message)
    comparison = Comparison(spec.name, version)
    comparison.add(
        price(Form("as given", spec, version), value),
        [price(form, value) for form in forms_of(spec, version, Choice(both_ways=True, tagged=True))],
    )
    inflexible, flexible, tagged = (comparison.sums[name] for name in (INFLEXIBLE, FLEXIBLE, TAGGED))
    rows = difference_by_kind(inflexible, flexible)
    lengths = {name: (number, before - after) for name, number, before, after in rows if name in LENGTHS}
    structs, sections = flexible.by_kind["tag sections"]
    return Priced(spec.name, version, inflexible.size, flexible.size, tagged.size, lengths, structs, sections)


@cache
def _all_priced(catalog: Catalog) -> dict[str, Priced]:
    return {message.name: priced(catalog, message) for message in MESSAGES}


def structs_of(catalog: Catalog, message: Message) -> int:
    """Return the number of structures in a message."""
    return _structs_in(_values(catalog, message)[2])


def _structs_in(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_structs_in, value.values()))
    return sum(map(_structs_in, value)) if isinstance(value, list) else 0


def _values(catalog: Catalog, message: Message) -> tuple[MessageSpec, int, Any]:
    spec = catalog.message(message.name)
    version = highest(spec)
    return spec, version, generate(spec, version, counts_for(spec, version, message.roles, message.paths))


# Figures and tables


def figures(catalog: Catalog) -> Figures:
    """Return what the claims name."""
    rows = _all_priced(catalog)
    metadata, versions = rows["MetadataResponse"], rows["ApiVersionsResponse"]
    by_rule = sum(SAVED_BY_RULE[LENGTHS[name]] * number for name, (number, _) in metadata.lengths.items())
    smaller = [row for row in rows.values() if row.tagged <= row.flexible]
    varints = [size for _, _, size in steps(0, UVARINT.high, lambda number: len(UVARINT.build(number)))]
    faults, broken = syntax_errors(), violations("kip482")

    def header_versions(kind: str, api: int, versions: tuple[int, int]) -> tuple[int, ...]:
        return tuple(header_version(catalog, kind, api, version) for version in versions)

    def header_size(flavour: str) -> int:
        value = {"requestApiKey": METADATA, "requestApiVersion": 9, "correlationId": 1, "clientId": "kwire"}
        return len(encode_spec(header_spec(catalog, "request", flavour), value, 2))

    return {
        "varint_of_300": UVARINT.build(300).hex(" "),
        "varint_bytes": (min(varints), max(varints)),
        "longer_unsigned": _longer_unsigned(),
        **{f"compact_{kind}": _compact_lengths(kind) for kind in MOST},
        "request_headers": header_versions("request", METADATA, (8, 9)),
        "header_of_the_kip": header_size("kip482"),
        "header_of_kafka": header_size("kafka"),
        "response_headers": header_versions("response", METADATA, (8, 9)),
        "api_versions_headers": header_versions("response", API_VERSIONS, (2, 3)),
        "largest_tag": _largest_tag(),
        "absent_fields": _absent_fields(catalog),
        "blank_operations": _blank_operations(catalog),
        "metadata_command": f"kwire compare {MESSAGES[0].options}",
        "section": metadata.sections // metadata.structs,
        "section_count": metadata.structs,
        "structs": structs_of(catalog, MESSAGES[0]),
        "tag_order": _tags_on_the_wire((1000, 5, 1)),
        "tag_header": len(_section([(0, bytes(5))])) - 1 - 5,
        "unknown_tag": "kept" if _keeps_unknown_tags(catalog) else "skipped",
        "error_count": len(faults),
        "errors": "; ".join(f"{name}: {error}" for name, error in faults),
        "violation_count": len(broken),
        "violations": ", ".join(violation.split()[1].removesuffix(".taggedVersions") for violation in broken),
        "kafka_violation_count": len(violations(DEFAULT_BOOK)),
        "refused_arrays": _refused_arrays("kip482"),
        "refused_arrays_draft": _refused_arrays("kip482-draft"),
        "saved_of_10": tuple(saving(kind, 10) for kind in MOST),
        "saved_of_most": tuple(saving(kind, most) for kind, most in MOST.items()),
        **{f"most_{kind}": most for kind, most in MOST.items()},
        **{
            f"{kind}_savings": ", ".join(f"{low} to {high} {size:+}" for low, high, size in savings(kind))
            for kind in ("string", "array")
        },
        "saved_by_rule": by_rule - metadata.structs,
        "saved": metadata.inflexible - metadata.flexible,
        "saved_by_lengths": metadata.saved,
        "sections": metadata.sections,
        "api_versions_saved": versions.inflexible - versions.flexible,
        "api_versions_saved_by_lengths": versions.saved,
        "api_versions_structs": versions.structs,
        "api_versions_options": next(m.options for m in MESSAGES if m.name == versions.message),
        "tagged_arrays": _tagged_arrays(catalog),
        "message_count": len(rows),
        "larger_tagged": len(rows) - len(smaller),
        "smaller_tagged": " and ".join(f"{row.message} ({row.tagged} instead of {row.flexible})" for row in smaller),
        "all_tagged": metadata.tagged,
        "flexible": metadata.flexible,
        "all_tagged_more": f"{metadata.tagged - metadata.flexible:+}",
        "escape_bytes": "less" if metadata.sections < metadata.saved else "more",
    }


def tables(catalog: Catalog, *, times: bool | None) -> tuple[Table, ...]:  # noqa: ARG001 - the same for all papers
    """Return both numberings of headers, what lengths save, and what messages cost in the forms that it weighs."""
    return _header_table(catalog), _length_table(), _message_table(catalog)


def _header_table(catalog: Catalog) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (row.of, *("-" if number is None else number for number in (row.kip482, row.kafka)), row.layout)
        for row in HEADERS
    ]
    note = (
        f"Kafka's request header {header_version(catalog, 'request', CONTROLLED_SHUTDOWN, 0)} is that of "
        f"ControlledShutdown 0 alone; - is a header that the one numbering has and the other has not."
    )
    heading = ("of a", "KIP-482", "Kafka", "fields")
    return Table("Headers by the KIP's numbers and by Kafka's", heading, tuple(rows), note)


def _length_table() -> Table:
    boundaries = (0, 10, 126, 127, 16382, 16383, 2097150, 2097151, 268435454, 268435455)
    rows = tuple(
        (length, *(saving(kind, length) if length <= most else None for kind, most in MOST.items()), 1)
        for length in boundaries
    )
    note = (
        f"A string has at most {MAX_STRING} bytes. "
        "The last column is what each structure pays for an empty tag section."
    )
    heading = ("length", "array", "byte buffer", "string", "tag section")
    return Table("Bytes that a compact length saves, by length", heading, rows, note)


def _message_table(catalog: Catalog) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for row in _all_priced(catalog).values():
        saved = (sum(size for name, (_, size) in row.lengths.items() if LENGTHS[name] == kind) for kind in MOST)
        sizes = (row.inflexible, row.flexible, row.flexible - row.inflexible)
        rows.append((row.message, row.version, *sizes, *saved, -row.sections, row.tagged, row.tagged - row.flexible))
    heading = ("message", "version", "inflexible", "flexible", "+/-", "arrays", "buffers", "strings", "sections")
    note = (
        "Generated bodies, in bytes. arrays, buffers, strings: what their lengths save; sections: what empty ones "
        "cost; the rest of the difference is tagged fields at their defaults, which the inflexible form has to write. "
        "To repeat it: kwire compare --flexible --all-tagged and " + "; ".join(message.options for message in MESSAGES)
    )
    return Table("Messages in the three forms", (*heading, "all tagged", "+/- flexible"), tuple(rows), note)
