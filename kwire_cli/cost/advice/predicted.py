"""What a plan saves: the bytes of each message under it, added up from the widths of its values, without writing any of them.

Encodings change integers; tags leave out what is at its default, and cost a tag, a size, and at 128 of them a byte of their count. What stands in a
tagged field changes the size before it too. `kwire overhead --overlay` comes to the same by writing the messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.cost.advice.plan import Choice
from kwire_cli.cost.advice.probes import at_default, default_bytes, last_node
from kwire_cli.cost.encoded_widths import width_of
from kwire_cli.engine.program import Array, Leaf, Nullable, Struct
from kwire_cli.spec.changing import fields_by_path
from kwire_cli.structs.numbers import UVARINT, unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire_cli.cost.advice.messages import Message
    from kwire_cli.cost.advice.plan import Plan
    from kwire_cli.engine.program import Entry, Node, Tags
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec

    Step = Callable[[Spans, int], tuple[int, int]]
    """By how many bytes what begins with a span changes, and the number of the span after it."""

MOST_KEPT, LARGEST_KEPT = 4096, 1024
"""Messages, and bytes of one, whose change is kept."""
NOTHING = Choice(None, None)


class Predicted:
    """What messages save under a plan: `messages` are those that it speaks of, `saved` their bytes, below 0 where they grow."""

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
        known = self._steps.get(id(message.entry))
        if known is None:  # the entry is kept, so that its id stays its own
            known = self._steps[id(message.entry)] = message.entry, _Steps(self._catalog.message(message.name), plan).struct(message.entry.root)
        return known[1]


class _Steps:
    """The steps of one layout."""

    def __init__(self, spec: MessageSpec, plan: Mapping[str, Choice]) -> None:
        self.plan = plan
        self.fields: dict[str, FieldSpec] = dict(fields_by_path(spec))

    def field(self, node: Node) -> Step:
        if isinstance(node, Leaf):
            return self.leaf(node)
        if isinstance(node, Array):
            return self.array(node) if self.planned(node) else _skip(last_node(node))
        if isinstance(node, Nullable):
            return self.nullable(node) if self.planned(node) else _skip(last_node(node))
        assert isinstance(node, Struct)  # noqa: S101 - layouts of messages have no other nodes
        return self.struct(node)

    def planned(self, node: Node) -> bool:
        """Whether the plan says anything about what is in an array or nullable struct."""
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
        """The new tag of a field, its bytes at its default, and what reads it if that is one value; None for one that gets none."""
        tag = self.plan.get(node.path, NOTHING).tag
        return None if tag is None else (tag, default_bytes(self.fields[node.path], node), node.decl if isinstance(node, Leaf) else None)

    def tags(self, node: Tags) -> Callable[[Spans, int, int], tuple[int, int]]:
        known = {header: self.field(part) for header, (part, _) in node.known.items()}

        def step(spans: Spans, at: int, added: int) -> tuple[int, int]:
            count = int(UVARINT.read(spans.data[_start(spans, at) : spans.end[at]]))
            change, at = len(unsigned_varint(count + added)) - len(unsigned_varint(count)), at + 1
            for _ in range(count):
                one = known.get(spans.node[at])
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
