"""Two messages or frames compared by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.comparison.differences import At, Comparison, Difference, InOrder, Parts, Side, parts_of
from kwire_cli.analysis.comparison.elements import Look, Operand, elements, is_unread, record_differences, together
from kwire_cli.engine.program import Array, Leaf, Nullable, Struct
from kwire_cli.engine.tree import is_null, read_count
from kwire_cli.engine.values import leaf_value
from kwire_cli.errors import InputError
from kwire_cli.message.frames import CARRIED, Forwarded
from kwire_cli.records.payload_fields import holds_payloads, payloads_of
from kwire_cli.structs.lengths import NullableStruct, Prefixed
from kwire_cli.structs.numbers import RANGES, Varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.engine.tree import Item
    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog

    Hide = Callable[[Body], frozenset[int]]
    """The numbers of the spans of a payload that hold secrets."""
    Hidden = Mapping[str, frozenset[int]]


# In which form a layout writes a value: what differs between two versions where the value does not.


def form_name(item: Item) -> str:
    """The form of a leaf, by its declaration: `compact string`, `int16 string`, `int32 count`, `int64`; equal for equal
    forms.
    """
    decl: Any = item.leaf.decl
    if isinstance(decl, Prefixed):
        prefix = "compact" if decl.compact else getattr(decl.prefix, "kind", "plain")
        return f"{prefix} {'count' if item.leaf.kind == 'count' else item.leaf.kind}"
    if isinstance(decl, NullableStruct):
        return "tagged presence" if decl.tagged else "presence"
    if isinstance(decl, Varint) and decl.kind in RANGES:
        return f"{'' if decl.zigzag else 'u'}packed{decl.bits} {item.leaf.kind}"
    wire = getattr(decl, "wire", item.leaf.kind)
    return item.leaf.kind if wire == item.leaf.kind else f"{item.leaf.kind} as {wire}"


# Two messages compared by field, in one walk over both trees: elements of arrays belong together by their
# keys, wherever their bytes stand.
#
# What differs is a value, or bytes where the values are the same. Where the layouts of two versions write the
# same value in two forms (a compact length, a tag), that is counted by field and not told one by one.


def compare(a: Operand, b: Operand, out: Comparison | None = None, at: At = At()) -> Comparison:  # noqa: B008 - a tuple of texts
    """Return the differences between two messages of the same name, each at its own version.

    The differences are added to `out`, below `at` if the messages are parts of others. Raises InputError for messages
    of different names, and nothing else, whatever their bytes.
    """
    if a.body.message != b.body.message:
        raise InputError(
            f"only two of one kind can be compared field by field: a is {a.body.message}, b is {b.body.message}"
        )
    out = Comparison() if out is None else out
    before = len(out.differences), len(out.rewritten)
    walk = _Walk(Look(a), Look(b), out)
    walk.structs(a.body.tree.root, b.body.tree.root, at)
    walk.gaps(at)
    if (
        walk.same_layout
        and before == (len(out.differences), len(out.rewritten))
        and walk.raw_differs(a.body.tree.root, b.body.tree.root)
    ):
        walk.tell("bytes", at, a.body.tree.root, b.body.tree.root, "bytes that are no field's own")
    return out


class _Walk:
    """Both trees, side by side; what differs goes to `out`."""

    def __init__(self, a: Look, b: Look, out: Comparison) -> None:
        self.a, self.b, self.out = a, b, out
        self.same_layout = a.body.entry is b.body.entry
        self.order = InOrder()

    def raw_differs(self, p: Item, q: Item) -> bool:
        return p.end - p.start != q.end - q.start or self.a.raw(p) != self.b.raw(q)

    def tell(
        self, kind: str, at: At, p: Item | None, q: Item | None, detail: str = "", *, layout: bool = False
    ) -> None:
        raw = kind == "bytes"
        a, b = (self.a.side(p, at.a, raw=raw) if p else None), (self.b.side(q, at.b, raw=raw) if q else None)
        self.out.differences.append(Difference(kind, at, a, b, detail, layout))

    def other_bytes(self, p: Item, q: Item, at: At) -> None:
        """Say that the bytes of a value differ that is the same, unless they don't: by whatever is odd about them, or
        by the two forms.
        """
        if not self.raw_differs(p, q):
            return
        forms = (form_name(p), form_name(q)) if isinstance(p.node, Leaf) and isinstance(q.node, Leaf) else ("", "")
        if forms[0] != forms[1]:
            self.out.rewrite(at.field, forms, (p.end - p.start, q.end - q.start))
            return
        odd = [
            f"{', '.join(sorted(codes))} in {name}"
            for name, codes in (("a", self.a.odd(p)), ("b", self.b.odd(q)))
            if codes
        ]
        self.tell("bytes", at, p, q, "; ".join(odd))

    # Structs

    def structs(self, p: Item, q: Item, at: At) -> None:
        """Two structs, field by field."""
        if self.same_layout and not self.raw_differs(p, q):
            return
        mine, other = parts_of(p), parts_of(q)
        topics = self.a.topic, self.b.topic
        self.a.enter(mine)
        self.b.enter(other)
        for name in [*mine.names, *(name for name in other.names if name not in mine.names)]:
            self.field(name, mine, other, at.below(name))
        self.unknown_tags(mine, other, at.below("_tags"))
        self.sections(mine, other, at.below("_tags"))
        self.a.topic, self.b.topic = topics

    def field(self, name: str, mine: Parts, other: Parts, at: At) -> None:
        """A field that at least one of the layouts has."""
        p, q = mine.fields.get(name), other.fields.get(name)
        if p and q:
            self.values(p, q, at)
            self.headers(mine.headers.get(name), other.headers.get(name), p, q, at)
            return
        present = p or q
        if not present:
            return
        lacks, parts = (self.b, other) if p else (self.a, mine)
        which = "b" if p else "a"
        kind = "removed" if p else "added"
        if name not in parts.names:
            self.tell(kind, at, p, q, f"version {lacks.body.layout_version} has no such field", layout=True)
        elif name not in parts.defaults or not parts.all_tags:
            self.tell(kind, at, p, q, f"the bytes of {which} do not reach it")
        else:
            self.left_out(present, parts.defaults[name], at, in_a=bool(p))

    def left_out(self, item: Item, default: Any, at: At, *, in_a: bool) -> None:
        """A field that one side has, and the other one left out of its tag section: there it has its default."""
        has, path = (self.a, at.b) if in_a else (self.b, at.a)
        same = has.value(item) == default
        here, there = has.side(item, at.a if in_a else at.b, raw=same), Side(path, default)
        sides = (here, there) if in_a else (there, here)
        if same and not self.same_layout:
            size = item.end - item.start
            forms, sizes = (("plain", "left out"), (size, 0)) if in_a else (("left out", "plain"), (0, size))
            self.out.rewrite(at.field, forms, sizes)
            return
        detail = f"{'b' if in_a else 'a'} leaves it out: the default"
        self.out.differences.append(Difference("bytes" if same else "changed", at, *sides, detail))

    def headers(self, p: Item | None, q: Item | None, mine: Item, other: Item, at: At) -> None:
        """The tag headers before two fields, of which at least one is tagged."""
        if p and q:
            sizes = mine.end - mine.start == other.end - other.start
            if sizes or self.a.odd(p) or self.b.odd(q):
                self.other_bytes(p, q, at)
        elif p or q:
            self.out.rewrite(
                at.field, ("tag header" if p else "no tag", "tag header" if q else "no tag"), (_size(p), _size(q))
            )

    def unknown_tags(self, mine: Parts, other: Parts, at: At) -> None:
        for key in [*mine.unknown, *(key for key in other.unknown if key not in mine.unknown)]:
            p, q = mine.unknown.get(key), other.unknown.get(key)
            place = At(*(f"{path}[{key[0]}]" for path in at))
            if p and q:
                if self.raw_differs(p[1], q[1]):
                    self.tell("changed", place, p[1], q[1])
                self.headers(p[0], q[0], p[1], q[1], place)
            elif p or q:
                self.tell("removed" if p else "added", place, p and p[1], q and q[1])

    def sections(self, mine: Parts, other: Parts, at: At) -> None:
        """The tag counts, the order of the tags, and tags that occur again later."""
        p, q = mine.section, other.section
        if not (p and q):
            if p or q:
                sizes = (_size(p.parts[0] if p else None), _size(q.parts[0] if q else None))
                self.out.rewrite(at.field, ("tag section" if p else "none", "tag section" if q else "none"), sizes)
            return
        if len(p.parts) == len(q.parts) or self.a.odd(p.parts[0]) or self.b.odd(q.parts[0]):
            self.other_bytes(p.parts[0], q.parts[0], at)
        both = {*mine.order} & {*other.order}
        if [tag for tag in mine.order if tag in both] != [tag for tag in other.order if tag in both]:
            self.tell("bytes", at, p, q, "the tags stand in another order")
        if b"".join(map(self.a.raw, mine.repeated)) != b"".join(map(self.b.raw, other.repeated)):
            self.tell("bytes", at, p, q, "a known tag occurs again later, and the last one counts")

    # Values

    def values(self, p: Item, q: Item, at: At) -> None:
        """Two values of one field."""
        if self.same_layout and not self.raw_differs(p, q):
            return
        nulls = self.null(p, self.a), self.null(q, self.b)
        if nulls[0] is not nulls[1]:
            self.tell("changed", at, p, q)
        elif nulls[0]:
            self.other_bytes(_first(p), _first(q), at)
        else:
            self.present(p, q, at)

    def present(self, p: Item, q: Item, at: At) -> None:
        """Two values that are not null."""
        x, y = (item.parts[1] if isinstance(item.node, Nullable) else item for item in (p, q))
        if isinstance(x.node, Struct) and isinstance(y.node, Struct):
            markers = [item.parts[0] if isinstance(item.node, Nullable) else None for item in (p, q)]
            if markers[0] and markers[1]:
                self.other_bytes(markers[0], markers[1], at)
            elif markers[0] or markers[1]:
                forms = [form_name(marker) if marker else "none" for marker in markers]
                self.out.rewrite(at.field, (forms[0], forms[1]), (_size(markers[0]), _size(markers[1])))
            self.structs(x, y, at)
        elif isinstance(x.node, Array) and isinstance(y.node, Array):
            self.arrays(x, y, at)
        elif isinstance(x.node, Leaf) and isinstance(y.node, Leaf):
            self.leaves(x, y, at)
        else:
            self.tell("changed", at, p, q, "another kind of field in each version")

    def null(self, item: Item, look: Look) -> bool:
        """Return whether a field is null."""
        if isinstance(item.node, Leaf):
            return leaf_value(item, look.tree) is None
        if isinstance(item.node, Array):
            return read_count(item.parts[0], look.data) < 0
        return isinstance(item.node, Nullable) and is_null(item.parts[0], look.data)

    def leaves(self, p: Item, q: Item, at: At) -> None:
        if p.leaf.kind == q.leaf.kind == "records":
            if self.raw_differs(p, q):
                self.records(p, q, at)
        elif self.a.value(p) != self.b.value(q):
            self.tell("changed", at, p, q)
        else:
            self.other_bytes(p, q, at)

    def records(self, p: Item, q: Item, at: At) -> None:
        """Record sets: by batch and record, the bytes only if those are the same."""
        mine, other = (look.record_items(item) for look, item in ((self.a, p), (self.b, q)))
        changes = list(record_differences(mine[0], other[0], (mine[1], other[1]), at, self.order))
        self.out.differences += changes
        unread = [name for name, (items, _) in (("a", mine), ("b", other)) if any(map(is_unread, items))]
        if changes:
            return
        if self.a.payload(p) == self.b.payload(q):
            self.other_bytes(p, q, at)
        elif unread:
            self.tell("changed", at, p, q, f"not all records of {' and '.join(unread)} can be read")
        else:
            self.tell("bytes", at, p, q, "the same records, written in another way")

    # Arrays

    def arrays(self, p: Item, q: Item, at: At) -> None:
        if len(elements(p)) == len(elements(q)) or form_name(p.parts[0]) != form_name(q.parts[0]):
            self.other_bytes(p.parts[0], q.parts[0], at)
        for place, mine, other, moved in together(self.a, self.b, p, q, at, self.order):
            if mine is None or other is None:
                self.tell("added" if mine is None else "removed", place, mine, other)
                continue
            if moved:
                self.tell("moved", place, mine, other)
            self.values(mine, other, place)

    # What could not be decoded

    def gaps(self, at: At) -> None:
        """The bytes behind what could be decoded."""
        p, q = self.a.tree.gap, self.b.tree.gap
        if p and q and not self.raw_differs(p, q):
            return
        if p or q:
            place = at.below("gap")
            sides = self.a.gap_side(p, place.a), self.b.gap_side(q, place.b)
            kind = "changed" if p and q else "removed" if p else "added"
            self.out.differences.append(Difference(kind, place, *sides, "bytes that could not be decoded"))


def _size(item: Item | None) -> int:
    return item.end - item.start if item else 0


def _first(item: Item) -> Item:
    """A null string itself, or the count of a null array."""
    return item.parts[0] if item.parts else item


# Bytes that differ and are messages themselves: what differs within them, in their place.


def look_inside(catalog: Catalog, a: Body, b: Body, out: Comparison, hide: Hide) -> None:
    """Put what differs in subscriptions, assignments and other payloads in place of their bytes. Offsets within count
    from the begin of the field.
    """
    if a.guess or b.guess or not holds_payloads(a.message):
        return
    mine, other = (
        {entry.path: entry for entry in payloads_of(catalog, body.spec, body.version, body.tree)} for body in (a, b)
    )
    if mine and other:
        out.differences = [inner for entry in out.differences for inner in _inside(entry, mine, other, out, hide)]


def _inside(
    each: Difference, mine: dict[str, Payload], other: dict[str, Payload], out: Comparison, hide: Hide
) -> Iterator[Difference]:
    comparable = each.kind == "changed" and each.a and each.b and each.a.item and each.b.item  # no secret
    p = mine.get(each.a.path) if comparable and each.a else None
    q = other.get(each.b.path) if comparable and each.b else None
    if p is None or q is None or p.type != q.type or not p.body or not q.body:
        yield each
        return
    comparison = Comparison(rewritten=out.rewritten)
    compare(Operand(p.body, hide(p.body)), Operand(q.body, hide(q.body)), comparison, each.at)
    if p.version != q.version:
        place = each.at.below("version")
        yield _version(place, p, q)
    elif not comparison.differences:  # only in what stands before the message
        yield each
    for inner in comparison.differences:
        yield from _inside(inner, mine, other, out, hide)


def _version(at: At, p: Payload, q: Payload) -> Difference:
    return Difference(
        "changed", at, Side(at.a, p.version), Side(at.b, q.version), f"the version of the {p.type} in the bytes"
    )


# Two requests, or two responses, of one api: size prefix, header and body compared.


def compare_frames(
    a: Frame,
    b: Frame,
    hidden: tuple[Hidden, Hidden],
    reading: tuple[RecordsAs, RecordsAs],
    hide: Hide,
    at: At = At(),  # noqa: B008 - a tuple of texts
) -> Comparison:
    """Return the differences between two frames, below `at`. Paths in their headers begin with `header`.

    `hidden` are the spans to redact by part, and `hide` gives the spans to redact in a payload. A size prefix follows
    from the bytes that it counts, so size prefixes are compared only if one of them is wrong.

    Raises InputError if the frames are not both requests, or both responses, of one api, or if a body could not be
    read.
    """
    for name, frame in (("a", a.shown(hidden[0])), ("b", b.shown(hidden[1]))):
        if not frame.body:
            raise InputError(
                f"{name} has no body that can be compared: {_what(frame)}; --api and --message-version say what it is"
            )
    if (a.kind, a.api) != (b.kind, b.api):
        raise InputError(
            f"only two of one kind can be compared field by field: a is {_what(a.shown(hidden[0]))}, b is "
            f"{_what(b.shown(hidden[1]))}"
        )

    def operands(mine: Decoded, other: Decoded, part: str) -> tuple[Operand, Operand]:
        return (
            Operand(mine, hidden[0].get(part, frozenset()), reading[0]),
            Operand(other, hidden[1].get(part, frozenset()), reading[1]),
        )

    out = Comparison()
    if a.prefix and b.prefix and any(note.code == "FRAME_SIZE_MISMATCH" for note in (*a.notes, *b.notes)):
        compare(*operands(a.prefix, b.prefix, "size"), out, at)
    if a.header and b.header and a.header.message == b.header.message:
        compare(*operands(a.header, b.header, "header"), out, at.below("header"))
    _between(a, b, out, at.below("header"))
    if a.body and b.body:
        compare(*operands(a.body, b.body, "body"), out, at)
        if not (a.guess or b.guess):
            look_inside(a.catalog, a.body, b.body, out, hide)
            _forwarded(a, b, out, reading, hide)
    return out


def _forwarded(a: Frame, b: Frame, out: Comparison, reading: tuple[RecordsAs, RecordsAs], hide: Hide) -> None:
    """Put what differs within forwarded requests in place of their bytes, unless these are secret: then something in
    them is.
    """
    path = CARRIED.get(a.body.message if a.body else "")
    carried = [entry.frame for frame in (a, b) if path for entry in frame.inside() if isinstance(entry, Forwarded)]
    if len(carried) != 2 or not all(frame.body for frame in carried) or carried[0].api != carried[1].api:
        return
    differences: list[Difference] = []
    for entry in out.differences:
        if (
            entry.kind == "changed"
            and entry.a
            and entry.b
            and entry.a.item
            and entry.b.item
            and entry.a.item.node.name == path
        ):
            comparison = compare_frames(carried[0], carried[1], ({}, {}), reading, hide, entry.at)
            out.rewritten |= comparison.rewritten
            differences += comparison.differences
        else:
            differences.append(entry)
    out.differences = differences


def _what(frame: Frame) -> str:
    name = frame.api or (f"api key {frame.api_key}" if frame.api_key is not None else "")
    return f"{name} {frame.kind}".strip()


def _between(a: Frame, b: Frame, out: Comparison, place: At) -> None:
    """Bytes after the header that are no body's: some clients write a few."""
    spots = [(frame.header.raw.used, frame.body.start) for frame in (a, b) if frame.header and frame.body]
    extra = [bytes(frame.data[start:stop]) for frame, (start, stop) in zip((a, b), spots, strict=False)]
    if len(extra) == 2 and extra[0] != extra[1]:
        mine, other = (
            Side(place.path, None, start, len(data), raw=data) for (start, _), data in zip(spots, extra, strict=True)
        )
        out.differences.append(Difference("bytes", place, mine, other, "bytes between header and body"))
