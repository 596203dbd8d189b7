"""Values and anomalies of a tree, and the body of a message with both.

Both are folds over a tree. Building a tree is slow, so a `Body` first tries a generated reader, if many messages of its
layout were decoded, and then the flags of its spans.
"""

from __future__ import annotations

import base64
import contextlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kwire_cli.engine.codes import MEANING, Anomaly, codes
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.program import DOUBTFUL, FLAG, TEXT, Array, Leaf, Series, Struct, Tags, doubt_of
from kwire_cli.engine.python_source import MalformedError
from kwire_cli.engine.reader import often_read
from kwire_cli.engine.spans import walk, without_rest
from kwire_cli.engine.tree import Item, Tree, build, is_null, leaves, places, read_count, tagged_parts
from kwire_cli.structs.composites import SIZE_SUFFIX, UNKNOWN_KEY
from kwire_cli.structs.lengths import Sized, redacted
from kwire_cli.structs.numbers import Bool

if TYPE_CHECKING:
    from typing import Self

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Span, Spans
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


# Values: the fold of a tree into Kafka's JSON form (JsonConverterGenerator, KIP-673 for records shown by
# their size).

ABSENT = object()
"""The value of a field that the bytes do not reach."""


class Form(NamedTuple):
    """The form in which values are shown.

    `records` is "base64" for text, "size" for only the size, or "raw" for bytes. `hidden` are the spans with secrets
    that are not shown.
    """

    records: str = "base64"
    hidden: frozenset[int] = frozenset()


BASE64 = Form()


def value(item: Item, tree: Tree, form: Form = BASE64) -> Any:
    """Return Kafka's JSON form of an item (JsonConverterGenerator), or ABSENT if no byte of it was decoded."""
    node = item.node
    kind = type(node)
    if kind is Leaf:
        return leaf_value(item, tree, form)
    if kind is Struct:
        return _struct_value(item, tree, form)
    parts = item.each()
    if kind is Series and not node.size:  # type: ignore[union-attr]
        return [v for part in parts if (v := value(part, tree, form)) is not ABSENT]
    first = next(parts)
    if not first.whole:
        return ABSENT
    if kind is Series:
        return [v for part in parts if (v := value(part, tree, form)) is not ABSENT]
    if kind is Array:
        null = read_count(first, tree.spans.data) < 0
        return None if null else [v for part in parts if (v := value(part, tree, form)) is not ABSENT]
    if is_null(first, tree.spans.data):
        return None
    struct = next(parts, None)
    return value(struct, tree, form) if struct else ABSENT


def tree_value(tree: Tree, form: Form) -> dict[str, Any]:
    """Return Kafka's JSON form of a message, up to the end of the bytes."""
    root_value = value(tree.root, tree, form)
    return {} if root_value is ABSENT else root_value


def leaf_value(item: Item, tree: Tree, form: Form = BASE64) -> Any:
    """Return the value of one leaf in JSON form. Counts and presence markers are numbers, unknown tags base64 text.

    Tag headers and gaps are ABSENT.
    """
    leaf = item.leaf
    spans = tree.spans
    if not item.whole or leaf.kind in {"tag-header", "gap"}:
        return ABSENT
    data = spans.data
    if item.span in form.hidden:
        value_at = spans.value[item.span]
        # A count, a null or an empty value is hidden with its prefix, which is then all that there is.
        return redacted(item.end - (value_at if value_at < item.end else item.start))
    if isinstance(leaf.decl, Sized):
        start = spans.value[item.span]
        if start == item.end and is_null(item, data):
            return None
        if leaf.kind == "records" and form.records != "base64":
            return item.end - start if form.records == "size" else data[start : item.end]
        return leaf.decl.read(data[start : item.end])
    raw = data[item.start : item.end]
    if leaf.kind == "unknown-tag":
        return base64.b64encode(raw).decode("ascii")
    if leaf.kind in {"count", "tag-count"}:
        return read_count(item, data)
    return leaf.decl.presence.read(raw) if leaf.kind == "presence" else leaf.decl.read(raw)


def _struct_value(item: Item, tree: Tree, form: Form = BASE64) -> Any:
    out: dict[str, Any] = {}
    for part in item.each():
        if isinstance(part.node, Tags):
            out |= _tags_value(part, part.node, tree, form)
        elif (v := value(part, tree, form)) is not ABSENT:
            out[_key(part, v, form)] = v
    return out if out or item.whole else ABSENT


def _tags_value(item: Item, node: Tags, tree: Tree, form: Form) -> dict[str, Any]:
    if len(item.parts) == 1:
        return {}
    values: dict[int, Any] = {}
    unknown = []
    for header, part in tagged_parts(item):
        if header.tag is not None:
            if part.whole:
                unknown.append({"tag": header.tag, "data": leaf_value(part, tree, form)})
            continue
        default = node.known[header.leaf.id][1]
        v = value(part, tree, form)
        values.pop(header.leaf.id, None)  # of a tag that occurs twice the last value counts
        if v is not ABSENT and v != default:
            values[header.leaf.id] = v
    out = {node.known[number][0].name: values[number] for number in sorted(values)}  # numbered as they are declared
    return out | ({UNKNOWN_KEY: unknown} if unknown else {})


def _key(part: Item, v: Any, form: Form) -> str:
    name = part.node.name
    shown_by_size = (
        form.records == "size" and isinstance(part.node, Leaf) and part.node.kind == "records" and isinstance(v, int)
    )
    return name + SIZE_SUFFIX if shown_by_size else name


# Anomalies: the fold of a tree into the deviations from a correct writer.


def anomalies(tree: Tree) -> list[Anomaly]:
    """Return all deviations from a correct writer, in wire order."""
    spans = tree.spans
    data = spans.data
    notes: list[Anomaly] = []
    lost = ""
    for path, item in places(tree.root, keep=False):
        node = item.node
        if not item.whole:
            lost = path
        elif isinstance(node, Leaf):
            if bits := spans.flags.get(item.span, 0):
                notes += (Anomaly(code, path, item.start, MEANING[code]) for code in codes(bits))
            if isinstance(node.decl, Bool) and data[item.start] > 1:
                notes.append(Anomaly("BOOL_NOT_0_OR_1", path, item.start, f"the byte is {data[item.start]}"))
            elif (
                node.kind == "string"
                and isinstance(node.decl, Sized)
                and not _is_utf8(data[spans.value[item.span] : item.end])
            ):
                notes.append(Anomaly("INVALID_UTF8", path, spans.value[item.span], MEANING["INVALID_UTF8"]))
            elif getattr(node.decl, "declared", None):
                notes += _out_of_range(node, item, path, data)
        if isinstance(node, Tags):
            notes += _tag_anomalies(item, node, tree, path)
    if tree.gap:
        at = tree.gap.span
        notes += (
            Anomaly(code, lost, tree.gap.start, _gap_detail(code, tree)) for code in codes(spans.flags.get(at, 0))
        )
    return notes


def is_regular(spans: Spans) -> bool:
    """Return whether `anomalies` finds nothing. False if only a tree can decide, as for tagged fields."""
    if not spans.well_formed:
        return False
    data = spans.data
    leaves = spans.program.leaves
    for at, number in enumerate(spans.node):
        doubt = doubt_of(leaves[number])
        if doubt == TEXT:
            if not _is_utf8(data[spans.value[at] : spans.end[at]]):
                return False
        elif doubt == DOUBTFUL or (doubt == FLAG and data[spans.end[at] - 1] > 1):
            return False
    return True


def _out_of_range(node: Leaf, item: Item, path: str, data: Any) -> list[Anomaly]:
    number = node.decl.read(data[item.start : item.end])
    low, high = node.decl.declared
    return (
        []
        if low <= number <= high
        else [Anomaly("VALUE_OUT_OF_RANGE", path, item.start, f"{number} does not fit {node.kind}")]
    )


def _tag_anomalies(item: Item, node: Tags, tree: Tree, path: str) -> list[Anomaly]:
    notes = []
    keys: set[Any] = set()
    owner = path.removesuffix("_tags")
    for header, part in tagged_parts(item):
        key = header.leaf.id if header.tag is None else ("tag", header.tag)
        where = owner + part.node.name if header.tag is None else f"{path}[{header.tag}]"
        flagged = tree.spans.flags.get(header.span, 0)
        if key in keys and "TAG_DUPLICATE" not in codes(flagged):
            notes.append(Anomaly("TAG_DUPLICATE", where, header.start, MEANING["TAG_DUPLICATE"]))
        keys.add(key)
        if header.tag is None and part.whole and value(part, tree) == node.known[header.leaf.id][1]:
            notes.append(Anomaly("TAG_DEFAULT_VALUE", where, header.start, MEANING["TAG_DEFAULT_VALUE"]))
    return notes


def _is_utf8(data: Any) -> bool:
    try:
        str(data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _gap_detail(code: str, tree: Tree) -> str:
    assert tree.gap is not None  # noqa: S101 - for the type checker
    left = tree.gap.end - tree.gap.start
    noun = "byte is" if left == 1 else "bytes are"
    if code == "TRAILING_BYTES":
        return f"{left} {noun} left after the end of the message"
    lost = tree.spans.program.leaves[tree.spans.lost] if tree.spans.lost > 0 else None
    return f"{MEANING[code]}; {left} {noun} left" + (f" for {lost.path} ({lost.kind})" if lost else "")


# The body of a message: one run of the kernel by the layout of a definition, and its folds, each made when
# first asked for.


@dataclass(frozen=True)
class Body:
    """The bytes [start, stop) of `data` as a message; offsets count from the start of `data`.

    `layout_version` differs from `version` if that is unknown. It is the nearest known layout then, and `guess` is
    true.
    """

    spec: MessageSpec
    version: int
    layout_version: int
    entry: Entry
    raw: Spans
    notes: tuple[Anomaly, ...] = ()
    guess: bool = False

    @classmethod
    def decode(
        cls, spec: MessageSpec, data: Any, version: int, *, start: int = 0, stop: int | None = None, alone: bool = True
    ) -> Self:
        """Decode the bytes [start, stop) by this definition only. Unless `alone` is set, other bytes may follow them.

        An unknown version is decoded by the nearest layout, as a guess.
        """
        valid = spec.valid_versions
        layout = min(max(version, valid.low), valid.high)
        notes: tuple[Anomaly, ...] = ()
        if layout != version:
            detail = f"{spec.name} has versions {valid}; {version} was decoded by the layout of {layout}"
            notes = (Anomaly("UNKNOWN_VERSION", "", start, detail),)
        entry = entry_for(spec, layout)
        spans = walk(entry, data, start, stop)
        return cls(spec, version, layout, entry, spans if alone else without_rest(spans), notes, layout != version)

    @property
    def message(self) -> str:
        """The message's full name, such as MetadataResponse."""
        return self.spec.name

    @property
    def data(self) -> Any:
        """The decoded data as it was given: bytes, or a memoryview of bytes."""
        return self.raw.data

    @property
    def start(self) -> int:
        """The offset in the data at which the message begins."""
        return self.raw.start

    @property
    def stop(self) -> int:
        """The offset in the data at which the given bytes end."""
        return self.raw.stop

    @property
    def complete(self) -> bool:
        """Return whether every field was decoded."""
        return self.raw.lost < 0 or self.tree.root.whole

    @property
    def exact(self) -> bool:
        """Return whether the layout of the message's own version took all bytes, no more and no less."""
        return not self.guess and self.raw.lost < 0 and self.raw.used == self.raw.stop

    @property
    def is_early(self) -> bool:
        """Return whether the bytes fit only an earlier layout of the version."""
        return any(note.code == "EARLY_LAYOUT" for note in self.notes)

    @cached_property
    def tree(self) -> Tree:
        """The spans grouped by the declaration."""
        return build(self.entry, self.raw)

    @cached_property
    def spans(self) -> list[Span]:
        """The leaves in order; they cover the bytes once. What could not be decoded is one of kind gap."""
        return list(leaves(self.tree))

    @cached_property
    def anomalies(self) -> list[Anomaly]:
        """The anomalies of the message, which a correct writer would not have written.

        Offsets count from the start of the data.
        """
        return [*self.notes] if self._calm else [*self.notes, *anomalies(self.tree)]

    @cached_property
    def _calm(self) -> bool:
        """Return whether a reader accepts the message, or its spans exclude anomalies."""
        return self._read("size") is not None or is_regular(self.raw)

    def _read(self, form: str) -> dict[str, Any] | None:
        """Return the message from a reader, or None if there is no reader yet or the message may be malformed."""
        raw = self.raw
        if raw.flags or raw.lost >= 0:
            return None
        read = often_read(self.entry, form)
        if read is None:
            return None
        with contextlib.suppress(MalformedError):
            return read(raw.data, raw.start, raw.used).value
        return None

    def form(self, form: Form) -> dict[str, Any]:
        """Return Kafka's JSON form, up to the end of the bytes."""
        if not form.hidden and (document := self._read(form.records)) is not None:
            self.__dict__["_calm"] = True  # which need not be found out again
            return document
        return tree_value(self.tree, form)


B = TypeVar("B", bound=Body)


def in_early_layout(body: B, catalog: Catalog) -> B:
    """Return the body in the newest layout that reads it to the last byte without an anomaly, or as it is."""
    releases = catalog.early_releases(body.message, body.layout_version)
    if not releases or (body.exact and not body.anomalies):
        return body
    for release in releases:
        spec = catalog.early_layout(body.message, release)
        entry = entry_for(spec, body.layout_version)
        read = replace(body, spec=spec, entry=entry, raw=walk(entry, body.data, body.start, body.stop))
        if read.exact and not anomalies(read.tree):
            layout = f"{body.message} {body.layout_version} was read with the layout of Kafka {release}"
            detail = f"{layout}: {MEANING['EARLY_LAYOUT']}"
            return replace(read, notes=(*body.notes, Anomaly("EARLY_LAYOUT", "", body.start, detail)))
    return body


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(milliseconds: int) -> str | int | None:
    """Return milliseconds since 1970 as ISO 8601 in UTC; None for -1, and the number outside the years 1 to 9999."""
    if milliseconds == -1:
        return None
    try:
        time = _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, OSError, ValueError):
        return milliseconds
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
