"""Two messages or frames compared by field.

Both messages are JSON documents, as `kwire decode` prints them, with records and redaction. One walk goes over both
documents side by side. Elements of arrays are matched by their keys, in any order. The bytes of a value are found by
its path: equal bytes of one layout end the walk early, and equal values with different bytes are differences of their
own. Two versions write equal values in different bytes, so the comparison of two versions only records that the
layouts differ. `kwire compare` lists the cost of each form.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.comparison.differences import At, Comparison, Difference, InOrder, Side, by_key
from kwire_cli.engine.codes import UNREAD
from kwire_cli.engine.program import Leaf, holds_records
from kwire_cli.engine.tree import places
from kwire_cli.engine.values import Form
from kwire_cli.errors import InputError
from kwire_cli.message.decoded import Decoded
from kwire_cli.message.frames import Forwarded
from kwire_cli.message.roles import RecordsAs
from kwire_cli.spec.model import ZERO_UUID, field_at, fields_by_path
from kwire_cli.structs.lengths import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.comparison.differences import Pair
    from kwire_cli.engine.tree import Item
    from kwire_cli.engine.values import Body
    from kwire_cli.message.frames import Frame

    Hide = Callable[[Body], frozenset[int]]
    """Returns the numbers of the spans of a payload that hold secrets."""

IDENTIFYING: tuple[tuple[str, ...], ...] = (
    ("resourceType", "resourceName"),
    ("entityType", "entityName"),
    ("principalType", "principalName"),
    ("user", "mechanism"),
    ("topicId",),
    ("topicName",),
    ("topic",),
    ("name",),
    ("partitionIndex",),
    ("partition",),
    ("partitionId",),
    ("index",),
    ("batchIndex",),
    ("subtopologyId",),
    ("topicGroupId",),
    ("groupId",),
    ("memberId",),
    ("transactionalId",),
    ("producerId",),
    ("brokerId",),
    ("nodeId",),
    ("replicaId",),
    ("candidateId",),
    ("voterId",),
    ("resourceName",),
    ("logDir",),
    ("user",),
    ("id",),
    ("firstOffset",),
    ("key",),
    ("tag",),
)
"""Fields in JSON names that identify an element of an array if no mapKey does, in the order in which they are tried."""
_OFFSETS = (("baseOffset",), ("offset",))
"""The fields that identify batches and records."""
_OF_BATCH = frozenset({"position", "size", "crc", "anomalies"})
_OF_RECORD = frozenset({"keySize", "valueSize", "sequence"})
"""Fields that follow from the rest of a batch or record. They are not compared."""
_BYTES = ("records[].key", "records[].value", "headers[].value")
"""Paths in a batch whose values are bytes in base64."""


class Inside(NamedTuple):
    """A message in a field of another one: its type, its version if the bytes start with it, and its parts by name."""

    type: str
    version: int | None
    parts: Mapping[str, Operand]


@dataclass(frozen=True)
class Operand:
    """One of two messages.

    `hidden` contains the numbers of the spans with secrets. `inside` contains the messages in fields, by path. Paths in
    it begin with `path` if the message itself is in a field.
    """

    body: Body
    hidden: frozenset[int] = frozenset()
    reading: RecordsAs = field(default_factory=RecordsAs)
    inside: Mapping[str, Inside] = field(default_factory=dict)
    path: str = ""

    @cached_property
    def document(self) -> Document:
        """The message in JSON form, and the same with secrets redacted."""
        value = self._json(frozenset(), replace(self.reading, hide=None))
        if not self.hidden and self.reading.hide is None:
            return Document(value, value)
        return Document(value, self._json(self.hidden, self.reading))

    def _json(self, hidden: frozenset[int], reading: RecordsAs) -> Any:
        body = self.body
        if isinstance(body, Decoded):
            return body.to_json(records="decoded", hidden=hidden, reading=reading)
        return body.form(Form(hidden=hidden))

    @cached_property
    def items(self) -> dict[str, Item]:
        """The items by path, without the parts of an item that have its path. The last of equal tags counts."""
        items: dict[str, Item] = {}
        for path, item in places(self.body.tree.root):
            is_header = isinstance(item.node, Leaf) and item.node.kind == "tag-header"
            if not is_header and (path not in items or item.start >= items[path].end > items[path].start):
                items[path] = item
        return items

    @cached_property
    def fields(self) -> frozenset[str]:
        """The paths of the fields that the version of the message has."""
        body = self.body
        return frozenset(path for path, one in fields_by_path(body.spec) if body.layout_version in one.versions)

    def raw(self, path: str) -> bytes | None:
        """Return the bytes of the value at a path, or None if it is not in the bytes or in a record set."""
        item = self.items.get(path)
        return bytes(self.body.raw.data[item.start : item.end]) if item else None

    def message_at(self, path: str) -> Inside | None:
        """Return the message in the field at a path."""
        return self.inside.get(f"{self.path}.{path}" if self.path else path)

    def is_secret(self, item: Item) -> bool:
        """Return whether the bytes of an item may contain a secret."""
        if item.span >= 0:
            return item.span in self.hidden or (item.leaf.kind == "records" and self.reading.hide is not None)
        return bool(self.hidden) or holds_records(self.body.entry)

    def codes(self, path: str) -> list[str]:
        """Return the codes of the anomalies in the bytes of a value."""
        item = self.items[path]
        return sorted({note.code for note in self.body.anomalies if item.start <= note.offset < item.end})

    def gap_side(self, path: str) -> Side | None:
        """Return the bytes after the message that could not be decoded."""
        gap = self.body.tree.gap
        if gap is None:
            return None
        size = gap.end - gap.start
        is_hidden = gap.span in self.hidden
        data = bytes(self.body.raw.data[gap.start : gap.end])
        text = redacted(size) if is_hidden else base64.b64encode(data).decode("ascii")
        return Side(path, text, gap.start, size, is_bytes=not is_hidden)


class Document(NamedTuple):
    """A value in JSON form, and the same as it is shown, with secrets redacted."""

    value: Any
    shown: Any

    def part(self, key: Any) -> Document:
        """Return a field or an element. If a whole value is redacted, all its parts are."""
        shown = self.shown
        if isinstance(shown, list) or (isinstance(shown, dict) and key in shown):
            shown = shown[key]
        return Document(self.value[key], shown)

    @property
    def elements(self) -> list[Document]:
        """The elements of an array."""
        return [self.part(index) for index in range(len(self.value))]

    @property
    def leaves(self) -> dict[str, Any]:
        """The fields of a struct that are not secret. The key of the struct is one or more of these fields."""
        if not isinstance(self.value, dict) or not isinstance(self.shown, dict):
            return {}
        return {name: part for name, part in self.value.items() if self.shown.get(name) == part}


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
    walk = _Walk(a, b, out, at)
    walk.values(a.document, b.document, at)
    gaps = a.gap_side(at.below("gap").a), b.gap_side(at.below("gap").b)
    if gaps[0] != gaps[1]:
        one_sided = "removed" if gaps[0] else "added"
        kind = "changed" if all(gaps) else one_sided
        out.differences.append(Difference(kind, at.below("gap"), *gaps, "bytes that could not be decoded"))
    out.other_layout = out.other_layout or (not walk.one_layout and a.raw("") != b.raw(""))
    return out


class _Walk:
    """A walk over two documents, side by side. Differences are added to `out`, below the place `root`."""

    def __init__(self, a: Operand, b: Operand, out: Comparison, root: At) -> None:
        self.a = a
        self.b = b
        self.out = out
        self.root = root
        self.one_layout = a.body.entry is b.body.entry
        self.order = InOrder()
        self.derived: dict[str, frozenset[str]] = {}
        for leaf in (*a.body.entry.program.leaves, *b.body.entry.program.leaves):
            if leaf.kind == "records":
                self.derived |= {f"{leaf.path}[]": _OF_BATCH, f"{leaf.path}[].records[]": _OF_RECORD}

    def local(self, at: At) -> At:
        """Return a place as a place in the message, without the root."""
        if not self.root.field:
            return at
        return At(*(path[len(root) :].lstrip(".") for path, root in zip(at, self.root, strict=True)))

    def add(self, kind: str, at: At, p: Document | None, q: Document | None, detail: str = "") -> None:
        """Add a difference."""
        local = self.local(at)
        a = self.side(self.a, at.a, local.a, at.field, p, raw=kind == "bytes") if p else None
        b = self.side(self.b, at.b, local.b, at.field, q, raw=kind == "bytes") if q else None
        lacks = self.a if a is None else self.b
        is_layout = local.field in self.a.fields ^ self.b.fields
        if is_layout:
            detail = f"version {lacks.body.layout_version} has no such field"
        self.out.differences.append(Difference(kind, at, a, b, detail, is_layout))

    def side(self, operand: Operand, path: str, local: str, name: str, document: Document, *, raw: bool) -> Side:
        """Return a message's side of a difference. With `raw` it contains the bytes, unless they may be a secret."""
        item = operand.items.get(local)
        shown = document.shown
        if item is None:
            is_text = isinstance(shown, str) and not shown.startswith("<")
            return Side(path, shown, is_bytes=is_text and name.endswith(_BYTES))
        is_secret = operand.is_secret(item)
        return Side(
            path,
            shown,
            item.start,
            item.end - item.start,
            operand.body,
            item if isinstance(item.node, Leaf) and not is_secret else None,
            raw=operand.raw(local) if raw and not is_secret else None,
        )

    def values(self, p: Document, q: Document, at: At) -> None:
        """Compare two values of one field."""
        local = self.local(at)
        mine = self.a.raw(local.a)
        other = self.b.raw(local.b)
        has_bytes = self.one_layout and mine is not None and other is not None
        if has_bytes and mine == other:
            return
        before = len(self.out.differences)
        if isinstance(p.value, dict) and isinstance(q.value, dict):
            self.structs(p, q, at)
        elif isinstance(p.value, list) and isinstance(q.value, list):
            self.arrays(p, q, at)
        elif (p.value != q.value or type(p.value) is not type(q.value)) and not self.compare_inside(local, at):
            self.add("changed", at, p, q)
        if len(self.out.differences) > before or mine == other:
            return
        if f"{local.field}[]" in self.derived and p.value != q.value:
            self.records_in_other_bytes(p, q, at)
        elif has_bytes:
            self.in_other_bytes(p, q, at, local)

    def records_in_other_bytes(self, p: Document, q: Document, at: At) -> None:
        """Add record sets whose records are the same, or cannot be read."""
        unread = [name for name, batches in (("a", p), ("b", q)) if any(map(_is_unread, batches.value or ()))]
        if unread:
            self.add("changed", at, p, q, f"not all records of {' and '.join(unread)} can be read")
        else:
            self.add("bytes", at, p, q, "the same records, written in another way")

    def in_other_bytes(self, p: Document, q: Document, at: At, local: At) -> None:
        """Add equal values in different bytes, with the codes of the anomalies in the bytes."""
        tags = local.below("_tags")
        if {self.a.raw(tags.a), self.b.raw(tags.b)} - {None} and self.a.raw(tags.a) != self.b.raw(tags.b):
            at = at.below("_tags")
            local = tags
        codes = [
            f"{', '.join(found)} in {name}"
            for name, found in (("a", self.a.codes(local.a)), ("b", self.b.codes(local.b)))
            if found
        ]
        self.add("bytes", at, p, q, "; ".join(codes))

    def structs(self, p: Document, q: Document, at: At) -> None:
        """Compare two structs, field by field."""
        left_out = self.derived.get(self.local(at).field, frozenset())
        if left_out is _OF_RECORD and p.value.get("decoded") and q.value.get("decoded"):
            # If the decoded key or value differs, its bytes are not compared.
            mine = p.value["decoded"]
            other = q.value["decoded"]
            left_out = left_out | {name for name in ("key", "value") if mine.get(name) != other.get(name)}
        for name in dict.fromkeys([*p.value, *q.value]):
            place = at.below(name)
            if name in left_out:
                continue
            if name in p.value and name in q.value:
                self.values(p.part(name), q.part(name), place)
            elif name in p.value:
                self.add("removed", place, p.part(name), None)
            else:
                self.add("added", place, None, q.part(name))

    def arrays(self, p: Document, q: Document, at: At) -> None:
        """Compare two arrays by pairs of elements."""
        mine = p.elements
        other = q.elements
        for pair, key in self.pairs(mine, other, at):
            place = at.element(pair.a, pair.b, key)
            if pair.a is None:
                self.add("added", place, None, other[pair.b or 0])
            elif pair.b is None:
                self.add("removed", place, mine[pair.a], None)
            else:
                if pair.moved:
                    self.add("moved", place, mine[pair.a], other[pair.b])
                self.values(mine[pair.a], other[pair.b], place)

    def pairs(self, mine: list[Document], other: list[Document], at: At) -> Iterator[tuple[Pair, str | None]]:
        """Yield the pairs of elements by the first key that identifies all of them on both sides, else in order.

        Each pair comes with its key as a string: `name="orders"`, `partitionIndex=3`.
        """
        local = self.local(at)
        rows_of_p = [element.leaves for element in mine]
        rows_of_q = [element.leaves for element in other]
        names: tuple[str, ...] = ()
        if all(rows_of_p) and all(rows_of_q):
            names = _find_key(self.keys(local.field), rows_of_p, rows_of_q)
        if names:
            keys_of_p = [_key_values(row, names) for row in rows_of_p]
            keys_of_q = [_key_values(row, names) for row in rows_of_q]
            pairs = by_key(keys_of_p, keys_of_q)
        else:
            left_out = self.derived.get(f"{local.field}[]", frozenset())
            pairs = self.order.pairs(
                [_identity(element.value, left_out) for element in mine],
                [_identity(element.value, left_out) for element in other],
            )
        for pair in pairs:
            row = rows_of_q[pair.b or 0] if pair.a is None else rows_of_p[pair.a]
            label = ",".join(f"{name}={json.dumps(row[name], ensure_ascii=False)}" for name in names)
            yield pair, label or None

    def keys(self, path: str) -> Iterator[tuple[str, ...]]:
        """Yield the fields that may identify the elements of an array: offsets or mapKeys first, then IDENTIFYING."""
        if f"{path}[]" in self.derived:
            yield from _OFFSETS
        for spec in dict.fromkeys((self.a.body.spec, self.b.body.spec)):
            array = field_at(spec, path.replace("[]", ""))
            if keys := tuple(one.json_name for one in (spec.struct_fields(array) if array else ()) if one.map_key):
                yield keys
        yield from IDENTIFYING

    def compare_inside(self, local: At, at: At) -> bool:
        """Compare the messages in two fields of bytes. Return False if there are none, or no difference of values.

        Offsets within a payload count from the start of the field.
        """
        mine = self.a.message_at(local.a)
        other = self.b.message_at(local.b)
        if mine is None or other is None or mine.type != other.type:
            return False
        before = len(self.out.differences)
        if mine.version != other.version:
            sides = Side(at.a, mine.version), Side(at.b, other.version)
            detail = f"the version of the {mine.type} in the bytes"
            self.out.differences.append(Difference("changed", at.below("version"), *sides, detail))
        for name in mine.parts:
            if name in other.parts:
                compare(mine.parts[name], other.parts[name], self.out, at.below(name) if name else at)
        return len(self.out.differences) > before


def _is_unread(batch: Any) -> bool:
    """Return whether this is a gap, or a batch with records that cannot be read."""
    return "gap" in batch or any(note["code"] in UNREAD for note in batch["anomalies"])


def _identity(value: Any, left_out: frozenset[str]) -> Any:
    """Return what makes elements of an array equal: the value, or the JSON text of a struct without derived fields."""
    if isinstance(value, dict):
        value = {name: part for name, part in value.items() if name not in left_out}
    return json.dumps(value) if isinstance(value, dict | list) else value


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


# Comparison of two requests, or of two responses, of one api.


class FrameOperand(NamedTuple):
    """One of two frames. `hidden` contains the spans with secrets by part, `hide` returns those of a payload."""

    frame: Frame
    hidden: Mapping[str, frozenset[int]]
    reading: RecordsAs
    hide: Hide

    @property
    def parts(self) -> dict[str, Operand]:
        """The header and the body. The body has no name."""
        frame = self.frame
        parts = {}
        if frame.header:
            parts["header"] = Operand(frame.header, self.hidden.get("header", frozenset()), self.reading)
        if frame.body:
            hidden = self.hidden.get("body", frozenset())
            parts[""] = Operand(frame.body, hidden, self.reading, self._inside(frame.body, hidden))
        return parts

    def _inside(self, body: Body, hidden: frozenset[int]) -> dict[str, Inside]:
        """Return the messages in the fields of the body. Hidden fields are not examined."""
        secret = {span.path for number, span in enumerate(body.spans) if number in hidden}
        inside: dict[str, Inside] = {}
        for found in self.frame.inside():
            if found.path in secret:
                continue
            if isinstance(found, Forwarded):
                parts = FrameOperand(found.frame, {}, self.reading, self.hide).parts
                inside[found.path] = Inside(found.type.partition(" ")[0], None, parts)
            elif found.body:
                part = Operand(found.body, self.hide(found.body), self.reading, inside, found.path)
                inside[found.path] = Inside(found.type, found.version, {"": part})
        return inside

    @property
    def description(self) -> str:
        """The api and the kind of the frame as far as they may be shown."""
        frame = self.frame.shown(dict(self.hidden))
        name = frame.api or (f"api key {frame.api_key}" if frame.api_key is not None else "")
        return f"{name} {frame.kind}".strip()


def compare_frames(a: FrameOperand, b: FrameOperand) -> Comparison:
    """Return the differences between two frames. Paths in their headers begin with `header`.

    Raises InputError if the frames are not both requests, or both responses, of one api, or if a body could not be
    read.
    """
    for name, operand in (("a", a), ("b", b)):
        if not operand.frame.body:
            raise InputError(
                f"{name} has no body that can be compared: {operand.description}; --api and --message-version say what "
                "it is"
            )
    if (a.frame.kind, a.frame.api) != (b.frame.kind, b.frame.api):
        raise InputError(
            f"only two of one kind can be compared field by field: a is {a.description}, b is {b.description}"
        )
    out = Comparison()
    mine = a.parts
    other = b.parts
    for name in mine:
        if name in other:
            compare(mine[name], other[name], out, At().below(name) if name else At())
    one, two = (bytes(each.frame.data[each.frame.start : each.frame.stop]) for each in (a, b))
    if one != two and not out.other_bytes:
        sides = Side("", None, 0, len(one)), Side("", None, 0, len(two))
        out.differences.append(Difference("bytes", At(), *sides, "the size prefix, or bytes between header and body"))
    return out
