"""The plan of an overlay, and its predicted savings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.advice_probes import at_default, default_bytes
from kwire_cli.analysis.costs.forms import width_of, widths
from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, leaf_ids
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.reading import OWN_WIDTH
from kwire_cli.structs.numbers import UVARINT, unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.analysis.costs.advice_values import Cell, Field, Fields, Key, Message
    from kwire_cli.engine.program import Entry, Node, Tags
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec

    Step = Callable[[Spans, int], tuple[int, int]]
    """By how many bytes what begins with a span changes, and the number of the span after it."""


# What pays: for each field the encoding, and whether to tag it, that would have taken the fewest bytes; and
# the overlay that says so.

NEARLY_ALWAYS = 0.9
"""The share of values at their default from which on a field is proposed as a tagged one."""


TAG_BYTES = 2
"""Before a tagged integer: a tag and a size, one byte each. More than 127 tags, or a section or struct around it that
gets shorter, change that by a byte here and there; choosing neglects this, `predicted` does not."""


class Choice(NamedTuple):
    """Choice of how to write a field: its encoding (None: unchanged) and its tag (None: in its place)."""

    encoding: str | None
    tag: int | None


Plan = dict["Key", Choice]


class Option(NamedTuple):
    """One way to write the integers of a field: bytes in all."""

    encoding: str | None
    tagged: bool
    size: int


def bytes_now(field: Field) -> int:
    """Return the bytes of all integers of a field as they are."""
    return sum(cell.now * times for cell, times in field.cells.items())


def bytes_under(field: Field, encoding: str, *, tagged: bool = False) -> int:
    """The bytes of all integers of a field under an encoding of its own width; `tagged`, those that can be, with their
    tags.
    """
    total = 0
    for cell, times in field.cells.items():
        if not (tagged and cell.taggable):
            total += times * width(cell, field.kind, encoding)
        elif not cell.default:
            total += times * (TAG_BYTES + width(cell, field.kind, encoding))
    return total


def width(cell: Cell, kind: str, encoding: str) -> int:
    """Return the bytes of one of these integers under an encoding."""
    if encoding == "fixed":
        return widths(kind, f"fixed{kind[3:]}")[0][2]
    return cell.packed if encoding == "packed" else cell.upacked if encoding == "upacked" else cell.now


def default_share(field: Field) -> float:
    """Return the share of a field's values at their default, where it could be tagged; 0 where it could not."""
    if not field.cells:
        return field.defaults / field.total if field.total and not field.present else 0.0
    taggable = sum(times for cell, times in field.cells.items() if cell.taggable)
    return (
        sum(times for cell, times in field.cells.items() if cell.taggable and cell.default) / taggable
        if taggable
        else 0.0
    )


def tag_saving(field: Field) -> int:
    """The bytes that a tag would save, below 0 if it would cost some: of an integer in its own encoding, of everything
    else with its headers.
    """
    return (
        bytes_now(field) - bytes_under(field, "now", tagged=True)
        if field.cells
        else field.default_bytes - field.headers
    )


def best(field: Field) -> Option:
    """Return the way to write the integers of a field in the fewest bytes; of those that are equal the one that changes
    less.
    """
    options = [Option(None, tagged=False, size=bytes_now(field))]
    options += [Option(name, tagged=False, size=bytes_under(field, name)) for name in OWN_WIDTH]
    if default_share(field) >= NEARLY_ALWAYS:
        options += [
            Option(None if name == "now" else name, tagged=True, size=bytes_under(field, name, tagged=True))
            for name in ("now", *OWN_WIDTH)
        ]
    return min(options, key=lambda option: option.size)


def choose(catalog: Catalog, fields: Fields, *, least: int = 1) -> Plan:
    """Return the changes to fields that would each have saved at least `least` bytes."""
    chosen: dict[str, dict[str, tuple[str | None, bool]]] = {}
    for (message, path), field in fields.items():
        if field.cells:
            option = best(field)
            if bytes_now(field) - option.size >= least:
                encoding = f"{option.encoding}{field.kind[3:]}" if option.encoding else None
                chosen.setdefault(message, {})[path] = encoding, option.tagged
        elif default_share(field) >= NEARLY_ALWAYS and tag_saving(field) >= least:
            chosen.setdefault(message, {})[path] = None, True
    plan: Plan = {}
    for message in sorted(chosen):
        plan |= dict(_numbered(catalog.message(message), chosen[message]))
    return plan


def _numbered(spec: MessageSpec, wanted: Mapping[str, tuple[str | None, bool]]) -> Iterator[tuple[Key, Choice]]:
    """Yield the choices for one message; new tags follow those that their structure has, in the order of its fields."""
    free: dict[str, int] = {}
    fields = list(fields_by_path(spec))
    for path, field in fields:
        struct = path.rpartition(".")[0]
        free[struct] = max(free.get(struct, 0), -1 if field.tag is None else field.tag + 1, 0)
    for path, _ in fields:
        struct = path.rpartition(".")[0]
        for field_path in (path, f"{path}[]"):
            if field_path in wanted:
                encoding, tagged = wanted[field_path]
                yield (spec.name, field_path), Choice(encoding, free[struct] if tagged else None)
                free[struct] += tagged


def overlay_document(catalog: Catalog, plan: Plan, about: str) -> dict[str, Any]:
    """Return the plan as an overlay, as a file of `--overlay` has it."""
    messages: dict[str, Any] = {}
    for (name, path), choice in plan.items():
        spec = catalog.message(name)
        field = dict(fields_by_path(spec))[path.removesuffix("[]")]
        keys = messages.setdefault(name, {"fields": {}})["fields"].setdefault(path.removesuffix("[]"), {})
        if choice.encoding:
            keys["elementEncoding" if path.endswith("[]") else "encoding"] = choice.encoding
        if choice.tag is not None:
            keys |= {"tag": choice.tag, "taggedVersions": str(field.versions & spec.flexible_versions)}
    return {"about": about, "messages": messages}


def overlay_text(document: Mapping[str, Any]) -> str:
    """Return an overlay as the text of its file, a field a line."""
    blocks = []
    for name, layer in document["messages"].items():
        rows = ",\n".join(f"        {json.dumps(path)}: {json.dumps(keys)}" for path, keys in layer["fields"].items())
        blocks.append(f'    {json.dumps(name)}: {{\n      "fields": {{\n{rows}\n      }}\n    }}')
    inner = "{\n" + ",\n".join(blocks) + "\n  }" if blocks else "{}"
    return f'{{\n  "about": {json.dumps(document["about"], ensure_ascii=False)},\n  "messages": {inner}\n}}\n'


# What a plan saves: the bytes of each message under it, added up from the widths of its values, without
# writing any of them.
#
# Encodings change integers; tags leave out what is at its default, and cost a tag, a size, and at 128 of them
# a byte of their count. What stands in a tagged field changes the size before it too. `kwire overhead
# --overlay` comes to the same by writing the messages.

MOST_KEPT, LARGEST_KEPT = 4096, 1024
"""Messages, and bytes of one, whose change is kept."""


NOTHING = Choice(None, None)


class Predicted:
    """Savings of messages under a plan.

    `messages` counts the messages that the plan speaks of. `saved` is the number of bytes that they save, below 0 if
    they grow.
    """

    def __init__(self, catalog: Catalog, plan: Plan) -> None:
        self.messages = self.saved = 0
        self._catalog = catalog
        self._plans: dict[str, dict[str, Choice]] = {}
        for (name, path), choice in plan.items():
            self._plans.setdefault(name, {})[path] = choice
        self._steps: dict[int, tuple[Entry, Step]] = {}
        self._known: dict[tuple[int, bytes], int] = {}

    def add(self, message: Message) -> None:
        """Count a message; one that is not regular stays as it is."""
        plan = self._plans.get(message.name)
        if plan is None or not message.regular:
            return
        spans = message.spans
        data = bytes(spans.data[spans.start : spans.stop]) if message.size <= LARGEST_KEPT else b""
        key = (id(message.entry), data)
        change = self._known.get(key) if data else None
        if change is None:
            change = self._step(message, plan)(spans, 0)[0]
            if data:
                if len(self._known) >= MOST_KEPT:
                    self._known.clear()
                self._known[key] = change
        self.messages += 1
        self.saved -= change

    def _step(self, message: Message, plan: Mapping[str, Choice]) -> Step:
        cached = self._steps.get(id(message.entry))
        if cached is None:  # the entry is kept, so that its id stays its own
            cached = self._steps[id(message.entry)] = (
                message.entry,
                _Steps(self._catalog.message(message.name), plan).struct(message.entry.root),
            )
        return cached[1]


class _Steps:
    """The steps of one layout."""

    def __init__(self, spec: MessageSpec, plan: Mapping[str, Choice]) -> None:
        self.plan = plan
        self.fields: dict[str, FieldSpec] = dict(fields_by_path(spec))

    def field(self, node: Node) -> Step:
        if isinstance(node, Leaf):
            return self.leaf(node)
        if isinstance(node, Array):
            return self.array(node) if self.planned(node) else _skip(max(leaf_ids(node)))
        if isinstance(node, Nullable):
            return self.nullable(node) if self.planned(node) else _skip(max(leaf_ids(node)))
        assert isinstance(node, Struct)  # noqa: S101 - layouts of messages have no other nodes
        return self.struct(node)

    def planned(self, node: Node) -> bool:
        """Return whether the plan changes anything inside an array or nullable struct."""
        return any(path.startswith((f"{node.path}.", f"{node.path}[]")) for path in self.plan)

    def leaf(self, node: Leaf) -> Step:
        encoding = self.plan.get(node.path, NOTHING).encoding
        if not encoding:
            return lambda _, at: (0, at + 1)
        read, size_of = node.decl.read, width_of(node.kind, encoding)

        def step(spans: Spans, at: int) -> tuple[int, int]:
            start, end = spans.value[at], spans.end[at]
            return size_of(read(spans.data[start:end])) - (end - start), at + 1

        return step

    def array(self, node: Array) -> Step:
        one, decl = self.field(node.element), node.count.decl

        def step(spans: Spans, at: int) -> tuple[int, int]:
            count = int(decl.prefix.read(spans.data[_start(spans, at) : spans.end[at]])) - decl.compact
            change, at = 0, at + 1
            for _ in range(count):
                more, at = one(spans, at)
                change += more
            return change, at

        return step

    def nullable(self, node: Nullable) -> Step:
        struct, decl = self.struct(node.struct), node.presence.decl

        def step(spans: Spans, at: int) -> tuple[int, int]:
            null = decl.is_null(decl.presence.read(spans.data[_start(spans, at) : spans.end[at]]))
            return (0, at + 1) if null else struct(spans, at + 1)

        return step

    def struct(self, node: Struct) -> Step:
        steps = [(self.field(part), self.tag(part) if node.tags else None) for part in node.fields]
        tags = self.tags(node.tags) if node.tags else None

        def step(spans: Spans, at: int) -> tuple[int, int]:
            change = added = 0
            for one, tag in steps:
                begin = _start(spans, at)
                more, at = one(spans, at)
                if tag:
                    data = spans.data[begin : spans.end[at - 1]]
                    if at_default(tag[2], data, tag[1]):
                        change -= len(data)
                        continue
                    change += len(unsigned_varint(tag[0])) + len(unsigned_varint(len(data) + more))
                    added += 1
                change += more
            if tags:
                more, at = tags(spans, at, added)
                change += more
            return change, at

        return step

    def tag(self, node: Node) -> tuple[int, bytes | None, Any] | None:
        """The new tag of a field, its bytes at its default, and what reads it if that is one value; None for one that
        gets none.
        """
        tag = self.plan.get(node.path, NOTHING).tag
        return (
            None
            if tag is None
            else (tag, default_bytes(self.fields[node.path], node), node.decl if isinstance(node, Leaf) else None)
        )

    def tags(self, node: Tags) -> Callable[[Spans, int, int], tuple[int, int]]:
        steps = {header: self.field(part) for header, (part, _) in node.known.items()}

        def step(spans: Spans, at: int, added: int) -> tuple[int, int]:
            count = int(UVARINT.read(spans.data[_start(spans, at) : spans.end[at]]))
            change, at = len(unsigned_varint(count + added)) - len(unsigned_varint(count)), at + 1
            for _ in range(count):
                one = steps.get(spans.node[at])
                if one is None:
                    at += 2
                    continue
                begin = spans.end[at]
                more, at = one(spans, at + 1)
                size = spans.end[at - 1] - begin
                change += more + len(unsigned_varint(size + more)) - len(unsigned_varint(size))
            return change, at

        return step


def _start(spans: Spans, at: int) -> int:
    return spans.end[at - 1] if at else spans.start


def _skip(last: int) -> Step:
    """Past an array or nullable struct of which nothing changes."""

    def step(spans: Spans, at: int) -> tuple[int, int]:
        nodes, after = spans.node, at + 1
        while after < len(nodes) and nodes[at] < nodes[after] <= last:
            after += 1
        return 0, after

    return step
