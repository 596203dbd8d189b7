"""A decoded message, its record sets, and the patches that make its JSON form lossless.

`Decoded` combines the spans of a message with the folds over them. These are computed at their first use, because most
callers need only one of them. Kafka's JSON form cannot represent all bytes, such as overlong varints. So the lossless
form encodes the value again, and stores the smallest parts in which the result differs from the original.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field as dataclasses_field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import construct

from kwire_cli.engine.codes import MEANING, REMARKS, Anomaly
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.notebook import InNotebook
from kwire_cli.engine.program import Leaf, Tags
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import Item, Tree, build as build_tree, places
from kwire_cli.engine.values import Body, Form, in_early_layout
from kwire_cli.errors import DecodeError, EncodeError, InputError
from kwire_cli.message.roles import RAW, RecordsAs, filled, roles
from kwire_cli.spec.kafka import API_VERSIONS
from kwire_cli.spec.model import check_version
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.roles import Roles
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec

    Way = dict[str, "Way | None"]
    """The keys that lead to the records fields of a message; None at a records field itself."""


# The records in the body of a message, with their partitions.

_PARTITION = frozenset({"index", "partitionIndex"})
"""The names of a partition's number in Produce, Fetch, ShareFetch and FetchSnapshot."""


_LONGEST_LENGTH = 5
"""Maximum bytes of the length of a records field: an unsigned varint."""


class RecordSet(NamedTuple):
    """The bytes [start, stop) of the data: the records of a partition. `topic` is a name or an id. If the partition is
    unknown, `topic` is empty and `partition` is -1.
    """

    topic: str
    partition: int
    start: int
    stop: int


class InField(NamedTuple):
    """The bytes [start, stop) of a records field after its length. If the field is cut, its `size` is larger.

    `span` is the number of the field's span, or of the gap that begins with the field.
    """

    span: int
    start: int
    stop: int
    size: int

    @property
    def is_cut(self) -> bool:
        """Return whether the bytes of the message end in the field."""
        return self.size > self.stop - self.start

    @property
    def text(self) -> str:
        """The size for display."""
        there = self.stop - self.start
        return f"{there} of {self.size} bytes" if self.is_cut else f"{there} byte{'s' * (there != 1)}"


def records_in(item: Item, tree: Tree) -> InField | None:
    """Return the records in a leaf, or in the gap at which the message ends; None if there are no records."""
    if not item.whole:
        return cut_records(tree.spans)
    start = tree.spans.value[item.span]
    return (
        InField(item.span, start, item.end, item.end - start)
        if item.leaf.kind == "records" and start < item.end
        else None
    )


def cut_records(raw: Spans) -> InField | None:
    """Return the records in the field in which the bytes of a message end; None if they end in another field, or in the
    length of the field.
    """
    leaves = raw.program.leaves
    decl = leaves[raw.lost].decl if 0 <= raw.lost < len(leaves) else None
    if not isinstance(decl, Sized) or leaves[raw.lost].kind != "records":
        return None
    head = bytes(raw.data[raw.used : min(raw.used + _LONGEST_LENGTH, raw.stop)])
    length = getattr(decl.prefix, "length", 0) or next(
        (number for number, byte in enumerate(head, 1) if byte < 0x80), len(head)
    )
    at = raw.used + length
    if at >= raw.stop or length > len(head):
        return None
    wanted = int(decl.prefix.read(head[:length])) - decl.compact
    return InField(len(raw.node) - 1, at, raw.stop, wanted) if wanted > raw.stop - at else None


def record_sets(found: Roles, raw: Spans) -> Iterator[RecordSet]:
    """Return the record sets of a body with these spans and roles that are not empty, in order."""
    return (record_set for _, record_set in by_span(found, raw))


def cut_record_set(found: Roles, raw: Spans) -> RecordSet | None:
    """Return the record set in which the bytes of a message end; None if they end in another field."""
    if cut_records(raw) is None:
        return None
    *_, (_, last) = by_span(found, raw)
    return last


def by_span(found: Roles, raw: Spans) -> Iterator[tuple[int, RecordSet]]:
    """Yield each record set of a body with the number of its span. A truncated set is last, with its gap's number."""
    leaves = raw.program.leaves
    topics = found.by_node
    topic = ""
    partition = -1
    for at, node in enumerate(raw.node):
        leaf = leaves[node]
        start = raw.value[at]
        stop = raw.end[at]
        if topics.get(node) in {TOPIC, TOPIC_ID}:
            value = bytes(raw.data[start:stop])
            topic = uuid_text(value) if leaf.kind == "uuid" else value.decode("utf-8", "replace")
        elif leaf.kind == "int32" and leaf.name in _PARTITION:
            partition = leaf.decl.read(raw.data[start:stop])
        elif leaf.kind == "records" and start < stop:
            yield at, RecordSet(topic, partition, start, stop)
    if cut := cut_records(raw):
        yield cut.span, RecordSet(topic, partition, cut.start, cut.stop)


# Records given as a list of batches: encoded, and inserted as the base64 text that a declaration expects.

_TOPIC_KEYS = ("name", "topic")
"""The names of the topic that holds partitions in Produce, Fetch and FetchSnapshot."""


def with_bytes(spec: MessageSpec, value: Any) -> Any:
    """Return the value with base64 text in place of batches, or the value itself if it has no batches.

    Raise EncodeError with the path within the message.
    """
    way = records_in_json(spec)
    return _with_base64(value, way, "", None) if way else value


def records_in_json(spec: MessageSpec) -> Way:
    """Return the keys that lead to the records in a message; empty if it cannot contain records."""
    return _paths_to_records(spec, spec.fields, {})


def _paths_to_records(spec: MessageSpec, fields: tuple[FieldSpec, ...], known: dict[str, Way]) -> Way:
    """Return the keys that lead from these fields to records. Each struct is walked once and kept in `known`, which
    also ends the recursion of a struct that contains itself.
    """
    way: Way = {}
    for field in fields:
        if field.type == "records":
            way[field.json_name] = None
        elif name := field.struct_name:
            if name not in known:
                known[name] = {}
                known[name] |= _paths_to_records(spec, spec.struct_fields(field), known)
            if known[name]:
                way[field.json_name] = known[name]
    return way


def _with_base64(value: Any, way: Way, path: str, topic: str | None) -> Any:
    """Return a value with base64 text in place of the batches that are on the way to records.

    A value that is not an object, or lacks a key, is returned unchanged: the declaration rejects it.
    """
    if not isinstance(value, dict):
        return value
    own = next((value[key] for key in _TOPIC_KEYS if isinstance(value.get(key), str)), topic)
    changed: dict[str, Any] = {}
    for key, inner in way.items():
        part = value.get(key)
        where = f"{path}.{key}" if path else key
        if inner is None and isinstance(part, list | tuple):
            changed[key] = _batches_to_base64(part, where, own)
        elif inner is not None and isinstance(part, list | tuple):
            parts = [_with_base64(element, inner, f"{where}[{i}]", own) for i, element in enumerate(part)]
            if any(a is not b for a, b in zip(part, parts, strict=True)):
                changed[key] = parts
        elif inner is not None and (new := _with_base64(part, inner, where, own)) is not part:
            changed[key] = new
    return value | changed if changed else value


def _batches_to_base64(items: Any, path: str, topic: str | None) -> str:
    from kwire_cli.records.building import within  # noqa: PLC0415
    from kwire_cli.records.kafka_topics import OWN_TOPICS  # noqa: PLC0415 - only messages with batches need what knows records
    from kwire_cli.records.writing import write  # noqa: PLC0415

    own_topic = topic if topic in OWN_TOPICS else None
    with within(path):
        return base64.b64encode(write(items, topic=own_topic)).decode("ascii")


LOSSLESS_KEY = "_lossless"
"""The key in a value that contains the bytes that JSON cannot represent."""


def build(spec: MessageSpec, value: Any, version: int, *, lenient: bool = False) -> bytes:
    """Return the bytes of a value without its lossless part. `lenient` allows null in fields that cannot be null, which
    only faulty peers write.
    """
    check_version(spec, version)
    try:
        return bytes(declare(spec, version).build(with_bytes(spec, value), lenient=lenient))
    except construct.ConstructError as error:
        raise EncodeError(str(error), value=value) from error
    except RecursionError:
        raise EncodeError("the value nests too deeply") from None


# A decoded message: what `kwire_cli.decode` returns. All of it is a fold over the spans of one run of the
# kernel, made when first asked for.

RECORD_FORMS = ("decoded", "size", "base64")


@dataclass(frozen=True, repr=False)
class Decoded(Body, InNotebook):
    """A message that `kwire_cli.decode` returns: its value, spans and anomalies.

    `value`, `spans` and `data` contain the bytes as received, including secrets. `to_json` redacts the secrets that
    `hides` returns; its argument is true if records are shown as bytes. `reading` is the default for the `reading` of
    `to_json`.
    """

    NOTEBOOK_VIEW = "message_html"
    hides: Callable[[bool], frozenset[int]] | None = dataclasses_field(default=None, compare=False)
    reading: RecordsAs | None = dataclasses_field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"<{self.message} version {self.version}, {self.size} bytes, {len(self.anomalies)} anomalies>"

    @property
    def size(self) -> int:
        """The number of bytes of the message's fields; the bytes after them are a gap."""
        return self.raw.used - self.raw.start

    @cached_property
    def value(self) -> dict[str, Any]:
        """The message in Kafka's JSON form, records as base64 text, secrets as they are on the wire."""
        return self.form(Form("base64"))

    def to_json(
        self,
        *,
        records: str = "base64",
        lossless: bool = False,
        hidden: frozenset[int] | None = None,
        reading: RecordsAs | None = None,
    ) -> dict[str, Any]:
        """Return the message in Kafka's JSON form.

        `records` is "base64", "size" for {name}SizeInBytes as in a broker's request log, or "decoded" for batches with
        records, read by `reading`. `lossless` adds the bytes that this form cannot represent under "_lossless", so that
        encode returns identical bytes. `hidden` are the numbers of the spans to redact; the default is the result of
        `hides`.
        """
        if records not in RECORD_FORMS:
            raise InputError(
                f"records={records!r}: records are shown as {', '.join(RECORD_FORMS[:-1])} or {RECORD_FORMS[-1]}"
            )
        if hidden is None:
            hidden = self.hides(records == "base64") if self.hides else frozenset()
        if lossless and (records != "base64" or hidden):
            raise InputError("the lossless form keeps all bytes: records as base64, nothing redacted")
        document = self.form(Form(RAW if records == "decoded" else records, hidden))
        if records == "decoded":
            reading = reading or self.reading or RecordsAs()
            document = filled(roles(self.spec, self.entry), document, reading)
            if self.raw.lost >= 0 and len(self.raw.node) - 1 not in hidden:
                self._fill_cut(document, reading)
        if lossless and (differences := patches(self)):
            document[KEY] = differences
        return document

    def _fill_cut(self, shown: dict[str, Any], reading: RecordsAs) -> None:
        """Put what can be read of a record set that the end of the bytes cuts where it belongs."""
        cut = cut_record_set(roles(self.spec, self.entry), self.raw)
        if cut is None:
            return
        *above, name = self.raw.program.leaves[self.raw.lost].path.split(".")
        for step in above:
            inner = shown.get(step.removesuffix("[]"))
            shown = (inner[-1] if inner else {}) if isinstance(inner, list) else inner or {}
        items = [
            item.to_json(deep=True, hide=reading.hide)
            for item in reading.items(bytes(self.raw.data[cut.start : cut.stop]), cut.topic or None)
        ]
        if any("gap" not in item or "batch" in item for item in items):
            shown[name] = items


def as_bytes(data: Any) -> Any:
    """Return `data` as bytes or a flat memoryview, without a copy. Raise InputError if it is not bytes-like."""
    if isinstance(data, bytes):
        return data
    try:
        return memoryview(data).cast("B")
    except TypeError as error:
        raise InputError(f"decoding takes bytes, bytearray or a contiguous memoryview: {error}") from None


_UNSUPPORTED_VERSION = 35


def decode(
    catalog: Catalog, data: Any, message: str, version: int, *, start: int = 0, stop: int | None = None
) -> Decoded:
    """Decode the bytes [start, stop) as a message's body, by the layout of its version that reads them.

    Lenient: what Kafka's readers accept is accepted and reported as an anomaly. An ApiVersions response that does not
    fit falls back to version 0, as in Kafka's client (KIP-511). Raise InputError for an unknown message, or data that
    is not bytes.
    """
    body = decode_spec(catalog.message(message), data, version, start=start, stop=stop)
    return _fall_back(in_early_layout(body, catalog))


def _fall_back(body: Decoded) -> Decoded:
    """Return an ApiVersions response in version 0 form if it is one; any other body as it is."""
    spec = body.spec
    if spec.api_key != API_VERSIONS or spec.type != "response" or body.version <= 0 or body.exact:
        return body
    old = decode_spec(spec, body.data, 0, start=body.start, stop=body.stop)
    if not old.exact or old.value.get("errorCode") != _UNSUPPORTED_VERSION:
        return body
    return replace(old, notes=(Anomaly("VERSION_FALLBACK", "", old.start, MEANING["VERSION_FALLBACK"]),))


def decode_spec(
    spec: MessageSpec,
    data: Any,
    version: int,
    *,
    start: int = 0,
    stop: int | None = None,
    alone: bool = True,
) -> Decoded:
    """Decode bytes-like data as `Body.decode` does. Raise InputError if the definition has no valid version."""
    check_version(spec)
    return Decoded.decode(spec, as_bytes(data), version, start=start, stop=stop, alone=alone)


def checked(decoded: Decoded, *, strict: bool = False) -> Decoded:
    """Return the result itself if it contains any field.

    Raise DecodeError if nothing could be decoded, or with `strict` for any anomaly. Its `partial` is the result.
    """
    if not decoded.complete and len(decoded.raw.node) <= 1:
        size = decoded.stop - decoded.start
        reason = f"nothing of {decoded.message} {decoded.layout_version} in {size} byte{'' if size == 1 else 's'}"
        raise DecodeError(reason, offset=decoded.start, partial=decoded)
    faults = [note for note in decoded.anomalies if note.code not in REMARKS] if strict else []
    if faults:
        first = faults[0]
        raise DecodeError(
            f"{first.code}: {first.detail}", offset=first.offset, path=first.path or None, partial=decoded
        )
    return decoded


# The lossless form: bytes that Kafka's JSON form cannot represent are added to it, so that encoding returns identical
# bytes.
#
# A value encodes to canonical bytes. These may differ from the decoded bytes: overlong varints, duplicate or
# default-valued tags, bool 2, invalid UTF-8, wrong lengths. The smallest differing parts are kept as patches: path,
# kind of the part, and its bytes.

KEY = LOSSLESS_KEY


WHOLE = "message"
"""The kind of a patch with all of the bytes."""
REST = "gap"
"""The kind of a patch with the bytes after the end of the message."""

Patch = dict[str, str]


def patches(decoded: Decoded) -> list[Patch]:
    """Return the patches that replace canonical bytes, or an empty list if no bytes differ."""
    data = bytes(decoded.data[decoded.start : decoded.stop])
    whole = [_patch("", WHOLE, data)]
    if not decoded.complete or decoded.guess or decoded.is_early:
        return whole
    strict = _built(decoded, lenient=False)
    if strict == data:
        return []
    canonical = strict or _built(decoded, lenient=True)
    if canonical is None:
        return whole
    tree = decoded.tree
    differences = _differences(tree.root, tree, _decode(decoded.spec, decoded.layout_version, canonical))
    if tree.gap:
        differences.append(_patch("", REST, decoded.data[tree.gap.start : tree.gap.end]))
    if not differences:
        # Null in a field that cannot be null: the value is complete, but only the lossless form may be encoded. No
        # bytes follow it.
        differences.append(_patch("", REST, b""))
    value = decoded.value | {KEY: differences}
    return differences if apply(decoded.spec, value, decoded.layout_version) == data else whole


def _built(decoded: Decoded, *, lenient: bool) -> bytes | None:
    try:
        return build(decoded.spec, decoded.value, decoded.layout_version, lenient=lenient)
    except EncodeError:
        return None


def apply(spec: MessageSpec, value: dict[str, Any], version: int) -> bytes:
    """Encode a value and insert its patches. Raise EncodeError if the place of a patch does not exist."""
    parts = _checked(value[KEY])
    if len(parts) == 1 and parts[0][1] == WHOLE:
        return parts[0][2]
    rest = b"".join(data for _, kind, data in parts if kind == REST)
    plain_value = {key: v for key, v in value.items() if key != KEY}
    canonical = build(spec, plain_value, version, lenient=True)
    tree = _decode(spec, version, canonical)
    at = {(path, _kind(item)): item for path, item in places(tree.root)}
    changes = []
    for path, kind, data in parts:
        if kind in {WHOLE, REST}:
            continue
        if (path, kind) not in at:
            raise EncodeError(f"a {kind} of the lossless form has no place in the value any more", path=path)
        changes.append((at[path, kind].start, at[path, kind].end, data))
    out = bytearray()
    done = 0
    for start, end, data in sorted(changes):
        if start < done:
            raise EncodeError("parts of the lossless form overlap")
        out += canonical[done:start] + data
        done = end
    return bytes(out + canonical[done:] + rest)


def whole_frame(found: Any) -> bytes:
    """Return the bytes of a frame that was stored completely."""
    return b"".join(data for _, _, data in _checked(found))


def frame_patch(data: Any) -> list[Patch]:
    """Return the patch for a frame that cannot be reproduced from its parts, and is stored completely."""
    return [_patch("", "frame", data)]


def _checked(found: Any) -> list[tuple[str, str, bytes]]:
    try:
        return [
            (str(patch["path"]), str(patch["kind"]), base64.b64decode(patch["data"], validate=True)) for patch in found
        ]
    except (TypeError, KeyError, binascii.Error, ValueError):
        raise EncodeError(
            'the lossless form is a list of {"path", "kind", "data": base64 text}', path=KEY, value=found
        ) from None


def _decode(spec: MessageSpec, version: int, data: bytes) -> Tree:
    entry = entry_for(spec, version)
    return build_tree(entry, walk(entry, data))


def _kind(item: Item) -> str:
    return item.node.kind if isinstance(item.node, Leaf) else type(item.node).__name__.lower()


def _patch(path: str, kind: str, data: Any) -> Patch:
    return {"path": path, "kind": kind, "data": base64.b64encode(data).decode("ascii")}


def _differences(root: Item, tree: Tree, canonical: Tree) -> list[Patch]:
    """Walk both trees together; a part that differs in itself, not only in its parts, is kept whole."""
    paths = {id(item): path for path, item in places(root)}
    differences: list[Patch] = []
    open_pairs = [(root, canonical.root)]
    while open_pairs:
        ours, theirs = open_pairs.pop()
        data = tree.spans.data[ours.start : ours.end]
        if data == canonical.spans.data[theirs.start : theirs.end]:
            continue
        if ours.parts and _same_parts(ours, theirs):
            open_pairs += zip(ours.parts, theirs.parts, strict=True)
        else:
            differences.append(_patch(paths[id(ours)], _kind(ours), data))
    return sorted(differences, key=lambda patch: patch["path"])


def _same_parts(ours: Item, theirs: Item) -> bool:
    if isinstance(ours.node, Tags):
        return [(id(part.node), part.tag) for part in ours.parts] == [
            (id(part.node), part.tag) for part in theirs.parts
        ]
    return len(ours.parts) == len(theirs.parts)
