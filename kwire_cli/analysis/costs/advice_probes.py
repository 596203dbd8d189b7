"""Probes of fields, and what messages say to them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.advice_values import Cell, Field, Seen, Texts
from kwire_cli.analysis.costs.forms import width_of
from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, leaf_ids
from kwire_cli.errors import EncodeError
from kwire_cli.spec.model import MAX, default_value, fields_by_path
from kwire_cli.spec.reading import ENCODABLE_TYPES
from kwire_cli.structs.numbers import FixedInt, Float64, Varint, unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.analysis.costs.advice_values import Fields, Message
    from kwire_cli.engine.program import Entry, Node, Tags
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec


# Where to look in the spans of a layout: at integers, at strings, and at what is tagged or could be.

INTEGER, STRING, OTHER, TAGGED, SECTION = range(5)


class Tagged(NamedTuple):
    """A field of a tag section; `size` is what it takes at its default where it is none."""

    path: str
    kind: str
    size: int


@dataclass(slots=True)
class Probe:
    """One node of a layout.

    `default` are the bytes of the field at its default if it could be tagged, else None; `last` is the highest node of
    what belongs to the field. A TAGGED one is the header of its field, a SECTION the count of the `tagged` fields that
    its structure could have.
    """

    path: str
    kind: str
    form: int
    decl: Any = None
    default: bytes | None = None
    last: int = 0
    tagged: tuple[Tagged, ...] = ()
    values: Counter[bytes] = field(default_factory=Counter)

    def end_of(self, spans: Spans, at: int) -> int:
        """Return the end of the field whose first span is `at`."""
        first, after, nodes = spans.node[at], at + 1, spans.node
        while after < len(nodes) and first < nodes[after] <= self.last:
            after += 1
        return spans.end[after - 1]


def can_be_tagged(spec: MessageSpec, field: FieldSpec) -> bool:
    """Return whether Kafka's generator accepts the field as a tagged one in all flexible versions.

    Return False for structs that cannot be null: these are left as they are.
    """
    if (
        field.tag is not None
        or field.map_key
        or field.zero_copy
        or field.type == "records"
        or field.versions.high != MAX
    ):
        return False
    if field.flexible_versions is not None or (field.struct_name and not field.is_array and field.default != "null"):
        return False
    tagged = field.versions & spec.flexible_versions
    return bool(tagged) and (field.nullable_versions & tagged or tagged) == tagged


def probes_of(spec: MessageSpec, entry: Entry) -> dict[int, Probe]:
    """Return the probes of a layout by node."""
    return dict(_in_struct(spec, dict(fields_by_path(spec)), entry.root))


def _in_struct(spec: MessageSpec, fields: Mapping[str, FieldSpec], node: Struct) -> Iterator[tuple[int, Probe]]:
    for part in node.fields:
        yield from _in_field(spec, fields, part, flexible=node.tags is not None)
    if node.tags and node.tags.known:
        yield from _in_section(spec, fields, node.tags)


def _in_section(spec: MessageSpec, fields: Mapping[str, FieldSpec], tags: Tags) -> Iterator[tuple[int, Probe]]:
    tagged_fields = []
    for header, (part, _) in tags.known.items():
        default = default_bytes(fields[part.path], part) or b""
        tagged_fields.append(Tagged(part.path, fields[part.path].type, len(default)))
        yield header, Probe(part.path, fields[part.path].type, TAGGED, default=default)
        yield from _in_field(spec, fields, part, flexible=False)
    yield tags.count.id, Probe(tags.path, "", SECTION, tagged=tuple(tagged_fields))


def _in_field(
    spec: MessageSpec, fields: Mapping[str, FieldSpec], node: Node, *, flexible: bool
) -> Iterator[tuple[int, Probe]]:
    """`flexible` says that the structure around it has a tag section."""
    field = fields[node.path.removesuffix("[]")]
    default = default_bytes(field, node) if flexible and can_be_tagged(spec, field) else None
    if isinstance(node, Leaf):
        kind = node.kind
        if kind in ENCODABLE_TYPES and isinstance(node.decl, FixedInt | Varint):
            yield node.id, Probe(node.path, kind, INTEGER, node.decl, default, node.id)
        elif kind == "string":
            yield node.id, Probe(node.path, kind, STRING, node.decl, default, node.id)
        elif default is not None:
            yield node.id, Probe(node.path, kind, OTHER, node.decl, default, node.id)
    elif isinstance(node, Array):
        if default is not None:
            yield node.count.id, Probe(node.path, field.type, OTHER, node.count.decl, default, max(leaf_ids(node)))
        if isinstance(node.element, Struct):
            yield from _in_struct(spec, fields, node.element)
        else:
            yield from _in_field(spec, fields, node.element, flexible=False)
    elif isinstance(node, Nullable):
        if default is not None:
            yield (
                node.presence.id,
                Probe(node.path, field.type, OTHER, node.presence.decl, default, max(leaf_ids(node))),
            )
        yield from _in_struct(spec, fields, node.struct)
    elif isinstance(node, Struct):
        yield from _in_struct(spec, fields, node)


def at_default(decl: Any, data: Any, default: bytes | None) -> bool:
    """Return whether these bytes of a field are its default.

    For a float, -0.0 equals 0.0, since writers compare numbers.
    """
    return data == default or (
        isinstance(decl, Float64) and default is not None and bool(decl.read(data) == decl.read(default))
    )


def default_bytes(field: FieldSpec, node: Node) -> bytes | None:
    """Return the bytes of a field at its default, in the form of this layout. None if there are no such bytes."""
    if isinstance(node, Struct):
        return None
    decl = node.decl if isinstance(node, Leaf) else node.count.decl if isinstance(node, Array) else node.presence.decl  # type: ignore[union-attr]
    try:
        return bytes(decl.build(None if field.default == "null" else default_value(field)))
    except EncodeError:
        return None


# What values the fields of messages have: widths of integers, how often a field is at its default, how often
# a string repeats.

MOST_VALUES = 4096
"""Different values of one field that are kept as they are; then only their widths are."""


class Observed:
    """Looks at messages. Memory is bounded by the fields of the definitions, not by the messages."""

    def __init__(self, catalog: Catalog) -> None:
        self._seen = Seen()
        self._catalog = catalog
        self._probes: dict[int, tuple[Entry, str, dict[int, Probe]]] = {}
        self._looked: set[int] = set()
        self._block, self._at, self._in_block = -1, 0, 0
        self._fields: Fields = {}

    def add(self, message: Message) -> None:
        """Look at the values of a message."""
        observations = self._seen
        if message.at >> observations.shift != self._block:
            self._close()
            self._block, self._at = message.at >> observations.shift, message.at
        observations.messages += 1
        observations.size += message.size
        if message.regular:
            self._look(message)
        else:
            observations.irregular += 1
        self._in_block += 1

    def seen(self) -> Seen:
        """Return what was seen so far."""
        self._close()
        return self._seen

    def _look(self, message: Message) -> None:
        cached = self._probes.get(id(message.entry))
        if cached is None:
            probes = probes_of(self._catalog.message(message.name), message.entry)
            cached = self._probes[id(message.entry)] = (
                message.entry,
                message.name,
                probes,
            )  # the entry is kept, so that its id stays its own
        self._looked.add(id(message.entry))
        probes, spans = cached[2], message.spans
        data, start = spans.data, spans.start
        for at, (node, value, end) in enumerate(zip(spans.node, spans.value, spans.end, strict=True)):
            probe = probes.get(node)
            if probe is not None:
                if probe.form == INTEGER:
                    raw = bytes(data[start:end])
                    probe.values[raw] += 1
                    if len(probe.values) > MOST_VALUES:
                        self._settle(message.name, probe)
                else:
                    self._other(message, probe, at, start, value, end)
            start = end

    def _other(self, message: Message, probe: Probe, at: int, start: int, value: int, end: int) -> None:
        if probe.form == SECTION:
            for tag in probe.tagged:
                field_counts = self._field(message, tag.path, tag.kind)
                field_counts.total += 1
                field_counts.default_bytes += tag.size
            return
        data = message.spans.data
        if probe.form == STRING:
            self._seen.texts.setdefault((message.name, probe.path), Texts()).add(bytes(data[value:end]))
        if probe.default is None:
            return
        field_counts = self._field(message, probe.path, probe.kind)
        if probe.form == TAGGED:
            field_counts.present += 1
            field_counts.headers += end - start
            field_counts.default_bytes -= len(probe.default)
            return
        field_counts.total += 1
        if at_default(probe.decl, data[start:end], probe.default):
            field_counts.defaults += 1
            field_counts.default_bytes += end - start
        else:
            field_counts.headers += _header(probe.end_of(message.spans, at) - start)

    def _field(self, message: Message, path: str, kind: str) -> Field:
        key = (message.name, path)
        field_counts = self._fields.get(key)
        if field_counts is None:
            field_counts = self._fields[key] = Field(kind)
        return field_counts

    def _settle(self, name: str, probe: Probe) -> None:
        """Keep of an integer's values only how wide they are."""
        field_counts = self._fields.setdefault((name, probe.path), Field(probe.kind))
        read, (packed, upacked) = (
            probe.decl.read,
            (width_of(probe.kind, f"{name}{probe.kind[3:]}") for name in ("packed", "upacked")),
        )
        for raw, times in probe.values.items():
            number = read(raw)
            cell = Cell(
                probe.default is not None, len(raw), packed(number), upacked(number), number < 0, raw == probe.default
            )
            field_counts.cells[cell] += times
        probe.values.clear()

    def _close(self) -> None:
        """Move what was seen since the last call to its block."""
        for entry in self._looked:
            _, name, probes = self._probes[entry]
            for probe in probes.values():
                if probe.values:
                    self._settle(name, probe)
        self._looked.clear()
        if self._in_block:
            self._seen.add(self._at, self._in_block, self._fields)
            self._fields, self._in_block, self._block = {}, 0, -1


def _header(size: int) -> int:
    """Return the bytes before a tagged field: a tag of one byte, and its size."""
    return 1 + len(unsigned_varint(size))
