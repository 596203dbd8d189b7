"""Two messages or frames compared by field.

One walk goes over the values of both messages. Elements of arrays are matched by their keys, in any order, and record
sets are compared by batch and record. If all values are the same, two messages of one version may still differ in
bytes. The difference then names the smallest value whose bytes differ. Two versions write equal values in different
bytes, so the comparison of two versions only records that the layouts differ. `kwire compare` lists the cost of each
form.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.comparison.differences import At, Comparison, Difference, InOrder, Side, by_key
from kwire_cli.analysis.comparison.nodes import NO_FIELD, NOT_REACHED, DocumentNode, MessageNode, Operand
from kwire_cli.errors import InputError
from kwire_cli.message.frames import CARRIED, Forwarded
from kwire_cli.records.payload_fields import holds_payloads, payloads_of
from kwire_cli.spec.model import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.comparison.differences import Pair
    from kwire_cli.analysis.comparison.nodes import Node
    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog

    Hide = Callable[[Body], frozenset[int]]
    """The numbers of the spans of a payload that hold secrets."""
    Hidden = Mapping[str, frozenset[int]]


def compare(a: Operand, b: Operand, out: Comparison | None = None, at: At = At()) -> Comparison:  # noqa: B008 - a tuple of texts
    """Return the differences between two messages of the same name, each at its own version.

    The differences are added to `out`, below `at` if the messages are parts of others. Raises InputError for messages
    of different names. Any bytes can be compared.
    """
    if a.body.message != b.body.message:
        raise InputError(
            f"only two of one kind can be compared field by field: a is {a.body.message}, b is {b.body.message}"
        )
    out = Comparison() if out is None else out
    one_layout = a.body.entry is b.body.entry
    _Walk(out.differences, InOrder(), one_layout=one_layout).structs_or_bytes(a.root, b.root, at)
    gaps = a.gap_side(at.below("gap").a), b.gap_side(at.below("gap").b)
    if gaps[0] != gaps[1]:
        one_sided = "removed" if gaps[0] else "added"
        kind = "changed" if all(gaps) else one_sided
        out.differences.append(Difference(kind, at.below("gap"), *gaps, "bytes that could not be decoded"))
    out.other_layout = out.other_layout or (not one_layout and a.root.raw != b.root.raw)
    return out


def compare_documents(a: DocumentNode, b: DocumentNode, at: At, order: InOrder) -> list[Difference]:
    """Return the differences between two JSON documents, below `at`."""
    walk = _Walk([], order, one_layout=False)
    walk.values(a, b, at)
    return walk.out


class _Walk:
    """A walk over two values, side by side. Differences go to `out`."""

    def __init__(self, out: list[Difference], order: InOrder, *, one_layout: bool) -> None:
        self.out = out
        self.order = order
        self.one_layout = one_layout

    def add(self, kind: str, at: At, p: Node | None, q: Node | None, detail: str = "", *, layout: bool = False) -> None:
        raw = kind == "bytes"
        a = p.side(at.a, at.field, raw=raw) if p else None
        b = q.side(at.b, at.field, raw=raw) if q else None
        self.out.append(Difference(kind, at, a, b, detail, layout))

    def values(self, p: Node, q: Node, at: At) -> None:
        """Compare two values of one field."""
        if p.is_null is not q.is_null:
            self.add("changed", at, p, q)
        elif isinstance(p, MessageNode) and isinstance(q, MessageNode):
            if not (self.one_layout and p.raw == q.raw):
                self.structs_or_bytes(p, q, at)
        elif not p.is_null:
            self.present(p, q, at)

    def structs_or_bytes(self, p: MessageNode, q: MessageNode, at: At) -> None:
        """Compare two values of messages. Their bytes count if nothing else differs."""
        before = len(self.out)
        if not p.is_null:
            self.present(p, q, at)
        if not self.one_layout or p.raw == q.raw or len(self.out) > before:
            return
        if p.kind == "struct" and p.tags and q.tags and p.tags.raw != q.tags.raw:
            self.add_bytes(p.tags, q.tags, at.below("_tags"))
        else:
            self.add_bytes(p, q, at)

    def add_bytes(self, p: MessageNode, q: MessageNode, at: At) -> None:
        """Add a difference of bytes between equal values, with the codes of the anomalies in the bytes."""
        codes = [f"{', '.join(node.codes)} in {name}" for name, node in (("a", p), ("b", q)) if node.codes]
        self.add("bytes", at, p, q, "; ".join(codes))

    def present(self, p: Node, q: Node, at: At) -> None:
        """Compare two values that are not null."""
        if p.kind == q.kind == "struct":
            self.structs(p, q, at)
        elif p.kind == q.kind == "array":
            self.arrays(p, q, at)
        elif isinstance(p, MessageNode) and isinstance(q, MessageNode) and p.kind == q.kind == "records":
            self.records(p, q, at)
        elif p.value != q.value or type(p.value) is not type(q.value):
            self.add("changed", at, p, q)

    # Structs

    def structs(self, p: Any, q: Any, at: At) -> None:
        """Compare two structs, field by field."""
        for name in dict.fromkeys([*p.names(q), *q.names(p)]):
            mine = p.fields.get(name)
            other = q.fields.get(name)
            if mine and other:
                self.values(mine, other, at.below(name))
            elif mine:
                self.one_sided(mine, q, name, at.below(name), in_a=True)
            elif other:
                self.one_sided(other, p, name, at.below(name), in_a=False)

    def one_sided(self, node: Node, lacks: Node, name: str, at: At, *, in_a: bool) -> None:
        """Add a field that only one side has.

        The other side left the field out, ends before it, or its layout does not have the field.
        """
        default = lacks.defaults.get(name, NO_FIELD)
        kind = "removed" if in_a else "added"
        p, q = (node, None) if in_a else (None, node)
        if isinstance(lacks, DocumentNode) or name.startswith("_tags["):
            self.add(kind, at, p, q)
        elif default is NO_FIELD:
            detail = f"version {lacks.message.body.layout_version} has no such field"
            self.add(kind, at, p, q, detail, layout=True)
        elif default is NOT_REACHED:
            self.add(kind, at, p, q, f"the bytes of {'b' if in_a else 'a'} do not reach it")
        elif node.value != default or self.one_layout:
            same = node.value == default
            here = node.side(at.a if in_a else at.b, raw=same)
            there = Side(at.b if in_a else at.a, default)
            detail = f"{'b' if in_a else 'a'} leaves it out: the default"
            a, b = (here, there) if in_a else (there, here)
            self.out.append(Difference("bytes" if same else "changed", at, a, b, detail))

    def records(self, p: MessageNode, q: MessageNode, at: At) -> None:
        """Compare record sets by batch and record, and their bytes only if the records are the same."""
        mine = p.records()
        other = q.records()
        differences = compare_documents(mine, other, at, self.order)
        self.out += differences
        if not differences and p.payload != q.payload:
            unread = [name for name, batches in (("a", mine), ("b", other)) if _has_unread(batches)]
            if unread:
                self.add("changed", at, p, q, f"not all records of {' and '.join(unread)} can be read")
            else:
                self.add("bytes", at, p, q, "the same records, written in another way")

    # Arrays

    def arrays(self, p: Any, q: Any, at: At) -> None:
        """Compare two arrays by pairs of elements."""
        for pair, key in self.pairs(p, q):
            place = at.element(pair.a, pair.b, key)
            mine = None if pair.a is None else p.elements[pair.a]
            other = None if pair.b is None else q.elements[pair.b]
            if mine is None or other is None:
                self.add("added" if mine is None else "removed", place, mine, other)
                continue
            if pair.moved:
                self.add("moved", place, mine, other)
            self.values(mine, other, place)

    def pairs(self, p: Any, q: Any) -> Iterator[tuple[Pair, str | None]]:
        """Yield the pairs of elements by the first key that identifies all of them on both sides, else in order.

        Each pair comes with its key as a string: `name="orders"`, `partitionIndex=3`.
        """
        rows_of_p = [element.leaves for element in p.elements]
        rows_of_q = [element.leaves for element in q.elements]
        names: tuple[str, ...] = ()
        if all(rows_of_p) and all(rows_of_q):
            keys = dict.fromkeys([*p.keys, *q.keys]) if p.keys != q.keys else p.keys
            names = _find_key(keys, rows_of_p, rows_of_q)
        if names:
            keys_of_p = [_key_values(row, names) for row in rows_of_p]
            keys_of_q = [_key_values(row, names) for row in rows_of_q]
            pairs = by_key(keys_of_p, keys_of_q)
        else:
            identities_of_p = [element.identity for element in p.elements]
            identities_of_q = [element.identity for element in q.elements]
            pairs = self.order.pairs(identities_of_p, identities_of_q)
        for pair in pairs:
            row = rows_of_q[pair.b or 0] if pair.a is None else rows_of_p[pair.a]
            label = ",".join(f"{name}={json.dumps(row[name], ensure_ascii=False)}" for name in names)
            yield pair, label or None


def _has_unread(batches: DocumentNode) -> bool:
    return any(element.is_unread for element in batches.elements)


def _find_key(
    keys: Iterable[tuple[str, ...]], a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return the names of the first key that identifies each row of both lists. Return () if there is no such key."""
    for names in keys:
        if _is_distinct(a, names) and _is_distinct(b, names):
            return names
    return ()


def _key_values(row: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _is_distinct(rows: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> bool:
    """Return whether each row has another combination of values in the fields `names`."""
    keys = set()
    for row in rows:
        key = tuple(row.get(name) for name in names)
        if None in key or ZERO_UUID in key or any(isinstance(part, dict | list) for part in key):
            return False
        keys.add(key)
    return len(keys) == len(rows)


# Bytes that contain messages: the differences within the messages replace the difference of the bytes.


def look_inside(catalog: Catalog, a: Body, b: Body, out: Comparison, hide: Hide) -> None:
    """Replace differences of bytes with differences of the subscriptions, assignments and other payloads in the bytes.

    Offsets within a payload count from the start of the field.
    """
    if a.guess or b.guess or not holds_payloads(a.message):
        return
    mine = _payloads_by_path(catalog, a)
    other = _payloads_by_path(catalog, b)

    def inside(each: Difference, one: Side, two: Side) -> Comparison | None:
        p = mine.get(one.path)
        q = other.get(two.path)
        if p is None or q is None or p.type != q.type or not p.body or not q.body:
            return None
        found = compare(Operand(p.body, hide(p.body)), Operand(q.body, hide(q.body)), at=each.at)
        _replace(found, inside)
        if p.version != q.version:
            at = each.at.below("version")
            detail = f"the version of the {p.type} in the bytes"
            version = Difference("changed", at, Side(at.a, p.version), Side(at.b, q.version), detail)
            found.differences.insert(0, version)
        elif not found.differences:  # the bytes before the message differ
            found.differences.append(each)
        return found

    if mine and other:
        _replace(out, inside)


def _payloads_by_path(catalog: Catalog, body: Body) -> dict[str, Payload]:
    return {entry.path: entry for entry in payloads_of(catalog, body.spec, body.version, body.tree)}


def _replace(out: Comparison, inside: Callable[[Difference, Side, Side], Comparison | None]) -> None:
    """Replace each difference of bytes by the differences that `inside` returns for it.

    Redacted bytes are not examined. The difference is kept if `inside` returns None, because the bytes do not contain
    a message.
    """
    differences: list[Difference] = []
    for each in out.differences:
        shown = each.kind == "changed" and each.a and each.b and each.a.item and each.b.item
        found = inside(each, each.a, each.b) if shown and each.a and each.b else None
        out.other_layout = out.other_layout or (found is not None and found.other_layout)
        differences += found.differences if found else [each]
    out.differences = differences


# Comparison of two requests, or of two responses, of one api: size prefix, header and body.


def compare_frames(
    a: Frame,
    b: Frame,
    hidden: tuple[Hidden, Hidden],
    reading: tuple[RecordsAs, RecordsAs],
    hide: Hide,
    at: At = At(),  # noqa: B008 - a tuple of texts
) -> Comparison:
    """Return the differences between two frames, below `at`. Paths in their headers begin with `header`.

    `hidden` contains the spans to redact by part, and `hide` returns the spans to redact in a payload. A size prefix
    follows from the bytes that it counts, so size prefixes are compared only if one of them is wrong.

    Raises InputError if the frames are not both requests, or both responses, of one api, or if a body could not be
    read.
    """
    for name, frame in (("a", a.shown(hidden[0])), ("b", b.shown(hidden[1]))):
        if not frame.body:
            what = _describe_frame(frame)
            raise InputError(
                f"{name} has no body that can be compared: {what}; --api and --message-version say what it is"
            )
    if (a.kind, a.api) != (b.kind, b.api):
        raise InputError(
            f"only two of one kind can be compared field by field: a is {_describe_frame(a.shown(hidden[0]))}, b is "
            f"{_describe_frame(b.shown(hidden[1]))}"
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
    _compare_between(a, b, out, at.below("header"))
    if a.body and b.body:
        compare(*operands(a.body, b.body, "body"), out, at)
        if not (a.guess or b.guess):
            look_inside(a.catalog, a.body, b.body, out, hide)
            _compare_forwarded(a, b, out, reading, hide)
    return out


def _compare_forwarded(a: Frame, b: Frame, out: Comparison, reading: tuple[RecordsAs, RecordsAs], hide: Hide) -> None:
    """Replace differences of bytes by differences of the forwarded requests in the bytes. Redacted bytes are kept."""
    path = CARRIED.get(a.body.message if a.body else "")
    if not path:
        return
    carried = [*_forwarded_frames(a), *_forwarded_frames(b)]
    if len(carried) != 2 or not all(frame.body for frame in carried) or carried[0].api != carried[1].api:
        return

    def inside(each: Difference, one: Side, _: Side) -> Comparison | None:
        if not one.item or one.item.node.name != path:
            return None
        return compare_frames(carried[0], carried[1], ({}, {}), reading, hide, each.at)

    _replace(out, inside)


def _forwarded_frames(frame: Frame) -> list[Frame]:
    return [entry.frame for entry in frame.inside() if isinstance(entry, Forwarded)]


def _describe_frame(frame: Frame) -> str:
    name = frame.api or (f"api key {frame.api_key}" if frame.api_key is not None else "")
    return f"{name} {frame.kind}".strip()


def _compare_between(a: Frame, b: Frame, out: Comparison, place: At) -> None:
    """Add bytes between the header and the body, which some clients write."""
    spots = [(frame.header.raw.used, frame.body.start) for frame in (a, b) if frame.header and frame.body]
    extra = [bytes(frame.data[start:stop]) for frame, (start, stop) in zip((a, b), spots, strict=False)]
    if len(extra) == 2 and extra[0] != extra[1]:
        mine, other = (
            Side(place.path, None, start, len(data), raw=data) for (start, _), data in zip(spots, extra, strict=True)
        )
        out.differences.append(Difference("bytes", place, mine, other, "bytes between header and body"))
