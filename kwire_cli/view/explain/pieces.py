"""The pieces of a field: its length, its value or a tag, each with its rule, and the consequence of the bytes.

A field can consist of several numbers that are decoded with different rules. A string has a length and a value, the
header of a tagged field a tag and a size. The kind of the leaf selects a function that splits its bytes into pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.engine.program import Array, Leaf, Nullable, Series, Struct, Tags
from kwire_cli.engine.tree import read_count
from kwire_cli.errors import counted
from kwire_cli.records.batch import int64
from kwire_cli.records.layouts import CHECKSUMS as SUMS_OF
from kwire_cli.structs.composites import Rest
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.numbers import UVARINT
from kwire_cli.view.explain import rules
from kwire_cli.view.explain.model import Piece
from kwire_cli.view.explain.notes import BITS, CHECKSUMS, SUMS, layout_of
from kwire_cli.view.explain.workings import bits_working, mismatch_text, number_working, prefix_working, varint_working

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.records.registers import Register
    from kwire_cli.view.rows import Field

    Pieces = tuple[list[Piece], str]
    """Pieces of a field, and the consequence of their bytes."""


def pieces_of(row: Field, register: Register | None = None) -> tuple[tuple[Piece, ...], str]:
    """Return the pieces that cover the bytes of a leaf, and the consequence of the bytes.

    `register` has the names of header keys, which are numbers in the KIP-82 draft.
    """
    item = row.item
    part = row.part
    leaf = item.leaf
    key = layout_of(part), leaf.path
    raw = bytes(part.data[item.start : item.end])
    then = ""
    if make := _MARKERS.get(leaf.kind):
        pieces, then = make(row, raw)
    elif key[0] == "FrameSize" or _is_size(row):
        rule = "size.frame" if key[0] == "FrameSize" else rules.prefix_rule("size", leaf.decl)
        pieces = _single_piece(row, "size", rule, number_working(leaf.decl, raw))
        number = int(leaf.decl.read(raw))
        then = f"the {number} bytes from {item.end} to {item.end + number - 1}" if number > 0 else ""
    elif isinstance(leaf.decl, Sized | Rest):
        pieces, then = _sized(row, raw)
    elif part.batch and key in CHECKSUMS:
        pieces = _single_piece(row, "checksum", CHECKSUMS[key][0], *_checksum_working(row, raw, *CHECKSUMS[key]))
    elif part.batch and key in BITS:
        pieces = _single_piece(row, "bits", "bits", *bits_working(raw, BITS[key]))
    else:
        working = (number_working(leaf.decl, raw), *_sum_working(row, raw, register))
        pieces = _single_piece(row, "value", rules.number_rule(leaf.decl), *working)
    if row.secret is None:
        return tuple(pieces), then
    shown = row.secret - part.shift
    return tuple(
        piece if piece.end <= shown and piece.what == "length" else piece._replace(working=(), secret=True)
        for piece in pieces
    ), ""


def _single_piece(row: Field, what: str, rule: str, *working: str) -> list[Piece]:
    return [Piece(row.item.start, row.item.end, what, rule, working)]


def _is_size(row: Field) -> bool:
    """Return whether a field of a record format is the number of bytes that follow it."""
    node = row.parent.node
    leaf = row.item.leaf
    if isinstance(node, Struct):
        return node.size >= 0 and node.fields[node.size] is leaf
    return isinstance(node, Series) and node.size is leaf


def _sum_working(row: Field, raw: bytes, register: Register | None) -> Iterator[str]:
    """Yield the sum of a difference and its base, `baseOffset 3 + 1: its offset is 4`, and the name of a header key."""
    leaf = row.item.leaf
    batch = row.part.batch
    name, what = SUMS.get((layout_of(row.part), leaf.path), ("", ""))
    if batch and name and not (name == "baseTimestamp" and batch.head.timestamp_type):
        base = batch.head.base_offset if name == "baseOffset" else batch.head.base_timestamp
        number = leaf.decl.read(raw)
        yield f"{name} {base} {'-' if number < 0 else '+'} {abs(number)}: {what} is {int64(base + number)}"
    if register and leaf.path.endswith("headers[].key"):
        yield f"header {register.label(leaf.decl.read(raw))}"


def _checksum_working(row: Field, raw: bytes, rule: str, covers_from: str) -> Iterator[str]:
    """Yield the stated checksum, and the computed one if all covered bytes are present.

    The covered bytes start with the field `covers_from`. They end with the struct, or at the checksum if it follows
    them.
    """
    item = row.item
    parent = row.parent
    stated = int.from_bytes(raw, "big")
    yield f"0x{raw.hex()} = {stated}"
    start = next((part.start for part in parent.parts if part.node.name == covers_from), None)
    if start is None or not parent.whole:
        return
    end = item.start if item.start > start else parent.end
    covered = bytes(row.part.data[start:end])
    computed = SUMS_OF[rule](covered)
    verdict = "as stated" if computed == stated else "NOT as stated"
    span = f"the {end - start} bytes from {covers_from} on, {start} to {end - 1}"
    yield f"{span}, have 0x{computed:08x}: {verdict}"
    if computed != stated:
        yield mismatch_text(covered, start, computed ^ stated, rule)


def _sized(row: Field, raw: bytes) -> Pieces:
    item = row.item
    decl = item.leaf.decl
    value = row.part.tree.spans.value[item.span]
    content = _content_rule(item.leaf)
    if isinstance(decl, Rest):
        left = f"{item.end - item.start} bytes, the rest of the size"
        return _single_piece(row, "value", content if content == "compressed" else "length.rest", left), ""
    working, number = prefix_working(decl, raw[: value - item.start], "byte", "null")
    pieces = [
        Piece(item.start, value, "length", rules.prefix_rule("length", decl.prefix, compact=decl.compact), (working,))
    ]
    if item.end > value:
        pieces.append(Piece(value, item.end, "value", content))
    if number > 0:
        return pieces, ""
    return pieces, f"no bytes: {'the value is null' if number else 'the value is empty, not null'}"


def _content_rule(leaf: Leaf) -> str:
    """Return the rule of the bytes of a string, bytes or records after their length."""
    if leaf.kind == "records":
        return "compressed" if isinstance(leaf.decl, Rest) else "records"
    return "utf8" if leaf.kind == "string" else "bytes"


def _count(row: Field, raw: bytes) -> Pieces:
    decl = row.item.leaf.decl
    array = row.parent.node
    working, number = prefix_working(decl, raw, "element", "null, no array")
    then = ""
    if number == 0:
        then = "no element: the field after the array follows"
    elif number > 0 and isinstance(array, Array):
        then = f"{counted(number, 'element')}, {'each ' * (number > 1)}{rules.element_text(array.element)}"
    return _single_piece(row, "count", rules.prefix_rule("count", decl.prefix, compact=decl.compact), working), then


def _presence(row: Field, raw: bytes) -> Pieces:
    decl = row.item.leaf.decl
    node = row.parent.node
    null = decl.is_null(decl.presence.read(raw))
    then = "no struct: the field after it follows" if null else ""
    if not null and isinstance(node, Nullable):
        then = f"a struct: {rules.fields_text(node.struct)}"
    working = f"{number_working(decl.presence, raw)}: {'null' if null else 'present'}"
    return _single_piece(row, "presence", rules.prefix_rule("presence", decl.presence), working), then


def _tag_count(row: Field, raw: bytes) -> Pieces:
    number = read_count(row.item, row.part.data)
    owner = row.item.leaf.path.removesuffix("_tags").rstrip(".")
    then = ""
    if number:
        then = f"a tag, a size and a value{f', {number} times' if number > 1 else ''}"
    elif owner:
        then = f"{'this element of ' * owner.endswith('[]')}{owner.removesuffix('[]')} ends here"
    working = f"{varint_working(raw)} tagged field{'s' * (number != 1)}"
    return _single_piece(row, "count", "tags.count", working), then


def _tag_header(row: Field, raw: bytes) -> Pieces:
    item = row.item
    node = row.parent.node
    tag_size = next(i for i, byte in enumerate(raw) if byte < 0x80) + 1
    size = UVARINT.read(raw[tag_size:])
    declared = node.known.get(item.leaf.id) if isinstance(node, Tags) else None
    then = f"{counted(size, 'byte')} of a field that this version does not have"
    if declared:
        then = f"{declared[0].name}, {rules.node_type(declared[0])}"
    middle = item.start + tag_size
    tag_working = varint_working(raw[:tag_size])
    size_working = f"{varint_working(raw[tag_size:])} byte{'s' * (size != 1)}"
    return [
        Piece(item.start, middle, "tag", "tag.number", (tag_working,)),
        Piece(middle, item.end, "size", "tag.size", (size_working,)),
    ], then


_MARKERS: dict[str, Callable[[Field, bytes], Pieces]] = {
    "count": _count,
    "presence": _presence,
    "tag-count": _tag_count,
    "tag-header": _tag_header,
    "unknown-tag": lambda row, _: (_single_piece(row, "value", "tag.unknown"), ""),
}
