"""What the bytes of one span say, piece by piece, and what follows because of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Leaf, Nullable, Series, Tags
from kwire_cli.engine.tree import Item, read_count
from kwire_cli.explain import bits, forms
from kwire_cli.explain.fields import DIFFERENCES
from kwire_cli.explain.model import Part, Piece
from kwire_cli.records.batch import int64
from kwire_cli.records.layouts import CHECKSUMS
from kwire_cli.structs.numbers import UVARINT, FixedInt, Varint
from kwire_cli.structs.records.parts import Rest
from kwire_cli.structs.sized import Sized

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.explain.layouts import Special


def pieces_of(part: Part, item: Item, parent: Item) -> tuple[tuple[Piece, ...], str]:
    """The pieces of a leaf, which cover its bytes, and what follows because of them; `parent` is the struct, array or section that it stands in."""
    leaf, data = item.leaf, part.data
    special = part.specials.get(leaf.path)
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
        pieces, then = [Piece(item.start, item.end, "bits", "bits", tuple(bits.bits_working(raw, special.bits)))], ""
    elif part.layout == "FrameSize":
        pieces, then = _size(item, data, "size.frame")
    elif isinstance(leaf.decl, Sized | Rest):
        pieces, then = _sized(item, part)
    else:
        raw = bytes(data[item.start : item.end])
        working = (number_working(leaf.decl, raw), *_together(part, leaf, raw))
        pieces, then = [Piece(item.start, item.end, "value", forms.number_rule(leaf.decl), working)], ""
    if item.span in part.hidden:
        return _masked(pieces, part, item), ""
    return tuple(pieces), then


def _masked(pieces: list[Piece], part: Part, item: Item) -> tuple[Piece, ...]:
    """A length may be shown, unless it is not sure that it is one."""
    sure = part.exact and isinstance(item.leaf.decl, Sized)
    return tuple(each if sure and each.what == "length" else each._replace(working=(), secret=True) for each in pieces)


def _together(part: Part, leaf: Leaf, raw: bytes) -> Iterator[str]:
    """What a difference makes together with what it counts from: `baseOffset 3 + 1: its offset is 4`."""
    base, what = DIFFERENCES.get(part.layout, {}).get(leaf.path, ("", ""))
    if base in part.bases:
        number = leaf.decl.read(raw)
        sign = "-" if number < 0 else "+"
        yield f"{base} {part.bases[base]} {sign} {abs(number)}: {what} is {int64(part.bases[base] + number)}"


def number_working(decl: Any, raw: bytes) -> str:
    """How the bytes of a number, boolean or uuid become its value."""
    rule = forms.number_rule(decl)
    if isinstance(decl, Varint):
        working = bits.upacked_working if rule in {"uvarint", "upacked"} else bits.zigzag_working  # Kafka reads both into a signed int
        return working(raw, decl.bits)
    if rule == "float64":
        return bits.float_working(raw)
    if rule == "uuid":
        return bits.uuid_working(raw) if any(raw) else "zeros: no uuid"
    if rule == "bool":
        return f"0x{raw.hex()} = {'true' if raw[0] else 'false'}"
    return bits.fixed_working(raw, signed=not isinstance(decl, FixedInt) or decl.wire[0] == "i")


def prefix_working(decl: Any, raw: bytes, one: str, null: str) -> tuple[str, int]:
    """How a length or count is read, in text that ends in `17 bytes` where `one` is byte, and the number; below 0 it is `null`."""
    prefix = decl.prefix
    number = int(prefix.read(raw)) - decl.compact
    shown = number_working(prefix, raw)
    if decl.compact and number >= 0:
        shown += f"; less 1: {number}"
    return f"{shown}{f' {one}' + 's' * (number != 1) if number >= 0 else f': {null}'}", number


def _count(item: Item, data: Any, parent: Item) -> tuple[list[Piece], str]:
    decl = item.leaf.decl
    working, number = prefix_working(decl, bytes(data[item.start : item.end]), "element", "null, no array at all")
    element = parent.node.element if isinstance(parent.node, Array) else None
    then = ""
    if number > 0 and element is not None:
        then = f"{number} element{'s' * (number > 1)}, {'each ' * (number > 1)}{forms.element_text(element)}"
    elif number == 0:
        then = "no element: what comes next is the field after the array"
    return [Piece(item.start, item.end, "count", forms.count_rule(decl), (working,))], then


def _presence(item: Item, data: Any, parent: Item) -> tuple[list[Piece], str]:
    decl = item.leaf.decl
    raw = bytes(data[item.start : item.end])
    null = decl.is_null(decl.presence.read(raw))
    working = f"{number_working(decl.presence, raw)}: {'null' if null else 'there is one'}"
    then = "no struct: what comes next is the field after it" if null else ""
    if not null and isinstance(parent.node, Nullable):
        then = f"a struct: {forms.fields_text(parent.node.struct)}"
    return [Piece(item.start, item.end, "presence", forms.presence_rule(decl), (working,))], then


def _tag_count(item: Item, data: Any) -> tuple[list[Piece], str]:
    number = read_count(item, data)
    working = f"{bits.varint_working(bytes(data[item.start : item.end]))} tagged field{'s' * (number != 1)}"
    then = f"{number} times a tag, a size and so many bytes" if number > 1 else "a tag, a size and so many bytes" if number else ""
    owner = item.leaf.path.removesuffix("_tags").rstrip(".")
    if owner and not number:
        then = f"this element of {owner.removesuffix('[]')} ends here" if owner.endswith("[]") else f"{owner} ends here"
    return [Piece(item.start, item.end, "count", "tags.count", (working,))], then


def _tag_header(item: Item, data: Any, parent: Item) -> tuple[list[Piece], str]:
    raw = bytes(data[item.start : item.end])
    cut = next(i for i, byte in enumerate(raw) if byte < 0x80) + 1
    size = UVARINT.read(raw[cut:])
    known = parent.node.known.get(item.leaf.id) if isinstance(parent.node, Tags) else None
    then = f"{size} byte{'s' * (size != 1)} of a field that this version does not have"
    if known:
        then = f"{known[0].name}, {forms.node_type(known[0])}"
    tag = Piece(item.start, item.start + cut, "tag", "tag.number", (bits.varint_working(raw[:cut]),))
    sized = f"{bits.varint_working(raw[cut:])} byte{'s' * (size != 1)}"
    return [tag, Piece(item.start + cut, item.end, "size", "tag.size", (sized,))], then


def _size(item: Item, data: Any, rule: str = "") -> tuple[list[Piece], str]:
    decl = item.leaf.decl
    raw = bytes(data[item.start : item.end])
    number = int(decl.read(raw))
    then = f"the {number} bytes from {item.end} to {item.end + number - 1}" if number > 0 else ""
    return [Piece(item.start, item.end, "size", rule or forms.size_rule(decl), (number_working(decl, raw),))], then


def covered(item: Item, parent: Item, special: Special) -> tuple[int, int] | None:
    """Which bytes a checksum covers: from its field on, to the end of the struct, or to the checksum where that stands behind them."""
    begins = next((part.start for part in parent.parts if part.node.name == special.covers_from), None)
    if begins is None or not parent.whole:
        return None
    return begins, item.start if item.start > begins else parent.end


def _crc(item: Item, data: Any, parent: Item, special: Special) -> list[Piece]:
    raw = bytes(data[item.start : item.end])
    stated = int.from_bytes(raw, "big")
    lines = [f"0x{raw.hex()} = {stated}"]
    if found := covered(item, parent, special):
        start, end = found
        computed = CHECKSUMS[special.crc or ""](data[start:end])
        verdict = "as stated" if computed == stated else "NOT what is stated"
        lines.append(f"the {end - start} bytes from {special.covers_from} on, {start} to {end - 1}, have 0x{computed:08x}: {verdict}")
    return [Piece(item.start, item.end, "checksum", special.crc or "", tuple(lines))]


def _sized(item: Item, part: Part) -> tuple[list[Piece], str]:
    decl, data, leaf = item.leaf.decl, part.data, item.leaf
    value = part.tree.spans.value[item.span]
    content = content_rule(leaf)
    if isinstance(decl, Rest):
        left = f"{item.end - item.start} bytes, which is what the size leaves"
        return [Piece(item.start, item.end, "value", content if content == "compressed" else "length.rest", (left,))], ""
    working, number = prefix_working(decl, bytes(data[item.start : value]), "byte", "null")
    pieces = [Piece(item.start, value, "length", forms.length_rule(decl), (working,))]
    if item.end > value:
        pieces.append(Piece(value, item.end, "value", content))
    then = "" if number > 0 else "no bytes: an empty value, which is not null" if number == 0 else "no bytes: there is no value"
    return pieces, then


def content_rule(leaf: Leaf) -> str:
    """The rule of the bytes of a string, bytes or records behind their length."""
    if leaf.kind == "records":
        return "compressed" if isinstance(leaf.decl, Rest) else "records"
    return "utf8" if leaf.kind == "string" else "bytes"


def is_array(item: Item) -> bool:
    """Whether it holds elements."""
    return isinstance(item.node, Array | Series)
