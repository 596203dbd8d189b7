"""Where to look in the spans of a layout: at integers, at strings, and at what is tagged or could be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.program import Array, Leaf, Nullable, Struct
from kwire_cli.errors import EncodeError
from kwire_cli.spec.changing import fields_by_path
from kwire_cli.spec.defaults import default_value
from kwire_cli.spec.encodings import ENCODABLE_TYPES
from kwire_cli.spec.versions import MAX
from kwire_cli.structs.numbers import FixedInt, Float64, Varint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.engine.program import Entry, Node, Tags
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.model import FieldSpec, MessageSpec

INTEGER, STRING, OTHER, TAGGED, SECTION = range(5)


class Tagged(NamedTuple):
    """A field of a tag section; `size` is what it takes at its default where it is none."""

    path: str
    kind: str
    size: int


@dataclass(slots=True)
class Probe:
    """One node of a layout.

    `default` are the bytes of the field at its default if it could be tagged, else None; `last` is the highest node of what belongs to the field.
    A TAGGED one is the header of its field, a SECTION the count of the `tagged` fields that its structure could have.
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
        """Where the field ends whose first span is `at`."""
        first, after, nodes = spans.node[at], at + 1, spans.node
        while after < len(nodes) and first < nodes[after] <= self.last:
            after += 1
        return spans.end[after - 1]


def can_be_tagged(spec: MessageSpec, field: FieldSpec) -> bool:
    """Whether Kafka's generator takes the field as a tagged one in all flexible versions; structs that can't be null are left as they are."""
    if field.tag is not None or field.map_key or field.zero_copy or field.type == "records" or field.versions.high != MAX:
        return False
    if field.flexible_versions is not None or (field.struct_name and not field.is_array and field.default != "null"):
        return False
    tagged = field.versions & spec.flexible_versions
    return bool(tagged) and (field.nullable_versions & tagged or tagged) == tagged


def probes_of(spec: MessageSpec, entry: Entry) -> dict[int, Probe]:
    """The probes of a layout by node."""
    return dict(_in_struct(spec, dict(fields_by_path(spec)), entry.root))


def last_node(node: Node) -> int:
    """The highest number of the nodes from here down."""
    if isinstance(node, Leaf):
        return node.id
    if isinstance(node, Array):
        return max(node.count.id, last_node(node.element))
    if isinstance(node, Nullable):
        return last_node(node.struct)
    assert isinstance(node, Struct)  # noqa: S101 - layouts of messages have no other nodes
    last = max((last_node(field) for field in node.fields), default=0)
    if not node.tags:
        return last
    return max(last, node.tags.unknown_data.id, *node.tags.known, *(last_node(field) for field, _ in node.tags.known.values()))


def _in_struct(spec: MessageSpec, fields: Mapping[str, FieldSpec], node: Struct) -> Iterator[tuple[int, Probe]]:
    for part in node.fields:
        yield from _in_field(spec, fields, part, flexible=node.tags is not None)
    if node.tags and node.tags.known:
        yield from _in_section(spec, fields, node.tags)


def _in_section(spec: MessageSpec, fields: Mapping[str, FieldSpec], tags: Tags) -> Iterator[tuple[int, Probe]]:
    known = []
    for header, (part, _) in tags.known.items():
        default = default_bytes(fields[part.path], part) or b""
        known.append(Tagged(part.path, fields[part.path].type, len(default)))
        yield header, Probe(part.path, fields[part.path].type, TAGGED, default=default)
        yield from _in_field(spec, fields, part, flexible=False)
    yield tags.count.id, Probe(tags.path, "", SECTION, tagged=tuple(known))


def _in_field(spec: MessageSpec, fields: Mapping[str, FieldSpec], node: Node, *, flexible: bool) -> Iterator[tuple[int, Probe]]:
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
            yield node.count.id, Probe(node.path, field.type, OTHER, node.count.decl, default, last_node(node))
        if isinstance(node.element, Struct):
            yield from _in_struct(spec, fields, node.element)
        else:
            yield from _in_field(spec, fields, node.element, flexible=False)
    elif isinstance(node, Nullable):
        if default is not None:
            yield node.presence.id, Probe(node.path, field.type, OTHER, node.presence.decl, default, last_node(node))
        yield from _in_struct(spec, fields, node.struct)
    elif isinstance(node, Struct):
        yield from _in_struct(spec, fields, node)


def at_default(decl: Any, data: Any, default: bytes | None) -> bool:
    """Whether these bytes of a field are its default: of a float, -0.0 is 0.0 too, since writers compare numbers."""
    return data == default or (isinstance(decl, Float64) and default is not None and bool(decl.read(data) == decl.read(default)))


def default_bytes(field: FieldSpec, node: Node) -> bytes | None:
    """What the field is written as at its default, in the form of this layout; None where that can't be."""
    if isinstance(node, Struct):
        return None
    decl = node.decl if isinstance(node, Leaf) else node.count.decl if isinstance(node, Array) else node.presence.decl  # type: ignore[union-attr]
    try:
        return bytes(decl.build(None if field.default == "null" else default_value(field)))
    except EncodeError:
        return None
