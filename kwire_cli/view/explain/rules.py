"""The rules for decoding bytes, and the names of types.

An explanation prints each rule once, before its first use, and then refers to it by name. So a rule is written for a
type and not for a field. Names in capitals are taken from the section Protocol Primitive Types of Kafka's protocol
guide. The second half of the module maps a declaration to its rule and its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.program import Array, Choice, Leaf, Nullable, Series, Struct, Tags
from kwire_cli.spec.model import INTEGER_RANGES
from kwire_cli.structs.composites import Rest
from kwire_cli.structs.lengths import ArrayOf, NullableStruct, Sized
from kwire_cli.structs.numbers import FixedInt, Varint

if TYPE_CHECKING:
    from kwire_cli.engine.program import Node


class Rule(NamedTuple):
    """A rule: its name, its text, and the source of the text. `uses` contains the keys of the rules it builds on."""

    name: str
    text: str
    source: str
    uses: tuple[str, ...] = ()


_TYPES = "protocol guide, Protocol Primitive Types"
_BATCH = "KIP-98; Kafka documentation, Message Format"
POLYNOMIALS = {"crc32": 0x04C11DB7, "crc32c": 0x1EDC6F41}
"""Polynomials in the usual notation: highest power first, without x^32."""

_INTEGER = (
    "An integer of as many bits as its name says, the highest byte first (network byte order). An INT is two's "
    "complement: with the highest bit set it is negative. A UINT never is."
)

RULES: dict[str, Rule] = {
    # numbers, booleans and uuids
    **{kind: Rule(kind.upper(), _INTEGER, _TYPES) for kind in INTEGER_RANGES},
    "bool": Rule("BOOLEAN", "1 byte: 0 is false, any other is true; writers write 0 or 1.", _TYPES),
    "float64": Rule(
        "FLOAT64",
        "8 bytes, the highest first: 1 bit for the sign, 11 for the exponent plus 1023, 52 for the fraction.",
        f"{_TYPES}; IEEE 754",
    ),
    "uuid": Rule(
        "UUID",
        "16 bytes. As text it is url-safe base64 without padding, 22 characters; 16 zero bytes stand for no uuid.",
        f"{_TYPES}; KIP-516",
    ),
    "uvarint": Rule(
        "UNSIGNED_VARINT",
        "7 bits of the number in each byte, the lowest ones first. The highest bit of a byte is 1 where another byte "
        "follows: 1|0101100 0|0000010 is 300. 32 bits take 1 to 5 bytes.",
        "KIP-482; org.apache.kafka.common.utils.ByteUtils",
    ),
    "varint": Rule(
        "VARINT",
        "An unsigned varint of the zig-zag form, in which 0, -1, 1, -2, 2 are 0, 1, 2, 3, 4: so small "
        "negative numbers are short too. "
        "An even number is halved; an odd one is that plus 1, halved, with a minus. 32 bits take 1 to 5 bytes.",
        f"{_TYPES}; KIP-98",
        ("uvarint",),
    ),
    "varlong": Rule("VARLONG", "As VARINT, for 64 bits: 1 to 10 bytes.", f"{_TYPES}; KIP-98", ("varint",)),
    "packed": Rule(
        "packed",
        "The integer as a zig-zag varint of this many bits, as VARINT. A proposed encoding, in no release of Kafka.",
        "KAFKA-9927",
        ("varint",),
    ),
    "upacked": Rule(
        "upacked",
        "The bits of the integer's two's complement as an unsigned varint: negative numbers take the most "
        "bytes. A proposed encoding, in no release.",
        "KAFKA-9927",
        ("uvarint",),
    ),
    "fixed": Rule(
        "fixed",
        "The integer in this many bits, the highest byte first, whatever its type has. A proposed "
        "encoding, in no release.",
        "KAFKA-9927",
    ),
    # lengths, counts and presence
    "length.int16": Rule(
        "INT16 length",
        "An INT16 says how many bytes follow; -1 is null. So in versions that are not flexible, and for "
        "the client id in all headers.",
        _TYPES,
        ("int16",),
    ),
    "length.int32": Rule(
        "INT32 length",
        "An INT32 says how many bytes follow; -1 is null. So in versions that are not flexible, and in "
        "messages of formats v0 and v1.",
        _TYPES,
        ("int32",),
    ),
    "length.compact": Rule(
        "COMPACT length",
        "An UNSIGNED_VARINT of the length plus one says how many bytes follow: 0 is null, 1 is empty. So "
        "in flexible versions.",
        f"KIP-482; {_TYPES}",
        ("uvarint",),
    ),
    "length.varint": Rule(
        "VARINT length",
        "A VARINT says how many bytes follow, not plus one; -1 is null. So within records.",
        f"{_BATCH} (KIP-82 for headers)",
        ("varint",),
    ),
    "length.uvarint": Rule(
        "UNSIGNED_VARINT length",
        "An UNSIGNED_VARINT says how many bytes follow, not plus one.",
        "KIP-98, draft of 2016",
        ("uvarint",),
    ),
    "length.rest": Rule("no length", "No length of its own: it takes what the size around it leaves.", _BATCH),
    "count.int32": Rule(
        "INT32 count",
        "An INT32 says how many elements follow; -1 is null, which is not the same as none. So in versions "
        "that are not flexible.",
        _TYPES,
        ("int32",),
    ),
    "count.compact": Rule(
        "COMPACT count",
        "An UNSIGNED_VARINT of the number of elements plus one: 0 is null, 1 is none. So in flexible versions.",
        f"KIP-482; {_TYPES}",
        ("uvarint",),
    ),
    "count.varint": Rule(
        "VARINT count",
        "A VARINT says how many elements follow, not plus one.",
        "KIP-82; Kafka documentation, Message Format",
        ("varint",),
    ),
    "size.frame": Rule(
        "frame size",
        "A connection carries frames one after the other. Each begins with an INT32: how many bytes follow "
        "it, these 4 left out.",
        "protocol guide, Common Request and Response Structure",
        ("int32",),
    ),
    "size.int32": Rule(
        "INT32 size",
        "An INT32 says how many bytes follow it in this part; a reader can step over them unread.",
        "Kafka documentation, Message Format",
        ("int32",),
    ),
    "size.varint": Rule(
        "VARINT size",
        "A VARINT says how many bytes follow it in this part; a reader can step over them unread.",
        _BATCH,
        ("varint",),
    ),
    "size.uvarint": Rule(
        "UNSIGNED_VARINT size",
        "An UNSIGNED_VARINT says how many bytes follow it in this part.",
        "KIP-98, draft of 2016",
        ("uvarint",),
    ),
    "presence.int8": Rule(
        "presence byte", "Before a struct that may be null: -1 is null, 1 says that it is there.", "KIP-893", ("int8",)
    ),
    "presence.uvarint": Rule(
        "presence varint",
        "Before a struct in a tagged field that may be null: 0 is null, 1 says that it is there.",
        "KIP-893",
        ("uvarint",),
    ),
    # tagged fields
    "tags.count": Rule(
        "tag section",
        "In flexible versions each struct ends in its tagged fields: an UNSIGNED_VARINT says how many, mostly 0. "
        "Fields come and go there without a new version, and those at their default are left out.",
        "KIP-482",
        ("uvarint",),
    ),
    "tag.number": Rule("tag", "An UNSIGNED_VARINT says which field this is; tags ascend.", "KIP-482", ("uvarint",)),
    "tag.size": Rule(
        "tag size",
        "An UNSIGNED_VARINT says how many bytes the field takes, so that who does not know its tag can step over it.",
        "KIP-482",
        ("uvarint",),
    ),
    "tag.unknown": Rule(
        "unknown tag",
        "A field that this version's definition does not have: its bytes are kept as they are.",
        "KIP-482",
    ),
    # values that are not numbers
    "utf8": Rule("text", "UTF-8.", _TYPES),
    "bytes": Rule("bytes", "Bytes as they are: what they mean is not this message's business.", _TYPES),
    "records": Rule(
        "record set",
        "Record batches, or in the formats before them messages, one after the other; their own sizes say "
        "where each ends.",
        "Kafka documentation, Message Format",
    ),
    "compressed": Rule(
        "compressed records",
        "The records as one piece, packed by the codec that the attributes name. The header before them is "
        "never packed.",
        _BATCH,
    ),
    "bits": Rule(
        "attribute bits",
        "Each bit, or group of bits, is a setting of its own; bit 0 is the lowest of the last byte.",
        "Kafka documentation, Message Format",
    ),
    "crc32": Rule(
        "CRC-32",
        f"A checksum by the polynomial 0x{POLYNOMIALS['crc32']:08x}, that of zlib and Ethernet.",
        "IEEE 802.3; Kafka documentation, Old Message Format",
    ),
    "crc32c": Rule(
        "CRC-32C",
        f"A checksum by the polynomial 0x{POLYNOMIALS['crc32c']:08x}, Castagnoli's, for which processors "
        f"have an instruction.",
        "RFC 3720; KIP-98",
    ),
    # bytes that have no field
    "gap.cut": Rule("cut", "The bytes end before the field does.", "Kafka's readers throw here"),
    "gap.unreadable": Rule(
        "unreadable",
        "What stands here can't be what the layout wants, so that nobody can say where the next field begins.",
        "Kafka's readers throw here",
    ),
    "gap.rest": Rule(
        "left over",
        "By its layout the message has ended, and bytes are left. Kafka's request parsers ignore them.",
        "org.apache.kafka.common.requests",
    ),
    "gap.outside": Rule("no field", "Bytes of the frame that belong to neither header nor body.", "protocol guide"),
    "gap.batch": Rule(
        "no batch",
        "Bytes that are no record batch: cut, damaged, or zeros up to the end of a file. A Fetch response "
        "may well end in a batch that is cut.",
        "org.apache.kafka.common.record.ByteBufferLogInputStream",
    ),
}
"""All rules by key."""

NAMED = 6
"""Number of fields of a struct that the text of an element lists."""


def number_rule(decl: Any) -> str:
    """Return the rule of a number, boolean or uuid."""
    if isinstance(decl, FixedInt):
        return decl.kind if decl.kind == decl.wire else "fixed"
    if not isinstance(decl, Varint):
        return str(decl.kind)
    if decl.kind == "uvarint":
        return "uvarint"
    if not decl.zigzag:
        return "upacked"
    return {("int32", 32): "varint", ("int64", 64): "varlong"}.get((decl.kind, decl.bits), "packed")


def _prefix_form(decl: Any) -> str:
    if decl.compact:
        return "compact"
    if isinstance(decl.prefix, Varint):
        return "varint" if decl.prefix.zigzag else "uvarint"
    return str(decl.prefix.wire)


def length_rule(decl: Any) -> str:
    """Return the rule of the length of a string, bytes or records."""
    return "length.rest" if isinstance(decl, Rest) else f"length.{_prefix_form(decl)}"


def count_rule(decl: ArrayOf) -> str:
    """Return the rule of an array's count."""
    return f"count.{_prefix_form(decl)}"


def size_rule(decl: Any) -> str:
    """Return the rule of the size of a part of a record format."""
    if isinstance(decl, FixedInt):
        return "size.int32"
    return "size.varint" if decl.zigzag else "size.uvarint"


def presence_rule(decl: NullableStruct) -> str:
    """Return the rule of a presence marker."""
    return "presence.uvarint" if decl.tagged else "presence.int8"


_MARKERS = {
    "presence": "presence",
    "tag-count": "tag section",
    "tag-header": "tag",
    "unknown-tag": "unknown tag",
    "gap": "gap",
}


def leaf_type(leaf: Leaf) -> str:
    """Return the type of a leaf in the words of the protocol guide, such as COMPACT_NULLABLE_STRING."""
    decl = leaf.decl
    if leaf.kind == "count":
        return f"{'COMPACT_' * decl.compact}ARRAY"
    if leaf.kind in _MARKERS:
        return _MARKERS[leaf.kind]
    if isinstance(decl, Rest):
        return f"{leaf.kind.upper()} without length"
    if isinstance(decl, Sized) and isinstance(decl.prefix, Varint) and not decl.compact:
        return f"{'NULLABLE_' * decl.nullable}{leaf.kind.upper()} with {decl.prefix!r} length"
    return repr(decl)


def node_type(node: Node) -> str:
    """Return the type of a field. The type of an array includes the type of its elements."""
    if isinstance(node, Leaf):
        return leaf_type(node)
    if isinstance(node, Array):
        return f"{leaf_type(node.count)} of {node_type(node.element)}"
    if isinstance(node, Series):
        return f"{node_type(node.element)}, one after the other"
    if isinstance(node, Choice):
        return " or ".join(dict.fromkeys(node_type(form) for form in node.forms.values()))
    if isinstance(node, Tags):
        return "tagged fields"
    return "struct" if isinstance(node, Struct) else "nullable struct"


def element_text(node: Node) -> str:
    """Return the type of an element: `INT32`, or `a struct: name STRING, partitions ARRAY of INT32, tagged fields`."""
    if isinstance(node, Nullable):
        node = node.struct
    if not isinstance(node, Struct):
        return node_type(node)
    return f"a struct: {fields_text(node)}"


def fields_text(struct: Struct) -> str:
    """Return the first fields of a struct with name and type, and the number of further fields."""
    texts = [f"{field.name} {node_type(field)}" for field in struct.fields[:NAMED]]
    if len(struct.fields) > NAMED:
        texts.append(f"{len(struct.fields) - NAMED} more")
    return ", ".join([*texts, *(["tagged fields"] if struct.tags else [])]) or "no fields"
