"""Pieces of a field, down to single bits."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Leaf, Nullable, Tags
from kwire_cli.engine.tree import Item, read_count
from kwire_cli.records.batch import int64
from kwire_cli.records.layouts import CHECKSUMS
from kwire_cli.structs.composites import Rest
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.numbers import UVARINT, FixedInt, Varint, uuid_text
from kwire_cli.view.explain import rules
from kwire_cli.view.explain.model import DIFFERENCES, Piece, layout_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.structs.records.parts import Bits
    from kwire_cli.view.explain.model import Facts, Special
    from kwire_cli.view.rows import Field, Part


# How the bits of a number become it, as text: what a reader would do with pencil and paper.


def fixed_working(raw: bytes, *, signed: bool) -> str:
    """`0xffff = 65535; less 65536, as the highest bit is set: -1`."""
    number = int.from_bytes(raw, "big")
    equation = f"0x{raw.hex()} = {number}"
    if not signed or not raw or raw[0] < 0x80:
        return equation
    return f"{equation}; less {1 << 8 * len(raw)}, as the highest bit is set: {int.from_bytes(raw, 'big', signed=True)}"


def groups(raw: bytes) -> str:
    """The bytes of a varint as bits, the one that says whether another byte follows set apart:
    `1|0101100 0|0000010`.
    """
    return " ".join(f"{byte >> 7}|{byte & 0x7F:07b}" for byte in raw)


def unsigned(raw: bytes, bits: int) -> int:
    """The number in the groups of 7 bits, lowest first; what lies above `bits` is dropped, as Kafka drops it."""
    return sum((byte & 0x7F) << (7 * i) for i, byte in enumerate(raw)) & ((1 << bits) - 1)


def varint_working(raw: bytes, bits: int = 32) -> str:
    """`1|0101100 0|0000010: last group first, 0000010 0101100 = 300`."""
    bit_groups, number = groups(raw), unsigned(raw, bits)
    if len(raw) == 1:
        return f"{bit_groups} = {number}"
    whole = sum((byte & 0x7F) << (7 * i) for i, byte in enumerate(raw))
    dropped = f", of which {bits} bits are kept" if whole != number else ""
    reverse = " ".join(f"{byte & 0x7F:07b}" for byte in reversed(raw))
    return f"{bit_groups}: last group first, {reverse}{dropped} = {number}"


def zigzag_working(raw: bytes, bits: int) -> str:
    """Return the working of the unsigned varint, and how zig-zag is undone: `…; even: 300 / 2 = 150`."""
    number = unsigned(raw, bits)
    undone = f"odd: -({number} + 1) / 2 = {-(number + 1 >> 1)}" if number & 1 else f"even: {number} / 2 = {number >> 1}"
    return f"{varint_working(raw, bits)}; {undone}"


def upacked_working(raw: bytes, bits: int) -> str:
    """Return the working of the unsigned varint, and the sign of its highest bit."""
    number = unsigned(raw, bits)
    signed = f"; less {1 << bits}, as bit {bits - 1} is set: {number - (1 << bits)}" if number >> (bits - 1) else ""
    return varint_working(raw, bits) + signed


def float_working(raw: bytes) -> str:
    """`sign 0, exponent 10000000000 = 1024, fraction 0x8000000000000: 1.5 * 2^(1024 - 1023)`."""
    number = int.from_bytes(raw, "big")
    sign, exponent, fraction = number >> 63, number >> 52 & 0x7FF, number & ((1 << 52) - 1)
    components = f"sign {sign}, exponent {exponent:011b} = {exponent}, fraction 0x{fraction:013x}"
    if exponent == 0x7FF:
        return f"{components}: {'not a number' if fraction else 'infinity'}"
    (value,) = struct.unpack(">d", raw)
    scaled = fraction / (1 << 52) + (exponent > 0)
    power = f"({exponent} - 1023)" if exponent else "-1022"
    return f"{components}: {'-' if sign else ''}{scaled!r} * 2^{power} = {value!r}"


def uuid_working(raw: bytes) -> str:
    """The 16 bytes as other tools print uuids, and as Kafka does."""
    text = raw.hex()
    usual = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return f"{usual}, in Kafka's text {uuid_text(raw)}"


def bits_working(raw: bytes, parts: Sequence[Bits]) -> Iterator[str]:
    """A line for all bits, then one for each part: `bits 0-2 = 100: compression zstd`; last those that no part knows,
    if any is set.
    """
    number = int.from_bytes(raw, "big")
    yield (
        f"0x{raw.hex()} = {' '.join(f'{byte:08b}' for byte in raw)}{'' if parts else ': no bit has a meaning here yet'}"
    )
    for part in parts:
        value = part.read(number)
        which = f"bit {part.shift}" if part.width == 1 else f"bits {part.shift}-{part.shift + part.width - 1}"
        yield f"{which} = {value:0{part.width}b}: {part.name} {part.names.get(value, 'unknown')}"
    if strange := number & ~sum(part.mask for part in parts):
        yield f"besides 0x{strange:x}, which means nothing in this format"


# What the bytes of one span say, piece by piece, and what follows because of them.


def pieces_of(row: Field, facts: Facts) -> tuple[tuple[Piece, ...], str]:
    """The pieces of a leaf, which cover its bytes, and what follows because of them."""
    part, item, parent = row.part, row.item, row.parent
    leaf, data = item.leaf, part.data
    special = facts.specials.get(leaf.path)
    if leaf.kind == "count":
        pieces, then = _count(item, data, parent)
    elif leaf.kind == "presence":
        pieces, then = _presence(item, data, parent)
    elif leaf.kind == "tag-count":
        pieces, then = _tag_count(item, data)
    elif leaf.kind == "tag-header":
        pieces, then = _tag_header(item, data, parent)
    elif leaf.kind == "unknown-tag":
        pieces, then = [Piece(item.start, item.end, "value", "tag.unknown")], ""
    elif special and special.size:
        pieces, then = _size(item, data)
    elif special and special.crc:
        pieces, then = _crc(item, data, parent, special), ""
    elif special and special.bits is not None:
        raw = bytes(data[item.start : item.end])
        pieces, then = [Piece(item.start, item.end, "bits", "bits", tuple(bits_working(raw, special.bits)))], ""
    elif layout_of(part) == "FrameSize":
        pieces, then = _size(item, data, "size.frame")
    elif isinstance(leaf.decl, Sized | Rest):
        pieces, then = _sized(item, part)
    else:
        raw = bytes(data[item.start : item.end])
        working = (number_working(leaf.decl, raw), *_together(part, facts, leaf, raw))
        pieces, then = [Piece(item.start, item.end, "value", rules.number_rule(leaf.decl), working)], ""
    if row.secret is not None:
        return tuple(_masked(pieces, row.secret - part.shift)), ""
    return tuple(pieces), then


def _masked(pieces: list[Piece], secret: int) -> Iterator[Piece]:
    """Yield pieces that do not tell what they say from the first secret byte on."""
    for piece in pieces:
        yield piece if piece.end <= secret and piece.what == "length" else piece._replace(working=(), secret=True)


def _together(part: Part, facts: Facts, leaf: Leaf, raw: bytes) -> Iterator[str]:
    """Yield the sum of a difference and its base, `baseOffset 3 + 1: its offset is 4`, and the name of a header key."""
    base, what = DIFFERENCES.get(layout_of(part), {}).get(leaf.path, ("", ""))
    if base in facts.bases:
        number = leaf.decl.read(raw)
        sign = "-" if number < 0 else "+"
        total = int64(facts.bases[base] + number)
        yield f"{base} {facts.bases[base]} {sign} {abs(number)}: {what} is {total}"
    if facts.register and leaf.path.endswith("headers[].key"):
        yield f"header {facts.register.label(leaf.decl.read(raw))}"


def number_working(decl: Any, raw: bytes) -> str:
    """Return how the bytes of a number, boolean or uuid become its value."""
    rule = rules.number_rule(decl)
    if isinstance(decl, Varint):
        working = (
            upacked_working if rule in {"uvarint", "upacked"} else zigzag_working
        )  # Kafka reads both into a signed int
        return working(raw, decl.bits)
    if rule == "float64":
        return float_working(raw)
    if rule == "uuid":
        return uuid_working(raw) if any(raw) else "zeros: no uuid"
    if rule == "bool":
        return f"0x{raw.hex()} = {'true' if raw[0] else 'false'}"
    return fixed_working(raw, signed=not isinstance(decl, FixedInt) or decl.wire[0] == "i")


def prefix_working(decl: Any, raw: bytes, one: str, null: str) -> tuple[str, int]:
    """Return how a length or count is read, and the number.

    The text ends in `17 bytes` if `one` is byte, and in `null` for a number below 0.
    """
    prefix = decl.prefix
    number = int(prefix.read(raw)) - decl.compact
    working = number_working(prefix, raw)
    if decl.compact and number >= 0:
        working += f"; less 1: {number}"
    return f"{working}{f' {one}' + 's' * (number != 1) if number >= 0 else f': {null}'}", number


def _count(item: Item, data: Any, parent: Item) -> tuple[list[Piece], str]:
    decl = item.leaf.decl
    working, number = prefix_working(decl, bytes(data[item.start : item.end]), "element", "null, no array at all")
    element = parent.node.element if isinstance(parent.node, Array) else None
    then = ""
    if number > 0 and element is not None:
        then = f"{number} element{'s' * (number > 1)}, {'each ' * (number > 1)}{rules.element_text(element)}"
    elif number == 0:
        then = "no element: what comes next is the field after the array"
    return [Piece(item.start, item.end, "count", rules.count_rule(decl), (working,))], then


def _presence(item: Item, data: Any, parent: Item) -> tuple[list[Piece], str]:
    decl = item.leaf.decl
    raw = bytes(data[item.start : item.end])
    null = decl.is_null(decl.presence.read(raw))
    working = f"{number_working(decl.presence, raw)}: {'null' if null else 'there is one'}"
    then = "no struct: what comes next is the field after it" if null else ""
    if not null and isinstance(parent.node, Nullable):
        then = f"a struct: {rules.fields_text(parent.node.struct)}"
    return [Piece(item.start, item.end, "presence", rules.presence_rule(decl), (working,))], then


def _tag_count(item: Item, data: Any) -> tuple[list[Piece], str]:
    number = read_count(item, data)
    working = f"{varint_working(bytes(data[item.start : item.end]))} tagged field{'s' * (number != 1)}"
    then = (
        f"{number} times a tag, a size and so many bytes"
        if number > 1
        else "a tag, a size and so many bytes"
        if number
        else ""
    )
    owner = item.leaf.path.removesuffix("_tags").rstrip(".")
    if owner and not number:
        then = f"this element of {owner.removesuffix('[]')} ends here" if owner.endswith("[]") else f"{owner} ends here"
    return [Piece(item.start, item.end, "count", "tags.count", (working,))], then


def _tag_header(item: Item, data: Any, parent: Item) -> tuple[list[Piece], str]:
    raw = bytes(data[item.start : item.end])
    cut = next(i for i, byte in enumerate(raw) if byte < 0x80) + 1
    size = UVARINT.read(raw[cut:])
    declared = parent.node.known.get(item.leaf.id) if isinstance(parent.node, Tags) else None
    then = f"{size} byte{'s' * (size != 1)} of a field that this version does not have"
    if declared:
        then = f"{declared[0].name}, {rules.node_type(declared[0])}"
    tag = Piece(item.start, item.start + cut, "tag", "tag.number", (varint_working(raw[:cut]),))
    sized = f"{varint_working(raw[cut:])} byte{'s' * (size != 1)}"
    return [tag, Piece(item.start + cut, item.end, "size", "tag.size", (sized,))], then


def _size(item: Item, data: Any, rule: str = "") -> tuple[list[Piece], str]:
    decl = item.leaf.decl
    raw = bytes(data[item.start : item.end])
    number = int(decl.read(raw))
    then = f"the {number} bytes from {item.end} to {item.end + number - 1}" if number > 0 else ""
    return [Piece(item.start, item.end, "size", rule or rules.size_rule(decl), (number_working(decl, raw),))], then


def covered(item: Item, parent: Item, special: Special) -> tuple[int, int] | None:
    """Return the bytes that a checksum covers, or None if they are not all there.

    They begin with the field `covers_from`. They end with the struct, or at the checksum if the checksum stands
    behind them.
    """
    begins = next((part.start for part in parent.parts if part.node.name == special.covers_from), None)
    if begins is None or not parent.whole:
        return None
    return begins, item.start if item.start > begins else parent.end


def _crc(item: Item, data: Any, parent: Item, special: Special) -> list[Piece]:
    raw = bytes(data[item.start : item.end])
    stated = int.from_bytes(raw, "big")
    lines = [f"0x{raw.hex()} = {stated}"]
    if bounds := covered(item, parent, special):
        start, end = bounds
        computed = CHECKSUMS[special.crc or ""](data[start:end])
        verdict = "as stated" if computed == stated else "NOT what is stated"
        lines.append(
            f"the {end - start} bytes from {special.covers_from} on, {start} to {end - 1}, have "
            f"0x{computed:08x}: {verdict}"
        )
    return [Piece(item.start, item.end, "checksum", special.crc or "", tuple(lines))]


def _sized(item: Item, part: Part) -> tuple[list[Piece], str]:
    decl, data, leaf = item.leaf.decl, part.data, item.leaf
    value = part.tree.spans.value[item.span]
    content = content_rule(leaf)
    if isinstance(decl, Rest):
        left = f"{item.end - item.start} bytes, which is what the size leaves"
        return [
            Piece(item.start, item.end, "value", content if content == "compressed" else "length.rest", (left,))
        ], ""
    working, number = prefix_working(decl, bytes(data[item.start : value]), "byte", "null")
    pieces = [Piece(item.start, value, "length", rules.length_rule(decl), (working,))]
    if item.end > value:
        pieces.append(Piece(value, item.end, "value", content))
    then = (
        ""
        if number > 0
        else "no bytes: an empty value, which is not null"
        if number == 0
        else "no bytes: there is no value"
    )
    return pieces, then


def content_rule(leaf: Leaf) -> str:
    """The rule of the bytes of a string, bytes or records behind their length."""
    if leaf.kind == "records":
        return "compressed" if isinstance(leaf.decl, Rest) else "records"
    return "utf8" if leaf.kind == "string" else "bytes"
