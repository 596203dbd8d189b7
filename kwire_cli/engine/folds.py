"""Folds made for one layout: from spans straight to Kafka's JSON form, without a tree, for messages in which nothing is
odd.

What captures are full of is read by these; `values.value` and `anomalies` are the general way, and a test holds the two
against each other on all golden bodies. A fold raises OddError where there is, or may be, an anomaly: what it gives is
exact, and its message has none.
"""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, Tags
from kwire_cli.structs.messages import SIZE_SUFFIX, Sized
from kwire_cli.structs.numbers import Bool, FixedInt, Uuid

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.engine.program import Entry, Node
    from kwire_cli.engine.spans import Spans

    Step = Callable[[dict[str, Any], Spans, int], int]
    """Puts what the spans from a number on are into a dict, and says how many spans on the next step begins."""

MANY_FOLDS = 4096
"""Layouts that are kept; there are not as many, but for definitions that come and go."""
MANY_TAGS = 127
"""The most tags whose count is one byte."""
_folds: dict[tuple[int, str], tuple[Entry, Callable[[Spans], dict[str, Any]]]] = {}


class OddError(Exception):
    """There may be an anomaly in this message: read it the general way."""


def fold_of(entry: Entry, records: str = "base64") -> Callable[[Spans], dict[str, Any]]:
    """The fold of a layout, made when first asked for; `records` as in `values.Form`."""
    key = (id(entry), records)
    known = _folds.get(key)
    if known is None:
        if len(_folds) >= MANY_FOLDS:
            _folds.clear()
        known = _folds[key] = entry, _message(entry, records)  # the entry is kept, so that its id stays its own
    return known[1]


def _message(entry: Entry, records: str) -> Callable[[Spans], dict[str, Any]]:
    steps = _Steps(entry, records).struct(entry.root)

    def fold(spans: Spans) -> dict[str, Any]:
        if spans.flags or spans.lost >= 0:
            raise OddError
        out: dict[str, Any] = {}
        at = 0
        for step in steps:
            at = step(out, spans, at)
        return out

    return fold


class _Steps:
    """The steps of a layout's nodes."""

    def __init__(self, entry: Entry, records: str) -> None:
        self.entry, self.records = entry, records

    def struct(self, node: Struct) -> list[Step]:
        steps: list[Step] = []
        run: list[Leaf] = []
        for field in node.fields:
            if (
                isinstance(field, Leaf)
                and isinstance(field.decl, FixedInt | Bool)
                and not getattr(field.decl, "declared", None)
            ):
                run.append(field)
                continue
            if run:
                steps.append(_run(run))
                run = []
            steps.append(self.field(field))
        if run:
            steps.append(_run(run))
        return [*steps, self.tags(node.tags)] if node.tags else steps

    def field(self, node: Node) -> Step:
        if isinstance(node, Leaf):
            return self.leaf(node)
        if isinstance(node, Array):
            return self.array(node)
        if isinstance(node, Nullable):
            return self.nullable(node)
        if isinstance(node, Struct):
            steps, name = self.struct(node), node.name

            def inner(out: dict[str, Any], spans: Spans, at: int) -> int:
                made = out[name] = {}
                for step in steps:
                    at = step(made, spans, at)
                return at

            return inner
        return _odd

    def leaf(self, node: Leaf) -> Step:
        if getattr(node.decl, "declared", None):
            return _odd
        if isinstance(node.decl, Bool):
            return _run([node])
        if isinstance(node.decl, Sized):
            return _sized(node, node.decl, self.records if node.kind == "records" else "base64")
        name, read = node.name, node.decl.read
        if isinstance(node.decl, Uuid):
            read = _uuid

        def single(out: dict[str, Any], spans: Spans, at: int) -> int:
            out[name] = read(spans.data[spans.value[at] : spans.end[at]])
            return at + 1

        return single

    def array(self, node: Array) -> Step:
        if not node.count.decl.compact and not isinstance(node.count.decl.prefix, FixedInt):
            return _odd
        name, count_of, element = node.name, _count(node.count), node.element
        if isinstance(element, Struct):
            steps = self.struct(element)

            def structs(out: dict[str, Any], spans: Spans, at: int) -> int:
                count = count_of(spans, at)
                at += 1
                if count < 0:
                    out[name] = None
                    return at
                found = out[name] = []
                for _ in range(count):
                    made: dict[str, Any] = {}
                    for step in steps:
                        at = step(made, spans, at)
                    found.append(made)
                return at

            return structs
        if isinstance(element, Leaf) and isinstance(element.decl, FixedInt) and not element.decl.declared:
            code = element.decl.fmtstr[1]

            def numbers(out: dict[str, Any], spans: Spans, at: int) -> int:
                count = count_of(spans, at)
                out[name] = (
                    None if count < 0 else list(struct.unpack_from(f">{count}{code}", spans.data, spans.end[at]))
                )
                return at + 1 + max(count, 0)

            return numbers
        one = self.field(element)

        def others(out: dict[str, Any], spans: Spans, at: int) -> int:
            count = count_of(spans, at)
            at += 1
            if count < 0:
                out[name] = None
                return at
            found = out[name] = []
            made: dict[str, Any] = {}
            for _ in range(count):
                at = one(made, spans, at)
                found += made.values()
            return at

        return others

    def nullable(self, node: Nullable) -> Step:
        struct, name = self.field(node.struct), node.name  # the struct has the name of what may be null

        def either(out: dict[str, Any], spans: Spans, at: int) -> int:
            if spans.data[spans.end[at] - 1] == 1:  # without flags it is -1 otherwise
                return struct(out, spans, at + 1)
            out[name] = None
            return at + 1

        return either if isinstance(node.presence.decl.presence, FixedInt) else _odd

    def tags(self, node: Tags) -> Step:
        """A tag section; what the kernel did not flag is in order and without doubles."""
        known = {number: (self.field(field), field.name, default) for number, (field, default) in node.known.items()}

        def tags(out: dict[str, Any], spans: Spans, at: int) -> int:
            count = spans.data[spans.end[at] - 1]
            at += 1
            if not count:
                return at
            if count > MANY_TAGS:
                raise OddError
            found: dict[int, tuple[str, Any]] = {}
            for _ in range(count):
                number = spans.node[at]
                if number not in known:
                    raise OddError
                step, name, default = known[number]
                made: dict[str, Any] = {}
                at = step(made, spans, at + 1)
                ((name, value),) = made.items()
                if value == default:
                    raise OddError
                found[number] = name, value
            for number in sorted(found):  # numbered as they are declared
                name, value = found[number]
                out[name] = value
            return at

        return tags


def _odd(_out: dict[str, Any], _spans: Spans, _at: int) -> int:
    raise OddError


def _run(leaves: list[Leaf]) -> Step:
    """Neighbouring numbers and bools of fixed size."""
    names = [leaf.name for leaf in leaves]
    unpack = struct.Struct(
        ">" + "".join("B" if isinstance(leaf.decl, Bool) else leaf.decl.fmtstr[1] for leaf in leaves)
    ).unpack_from
    bools = [leaf.name for leaf in leaves if isinstance(leaf.decl, Bool)]
    count = len(names)
    if count == 1 and not bools:
        name = names[0]

        def one(out: dict[str, Any], spans: Spans, at: int) -> int:
            (out[name],) = unpack(spans.data, spans.value[at])
            return at + 1

        return one

    def run(out: dict[str, Any], spans: Spans, at: int) -> int:
        out.update(zip(names, unpack(spans.data, spans.value[at]), strict=True))
        for name in bools:
            byte = out[name]
            if byte > 1:
                raise OddError
            out[name] = byte == 1
        return at + count

    return run


def _uuid(data: Any) -> str:
    return base64.urlsafe_b64encode(data)[:-2].decode("ascii")


def _sized(node: Leaf, decl: Sized, records: str) -> Step:
    if not decl.compact and not isinstance(decl.prefix, FixedInt):
        return _odd
    name, compact, width = node.name, decl.compact, 1 if decl.compact else decl.prefix.length
    text, by_size, raw = node.kind == "string", records == "size", records == "raw"
    size_name = name + SIZE_SUFFIX

    def sized(out: dict[str, Any], spans: Spans, at: int) -> int:
        start, stop, data = spans.value[at], spans.end[at], spans.data
        if start == stop:
            first = data[start - width]
            if (first == 0) if compact else (first > 127):  # without flags a compact length has one byte here
                out[name] = None
                return at + 1
        if by_size:
            out[size_name] = stop - start
        elif text:
            try:
                out[name] = str(data[start:stop], "utf-8")
            except UnicodeDecodeError:
                raise OddError from None
        elif raw:
            out[name] = data[start:stop]
        else:
            out[name] = base64.b64encode(data[start:stop]).decode("ascii")
        return at + 1

    return sized


def _count(leaf: Leaf) -> Callable[[Spans, int], int]:
    decl = leaf.decl
    if not decl.compact:
        unpack = struct.Struct(">" + decl.prefix.fmtstr[1]).unpack_from
        width = decl.prefix.length

        def plain(spans: Spans, at: int) -> int:
            return int(unpack(spans.data, spans.end[at] - width)[0])

        return plain

    def compact(spans: Spans, at: int) -> int:
        end, data = spans.end[at], spans.data
        last = int(data[end - 1])
        start = spans.end[at - 1] if at else spans.start
        return int(decl.prefix.read(data[start:end])) - 1 if end - start > 1 else last - 1

    return compact
